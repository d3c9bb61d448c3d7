"""The database itself keeps the life of a host: every move by code and by hand-written SQL, on both databases."""

from __future__ import annotations

import re
from itertools import product

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, IntegrityError

from comity.database import hosts, triggers
from comity.database.connection import Database
from comity.model.errors import IllegalTransition
from comity.model.host import BlockReason, HostEnding, HostStatus
from comity.rules.endings import UNREACHABLE_REASONS
from comity.rules.host_transitions import BACKFILL, FIRST, FIRST_OF_BACKFILL, MOVES, is_legal
from tests.database.states import State

PAIRS = list(product(HostStatus, HostStatus))
GENERATED_FROM = {str(before): [str(after) for after in MOVES[before]] for before in MOVES}


def put(state: State, before: HostStatus) -> str:
    state.add("host.example", status=before)
    return "host.example"


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_a_host_moves_by_the_code_only_where_the_table_says(
    state: State, before: HostStatus, after: HostStatus
) -> None:
    host = put(state, before)
    row = state.row(host)
    if is_legal(before, after):
        with state.database.write() as connection:
            assert hosts.change(connection, row["id"], {"status": after})
        assert state.row(host)["status"] is after
        return
    with pytest.raises(IllegalTransition, match="illegal status change"), state.database.write() as connection:
        hosts.change(connection, row["id"], {"status": after, "block_reason": "must not be stored"})
    assert state.row(host) == row


def test_another_rule_of_a_host_is_not_taken_for_an_illegal_move(state: State) -> None:
    row = state.row(put(state, HostStatus.ACTIVE))
    with pytest.raises(IntegrityError), state.database.write() as connection:
        hosts.change(connection, row["id"], {"status": HostStatus.EXHAUSTED, "domain": ""})


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_a_lease_is_given_back_only_with_a_legal_status(state: State, before: HostStatus, after: HostStatus) -> None:
    host = put(state, before)
    leases = state.leases()
    (lease,) = leases.take([host])
    row = state.row(host)
    ending = HostEnding(after, {"blocked": BlockReason.FORBIDDEN, "unreachable": BlockReason.DNS_FAILURE}.get(after))
    if is_legal(before, after):
        leases.release(lease, ending=ending)
        assert state.row(host)["status"] is after
        assert state.row(host)["claimed_by"] is None
        return
    with pytest.raises(IllegalTransition, match=r"host\.example"):
        leases.release(lease, ending=ending)
    assert state.row(host) == row
    assert leases.held == [lease]


@pytest.mark.parametrize("before", HostStatus)
def test_a_crawl_may_begin_whatever_the_status_was(state: State, before: HostStatus) -> None:
    host = put(state, before)
    leases = state.leases()
    (lease,) = leases.take([host])
    leases.begin(lease, None)
    assert state.row(host)["status"] is HostStatus.ACTIVE


SPELLINGS = {
    "sqlite": [
        "UPDATE domains SET status = :after WHERE domain = 'host.example'",
        "UPDATE OR IGNORE domains SET status = :after",
        "UPDATE OR REPLACE domains SET status = :after",
        "UPDATE domains SET version = version + 1, status = :after",
        "INSERT INTO domains (domain) VALUES ('host.example') ON CONFLICT (domain) DO UPDATE SET status = :after",
    ],
    "postgresql": [
        "UPDATE domains SET status = CAST(:after AS domain_status) WHERE domain = 'host.example'",
        "UPDATE domains SET version = version + 1, status = CAST(:after AS domain_status)",
        "INSERT INTO domains (domain) VALUES ('host.example')"
        " ON CONFLICT (domain) DO UPDATE SET status = CAST(:after AS domain_status)",
    ],
}


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_the_database_itself_refuses_any_other_move_by_hand(
    state: State, before: HostStatus, after: HostStatus
) -> None:
    host = put(state, before)
    for spelling in SPELLINGS[state.database.engine.dialect.name]:
        row = state.row(host)
        if not is_legal(before, after):
            with pytest.raises(IntegrityError, match="illegal status change"), state.database.write() as connection:
                connection.execute(text(spelling), {"after": str(after)})
            assert state.row(host) == row
            continue
        with state.database.write() as connection:
            connection.execute(text(spelling), {"after": str(after)})
        assert state.row(host)["status"] is after
        if not is_legal(after, after):
            break  # saying it again would be a move of its own


@pytest.mark.parametrize(("before", "after"), PAIRS)
@pytest.mark.parametrize("recursive", ["ON", "OFF"])
def test_replacing_a_row_of_sqlite_is_a_move_like_any_other(
    embedded_database: Database, before: HostStatus, after: HostStatus, recursive: str
) -> None:
    state = State(embedded_database)
    host = put(state, before)
    row = state.row(host)
    state.add("other.example")
    spellings = [
        "INSERT OR REPLACE INTO domains (domain, status) VALUES ('host.example', :after)",
        "REPLACE INTO domains (domain, status) SELECT domain, :after FROM domains WHERE domain = 'host.example'",
        "INSERT OR REPLACE INTO domains (id, domain, status) SELECT id, 'new.example', :after FROM domains"
        " WHERE domain = 'host.example'",
    ]
    for spelling in spellings:
        with embedded_database.engine.connect() as connection:
            connection.exec_driver_sql(f"PRAGMA recursive_triggers = {recursive}")
            if is_legal(before, after):
                if "new.example" not in spelling:  # which would be a new host
                    connection.execute(text(spelling), {"after": str(after)})
                connection.rollback()
                continue
            with pytest.raises(IntegrityError, match="illegal status"):
                connection.execute(text(spelling), {"after": str(after)})
            connection.rollback()
        assert state.row(host) == row
    with pytest.raises(IntegrityError, match="another host"), embedded_database.write() as connection:
        connection.execute(text("UPDATE OR REPLACE domains SET domain = 'host.example' WHERE domain = 'other.example'"))


@pytest.mark.parametrize("source", [None, "cli", "backfill_crawl_log"])
@pytest.mark.parametrize("status", HostStatus)
def test_a_new_row_has_a_status_that_a_row_may_begin_with(
    database: Database, status: HostStatus, source: str | None
) -> None:
    statements = [
        "INSERT INTO domains (domain, status, source) VALUES ('a.example', {}, :source)",
        "INSERT INTO domains (domain, status, source) SELECT 'b.example', {}, :source",
        "INSERT INTO domains (domain, status, source) VALUES ('c.example', {}, :source)"
        " ON CONFLICT (domain) DO UPDATE SET source = 'again'",
    ]
    status_given = "CAST(:status AS domain_status)" if database.is_shared else ":status"
    if not database.is_shared:
        statements += [
            "INSERT OR IGNORE INTO domains (domain, status, source) VALUES ('d.example', {}, :source)",
            "INSERT OR REPLACE INTO domains (domain, status, source) VALUES ('e.example', {}, :source)",
        ]
    is_backfill = source is not None and source.startswith(BACKFILL)
    is_legal_start = status is FIRST or (is_backfill and status in FIRST_OF_BACKFILL)
    for statement in statements:
        given = {"status": str(status), "source": source}
        if is_legal_start:
            with database.write() as connection:
                connection.execute(text(statement.format(status_given)), given)
            continue
        with pytest.raises(IntegrityError, match="illegal status of"), database.write() as connection:
            connection.execute(text(statement.format(status_given)), given)
    with database.read() as connection:
        count = connection.execute(text("SELECT count(*) FROM domains")).scalar_one()
    assert count == (len(statements) if is_legal_start else 0)


@pytest.mark.parametrize("before", HostStatus)
def test_a_row_that_is_there_is_not_made_anew_by_an_upsert_or_a_backfill(state: State, before: HostStatus) -> None:
    """The counters are brought up to date; the status that the insert names is not taken."""
    host = put(state, before)
    with state.database.write() as connection:
        for status in HostStatus:
            connection.execute(
                text(
                    f"INSERT INTO domains (domain, status, pages_crawled) VALUES ('{host}', '{status}', 5)"
                    " ON CONFLICT (domain) DO UPDATE SET pages_crawled = EXCLUDED.pages_crawled"
                )
            )
            connection.execute(
                text(f"INSERT INTO domains (domain, status) VALUES ('{host}', '{status}') ON CONFLICT DO NOTHING")
            )
    assert (state.row(host)["status"], state.row(host)["pages_crawled"]) == (before, 5)


def test_the_refusal_says_where_the_host_may_go(database: Database) -> None:
    state = State(database)
    put(state, HostStatus.EXHAUSTED)
    with pytest.raises(IntegrityError) as caught, database.write() as connection:
        connection.execute(text("UPDATE domains SET status = 'blocked'"))
    said = str(caught.value.orig)
    hint = getattr(getattr(caught.value.orig, "diag", None), "message_hint", None)
    assert "exhausted may only become pending or active" in (hint or said)


def test_a_statement_that_leaves_the_status_alone_is_no_move(database: Database) -> None:
    state = State(database)
    for status in HostStatus:
        state.add(f"{status}.example", status=status)
    with database.write() as connection:
        connection.execute(text("UPDATE domains SET pages_crawled = pages_crawled + 1"))
    for status in HostStatus:
        assert state.row(f"{status}.example")["status"] is status


def test_one_illegal_row_undoes_the_whole_statement(database: Database) -> None:
    state = State(database)
    state.add("fine.example", status=HostStatus.ACTIVE)
    state.add("not.example", status=HostStatus.PENDING)
    with pytest.raises(IntegrityError), database.write() as connection:
        connection.execute(text("UPDATE domains SET status = 'exhausted'"))
    assert state.row("fine.example")["status"] is HostStatus.ACTIVE


@pytest.mark.parametrize("status", ["", "Pending", "done", "PENDING"])
def test_there_are_five_statuses_and_no_other(database: Database, status: str) -> None:
    with pytest.raises(DBAPIError), database.write() as connection:
        connection.execute(text(f"INSERT INTO domains (domain, status) VALUES ('a.example', '{status}')"))


def squeezed(statement: str) -> str:
    return re.sub(r"\s+", " ", statement).strip().rstrip(";").strip()


def test_the_guards_in_a_migrated_sqlite_file_are_those_that_the_table_of_moves_generates(
    embedded_database: Database,
) -> None:
    with embedded_database.read() as connection:
        installed = connection.execute(text("SELECT sql FROM sqlite_master WHERE type = 'trigger'")).scalars().all()
    generated = triggers.create_statements("sqlite", GENERATED_FROM)
    assert sorted(map(squeezed, installed)) == sorted(map(squeezed, generated))


def test_the_guards_in_a_migrated_postgresql_are_those_that_the_table_of_moves_generates(
    shared_database: Database,
) -> None:
    functions = text(
        "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY proname"
    )
    attached = text("SELECT pg_get_triggerdef(oid), tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname")
    with shared_database.engine.connect() as connection:  # ends with a rollback
        installed = (connection.execute(functions).scalars().all(), connection.execute(attached).all())
        for statement in triggers.drop_statements("postgresql"):
            connection.exec_driver_sql(statement)
        assert (connection.execute(functions).all(), connection.execute(attached).all()) == ([], [])
        for statement in triggers.create_statements("postgresql", GENERATED_FROM):
            connection.exec_driver_sql(statement.replace("%", "%%"), {})
        generated = (connection.execute(functions).scalars().all(), connection.execute(attached).all())
        assert installed == generated
        assert (len(generated[0]), len(generated[1])) == (10, 11)


def test_the_guards_of_sqlite_can_be_taken_away(embedded_database: Database) -> None:
    with embedded_database.write() as connection:
        for statement in triggers.drop_statements("sqlite"):
            connection.exec_driver_sql(statement)
        assert connection.execute(text("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'")).scalar() == 0


def test_every_reason_to_block_can_be_stored_from_a_crawl(state: State) -> None:
    for reason in BlockReason:
        host = f"{reason.replace('_', '-')}.example"
        state.add(host, status=HostStatus.ACTIVE)
        leases = state.leases()
        (lease,) = leases.take([host])
        status = HostStatus.UNREACHABLE if reason in UNREACHABLE_REASONS else HostStatus.BLOCKED
        leases.release(lease, ending=HostEnding(status, reason))
        assert state.row(host)["block_reason_code"] == reason


@pytest.mark.parametrize(("before", "after"), [(b, a) for b, a in PAIRS if is_legal(b, a)])
def test_a_status_set_by_hand_makes_a_host_due_and_no_other_time_is_touched(
    state: State, before: HostStatus, after: HostStatus
) -> None:
    """`UPDATE domains SET status='pending'` is all that an operator need write."""
    later = state.clock.now().replace(year=2099)
    state.add("host.example", status=before, next_crawl_after=later)
    with state.database.write() as connection:
        connection.execute(text(f"UPDATE domains SET status = '{after}'"))
    open_statuses = (HostStatus.PENDING, HostStatus.ACTIVE)
    is_woken = after in open_statuses and before not in open_statuses
    assert state.row("host.example")["next_crawl_after"] == (None if is_woken else later)


def test_a_time_that_is_set_with_the_status_holds(state: State) -> None:
    later = state.clock.now().replace(year=2099)
    host = state.add("host.example", status=HostStatus.EXHAUSTED)
    with state.database.write() as connection:
        hosts.change(connection, host, {"status": HostStatus.PENDING, "next_crawl_after": later})
    assert state.row("host.example")["next_crawl_after"] == later
