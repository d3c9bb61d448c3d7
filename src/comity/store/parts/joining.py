"""Join finished parts into the requested file, each exactly once, in whichever process is first.

Parts are joined one process at a time. What is about to be appended is noted before, with the length of the file: a
process that dies in the middle leaves a note by which the next one cuts the half part off and begins it again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from shutil import copyfileobj
from time import monotonic, sleep
from typing import BinaryIO, Final

from comity.model.errors import ComityError
from comity.store.parts.manifest import add_joined, note_path, noted_parts, read_joined, read_note
from comity.store.parts.part import sync_folder
from comity.store.target import COLUMNS_NOTE, Format, Target

_LOCK: Final = "joining.lock"
_NOTE: Final = "joining.json"
_LOOK_EVERY_S: Final = 0.05
_READERS_LOOK_EVERY_S: Final = 0.001  # they come seldom, and want to be let in between two parts
_COPY_BYTES: Final = 1024 * 1024


def join_parts(target: Target, wait_s: float) -> int:
    """Join what is finished; gives how many parts have to wait, since another process has the file for longer."""
    if target.is_folder or not target.spool.is_dir():
        return 0
    ends_at = monotonic() + wait_s
    with _turn(target.spool, ends_at) as has_turn:
        parts = target.parts()
        if not has_turn:
            return len(parts)
        if target.format is Format.DUCKDB:
            from comity.store.parts.duckdb_table import load_parts  # late: it is large, and most crawls never need it

            if parts and not load_parts(target.path, parts, ends_at, partial(_note_joined, target, at=None)):
                return len(parts)
        else:
            _mend(target)
            for part in parts:
                _append(target, part)
        _forget_notes(target)
        _tidy(target.spool)
    return 0


def _append(target: Target, part: Path) -> None:
    """Copy one part to the end of the file, and take it away."""
    is_new = not target.path.exists()
    with target.path.open("ab") as file, part.open("rb") as source:
        if is_new:
            sync_folder(target.path.parent)
        size = os.fstat(file.fileno()).st_size
        gap = _gap(target, size)
        _write_note(target.spool, {"part": part.name, "at": size, "gap": gap.decode("latin-1")})
        try:
            file.write(gap)
            copyfileobj(source, file, _COPY_BYTES)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            # A full disk: the file is as it was, and the part waits.
            _cut(file, size)
            (target.spool / _NOTE).unlink()
            raise
    _note_joined(target, part, at=size + len(gap))
    part.unlink()
    sync_folder(target.spool)  # before the note goes: a part that came back without it would be joined twice
    (target.spool / _NOTE).unlink()


def _note_joined(target: Target, part: Path, *, at: int | None) -> None:
    """A part is in the file: its note goes to those of the file; after a crash perhaps once more, saying the same."""
    note = read_note(part)
    if note is not None:
        add_joined(target.path, note._replace(at=at))


def _forget_notes(target: Target) -> None:
    """Delete the notes of parts that were joined; a process that died here may have left some."""
    gone = [part for part in noted_parts(target.spool) if not part.exists()]
    if gone:
        joined = read_joined(target.path)
        for part in gone:
            if part.name in joined:
                note_path(part).unlink(missing_ok=True)


def _mend(target: Target) -> None:
    """Undo what a process that died had begun to append; what another program has written there is not ours to cut."""
    try:
        note = json.loads((target.spool / _NOTE).read_bytes())
    except FileNotFoundError:
        return
    with suppress(FileNotFoundError), (target.spool / note["part"]).open("rb") as part, target.path.open("r+b") as file:
        has_grown = file.seek(0, os.SEEK_END) > note["at"]
        file.seek(note["at"])
        if has_grown and _begins_alike(file, note["gap"].encode("latin-1"), part):
            _cut(file, note["at"])
    (target.spool / _NOTE).unlink()


def _begins_alike(file: BinaryIO, gap: bytes, part: BinaryIO) -> bool:
    """Whether the rest of a file is the beginning of a part, or room for it that a power cut left empty."""
    if not gap.startswith(file.read(len(gap)).rstrip(b"\0")):
        return False
    while there := file.read(_COPY_BYTES):
        wanted = part.read(_COPY_BYTES)
        if there != wanted[: len(there)] and not wanted.startswith(there.rstrip(b"\0")):
            return False
    return True


def _cut(file: BinaryIO, size: int) -> None:
    os.ftruncate(file.fileno(), size)
    os.fsync(file.fileno())


def _gap(target: Target, size: int) -> bytes:
    """What comes before a part: the column names of a new CSV file, or a line end where the last line lacks one."""
    if target.format.is_csv and not size:
        from comity.store.formats.csv_pages import agreed_columns, head_of  # late: only these files need it

        return head_of(target.format, agreed_columns(target) or ())
    if target.format not in (Format.JSONL, Format.CSV) or not size:
        return b""
    with target.path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return b"" if file.read(1) == b"\n" else b"\n" if target.format is Format.JSONL else b"\r\n"


def _write_note(spool: Path, note: dict[str, str | int]) -> None:
    """Put the note on disk, whole."""
    new = spool / f".{_NOTE}.tmp"
    with new.open("w", encoding="utf-8") as file:
        json.dump(note, file)
        file.flush()
        os.fsync(file.fileno())
    new.rename(spool / _NOTE)
    sync_folder(spool)


@contextmanager
def exclusive(target: Target, wait_s: float) -> Iterator[None]:
    """Nothing is joined while this lasts, so that a reader sees each part once: in the file, or beside it.

    What a process that died had begun to append is undone first. Other processes leave their parts for later meanwhile.
    Where we may not write there is no lock, and a reader takes what it finds.
    """
    ends_at = monotonic() + wait_s
    while True:
        try:
            file = (target.spool / _LOCK).open("ab")
        except OSError:
            yield
            return
        with file:
            if _is_still(target, file.fileno(), ends_at):
                yield
                return


def _is_still(target: Target, descriptor: int, ends_at: float) -> bool:
    """Share the lock with other readers; False if another process cleaned up or died, so that it must be retried."""
    note = target.spool / _NOTE
    kind = fcntl.LOCK_EX if note.exists() else fcntl.LOCK_SH
    try:
        if not _is_locked(descriptor, ends_at, kind, _READERS_LOOK_EVERY_S):
            raise ComityError(f"{target.path} is being written continuously; try again later")
    except OSError:
        return True  # there are no locks here, and nothing is joined without
    if not _is_there(descriptor, target.spool / _LOCK):
        return False
    if kind == fcntl.LOCK_EX:
        _mend(target)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    return not note.exists()


@contextmanager
def _turn(spool: Path, ends_at: float) -> Iterator[bool]:
    """Wait for our turn among the processes that join; False if it does not come in time."""
    path = spool / _LOCK
    while True:
        try:
            file = path.open("ab")
        except FileNotFoundError:
            yield False  # the folder is gone, and so are its parts
            return
        with file:
            if _is_locked(file.fileno(), ends_at):
                if _is_there(file.fileno(), path):
                    yield True
                    return
            else:
                yield False
                return


def _is_locked(descriptor: int, ends_at: float, kind: int = fcntl.LOCK_EX, look_every_s: float = _LOOK_EVERY_S) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() >= ends_at:
                return False
            sleep(look_every_s)
        else:
            return True


def _is_there(descriptor: int, path: Path) -> bool:
    """Whether the lock is still the one that others find: its former holder may have cleaned up."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _tidy(spool: Path) -> None:
    """Remove the folder if nothing waits in it; only the holder of the lock may."""
    left = {path.name for path in spool.iterdir()} - {_LOCK}
    if all(name == COLUMNS_NOTE or name.startswith(f".{COLUMNS_NOTE}.") for name in left):
        for name in left:
            (spool / name).unlink(missing_ok=True)  # the file itself says it
        (spool / _LOCK).unlink()
        with suppress(OSError):  # another process starts a segment there at this moment
            spool.rmdir()
