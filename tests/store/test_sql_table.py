"""The table that a CRAWL statement fills: what DuckDB is set to meanwhile, and which rows are written over."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from comity.store import sql_table
from comity.store.formats.columns import COLUMNS
from comity.store.formats.parquet import ParquetPart
from comity.store.parts.manifest import write_finished
from comity.store.sql_table import RefusedRow, SqlTable
from tests.store.light import page

NAMES = ("memory_limit", "checkpoint_threshold")


def write_part(connection: duckdb.DuckDBPyConnection, path: Path, pages: dict[str, str], error: str = "") -> None:
    """A part with some pages; `error` is that of the last one."""
    rest = [f"NULL::{each.kind.value} AS {each.name}" for each in COLUMNS if each.name not in ("url", "body", "error")]
    rows = ", ".join(f"({place}, '{url}', '{body}')" for place, (url, body) in enumerate(pages.items(), 1))
    connection.execute(
        f"COPY (SELECT url, body, CASE place WHEN {len(pages)} THEN nullif('{error}', '') END AS error, "
        f"{', '.join(rest)} FROM (VALUES {rows}) t(place, url, body) ORDER BY place) TO '{path}' (FORMAT parquet)"
    )


@pytest.mark.parametrize("declared", [None, "url VARCHAR"])
def test_a_page_that_comes_again_replaces_its_row(tmp_path: Path, declared: str | None) -> None:
    """Also in a table that had none, where pages are taken for new, and in one without a key."""
    with closing(duckdb.connect(str(tmp_path / "a.duckdb"))) as connection:
        SqlTable(connection, "pages").prepare()
        if declared is not None:
            connection.execute("CREATE TABLE plain AS FROM pages; DROP TABLE pages; ALTER TABLE plain RENAME TO pages")
        table = SqlTable(connection, "pages")
        table.prepare()
        parts = [{"a": "1", "b": "1"}, {"c": "2", "b": "2"}, {"d": "3"}, {"c": "2", "b": "2"}]
        for number, pages in enumerate(parts):
            write_part(connection, tmp_path / f"{number}.parquet", pages, "http_404" if number == 2 else "")
            loaded = table.load(tmp_path / f"{number}.parquet", lambda urls: {url: ord(url) for url in urls})
            assert loaded == len(pages)
        found = connection.execute("SELECT url, body, elapsed_ms, error_type FROM pages ORDER BY url").fetchall()
        assert found == [
            ("a", "1", 97, None),
            ("b", "2", 98, None),
            ("c", "2", 99, None),
            ("d", "3", 100, "http_client_error"),
        ]


def test_a_part_of_several_row_groups_is_loaded_whole(tmp_path: Path) -> None:
    writer = ParquetPart(tmp_path / "part.parquet")
    writer.most_group_bytes = 1000
    pages = [page(number, b"x" * 300, error="http_404" if number == 8 else None) for number in range(10)]
    write_finished(writer, pages)
    with closing(duckdb.connect(str(tmp_path / "a.duckdb"))) as connection:
        asked: list[list[str]] = []

        def elapsed_ms(urls: Sequence[str]) -> dict[str, int]:
            asked.append(list(urls))
            return {url: int(url.rpartition("/")[2]) for url in urls if not url.endswith("/5")}

        table = SqlTable(connection, "pages")
        table.prepare()
        assert table.load(tmp_path / "part.parquet", elapsed_ms) == 10
        found = connection.execute(
            "SELECT url, length(body), elapsed_ms, error_type FROM pages ORDER BY url"
        ).fetchall()
    assert asked == [[each.url for each in pages[first : first + 3]] for first in (0, 3, 6, 9)]
    assert found == [
        (each.url, 300, None if number == 5 else number, "http_client_error" if number == 8 else None)
        for number, each in enumerate(pages)
    ]


@pytest.mark.parametrize("threads", [None, 3])
def test_one_thread_fills_a_table_and_the_users_setting_returns(threads: int | None) -> None:
    with closing(duckdb.connect()) as connection:
        if threads is not None:
            connection.execute(f"SET threads = {threads}")
        asked = "SELECT current_setting('threads')"
        before = connection.execute(asked).fetchall()
        table = SqlTable(connection, "pages")
        table.prepare()
        with table.filling():
            assert connection.execute(asked).fetchall() == [(1,)]
        assert connection.execute(asked).fetchall() == before


@pytest.mark.parametrize("chosen", [None, "2.5GB", "100MB"])
def test_memory_is_bounded_while_a_table_is_filled_and_the_users_settings_return(
    tmp_path: Path, chosen: str | None
) -> None:
    with closing(duckdb.connect(str(tmp_path / "a.duckdb"))) as connection:
        if chosen is not None:
            connection.execute(f"SET memory_limit = '{chosen}'; SET checkpoint_threshold = '{chosen}'")
        table = SqlTable(connection, "pages")
        table.prepare()

        def said() -> list[str]:
            return [connection.execute("SELECT current_setting(?)", [name]).fetchall()[0][0] for name in NAMES]

        before = said()
        for _time in range(3):
            with table.filling():
                memory, threshold = said()
                assert memory == ("192.0 MiB" if chosen != "100MB" else before[0])
                assert threshold == (before[1] if chosen == "2.5GB" else "128.0 MiB")
            assert said() == before


def test_the_memory_of_a_database_in_memory_is_the_users() -> None:
    with closing(duckdb.connect()) as connection:
        table = SqlTable(connection, "pages")
        table.prepare()
        before = connection.execute("SELECT current_setting('memory_limit')").fetchall()
        with table.filling():
            assert connection.execute("SELECT current_setting('memory_limit')").fetchall() == before


def test_bodies_are_compressed_by_zstd(tmp_path: Path) -> None:
    with closing(duckdb.connect(str(tmp_path / "a.duckdb"))) as connection:
        table = SqlTable(connection, "pages")
        table.prepare()
        connection.execute(
            "INSERT INTO pages (url, body) SELECT 'u' || i, repeat('text ', 900) || i FROM range(3000) t(i); CHECKPOINT"
        )
        kinds = connection.execute(
            "SELECT DISTINCT compression FROM pragma_storage_info('pages') WHERE column_name = 'body' "
            "AND segment_type = 'VARCHAR'"
        ).fetchall()
        assert kinds == [("ZSTD",)]


def test_a_refusal_does_not_replace_a_page_that_the_same_statement_stored() -> None:
    with closing(duckdb.connect()) as connection:
        table = SqlTable(connection, "pages")
        table.prepare()
        connection.execute("INSERT INTO pages (url, http_status, error) VALUES ('a', 200, NULL), ('b', 500, 'failed')")
        refused = [RefusedRow(url, url, "server_errors: it fails") for url in ("a", "b", "c")]
        assert table.put_refused(refused, 0.0) == 2
        found = connection.execute("SELECT url, http_status FROM pages ORDER BY url").fetchall()
        assert found == [("a", 200), ("b", -1), ("c", -1)]
        assert table.put_refused([], 0.0) == 0


def test_pages_that_need_more_memory_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement takes little memory; where that is not enough for its pages, more, and none is lost."""
    monkeypatch.setattr(sql_table, "_MEMORY_BYTES", 24 * 1024 * 1024)
    columns = [
        f"NULL::{column.kind.value} AS {column.name}" for column in COLUMNS if column.name not in ("url", "body")
    ]
    with closing(duckdb.connect(str(tmp_path / "a.duckdb"))) as connection:
        connection.execute(
            f"COPY (SELECT 'u' || i AS url, repeat(md5('b' || i), 100_000) AS body, {', '.join(columns)} "
            f"FROM range(8) t(i)) TO '{tmp_path}/part.parquet' (FORMAT parquet)"
        )
        table = SqlTable(connection, "pages")
        table.prepare()
        before = connection.execute("SELECT current_setting('memory_limit')").fetchall()
        with table.filling():
            assert table.load(tmp_path / "part.parquet", lambda _urls: {}) == 8
            assert connection.execute("SELECT current_setting('memory_limit')").fetchall() != [("24.0 MiB",)]
        assert connection.execute("SELECT count(*), min(length(body)) FROM pages").fetchall() == [(8, 3_200_000)]
        assert connection.execute("SELECT current_setting('memory_limit')").fetchall() == before
