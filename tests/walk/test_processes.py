"""`comity crawl --processes N`: several processes, one run. The sites' own logs are the judges."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from tests.servers.waiting import wait_until
from tests.walk.crawling import LONG_REQUESTS, QUEUED, Place
from tests.walk.forking import Apart, children_of
from tests.walk.site import LOG_IS_EXACT_TO_S, Answer, Asked, Site, Web, page, tree

pytestmark = pytest.mark.usefixtures("forked_children")

DELAY_S = 0.1
ROBOTS = f"User-agent: *\nCrawl-delay: {DELAY_S}\n"


def seeds(sites: Iterable[Site]) -> list[str]:
    return [site.url() for site in sites]


def holders(place: Place) -> dict[int, int]:
    """The processes that hold leases, with how many each."""
    found = place.rows("SELECT claimed_by FROM domains WHERE claimed_by IS NOT NULL")
    return Counter(int(row["claimed_by"].split(":")[1]) for row in found)


def wait_for_holders(place: Place, number: int) -> list[int]:
    """The processes at work, once there are so many."""

    def are_there() -> bool:
        return place.state.exists() and len(holders(place)) >= number

    wait_until(lambda: _quietly(are_there), 60, f"{number} processes at work")
    return list(holders(place))


def _quietly(question: Any) -> bool:
    try:
        return bool(question())
    except Exception:  # the tables are not there yet
        return False


def is_gone(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # gone before it was opened, or while it was read
        return True


def listed(place: Place) -> list[str]:
    """What `comity pages` knows, by URL."""
    told = place.comity("pages", "query", "SELECT url FROM pages ORDER BY url", "--json")
    assert told.code == 0, told.err
    return [row["url"] for row in told.json["rows"]]


def waiting_sites(web: Web, count: int) -> dict[Site, threading.Event]:
    """Sites of 30 pages; the sixth comes when the event is set: until then, no crawl of them ends."""
    made = {}
    for _ in range(count):
        go_on, routes = threading.Event(), tree(30)
        routes["/p5"] = Answer(body=str(routes["/p5"]), held=go_on)
        made[web.site(routes, robots=ROBOTS)] = go_on
    return made


def wait_for_the_sixth_page(place: Place, sites: Iterable[Site]) -> None:
    """Until it is what every site is asked for, and all that came before is settled."""
    wait_until(lambda: all("/p5" in site.paths for site in sites), 60, "the sixth page of every host")
    wait_until(lambda: all(len(place.fetches(site.host)) == 5 for site in sites), 60, "what came before")


def assert_polite(site: Site) -> None:
    """No gap is shorter than the delay, from the moment at which robots.txt has said so."""
    assert min(site.gaps()[1:]) >= DELAY_S - LOG_IS_EXACT_TO_S


def assert_all_is_given_back(place: Place) -> None:
    assert place.comity("domains", "claims", "--json").json["holders"] == []
    assert place.comity("verify-politeness").code == 0


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_three_processes_crawl_six_hosts_each_page_once(
    web: Web, place: Place, request: pytest.FixtureRequest, kind: str
) -> None:
    if kind == "postgresql":
        place.env["COMITY_DATABASE_URL"] = request.getfixturevalue("migrated_postgres_url")
    sites = [web.site(tree(15), robots=ROBOTS) for _ in range(6)]
    told = place.comity("crawl", *seeds(sites), "--processes", 3, "--per-host", 2, "--json")
    assert (told.code, told.err) == (0, ""), told
    summary = told.json["summary"]
    assert (summary["status"], summary["code"]) == ("finished", "nothing_left")
    assert (summary["pages"], summary["errors"], summary["warnings"]) == (90, 0, [])
    assert sorted(line["host"] for line in summary["hosts"]) == sorted(site.host for site in sites)
    assert {(line["status"], line["pages"], line["queued"]) for line in summary["hosts"]} == {("exhausted", 15, 0)}
    assert told.json["idle"] == []
    for site in sites:
        assert sorted(site.pages()) == sorted(tree(15))
        assert site.paths.count("/robots.txt") == 1
        assert_polite(site)
    assert set(place.kept()) == {site.url(path) for site in sites for path in tree(15)}
    assert_all_is_given_back(place)
    if kind == "sqlite":
        (run,) = place.rows("SELECT * FROM crawl_runs")
        assert (run["status"], run["end_reason"]) == ("finished", "nothing_left")
        assert (run["pages_crawled"], run["pages_failed"]) == (90, 0)
        assert len({row["run_id"] for row in place.rows("SELECT run_id FROM fetches")}) == 1
        processes = {path.name.split("-")[-4] for path in place.pages.glob("part-*.parquet")}
        assert len(processes) == 3, "each wrote pages of its own"


@pytest.mark.parametrize("limit", [1, 25, 70])
def test_the_pages_of_a_run_are_exact_over_all_processes(web: Web, place: Place, limit: int) -> None:
    sites = [web.site(tree(20)) for _ in range(4)]
    told = place.comity("crawl", *seeds(sites), "--processes", 3, "--max-pages", limit, "--per-host", 3, "--json")
    assert told.code == 0, told.err
    summary = told.json["summary"]
    assert (summary["status"], summary["code"], summary["pages"]) == ("finished", "page_limit", limit)
    assert sum(len(site.pages()) for site in sites) == limit
    assert len(place.kept()) == limit
    assert summary["warnings"] == [], "a limit that is reached was not only near"
    left = [site for site in sites if QUEUED in place.frontier(site.host).values()]
    taken = {line["host"]: line for line in summary["hosts"]}
    for site in left:
        assert site.host not in taken or f"{limit} page{'s' * (limit > 1)} per run" in taken[site.host]["reason"]
    assert_all_is_given_back(place)
    assert place.comity("crawl", *seeds(sites)).code == 0
    for site in sites:
        assert sorted(site.pages()) == sorted(tree(20)), "each page once over both runs"


def test_pages_that_did_not_come_are_not_counted_over_all_processes(web: Web, place: Place) -> None:
    dead = [f"/dead{number}" for number in range(6)]
    routes = {"/": page(*dead, *(f"/p{number}" for number in range(30)))} | dict.fromkeys(dead, Answer(404))
    sites = [web.site(routes, fallback=page()) for _ in range(4)]
    told = place.comity("crawl", *seeds(sites), "--processes", 2, "--max-pages", 40, "--per-host", 2, "--json")
    summary = told.json["summary"]
    failed = sum(path in dead for site in sites for path in site.pages())
    assert (summary["code"], summary["pages"], summary["errors"]) == ("page_limit", 40, failed)
    assert failed >= 6
    assert sum(len(site.pages()) for site in sites) == 40 + failed
    assert summary["faults"][0]["count"] == failed
    assert len(place.kept()) == 40 + failed, "what did not come is noted with its error"


def test_pages_that_a_killed_process_had_taken_come_all_the_same(web: Web, place: Place) -> None:
    sites = waiting_sites(web, 4)
    with place.begun("crawl", *seeds(sites), "--processes", 2, "--max-pages", 100, "--json") as crawl:
        first = wait_for_holders(place, 2)
        wait_for_the_sixth_page(place, sites)
        os.kill(first[0], signal.SIGKILL)
        for go_on in sites.values():
            go_on.set()
        assert crawl.wait(60) == 0, crawl.err
        summary = json.loads(crawl.out)["summary"]
    assert (summary["code"], summary["pages"]) == ("page_limit", 100)
    assert len(place.kept()) == 100


def test_processes_that_only_wait_end_with_the_budget_too(web: Web, place: Place) -> None:
    """Two processes: one spends all pages, the other has a host that asks for a long pause."""
    slow = web.site(tree(9), robots="User-agent: *\nCrawl-delay: 400\n")
    quick = web.site(tree(30))
    told = place.comity_apart("crawl", slow.url(), quick.url(), "--processes", 2, "--max-pages", 20, "--json")
    assert told.json["summary"]["code"] == "page_limit"
    assert {line["reason"] for line in told.json["summary"]["hosts"]} == {
        "Stopped: the limit of 20 pages per run was reached."
    }


def test_the_minutes_of_a_run_end_all_processes(web: Web, place: Place) -> None:
    sites = [web.site(tree(9), robots="User-agent: *\nCrawl-delay: 300\n") for _ in range(2)]
    told = place.comity_apart("crawl", *seeds(sites), "--processes", 2, "--max-minutes", 0.15, "--json")
    summary = told.json["summary"]
    assert (told.code, summary["status"], summary["code"]) == (1, "finished", "time_limit")
    assert (summary["pages"], summary["warnings"]) == (0, [])
    assert 8.9 < summary["seconds"] < 60.0, "far less than the delay"
    assert ["minutes per run" in line["reason"] for line in summary["hosts"]] == [True, True]


def test_the_limit_of_a_host_holds_whoever_comes_by(web: Web, place: Place) -> None:
    """A host whose part is spent could be claimed once more: no process does, however many look for work."""
    sites = [web.site(tree(30)) for _ in range(6)]
    place.comity("seeds", "add", *seeds(sites))
    place.execute("UPDATE domains SET max_pages_per_run = 10")
    told = place.comity("crawl", *seeds(sites), "--processes", 3, "--json")
    assert [len(site.pages()) for site in sites] == [10] * 6
    summary = told.json["summary"]
    assert (summary["pages"], summary["code"], summary["warnings"]) == (60, "host_page_limit", [])
    assert summary["endings"] == {"host_page_limit": 6}


def test_without_claims_each_process_has_hosts_of_its_own(web: Web, place: Place) -> None:
    place.env["COMITY_ENABLE_CLAIM_PROTOCOL"] = "false"
    sites = [web.site(tree(6)) for _ in range(5)]
    assert place.comity("crawl", *seeds(sites), "--processes", 2, "--json").json["summary"]["pages"] == 30
    assert all(sorted(site.pages()) == sorted(tree(6)) for site in sites)


def test_one_file_holds_the_pages_of_all_processes(web: Web, place: Place) -> None:
    sites = [web.site(tree(8)) for _ in range(4)]
    into = place.folder / "all.jsonl"
    assert place.comity("crawl", *seeds(sites), "--processes", 3, "--into", into).code == 0
    assert len(into.read_text().splitlines()) == 32
    assert not list(place.folder.glob("*.parts")), "nothing waits beside it"


def test_a_process_that_is_killed_is_replaced_and_nothing_is_lost(web: Web, place: Place) -> None:
    sites = waiting_sites(web, 6)
    with place.begun("crawl", *seeds(sites), "--processes", 3, "--json") as crawl:
        first = wait_for_holders(place, 3)
        wait_for_the_sixth_page(place, sites)
        of_the_first = f"SELECT domain FROM domains WHERE claimed_by LIKE '%:{first[0]}:%'"
        held = {row["domain"] for row in place.rows(of_the_first)}
        before = children_of(crawl.pid)
        os.kill(first[0], signal.SIGKILL)
        for site, go_on in sites.items():
            if site.host in held:  # nobody waits for this answer any more
                go_on.set()
        # Not "holds a host": on a slow machine the other processes may have taken over both hosts by then.
        wait_until(lambda: bool(set(children_of(crawl.pid)) - set(before)), 60, "another in its place")
        for go_on in sites.values():
            go_on.set()
        assert crawl.wait(60) == 0, crawl.err
        summary = json.loads(crawl.out)["summary"]
    (warning,) = summary["warnings"]
    assert warning == (
        "A process of this crawl was killed by SIGKILL; another process took over its hosts, and nothing is lost."
    )
    assert (summary["status"], summary["pages"]) == ("finished", 180)
    assert {(line["status"], line["pages"]) for line in summary["hosts"]} == {("exhausted", 30)}
    everything = sorted(site.url(path) for site in sites for path in tree(30))
    assert sorted(place.kept()) == everything
    assert listed(place) == everything
    again = Counter(path for site in sites for path, count in Counter(site.pages()).items() if count > 1)
    assert again.total() <= 2, "at most what was in flight at its two hosts"
    for site in sites:
        assert_polite(site)
        assert site.overlaps() == 0
    assert_all_is_given_back(place)


def test_processes_that_die_again_and_again_end_the_run(web: Web, place: Place) -> None:
    sites = [web.site(tree(400), robots="User-agent: *\nCrawl-delay: 0.05\n") for _ in range(2)]
    killed: set[int] = set()
    with place.begun("crawl", *seeds(sites), "--processes", 2) as crawl:
        wait_for_holders(place, 2)
        while len(killed) < 6:
            wait_until(lambda: bool(set(holders(place)) - killed), 60, "another victim")
            victim = (set(holders(place)) - killed).pop()
            os.kill(victim, signal.SIGKILL)
            killed.add(victim)
        assert crawl.wait(60) == 1
        assert "the crawl was stopped" in crawl.out
        assert "Ended: its processes crashed repeatedly." in crawl.out
    (run,) = place.rows("SELECT * FROM crawl_runs")
    assert (run["status"], run["end_reason"]) == ("failed", "processes_died")
    assert len(place.kept()) == run["pages_crawled"]
    assert_all_is_given_back(place)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_all_processes_cleanly(web: Web, place: Place, number: signal.Signals) -> None:
    sites = [web.site(tree(40)) for _ in range(4)]
    command = ["crawl", *seeds(sites), "--processes", 2, "--delay"]
    with place.begun(*command, 0.4) as crawl:  # sixteen seconds, of which the signal comes in the first
        children = wait_for_holders(place, 2)
        wait_until(lambda: all(len(site.pages()) > 2 for site in sites), 60, "some pages")
        crawl.send(number)
        assert crawl.wait(60) == 130
        assert crawl.err.count("Ctrl-C again to exit at once") == 1
        assert "stopped by the operator" in crawl.out
        assert all(is_gone(child) for child in children)
    assert [row["claimed_by"] for row in place.rows("SELECT claimed_by FROM domains")] == [None] * 4
    (run,) = place.rows("SELECT * FROM crawl_runs")
    assert (run["status"], run["end_reason"]) == ("stopped", "stopped")
    assert len(place.kept()) == run["pages_crawled"] == sum(len(site.pages()) for site in sites)
    assert place.comity_apart(*command, 0).code == 0
    for site in sites:
        assert sorted(site.pages()) == sorted(tree(40)), "each page once over both runs"


def test_a_signal_that_reaches_everybody_counts_once(web: Web, place: Place) -> None:
    """A service manager signals the whole group: for the processes that is no second Ctrl-C."""
    heard = threading.Event()
    sites = [web.site({"/": page("/slow"), "/slow": Answer(body=page(), held=heard)}) for _ in range(2)]
    with place.begun("crawl", *seeds(sites), "--processes", 2) as crawl:
        children = wait_for_holders(place, 2)
        wait_until(lambda: all("/slow" in site.paths for site in sites), 60, "the slow pages")
        for pid in (*children, crawl.pid):
            os.kill(pid, signal.SIGTERM)
        wait_until(lambda: "again to exit" in crawl.err, 60, "the signal to be heard")
        heard.set()
        assert crawl.wait(60) == 130
    assert set(place.kept()) == {site.url(path) for site in sites for path in ("/", "/slow")}, "in flight and finished"


def slow_once(asked: Asked) -> Answer:
    return Answer(body=page(title="slow"), after_s=300.0 if asked.count == 1 else 0.0)


def begin_two_slow_pages(web: Web) -> list[Site]:
    return [web.site({"/": page("/a", "/slow", "/b"), "/slow": slow_once}, fallback=page()) for _ in range(2)]


def test_two_signals_end_all_processes_at_once(web: Web, place: Place) -> None:
    place.env |= LONG_REQUESTS
    sites = begin_two_slow_pages(web)
    command = ["crawl", *seeds(sites), "--processes", 2]
    with place.begun(*command) as crawl:
        children = wait_for_holders(place, 2)
        wait_until(lambda: all("/slow" in site.paths for site in sites), 60, "the slow pages")
        wait_until(lambda: all(len(place.fetches(site.host)) == 2 for site in sites), 60, "what came before")
        crawl.send(signal.SIGINT)
        wait_until(lambda: "again to exit" in crawl.err, 60, "the first to be heard")
        crawl.send(signal.SIGINT)
        assert crawl.wait(60) == 130, "far less than the pages take"
        assert "exiting at once" in crawl.err
        assert all(is_gone(child) for child in children)
    assert place.comity_apart(*command).code == 0
    for site in sites:
        assert {path: len(site.of(path)) for path in ("/", "/a", "/b", "/slow")} == {
            "/": 1,
            "/a": 1,
            "/b": 1,
            "/slow": 2,
        }
    assert set(place.kept()) == {site.url(path) for site in sites for path in ("/", "/a", "/b", "/slow")}


def test_when_whoever_began_the_run_is_killed_its_processes_end_by_themselves(web: Web, place: Place) -> None:
    sites = [web.site(tree(35), robots=ROBOTS) for _ in range(4)]
    command = ["crawl", *seeds(sites), "--processes", 2]
    with place.begun(*command) as crawl:
        children = wait_for_holders(place, 2)
        wait_until(lambda: all(len(site.pages()) > 4 for site in sites), 60, "some pages")
        crawl.kill()
        wait_until(lambda: all(is_gone(child) for child in children), 60, "the processes to end")
    assert [row["claimed_by"] for row in place.rows("SELECT claimed_by FROM domains")] == [None] * 4
    assert len(place.kept()) == sum(len(site.pages()) for site in sites), "they finished what was in flight"
    assert place.comity_apart(*command).code == 0
    for site in sites:
        assert sorted(site.pages()) == sorted(tree(35))
        assert_polite(site)


def test_what_ends_one_process_is_told_as_if_it_were_alone(web: Web, place: Place) -> None:
    links = [f"/{number}" for number in range(40)]
    full = web.site({"/": page(*links)}, fallback=lambda _asked: page(body=os.urandom(60_000).hex()))
    small = web.site(tree(400), robots=ROBOTS)
    command = ["crawl", full.url(), small.url(), "--processes", 2]
    told = place.comity_apart(*command, "--json", largest_file=2_000_000)
    assert (told.code, told.out) == (1, "")
    assert json.loads(told.err) == {"error": "system_error", "message": f"{place.pages}: File too large"}
    (run,) = place.rows("SELECT * FROM crawl_runs")
    assert (run["status"], run["end_reason"]) == ("failed", "failed")
    assert run["end_detail"] == f"{place.pages}: File too large"
    assert holders(place) == {}, "the other was ended, too"
    assert len(small.pages()) < 400


def stopped(crawl: Apart) -> bool:
    with open(f"/proc/{crawl.pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


def test_a_crawl_that_is_suspended_asks_nobody_anything(web: Web, place: Place) -> None:
    sites = [web.site(tree(40), robots="User-agent: *\nCrawl-delay: 0.05\n") for _ in range(2)]
    with place.begun("crawl", *seeds(sites), "--processes", 2) as crawl:
        wait_for_holders(place, 2)
        wait_until(lambda: all(len(site.pages()) > 4 for site in sites), 60, "some pages")
        crawl.send(signal.SIGTSTP)
        wait_until(lambda: stopped(crawl), 60, "the suspension")
        time.sleep(0.3)
        before = [len(site.log) for site in sites]
        time.sleep(0.5)
        assert [len(site.log) for site in sites] == before
        crawl.send(signal.SIGCONT)
        assert crawl.wait(60) == 0
    assert all(sorted(site.pages()) == sorted(tree(40)) for site in sites)
