"""Links between the hosts of one site, while other processes settle these hosts."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from sqlalchemy import Connection, text, update

from comity.assemble import State
from comity.database import hosts
from comity.database.connection import Database
from comity.database.tables import domains
from comity.frontier.sql_store import SqlFrontier
from comity.model.frontier import FrontierEntry, SiteLink
from comity.model.host import HostStatus, Seed
from comity.rules.canonical import canonical_host, web_address
from comity.walk.crawl.progress import RunSummary
from comity.walk.crawl.terms import CrawlHooks, HostShare
from comity.walk.settle.settler import queue_site_links
from tests.database.states import WAY_TO
from tests.servers.waiting import wait_until
from tests.walk.crawling import Place
from tests.walk.site import Web, page

NAMES = tuple(f"h{number}.example" for number in range(12))


def link(host: str, path: str) -> SiteLink:
    address = web_address(f"https://{host}{path}")
    return SiteLink(host, FrontierEntry(address.url, address.key, 1, 0), False)


def test_queuing_links_and_settling_hosts_wait_in_line(shared_database: Database) -> None:
    """A worker that settles its hosts locks them one by one; who queues links there must not come from behind."""
    with shared_database.write() as connection:
        hosts.add_seeds(connection, [Seed(canonical_host(name)) for name in NAMES], "test", lambda _rank: 0)
        ids = hosts.ids_of(connection, NAMES)
    # The name that comes first has the id that comes last, so that every other order crosses that of the ids.
    last = next(name for name in NAMES if any(ids[name] > ids[other] for other in NAMES if other > name))
    first = next(other for other in NAMES if other > last and ids[other] < ids[last])
    links = [link(first, "/1"), link(last, "/1"), link(last, "/2")]
    frontier = SqlFrontier(shared_database)

    def settles(connection: Connection, name: str) -> None:
        connection.execute(text("SELECT id FROM domains WHERE domain = :name FOR UPDATE"), {"name": name}).all()

    def waits() -> bool:
        with shared_database.read() as connection:
            return bool(connection.execute(text("SELECT count(*) FROM pg_locks WHERE NOT granted")).scalar_one())

    with ThreadPoolExecutor(1) as thread:
        with shared_database.write() as connection:
            settles(connection, first)
            queued = thread.submit(queue_site_links, frontier, None, links, datetime.now(UTC))
            wait_until(waits, 60, "the links wait for the host")
            settles(connection, last)
        assert queued.result(30) == {first, last}
    assert queue_site_links(frontier, None, links, datetime.now(UTC)) == set()


def test_pausing_hosts_and_settling_them_wait_in_line(shared_database: Database) -> None:
    """A pause locks the rows in the order of ids, as everyone does, whatever the order in which it names hosts."""
    with shared_database.write() as connection:
        hosts.add_seeds(connection, [Seed(canonical_host(name)) for name in NAMES], "test", lambda _rank: 0)
        ids = hosts.ids_of(connection, NAMES)
        # The row that is stored last has the id that comes first: a scan of the table meets it last.
        first, *_, last = sorted(NAMES, key=ids.__getitem__)
        connection.execute(text("UPDATE domains SET source = 'moved' WHERE domain = :name"), {"name": first})

    def waits() -> bool:
        with shared_database.read() as connection:
            return bool(connection.execute(text("SELECT count(*) FROM pg_locks WHERE NOT granted")).scalar_one())

    def pause() -> int:
        with shared_database.write() as connection:
            return hosts.pause_for_workers(connection, [last, first], uuid4())

    with ThreadPoolExecutor(1) as thread:
        with shared_database.write() as connection:
            hosts.lock(connection, [ids[first]])
            paused = thread.submit(pause)
            wait_until(waits, 60, "the pause waits for the host")
            hosts.lock(connection, [ids[last]])
        assert paused.result(30) == 2


def test_a_url_that_another_process_names_while_its_host_is_released_is_visited_in_the_same_run(
    web: Web, place: Place
) -> None:
    """Another process queued it, found that the host was held, and left it to the process that holds it."""
    site = web.site({"/": page("/y"), "/y": page(), "/x": page()})
    place.comity("seeds", "add", site.url())
    left: set[str] = set()

    async def crawl(state: State) -> RunSummary:
        def leave(host: str) -> None:
            address = web_address(site.url("/x"))
            entry = FrontierEntry(address.url, address.key, 1, 0)
            queue_site_links(state.frontier, None, [SiteLink(host, entry, False)], datetime.now(UTC))
            left.add(host)

        async with state.fetcher() as fetcher:
            share = HostShare(None, lambda: left, leave, left.discard, report=lambda _line: None)
            return await state.crawl(fetcher, {site.host}, CrawlHooks(hosts=share)).run()

    with place.opened(site_hosts=[site.host]) as state:
        summary = asyncio.run(asyncio.wait_for(crawl(state), 60))
    assert (sorted(site.pages()), summary.pages) == (["/", "/x", "/y"], 3)
    assert place.host(site.host)["status"] == "exhausted"


@pytest.mark.parametrize(
    ("status", "holder", "woken"),
    [("active", None, True), ("active", "another", False), ("blocked", None, False)],
)
def test_a_released_host_that_waits_for_its_other_urls_is_leased_at_once_for_a_new_one(
    database: Database, status: str, holder: str | None, woken: bool
) -> None:
    with database.write() as connection:
        hosts.add_seeds(connection, [Seed(canonical_host(NAMES[0]))], "test", lambda _rank: 0)
        for step in WAY_TO[HostStatus(status)]:
            connection.execute(text("UPDATE domains SET status = :step"), {"step": str(step)})
        ids = hosts.ids_of(connection, NAMES[:1])
        now = datetime.now(UTC)
        lease = {"claimed_by": holder, "claim_expires_at": now} if holder is not None else {}
        connection.execute(update(domains).values(next_crawl_after=now, **lease))
        hosts.wake_released(connection, ids[NAMES[0]])
        row = connection.execute(text("SELECT status, next_crawl_after FROM domains")).one()
    assert (row.status, row.next_crawl_after is None) == (status, woken)
