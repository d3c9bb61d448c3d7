"""Our Parquet, as others read it: every value back, in row groups that fit into memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.model.expression import ColumnType, ExtractedValues, StoredColumn, TypeName
from comity.model.page import PageRecord
from comity.store.formats import parquet
from comity.store.formats.columns import NAMES
from comity.store.formats.parquet import ParquetPart
from comity.store.formats.parquet_reader import UnreadablePart, read_rows
from comity.store.parts.part import write_part
from tests.sizes import sized
from tests.store.light import RUN, compressed, nothing, page

TEXT = st.none() | st.text(max_size=40)
NUMBER = st.none() | st.integers(-(2**31), 2**31 - 1)
RECORDS = st.lists(
    st.builds(
        PageRecord,
        run_id=st.just(RUN),
        url_key=st.integers(),
        url=st.text(),
        surt_key=st.text(),
        http_status=NUMBER,
        body=st.none() | st.binary() | st.text().map(str.encode),
        encoding=st.sampled_from(["utf-8", None]),
        content_type=st.sampled_from([None, "text/plain; charset=utf-8", "image/png"]),
        crawl_time=st.floats(0, 2e9),
        error=TEXT,
        depth=NUMBER,
        data=st.none(),
        columns=st.none(),
        content=st.none(),
        is_gzip_member=st.just(False),
        etag=TEXT,
        last_modified=TEXT,
        content_hash=TEXT,
        final_url=TEXT,
        redirect_count=st.integers(0, 30),
        title=TEXT,
    ),
    min_size=1,
    max_size=30,
)


def written(path: Path, records: list[PageRecord]) -> Path:
    path.unlink(missing_ok=True)
    assert write_part(ParquetPart(path), records) == len(records)
    return path


def by_duckdb(path: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT * REPLACE (epoch_us(crawl_time) AS crawl_time) FROM '{path}'").fetchall()


@settings(max_examples=sized(25, 60), deadline=None)
@given(records=RECORDS)
def test_every_value_comes_back_by_two_readers(
    tmp_path_factory: pytest.TempPathFactory, records: list[PageRecord]
) -> None:
    path = written(tmp_path_factory.getbasetemp() / "any.parquet", records)
    table = pq.read_table(path)
    table.validate(full=True)
    rows = table.set_column(5, "crawl_time", table["crawl_time"].cast(pa.int64())).to_pylist()
    assert [tuple(row.values()) for row in rows] == by_duckdb(path)
    for row, record in zip(rows, records, strict=True):
        for column in set(NAMES) - {"body", "body_bytes", "crawl_time", "run_id"}:
            assert row[column] == getattr(record, column)
        assert row["crawl_time"] == round(record.crawl_time * 1e6)
        assert row["run_id"] == str(record.run_id)
        assert (row["body"] is None and row["body_bytes"] is None) == (record.body is None)
        if row["body_bytes"] is not None:
            assert row["body_bytes"] == record.body


def test_the_columns_have_their_kinds(tmp_path: Path) -> None:
    schema = pq.read_schema(written(tmp_path / "part.parquet", [page(1)]))
    assert tuple(schema.names) == NAMES
    kinds = {"http_status": pa.int32(), "redirect_count": pa.int32(), "body_bytes": pa.binary()}
    kinds["crawl_time"] = pa.timestamp("us", tz="UTC")
    assert list(schema.types) == [kinds.get(name, pa.string()) for name in NAMES]


def test_row_groups_end_by_rows_and_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS_PER_GROUP", 7)
    monkeypatch.setattr(parquet, "BYTES_PER_GROUP", 5000)
    monkeypatch.setattr(parquet, "BYTES_PER_PAGE", 1500)
    records = [page(number, b"x" * (100 if number < 20 else 2000)) for number in range(30)]
    path = written(tmp_path / "part.parquet", records)
    about = pq.ParquetFile(path).metadata
    assert [about.row_group(index).num_rows for index in range(about.num_row_groups)] == [7, 7, 7, 2, 2, 2, 2, 1]
    assert pq.read_table(path)["body"].to_pylist() == [(record.body or b"").decode() for record in records]


def test_a_body_larger_than_a_row_group_has_one_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BYTES_PER_GROUP", 1000)
    records = [page(1, b"a" * 5000), page(2, b"b" * 5000), nothing(3)]
    path = written(tmp_path / "part.parquet", records)
    assert pq.ParquetFile(path).metadata.num_row_groups == 3
    assert [row[NAMES.index("body")] for row in by_duckdb(path)] == ["a" * 5000, "b" * 5000, None]


def test_bytes_that_wait_for_the_text_to_end_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BYTES_PER_PAGE", 100)
    monkeypatch.setattr(parquet, "WAITING_BYTES", 300)
    records = [page(number, bytes(range(256)), encoding=None, content_type="x/y") for number in range(50)]
    path = written(tmp_path / "part.parquet", records)
    assert pq.ParquetFile(path).metadata.num_row_groups > 10
    assert pq.read_table(path)["body_bytes"].to_pylist() == [record.body for record in records]


def test_the_bounds_of_urls_and_times_help_those_who_look_for_some(tmp_path: Path) -> None:
    path = written(tmp_path / "part.parquet", [page(number) for number in (5, 3, 9)])
    group = pq.ParquetFile(path).metadata.row_group(0)
    url, time = (group.column(NAMES.index(name)).statistics for name in ("url", "crawl_time"))
    assert (url.min, url.max) == (page(3).url, page(9).url)
    assert (time.min.timestamp(), time.max.timestamp()) == (page(3).crawl_time, page(9).crawl_time)
    assert group.column(NAMES.index("error")).statistics.null_count == 3


def test_pages_of_several_runs_in_one_part_keep_their_run(tmp_path: Path) -> None:
    other = UUID(int=7)
    runs = [RUN, RUN, other, RUN, other, other]
    path = written(tmp_path / "part.parquet", [page(number, run_id=run) for number, run in enumerate(runs)])
    assert pq.read_table(path)["run_id"].to_pylist() == [str(run) for run in runs]


def test_a_part_without_pages_is_none(tmp_path: Path) -> None:
    assert write_part(ParquetPart(tmp_path / "part.parquet"), []) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_part_is_not_there_before_it_is_finished(tmp_path: Path) -> None:
    part = ParquetPart(tmp_path / "part.parquet")
    part.add([page(1)])
    assert not (tmp_path / "part.parquet").exists()
    part.abandon()
    assert list(tmp_path.iterdir()) == []


def test_long_extracted_values_make_small_row_groups_and_pages(tmp_path: Path) -> None:
    columns = (StoredColumn("links", ColumnType(TypeName.JSON)), StoredColumn("depth", ColumnType(TypeName.INTEGER)))
    text = '"' + "x" * 99_998 + '"'
    records = [page(number)._replace(columns=ExtractedValues(columns, [text, number])) for number in range(100)]
    path = written(tmp_path / "p.parquet", records)
    groups = pq.ParquetFile(path).metadata
    assert groups.num_row_groups >= 100 * 100_000 // parquet.FURTHER_BYTES_PER_GROUP
    assert max(groups.row_group(number).num_rows for number in range(groups.num_row_groups)) <= 42
    table = pq.read_table(path)
    assert table.column("links").to_pylist() == [text] * 100
    assert table.column("depth").to_pylist() == list(range(100))


def in_gzip(number: int, body: bytes | None = None, **changes: Any) -> PageRecord:
    """A page as it comes from a site that compresses, and whose gzip every reader takes."""
    record = page(number, body) if body is not None else page(number)
    return compressed(record)._replace(is_gzip_member=True, **changes)


def codecs(path: Path) -> list[str]:
    """How the bodies of each row group are compressed."""
    about = pq.ParquetFile(path).metadata
    body = NAMES.index("body")
    return [about.row_group(group).column(body).compression for group in range(about.num_row_groups)]


def kept_in_gzip(path: Path, records: list[PageRecord], decisions: Iterable[bool] | None = None) -> Path:
    path.unlink(missing_ok=True)
    keeps = iter(decisions).__next__ if decisions is not None else lambda: True
    assert write_part(ParquetPart(path, keeps), records) == len(records)
    return path


MIXED = st.lists(
    st.one_of(
        st.builds(in_gzip, st.integers(0, 99), st.text(max_size=3000).map(str.encode)),
        st.builds(page, st.integers(0, 99), st.binary(max_size=50)),
        st.builds(nothing, st.integers(0, 99)),
        st.builds(lambda number: in_gzip(number, b"\xef\xbb\xbfmarked"), st.integers(0, 99)),
        st.builds(
            lambda number: in_gzip(number, "слова".encode("cp1251"), encoding="windows-1251"), st.integers(0, 99)
        ),
        st.builds(lambda number: in_gzip(number, b"\0\1", encoding=None, content_type="image/png"), st.integers(0, 99)),
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=sized(40, 200), deadline=None)
@given(records=MIXED, decisions=st.lists(st.booleans(), min_size=20, max_size=20))
def test_bodies_that_stay_in_gzip_are_read_as_those_in_zstd(
    tmp_path_factory: pytest.TempPathFactory, records: list[PageRecord], decisions: list[bool]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "ROWS_PER_GROUP", 3)
        kept = kept_in_gzip(folder / "kept.parquet", records, decisions)
        again = written(folder / "again.parquet", records)
    assert by_duckdb(kept) == by_duckdb(again)
    table = pq.read_table(kept)
    table.validate(full=True)
    assert table.equals(pq.read_table(again))
    names = ["url", "body", "body_bytes"]
    assert list(read_rows(kept, names[:2])) == [tuple(row.values()) for row in table.select(names[:2]).to_pylist()]
    assert set(codecs(again)) == {"ZSTD"}


def test_a_row_group_has_the_coding_that_most_bodies_came_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS_PER_GROUP", 4)
    some = [*map(in_gzip, range(7)), page(7), nothing(8), *map(page, range(9, 16)), *map(in_gzip, range(16, 28))]
    path = kept_in_gzip(tmp_path / "part.parquet", some)
    # The first has the coding of its first page, each other one that of most bodies before it.
    assert codecs(path) == ["GZIP", "GZIP", "GZIP", "ZSTD", "ZSTD", "GZIP", "GZIP"]
    assert [row[NAMES.index("body")] for row in by_duckdb(path)] == [
        record.body.decode() if record.body is not None else None for record in some
    ]


def test_whether_gzip_stays_is_decided_for_each_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS_PER_GROUP", 2)
    decisions = [True, False, False, True]
    path = kept_in_gzip(tmp_path / "part.parquet", [in_gzip(number) for number in range(8)], decisions)
    assert codecs(path) == ["GZIP", "ZSTD", "ZSTD", "GZIP"]


@pytest.mark.parametrize("damage", [-1, 0, 1])
def test_a_damaged_body_in_gzip_makes_no_part_that_can_be_read(tmp_path: Path, damage: int) -> None:
    path = kept_in_gzip(tmp_path / "part.parquet", [in_gzip(number, b"word " * 400) for number in range(3)])
    whole = path.read_bytes()
    second = whole.index(b"\x1f\x8b\x08", whole.index(b"\x1f\x8b\x08") + 1)
    path.write_bytes(whole[:second] + bytes(20 + damage) + whole[second + 20 + damage :])
    with pytest.raises(UnreadablePart):
        list(read_rows(path, ["body"]))
