"""Parts and tables as Parquet, which any DuckDB, Arrow or pandas opens at once. Rows enter, the bytes of a file leave.

Written here rather than by a library, since a library holds a row group's pages several times over: here a body is
compressed as soon as a data page is full, and of a row group only the small columns wait in memory. Apache Parquet 2:
plain values, definition levels by runs, zstd.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby, repeat
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, NamedTuple, Protocol, Self
from uuid import UUID

import zstandard

from comity import __version__
from comity.model.expression import ExtractedValues, StoredColumn, TypeName
from comity.model.page import PageRecord
from comity.store.formats.columns import (
    COLUMNS,
    CONTENT,
    NAMES,
    ColumnKind,
    PageColumn,
    all_utf8,
    body_as_columns,
    microseconds,
    utf8,
)
from comity.store.formats.gzip_bodies import GzipCompressor, member_with_prefix
from comity.store.formats.plain_values import FIXED_BYTES, PHYSICAL_TYPES, Physical, physical, plain_values, values_of
from comity.store.parts.part import PartWriter

# Thrift's compact protocol, as much of it as the metadata of a Parquet file needs.

I32: Final = 5
I64: Final = 6
BINARY: Final = 8
STRUCT: Final = 12
_TRUE: Final = 1
_FALSE: Final = 2
_LIST: Final = 9
_ROWS_PER_GROUP: Final = 4_000
_BYTES_PER_GROUP: Final = 1024 * 1024
_TABLE_LEVEL: Final = 3


class ThriftField(NamedTuple):
    """A field of a struct: its number, its type and its encoded value."""

    number: int
    type: int
    encoded: bytes


def varint(value: int) -> bytes:
    """An unsigned number, seven bits at a time."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def i32(number: int, value: int) -> ThriftField:
    """A number of 32 bits."""
    return ThriftField(number, I32, _zigzag(value))


def i64(number: int, value: int) -> ThriftField:
    """A number of 64 bits."""
    return ThriftField(number, I64, _zigzag(value))


def binary(number: int, value: bytes) -> ThriftField:
    """Bytes, or text as UTF-8."""
    return ThriftField(number, BINARY, varint(len(value)) + value)


def flag(number: int, value: bool) -> ThriftField:
    """Yes or no: the type says it all."""
    return ThriftField(number, _TRUE if value else _FALSE, b"")


def nested(number: int, *fields: ThriftField) -> ThriftField:
    """A struct within a struct."""
    return ThriftField(number, STRUCT, thrift_struct(*fields))


def listing(number: int, element_type: int, elements: Sequence[bytes]) -> ThriftField:
    """A list of elements of one type, each as it is encoded on its own."""
    count = len(elements)
    head = bytes([count << 4 | element_type]) if count < 15 else bytes([0xF0 | element_type]) + varint(count)
    return ThriftField(number, _LIST, head + b"".join(elements))


def numbers(values: Iterable[int]) -> list[bytes]:
    """The elements of a list of numbers."""
    return [_zigzag(value) for value in values]


def thrift_struct(*fields: ThriftField) -> bytes:
    """Fields in the order of their numbers, with the byte that ends a struct."""
    pieces: list[bytes] = []
    last = 0
    for number, kind, value in fields:
        pieces += (bytes([(number - last) << 4 | kind]), value)  # no gap between our fields exceeds 15
        last = number
    return b"".join((*pieces, b"\0"))


def _zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


# A reader holds a row group of bodies in memory, and so does a vector of DuckDB's.
BYTES_PER_GROUP: Final = 32 * 1024 * 1024
FURTHER_BYTES_PER_GROUP: Final = 4 * 1024 * 1024  # of extracted values: links and facts of pages can be long
ROWS_PER_GROUP: Final = 2000
BYTES_PER_PAGE: Final = 1024 * 1024
_BYTES_PER_WRITE: Final = 256 * 1024
WAITING_BYTES: Final = 4 * 1024 * 1024  # compressed pages of other large columns that wait for `body` to end
# Level 1 with a hash table that reaches back over several pages: those of a site share much of their markup, so bodies
# become 3 to 18 % smaller in the same time. Larger data pages and tables take more memory, and more time where pages
# have little in common.
_COMPRESSION: Final = {"hash_log": 15, "window_log": 20}
MAGIC: Final = b"PAR1"
_BODY: Final = NAMES.index("body")
_SELDOM: Final = ("body_bytes", *CONTENT)  # large columns that most crawls leave empty
_LARGE: Final = ("body", *_SELDOM)
# All values of a page's row but the large ones, in order.
_small_values: Final = itemgetter(*(PageRecord._fields.index(name) for name in NAMES if name not in _LARGE))
_WITH_BOUNDS: Final = ("url", "crawl_time")  # what people look for
# Names of the format (parquet.thrift).
_TYPES: Final = {ColumnKind.TEXT: 6, ColumnKind.BINARY: 6, ColumnKind.NUMBER: 1, ColumnKind.TIME: 2}
_LETTERS: Final = {ColumnKind.NUMBER: "i", ColumnKind.TIME: "q"}  # as `struct` knows them
_length: Final = struct.Struct("<I").pack
_OPTIONAL: Final = 1
_PLAIN: Final = 0
_RLE: Final = 3
_GZIP: Final = 2
_ZSTD: Final = 6
_DATA_PAGE: Final = 0


class Compressor(Protocol):
    """Compresses data pages."""

    def compress(self, data: bytes, /) -> bytes:
        """The data as a reader will find it."""
        ...


class Chunk(NamedTuple):
    """A column of a row group, as it is in the file."""

    column: PageColumn | StoredColumn
    offset: int
    values: int
    plain_bytes: int
    coded_bytes: int
    nulls: int
    bounds: tuple[bytes, bytes] | None
    codec: int = _ZSTD


class ColumnPages:
    """The data pages of one column while its row group is written."""

    def __init__(self, column: PageColumn | StoredColumn, compressor: Compressor) -> None:
        self._column = column
        self._compressor = compressor
        self.is_gzip = isinstance(compressor, GzipCompressor)
        self._levels: list[bool] = []  # whether each value is there
        self._pieces: list[bytes] = []
        self._waiting_bytes = 0
        self._bounds: tuple[bytes, bytes] | None = None
        self.done: list[bytes] = []  # headers and compressed pages, not yet written
        self.done_bytes = 0
        self._values = self.nulls = self._plain_bytes = self._coded_bytes = 0

    def add(self, value: bytes | None) -> None:
        """One body; a page that is full is compressed."""
        self._levels.append(value is not None)
        if value is not None:
            self._pieces += (_length(len(value)), value)
            self._waiting_bytes += len(value)
            if self._waiting_bytes >= BYTES_PER_PAGE:
                self.end_page()

    def add_member(self, value: bytes, member: bytes) -> None:
        """One body that came in gzip, into a column in gzip: a page of its own."""
        self.end_page()
        levels = _run(1, True)
        prefix = b"".join((_length(len(levels)), levels, _length(len(value))))
        self._values += 1
        self._end_page(1, len(prefix) + len(value), member_with_prefix(member, value, prefix))

    def fill(self, rows: int) -> None:
        """Have a value for so many rows: those that were not added are missing."""
        self._levels += [False] * (rows - self._values - len(self._levels))

    def add_texts(self, values: Sequence[str | None]) -> None:
        """All values of a column of text."""
        self._levels = [value is not None for value in values]
        there = all_utf8([value for value in values if value is not None])
        self._pieces = list(chain.from_iterable(zip(map(_length, map(len, there)), there, strict=True)))
        if self._column.name in _WITH_BOUNDS:
            self._bounds = min(there), max(there)

    def add_numbers(self, values: Sequence[int | None]) -> None:
        """All values of a column of numbers or times."""
        self._levels = [value is not None for value in values]
        there = [value for value in values if value is not None]
        letter = _LETTERS[self._column.kind]  # type: ignore[union-attr]
        self._pieces = [struct.pack(f"<{len(there)}{letter}", *there)]
        if self._column.name in _WITH_BOUNDS:
            self._bounds = struct.pack(f"<{letter}", min(there)), struct.pack(f"<{letter}", max(there))

    def add_encoded(self, there: Sequence[bool], pieces: list[bytes]) -> None:
        """All values of a column in their plain encoding."""
        self._levels = list(there)
        self._pieces = pieces

    def end_page(self) -> None:
        """Compress what waits."""
        count = len(self._levels)
        if not count:
            return
        levels = _runs(self._levels)
        plain = b"".join((_length(len(levels)), levels, *self._pieces))
        self.nulls += count - sum(self._levels)
        self._values += count
        self._levels, self._pieces, self._waiting_bytes = [], [], 0
        self._end_page(count, len(plain), self._compressor.compress(plain))

    def _end_page(self, count: int, plain_bytes: int, coded: bytes) -> None:
        head = thrift_struct(
            i32(1, _DATA_PAGE),
            i32(2, plain_bytes),
            i32(3, len(coded)),
            nested(5, i32(1, count), i32(2, _PLAIN), i32(3, _RLE), i32(4, _RLE)),
        )
        self._plain_bytes += len(head) + plain_bytes
        self._coded_bytes += len(head) + len(coded)
        self.done += (head, coded)
        self.done_bytes += len(coded)

    def take(self) -> list[bytes]:
        """What can be written now."""
        done, self.done, self.done_bytes = self.done, [], 0
        return done

    def chunk(self, offset: int) -> Chunk:
        """The column as it ended up."""
        return Chunk(
            self._column,
            offset,
            self._values,
            self._plain_bytes,
            self._coded_bytes,
            self.nulls,
            self._bounds,
            _GZIP if self.is_gzip else _ZSTD,
        )


class ParquetPart(PartWriter):
    """A part in Parquet. The pages of `body` go to the file as they fill, those of all other columns after them.

    `keeps_gzip` tells at the beginning of each row group whether bodies that came in gzip are stored as they came;
    without it they are not.
    """

    def __init__(self, path: Path, keeps_gzip: Callable[[], bool] | None = None) -> None:
        super().__init__(path)
        self._keeps_gzip = keeps_gzip
        self._came_in_gzip = self._came_otherwise = 0  # bodies of the last row group
        parameters = zstandard.ZstdCompressionParameters.from_level(1, **_COMPRESSION)
        self._compressor = zstandard.ZstdCompressor(compression_params=parameters)
        self._groups: list[tuple[list[Chunk], int]] = []
        self._at = 0
        self._further: dict[str, StoredColumn] = {}  # by folded name: what was extracted from the pages
        self._begin_group()

    def _begin(self, file: BinaryIO) -> None:
        self._write(file, MAGIC)

    def _begin_group(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._bodies: ColumnPages | None = None  # until the first row
        self._members = 0
        self._seldom = [ColumnPages(COLUMNS[NAMES.index(name)], self._compressor) for name in _SELDOM]
        self._waiting_bytes = 0  # of them, compressed
        self._bodies_at = 0
        self._body_bytes = 0
        self._further_bytes = 0
        self._extracted: list[ExtractedValues | None] = []

    def _add(self, file: BinaryIO, record: PageRecord) -> None:
        text, binary_body = body_as_columns(record)
        content, markdown = record.content or _content(record)
        length, further, is_plain = 0, 0, True
        if text is not None:
            length = len(text)
        if binary_body is not None or content is not None or markdown is not None:
            length += len(binary_body or b"") + len(content or b"") + len(markdown or b"")
            is_plain = False
        if record.columns is not None:
            further = sum(len(value) for value in record.columns.values if isinstance(value, str))
        rows = len(self._rows)
        if rows and (
            self._body_bytes + length > min(BYTES_PER_GROUP, self.most_group_bytes)
            or self._further_bytes + further > FURTHER_BYTES_PER_GROUP
            or rows >= ROWS_PER_GROUP
            or self._waiting_bytes > WAITING_BYTES
        ):
            self._end_group(file)
            rows = 0
        self._body_bytes += length
        self._further_bytes += further
        self._rows.append(_small_values(record))
        self._extracted.append(record.columns)
        if not is_plain:
            self._add_seldom(rows, (binary_body, content, markdown))
        bodies = self._bodies = self._bodies or self._begin_bodies(record)
        if text is not None and record.is_gzip_member and text is record.body:
            assert record.coded is not None
            self._members += 1
            if bodies.is_gzip:
                bodies.add_member(text, record.coded)
            else:
                bodies.add(text)
        else:
            bodies.add(text)
        if bodies.done_bytes >= _BYTES_PER_WRITE:
            self._write_bodies(file, bodies)

    def _add_seldom(self, row: int, values: tuple[bytes | None, ...]) -> None:
        """The values of a row in the large columns that most crawls leave empty."""
        for pages, value in zip(self._seldom, values, strict=True):
            if value is not None:
                pages.fill(row)
                pages.add(value)
        self._waiting_bytes = sum(pages.done_bytes for pages in self._seldom)

    def _begin_bodies(self, record: PageRecord) -> ColumnPages:
        """Choose the coding of a row group's bodies: gzip if most came so, and are to be stored as they came."""
        most_in_gzip = self._came_in_gzip > self._came_otherwise if self._groups else record.is_gzip_member
        if most_in_gzip and self._keeps_gzip is not None and self._keeps_gzip():
            return ColumnPages(COLUMNS[_BODY], GzipCompressor())
        return ColumnPages(COLUMNS[_BODY], self._compressor)

    def _write_bodies(self, file: BinaryIO, bodies: ColumnPages) -> None:
        self._bodies_at = self._bodies_at or self._at
        self._write(file, b"".join(bodies.take()))

    def _end_group(self, file: BinaryIO) -> None:
        bodies = self._bodies
        assert bodies is not None  # no group begins without a row
        bodies.end_page()
        self._write_bodies(file, bodies)
        self._came_in_gzip, self._came_otherwise = self._members, len(self._rows) - bodies.nulls - self._members
        chunks: dict[str, Chunk] = {"body": bodies.chunk(self._bodies_at)}
        large = dict(zip(_SELDOM, self._seldom, strict=True))
        small: Iterator[Any] = zip(*self._rows, strict=True)
        for column in COLUMNS:
            if column.name == "body":
                continue
            pages = large.get(column.name)
            if pages is None:
                pages = ColumnPages(column, self._compressor)
                _add_small(pages, column, next(small))
            else:
                pages.fill(len(self._rows))
            pages.end_page()
            offset = self._at
            for piece in pages.take():
                self._write(file, piece)
            chunks[column.name] = pages.chunk(offset)
        ordered = [chunks[name] for name in NAMES]
        for columns in {each.columns for each in self._extracted if each is not None}:
            for further in columns:
                self._further.setdefault(further.name.casefold(), further)
        ordered += [self._further_chunk(file, further, self._extracted) for further in self._further.values()]
        self._groups.append((ordered, len(self._rows)))
        self._begin_group()

    def _further_chunk(
        self, file: BinaryIO, column: StoredColumn, extracted: Sequence[ExtractedValues | None]
    ) -> Chunk:
        """Write one column of what was extracted."""
        pages = ColumnPages(column, self._compressor)
        for values in data_pages(values_of(column, extracted)):
            pages.add_encoded([value is not None for value in values], plain_values(values, column.type))
            pages.end_page()
        offset = self._at
        for piece in pages.take():
            self._write(file, piece)
        return pages.chunk(offset)

    def _end(self, file: BinaryIO) -> None:
        self._end_group(file)
        for chunks, rows in self._groups:  # those before a column was first met have it too, without a value
            for column in list(self._further.values())[len(chunks) - len(COLUMNS) :]:
                chunks.append(self._further_chunk(file, column, [None] * rows))
        footer = file_footer(self._groups, (*COLUMNS, *self._further.values()))
        self._write(file, b"".join((footer, len(footer).to_bytes(4, "little"), MAGIC)))

    def _write(self, file: BinaryIO, data: bytes) -> None:
        file.write(data)
        self._at += len(data)


def _content(record: PageRecord) -> tuple[bytes | None, bytes | None]:
    """Main content that no segment has encoded."""
    text, markdown = record.text, record.markdown
    return utf8(text) if text is not None else None, utf8(markdown) if markdown is not None else None


def data_pages(values: list[Any]) -> Iterator[list[Any]]:
    """The values of a column, as many at a time as fit into a data page: a reader holds a whole page in memory."""
    first = size = 0
    for number, value in enumerate(values):
        size += len(value) if isinstance(value, str) else 8
        if size >= BYTES_PER_PAGE:
            yield values[first : number + 1]
            first, size = number + 1, 0
    if first < len(values):
        yield values[first:]


def _add_small(pages: ColumnPages, column: PageColumn, values: tuple[Any, ...]) -> None:
    """A column's values as pages have them become those that are written."""
    if column.name == "run_id":
        pages.add_texts(_names(values))
    elif column.name == "crawl_time":
        pages.add_numbers(list(map(microseconds, values)))
    elif column.kind is ColumnKind.TEXT:
        pages.add_texts(values)
    else:
        pages.add_numbers(values)


def _names(runs: Sequence[UUID]) -> list[str]:
    """Runs by name; nearly always there is one, and formatting it is slow."""
    return [name for run, same in groupby(runs) for name in repeat(str(run), len(list(same)))]


def _runs(levels: list[bool]) -> bytes:
    """Definition levels, run by run (Encodings.md, RLE with a bit width of one)."""
    if len(set(levels)) == 1:  # most columns
        return _run(len(levels), levels[0])
    return b"".join(_run(len(list(run)), is_there) for is_there, run in groupby(levels))


def _run(length: int, is_there: bool) -> bytes:
    return varint(length << 1) + (b"\1" if is_there else b"\0")


def file_footer(groups: list[tuple[list[Chunk], int]], columns: Sequence[PageColumn | StoredColumn]) -> bytes:
    """What a reader reads first: the columns, and where each row group has them."""
    root = thrift_struct(binary(4, b"schema"), i32(5, len(columns)))
    ordered = thrift_struct(nested(1))  # bounds are in the order that a column's type defines
    return thrift_struct(
        i32(1, 2),
        listing(2, STRUCT, [root, *map(_schema, columns)]),
        i64(3, sum(rows for _chunks, rows in groups)),
        listing(4, STRUCT, [_group(chunks, rows) for chunks, rows in groups]),
        binary(6, f"comity version {__version__}".encode()),
        listing(7, STRUCT, [ordered] * len(columns)),
    )


def _schema(column: PageColumn | StoredColumn) -> bytes:
    if isinstance(column, StoredColumn):
        return _further_schema(column)
    fields = [i32(1, _TYPES[column.kind]), i32(3, _OPTIONAL), binary(4, column.name.encode())]
    if column.kind is ColumnKind.TEXT:
        fields += (i32(6, 0), nested(10, nested(1)))
    elif column.kind is ColumnKind.TIME:
        microseconds_in_utc = nested(8, flag(1, True), nested(2, nested(2)))
        fields += (i32(6, 10), nested(10, microseconds_in_utc))
    return thrift_struct(*fields)


def _further_schema(column: StoredColumn) -> bytes:
    kind = column.type
    fields = [i32(1, PHYSICAL_TYPES[physical(kind)])]
    if physical(kind) is Physical.FIXED:
        fields.append(i32(2, FIXED_BYTES))
    fields += (i32(3, _OPTIONAL), binary(4, utf8(column.name)))
    if kind.name is TypeName.VARCHAR:
        fields += (i32(6, 0), nested(10, nested(1)))
    elif kind.name is TypeName.JSON:
        fields += (i32(6, 19), nested(10, nested(12)))
    elif kind.name is TypeName.DECIMAL:
        size = nested(5, i32(1, kind.scale), i32(2, kind.precision))
        fields += (i32(6, 5), i32(7, kind.scale), i32(8, kind.precision), nested(10, size))
    elif kind.name is TypeName.DATE:
        fields += (i32(6, 6), nested(10, nested(6)))
    elif kind.name is TypeName.TIMESTAMP:
        fields.append(nested(10, nested(8, flag(1, False), nested(2, nested(2)))))
    return thrift_struct(*fields)


def _group(chunks: list[Chunk], rows: int) -> bytes:
    return thrift_struct(
        listing(1, STRUCT, [_column_chunk(chunk) for chunk in chunks]),
        i64(2, sum(chunk.plain_bytes for chunk in chunks)),
        i64(3, rows),
        i64(5, min(chunk.offset for chunk in chunks)),
        i64(6, sum(chunk.coded_bytes for chunk in chunks)),
    )


def _column_chunk(chunk: Chunk) -> bytes:
    statistics = [i64(3, chunk.nulls)]
    if chunk.bounds is not None:
        statistics += (binary(5, chunk.bounds[1]), binary(6, chunk.bounds[0]))
    return thrift_struct(
        i64(2, chunk.offset),
        nested(
            3,
            i32(1, _type_of(chunk.column)),
            listing(2, I32, numbers((_PLAIN, _RLE))),
            listing(3, BINARY, [binary(0, utf8(chunk.column.name)).encoded]),
            i32(4, chunk.codec),
            i64(5, chunk.values),
            i64(6, chunk.plain_bytes),
            i64(7, chunk.coded_bytes),
            i64(9, chunk.offset),
            nested(12, *statistics),
        ),
    )


def _type_of(column: PageColumn | StoredColumn) -> int:
    return PHYSICAL_TYPES[physical(column.type)] if isinstance(column, StoredColumn) else _TYPES[column.kind]


class ParquetTable:
    """Writes one file; use it as a context.

    Rows enter one by one, and only those of one row group are held in memory.
    """

    def __init__(self, path: Path, columns: Sequence[StoredColumn]) -> None:
        self._file = path.open("wb")
        self._columns = tuple(columns)
        self._compressor = zstandard.ZstdCompressor(level=_TABLE_LEVEL)
        self._groups: list[tuple[list[Chunk], int]] = []
        self._rows: list[Sequence[Any]] = []
        self._bytes = 0
        self._at = 0
        self._write(MAGIC)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _problem: BaseException | None, _trace: TracebackType | None
    ) -> None:
        with self._file:
            if kind is None:
                self._end()

    def add(self, row: Sequence[Any], size: int) -> None:
        """Add a row: a value for each column, or None; and about how many bytes it takes."""
        self._rows.append(row)
        self._bytes += size
        if len(self._rows) >= _ROWS_PER_GROUP or self._bytes >= _BYTES_PER_GROUP:
            self._end_group()

    def _end_group(self) -> None:
        if not self._rows:
            return
        chunks = []
        for column, values in zip(self._columns, zip(*self._rows, strict=True), strict=True):
            pages = ColumnPages(column, self._compressor)
            for some in data_pages(list(values)):
                pages.add_encoded([value is not None for value in some], plain_values(some, column.type))
                pages.end_page()
            offset = self._at
            for piece in pages.take():
                self._write(piece)
            chunks.append(pages.chunk(offset))
        self._groups.append((chunks, len(self._rows)))
        self._rows, self._bytes = [], 0

    def _end(self) -> None:
        self._end_group()
        footer = file_footer(self._groups, self._columns)
        self._write(b"".join((footer, len(footer).to_bytes(4, "little"), MAGIC)))

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._at += len(data)
