"""Rows written by hand are complete, and every change of a host leaves its mark on the row."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import delete, insert, select, text, update
from sqlalchemy.exc import IntegrityError, OperationalError, StatementError

from comity.database import hosts
from comity.database.bulk import array_text, rows_of, run, run_for_each
from comity.database.connection import Database, is_fault_of_statement
from comity.database.leases import leasing
from comity.database.tables import (
    crawl_runs,
    domain_frontier,
    domain_policies,
    domains,
    evidence,
    fetches,
    robots_cache,
)
from comity.model.gate import GateMemory
from comity.model.host import BlockReason, HostEnding, HostProgress, HostStatus, Seed
from comity.model.robots import RobotsAccess
from comity.operate.hosts import reset_host
from comity.operate.merge import merge_hosts
from comity.operate.seeds import add_seeds
from comity.reports.hosts import known_robots
from comity.rules.canonical import canonical_host
from comity.rules.priority import PriorityWeights
from comity.upkeep.rescore import rescore
from comity.upkeep.wake_hosts import end_cooldowns
from tests.database.states import State

NULL_AT_FIRST = {
    "paused_by_run",
    "queue_parked_until",
    "queue_ready_at",
    "refused_address",
    "left_out_rules",
    "parent_domain",
    "block_reason",
    "block_reason_code",
    "first_blocked_at",
    "claimed_by",
    "claim_expires_at",
    "image_yield_rate",
    "avg_images_per_page",
    "error_rate",
    "priority_computed_at",
    "seed_rank",
    "source",
    "last_crawled_at",
    "next_crawl_after",
    "last_crawl_run_id",
    "frontier_checkpoint_id",
    "frontier_updated_at",
    "next_fetch_at",
    "blocked_until",
    "latency_baseline_s",
    "latency_recent_s",
    "unclean_end_at",
    "last_start_at",
    "refresh_started_at",
    "left_at_depth",
    "claimed_at",
    "unclean_since",
}
ZERO_AT_FIRST = {
    "queue_failures",
    "slots_given",
    "left_out_recorded",
    "left_out_unrecorded",
    "cooldown_count",
    "lease_token",
    "version",
    "pages_discovered",
    "pages_crawled",
    "images_found",
    "images_stored",
    "crawl_depth_reached",
    "total_error_count",
    "consecutive_error_count",
    "priority_score",
    "frontier_size",
    "unqueued_recorded",
    "unqueued_unrecorded",
    "backoff_step",
    "adaptive_delay_s",
}


def test_a_host_written_by_hand_with_only_its_name_gets_every_default(database: Database) -> None:
    earliest = datetime.now(UTC) - timedelta(seconds=2)
    with database.write() as connection:
        connection.execute(text("INSERT INTO domains (domain) VALUES ('by-hand.example')"))
        connection.execute(text("INSERT INTO domains (domain) VALUES ('second.example')"))
        row = connection.execute(select(domains).where(domains.c.domain == "by-hand.example")).one()
        ids = connection.execute(select(domains.c.id)).scalars().all()
    assert {name for name, value in row._mapping.items() if value is None} == NULL_AT_FIRST
    assert {name for name in ZERO_AT_FIRST if row._mapping[name] == 0} == ZERO_AT_FIRST
    assert (row.status, row.is_seeded, row.max_pages_per_run) == (HostStatus.PENDING, True, 1000)
    assert row.is_refresh_due is False
    for stamp in (row.first_seen_at, row.updated_at):
        assert earliest <= stamp <= datetime.now(UTC) + timedelta(seconds=2)
    assert all(isinstance(key, UUID) for key in ids)
    assert len(set(ids)) == 2
    assert set(row._mapping) == NULL_AT_FIRST | ZERO_AT_FIRST | {
        "id",
        "domain",
        "status",
        "is_refresh_due",
        "is_seeded",
        "max_pages_per_run",
        "first_seen_at",
        "updated_at",
    }


def test_a_host_written_by_hand_can_be_leased_at_once(state: State) -> None:
    with state.database.write() as connection:
        connection.execute(text("INSERT INTO domains (domain) VALUES ('by-hand.example')"))
    assert [lease.host for lease in state.leases().claim(5)] == ["by-hand.example"]


def test_a_robots_txt_written_by_hand_can_be_read(database: Database) -> None:
    with database.write() as connection:
        connection.execute(insert(domains).values(domain="a.example"))
        row = {"host": "a.example", "origin": "https://a.example", "robots_txt": "User-agent: *"}
        connection.execute(insert(robots_cache), [row])
    (entry,) = known_robots(database, "a.example")
    assert RobotsAccess(entry.access) is RobotsAccess.PARSE


def test_a_policy_written_by_hand_gets_the_careful_defaults(database: Database) -> None:
    with database.write() as connection:
        connection.execute(text("INSERT INTO domain_policies (host) VALUES ('host.example')"))
        row = connection.execute(select(domain_policies)).one()
    limits = (row.max_concurrency, row.min_request_interval_ms, row.max_pages, row.max_kb_per_page, row.allow_js)
    assert limits == (1, 3000, 10, 1024, False)
    assert row.last_seen_status is None


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO domains (domain) VALUES ('')",
        "INSERT INTO domains (domain) VALUES (NULL)",
        "INSERT INTO domains (domain) VALUES ('taken.example')",
        "INSERT INTO domains (domain, claimed_by) VALUES ('a.example', 'somebody')",
        "INSERT INTO domains (domain, claim_expires_at) VALUES ('a.example', CURRENT_TIMESTAMP)",
        "UPDATE domains SET claimed_by = 'somebody'",
        "INSERT INTO domain_policies (host, max_concurrency) VALUES ('a.example', 0)",
        "INSERT INTO domain_policies (host, min_request_interval_ms) VALUES ('a.example', -1)",
        "INSERT INTO domain_policies (host, max_pages) VALUES ('a.example', -1)",
        "INSERT INTO domain_policies (host, max_kb_per_page) VALUES ('a.example', 0)",
        "INSERT INTO crawl_runs (status) VALUES ('sleeping')",
        "INSERT INTO takedowns (reason) VALUES ('of nothing')",
    ],
)
def test_the_database_refuses_rows_that_mean_nothing(database: Database, statement: str) -> None:
    with database.write() as connection:
        connection.execute(text("INSERT INTO domains (domain) VALUES ('taken.example')"))
    with pytest.raises(IntegrityError), database.write() as connection:
        connection.execute(text(statement))


def test_what_refers_to_a_host_goes_or_stays_as_declared(state: State) -> None:
    host_id = state.add("host.example")
    state.queue("host.example", "https://host.example/a")
    with state.database.write() as connection:
        run_id = connection.execute(insert(crawl_runs).returning(crawl_runs.c.id)).scalar_one()
        connection.execute(update(domains).values(last_crawl_run_id=run_id))
        about = {"domain_id": host_id, "url_key": 1, "run_id": run_id}
        connection.execute(
            insert(fetches).values(**about, domain="host.example", page_url="https://host.example/a", outcome="fetched")
        )
        connection.execute(insert(evidence).values(**about, url="https://host.example/a", type="robots", content={}))
        connection.execute(delete(crawl_runs))
        assert connection.execute(select(domains.c.last_crawl_run_id)).scalars().all() == [None]
        connection.execute(delete(domains))
        assert connection.execute(select(fetches.c.domain, fetches.c.domain_id)).all() == [("host.example", None)]
        assert connection.execute(select(domain_frontier.c.id)).all() == []
        assert connection.execute(select(evidence.c.id)).all() == []
    with pytest.raises(IntegrityError), state.database.write() as connection:
        connection.execute(insert(evidence).values(domain_id=host_id, url="", url_key=1, type="x", content={}))


def test_times_are_aware_and_keep_their_microseconds(state: State) -> None:
    moment = datetime(2026, 2, 7, 12, 0, 0, 123456, tzinfo=UTC)
    state.add("host.example", next_crawl_after=moment.astimezone(UTC), last_crawled_at=moment)
    row = state.row("host.example")
    assert row["next_crawl_after"] == row["last_crawled_at"] == moment
    assert row["next_crawl_after"].tzinfo is UTC or row["next_crawl_after"].utcoffset() == timedelta(0)
    with pytest.raises(StatementError, match="a time without a zone"):
        state.add("naive.example", next_crawl_after=moment.replace(tzinfo=None))


def test_a_time_written_by_sql_compares_with_one_written_by_us(database: Database) -> None:
    state = State(database)
    state.add("past.example", next_crawl_after=datetime.now(UTC) - timedelta(seconds=2))
    state.add("future.example", next_crawl_after=datetime.now(UTC) + timedelta(minutes=2))
    query = text("SELECT domain FROM domains WHERE next_crawl_after < CURRENT_TIMESTAMP")
    with database.read() as connection:
        assert connection.execute(query).scalars().all() == ["past.example"]


def _begin(state: State) -> None:
    leases = state.leases()
    leases.begin(leases.claim(1)[0], None)


def _heartbeat(state: State) -> None:
    leases = state.leases()
    leases.claim(1)
    state.clock.advance(minutes=1)
    assert leases.heartbeat() == []


def _progress(state: State) -> None:
    leases = state.leases()
    (lease,) = leases.claim(1)
    with state.database.write() as connection:
        leases.add_progress(connection, lease, HostProgress(pages_crawled=1), GateMemory())


def _release(state: State) -> None:
    leases = state.leases()
    (lease,) = leases.claim(1)
    leases.release(lease, ending=HostEnding(HostStatus.BLOCKED, BlockReason.FORBIDDEN))


def _free(state: State) -> None:
    state.leases("the dead one").claim(1)
    with state.database.write() as connection:
        assert leasing.end_uncleanly(connection, ["the dead one"], state.clock.now()) == 1


def _wake(state: State) -> None:
    with state.database.write() as connection:
        connection.execute(update(domains).values(status="blocked", next_crawl_after=state.clock.now()))
    assert end_cooldowns(state.database, state.clock) == 1


def _rank(state: State) -> None:
    add_seeds(state.database, state.clock, [Seed(canonical_host("www.host.example"), rank=1)])


def _merge(state: State) -> None:
    with state.database.write() as connection:
        connection.execute(update(domains).values(domain="www.host.example"))
    assert [merged.action for merged in merge_hosts(state.database, state.clock)] == ["renamed"]


CHANGES: dict[str, tuple[int, Callable[[State], object]]] = {
    "a claim": (1, lambda state: state.leases().claim(1)),
    "a take": (1, lambda state: state.leases().take(["host.example"])),
    "a heartbeat": (2, _heartbeat),
    "the beginning of a crawl": (2, _begin),
    "progress": (2, _progress),
    "a release": (2, _release),
    "freeing a dead holder": (2, _free),
    "the end of a cooldown": (1, _wake),
    "a reset": (1, lambda state: reset_host(state.database, state.clock, "host.example")),
    "a new rank": (1, _rank),
    "a new score": (1, lambda state: rescore(state.database, state.clock)),
    "a merge": (1, _merge),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_counts_up_the_version_and_moves_the_time_of_the_update(state: State, change: str) -> None:
    state.add("host.example", updated_at=datetime(2020, 1, 1, tzinfo=UTC))
    expected, act = CHANGES[change]
    act(state)
    row = state.row("host.example")
    assert row["version"] == expected
    assert row["updated_at"] >= datetime.now(UTC) - timedelta(minutes=5)


def test_a_change_by_hand_moves_the_time_of_the_update_too(database: Database) -> None:
    state = State(database)
    for host in ("touched.example", "other.example"):
        state.add(host, updated_at=datetime(2020, 1, 1, tzinfo=UTC))
    with database.write() as connection:
        connection.execute(text("UPDATE domains SET source = 'hand' WHERE domain = 'touched.example'"))
    assert state.row("touched.example")["updated_at"].year >= 2026
    assert state.row("other.example")["updated_at"].year == 2020


def test_two_changes_in_a_row_both_move_the_time(database: Database) -> None:
    state = State(database)
    state.add("host.example")
    stamps = []
    for source in ("one", "two", "three"):
        with database.write() as connection:
            connection.execute(text("UPDATE domains SET source = :source"), {"source": source})
        stamps.append(state.row("host.example")["updated_at"])
        time.sleep(0.002)  # SQLite's clock counts milliseconds
    assert stamps[0] < stamps[1] < stamps[2]


def test_a_change_that_expects_an_older_version_changes_nothing(state: State) -> None:
    host_id = state.add("host.example")
    with state.database.write() as connection:
        assert hosts.change(connection, host_id, {"source": "first"}, expected_version=0)
    row = state.row("host.example")
    with state.database.write() as connection:
        assert not hosts.change(connection, host_id, {"source": "late"}, expected_version=0)
    assert state.row("host.example") == row
    assert row["source"] == "first"


def test_scoring_says_when_it_was_done(state: State) -> None:
    state.add("host.example")
    with state.database.write() as connection:
        assert hosts.rescore(connection, PriorityWeights(), state.clock.now(), None) is None
    assert state.row("host.example")["priority_computed_at"] == state.clock.now()


def test_arrays_that_are_written_as_text_are_read_as_they_were(shared_database: Database) -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    texts = [
        "",
        "NULL",
        None,
        'a "quoted" one',
        "back\\slash",
        "{a,b}",
        " blank ",
        "new\nline",
        '{"json": [1, "\\u00e9"]}',
        "é",
    ]
    arrays = {
        "text[]": texts,
        "uuid[]": [UUID(int=1), None],
        "timestamptz[]": [now, None],
        "bigint[]": [1, None, -(2**62)],
        "float8[]": [0.1, None, 1e-7],
    }
    with shared_database.read() as connection:
        for kind, values in arrays.items():
            found = connection.exec_driver_sql(f"SELECT %s::{kind}", (array_text(values),)).scalar_one()
            assert found == values


def test_a_statement_of_the_driver_is_refused_as_any_other(embedded_database: Database) -> None:
    """What reads errors must not know whether SQLAlchemy or the driver ran a statement."""
    statement = "INSERT INTO domains (id, domain) VALUES (?, ?)"
    with embedded_database.write() as connection:
        assert run_for_each(connection, statement, [("1" * 32, "a.example"), ("2" * 32, "b.example")]) == 2
        with pytest.raises(IntegrityError) as found:
            run_for_each(connection, statement, [("1" * 32, "c.example")])
        assert is_fault_of_statement(found.value)
        with pytest.raises(IntegrityError):
            run(connection, statement, ("1" * 32, "c.example"))
        with pytest.raises(OperationalError, match="no such table"):
            rows_of(connection, "SELECT 1 FROM no_such_table", ())
        assert rows_of(connection, "SELECT domain FROM domains ORDER BY domain", ()) == [("a.example",), ("b.example",)]
