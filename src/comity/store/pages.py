"""The page store of one process: segments while pages come, parts once there are enough.

A page counts as kept only when the transaction that names its visit is committed. Whatever else a crash leaves in
a segment is left out when the segment becomes a part. Parts are written on a thread of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Final

from comity.model.page_record import PageRecord
from comity.store.parquet import write_part
from comity.store.segment import Decode, SegmentWriter, read_segment

ROWS_PER_PART: Final = 1000
BYTES_PER_PART: Final = 24 * 1024 * 1024  # of bodies, which wait in memory for their part
SECONDS_PER_PART: Final = 300.0  # a slow crawl's pages can be read after this time at the latest

Committed = Callable[[Sequence[PageRecord]], list[bool]]


class PageStore:
    """Takes pages in batches; the folder then holds `part-*.parquet` files, and segments not yet turned into one."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._name = name.replace(":", "-")
        self._number = 0
        self._segment: SegmentWriter | None = None
        self._waiting: dict[int, PageRecord] = {}  # appended, not yet known to be committed
        self._kept: list[PageRecord] = []
        self._kept_bytes = 0
        self._since = 0.0
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Future[int] | None = None

    def append(self, records: Sequence[PageRecord]) -> list[int]:
        """Put pages safely on disk; gives the places to name in `keep` once their visits are committed."""
        if not records:
            return []
        if self._segment is None:
            self._number += 1
            self._segment = SegmentWriter(self.folder / f"segment-{self._name}-{self._number:06d}.open")
            self._since = monotonic()
        places = self._segment.append(records)
        self._waiting.update(zip(places, records, strict=True))
        return places

    def keep(self, places: Iterable[int]) -> None:
        """The visits of these pages are committed; those appended with them and not named are not."""
        for place in places:
            record = self._waiting[place]
            self._kept.append(record._replace(coded=None))
            self._kept_bytes += len(record.body or b"")
        self._waiting.clear()
        if (
            len(self._kept) >= ROWS_PER_PART
            or self._kept_bytes >= BYTES_PER_PART
            or (self._kept and monotonic() - self._since >= SECONDS_PER_PART)
        ):
            self.roll()

    def roll(self) -> None:
        """Turn what is kept into a part, beside whoever calls; waits only for the part before."""
        segment, kept = self._segment, self._kept
        if segment is None:
            return
        self._segment, self._kept, self._kept_bytes = None, [], 0
        segment.close()
        self._finish_writing()
        self._writer = self._writer or ThreadPoolExecutor(1, thread_name_prefix="comity-pages")
        self._writing = self._writer.submit(_become_part, segment.path, kept)

    def close(self) -> None:
        """Turn everything that is kept into parts, and wait until they are written."""
        self.roll()
        self._finish_writing()
        if self._writer is not None:
            self._writer.shutdown()
            self._writer = None

    def _finish_writing(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()  # a failure to write is the caller's to hear


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
        saved += _become_part(path, _only_committed(path, committed, decode))
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


def _become_part(segment: Path, records: Iterable[PageRecord]) -> int:
    count = write_part(_part_of(segment), records)
    segment.unlink(missing_ok=True)
    return count


def _part_of(segment: Path) -> Path:
    return segment.with_name(segment.name.replace("segment-", "part-", 1).removesuffix(".open") + ".parquet")
