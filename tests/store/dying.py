"""A process that stores pages and dies at a chosen step.

What it commits it writes to the file COMMITTED, a URL a line: that is its database. Pages 0–9 are kept in a first part,
10–19 in a second; 20–29 are appended and never committed. A step that is never reached is an error.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from comity.model.page import PageRecord
from comity.store import pages
from comity.store.parts import joining
from comity.store.parts.part import PartWriter
from comity.store.segment import SegmentWriter
from tests.store.light import compressed, page


def die(*_arguments: Any, **_more: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def on_name(method: Callable[..., Any], prefix: str) -> Callable[..., Any]:
    """Die instead of doing something to a file of that name."""
    return lambda path, *rest, **more: die() if path.name.startswith(prefix) else method(path, *rest, **more)


def half_copied(source: Any, file: Any, _length: int) -> None:
    content = source.read()
    file.write(content[: len(content) // 2])
    file.flush()
    die()


def prepare(step: str) -> None:
    """Set the trap."""
    match step:
        case "while a part is written":
            PartWriter.add = _after_a_few(PartWriter.add)  # type: ignore[method-assign]
        case "before a part is renamed":
            os.link = on_name(os.link, ".part-")
        case "before the note of a part is renamed":
            Path.rename = on_name(Path.rename, ".manifest-")  # type: ignore[method-assign]
        case "before a segment is removed":
            SegmentWriter.remove = die  # type: ignore[method-assign]
        case "before a part is joined":
            pages.join_parts = die
        case "before anything is copied":
            joining.copyfileobj = die
        case "while a part is copied":
            joining.copyfileobj = half_copied
        case "before a new file has its name":
            os.link = on_name(os.link, "new-")
        case "before a joined part is noted":
            joining.add_joined = die
        case "before a note is taken away":
            Path.unlink = on_name(Path.unlink, "manifest-")  # type: ignore[method-assign]
        case "before a part is taken away":
            Path.unlink = on_name(Path.unlink, "part-")  # type: ignore[method-assign]
        case "before the note is taken away":
            Path.unlink = on_name(Path.unlink, "joining.json")  # type: ignore[method-assign]


def _after_a_few(add: Callable[..., None]) -> Callable[..., None]:
    def adding(part: PartWriter, records: list[PageRecord]) -> None:
        add(part, records)
        if part.count >= 10:
            die()

    return adding


def main(place: str, step: str, committed: Path) -> None:
    prepare(step)
    pages.ROWS_PER_PART = 10  # type: ignore[misc]
    store = pages.open_sink(place, "machine:1:2:dying")
    with committed.open("a") as database:
        for start in (0, 10):
            records = [compressed(page(number)) for number in range(start, start + 10)]
            places = store.append(records)
            if step == "before the commit":
                die()
            database.writelines(f"{record.url}\n" for record in records)
            database.flush()
            if step == "after the commit":
                die()
            store.keep(places)
        store.append([page(number) for number in range(20, 30)])
        if step == "in the middle of a segment":
            assert store._open is not None
            os.truncate(store._open.segment.path, store._open.segment.size - 3)
            die()
    store.close()
    raise SystemExit(f"the step was never reached: {step}")
