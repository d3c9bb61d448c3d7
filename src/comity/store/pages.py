"""The page store of one process: segments while pages come, parts once there are enough.

A page counts as kept only when the transaction that names its visit is committed. Whatever else a crash leaves in
a segment is left out when the segment becomes a part. Parts are written on a thread of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

from comity.model.page_record import PageRecord
from comity.store.parquet import PartWriter, write_part
from comity.store.segment import Decode, SegmentWriter, read_segment

ROWS_PER_PART: Final = 20_000
BYTES_PER_PART: Final = 512 * 1024 * 1024  # of bodies
SECONDS_PER_PART: Final = 300.0  # a slow crawl's pages can be read after this time at the latest
ROWS_PER_GROUP: Final = 1000
BYTES_PER_GROUP: Final = 8 * 1024 * 1024  # what waits in memory

Committed = Callable[[Sequence[PageRecord]], list[bool]]


class PageStore:
    """Takes pages in batches; the folder then holds `part-*.parquet` files, and segments not yet turned into one."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._name = name.replace(":", "-")
        self._number = 0
        self._open: _OpenPart | None = None
        self._waiting: dict[int, PageRecord] = {}  # appended, not yet known to be committed
        self._kept: list[PageRecord] = []
        self._kept_bytes = 0
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None

    def append(self, records: Sequence[PageRecord]) -> list[int]:
        """Put pages safely on disk; gives the places to name in `keep` once their visits are committed."""
        if not records:
            return []
        if self._open is None:
            self._number += 1
            path = self.folder / f"segment-{self._name}-{self._number:06d}.open"
            self._open = _OpenPart(SegmentWriter(path), PartWriter(_part_of(path)), monotonic())
        places = self._open.segment.append(records)
        self._waiting.update(zip(places, records, strict=True))
        return places

    def keep(self, places: Iterable[int]) -> None:
        """The visits of these pages are committed; those appended with them and not named are not."""
        for place in places:
            record = self._waiting[place]
            self._kept.append(record._replace(coded=None))
            self._kept_bytes += len(record.body or b"")
        self._waiting.clear()
        part = self._open
        if part is None:
            return
        if len(self._kept) >= ROWS_PER_GROUP or self._kept_bytes >= BYTES_PER_GROUP:
            self._write_group(part)
        is_old = monotonic() - part.since >= SECONDS_PER_PART
        if part.rows >= ROWS_PER_PART or part.body_bytes >= BYTES_PER_PART or (is_old and (part.rows or self._kept)):
            self._finish(part)

    def close(self) -> None:
        """Turn everything that is kept into parts, and wait until they are written."""
        if self._open is not None:
            self._finish(self._open)
        self._wait()
        if self._writer is not None:
            self._writer.shutdown()
            self._writer = None

    def _write_group(self, part: _OpenPart) -> None:
        part.rows += len(self._kept)
        part.body_bytes += self._kept_bytes
        kept, self._kept, self._kept_bytes = self._kept, [], 0
        self._submit(part.writer.add, kept)

    def _finish(self, part: _OpenPart) -> None:
        self._write_group(part)
        self._open = None
        part.segment.close()
        self._submit(_become_part, part)

    def _submit(self, work: Callable[..., None], *arguments: object) -> None:
        """Write beside whoever calls; waits only for what was to be written before."""
        self._wait()
        self._writer = self._writer or ThreadPoolExecutor(1, thread_name_prefix="comity-pages")
        self._writing = self._writer.submit(work, *arguments)

    def _wait(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()  # a failure to write is the caller's to hear


@dataclass(slots=True)
class _OpenPart:
    """A part that is being written, and the segment that stands for it until then."""

    segment: SegmentWriter
    writer: PartWriter
    since: float
    rows: int = 0
    body_bytes: int = 0


def recover(folder: Path, is_dead: Callable[[str], bool], committed: Committed, decode: Decode) -> int:
    """Turn segments that dead processes left behind into parts; returns how many pages were saved."""
    saved = 0
    for path in sorted(folder.glob("segment-*.open")):
        holder = path.name.removeprefix("segment-").rpartition("-")[0]
        if not is_dead(holder):
            continue
        if _part_of(path).exists():
            path.unlink()  # the crash came between writing the part and taking the segment away
            continue
        saved += write_part(_part_of(path), _only_committed(path, committed, decode))
        path.unlink()
    return saved


def _only_committed(path: Path, committed: Committed, decode: Decode) -> Iterator[PageRecord]:
    batch: list[PageRecord] = []

    def sifted() -> Iterator[PageRecord]:
        yield from (record for record, is_kept in zip(batch, committed(batch), strict=True) if is_kept)

    for record in read_segment(path, decode):
        batch.append(record)
        if len(batch) >= 200:
            yield from sifted()
            batch.clear()
    yield from sifted()


def _become_part(part: _OpenPart) -> None:
    part.writer.finish()
    part.segment.path.unlink(missing_ok=True)


def _part_of(segment: Path) -> Path:
    return segment.with_name(segment.name.replace("segment-", "part-", 1).removesuffix(".open") + ".parquet")
