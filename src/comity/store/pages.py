"""The page store of one process: segments while pages come, parts once there are enough.

A page counts as kept only when the transaction that names its visit is committed. Whatever else a crash leaves in
a segment is left out when the segment becomes a part. Parts are written on a thread of their own, and joined to the
requested file on another. Segments that dead processes left become parts, too (`recover`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from errno import ENOENT, ENOSPC
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import BinaryIO, Final

from comity.model.dataclass import dataclass
from comity.model.page import BodyCompression, PageRecord
from comity.store.formats.writers import part_writer
from comity.store.parts.joining import join_parts
from comity.store.parts.manifest import (
    finish_part,
    is_finished,
    note_of,
    note_path,
    read_note,
    size_and_digest,
    write_finished,
    write_note,
)
from comity.store.parts.part import TEMPORARY, PartTally, PartWriter, remove_unfinished, sync_folder
from comity.store.processor_load import ProcessorLoad
from comity.store.segment import (
    LEFT,
    OPEN,
    Decode,
    SegmentGone,
    SegmentPage,
    SegmentWriter,
    read_records,
    taken_over,
    with_content,
)
from comity.store.sink import is_full
from comity.store.target import Format, Target, read_target

ROWS_PER_PART: Final = 20_000
BYTES_PER_PART: Final = 512 * 1024 * 1024  # of bodies
SECONDS_PER_PART: Final = 300.0  # a slow crawl's pages can be read after this time at the latest
_PAGES_AT_ONCE: Final = 20
_DISK_FULL: Final = "No space left on device for a part; the next run writes its pages"
WAIT_AT_THE_END_S: Final = 10.0  # for a file that another process has


@dataclass(frozen=True, slots=True)
class PartPace:
    """When a part ends: at its most rows, bytes or age, or once it has both the least rows and the least age."""

    most_bytes: int = BYTES_PER_PART
    least_rows: int = ROWS_PER_PART
    least_age_s: float = 0.0
    most_group_bytes: int = BYTES_PER_PART
    """Of the bodies in a row group, for a reader that takes them one group at a time."""

    def is_full(self, rows: int, body_bytes: int, age_s: float) -> bool:
        """Whether the part ends now."""
        if rows >= ROWS_PER_PART or body_bytes >= self.most_bytes or (rows > 0 and age_s >= SECONDS_PER_PART):
            return True
        return rows >= self.least_rows and age_s >= self.least_age_s


def open_sink(place: str | Path, name: str, bodies: BodyCompression = BodyCompression.ZSTD) -> PageStore:
    """A store for a named place; `BadInput` if pages cannot go there. Nothing is made yet."""
    return PageStore(read_target(place), name, bodies)


def _keeps_gzip(kind: Format, bodies: BodyCompression) -> Callable[[], bool] | None:
    """What tells as a row group begins whether bodies that came in gzip are stored as they came; None: never.

    A part that is joined to a DuckDB file is read at once, which would take longer than it took to compress it.
    """
    if kind is not Format.PARQUET or bodies is BodyCompression.ZSTD:
        return None
    return ProcessorLoad().is_busy if bodies is BodyCompression.AUTO else lambda: True


class PageStore:
    """Takes pages in batches: `append`, then commit their visits, then `keep`."""

    def __init__(self, target: Target | Path, name: str, bodies: BodyCompression = BodyCompression.ZSTD) -> None:
        self.target = target if isinstance(target, Target) else Target(target, Format.PARQUET)
        self.folder = self.target.spool
        self.wants_headers = self.target.format.is_archive
        self.parts_waiting = 0  # after the end: parts that another process kept us from joining
        self._name = name.replace(":", "-")
        self._number = 0
        self._open: _OpenPart | None = None
        self._waiting: dict[int, PageRecord] = {}  # appended, not yet known to be committed
        self._thread: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None
        self._join_thread: ThreadPoolExecutor | None = None
        self._joining: Future[int] | None = None
        self._failure: BaseException | None = None
        self._writes: _OpenPart | None = None  # whose pages are being written
        self._had_no_space = False  # for a part; its pages are still in their segment
        self._pulse = SegmentHeartbeat()
        self._pace = PartPace()
        self._keeps_gzip = _keeps_gzip(self.target.format, bodies)

    def pace(self, pace: PartPace) -> None:
        """End parts at another pace, for a reader that takes them while pages come."""
        self._pace = pace

    def append(self, records: Sequence[PageRecord]) -> list[int]:
        """Put pages safely on disk; gives the places to name in `keep` once their visits are committed."""
        if not records:
            return []
        if self._failure is not None:
            raise self._failure
        if self._waiting and self._open is not None:
            self._open.is_doubtful = True  # the outcome of those before is not known
        records = [with_content(record) for record in records]
        try:
            places = self._opened().segment.append(records)
        except SegmentGone:
            self._give_up_what_was_taken()
            places = self._opened().segment.append(records)
        self._waiting.update(zip(places, records, strict=True))
        return places

    def keep(self, places: Iterable[int]) -> None:
        """The visits of these pages are committed; those appended with them and not named are not."""
        kept = [self._waiting[place] for place in places]
        self._waiting.clear()
        part = self._open
        if part is None:
            return
        if kept:
            self._wait()
            if part.is_done:  # its segment has these pages, and becomes a part later
                return
            part.rows += len(kept)
            part.body_bytes += sum(len(record.body) for record in kept if record.body is not None)
            self._writes = part
            self._write(part.add, kept)
        if self._pace.is_full(part.rows, part.body_bytes, monotonic() - part.since):
            self._write(self._become_part, part)
            self._open = None

    def close(self) -> None:
        """Turn everything that is kept into parts, and wait until they are where they belong.

        What cannot be turned into a part now stays on disk for the next process; the failure is reported.
        """
        part, self._open = self._open, None
        try:
            if part is not None and self._waiting:
                part.is_doubtful = True
            self._wait()
            if part is not None:
                part.finish()
            if self._joining is not None:
                self._joining.result()
            self.parts_waiting = join_parts(self.target, WAIT_AT_THE_END_S)
            if self._had_no_space:
                raise OSError(ENOSPC, _DISK_FULL, str(self.folder))
        finally:
            if part is not None:
                part.leave()  # unless it is done
            self._pulse.end()
            for thread in (self._thread, self._join_thread):
                if thread is not None:
                    thread.shutdown()
            self._thread = self._join_thread = None

    def _opened(self) -> _OpenPart:
        if self._open is None:
            path = self._next_segment()
            writer = part_writer(self.target, path, self._keeps_gzip)
            writer.most_group_bytes = self._pace.most_group_bytes
            self._open = _OpenPart(SegmentWriter(path), writer, monotonic())
            self._pulse.watch(self._open.segment)
        return self._open

    def _give_up_what_was_taken(self) -> None:
        """A process that found our segment untouched for an hour has made its part; without a part, pages are lost."""
        part = self._open
        assert part is not None
        self._wait()
        if not is_finished(self.target, part.writer.path):
            raise SegmentGone(ENOENT, "it was deleted while pages were written to it", str(part.segment.path))
        part.give_up()
        self._open = None
        self._waiting.clear()

    def _next_segment(self) -> Path:
        while True:
            self._number += 1
            path = self.folder / f"segment-{self._name}-{self._number:06d}{OPEN}"
            if not self.target.part_of(path).exists():  # no part is ever written over
                return path

    def _become_part(self, part: _OpenPart) -> None:
        try:
            part.finish()
        finally:
            part.leave()
        if not self.target.is_folder:
            self._join()

    def _join(self) -> None:
        """Join what is finished, beside everything else; if that still goes on, the next part takes care of this."""
        if self._joining is not None:
            if not self._joining.done():
                return
            self._joining.result()
        self._join_thread = self._join_thread or ThreadPoolExecutor(1, thread_name_prefix="comity-joins")
        self._joining = self._join_thread.submit(join_parts, self.target, 0.0)

    def _set_aside(self, part: _OpenPart | None) -> None:
        """Leave a part that had no room: its pages are in its segment, and the next run makes a part of it."""
        if part is not None:
            part.leave()
        if part is self._open:
            self._open = None

    def _write(self, work: Callable[..., None], *arguments: object) -> None:
        """Write in the background; waits only for what was to be written before."""
        self._wait()
        self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="comity-pages")
        self._writing = self._thread.submit(work, *arguments)

    def _wait(self) -> None:
        """Raise a failure to write, now and at every later call: its part must not be finished."""
        if self._failure is None and self._writing is not None:
            self._failure, part = self._writing.exception(), self._writes
            self._writing = self._writes = None
            if is_full(self._failure):  # the next page tells whether there is room by now
                self._had_no_space, self._failure = True, None
                self._set_aside(part)
            if isinstance(self._failure, OSError) and self._failure.filename is None:
                self._failure.filename = str(self.folder)  # a disk that is full should have a name
        if self._failure is not None:
            raise self._failure


@dataclass(slots=True)
class _OpenPart:
    """A part that is being written, and the segment that stands for it until then.

    While it is in doubt which of its visits were committed, it is not made from memory: only the database can tell.
    """

    segment: SegmentWriter
    writer: PartWriter
    since: float
    rows: int = 0
    body_bytes: int = 0
    is_doubtful: bool = False
    is_done: bool = False

    def add(self, kept: list[PageRecord]) -> None:
        """Write pages, a few at a time, and take them out of the list: what is written need not stay in memory."""
        kept.reverse()
        while kept:
            self.writer.add([kept.pop() for _ in range(min(len(kept), _PAGES_AT_ONCE))])

    def finish(self) -> None:
        if self.is_doubtful or self.is_done:
            return
        if finish_part(self.writer):
            self.segment.remove()
            self.is_done = True
        else:
            self.give_up()

    def give_up(self) -> None:
        self.is_done = True
        self.segment.forget()
        self.writer.abandon()

    def leave(self) -> None:
        if not self.is_done:
            self.is_done = True
            self.segment.leave()
            self.writer.abandon()


# Whether each visit is committed; None where the database knows nothing of the run, so that it cannot tell.
Committed = Callable[[Sequence[PageRecord]], Sequence[bool | None]]

_ROWS_PER_QUESTION: Final = 200
_BYTES_PER_QUESTION: Final = 8 * 1024 * 1024
_UNTOUCHED_S: Final = 3600.0  # after which a segment that is not open belongs to a dead process, on whatever machine
_WAIT_S: Final = 5.0


class _OwnedElsewhere(Exception):
    """The segment belongs to another database."""


def recover(folder: Path, is_dead: Callable[[str], bool], committed: Committed, decode: Decode) -> int:
    """Turn segments of dead processes into parts; returns how many pages were saved.

    `folder` is that of a store. A segment whose runs this database does not know stays: another one's crawl left it.
    """
    target = Target.of_spool(folder)
    saved = 0
    for path in target.segments():
        holder = path.name.removeprefix("segment-").rpartition("-")[0]
        if path.suffix != LEFT and not is_dead(holder) and not _is_untouched(path):
            continue
        with taken_over(path) as file:
            if file is not None:
                saved += _become_part(target, path, file, committed, decode)
    if target.format is Format.DUCKDB and target.path.exists():
        from comity.store.parts.duckdb_table import check_table

        check_table(target.path)
    _sweep(target)
    join_parts(target, _WAIT_S)
    return saved


def _sweep(target: Target) -> None:
    """Delete what processes that died long ago had half written, and whose part another process has made.

    While a segment is there, its owner may be writing its part, however slowly.
    """
    folder = target.spool
    begun = [*folder.glob(f".part-*{TEMPORARY}"), *folder.glob(f".manifest-*{TEMPORARY}")]
    if not begun:
        return
    in_hand = tuple(target.part_of(segment).name.removeprefix("part-") + "." for segment in target.segments())
    for path in begun:
        name = path.name.removeprefix(".part-").removeprefix(".manifest-")
        if not name.startswith(in_hand) and _is_untouched(path):
            path.unlink(missing_ok=True)


def _become_part(target: Target, path: Path, file: BinaryIO, committed: Committed, decode: Decode) -> int:
    part = target.part_of(path)
    saved = 0
    try:
        if not part.exists():
            records = (kept.decoded(decode) for kept in _only_committed(file, committed))
            saved = write_finished(part_writer(target, path), records)
        elif read_note(part) is None:  # the crash came between the part and its note
            tally = PartTally()
            for kept in _only_committed(file, committed):
                tally.add((kept.record,))
            write_note(part, note_of(part, tally, *size_and_digest(part)))
    except _OwnedElsewhere:
        return 0
    path.unlink(missing_ok=True)
    remove_unfinished(part)
    remove_unfinished(note_path(part))
    sync_folder(path.parent)
    return saved


def _only_committed(file: BinaryIO, committed: Committed) -> Iterator[SegmentPage]:
    seen: set[tuple[object, ...]] = set()
    for batch in _batches(read_records(file)):
        verdicts = committed([kept.record for kept in batch])
        for kept, is_committed in zip(batch, verdicts, strict=True):
            if is_committed is None:
                raise _OwnedElsewhere
            visit = (kept.record.run_id, kept.record.url_key, kept.record.crawl_time)
            if is_committed and visit not in seen:
                seen.add(visit)
                yield kept


def _batches(pages: Iterator[SegmentPage]) -> Iterator[list[SegmentPage]]:
    """As many pages as the database is asked about at once; bounded in bytes, since some pages are large."""
    batch: list[SegmentPage] = []
    size = 0
    for kept in pages:
        batch.append(kept)
        size += len(kept.body or b"")
        if len(batch) >= _ROWS_PER_QUESTION or size >= _BYTES_PER_QUESTION:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _is_untouched(path: Path) -> bool:
    """Whether nothing was written for long, by the clock of the disk itself, which may be another machine's.

    The name of a holder tells nothing about another container or an earlier boot; this, with the lock, does.
    """
    probe = path.with_name(f".now-{secrets.token_hex(4)}")
    try:
        probe.touch()
        age_s = probe.stat().st_mtime - path.stat().st_mtime
        probe.unlink(missing_ok=True)
    except FileNotFoundError:
        return False
    return age_s >= _UNTOUCHED_S


# Where a file system has no locks, that is all by which another machine can tell a slow crawl from a dead one.

TOUCH_EVERY_S: Final = 600.0  # a sixth of the time after which a segment counts as a dead process's


class SegmentHeartbeat:
    """Touches one segment beside everything else, from its first page until the end."""

    def __init__(self) -> None:
        self._segment: SegmentWriter | None = None
        self._thread: Thread | None = None
        self._is_over = Event()

    def watch(self, segment: SegmentWriter) -> None:
        """This is the segment from now on."""
        self._segment = segment
        if self._thread is None:
            self._is_over.clear()
            self._thread = Thread(target=self._beat, name="comity-pulse", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """No segment is open any more."""
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _beat(self) -> None:
        while not self._is_over.wait(TOUCH_EVERY_S):
            if self._segment is not None:
                self._segment.touch()  # one that became a part is not there any more, and stays so


__all__ = ["PageStore", "open_sink", "recover"]
