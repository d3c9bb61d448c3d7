"""Hosts that are done but for links that lay too deep are taken up again by a crawl that follows further."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database.connection import Database
from comity.frontier.store import FrontierStore

_BATCH: Final = 100


def go_deeper(
    database: Database,
    clock: Clock,
    frontier: FrontierStore,
    max_depth: int,
    hosts: Collection[str] | None = None,
) -> int:
    """Queue what is no longer too deep on exhausted hosts, of those that are named or of all; gives how many hosts.

    In short transactions; a host that is held by a worker is left to it.
    """
    woken = 0
    while True:
        with frontier.change() as change:
            now = None if database.is_shared else clock.now()
            found = hosts_table.left_within(change.connection, max_depth, now, hosts, _BATCH)
            for host_id in found:
                hosts_table.wake_for_depth(change.connection, host_id, change.lift(host_id, max_depth))
        woken += len(found)
        if len(found) < _BATCH:
            return woken
