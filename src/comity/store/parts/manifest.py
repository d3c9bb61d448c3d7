"""What each finished part holds, written beside it: a note of some hundred bytes, so that the part need not be read.

In a folder of parts every part has a note of its own, `manifest-NAME.json` for `part-NAME`. It is put in its place by
a rename, after the part and before the segment goes: however a writer ends, no two write one file.
A store that is one file has its notes in `FILE.manifest.jsonl`, a line for each part that was joined to it; only
the process that holds the lock adds to it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from xxhash import xxh3_128

from comity.model.page import PageRecord
from comity.store.formats.columns import microseconds
from comity.store.parts.part import PartTally, PartWriter, sync_folder
from comity.store.target import Target

_PART: Final = "part-"
_NOTE: Final = "manifest-"
_ENDING: Final = ".json"
_JOINED: Final = ".manifest.jsonl"
_LONGEST_NOTE: Final = 64 * 1024
_LARGEST: Final = 2**63 - 1
_PIECE_BYTES: Final = 1024 * 1024
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class PartNote(NamedTuple):
    """What a part holds. `at` is where it begins in the file that it was joined to, `digest` is XXH3-128."""

    part: str
    rows: int
    size: int
    digest: str
    first_crawl_time: str | None = None
    last_crawl_time: str | None = None
    run_ids: tuple[str, ...] = ()
    writer: str = ""
    at: int | None = None
    columns: dict[str, str] | None = None
    """What was extracted from its pages: names of columns, and their types."""


def note_path(part: Path) -> Path:
    """Where the note of a part is."""
    return part.with_name(f"{_NOTE}{part.name.removeprefix(_PART)}{_ENDING}")


def joined_path(file: Path) -> Path:
    """Where the notes are of all parts that were joined to a file."""
    return file.with_name(file.name + _JOINED)


def finish_part(writer: PartWriter) -> bool:
    """Put a part in its place, and its note beside it; False if another process had made this part before."""
    if not writer.finish():
        return False
    if writer.count:
        write_note(writer.path, note_of(writer.path, writer.tally, writer.size, writer.digest))
    return True


def write_finished(writer: PartWriter, records: Iterable[PageRecord]) -> int:
    """Write a part and its note; returns how many pages are in it, 0 if another process had made it before."""
    try:
        for record in records:
            writer.add((record,))
        return writer.count if finish_part(writer) else 0
    finally:
        writer.abandon()


def is_finished(target: Target, part: Path) -> bool:
    """Whether a part is there, or has been joined to its file already."""
    return part.exists() or (not target.is_folder and part.name in read_joined(target.path))


def note_of(part: Path, tally: PartTally, size: int, digest: str) -> PartNote:
    """The note of a part; its name says its writer."""
    first, last = tally.first_crawl_time, tally.last_crawl_time
    return PartNote(
        part=part.name,
        rows=tally.rows,
        size=size,
        digest=digest,
        first_crawl_time=_format_time(first) if tally.rows else None,
        last_crawl_time=_format_time(last) if tally.rows else None,
        run_ids=tuple(sorted(map(str, tally.run_ids))),
        writer=part.name.removeprefix(_PART).partition(".")[0].rpartition("-")[0],
        columns=tally.columns or None,
    )


def write_note(part: Path, note: PartNote) -> None:
    """Put a note in its place, whole."""
    path = note_path(part)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        file.write(_as_line(note))
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    sync_folder(path.parent)


def read_note(part: Path) -> PartNote | None:
    """The note of a part; None where there is none that can be understood."""
    with suppress(OSError), note_path(part).open("rb") as file:
        return _from_line(file.read(_LONGEST_NOTE))
    return None


def noted_parts(folder: Path) -> list[Path]:
    """The parts of a folder that have a note, whether they are there or not."""
    names = (path.name for path in folder.glob(f"{_NOTE}*{_ENDING}"))
    return sorted(folder / f"{_PART}{name.removeprefix(_NOTE).removesuffix(_ENDING)}" for name in names)


def add_joined(file: Path, note: PartNote) -> None:
    """Note that a part was joined to a file. A line that a crash cut short stays alone on its line."""
    path = joined_path(file)
    is_new = not path.exists()
    with path.open("ab") as lines:
        lines.write((b"" if _ends_a_line(path) else b"\n") + _as_line(note))
        lines.flush()
        os.fsync(lines.fileno())
    if is_new:
        sync_folder(path.parent)


def read_joined(file: Path) -> dict[str, PartNote]:
    """The parts that were joined to a file; the last word on each counts, and half a line is none."""
    found: dict[str, PartNote] = {}
    with suppress(FileNotFoundError), joined_path(file).open("rb") as lines:
        for line in lines:
            if (note := _from_line(line)) is not None:
                found[note.part] = note
    return found


def size_and_digest(path: Path) -> tuple[int, str]:
    """How large a file is, and its digest."""
    with path.open("rb") as file:
        return digest_between(file, None)


def digest_between(file: Any, length: int | None) -> tuple[int, str]:
    """How many bytes a file has from where it stands, up to a length, and their digest."""
    digest, size = xxh3_128(), 0
    while piece := file.read(_PIECE_BYTES if length is None else min(_PIECE_BYTES, length - size)):
        digest.update(piece)
        size += len(piece)
    return size, digest.hexdigest()


def _format_time(crawl_time: float) -> str:
    at = _EPOCH + timedelta(microseconds=microseconds(crawl_time))
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _as_line(note: PartNote) -> bytes:
    fields = note._asdict() | {"digest": f"xxh3-128:{note.digest}"}
    for name in ("at", "columns"):
        if fields[name] is None:
            del fields[name]
    return json.dumps(fields).encode() + b"\n"


def _from_line(line: bytes) -> PartNote | None:
    """Read a note; anything else is none, because its writer may be newer than this code."""
    try:
        fields = json.loads(line)
        kind, _, digest = fields["digest"].partition(":")
        known = {name: fields[name] for name in PartNote._fields if name in fields}
        known["columns"] = dict(fields["columns"]) if fields.get("columns") is not None else None
        note = PartNote(**known | {"digest": digest, "run_ids": tuple(fields.get("run_ids", ()))})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return note if kind == "xxh3-128" and _is_sound(note) else None


def _is_sound(note: PartNote) -> bool:
    """Whether every field is what it is said to be: a folder of pages may come from anywhere."""
    numbers = [note.rows, note.size, *(() if note.at is None else (note.at,))]
    times = [time for time in (note.first_crawl_time, note.last_crawl_time) if time is not None]
    texts = [note.part, note.writer, *times, *note.run_ids]
    if note.columns is not None:
        texts += [*note.columns, *note.columns.values()]
    return all(type(each) is int and 0 <= each <= _LARGEST for each in numbers) and all(
        isinstance(each, str) for each in texts
    )


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
