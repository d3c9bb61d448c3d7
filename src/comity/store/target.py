"""Where pages go, by name: a folder of parts, or one file whose extension says its format.

A folder holds Parquet, unless its name ends like an archive, JSON lines or CSV: `archive.warc.gz/` holds archives.
A file is never written in place. Beside it, in a folder that is called after it, pages wait as segments and as finished
parts, until each part is joined to the file.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final

from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, Remedy, RemedyCode
from comity.store.segment import LEFT, OPEN

_SPOOL: Final = ".spool"
COLUMNS_NOTE: Final = "joining.columns.json"
"""In the spool of a CSV file: the columns of extracted values that it will have, until it is there and says so."""
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]+):/", re.IGNORECASE)


class Format(StrEnum):
    """The kinds of stores, each by the ending of its files."""

    PARQUET = ".parquet"
    DUCKDB = ".duckdb"
    JSONL = ".jsonl"
    JSONL_GZ = ".jsonl.gz"
    CSV = ".csv"
    CSV_GZ = ".csv.gz"
    WARC = ".warc"
    WARC_GZ = ".warc.gz"

    @property
    def is_archive(self) -> bool:
        """Whether it keeps answers as they came, headers and all."""
        return self in (Format.WARC, Format.WARC_GZ)

    @property
    def is_csv(self) -> bool:
        """Whether its first line names the columns."""
        return self in (Format.CSV, Format.CSV_GZ)

    @property
    def is_lines(self) -> bool:
        """Whether it is text, a line for each page: the types of extracted columns are in the notes of its parts."""
        return self.is_csv or self in (Format.JSONL, Format.JSONL_GZ)


_LONGEST_FIRST: Final = sorted(Format, key=len, reverse=True)
_GZIP: Final = b"\x1f\x8b"
# What a file of a kind has at its beginning, and where.
_MARKS: Final = {
    Format.DUCKDB: (8, b"DUCK"),
    Format.JSONL: (0, b"{"),
    Format.JSONL_GZ: (0, _GZIP),
    Format.CSV: (0, b"url,"),
    Format.CSV_GZ: (0, _GZIP),
    Format.WARC: (0, b"WARC/"),
    Format.WARC_GZ: (0, _GZIP),
}


@dataclass(frozen=True, slots=True)
class Target:
    """A place for pages. The parts of a folder stay where they are; those of a file are joined to `path`."""

    path: Path
    format: Format
    has_own_parts: bool = False  # a folder, though its ending is that of a file
    is_one_file: bool = False  # Parquet that an export writes at once

    @property
    def is_folder(self) -> bool:
        """Whether its parts are all there is."""
        return self.has_own_parts or self.format is Format.PARQUET

    @property
    def spool(self) -> Path:
        """The folder of segments and parts."""
        return self.path if self.is_folder else self.path.with_name(self.path.name + _SPOOL)

    @classmethod
    def of_spool(cls, folder: Path) -> Target:
        """The place that a folder of segments and parts belongs to."""
        if folder.name.endswith(_SPOOL):
            path = folder.with_name(folder.name.removesuffix(_SPOOL))
            ending = file_format(path.name)
            if ending not in (None, Format.PARQUET):
                return cls(path, ending)
        return cls.of_folder(folder)

    @classmethod
    def of_folder(cls, folder: Path) -> Target:
        """A folder of parts, whose kind its name tells; DuckDB has no parts of its own."""
        kind = file_format(folder.name)
        if kind is None or kind in (Format.DUCKDB, Format.PARQUET):
            return cls(folder, Format.PARQUET)
        return cls(folder, kind, has_own_parts=True)

    def part_of(self, segment: Path) -> Path:
        """The part that a segment becomes."""
        ending = Format.PARQUET if self.format is Format.DUCKDB else self.format
        name = segment.name.removesuffix(OPEN).removesuffix(LEFT)
        return segment.with_name(name.replace("segment-", "part-", 1) + ending)

    def segments(self) -> list[Path]:
        """What is not yet in a part."""
        found = [*self.spool.glob(f"segment-*{OPEN}"), *self.spool.glob(f"segment-*{LEFT}")]
        return sorted(found)

    def parts(self) -> list[Path]:
        """Finished parts, in the order of their names. One whose segment is still there is its writer's to finish."""
        ending = Format.PARQUET if self.format is Format.DUCKDB else self.format
        # Parts first, then segments: a segment that began in between must hide its part until the part has its note.
        found = list(self.spool.glob(f"part-*{ending}"))
        unfinished = {self.part_of(segment).name for segment in self.segments()}
        return sorted(path for path in found if self.is_folder or path.name not in unfinished)


def file_format(name: str) -> Format | None:
    """The kind of store that a name's ending tells."""
    return next((kind for kind in _LONGEST_FIRST if name.lower().endswith(kind) and name.lower() != kind), None)


def read_target(place: str | Path) -> Target:
    """Understand where pages are to go; `BadInput` for a place that cannot take any. Nothing is made yet."""
    text = str(place)
    if not text or "\0" in text:
        raise BadInput("the path for pages is empty")
    refuse_url(text, "pages are stored")
    path = Path(text).expanduser()
    means_folder = text.endswith(("/", os.sep)) or path.is_dir() or not path.suffix
    if means_folder:
        target = Target.of_folder(path)
        check_way(path, target.spool)
        return target
    kind = file_format(path.name)
    if kind is Format.PARQUET:  # `comity pages export` writes a file under this name, so it is no folder here
        raise BadInput(
            f"{text}: a crawl writes Parquet in parts: name a folder, such as {text}/",
            remedy=Remedy(RemedyCode.EXPORT_PAGES, text),
        )
    if kind is None:
        endings = ", ".join(each for each in Format if each is not Format.PARQUET)
        raise BadInput(
            f"{text}: pages go into a folder (end its name with / if it has a dot), or into a file ending in {endings}"
        )
    if kind is Format.DUCKDB and "?" in str(path.absolute()):
        raise BadInput(f"{text}: DuckDB cannot open a file with a question mark in its path")
    target = Target(path, kind)
    check_way(path, target.spool)
    if path.exists():
        _check_there(target)
    return target


def refuse_url(text: str, what: str) -> None:
    """`BadInput` for an address where a path is meant: it would make a folder that is called `s3:`."""
    scheme = _SCHEME.match(text)
    if scheme is not None:
        raise BadInput(f"{text[:100]}: {what} on this machine; {scheme[1].lower()}:// is not supported")


def check_way(path: Path, folder: Path) -> None:
    """`BadInput` unless the folder in which a place is to be, or the nearest one that exists, takes new files."""
    try:
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
    except OSError as problem:
        raise BadInput(f"{path}: {problem.strerror}") from None
    if not folder.is_dir():
        raise BadInput(f"{path}: {folder} is a file, not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadInput(f"{path}: no permission to write in {folder}")


def try_folder(target: Target) -> None:
    """`BadInput` if the folder of segments and parts cannot be made; what this makes to find out is removed again."""
    missing = []
    folder = target.spool
    while not folder.exists() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    try:
        target.spool.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise BadInput(f"{target.path}: cannot create the folder {problem.filename}: {problem.strerror}") from None
    finally:
        for folder in missing:
            with suppress(OSError):  # another process may have begun to use it
                folder.rmdir()


def _check_there(target: Target) -> None:
    """Something of that name exists: it must be of the kind that its ending says."""
    path = target.path
    if target.is_folder:
        return
    if not path.is_file() or not os.access(path, os.R_OK | os.W_OK):
        raise BadInput(f"{path} is not a file that can be written")
    offset, mark = _MARKS[target.format]
    with path.open("rb") as file:
        head = file.read(offset + len(mark))
    if head and not head.endswith(mark):
        raise BadInput(f"{path} exists, but its content does not match its extension")
    if head and target.format.is_csv:
        from comity.store.formats.csv_pages import columns_in  # late: only these files need it

        if columns_in(path, target.format) is None:
            raise BadInput(f"{path} exists, but its first line does not name the columns of pages; name a new file")
    if not head and target.format is Format.DUCKDB:
        raise BadInput(f"{path} is empty, so it is not a DuckDB database")
