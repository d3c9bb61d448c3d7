"""On a shared server its own clock rules: a machine whose clock is wrong neither steals a lease nor outstays one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text, update

from comity.database.connection import Database
from comity.database.tables import domains
from comity.database.types import instant
from comity.leases.leases import Leases
from comity.model.errors import HostBusy, LeaseLost
from comity.operate.hosts import reset_host
from comity.operate.merge import merge_hosts
from comity.upkeep.wake_hosts import end_cooldowns
from tests.database.states import MovedClock, State

WRONG = [timedelta(days=-400), timedelta(hours=-1), timedelta(hours=1), timedelta(days=400)]


def wrong_clock(error: timedelta) -> MovedClock:
    return MovedClock(datetime.now(UTC) + error)


def let_leases_run_out(database: Database) -> None:
    ended = text("now() - interval '1 second'")
    with database.write() as connection:
        connection.execute(update(domains).where(domains.c.claimed_by.is_not(None)).values(claim_expires_at=ended))


@pytest.mark.parametrize("error", WRONG)
def test_a_wrong_clock_neither_steals_nor_loses_a_lease(shared_database: Database, error: timedelta) -> None:
    state = State(shared_database, wrong_clock(error))
    state.add("host.example")
    right = Leases(shared_database, wrong_clock(timedelta(0)))
    wrong = Leases(shared_database, state.clock)
    (lease,) = right.claim(1)
    assert wrong.claim(1) == []
    assert wrong.take(["host.example"]) == []
    with pytest.raises(HostBusy):
        reset_host(shared_database, state.clock, "host.example")
    right.release(lease)

    (lease,) = wrong.claim(1)
    assert state.row("host.example")["claim_expires_at"] == pytest.approx(
        datetime.now(UTC) + timedelta(minutes=30), abs=timedelta(seconds=30)
    )
    assert wrong.heartbeat() == []
    assert right.claim(1) == []
    let_leases_run_out(shared_database)
    assert wrong.heartbeat() == [lease]
    with pytest.raises(LeaseLost):
        wrong.release(lease)
    (again,) = right.claim(1)
    assert again.token == lease.token + 1


@pytest.mark.parametrize("error", WRONG)
def test_a_holder_goes_by_its_own_clock_when_it_asks_how_long_it_has(
    shared_database: Database, error: timedelta
) -> None:
    """The gate compares the end of the lease with this machine's clock, so it must be told in this machine's time."""
    state = State(shared_database, wrong_clock(error))
    for host in ("claimed.example", "taken.example"):
        state.add(host)
    leases = Leases(shared_database, state.clock)
    asked_at = state.clock.now()
    held = leases.claim(1) + leases.take(["claimed.example", "taken.example"])
    assert {lease.expires_at for lease in held} == {asked_at + timedelta(minutes=30)}
    state.clock.advance(minutes=5)
    leases.heartbeat()
    assert {lease.expires_at for lease in leases.held} == {asked_at + timedelta(minutes=35)}


@pytest.mark.parametrize("error", WRONG)
def test_a_leased_host_is_not_merged_by_an_operator_whose_clock_is_wrong(
    shared_database: Database, error: timedelta
) -> None:
    state = State(shared_database, wrong_clock(error))
    for host in ("www.example.com", "example.com"):
        state.add(host)
    Leases(shared_database, wrong_clock(timedelta(0))).take(["www.example.com"])
    assert [each.action for each in merge_hosts(shared_database, state.clock)] == ["skipped"]
    let_leases_run_out(shared_database)
    assert [each.action for each in merge_hosts(shared_database, state.clock)] == ["folded"]


@pytest.mark.parametrize("error", WRONG)
def test_cooldowns_end_by_the_servers_clock(shared_database: Database, error: timedelta) -> None:
    state = State(shared_database, wrong_clock(error))
    state.add("due.example", status="blocked", next_crawl_after=datetime.now(UTC) - timedelta(minutes=1))
    state.add("later.example", status="blocked", next_crawl_after=datetime.now(UTC) + timedelta(minutes=10))
    assert end_cooldowns(shared_database, state.clock) == 1
    assert state.row("later.example")["status"] == "blocked"


def test_an_embedded_state_has_no_clock_of_its_own(embedded_database: Database) -> None:
    with embedded_database.read() as connection, pytest.raises(ValueError, match="pass the time"):
        instant(connection, None)
