"""Parts and tables in Parquet, read again by our own reader."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.expression import ColumnType, StoredColumn, TypeName
from comity.store.formats.parquet import ParquetTable
from comity.store.formats.parquet_reader import UnreadablePart, read_rows

COLUMNS = (
    StoredColumn("text", ColumnType()),
    StoredColumn("number", ColumnType(TypeName.INTEGER)),
    StoredColumn("large", ColumnType(TypeName.BIGINT)),
    StoredColumn("part", ColumnType(TypeName.DOUBLE)),
    StoredColumn("flag", ColumnType(TypeName.BOOLEAN)),
)
NAMES = [column.name for column in COLUMNS]
ROWS = st.lists(
    st.tuples(
        st.none() | st.text(st.characters(exclude_categories=["Cs"])),
        st.none() | st.integers(-(2**31), 2**31 - 1),
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.floats(allow_nan=False),
        st.none() | st.booleans(),
    ),
    max_size=30,
)


def written(path: Path, rows: list[tuple[object, ...]]) -> Path:
    with ParquetTable(path, COLUMNS) as table:
        for row in rows:
            table.add(row, 500_000)  # a row group for every three
    return path


@given(rows=ROWS)
def test_what_was_written_is_read_by_us_and_by_others(rows: list[tuple[object, ...]], tmp_path_factory) -> None:  # type: ignore[no-untyped-def]
    path = written(tmp_path_factory.mktemp("table") / "t.parquet", rows)
    assert list(read_rows(path, NAMES)) == rows
    table = pyarrow.parquet.read_table(path)
    assert [tuple(row[name] for name in NAMES) for row in table.to_pylist()] == rows


def test_columns_are_chosen_and_missing_ones_are_null(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", [("a", 1, 2, 0.5, True)] * 4)
    assert list(read_rows(path, ["number", "other", "text"])) == [(1, None, "a")] * 4


def test_a_file_that_is_damaged_anywhere_is_no_part(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", [("some text", n, n, 0.5, True) for n in range(10)])
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(UnreadablePart):
            list(read_rows(path, NAMES))
