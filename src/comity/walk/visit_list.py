"""A list of visits that one piece of work has for itself: begun once, filled with URLs, resumed after a crash, ended.

What is known of a URL (its validators, its evidence) is shared by all doors. Whether a query or an audit still has to
visit it is its own: none of them swallows another's work, and what they share of a host is its lease and its gate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database.connection import Database
from comity.database.frontier import lists
from comity.frontier.list_store import ListFrontier
from comity.model.frontier import FoundBy, FrontierEntry
from comity.rules.canonical import WebAddress, canonical_host, host_in_url


@dataclass(frozen=True, slots=True)
class VisitList:
    """An open list, and whether an earlier process began it."""

    list_id: UUID
    door: str
    frontier: ListFrontier
    is_resumed: bool


def open_list(
    database: Database, clock: Clock, door: str, name: str, settings: dict[str, Any] | None = None
) -> VisitList:
    """Go on with the unfinished list of this name, or begin one."""
    with database.write() as connection:
        found = lists.unfinished(connection, door, name)
        list_id = found or lists.begin(connection, door, name, settings, clock.now())
    return VisitList(list_id, door, ListFrontier(database, list_id), is_resumed=found is not None)


def add_visits(database: Database, visits: VisitList, addresses: Iterable[WebAddress]) -> int:
    """Put URLs on a list, each once; gives how many were new. Their hosts become no candidates for crawls by it."""
    by_host: dict[str, dict[int, WebAddress]] = {}
    for address in addresses:
        by_host.setdefault(address.host, {})[address.key] = address
    if not by_host:
        return 0
    hosts = [canonical_host(host_in_url(name)) for name in by_host]
    with database.write() as connection:
        hosts_table.touch(connection, hosts, visits.door)
        ids = hosts_table.ids_of(connection, list(by_host))
    added = 0
    with visits.frontier.change() as change:
        for host, wanted in by_host.items():
            entries = [FrontierEntry(each.url, each.key, 0, 0, found_by=FoundBy.SEED) for each in wanted.values()]
            added += change.add(ids[host], None, entries)
    return added


def hosts_to_visit(database: Database, visits: VisitList) -> list[str]:
    """The hosts that have URLs to visit."""
    with database.read() as connection:
        return lists.hosts_to_visit(connection, visits.list_id)


def end_list(database: Database, clock: Clock, visits: VisitList) -> None:
    """Nothing of the list is left to do: the next piece of work of this name begins anew."""
    with database.write() as connection:
        lists.end(connection, visits.list_id, clock.now())


def forget_list(database: Database, visits: VisitList) -> None:
    """Delete a list with everything that it has."""
    with database.write() as connection:
        lists.forget(connection, visits.list_id)
