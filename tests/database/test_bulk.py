"""Statements that the driver is asked itself: their errors are those of every other statement."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, ProgrammingError

from comity.database.bulk import placed, rows_of, run, run_for_each, together
from comity.database.connection import Database
from comity.model.errors import StateUnavailable

_ADD = "INSERT INTO takedowns (domain_or_url) VALUES (?)"
_ALL = "SELECT domain_or_url FROM takedowns ORDER BY domain_or_url"


def entries(database: Database) -> list[str]:
    with database.read() as connection:
        return [row[0] for row in rows_of(connection, _ALL)]


def add_all(database: Database, *names: str) -> None:
    """Add entries one by one, in one transaction."""
    with database.write() as connection:
        for name in names:
            assert run(connection, placed(database.engine.dialect.name, _ADD), (name,)) == 1


def send_together(database: Database, *statements: tuple[str, tuple[str, ...]]) -> None:
    """Run statements without waiting for each."""
    with database.write() as connection, together(connection):
        for statement, values in statements:
            run(connection, placed(database.engine.dialect.name, statement), values)


def test_a_row_that_is_there_already_is_refused_and_the_transaction_leaves_nothing(database: Database) -> None:
    with pytest.raises(IntegrityError):
        add_all(database, "one.example", "two.example", "one.example")
    assert entries(database) == []


def test_what_is_sent_together_is_committed_together(database: Database) -> None:
    add = placed(database.engine.dialect.name, _ADD)
    with database.write() as connection:
        with together(connection):
            run(connection, add, ("one.example",))
            assert [row[0] for row in rows_of(connection, _ALL)] == ["one.example"]
            run_for_each(connection, add, [("two.example",), ("three.example",)])
        assert run_for_each(connection, add, [("four.example",), ("five.example",)]) == 2
        found = connection.execute(text("SELECT count(*) FROM takedowns")).scalar_one()
    assert found == len(entries(database)) == 5


def test_an_error_of_what_is_sent_together_comes_at_the_latest_with_its_end(database: Database) -> None:
    with pytest.raises(IntegrityError):
        send_together(database, (_ADD, ("one.example",)), (_ADD, ("one.example",)))
    assert entries(database) == []
    add_all(database, "two.example")  # over the same connection, most likely
    assert entries(database) == ["two.example"]


def test_a_connection_that_the_server_ended_is_not_used_again(shared_database: Database) -> None:
    ended = "SELECT pg_terminate_backend(pg_backend_pid())"
    with pytest.raises(StateUnavailable), shared_database.write() as connection:
        rows_of(connection, ended)
    add_all(shared_database, "one.example")
    with pytest.raises(StateUnavailable):
        send_together(shared_database, (ended, ()), (_ADD, ("two.example",)))
    assert entries(shared_database) == ["one.example"]


def test_a_statement_that_makes_no_sense_is_the_fault_of_the_statement(shared_database: Database) -> None:
    with pytest.raises(ProgrammingError, match="nonsense"), shared_database.write() as connection:
        rows_of(connection, "SELECT nonsense FROM takedowns")
