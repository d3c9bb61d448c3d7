"""Statements that the driver is asked itself: their errors are those of every other statement, and so is what is left."""

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


def test_a_row_that_is_there_already_is_refused_and_the_transaction_leaves_nothing(database: Database) -> None:
    add = placed(database.engine.dialect.name, _ADD)
    with pytest.raises(IntegrityError), database.write() as connection:
        assert run(connection, add, ("one.example",)) == 1
        assert run_for_each(connection, add, [("two.example",), ("three.example",)]) == 2
        run(connection, add, ("one.example",))
    assert entries(database) == []


def test_what_is_sent_together_is_committed_together(database: Database) -> None:
    add = placed(database.engine.dialect.name, _ADD)
    with database.write() as connection:
        with together(connection):
            run(connection, add, ("one.example",))
            assert [row[0] for row in rows_of(connection, _ALL)] == ["one.example"]
            run_for_each(connection, add, [("two.example",), ("three.example",)])
        found = connection.execute(text("SELECT count(*) FROM takedowns")).scalar_one()
    assert found == len(entries(database)) == 3


def test_an_error_of_what_is_sent_together_comes_at_the_latest_with_its_end(database: Database) -> None:
    add = placed(database.engine.dialect.name, _ADD)
    with pytest.raises(IntegrityError), database.write() as connection, together(connection):
        run(connection, add, ("one.example",))
        run(connection, add, ("one.example",))
    assert entries(database) == []
    with database.write() as connection:  # the same connection, most likely
        assert run(connection, add, ("two.example",)) == 1
    assert entries(database) == ["two.example"]


def test_a_connection_that_the_server_ended_is_not_used_again(shared_database: Database) -> None:
    add = placed("postgresql", _ADD)
    ended = "SELECT pg_terminate_backend(pg_backend_pid())"
    with pytest.raises(StateUnavailable), shared_database.write() as connection:
        rows_of(connection, ended)
    with shared_database.write() as connection:
        assert run(connection, add, ("one.example",)) == 1
    with pytest.raises(StateUnavailable), shared_database.write() as connection, together(connection):
        run(connection, ended)
        run(connection, add, ("two.example",))
    assert entries(shared_database) == ["one.example"]


def test_a_statement_that_makes_no_sense_is_the_fault_of_the_statement(shared_database: Database) -> None:
    with pytest.raises(ProgrammingError, match="nonsense"), shared_database.write() as connection:
        rows_of(connection, "SELECT nonsense FROM takedowns")
