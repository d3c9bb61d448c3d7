"""A store that hangs, and is not gone: it accepts connections and never answers (a suspended server does so)."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.servers.postgres import PostgresServer
from tests.servers.process import PrivateServer
from tests.servers.valkey import ValkeyServer
from tests.servers.waiting import wait_until
from tests.sizes import sized
from tests.walk.crawling import Place
from tests.walk.forking import Apart
from tests.walk.site import Site, Web
from tests.walk.sourcing import jobs, listing
from tests.walk.test_redis_crawl import ask, expected_of, kept_urls, sites_to_crawl, under_way

LEAVES_WITHIN_S = 30.0  # docs/deploying.md promises it
SLOW_BY_S = 15.0  # of a busy machine: a process is forced to leave after 29 s, and needs a core for that
COMMANDS = ["crawl", "work", "crawl --processes 2", "work --processes 2"]
# Each takes twenty seconds of waiting; at the short size each store still meets both commands, and one process and two.
WHILE_VALKEY_HANGS = sized(["crawl", "work --processes 2"], COMMANDS)
WHILE_POSTGRESQL_HANGS = sized(["work", "crawl --processes 2"], COMMANDS)


@contextmanager
def suspended(server: PrivateServer) -> Iterator[None]:
    """Stop every process of a server; it goes on afterwards."""
    pids = server.pids()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def stopped_in_time(process: Apart) -> int:
    """Send SIGTERM; gives the exit code, which must come in time."""
    asked = time.monotonic()
    process.send(signal.SIGTERM)
    code = process.wait(60)
    assert time.monotonic() - asked < LEAVES_WITHIN_S + SLOW_BY_S, process.err
    return code


def begin(place: Place, sites: list[Site], command: str) -> list[str]:
    urls = [site.url() for site in sites]
    if command.startswith("crawl"):
        return [*command.split(), *urls, "--delay", "0"]
    assert place.comity("seeds", "add", *urls).code == 0
    return [*command.split(), "--delay", "0"]


@pytest.mark.parametrize("command", WHILE_VALKEY_HANGS)
def test_sigterm_is_answered_while_valkey_hangs_and_nothing_is_lost(
    web: Web, shared: Place, valkey: ValkeyServer, command: str
) -> None:
    sites = sites_to_crawl(web, 90)
    with under_way(shared, sites, *begin(shared, sites, command), pages=20) as process:
        with suspended(valkey):
            assert stopped_in_time(process) in (0, 1, 130)
        assert ask(shared, "SELECT domain FROM domains WHERE claimed_by IS NOT NULL") == []
    before = sum(len(site.pages()) for site in sites)
    last = shared.comity_apart("crawl", *(site.url() for site in sites), "--delay", 0)
    assert last.code == 0, last.err
    assert kept_urls(shared) == expected_of(sites)
    for site in sites:
        pages = [path for path in site.pages() if path != "/p1"]  # another page moved there
        assert sorted(pages) == sorted(set(pages)), "no page was asked for again"
    assert before < sum(len(site.pages()) for site in sites)


def test_leases_are_renewed_while_valkey_hangs_and_no_page_is_asked_for_again(
    web: Web, shared: Place, valkey: ValkeyServer
) -> None:
    """It hangs for longer than a lease lasts."""
    shared.env |= {"COMITY_LEASE_MINUTES": "0.1", "COMITY_HEARTBEAT_MINUTES": "0.02", "COMITY_FETCH_TIMEOUT": "2"}
    sites = sites_to_crawl(web, 40)
    with under_way(shared, sites, *begin(shared, sites, "crawl"), pages=20) as process:
        with suspended(valkey):
            first = ask(shared, "SELECT domain, lease_token, claim_expires_at FROM domains WHERE is_seeded")
            ends = max(row[2] for row in first)
            renewed = f"SELECT count(*) FROM domains WHERE claim_expires_at > '{ends.isoformat()}'::timestamptz"
            wait_until(lambda: ask(shared, renewed + " + interval '4 s'") == [(3,)], 60, "renewed leases")
        assert process.wait(60) == 0, process.err
    tokens = ask(shared, "SELECT domain, lease_token FROM domains WHERE is_seeded")
    assert sorted(tokens) == sorted((row[0], row[1]) for row in first), "nobody took them anew"
    assert kept_urls(shared) == expected_of(sites)
    for site in sites:
        once = [path for path in site.routes if path != "/robots.txt"]
        assert sorted(site.pages()) == sorted([*once, "/p1"])


@pytest.fixture
def own_postgres(place: Place) -> Iterator[PostgresServer]:
    """A PostgreSQL that a test may suspend without harm to others."""
    with PostgresServer(fsync=False) as server:
        place.env |= {"COMITY_DATABASE_URL": server.create_database()}
        assert place.comity("db", "upgrade").code == 0
        yield server


@pytest.mark.parametrize("command", WHILE_POSTGRESQL_HANGS)
def test_sigterm_is_answered_while_postgresql_hangs_and_nothing_is_lost(
    web: Web, place: Place, own_postgres: PostgresServer, command: str
) -> None:
    sites = sites_to_crawl(web, 40)
    with under_way(place, sites, *begin(place, sites, command), pages=20) as process, suspended(own_postgres):
        assert stopped_in_time(process) in (0, 1, 130)
    last = place.comity_apart("crawl", *(site.url() for site in sites), "--delay", 0)
    assert last.code == 0, last.err
    assert kept_urls(place) == expected_of(sites)


def test_a_worker_notices_that_postgresql_hangs_and_goes_on_when_it_answers(
    web: Web, place: Place, own_postgres: PostgresServer
) -> None:
    sites = sites_to_crawl(web, 40)
    with under_way(place, sites, *begin(place, sites, "work --idle-exit"), pages=20) as process:
        with suspended(own_postgres):
            wait_until(lambda: "does not respond" in process.err, 60, "a word")
        assert process.wait(90) == 0, process.err
    assert kept_urls(place) == expected_of(sites)


def test_sigterm_is_answered_while_a_search_engine_hangs(web: Web, place: Place) -> None:
    """It takes connections, and never answers; what it was to hear waits in the outbox."""
    site = web.site({"/careers": listing(jobs(2))})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place.env |= {"COMITY_MEILI_URL": f"http://127.0.0.1:{silent.getsockname()[1]}", "COMITY_SOURCE_DELAY": "0"}
        assert place.comity("sources", "add", site.url("/careers")).code == 0
        with place.begun("sources", "serve") as process:
            wait_until(lambda: place.rows("SELECT count(*) AS n FROM search_outbox") == [{"n": 2}], 60, "postings")
            silent.settimeout(60)
            with silent.accept()[0]:
                assert stopped_in_time(process) in (0, 1)
    assert place.rows("SELECT count(*) AS n FROM search_outbox") == [{"n": 2}]
