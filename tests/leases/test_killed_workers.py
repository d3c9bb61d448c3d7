"""Workers that die with `kill -9` while they hold leases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select, update

from comity.clock import SystemClock
from comity.database.connection import Database
from comity.database.tables import domains
from comity.leases.holder import is_dead
from comity.leases.leases import Leases
from comity.model.errors import LeaseLost
from comity.model.gate import GateMemory
from comity.model.host import HostProgress, HostStatus
from tests.database.states import State
from tests.database.workers import Worker
from tests.servers.waiting import wait_until

LEASE_S = 5.0


def rows(database: Database) -> list[Any]:
    with database.read() as connection:
        return [tuple(row) for row in connection.execute(select(domains).order_by(domains.c.domain))]


def url_of(database: Database) -> str:
    return database.engine.url.render_as_string(hide_password=False)


def killed_while_holding(database: Database, count: int, lease_s: float) -> dict[str, Any]:
    with Worker("hold", url_of(database), count, lease_s) as worker:
        worker.wait_until_ready()
        worker.go()
        told: dict[str, Any] = worker.next_line()
        assert not is_dead(told["holder"])
        worker.kill()
    assert is_dead(told["holder"])
    return told


def test_what_a_killed_worker_held_comes_back_at_its_end_and_its_late_writes_are_refused(database: Database) -> None:
    """On real clocks: the server's on PostgreSQL, the machine's on SQLite."""
    state = State(database)
    for number in range(3):
        state.add(f"host{number}.example")
    told = killed_while_holding(database, 3, LEASE_S)
    assert len(told["held"]) == 3
    survivor = Leases(database, SystemClock())
    assert survivor.claim(3) == []
    gained: dict[str, Any] = {}

    def claims_all() -> bool:
        gained.update({lease.host: lease for lease in survivor.claim(3)})
        return len(gained) == 3

    wait_until(claims_all, LEASE_S + 60, "the leases of the dead run out")
    for old in told["held"]:
        new = gained[old["host"]]
        assert new.token == old["token"] + 1
        assert new.memory.unclean_end_at == pytest.approx(old["ends"], abs=1e-5)

    ghost = Leases(database, SystemClock(), holder=told["holder"])
    for old in told["held"]:
        late = replace(gained[old["host"]], holder=told["holder"], token=old["token"])
        before = rows(database)
        with pytest.raises(LeaseLost):
            ghost.release(late, progress=HostProgress(pages_crawled=5))
        with pytest.raises(LeaseLost):
            ghost.begin(late, None)
        with pytest.raises(LeaseLost), database.write() as connection:
            ghost.write(connection, late, {"status": HostStatus.ACTIVE})
        with pytest.raises(LeaseLost), database.write() as connection:
            ghost.add_progress(connection, late, HostProgress(pages_crawled=5), GateMemory())
        ghost._held[late.host_id] = late
        assert ghost.heartbeat() == [late]
        assert rows(database) == before


def test_a_worker_that_restarts_on_the_same_machine_frees_what_its_dead_sibling_held_at_once(
    database: Database,
) -> None:
    state = State(database)
    for number in range(4):
        state.add(f"host{number}.example")
    with Worker("hold", url_of(database), 1, 1800.0) as living:
        living.wait_until_ready()
        living.go()
        kept = living.next_line()
        told = killed_while_holding(database, 3, 1800.0)
        us = Leases(database, SystemClock())
        assert us.claim(9) == []
        assert us.release_dead() == 3
        claimed = us.claim(9)
        assert {lease.host for lease in claimed} == {old["host"] for old in told["held"]}
        assert all(lease.memory.unclean_end_at is not None for lease in claimed)
        assert state.row(kept["held"][0]["host"])["claimed_by"] == kept["holder"]
    assert us.release_dead() == 1  # it was killed when the block ended


def test_the_dead_of_another_machine_are_left_to_run_out(database: Database) -> None:
    state = State(database)
    state.add("host.example")
    told = killed_while_holding(database, 1, 1800.0)
    foreign = "another-machine" + told["holder"][told["holder"].index(":") :]
    with database.write() as connection:
        connection.execute(update(domains).values(claimed_by=foreign))
    assert Leases(database, SystemClock()).release_dead() == 0
    assert state.row("host.example")["claimed_by"] == foreign
