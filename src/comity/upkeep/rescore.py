"""The priority of every host, computed anew: after a run, every hour, or by hand."""

from __future__ import annotations

from uuid import UUID

from comity.clock import Clock
from comity.database import hosts, priorities
from comity.database.connection import Database
from comity.rules.priority import PriorityWeights


def rescore(database: Database, clock: Clock, weights: PriorityWeights | None = None) -> int:
    """Score all hosts in short transactions, so that no worker waits long; returns how many there are."""
    last: UUID | None = None
    while True:
        with database.write() as connection:
            now = None if database.is_shared else clock.now()
            last = priorities.rescore(connection, weights or PriorityWeights(), now, last)
        if last is None:
            break
    with database.read() as connection:
        return hosts.count(connection)


def rescore_run(database: Database, clock: Clock, run_id: str, weights: PriorityWeights | None = None) -> None:
    """Score the hosts that one run crawled."""
    with database.write() as connection:
        now = None if database.is_shared else clock.now()
        priorities.rescore_of_run(connection, weights or PriorityWeights(), now, UUID(run_id))
