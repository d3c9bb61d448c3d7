"""Opening a state: what is accepted, what is refused in words, and what a transaction promises."""

from __future__ import annotations

import socket
import sqlite3
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from comity.database import bounded_postgresql
from comity.database.connection import Database, open_database
from comity.database.schema import ensure_current
from comity.model.errors import BadInput, StateUnavailable
from tests.database.states import State


@pytest.mark.parametrize(
    ("where", "complaint"),
    [
        ("", "needs a file name"),
        ("mysql://user:SECRET@host/db", "not mysql"),
        ("oracle://user:SECRET@host/db", "not oracle"),
        ("sqlite://", "needs a file"),
        ("postgresql://user:SECRET@host:port/db", "not a database URL"),
        ("http://[::1/", "not a database URL|not http"),
        ("nonsense://x", "not nonsense|not a database URL"),
    ],
)
def test_what_is_no_state_is_refused_in_words(where: str, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint) as caught:
        open_database(where)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    "where",
    ["postgres://u:p@h/d", "postgresql://u:p@h/d", "postgresql+psycopg://u:p@h/d", "postgresql+psycopg2://u:p@h/d"],
)
def test_postgresql_is_known_by_its_usual_spellings(where: str) -> None:
    database = open_database(where)
    assert database.is_shared
    assert database.engine.url.drivername == "postgresql+psycopg"
    assert ":p@" not in database.location
    database.close()


def test_a_connection_that_is_in_use_while_the_state_is_closed_is_closed_afterwards(database_url: str) -> None:
    database = open_database(database_url)
    with database.read() as connection:
        held: Any = connection.connection.dbapi_connection
        database.close()
        assert connection.scalar(text("SELECT 1")) == 1
    with pytest.raises((sqlite3.ProgrammingError, psycopg.OperationalError), match="closed"):
        held.execute("SELECT 1")
    with database.read() as connection:
        assert connection.scalar(text("SELECT 1")) == 1
        later = connection.connection.dbapi_connection
    with database.read() as connection:
        assert connection.connection.dbapi_connection is later, "connections are kept, as before"
    database.close()


def test_a_file_is_named_by_path_or_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for where in ("plain.db", tmp_path / "path.db", f"sqlite:///{tmp_path / 'url.db'}", "~/home.db", "deep/er/file.db"):
        database = open_database(where)
        ensure_current(database)
        assert not database.is_shared
        database.close()
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.db")}
    assert found == {"plain.db", "path.db", "url.db", "home/home.db", "deep/er/file.db"}


def test_a_folder_or_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    with pytest.raises(StateUnavailable, match="is a folder"):
        open_database(tmp_path)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StateUnavailable, match="cannot create the folder"):
        open_database(tmp_path / "file" / "state.db")


def test_a_file_that_is_no_database_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader, " * 1000)
    database = open_database(path)
    with pytest.raises(StateUnavailable, match="not a database"):
        ensure_current(database)
    database.close()
    assert path.read_text() == "Dear reader, " * 1000


def test_a_server_that_does_not_answer_is_told_without_its_password(tmp_path: Path) -> None:
    database = open_database(f"postgresql://user:SECRET@/comity?host={tmp_path}")
    with pytest.raises(StateUnavailable, match="cannot be used") as caught:
        ensure_current(database)
    assert "SECRET" not in str(caught.value)
    assert "\n" not in str(caught.value)
    database.close()


def test_a_long_statement_is_waited_for_while_the_server_answers(
    shared_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_postgresql, "ASK_EVERY_S", 0.1)
    with shared_database.read() as connection:
        assert connection.execute(text("SELECT 7 FROM pg_sleep(1)")).scalar() == 7


def test_an_answer_that_is_lost_on_the_way_is_not_waited_for_without_end(
    shared_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_postgresql, "ASK_EVERY_S", 0.1)
    monkeypatch.setattr(bounded_postgresql.BoundedConnection, "longest_wait_s", 2.0)
    with pytest.raises(StateUnavailable, match="does not respond"), shared_database.read() as connection:
        connection.execute(text("SELECT pg_sleep(30)"))
    with shared_database.read() as connection:
        assert connection.execute(text("SELECT 7")).scalar() == 7


def test_a_server_that_takes_connections_and_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        database = open_database(f"postgresql://a@127.0.0.1:{silent.getsockname()[1]}/b?connect_timeout=2")
        with pytest.raises(StateUnavailable, match="cannot be used"):
            ensure_current(database)
        database.close()


def test_a_connection_is_pinged_only_if_it_was_idle(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that the server closed meanwhile is replaced; one that was just used costs no extra journey."""
    waits = 0
    wait = bounded_postgresql.BoundedConnection.wait

    def counted(connection: Any, *arguments: Any, **options: Any) -> Any:
        nonlocal waits
        waits += 1
        return wait(connection, *arguments, **options)

    monkeypatch.setattr(bounded_postgresql.BoundedConnection, "wait", counted)
    database = open_database(postgres_url, connections=1)

    def ask(fresh_for_s: float) -> int:
        nonlocal waits
        monkeypatch.setattr(bounded_postgresql, "FRESH_FOR_S", fresh_for_s)
        waits = 0
        with database.read() as connection:
            connection.execute(text("SELECT 1"))
        return waits

    ask(0.0)
    assert ask(3600.0) < ask(0.0)
    other = open_database(postgres_url)
    with other.write() as connection:
        closed = text(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert connection.execute(closed).scalars().all() == [True]
    other.close()
    ask(0.0)
    database.close()


def test_what_a_statement_did_wrong_is_not_called_an_unavailable_state(shared_database: Database) -> None:
    with pytest.raises(ProgrammingError), shared_database.read() as connection:
        connection.execute(text("SELECT * FROM nowhere"))


def test_a_server_that_takes_no_writes_is_one_to_wait_for(shared_database: Database) -> None:
    """A standby, or the former primary in a failover: whoever works waits instead of dying of it."""
    write = "SET TRANSACTION READ ONLY; DELETE FROM takedowns"
    with pytest.raises(StateUnavailable, match=r"cannot be used: .*read-only"), shared_database.write() as connection:
        connection.execute(text(write))


def test_behind_a_pooler_nothing_is_kept_on_a_connection(postgres_url: str) -> None:
    """Between two transactions a pooler may hand the connection to somebody else."""
    kept = text("SELECT (SELECT count(*) FROM pg_prepared_statements), current_setting('statement_timeout')")
    found = {}
    for said in ("", "&pgbouncer=true", "&pgbouncer=false"):
        database = open_database(postgres_url + said)
        assert "pgbouncer" not in database.location
        with database.read() as connection:
            for _ in range(8):
                prepared, timeout = connection.execute(kept).one()
        found[said] = (prepared > 0, timeout)
        database.close()
    assert found == {"": (True, "5min"), "&pgbouncer=true": (False, "0"), "&pgbouncer=false": (True, "5min")}


def test_a_pooler_that_nobody_told_of_is_explained(shared_database: Database) -> None:
    with (
        pytest.raises(StateUnavailable, match=r"prepared statement .*pgbouncer=true"),
        shared_database.write() as connection,
    ):
        connection.execute(text("EXECUTE that_another_client_prepared"))
    with pytest.raises(BadInput, match="pgbouncer must be true"):
        open_database("postgresql://u@h/d?pgbouncer=yes")


def test_a_transaction_is_committed_as_a_whole_or_leaves_no_trace(database: Database) -> None:
    state = State(database)
    state.add("host.example")

    def fail_half_way() -> None:
        with database.write() as connection:
            connection.execute(text("UPDATE domains SET source = 'half'"))
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        fail_half_way()
    assert state.row("host.example")["source"] is None


def test_a_reader_sees_one_moment_and_waits_for_no_writer(database: Database) -> None:
    state = State(database)
    state.add("host.example")
    query = text("SELECT source FROM domains")
    with database.read() as reader:
        assert reader.execute(query).scalar() is None
        with database.write() as writer:
            writer.execute(text("UPDATE domains SET source = 'written'"))
            assert state.row("host.example")["source"] is None
        if not database.is_shared:
            assert reader.execute(query).scalar() is None
    assert state.row("host.example")["source"] == "written"


def test_two_writers_of_one_file_take_turns(embedded_database: Database) -> None:
    """The second takes its lock when it begins, so it waits there, and not half-way."""
    state = State(embedded_database)
    state.add("host.example", pages_crawled=0)
    began = threading.Event()
    second_done = threading.Event()

    def second() -> None:
        began.set()
        with embedded_database.write() as connection:
            seen = connection.execute(text("SELECT pages_crawled FROM domains")).scalar_one()
            connection.execute(text("UPDATE domains SET pages_crawled = :now"), {"now": seen + 1})
        second_done.set()

    thread = threading.Thread(target=second)
    with embedded_database.write() as connection:
        seen = connection.execute(text("SELECT pages_crawled FROM domains")).scalar_one()
        thread.start()
        assert began.wait(60)
        assert not second_done.wait(0.2)
        connection.execute(text("UPDATE domains SET pages_crawled = :now"), {"now": seen + 1})
    thread.join(60)
    assert state.row("host.example")["pages_crawled"] == 2


def test_the_file_is_kept_safe_against_a_power_cut(embedded_database: Database) -> None:
    with embedded_database.read() as connection:
        pragmas = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
        assert pragmas == ["wal", 2]
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


def test_a_writer_waits_for_the_one_before_it_and_reads_wait_as_before(tmp_path: Path) -> None:
    first, second = open_database(tmp_path / "state.db"), open_database(tmp_path / "state.db")
    ensure_current(first)
    began, done = threading.Event(), threading.Event()

    def write_second() -> None:
        began.set()
        with second.write() as connection:
            assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one() == 60_000
            done.set()

    with first.write():
        waiting = threading.Thread(target=write_second)
        waiting.start()
        assert began.wait(30)
        assert not done.wait(0.1), "two wrote at once"
    assert done.wait(30)
    waiting.join(30)
    for database in (first, second):
        database.close()


def test_a_writer_that_never_gets_its_turn_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comity.database.connection._WAIT_FOR_WRITER_S", 0)
    first, second = open_database(tmp_path / "state.db"), open_database(tmp_path / "state.db")
    ensure_current(first)
    with first.write(), pytest.raises(StateUnavailable, match="locked"), second.write():
        pass
    for database in (first, second):
        database.close()
