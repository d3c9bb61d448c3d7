"""Streamed exports: None between rows sends an empty chunk and leaves the file as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import pytest

from comity.doors.schemas.base import Schema
from comity.doors.web.exports import ExportFormat, stream


class Named(Schema):
    name: str


async def chunks_of(kind: ExportFormat, rows: Sequence[str | None]) -> list[bytes]:
    def each() -> Iterator[object | None]:
        for row in rows:
            yield None if row is None else SimpleNamespace(name=row)

    found = stream("names", kind, Named, each()).body_iterator
    return [chunk async for chunk in found if isinstance(chunk, bytes)]


@pytest.mark.parametrize("names", [(), ("a",), ("a", "b")])
@pytest.mark.parametrize("kind", ["csv", "json", "jsonl"])
async def test_a_pause_between_rows_changes_nothing_in_the_file(kind: ExportFormat, names: Sequence[str]) -> None:
    with_pauses = [None, *(row for name in names for row in (name, None)), None]
    plain, paused = await chunks_of(kind, names), await chunks_of(kind, with_pauses)
    assert b"".join(paused) == b"".join(plain)
    assert paused.count(b"") == len(names) + 2
    assert b"" not in plain
