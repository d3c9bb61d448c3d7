"""What dead processes left behind becomes parts: their segments enter, and what the database says of their visits."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from comity.model.page import PageRecord
from comity.store.formats.writers import part_writer
from comity.store.parts.joining import join_parts
from comity.store.parts.manifest import note_of, note_path, read_note, size_and_digest, write_finished, write_note
from comity.store.parts.part import TEMPORARY, PartTally, remove_unfinished, sync_folder
from comity.store.segment import LEFT, Decode, KeptPage, read_kept, taken_over
from comity.store.target import Format, Target

# Whether each visit is committed; None where the database knows nothing of the run, so that it cannot tell.
Committed = Callable[[Sequence[PageRecord]], Sequence[bool | None]]

_ROWS_PER_QUESTION: Final = 200
_BYTES_PER_QUESTION: Final = 8 * 1024 * 1024
_UNTOUCHED_S: Final = 3600.0  # after which a segment that nobody has open is a dead process's, on whatever machine
_WAIT_S: Final = 5.0


class _SomebodyElses(Exception):
    """The segment belongs to another database."""


def recover(folder: Path, is_dead: Callable[[str], bool], committed: Committed, decode: Decode) -> int:
    """Turn segments that nobody writes any more into parts; returns how many pages were saved.

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
    """Take away what was half written by processes that died long ago, and whose part somebody else has made.

    While a segment is there, whoever has it may be writing its part, however slowly.
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
    except _SomebodyElses:
        return 0
    path.unlink(missing_ok=True)
    remove_unfinished(part)
    remove_unfinished(note_path(part))
    sync_folder(path.parent)
    return saved


def _only_committed(file: BinaryIO, committed: Committed) -> Iterator[KeptPage]:
    seen: set[tuple[object, ...]] = set()
    for batch in _batches(read_kept(file)):
        verdicts = committed([kept.record for kept in batch])
        for kept, is_committed in zip(batch, verdicts, strict=True):
            if is_committed is None:
                raise _SomebodyElses
            visit = (kept.record.run_id, kept.record.url_key, kept.record.crawl_time)
            if is_committed and visit not in seen:
                seen.add(visit)
                yield kept


def _batches(pages: Iterator[KeptPage]) -> Iterator[list[KeptPage]]:
    """As many pages as the database is asked about at once; bounded in bytes, since some pages are large."""
    batch: list[KeptPage] = []
    size = 0
    for kept in pages:
        batch.append(kept)
        size += len(kept.octets or b"")
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
