"""Parts as CSV: one line per page, with the common columns; a body that is not text is in `body_bytes`, as base64.

What was extracted from a page has columns of its own behind the common ones. The first line names all columns. In a
folder every part has it; in one file it is written once, before the first part that is joined to it, and it stays as
it is: whichever process is first decides which columns the file has. Runs with other columns may follow in the same
file, and processes may differ: what has no column there is a JSON object in the last column, `extracted`.
"""

from __future__ import annotations

import csv
import io
import json
import os
import secrets
from base64 import b64encode
from collections.abc import Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from isal import isal_zlib

from comity.model.expression import ExtractedValues, TypeName
from comity.model.page import PageRecord
from comity.rules.csv_rows import CsvValue, csv_line, unguarded
from comity.store.formats.columns import NAMES, body_as_text, valid_unicode
from comity.store.formats.json_lines import format_time, further_values
from comity.store.parts.part import TEMPORARY, PartWriter, put_once
from comity.store.target import COLUMNS_NOTE, Format, Target

EXTRACTED: Final = "extracted"
_TAKEN: Final = frozenset((*NAMES, EXTRACTED))
_FIRST_LINE_MOST: Final = 256 * 1024
_ATTEMPTS: Final = 100  # to agree with processes that come and go
_to_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_NOT_GZIP: Final = cast("type[Exception]", isal_zlib.error)
_GZIP_LEVEL: Final = 2
_GZIP_WINDOW_BITS: Final = 31


class CsvPart(PartWriter):
    """A part as CSV; compressed, it is one gzip member. Parts that are joined to one file have no first line."""

    def __init__(self, path: Path, *, compressed: bool = False, joined_to: Target | None = None) -> None:
        super().__init__(path)
        self._joined_to = joined_to
        self._columns: tuple[str, ...] | None = None  # known with the first page
        self._gzip: Any = _compressor() if compressed else None

    def _add(self, file: BinaryIO, record: PageRecord) -> None:
        if self._columns is None:
            self._columns = own_columns(record.columns)
            if self._joined_to is not None:
                self._columns = agree_on_columns(self._joined_to, self._columns)
            else:
                self._write(file, _first_line(self._columns))
        self._write(file, to_csv_line(record, self._columns))

    def _end(self, file: BinaryIO) -> None:
        if self._gzip is not None:
            file.write(self._gzip.flush())

    def _write(self, file: BinaryIO, line: bytes) -> None:
        file.write(line if self._gzip is None else self._gzip.compress(line))


def own_columns(extracted: ExtractedValues | None) -> tuple[str, ...]:
    """The columns that a run adds to the common ones. CSV readers know names regardless of case."""
    if extracted is None:
        return ()
    found: dict[str, str] = {}
    for column in extracted.columns:
        folded = column.name.casefold()
        if folded not in _TAKEN:
            found.setdefault(folded, column.name)
    return tuple(found.values())


def agree_on_columns(target: Target, own: Sequence[str]) -> tuple[str, ...]:
    """Which columns of extracted values a file has: those in its first line, or else those of the first process.

    They are noted in either case: the file may be moved away before its parts are joined to it.
    """
    noted = target.spool / COLUMNS_NOTE
    for _attempt in range(_ATTEMPTS):
        known = agreed_columns(target)
        if known is not None and noted.exists():
            return known
        new = target.spool / f".{COLUMNS_NOTE}.{secrets.token_hex(4)}{TEMPORARY}"
        try:
            with new.open("wb") as file:
                file.write(json.dumps(list(own if known is None else known)).encode())
                file.flush()
                os.fsync(file.fileno())  # parts without it would be joined under the wrong names
            with suppress(FileNotFoundError):  # another process has cleaned up, and took it for one of the dead
                put_once(new, noted)
        finally:
            new.unlink(missing_ok=True)
    raise FileNotFoundError(f"{noted} is removed again and again")


def agreed_columns(target: Target) -> tuple[str, ...] | None:
    """The same, if it is known."""
    with suppress(FileNotFoundError):
        written = columns_in(target.path, target.format)
        if written is not None:
            return written
    with suppress(FileNotFoundError, ValueError):
        noted = json.loads((target.spool / COLUMNS_NOTE).read_bytes())
        return tuple(str(name) for name in noted)
    return None


def head_of(kind: Format, columns: Sequence[str] = ()) -> bytes:
    """The beginning of a file: the line with the names of the columns."""
    if kind is Format.CSV:
        return _first_line(columns)
    gzip = _compressor()
    return bytes(gzip.compress(_first_line(columns)) + gzip.flush())


def to_csv_line(record: PageRecord, columns: Sequence[str] = ()) -> bytes:
    """One page as a line of CSV."""
    body = body_as_text(record)
    is_binary = body is None and record.body is not None
    values: dict[str, Any] = {
        "body": body,
        "crawl_time": format_time(record),
        "body_bytes": b64encode(record.body or b"").decode("ascii") if is_binary else None,
        "run_id": str(record.run_id),
    }
    common = [values[name] if name in values else getattr(record, name) for name in NAMES]
    text = csv_line([*common, *_extracted(record.columns, columns)])
    try:
        return text.encode()
    except UnicodeEncodeError:
        return valid_unicode(text).encode()


def _extracted(extracted: ExtractedValues | None, columns: Sequence[str]) -> list[CsvValue]:
    """The values of these columns, and those of all others as JSON."""
    if extracted is None:
        return [None] * (len(columns) + 1)
    rest = further_values(extracted)
    exact: dict[str, CsvValue] = {}  # as they are stored: JSON as text, and decimals with all their digits
    for (name, kind), value in zip(*extracted, strict=True):
        if kind.name is TypeName.JSON:
            exact[name] = value
        elif kind.name is TypeName.DECIMAL and value is not None:
            exact[name] = Decimal(value)
    folded = {name.casefold(): name for name in rest}
    cells: list[CsvValue] = []
    for column in columns:
        name = folded.get(column.casefold(), column)
        value = rest.pop(name, None)
        cells.append(exact.get(name, value))
    return [*cells, _to_json(rest) if rest else None]


def columns_in(path: Path, kind: Format) -> tuple[str, ...] | None:
    """The columns of extracted values that the first line of a file names; None if it does not name those of pages."""
    with path.open("rb") as file:
        begun = file.read(_FIRST_LINE_MOST)
    if kind is Format.CSV_GZ:
        try:
            begun = isal_zlib.decompressobj(wbits=_GZIP_WINDOW_BITS).decompress(begun, _FIRST_LINE_MOST)
        except _NOT_GZIP:
            return None
    if not begun.startswith(_COMMON):
        return None
    lines = io.StringIO(begun.decode("utf-8", "replace"), newline="")
    names = next(csv.reader(lines), [])
    return tuple(map(unguarded, names[len(NAMES) : -1])) if names[-1:] == [EXTRACTED] else None


def _first_line(columns: Iterable[str]) -> bytes:
    text = csv_line([*NAMES, *columns, EXTRACTED])
    try:
        return text.encode()
    except UnicodeEncodeError:
        return valid_unicode(text).encode()


def _compressor() -> Any:
    return isal_zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP_WINDOW_BITS)


_COMMON: Final = csv_line(NAMES).rstrip().encode() + b","
