"""The database itself keeps the life of a job: every move by hand-written SQL, on both databases, with its history."""

from __future__ import annotations

from itertools import product

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from comity.database.connection import Database
from comity.database.queue.triggers import create_job_triggers, drop_job_triggers
from comity.model.queue import JobStatus
from comity.rules.job_transitions import FIRST, MOVES, diagram, is_legal
from tests.database.states import State
from tests.queue.queued import host_of, job_row, moves_of, put_job

PAIRS = list(product(JobStatus, JobStatus))
SPELLINGS = {
    "sqlite": [
        "UPDATE crawl_jobs SET {0}",
        "UPDATE OR REPLACE crawl_jobs SET {0}",
        "UPDATE OR IGNORE crawl_jobs SET {0}",
    ],
    "postgresql": ["UPDATE crawl_jobs SET {0}", "UPDATE crawl_jobs SET retry_count = 0, {0}"],
}
LOCK = "status = 'locked', locked_by = 'bot-1', locked_at = CURRENT_TIMESTAMP"


def test_every_move_that_the_table_allows_is_one_of_the_pairs() -> None:
    legal = {(before, after) for before, after in PAIRS if is_legal(before, after)}
    assert legal == {(before, after) for before in MOVES for after in MOVES[before]}
    assert all(f"{before} --> {after}" in diagram() for before, after in legal)


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_a_job_moves_by_hand_only_where_the_table_says(state: State, before: JobStatus, after: JobStatus) -> None:
    changed = LOCK if after is JobStatus.LOCKED else f"status = '{after}'"
    for number, spelling in enumerate(SPELLINGS[state.database.engine.dialect.name]):
        job_id = put_job(state, f"https://shop.example/{number}", before)
        row, moves = job_row(state, job_id), moves_of(state, job_id)
        where = f" WHERE url = 'https://shop.example/{number}'"
        if not is_legal(before, after):
            with pytest.raises(IntegrityError, match="illegal status change"), state.database.write() as connection:
                connection.execute(text(spelling.format(changed) + where))
            assert job_row(state, job_id) == row
            assert moves_of(state, job_id) == moves
            continue
        with state.database.write() as connection:
            connection.execute(text(spelling.format(changed) + where))
        now = job_row(state, job_id)
        assert now["status"] == after
        assert (now["locked_by"] is not None) == (after is JobStatus.LOCKED)
        expected = [] if before is after else [(str(before), str(after), "sql", None)]
        assert moves_of(state, job_id) == moves + expected


@pytest.mark.parametrize("status", JobStatus)
def test_a_new_job_is_pending(state: State, status: JobStatus) -> None:
    host_id = host_of(state, "shop.example")
    row = {
        "host": host_id if state.database.engine.dialect.name == "postgresql" else host_id.hex,
        "status": str(status),
    }
    statement = text(
        "INSERT INTO crawl_jobs (domain_id, url, status, locked_by, locked_at)"
        " VALUES (:host, 'https://shop.example/', :status, 'x', CURRENT_TIMESTAMP)"
    )
    if status is FIRST:
        with state.database.write() as connection:
            connection.execute(statement, row)
        return
    with pytest.raises(IntegrityError, match="illegal status of"), state.database.write() as connection:
        connection.execute(statement, row)


@pytest.mark.parametrize(("before", "after"), PAIRS)
@pytest.mark.parametrize("recursive", ["ON", "OFF"])
def test_a_job_of_sqlite_cannot_be_replaced(
    embedded_database: Database, before: JobStatus, after: JobStatus, recursive: str
) -> None:
    state = State(embedded_database)
    job_id = put_job(state, "https://shop.example/1", before)
    row = job_row(state, job_id)
    spellings = [
        "INSERT OR REPLACE INTO crawl_jobs (id, domain_id, url, status, locked_by, locked_at)"
        " SELECT id, domain_id, url, :after, 'x', created_at FROM crawl_jobs",
        "REPLACE INTO crawl_jobs (id, domain_id, url, status, locked_by, locked_at)"
        " SELECT id, domain_id, 'https://shop.example/2', :after, 'x', created_at FROM crawl_jobs",
    ]
    for spelling in spellings:
        with embedded_database.engine.connect() as connection:
            connection.exec_driver_sql(f"PRAGMA recursive_triggers = {recursive}")
            with pytest.raises(IntegrityError, match="illegal status"):
                connection.execute(text(spelling), {"after": str(after)})
            connection.rollback()
        assert job_row(state, job_id) == row


@pytest.mark.parametrize("missing", ["locked_at", "locked_by"])
def test_a_locked_job_has_a_bot_and_a_time(state: State, missing: str) -> None:
    job_id = put_job(state, "https://shop.example/1", JobStatus.LOCKED)
    row = job_row(state, job_id)
    with pytest.raises(IntegrityError), state.database.write() as connection:
        connection.exec_driver_sql(f"UPDATE crawl_jobs SET {missing} = NULL")
    assert job_row(state, job_id) == row


def test_the_open_job_of_a_policy_is_not_pushed_aside(embedded_database: Database) -> None:
    state = State(embedded_database)
    with embedded_database.write() as connection:
        connection.exec_driver_sql(
            "INSERT INTO crawl_policies (id, url) VALUES ('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'https://shop.example/1')"
        )
    failed = put_job(state, "https://shop.example/1", JobStatus.FAILED)
    held = put_job(state, "https://shop.example/1", JobStatus.LOCKED)
    other = put_job(state, "https://shop.example/2")
    with embedded_database.write() as connection:
        connection.exec_driver_sql(
            "UPDATE crawl_jobs SET policy_id = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' WHERE url = 'https://shop.example/1'"
        )
    for statement in (
        "INSERT OR REPLACE INTO crawl_jobs (policy_id, domain_id, url) SELECT policy_id, domain_id, url FROM crawl_jobs"
        " WHERE status = 'locked'",
        "UPDATE OR REPLACE crawl_jobs SET status = 'pending' WHERE status = 'failed'",
        "UPDATE OR REPLACE crawl_jobs SET policy_id = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' WHERE url = 'https://shop.example/2'",
    ):
        with pytest.raises(IntegrityError), embedded_database.write() as connection:
            connection.exec_driver_sql(statement)
    with embedded_database.write() as connection:
        connection.exec_driver_sql(
            "INSERT OR IGNORE INTO crawl_jobs (policy_id, domain_id, url)"
            " SELECT policy_id, domain_id, url FROM crawl_jobs WHERE status = 'locked'"
        )
    found = [job_row(state, each)["status"] for each in (failed, held, other)]
    assert found == ["failed", "locked", "pending"]


def test_a_policy_has_one_open_job(state: State) -> None:
    first = put_job(state, "https://shop.example/1", JobStatus.LOCKED)
    second = put_job(state, "https://shop.example/1")
    with state.database.write() as connection:
        connection.execute(text("INSERT INTO crawl_policies (url) VALUES ('https://shop.example/1')"))
    with pytest.raises(IntegrityError), state.database.write() as connection:
        connection.execute(text("UPDATE crawl_jobs SET policy_id = (SELECT id FROM crawl_policies)"))
    assert {job_row(state, each)["policy_id"] for each in (first, second)} == {None}


def test_no_statement_takes_a_lock_from_its_bot(state: State) -> None:
    job_id = put_job(state, status=JobStatus.LOCKED, bot="bot-1")
    for change in ("locked_by = 'bot-2'", "status = 'locked', locked_by = 'bot-2'"):
        with pytest.raises(IntegrityError, match="belongs to one bot"), state.database.write() as connection:
            connection.execute(text(f"UPDATE crawl_jobs SET {change}"))
    assert job_row(state, job_id)["locked_by"] == "bot-1"


def test_the_history_says_who_and_why_if_the_statement_does(state: State) -> None:
    job_id = put_job(state)
    with state.database.write() as connection:
        connection.execute(text(f"UPDATE crawl_jobs SET {LOCK}, moved_by = 'bot:b', move_reason = 'pulled'"))
    with state.database.write() as connection:
        connection.execute(text("UPDATE crawl_jobs SET status = 'expired'"))
    assert moves_of(state, job_id) == [
        ("pending", "locked", "bot:b", "pulled"),
        ("locked", "expired", "sql", None),
    ]


def test_triggers_can_be_dropped_and_made_again(database: Database) -> None:
    dialect = database.engine.dialect.name
    with database.write() as connection:
        for statement in (*drop_job_triggers(dialect), *create_job_triggers(dialect)):
            connection.exec_driver_sql(statement.replace("%", "%%") if dialect == "postgresql" else statement)
