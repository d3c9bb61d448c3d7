"""The page store of one process: segments while pages come, parts once there are enough.

A page counts as kept only when the transaction that names its visit is committed. Whatever else a crash leaves in
a segment is left out when the segment becomes a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from comity.model.page_record import PageRecord
from comity.store.parquet import write_part
from comity.store.segment import SegmentWriter, read_segment

ROWS_PER_PART: Final = 5000
BYTES_PER_PART: Final = 256 * 1024 * 1024

Committed = Callable[[Sequence[PageRecord]], list[bool]]


class PageStore:
    """Takes pages in batches; the folder then holds `part-*.parquet` files, and segments not yet turned into one."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._name = name.replace(":", "-")
        self._number = 0
        self._open: SegmentWriter | None = None
        self._kept: set[int] = set()
        self.pages_kept = 0

    def append(self, records: Sequence[PageRecord]) -> list[int]:
        """Put pages safely on disk; gives the places to name in `keep` once their visits are committed."""
        if self._open is None:
            self._number += 1
            self._open = SegmentWriter(self.folder / f"segment-{self._name}-{self._number:06d}.open")
        return [at for at, _length in self._open.append(records)]

    def keep(self, places: Iterable[int]) -> None:
        """The visits of these pages are committed."""
        before = len(self._kept)
        self._kept.update(places)
        self.pages_kept += len(self._kept) - before

    @property
    def is_due(self) -> bool:
        """Whether the open segment is large enough to become a part."""
        return self._open is not None and (len(self._kept) >= ROWS_PER_PART or self._open.size >= BYTES_PER_PART)

    def roll(self) -> None:
        """Turn the open segment into a part."""
        if self._open is None:
            return
        segment, kept = self._open, self._kept
        self._open, self._kept = None, set()
        segment.close()
        _become_part(segment.path, (record for at, record in read_segment(segment.path) if at in kept))


def recover(folder: Path, is_dead: Callable[[str], bool], committed: Committed) -> int:
    """Turn segments that dead processes left behind into parts; returns how many pages were saved."""
    saved = 0
    for path in sorted(folder.glob("segment-*.open")):
        holder = path.name.removeprefix("segment-").rpartition("-")[0]
        if not is_dead(holder):
            continue
        if _part_of(path).exists():
            path.unlink()  # the crash came between writing the part and taking the segment away
            continue
        saved += _become_part(path, _only_committed(path, committed))
    return saved


def _only_committed(path: Path, committed: Committed) -> Iterator[PageRecord]:
    batch: list[PageRecord] = []

    def sifted() -> Iterator[PageRecord]:
        yield from (record for record, is_kept in zip(batch, committed(batch), strict=True) if is_kept)

    for _at, record in read_segment(path):
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
