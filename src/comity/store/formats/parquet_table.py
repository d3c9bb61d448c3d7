"""A table as a Parquet file: rows enter one by one, and only those of one row group are held in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import zstandard

from comity.model.expression import StoredColumn
from comity.store.formats.parquet import MAGIC, Chunk, ColumnPages, data_pages, file_footer
from comity.store.formats.plain_values import plain_values

_ROWS_PER_GROUP: Final = 4_000
_BYTES_PER_GROUP: Final = 1024 * 1024
_LEVEL: Final = 3


class ParquetTable:
    """Writes one file; use it as a context."""

    def __init__(self, path: Path, columns: Sequence[StoredColumn]) -> None:
        self._file = path.open("wb")
        self._columns = tuple(columns)
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL)
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
