"""List the parts of a page store, and check each against its note. A place enters, findings leave.

A quick look compares sizes and reads no part. A thorough one reads every byte and compares digests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from comity.model.dataclass import dataclass
from comity.model.errors import BadInput
from comity.model.page import FILES_WRITTEN
from comity.store.images import IMAGES_FOLDER
from comity.store.parts.manifest import (
    PartNote,
    digest_between,
    note_path,
    noted_parts,
    read_joined,
    read_note,
    size_and_digest,
)
from comity.store.segment import count_pages
from comity.store.target import Format, Target, file_format

# What a file of a kind has at its beginning, and at its end.
_MARKS: Final = {
    Format.PARQUET: (b"PAR1", b"PAR1"),
    Format.JSONL: (b"{", b"}\n"),
    Format.JSONL_GZ: (b"\x1f\x8b", b""),
    Format.CSV: (b"", b"\r\n"),
    Format.CSV_GZ: (b"\x1f\x8b", b""),
    Format.WARC: (b"WARC/", b"\r\n\r\n"),
    Format.WARC_GZ: (b"\x1f\x8b", b""),
}
_OURS: Final = ("part-", "segment-", "manifest-", "joining.", ".part-", ".manifest-", ".joining.", ".now-")


class Condition(StrEnum):
    """How a part was found."""

    WHOLE = "whole"  # as its note says
    UNLISTED = "unlisted"  # it can be read, but has no note of what it holds
    FINISHING = "finishing"  # its note is still to come, from its writer or from the process that recovers its segment
    COPY = "copy"  # the same bytes as another part
    DAMAGED = "damaged"
    MISSING = "missing"

    @property
    def is_readable(self) -> bool:
        """Whether its pages are to be read."""
        return self in (Condition.WHOLE, Condition.UNLISTED, Condition.FINISHING)

    @property
    def is_wrong(self) -> bool:
        """Whether pages are lost by it."""
        return self in (Condition.DAMAGED, Condition.MISSING)


class PartFound(NamedTuple):
    """A part, its note if it has one, and what is the matter with it."""

    name: str
    condition: Condition
    note: PartNote | None
    size: int
    reason: str = ""
    is_joined: bool = False  # in the file itself; otherwise it is a file of its own


@dataclass(frozen=True, slots=True)
class Inventory:
    """All parts of a place, in the order of their names."""

    target: Target
    parts: tuple[PartFound, ...]
    in_segments: int  # pages that are not yet in a part
    foreign: tuple[str, ...]  # files in the folder that are not ours; they are not read
    unnoted_bytes: int = 0  # of the file itself

    @property
    def readable(self) -> tuple[Path, ...]:
        """The parts that are files of their own and can be read."""
        found = (part for part in self.parts if part.condition.is_readable and not part.is_joined)
        return tuple(self.target.spool / part.name for part in found)

    @property
    def left_out(self) -> tuple[PartFound, ...]:
        """The parts whose pages cannot be read."""
        return tuple(part for part in self.parts if part.condition.is_wrong)


def target_of(place: str | Path) -> Target:
    """A named place, which may exist or not; `BadInput` where no parts can be."""
    path = Path(place).expanduser()
    if path.is_dir() or not path.suffix:
        return Target.of_folder(path)
    kind = file_format(path.name)
    if kind is None:
        raise BadInput(f"{path}: parts are in a folder, or in a file ending in {FILES_WRITTEN}")
    if kind is Format.PARQUET and path.is_file():
        raise BadInput(f"{path} is one file; parts are in a folder")
    return Target(path, kind)


def take_inventory(target: Target, *, thorough: bool = False) -> Inventory:
    """Look at every part of a place. What comes or goes while we look is seen as it was before or after."""
    segments = target.segments()
    unfinished = {target.part_of(segment).name for segment in segments}
    waiting = sum(_count(segment) for segment in segments if not target.part_of(segment).exists())
    joined = () if target.is_folder else tuple(_joined_parts(target, thorough=thorough))
    there = target.parts()
    looked = (_find_own(target, path, unfinished, thorough=thorough) for path in there)
    own = [part for part in looked if part is not None]
    known = unfinished | {path.name for path in there} | {part.name for part in joined}
    noted = [path for path in noted_parts(target.spool) if path.name not in known]
    own += _missing_parts(target, noted)
    own = _without_copies(target, own)
    size = target.path.stat().st_size if target.path.is_file() and target.format is not Format.DUCKDB else 0
    in_file = sum(part.size for part in joined if part.condition is not Condition.MISSING)
    if size and target.format.is_csv:
        from comity.store.formats.csv_pages import columns_in, head_of

        columns = columns_in(target.path, target.format)
        in_file += len(head_of(target.format, columns)) if columns is not None else 0
    found = sorted([*joined, *own], key=lambda part: part.name)
    return Inventory(target, tuple(found), waiting, tuple(_foreign(target)), max(0, size - in_file))


def _find_own(target: Target, path: Path, unfinished: set[str], *, thorough: bool) -> PartFound | None:
    """A part that is a file of its own; None if it went away just now, to where it belongs."""
    try:
        size = path.stat().st_size
        note = read_note(path)
        if note is None:
            kind = Format.PARQUET if target.format is Format.DUCKDB else target.format
            if not _looks_whole(path, kind, size):
                return PartFound(path.name, Condition.DAMAGED, None, size, f"it is not a whole {kind} file")
            is_coming = path.name in unfinished and not note_path(path).exists()
            return PartFound(path.name, Condition.FINISHING if is_coming else Condition.UNLISTED, None, size)
        if size != note.size:
            return PartFound(path.name, Condition.DAMAGED, note, size, f"{size:,} bytes instead of {note.size:,}")
        if thorough and size_and_digest(path) != (note.size, note.digest):
            return PartFound(path.name, Condition.DAMAGED, note, size, "its digest does not match the manifest")
    except FileNotFoundError:
        return None
    except OSError as problem:
        return PartFound(path.name, Condition.DAMAGED, None, 0, problem.strerror or str(problem))
    return PartFound(path.name, Condition.WHOLE, note, size)


def _missing_parts(target: Target, noted: Iterable[Path]) -> Iterator[PartFound]:
    """Parts that have a note and no file. One that was joined since we looked loses its file first, then its note."""
    lost = [path for path in noted if not path.exists() and note_path(path).exists()]
    if lost and not target.is_folder:
        joined = {part.name for part in _joined_parts(target, thorough=False)}
        lost = [path for path in lost if path.name not in joined]
    for path in lost:
        yield PartFound(path.name, Condition.MISSING, read_note(path), 0, "it is in the manifest, but missing")


def _without_copies(target: Target, parts: list[PartFound]) -> list[PartFound]:
    """A part without a note may be a copy of another; its pages must not appear twice."""
    sizes = {part.note.size for part in parts if part.note is not None}
    digests = {part.note.digest: part.name for part in parts if part.note is not None}
    found = []
    for part in parts:
        if part.condition is Condition.UNLISTED and part.size in sizes:
            with suppress(OSError):
                _size, digest = size_and_digest(target.spool / part.name)
                if digest in digests:
                    reason = f"the same as {digests[digest]}"
                    part = part._replace(condition=Condition.COPY, reason=reason)
        found.append(part)
    return found


def _joined_parts(target: Target, *, thorough: bool) -> Iterator[PartFound]:
    """The parts that are in the file itself."""
    notes = read_joined(target.path)
    if not notes:
        return
    if not target.path.is_file():
        for note in notes.values():
            yield PartFound(note.part, Condition.MISSING, note, 0, f"{target.path.name} is missing", is_joined=True)
        return
    if target.format is Format.DUCKDB:
        yield from _loaded_parts(target, notes, thorough=thorough)
        return
    with target.path.open("rb") as file:
        size = file.seek(0, 2)
        for note in notes.values():
            reason = ""
            if note.at is None or note.at + note.size > size:
                reason = "the file is truncated"
            elif thorough:
                file.seek(note.at)
                if digest_between(file, note.size) != (note.size, note.digest):
                    reason = "its digest does not match the manifest"
            condition = Condition.DAMAGED if reason else Condition.WHOLE
            yield PartFound(note.part, condition, note, note.size, reason, is_joined=True)


def _loaded_parts(target: Target, notes: dict[str, PartNote], *, thorough: bool) -> Iterator[PartFound]:
    """A DuckDB file keeps the digests of what it took in; its rows are its own business."""
    loaded: set[str] | None = None
    if thorough:
        from comity.store.parts.duckdb_table import loaded_digests

        loaded = loaded_digests(target.path)
    for note in notes.values():
        is_there = loaded is None or note.digest in loaded
        condition = Condition.WHOLE if is_there else Condition.MISSING
        reason = "" if is_there else "the database does not contain it"
        yield PartFound(note.part, condition, note, note.size, reason, is_joined=True)


def _looks_whole(path: Path, kind: Format, size: int) -> bool:
    begins, ends = _MARKS[kind]
    with path.open("rb") as file:
        if file.read(len(begins)) != begins or size < len(begins) + len(ends):
            return False
        file.seek(-len(ends), 2)
        return file.read(len(ends)) == ends


def _foreign(target: Target) -> list[str]:
    with suppress(OSError):
        names = (path.name for path in target.spool.iterdir())
        return sorted(name for name in names if not name.startswith(_OURS) and name != IMAGES_FOLDER)
    return []


def _count(segment: Path) -> int:
    with suppress(OSError):  # it became a part just now
        return count_pages(segment)
    return 0
