"""Parts: finished files of pages. Each appears whole or not at all, whatever happens while it is written."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterable, Sequence
from dataclasses import field
from errno import EEXIST, EMLINK, ENOSYS, EOPNOTSUPP, EPERM, ETIMEDOUT
from pathlib import Path
from time import monotonic, sleep
from typing import Any, BinaryIO, Final
from uuid import UUID

from xxhash import xxh3_128

from comity.model.dataclass import dataclass
from comity.model.page import PageRecord

TEMPORARY: Final = ".tmp"
CLAIM_S: Final = 5.0
_LOOK_EVERY_S: Final = 0.02
_NO_LINKS: Final = (EPERM, EOPNOTSUPP, ENOSYS, EMLINK)  # what file systems say that have none


@dataclass(slots=True)
class PartTally:
    """What is known of a part's pages without reading it."""

    rows: int = 0
    first_crawl_time: float = float("inf")
    last_crawl_time: float = float("-inf")
    run_ids: set[UUID] = field(default_factory=set)
    columns: dict[str, str] = field(default_factory=dict)
    """What was extracted from the pages: names of columns, and their types."""

    def add(self, records: Sequence[PageRecord]) -> None:
        """Count pages."""
        if not records:
            return
        times = [record.crawl_time for record in records]
        self.rows += len(records)
        self.first_crawl_time = min(self.first_crawl_time, *times)
        self.last_crawl_time = max(self.last_crawl_time, *times)
        self.run_ids.update([record.run_id for record in records])
        further = {record.columns.columns for record in records if record.columns is not None}
        for columns in further:
            self.columns.update((name, str(kind)) for name, kind in columns)


class PartWriter:
    """Writes one part beside its place, and puts it there once it is finished. The kinds of parts derive from it.

    Each writer has a name of its own for what is not yet finished: where a file system has no locks, two processes may
    make the same part, and the one that is first has made it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tally = PartTally()
        self.count = 0
        self.most_group_bytes = sys.maxsize  # of the bodies in a row group; a kind without row groups has no use for it
        self._temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{TEMPORARY}")
        self._file: _Digesting | None = None
        self.size = 0
        self.digest = ""

    def add(self, records: Sequence[PageRecord]) -> None:
        """Write pages."""
        if records and self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = _Digesting(self._temporary.open("wb"))
            self._begin(self._file)  # type: ignore[arg-type]  # it writes, and nothing else is asked of it
        self.tally.add(records)
        for record in records:
            self._add(self._file, record)  # type: ignore[arg-type]
            self.count += 1

    def finish(self) -> bool:
        """Put the part in its place; one without pages is none. False if another has been put there before."""
        if self._file is None:
            return True
        self._end(self._file)  # type: ignore[arg-type]
        self._file.sync_and_close()
        self.size, self.digest = self._file.size, self._file.digest.hexdigest()
        is_ours = put_once(self._temporary, self.path)
        self._file = None
        sync_folder(self.path.parent)
        return is_ours

    def abandon(self) -> None:
        """Leave nothing behind."""
        if self._file is not None:
            try:
                self._file.close()
            finally:
                self._file = None
                self._temporary.unlink(missing_ok=True)

    def _begin(self, file: BinaryIO) -> None:
        """What comes before the first page."""

    def _add(self, file: BinaryIO, record: PageRecord) -> None:
        """One page."""
        raise NotImplementedError

    def _end(self, file: BinaryIO) -> None:
        """What comes after the last page."""


class _Digesting:
    """A file that is written once, and digested as it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._write = file.write
        self.digest: Any = xxh3_128()
        self.size = 0

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        self.size += len(data)
        return self._write(data)

    def sync_and_close(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def close(self) -> None:
        self._file.close()


def write_part(part: PartWriter, records: Iterable[PageRecord]) -> int:
    """Write a part whole or not at all; returns how many pages it holds."""
    try:
        for record in records:
            part.add((record,))
        if not part.finish():
            raise FileExistsError(EEXIST, "already exists; name a new one", str(part.path))
    finally:
        part.abandon()
    return part.count


def remove_unfinished(path: Path) -> None:
    """Take away what was begun of a file that is finished by now."""
    for begun in path.parent.glob(f".{_escaped(path.name)}.*{TEMPORARY}"):
        begun.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def put_once(temporary: Path, path: Path) -> bool:
    """Give a finished file its name, which nothing is ever written over: a link is refused where there is one."""
    is_ours = True
    try:
        os.link(temporary, path)
    except FileExistsError:
        is_ours = _is_same(temporary, path)  # NFS may do it, lose its answer, and refuse to do it again
    except FileNotFoundError:
        if not path.exists():
            raise
        is_ours = False  # the first process has cleaned up after us
    except OSError as problem:
        if problem.errno not in _NO_LINKS:
            raise
        is_ours = _rename_once(temporary, path)
    temporary.unlink(missing_ok=True)
    return is_ours


def claim_path(path: Path) -> Path:
    """The file that exists while a process gives another one its name, where there are no links."""
    return path.with_name(f".{path.name}.claim{TEMPORARY}")


def _rename_once(temporary: Path, path: Path) -> bool:
    """Rename a file unless the name is taken: `rename` replaces what is there, so one process at a time looks and does.

    A claim lasts for moments. One that stays for `CLAIM_S` is that of a process that died, and is removed, once.
    """
    claim, is_removed = claim_path(path), False
    ends_at = monotonic() + CLAIM_S
    while not path.exists():
        try:
            os.close(os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            if monotonic() < ends_at:
                sleep(_LOOK_EVERY_S)
                continue
            if is_removed:
                raise TimeoutError(ETIMEDOUT, "is claimed by other processes; try again later", str(path)) from None
            claim.unlink(missing_ok=True)
            is_removed, ends_at = True, monotonic() + CLAIM_S
            continue
        try:
            if not path.exists():
                temporary.rename(path)
                return True
        finally:
            claim.unlink(missing_ok=True)
    return False


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(one.stat(), other.stat())
    except FileNotFoundError:
        return False


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
