"""Wake hosts whose cooldown is over, that are no longer refused, or that have links to follow after all.

A deeper crawl follows links that were too deep; other patterns let through what was left out. The robots.txt of a host
that it closed is read again when the cached copy expires; a change wakes the host early.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Final
from uuid import UUID

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database import policies, takedowns
from comity.database import robots as robots_table
from comity.database.connection import Database
from comity.database.frontier import left_out
from comity.database.tables import TOO_DEEP
from comity.frontier.sql_store import own_frontier
from comity.frontier.store import FrontierStore
from comity.model.errors import ComityError
from comity.model.frontier import SiteLink
from comity.model.host import HostStatus
from comity.rules.address_guard import Network, decide
from comity.rules.canonical import WebAddress, resolve_link, web_address
from comity.rules.takedown import Takedowns
from comity.rules.url_patterns import pattern_rules
from comity.walk.queue_again import LeftOutTerms, queue_left_out
from comity.walk.robots.record import RobotsInForce
from comity.walk.settle.settler import queue_site_links

BATCH_HOSTS: Final = 1000
_MOST_REFUSED: Final = 10_000
_DEEPER_BATCH: Final = 100
_LISTED: Final = 1000  # URLs in one page of a listing
MOST_READ_AGAIN: Final = 20

ReadRobots = Callable[[WebAddress], Awaitable[RobotsInForce]]


def end_cooldowns(database: Database, clock: Clock, *, refresh: bool = False) -> int:
    """Wake every host that is due, in short transactions; returns how many."""
    woken = 0
    while True:
        with database.write() as connection:
            now = database.now(clock)
            batch = hosts_table.end_cooldowns(connection, now, refresh=refresh, limit=BATCH_HOSTS)
        woken += batch
        if batch < BATCH_HOSTS:
            return woken


def lift_refusals(database: Database, networks: Sequence[Network], hosts_named: Collection[str] | None = None) -> int:
    """Wake hosts, some or all, whose address was refused and is in an allowed network now."""
    if not networks:
        return 0
    with database.read() as connection:
        refused = hosts_table.refused_by_address(connection, hosts_named, _MOST_REFUSED)
    allowed = [row.id for row in refused if decide(row.refused_address, networks).allowed]
    if not allowed:
        return 0
    with database.write() as connection:
        return hosts_table.wake(connection, allowed)


def go_deeper(
    database: Database,
    clock: Clock,
    frontier: FrontierStore,
    max_depth: int,
    hosts: Collection[str] | None = None,
) -> int:
    """Queue what is no longer too deep on exhausted hosts, of those that are named or of all; returns how many hosts.

    In short transactions; a host that is held by a worker is left to it. Links under a takedown wake no host.
    """
    with database.read() as connection:
        refused = Takedowns.of(row.domain_or_url for row in takedowns.entries(connection))
    woken, last = 0, None
    while True:
        with frontier.change() as change:
            now = database.now(clock)
            found = hosts_table.reachable_at_depth(change.connection, max_depth, now, hosts, _DEEPER_BATCH, last)
            for row in found:
                if _may_go_deeper(frontier, row, refused, max_depth):
                    hosts_table.wake_for_depth(change.connection, row.id, change.lift(row.id, max_depth))
                    woken += 1
        if len(found) < _DEEPER_BATCH:
            return woken
        last = found[-1].id


def follow_left_out(
    database: Database,
    clock: Clock,
    frontier: FrontierStore,
    terms: LeftOutTerms,
    hosts: Collection[str] | None = None,
    *,
    paused_by: UUID | None = None,
) -> int:
    """Queue the URLs of exhausted hosts (of some, or of all) that the patterns in force no longer leave out.

    Gives how many hosts were woken. Other hosts are asked when they are opened. The takedown of a host still applies.
    Workers leave hosts that were not known before to the run `paused_by`.
    """
    with database.read() as connection:
        refused = Takedowns.of(row.domain_or_url for row in takedowns.entries(connection))
    woken, last = 0, None
    while True:
        site_links: list[SiteLink] = []
        with frontier.change() as change:
            connection = change.connection
            found = left_out.exhausted_hosts(connection, database.now(clock), hosts, _DEEPER_BATCH, last)
            rows = policies.get_many(connection, [row.domain for row in found])
            for row in found:
                own = None
                if row.domain in rows:
                    policy = policies.policy_from(rows[row.domain])
                    own = pattern_rules(policy.include, policy.exclude, is_of_policy=True)
                if row.left_out_rules == terms.fingerprint(own) or refused.covering_host(row.domain) is not None:
                    continue
                returned = queue_left_out(change, row.id, row.domain, own, terms)
                site_links += returned.site_links
                if returned.queued:
                    hosts_table.wake_for_depth(connection, row.id, returned.queued)
                    woken += 1
        if site_links:  # the host that named them is done, so that it is not opened and cannot queue them itself
            woken += len(queue_site_links(frontier, None, site_links, clock.now(), paused_by))
        if len(found) < _DEEPER_BATCH:
            return woken
        last = found[-1].id


def _may_go_deeper(frontier: FrontierStore, host: Any, refused: Takedowns, max_depth: int) -> bool:
    """Whether a host was left with more than links that are taken down."""
    if refused.covering_host(host.domain) is not None:
        return False
    name = host.domain.partition(":")[0]
    named = [each.partition(":")[0] for each in (*refused.hosts, *refused.paths)]
    if not any(each == name or each.endswith("." + name) for each in named):
        return True
    last = 0
    with frontier.reading() as reads:
        kept = reads.too_deep([host.id]).get(host.id)
        if kept is None or kept[1] > max_depth:  # its links are lost, or it was left before its sitemaps were read
            return True
        while rows := reads.urls(host.id, TOO_DEEP, last, _LISTED):
            for row in rows:
                address = resolve_link(row.url, row.url)
                if address is None or refused.covering(address) is None:
                    entry = reads.find([host.id], row.key)
                    if entry is not None and entry.depth <= max_depth:
                        return True
            last = rows[-1].place
    return False


async def reread_robots(
    database: Database,
    clock: Clock,
    read: ReadRobots,
    among: Collection[str] | None = None,
    frontier: FrontierStore | None = None,
) -> list[str]:
    """Read the expired robots.txt of a bounded number of closed hosts again; returns the hosts that were woken."""
    woken = []
    for row in await asyncio.to_thread(_due, database, clock, among):
        try:
            found = await read(web_address(f"{row.origin}/robots.txt"))
        except ComityError:
            continue  # busy or not to be asked: the next look may do better
        changed = found.version != row.version or str(found.reading.access) != row.access
        if changed and not found.is_unreachable:
            woken += [row.host] if await asyncio.to_thread(_wake, database, frontier, row.host) else []
    return woken


def _due(database: Database, clock: Clock, among: Collection[str] | None) -> list[Any]:
    with database.read() as connection:
        now = database.now(clock)
        return list(robots_table.expired_of_closed_hosts(connection, now, among, MOST_READ_AGAIN))


def _wake(database: Database, frontier: FrontierStore | None, host: str) -> bool:
    """Make a host pending again; its cooldown was for the previous file."""
    with (frontier or own_frontier(database)).change() as change:
        connection = change.connection
        row = hosts_table.get(connection, host)
        if row is None or row.status is not HostStatus.BLOCKED or row.claimed_by is not None:
            return False
        values = {
            "status": HostStatus.PENDING,
            "next_crawl_after": None,
            "block_reason": None,
            "block_reason_code": None,
            "refused_address": None,
        }
        change.requeue_all(row.id)
        return hosts_table.change(connection, row.id, values, expected_version=row.version)
