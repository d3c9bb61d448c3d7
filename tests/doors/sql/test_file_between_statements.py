"""Between statements another process can open the file, and nothing that a session has is lost by that."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Timer

import duckdb
import pytest

import comity
from comity.doors.sql import SqlConnection
from comity.model.errors import ComityError
from tests.doors.command_line import CommandLine
from tests.doors.sql.other_process import LIMIT_S, answer_of, holding
from tests.doors.sql.test_crawl_statement import WITH, opened, rows
from tests.servers.waiting import wait_until
from tests.walk.site import Web, page

OWN = f"html_table_{'0' * 32}"  # as `read_html` makes them
WAIT_S = "comity.doors.sql.database_file.MOST_WAIT_S"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "web.duckdb"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[SqlConnection]:
    with opened(tmp_path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
        yield connection


def test_another_process_uses_the_file_after_a_crawl(file: Path, connection: SqlConnection, web: Web) -> None:
    site = web.site({"/a": page(title="A")})
    assert rows(connection, "SELECT jq('<p>a</p>', 'p').text FROM t") == [("a",)]
    assert rows(connection, f"SELECT status FROM crawl('{site.url('/a')}')") == [(200,)]
    assert rows(connection, "SELECT count(*) FROM comity.frontier") == [(0,)]
    assert "could not set lock" in answer_of(file, "FROM t").lower()
    connection.execute(f"CRAWL (SELECT '{site.url('/a')}') INTO pages {WITH})")
    assert answer_of(file, "INSERT INTO t SELECT http_status FROM pages") == "[(1,)]"
    assert [column[0] for column in connection.description][:2] == ["pages", "errors"]
    assert connection.fetchall()[0][:2] == (1, 0)
    assert connection.fetchall() == []
    assert rows(connection, "SELECT max(x), jq('<p>a</p>', 'p').text FROM t") == [(200, "a")]
    assert rows(connection, f"SELECT status FROM crawl('{site.url('/a')}')") == [(200,)]
    assert rows(connection, "SELECT count(*) FROM comity.hosts") == [(1,)]
    connection.executemany(f"CRAWL (SELECT ?) INTO pages {WITH})", [[site.url("/a")], [site.url("/b")]])
    assert answer_of(file, "SELECT count(*) FROM pages") == "[(2,)]"
    assert connection.sql("SELECT count(*) FROM pages").fetchall() == [(2,)]


@pytest.mark.parametrize(
    ("kept", "asked", "answer", "undone"),
    [
        ("SET threads = 1", "SELECT current_setting('threads')", 1, "RESET threads"),
        ("SET errors_as_json = true", "SELECT current_setting('errors_as_json')", True, "RESET errors_as_json"),
        ("CREATE SCHEMA s; USE s", "SELECT current_schema()", "s", None),
        ("SET VARIABLE v = 7", "SELECT getvariable('v')", 7, "RESET VARIABLE v"),
        ("CREATE TEMP TABLE mine AS SELECT 7 AS x", "FROM mine", 7, "DROP TABLE mine"),
        ("CREATE TEMP TABLE hosts AS SELECT 7 AS x", "FROM hosts", 7, "DROP TABLE hosts"),
        (f"CREATE TEMP TABLE {OWN} AS SELECT 7; CREATE VIEW v AS FROM {OWN}", "FROM v", 7, "DROP VIEW v"),
        (f"CREATE TEMP TABLE {OWN} AS SELECT 7; CREATE MACRO m() AS (FROM {OWN})", "SELECT m()", 7, "DROP MACRO m"),
        ("CREATE TEMP VIEW v AS SELECT 7", "FROM v", 7, "DROP VIEW v"),
        ("CREATE TEMP MACRO m() AS 7", "SELECT m()", 7, "DROP MACRO m"),
        ("CREATE TEMP MACRO m() AS TABLE SELECT 7", "FROM m()", 7, "DROP MACRO TABLE m"),
        ("CREATE TEMP SEQUENCE q START 7", "SELECT nextval('q')", 7, "DROP SEQUENCE q"),
        ("CREATE TEMP TYPE e AS ENUM ('7')", "SELECT '7'::e", "7", "DROP TYPE e"),
        ("PREPARE p AS SELECT 7", "EXECUTE p", 7, "DEALLOCATE p"),
        ("ATTACH ':memory:' AS m; CREATE TABLE m.t AS SELECT 7", "FROM m.t", 7, "DETACH m"),
        ("ATTACH ':memory:' AS comity; CREATE TABLE comity.t AS SELECT 7", "FROM comity.t", 7, "DETACH comity"),
        ("CREATE SECRET k (TYPE http, BEARER_TOKEN 'x')", "SELECT name FROM duckdb_secrets()", "k", "DROP SECRET k"),
        ("BEGIN; INSERT INTO t VALUES (6)", "SELECT sum(x) FROM t", 7, "ROLLBACK"),
        ("SELECT setseed(0.5)", "SELECT 7", 7, None),
    ],
)
def test_a_session_that_has_something_to_lose_keeps_the_file(
    connection: SqlConnection, kept: str, asked: str, answer: object, undone: str | None
) -> None:
    connection.execute(kept)
    assert not connection.release()
    assert rows(connection, asked) == [(answer,)]
    if undone is not None:
        connection.execute(undone)
        assert connection.release()
        assert rows(connection, "SELECT x FROM t") == [(1,)]


def test_a_failed_transaction_goes_on_until_its_rollback(connection: SqlConnection) -> None:
    connection.execute("BEGIN; INSERT INTO t VALUES (2)")
    with pytest.raises(duckdb.Error):
        connection.execute("INSERT INTO t SELECT error('no')")
    assert not connection.release()
    connection.execute("ROLLBACK")
    assert connection.release()
    assert rows(connection, "FROM t") == [(1,)]


def test_relations_cursors_and_functions_keep_the_file(file: Path, connection: SqlConnection) -> None:
    relation = connection.sql("FROM t")
    doubled = relation.project("2 * x")
    del relation
    assert not connection.release()
    assert doubled.union(connection.table("t")).order("1").fetchall() == [(1,), (2,)]
    del doubled
    with closing(connection.cursor()) as cursor:
        assert not connection.release()
        assert not cursor.release()
        assert rows(cursor, "FROM t") == [(1,)]
    assert connection.release()
    assert answer_of(file, "FROM t") == "[(1,)]"
    connection.create_function("plus_one", lambda x: x + 1, ["BIGINT"], "BIGINT")
    assert not connection.release()
    assert rows(connection, "SELECT plus_one(x) FROM t") == [(2,)]


def test_a_relation_of_the_session_outlives_a_crawl(connection: SqlConnection, web: Web) -> None:
    site = web.site({"/a": page()})
    before = connection.sql("SELECT x FROM t")
    connection.execute(f"CRAWL (SELECT '{site.url('/a')}') INTO pages {WITH})")
    after = connection.sql("SELECT redirect_count + 2 FROM pages")
    assert sorted(before.union(after).fetchall()) == [(1,), (2,)]
    del before, after
    reader = connection.sql("FROM range(5000)").to_arrow_reader(1000)
    assert not connection.release()
    assert sum(batch.num_rows for batch in reader) == 5000


def test_a_result_can_be_read_in_pieces_as_before(connection: SqlConnection) -> None:
    connection.execute("SELECT * FROM range(5000)")
    assert len(connection.fetchmany(10)) == 10
    assert len(connection.fetchall()) == 4990
    connection.execute("FROM t")
    assert connection.release()
    with pytest.raises(duckdb.Error):
        connection.fetchall()
    assert rows(connection, "FROM t") == [(1,)]


def test_a_file_that_another_process_opened_meanwhile(
    file: Path, connection: SqlConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connection.release()
    with holding(file) as other:
        monkeypatch.setattr(WAIT_S, 0.1)
        with pytest.raises(ComityError, match=f"web.duckdb is open in process {other.pid}; close it there"):
            connection.execute("FROM t")
        monkeypatch.setattr(WAIT_S, LIMIT_S)
        assert other.stdin is not None
        Timer(0.1, other.stdin.close).start()
        assert rows(connection, "FROM t") == [(1,)]


def test_the_file_is_the_same_from_another_folder_and_by_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "link.duckdb").symlink_to(tmp_path / "web.duckdb")
    for is_released in (False, True):  # DuckDB names the database after the link, but only when it creates the file
        monkeypatch.chdir(tmp_path)
        with comity.sql.connect("link.duckdb") as connection:
            (name,) = connection.execute("SELECT current_database()").fetchone()
            connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT 1; CREATE OR REPLACE VIEW v AS FROM {name}.main.t")
            monkeypatch.chdir(tmp_path / "one")
            assert connection.release() is is_released
            assert rows(connection, "SELECT *, current_database() FROM v") == [(1, name)]


def test_a_file_that_was_replaced_or_deleted_is_what_duckdb_finds(file: Path, connection: SqlConnection) -> None:
    assert connection.release()
    with duckdb.connect(str(file.with_name("new.duckdb"))) as other:
        other.execute("CREATE TABLE t AS SELECT 2 AS x")
    file.with_name("new.duckdb").replace(file)
    assert rows(connection, "FROM t") == [(2,)]
    assert connection.release()
    file.unlink()
    with pytest.raises(duckdb.CatalogException):
        connection.execute("FROM t")


def test_other_connections_of_the_process_and_closed_ones(tmp_path: Path, connection: SqlConnection) -> None:
    with opened(tmp_path) as other, duckdb.connect(str(tmp_path / "web.duckdb")) as third:
        assert connection.release()
        other.execute("INSERT INTO t VALUES (2)")
        assert rows(connection, "FROM t") == third.execute("FROM t").fetchall() == [(1,), (2,)]
        assert other.release()
    for act in (other.execute, other.sql):
        with pytest.raises(duckdb.ConnectionException):
            act("FROM t")
    assert not other.release()


def test_a_database_in_memory_is_never_released() -> None:
    with comity.sql.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 1")
        assert not connection.release()
        assert rows(connection, "FROM t") == [(1,)]


def test_a_connection_that_only_reads(file: Path, connection: SqlConnection) -> None:
    connection.close()
    with comity.sql.connect(file, read_only=True, config={"threads": 1}) as reading:
        assert reading.release()
        assert answer_of(file, "INSERT INTO t VALUES (2)") == "[(1,)]"
        assert rows(reading, "SELECT count(*), current_setting('threads') FROM t") == [(2, 1)]
        with pytest.raises(duckdb.Error, match="read-only"):
            reading.execute("INSERT INTO t VALUES (3)")


def test_another_process_uses_the_file_while_a_prompt_waits(comity: CommandLine) -> None:
    file = comity.folder / "shop.duckdb"
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with comity.started("sql", "shop.duckdb", **streams) as prompt:
        assert prompt.stdin is not None
        prompt.stdin.write(b"CREATE TABLE t AS SELECT 1 AS x;\n")
        prompt.stdin.flush()
        wait_until(file.exists, LIMIT_S, "the file")
        wait_until(lambda: answer_of(file, "INSERT INTO t VALUES (41)") == "[(1,)]", LIMIT_S, "a free file")
        out, _ = prompt.communicate(b"SELECT 'sum ' || sum(x) AS found FROM t;\n", timeout=LIMIT_S)
    assert prompt.returncode == 0
    assert "sum 42" in out.decode()
