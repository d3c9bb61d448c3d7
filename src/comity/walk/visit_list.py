"""A list of visits of one query or audit: started once, filled with URLs, resumed after a crash, ended.

What is known of a URL (its validators, its evidence) is shared by all doors. Each list records for itself which URLs
are still to be visited, so lists do not take work from each other; they share only the lease and the gate of a host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from comity.clock import Clock
from comity.database import audits, records, robots, sitemaps
from comity.database import hosts as hosts_table
from comity.database.connection import Database
from comity.database.frontier import lists
from comity.frontier.sql_store import ListFrontier
from comity.model.dataclass import dataclass
from comity.model.frontier import GUESSED_SCHEME_PRIORITY, FoundBy, FrontierEntry
from comity.model.sitemap import SitemapRow, SitemapState
from comity.rules.canonical import WebAddress, canonical_host, host_in_url


class NotAsked(NamedTuple):
    """A URL that was not requested: the kind of evidence, and what it says."""

    place: int
    url: str
    code: str
    content: Any


class NotVisited(NamedTuple):
    """A URL that is still to be visited."""

    place: int
    url: str


@dataclass(frozen=True, slots=True)
class VisitList:
    """An open list, and whether an earlier process started it."""

    list_id: UUID
    door: str
    frontier: ListFrontier
    is_resumed: bool


def open_list(
    database: Database, clock: Clock, door: str, name: str, settings: dict[str, Any] | None = None
) -> VisitList:
    """Continue the unfinished list of this name, or start one."""
    with database.write() as connection:
        found = lists.unfinished(connection, door, name)
        list_id = found or lists.begin(connection, door, name, settings, clock.now())
    return VisitList(list_id, door, ListFrontier(database, list_id), is_resumed=found is not None)


def add_visits(
    database: Database,
    visits: VisitList,
    addresses: Iterable[WebAddress],
    *,
    is_guessed: Callable[[WebAddress], bool] = lambda _address: False,
) -> int:
    """Put URLs on a list, each once; returns how many were new. Their hosts become no candidates for crawls by it.

    Where the scheme of a URL is guessed, the other is tried if nothing answers.
    """
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
            entries = [
                FrontierEntry(
                    each.url, each.key, 0, GUESSED_SCHEME_PRIORITY if is_guessed(each) else 0, found_by=FoundBy.SEED
                )
                for each in wanted.values()
            ]
            added += change.add(ids[host], None, entries)
    return added


def plan_sitemaps(database: Database, visits: VisitList, addresses: Iterable[WebAddress]) -> None:
    """Read these files as the sitemaps of their hosts, and no others."""
    with database.write() as connection:
        for address in addresses:
            hosts_table.touch(connection, [canonical_host(host_in_url(address.host))], visits.door)
            host_id = hosts_table.ids_of(connection, [address.host])[address.host]
            key = lists.add_hosts(connection, visits.list_id, [host_id])[host_id]
            row = SitemapRow(address.url, address.key, 0, is_guess=False, state=SitemapState.PLANNED)
            sitemaps.put(connection, key, [row])


def sitemaps_not_read(database: Database, visits: VisitList, addresses: Iterable[WebAddress]) -> list[WebAddress]:
    """Which of some addresses turned out to be no sitemaps: missing, refused, or files of another kind."""
    not_read: list[WebAddress] = []
    with database.read() as connection:
        for address in addresses:
            host_id = hosts_table.ids_of(connection, [address.host]).get(address.host)
            key = lists.keys_of(connection, visits.list_id, [host_id]).get(host_id) if host_id is not None else None
            found = sitemaps.find(connection, key, address.key) if key is not None else None
            if found is not None and found.state not in (SitemapState.PLANNED, SitemapState.READ):
                not_read.append(address)
    return not_read


def durations(database: Database, keys: Sequence[int]) -> dict[int, int]:
    """How long the last visit of each URL took, in milliseconds, by key."""
    with database.read() as connection:
        return records.durations(connection, keys)


def not_asked(database: Database, visits: VisitList, after: int, limit: int) -> list[NotAsked]:
    """URLs of a list that are done with and were never requested, and why, a page at a time."""
    with database.read() as connection:
        return [NotAsked(*row) for row in lists.not_asked(connection, visits.list_id, after, limit)]


def not_visited(database: Database, visits: VisitList, host: str, after: int, limit: int) -> list[NotVisited]:
    """URLs of a host that are still to be visited, a page at a time."""
    with database.read() as connection:
        return [NotVisited(*row) for row in lists.not_visited(connection, visits.list_id, host, after, limit)]


def pages_so_far(database: Database, visits: VisitList) -> int:
    """How many pages of a list were fetched, in this process and in earlier ones."""
    with database.read() as connection:
        return lists.pages_so_far(connection, visits.list_id)


def hosts_to_visit(database: Database, visits: VisitList) -> list[str]:
    """The hosts that have URLs to visit."""
    with database.read() as connection:
        return lists.hosts_to_visit(connection, visits.list_id)


def is_open(database: Database, visits: VisitList) -> bool:
    """Whether a list has not been ended, by this process or another."""
    with database.read() as connection:
        return lists.is_open(connection, visits.list_id)


def end_list(database: Database, clock: Clock, visits: VisitList) -> None:
    """End a list with nothing left to do; the next one of this name starts from the beginning."""
    with database.write() as connection:
        lists.end(connection, visits.list_id, clock.now())


def forget_list(database: Database, visits: VisitList) -> None:
    """Delete a list with everything that it has."""
    with database.write() as connection:
        lists.forget(connection, visits.list_id)


def forget_robots(database: Database, host: str) -> None:
    """Read robots.txt of a host again, however new the copy is."""
    with database.write() as connection:
        robots.forget(connection, host)


class ListState(NamedTuple):
    """What the state knows of a list and its runs."""

    begun_at: float
    left: int
    """URLs that are still to be visited."""
    requests: int
    seconds: float
    """How long its runs took."""


def list_state(database: Database, visits: VisitList, run_ids: Sequence[UUID]) -> ListState:
    """How far a list has come."""
    with database.read() as connection:
        host_ids = [row.id for row in audits.hosts_of(connection, visits.list_id)]
        return ListState(
            audits.begun_at(connection, visits.list_id).timestamp(),
            audits.queued(connection, visits.list_id),
            audits.requests(connection, host_ids, run_ids),
            audits.seconds_spent(connection, run_ids),
        )


def where_it_led(database: Database, run_ids: Sequence[UUID], key: int) -> str | None:
    """Where the last visit of a URL in some runs led; None if there was none."""
    with database.read() as connection:
        return audits.final_url(connection, run_ids, key)
