"""Recompute the priority of every host: after a run, every hour, or on request."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from comity.clock import Clock
from comity.database import hosts
from comity.database.connection import Database
from comity.rules.priority import PriorityWeights

OLDER_THAN_S: Final = 1800.0


def rescore(
    database: Database,
    clock: Clock,
    weights: PriorityWeights | None = None,
    *,
    older_than_s: float = OLDER_THAN_S,
) -> int:
    """Score all hosts in short transactions, so that no worker waits long; returns how many there are.

    A score newer than `older_than_s` is kept, so of several workers that do this every hour only the first works.
    """
    last: UUID | None = None
    while True:
        with database.write() as connection:
            now = database.now(clock)
            last = hosts.rescore(connection, weights or PriorityWeights(), now, last, older_than_s)
        if last is None:
            break
    with database.read() as connection:
        return hosts.count(connection)


def rescore_run(database: Database, clock: Clock, run_id: str, weights: PriorityWeights | None = None) -> None:
    """Score the hosts that one run crawled."""
    with database.write() as connection:
        now = database.now(clock)
        hosts.rescore_of_run(connection, weights or PriorityWeights(), now, UUID(run_id))
