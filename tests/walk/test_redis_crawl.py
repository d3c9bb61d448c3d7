"""The same crawls with the frontier in Valkey beside PostgreSQL: the same pages, whoever dies meanwhile."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import psycopg
import pytest
import redis

from tests.servers.postgres import PostgresServer, conninfo
from tests.servers.valkey import ValkeyServer
from tests.servers.waiting import wait_until
from tests.walk.conftest import empty
from tests.walk.crawling import Place, line_of
from tests.walk.forking import Apart
from tests.walk.pictures import png
from tests.walk.site import Answer, Asked, Site, Web, page, redirect, tree
from tests.walk.test_shared_state import remembered

ROBOTS = "User-agent: *\nCrawl-delay: 0.02\n"


def frontier_of(place: Place, site: Site) -> dict[str, int]:
    found: dict[str, int] = place.comity("domains", "info", site.host, "--json").json["frontier"]
    return found


def ask(place: Place, statement: str) -> list[Any]:
    with psycopg.connect(conninfo(place.env["COMITY_DATABASE_URL"])) as connection:
        return connection.execute(statement).fetchall()


def sites_to_crawl(web: Web, pages: int) -> list[Site]:
    made = []
    for _ in range(3):
        routes = tree(pages)
        leaf = list(routes)[-1]
        routes[leaf] = page("/moved", "/missing")
        routes["/moved"] = redirect("/p1")
        routes["/missing"] = Answer(404)
        made.append(web.site(routes, robots=ROBOTS))
    return made


def expected_of(sites: list[Site]) -> set[str]:
    return {site.url(path) for site in sites for path in site.routes if path != "/robots.txt"}


def kept_urls(place: Place) -> set[str]:
    return {row["url"] for row in place.parts()}


def test_the_same_pages_and_counters_as_with_the_embedded_state(
    web: Web, shared: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    embedded = Place(tmp_path_factory.mktemp("embedded"))
    links = [f"/more/{number}" for number in range(1200)]  # more than are at hand at once
    routes = tree(30) | {"/p3": page("/moved", "/missing", "/private/x", *links), "/moved": redirect("/p1")}
    site = web.site(
        routes,
        robots="User-agent: *\nDisallow: /private/\n",
        fallback=lambda asked: page(title=asked.path) if asked.path.startswith("/more/") else Answer(404),
    )
    here = embedded.crawl(site.url(), per_host=4, enable_per_domain_budget=False)
    first = len(site.log)
    there = shared.crawl(
        site.url(),
        per_host=4,
        enable_per_domain_budget=False,
        database_url=shared.env["COMITY_DATABASE_URL"],
        redis_url=shared.env["COMITY_REDIS_URL"],
    )
    assert (there.pages, there.errors, there.refused) == (here.pages, here.errors, here.refused)
    assert there.pages > 1200
    assert line_of(there, site.host).status == line_of(here, site.host).status == "exhausted"
    assert sorted(site.paths[:first]) == sorted(site.paths[first:])
    mine, theirs = (
        remembered(url, site.host) for url in (shared.env["COMITY_DATABASE_URL"], f"sqlite:///{embedded.state}")
    )
    assert mine.pop("urls") == []
    states = [state for _url, state, _depth in theirs.pop("urls")]
    assert mine == theirs
    assert frontier_of(shared, site) == {
        "queued": 0,
        "done": states.count(1),
        "dropped": states.count(2),
        "too_deep": 0,
    }
    assert set(shared.kept()) == set(embedded.kept())
    again = shared.comity("crawl", site.url(), "--json").json
    assert (again["summary"]["pages"], len(again["idle"])) == (0, 1)


def kill_somewhere(process: Apart, sites: list[Site], chance: random.Random) -> None:
    wanted = sum(len(site.log) for site in sites) + chance.randrange(2, 14)
    wait_until(lambda: sum(len(site.log) for site in sites) >= wanted or process.poll() is not None, 60, "requests")
    process.kill()


def test_a_crawl_that_is_killed_again_and_again_ends_with_every_page_once(web: Web, shared: Place) -> None:
    sites = sites_to_crawl(web, 25)
    command = ["crawl", *(site.url() for site in sites), "--delay", 0]
    chance = random.Random(20260207)
    for _ in range(6):
        with shared.begun(*command) as process:
            kill_somewhere(process, sites, chance)
    last = shared.comity_apart(*command)
    assert last.code == 0, last.err
    assert set(shared.kept()) == expected_of(sites)
    for site in sites:
        told = shared.comity("domains", "info", site.host, "--json").json
        counted = {name: told[name] for name in ("status", "pages_crawled", "pages_discovered")}
        assert counted == {"status": "exhausted", "pages_crawled": 26, "pages_discovered": 27}
        assert told["frontier"] == {"queued": 0, "done": 27, "dropped": 0, "too_deep": 0}
        assert site.overlaps() == 0
    assert shared.comity("verify-politeness").code == 0


@contextmanager
def under_way(place: Place, sites: list[Site], *command: object, pages: int) -> Iterator[Apart]:
    with place.begun(*command) as process:
        wait_until(lambda: sum(len(site.pages()) for site in sites) >= pages, 60, "some pages")
        yield process


@pytest.mark.parametrize("command", ["crawl", "work"])
def test_a_valkey_that_is_killed_and_comes_back_is_waited_for(
    web: Web, shared: Place, valkey: ValkeyServer, command: str
) -> None:
    sites = sites_to_crawl(web, 150)  # pages go on coming while it is away: some must be left
    urls = [site.url() for site in sites]
    if command == "work":
        assert shared.comity("seeds", "add", *urls).code == 0
    arguments = ["crawl", *urls] if command == "crawl" else ["work", "--idle-exit"]
    with under_way(shared, sites, *arguments, "--delay", 0, pages=20) as process:
        for _ in range(2):
            valkey.kill()
            seen = sum(len(site.pages()) for site in sites)
            time.sleep(0.6)  # longer than its client tries by itself
            valkey.start()
            wait_until(lambda seen=seen: sum(len(site.pages()) for site in sites) > seen + 6, 60, "more pages")
        assert process.wait(60) == 0, process.err
    assert set(shared.kept()) == expected_of(sites)
    for site in sites:
        once = [path for path in site.routes if path != "/robots.txt"]
        assert sorted(site.pages()) == sorted([*once, "/p1"]), "that is where another page moved"


def test_a_worker_says_what_it_waits_for_and_when_that_is_over(web: Web, shared: Place, valkey: ValkeyServer) -> None:
    site = web.site(tree(2))
    assert shared.comity("seeds", "add", site.url()).code == 0
    valkey.stop()
    with shared.begun("work", "--idle-exit", "--delay", 0) as process:
        wait_until(lambda: list(shared.folder.glob(".err-*")) and "frontier_lost" in process.err, 60, "a word")
        valkey.start()
        assert process.wait(60) == 0, process.err
    told = [json.loads(line) for line in process.err.splitlines()]
    waits = [line for line in told if line["event"].startswith("frontier")]
    assert [(line["event"], line["level"]) for line in waits] == [
        ("frontier_lost", "warning"),
        ("frontier_back", "info"),
    ]
    assert "Connection refused" in waits[0]["message"]
    assert [line["pages"] for line in told if line["event"] == "host_left"] == [2]


@pytest.mark.parametrize("named_by", ["a page", "a sitemap"])
def test_what_a_valkey_lost_is_found_again_and_nothing_is_missing(
    web: Web, shared: Place, valkey: ValkeyServer, named_by: str
) -> None:
    few = sites_to_crawl(web, 30)[0]
    # More than are at hand at once, so that some are known to Valkey alone.
    numbers = [f"/{number}" for number in range(1300)]
    lost = threading.Event()

    def numbered(asked: Asked) -> Answer:
        """The last few hundred wait until Valkey has lost them."""
        return Answer(body=page(title=asked.path), held=lost if len(many.log) > 900 else None)

    many = web.site(
        {"/": page("/list"), "/list": page("/last", *(numbers if named_by == "a page" else []))}, fallback=numbered
    )
    many.routes["/sitemap.xml"] = (
        Answer(body=sitemap(many, numbers), type="application/xml") if named_by == "a sitemap" else Answer(404)
    )
    shared.env |= {"COMITY_ENABLE_PER_DOMAIN_BUDGET": "false", "COMITY_SITEMAPS": "true"}
    with under_way(shared, [many], "crawl", few.url(), many.url(), "--delay", 0, "--per-host", 2, pages=60) as process:
        # The journal has let go of the links by now: nobody knows them but Valkey.
        settled = f"SELECT count(*) > 250 FROM fetches WHERE domain = '{many.host}'"
        wait_until(lambda: ask(shared, settled) == [(True,)], 60, "some that are settled")
        assert len(many.pages()) < 1100, "it is in the midst of it"
        empty(valkey)
        lost.set()
        assert process.wait(60) == 0, process.err
    assert kept_urls(shared) == expected_of([few]) | {many.url(path) for path in ("/", "/list", "/last", *numbers)}
    assert [frontier_of(shared, site)["queued"] for site in (few, many)] == [0, 0]


def sitemap(site: Site, paths: list[str]) -> str:
    entries = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in paths)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'


@pytest.mark.parametrize("command", ["crawl", "work"])
def test_processes_share_one_frontier(web: Web, shared: Place, command: str) -> None:
    sites = sites_to_crawl(web, 20)
    urls = [site.url() for site in sites]
    assert shared.comity("seeds", "add", *urls).code == 0
    arguments = ["crawl", *urls] if command == "crawl" else ["work", "--idle-exit"]
    told = shared.comity_apart(*arguments, "--delay", 0, "--processes", 2)
    assert told.code == 0, told.err
    assert set(shared.kept()) == expected_of(sites)
    assert [frontier_of(shared, site) for site in sites] == [{"queued": 0, "done": 22, "dropped": 0, "too_deep": 0}] * 3
    assert [site.overlaps() for site in sites] == [0, 0, 0]


def test_a_postgresql_that_is_killed_is_outlasted_by_a_worker(web: Web, place: Place, valkey: ValkeyServer) -> None:
    sites = sites_to_crawl(web, 40)
    with PostgresServer() as server:
        place.env |= {"COMITY_DATABASE_URL": server.create_database(), "COMITY_REDIS_URL": valkey.url()}
        assert place.comity("db", "upgrade").code == 0
        assert place.comity("seeds", "add", *(site.url() for site in sites)).code == 0
        with under_way(place, sites, "work", "--delay", 0, pages=20) as process:
            server.kill()
            server.start()
            wait_until(lambda: expected_of(sites) <= asked(sites), 60, "the rest")
            wait_until(lambda: [row[0] for row in statuses(place)] == ["exhausted"] * 3, 60, "the end")
            process.send(signal.SIGTERM)
            assert process.wait(60) == 0, process.err
        assert kept_urls(place) == expected_of(sites)
        assert [frontier_of(place, site)["queued"] for site in sites] == [0, 0, 0]


def asked(sites: list[Site]) -> set[str]:
    return {site.url(path) for site in sites for path in site.paths}


def statuses(place: Place) -> list[Any]:
    return ask(place, "SELECT status FROM domains WHERE is_seeded")


def test_a_crawl_that_is_stopped_while_valkey_is_away_ends_in_time_and_goes_on_later(
    web: Web, shared: Place, valkey: ValkeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("comity.walk.crawl.crawl._GRACE_S", 1.0)
    sites = sites_to_crawl(web, 40)
    urls = [site.url() for site in sites]

    def stop_us() -> None:
        wait_until(lambda: sum(len(site.pages()) for site in sites) >= 20, 60, "some pages")
        valkey.kill()
        os.kill(os.getpid(), signal.SIGTERM)

    thread = Thread(target=stop_us)
    thread.start()
    told = shared.comity("crawl", *urls, "--delay", 0)
    thread.join()
    assert told.code in (1, 130)
    assert told.code == 130 or "the frontier at redis://" in told.err
    valkey.start()
    assert ask(shared, "SELECT domain FROM domains WHERE claimed_by IS NOT NULL") == []
    assert shared.comity("crawl", *urls, "--delay", 0).code == 0
    assert kept_urls(shared) == expected_of(sites)


def lose_everything(place: Place, valkey: ValkeyServer) -> None:
    """Redis is empty, and the journal has let go of what was safe there."""
    with redis.Redis.from_url(valkey.url()) as client:
        client.flushall()
    with psycopg.connect(conninfo(place.env["COMITY_DATABASE_URL"])) as connection:
        connection.execute("DELETE FROM frontier_journal")


def test_images_that_wait_are_not_lost_with_redis(web: Web, shared: Place, valkey: ValkeyServer) -> None:
    names = [f"/{number}.png" for number in range(6)]
    pictures = {name: Answer(body=png(1, 1, name.encode()), type="image/png") for name in names}
    shown = page("/a", "/b", body="".join(f'<img src="{name}">' for name in names))
    site = web.site({"/": shown, "/a": page(), "/b": page(), **pictures})
    assert shared.comity("crawl", site.url(), "--images", "--max-pages", 2).code == 0
    lose_everything(shared, valkey)
    assert shared.comity("crawl", site.url(), "--images").code == 0
    assert sorted(path for path in site.pages() if path in names) == names
    lose_everything(shared, valkey)
    assert shared.comity("crawl", site.url(), "--images", "--refresh").code == 0
    assert sorted(path for path in site.pages() if path in names) == sorted(names * 2), "known, and asked about again"


def test_a_page_that_was_met_as_an_image_first_is_a_page_in_redis_too(web: Web, shared: Place) -> None:
    site = web.site({"/": page("/a", body='<img src="/both">'), "/a": page("/both"), "/both": page("/c"), "/c": page()})
    told = shared.comity("crawl", site.url(), "--images", "--json")
    assert told.json["summary"]["pages"] == 4
    assert told.json["summary"]["hosts"][0]["queued"] == 0
    assert told.json["summary"]["hosts"][0]["status"] == "exhausted"


def test_a_refresh_finds_again_what_it_had_found_when_redis_lost_it(
    web: Web, shared: Place, valkey: ValkeyServer
) -> None:
    """A page that was visited in this round has not changed since: asked with a condition, it would name no links."""
    site = web.site({"/": Answer(body=page("/a"), etag='"1"'), "/a": Answer(body=page(), etag='"2"')})
    assert shared.comity("crawl", site.url()).code == 0
    site.routes |= {"/": Answer(body=page("/a", "/new"), etag='"3"'), "/new": page()}
    assert shared.comity("crawl", site.url(), "--refresh", "--max-pages", 1).code == 0
    assert site.pages() == ["/", "/a", "/"]
    lose_everything(shared, valkey)
    assert shared.comity("crawl", site.url()).code == 0
    assert sorted(site.pages()[3:]) == ["/", "/a", "/new"]
    assert site.of("/a")[-1].headers["if-none-match"] == '"2"'
