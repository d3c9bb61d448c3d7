"""A run says truthfully how it ended: by a code and a sentence, in the summary, in the state and by its exit code."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from comity.assemble import State
from comity.walk.crawl.progress import RunSummary
from comity.walk.crawl.terms import CrawlHooks, HostShare
from tests.servers.ports import closed_port
from tests.sizes import sized
from tests.walk.crawling import QUEUED, Place, line_of, run_crawl
from tests.walk.site import Answer, Web, page, tree

FAR = Answer(429, headers={"Retry-After": "3600"})
BUSY = Answer(503, headers={"Retry-After": "3600"})


def last_run(place: Place) -> dict[str, Any]:
    return place.rows("SELECT * FROM crawl_runs ORDER BY started_at DESC LIMIT 1")[0]


@pytest.mark.parametrize("refusal", [FAR, BUSY])
@pytest.mark.parametrize("delay_s", [0.0, 0.5])
def test_a_long_block_gives_the_host_back_at_once(web: Web, place: Place, refusal: Answer, delay_s: float) -> None:
    """Also where the host has a delay, which is looked at before the block is."""
    site = web.site({"/": page("/a", "/b", "/c"), "/a": refusal}, fallback=page())
    summary = place.crawl(site.url(), delay_s=delay_s, within_s=60)
    line = line_of(summary, site.host)
    assert (summary.status, summary.code, line.code) == ("finished", "asked_to_wait", "asked_to_wait")
    assert "the host asked Comity to wait, until 2" in summary.reason
    assert (line.status, line.queued) == ("active", 3)
    row = place.host(site.host)
    assert (row["claimed_by"], row["frontier_size"]) == (None, 3)
    assert row["next_crawl_after"][:18] == row["blocked_until"][:18]
    assert last_run(place)["end_reason"] == "asked_to_wait"
    told = place.comity("crawl", site.url())
    assert "was not crawled: the host asked Comity to wait; due " in told.out
    assert told.code == 1, "no page came"
    assert last_run(place)["end_reason"] == "asked_to_wait"


def test_a_block_that_is_met_by_a_redirect_or_by_robots_gives_the_host_back(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a")}, robots=BUSY, fallback=page())
    summary = place.crawl(site.url(), within_s=60)
    assert (summary.pages, place.host(site.host)["claimed_by"]) == (0, None)
    assert summary.code in ("asked_to_wait", "robots_unreachable")


def test_a_blocked_host_leaves_its_place_to_others(web: Web, place: Place) -> None:
    """A worker that has room for one host serves the others while that one is blocked."""
    tired = web.site({"/": page("/a", "/b"), "/a": FAR}, fallback=page())
    others = [web.site(tree(4)) for _ in range(2)]
    place.comity("seeds", "add", tired.url(), *(site.url() for site in others))
    place.execute("UPDATE domains SET priority_score = 100000 WHERE domain = ?", tired.host)

    async def one_at_a_time(state: State) -> RunSummary:
        async with state.fetcher() as fetcher:
            share = HostShare(1, tuple, lambda _host: None, lambda _host: None, report=lambda _line: None)
            return await state.crawl(fetcher, None, CrawlHooks(hosts=share)).run()

    with place.opened(delay_s=0.2) as state:
        summary = asyncio.run(asyncio.wait_for(one_at_a_time(state), 60))
    assert [len(site.pages()) for site in others] == [4, 4]
    assert summary.endings == {"asked_to_wait": 1, "nothing_left": 2}


def test_a_worker_ends_when_only_blocked_hosts_are_left(web: Web, place: Place) -> None:
    tired, other = web.site({"/": page("/a"), "/a": FAR}), web.site(tree(3))
    place.comity("seeds", "add", tired.url(), other.url())
    told = place.comity("work", "--idle-exit", "--hosts", 1, "--delay", 0.3, "--json")
    assert told.code == 0
    assert len(other.pages()) == 3
    assert '"code": "asked_to_wait"' in told.out.replace('":"', '": "')


def test_hosts_that_end_differently_are_counted(web: Web, place: Place) -> None:
    large, tired, whole = web.site(tree(20)), web.site({"/": page("/a"), "/a": FAR}), web.site(tree(3))
    dead = f"http://127.0.0.1:{closed_port()}/"
    place.comity("seeds", "add", large.url(), tired.url(), whole.url(), dead)
    place.execute("UPDATE domains SET max_pages_per_run = 5 WHERE domain = ?", large.host)
    told = place.comity("crawl", large.url(), tired.url(), whole.url(), dead, "--json").json
    summary = told["summary"]
    assert summary["code"] == "host_page_limit"
    assert summary["endings"] == {
        "host_page_limit": 1,
        "asked_to_wait": 1,
        "connection_failure": 1,
        "nothing_left": 1,
    }
    assert summary["reason"].startswith("the limit of pages per host was reached (1 of 4 hosts); 1 host: ")
    assert {line["host"]: line["code"] for line in summary["hosts"]}[tired.host] == "asked_to_wait"
    run = last_run(place)
    assert (run["end_reason"], run["end_detail"]) == ("host_page_limit", summary["reason"])


KINDS = ["no name", "nobody listens", "refused", "robots", "private", "taken down", "missing"]
# What each process of a crawl reports is added up in one place, whatever it reports.
OF_TWO_PROCESSES = sized(["refused", "taken down"], KINDS)


@pytest.mark.parametrize(
    ("processes", "kind"), [*((1, kind) for kind in KINDS), *((2, kind) for kind in OF_TWO_PROCESSES)]
)
def test_a_command_that_brought_no_page_says_so_by_its_exit_code(
    web: Web, place: Place, kind: str, processes: int
) -> None:
    code, seeds = {
        "no name": ("dns_failure", ["nowhere.invalid", "nowhere-else.invalid"]),
        "nobody listens": ("connection_failure", [f"http://127.0.0.1:{closed_port()}/" for _ in range(2)]),
        "refused": ("forbidden", [web.site(fallback=Answer(403)).url() for _ in range(2)]),
        "robots": ("robots_denied", [web.site(tree(2), robots="User-agent: *\nDisallow: /\n").url() for _ in "ab"]),
        "private": ("address_refused", [web.site(tree(2)).url() for _ in range(2)]),
        "taken down": ("taken_down", [web.site(tree(2)).url() for _ in range(2)]),
        "missing": ("nothing_left", [web.site().url() for _ in range(2)]),
    }[kind]
    if kind == "private":
        place.env["COMITY_ALLOW_NETWORKS"] = "10.0.0.0/8"
    if kind == "taken down":
        place.comity("takedown", "add", *(seed.removeprefix("http://").rstrip("/") for seed in seeds))
    run = place.comity if processes == 1 else place.comity_apart
    told = run("crawl", *seeds, "--processes", processes, "--json")
    summary = told.json["summary"]
    assert (told.code, summary["pages"], summary["code"]) == (1, 0, code)
    assert last_run(place)["end_reason"] == code


def test_a_command_that_has_nothing_to_do_is_no_failure(web: Web, place: Place) -> None:
    site = web.site(tree(3))
    assert place.comity("crawl", site.url()).code == 0
    told = place.comity("crawl", site.url(), "--json")
    assert (told.code, told.json["summary"]["code"]) == (0, "already_done")
    assert "everything found there has been crawled" in told.json["summary"]["reason"]
    assert [host["code"] for host in told.json["idle"]] == ["already_done"]
    assert last_run(place)["end_reason"] == "already_done"


def test_a_host_that_another_holds_is_no_end_of_all_work(web: Web, place: Place) -> None:
    site = web.site(tree(3))
    place.comity("seeds", "add", site.url())
    place.execute(
        "UPDATE domains SET claimed_by = 'far:1:2:3', claim_expires_at = '2099-01-01 00:00:00.000000', lease_token = 1"
    )
    told = place.comity("crawl", site.url(), "--json")
    assert (told.code, told.json["summary"]["code"]) == (0, "held_elsewhere")
    assert last_run(place)["end_reason"] == "held_elsewhere"


def test_hosts_that_a_run_did_not_come_to_are_told(web: Web, place: Place) -> None:
    sites = [web.site(tree(5)) for _ in range(3)]
    with place.opened(max_pages=5) as state:
        place.comity("seeds", "add", *(site.url() for site in sites))

        async def one_at_a_time() -> RunSummary:
            async with state.fetcher() as fetcher:
                share = HostShare(1, tuple, lambda _host: None, lambda _host: None, report=lambda _line: None)
                return await state.crawl(fetcher, {site.host for site in sites}, CrawlHooks(hosts=share)).run()

        summary = asyncio.run(asyncio.wait_for(one_at_a_time(), 60))
    assert (summary.code, summary.pages) == ("page_limit", 5)
    assert [host.code for host in summary.idle] == ["not_taken"] * (3 - len(summary.hosts))


def test_errors_are_told_by_kind_with_their_first_urls(web: Web, place: Place) -> None:
    dead = [f"/dead{number}" for number in range(5)]
    routes = {"/": page(*dead, "/large", "/p")} | dict.fromkeys(dead, Answer(404)) | {"/large": "x" * 50_000}
    site = web.site(routes, fallback=page())
    place.env["COMITY_MAX_RESPONSE_BYTES"] = "20000"
    told = place.comity("crawl", site.url(), "--json").json["summary"]
    assert told["errors"] == sum(fault["count"] for fault in told["faults"]) == 6
    assert told["faults"] == [
        {"code": "http_404", "count": 5, "urls": [site.url(path) for path in dead[:3]]},
        {"code": "too_large", "count": 1, "urls": [site.url("/large")]},
    ]
    place.comity("domains", "reset", site.host)
    shown = place.comity("crawl", site.url()).out
    assert "ERROR" in shown
    assert site.url("/dead2") in shown
    assert site.url("/dead3") not in shown
    shown = place.comity("domains", "info", site.host)
    assert "http_404" in shown.out
    assert site.url("/dead0") in shown.out
    (first, second) = place.comity("domains", "info", site.host, "--json").json["errors"]
    assert (first["code"], first["count"], len(first["urls"])) == ("http_404", 10, 3)
    assert second["code"] == "too_large"
    shown = place.comity("status")
    assert site.url("/dead4") in shown.out or site.url("/dead0") in shown.out
    (first, _) = place.comity("status", "--json").json["errors"]
    assert (first["code"], first["count"], len(first["urls"])) == ("http_404", 10, 3)


@pytest.mark.parametrize("processes", [1, 2])
def test_verbose_prints_a_line_for_each_url(web: Web, place: Place, processes: int) -> None:
    site = web.site({"/": page("/a", "/dead", "/private")}, robots="User-agent: *\nDisallow: /private\n")
    other = web.site(tree(3))
    seeds = [site.url(), site.url("/private"), other.url()]
    told = place.comity_apart("crawl", *seeds, "-v", "--json", "--processes", processes)
    lines = [line.split() for line in told.err.splitlines() if "http://" in line]
    found = {next(word for word in words if word.startswith("http://")): words for words in lines}
    assert set(found) == {*(site.url(path) for path in ("/", "/a", "/dead", "/private")), *map(other.url, tree(3))}
    assert found[site.url()][0] == "200"
    assert found[site.url()][2:5:2] == ["B", "ms"] or "B" in found[site.url()]
    assert found[site.url("/dead")][0] == "404"
    assert "robots_denied:" in found[site.url("/private")]
    assert told.json["summary"]["pages"] == 4


def test_a_run_that_is_cut_off_by_time_says_so_of_each_host(web: Web, place: Place) -> None:
    sites = [web.site(tree(20), robots="User-agent: *\nCrawl-delay: 20\n") for _ in range(2)]
    with place.opened(max_minutes=1 / 60) as state:
        place.comity("seeds", "add", *(site.url() for site in sites))
        summary = asyncio.run(asyncio.wait_for(run_crawl(state, {site.host for site in sites}), 60))
    assert summary.endings == {"time_limit": 2}
    assert all(place.frontier(site.host)[site.url()] == QUEUED for site in sites)
    assert summary.brought_nothing


def test_a_host_that_is_set_to_pending_by_hand_is_crawled(web: Web, place: Place) -> None:
    """Direct SQL is enough, whatever the host waited for."""
    site = web.site(tree(3))
    place.crawl(site.url())
    assert place.host(site.host)["next_crawl_after"] is not None
    place.execute("UPDATE domains SET status = 'pending' WHERE domain = ?", site.host)
    assert place.host(site.host)["next_crawl_after"] is None
    told = place.comity("crawl", site.url(), "--json").json
    assert (told["summary"]["pages"], told["summary"]["code"], told["idle"]) == (3, "nothing_left", [])
    place.execute("UPDATE domains SET status = 'pending' WHERE domain = ?", site.host)
    assert place.comity("work", "--idle-exit").code == 0
    assert len(site.pages()) == 9


def test_pages_and_images_are_counted_once_however_often_they_are_asked_for(web: Web, place: Place) -> None:
    body = '<img src="/one.png"><img src="/two.png">'
    png = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000400000004008060000")
    routes: dict[str, Any] = {"/": page("/a", body=body), "/a": Answer(body=page(body=body), etag='"1"')}
    routes |= {name: Answer(body=png + name.encode(), type="image/png") for name in ("/one.png", "/two.png")}
    site = web.site(routes)
    place.comity("crawl", site.url(), "--images")
    before = place.host(site.host)
    assert (before["pages_crawled"], before["images_found"], before["images_stored"]) == (2, 4, 2)
    for _ in range(2):
        assert place.comity("crawl", site.url(), "--images", "--refresh").code == 0
    after = place.host(site.host)
    for name in ("pages_crawled", "pages_discovered", "images_found", "images_stored", "image_yield_rate"):
        assert after[name] == before[name], name
    assert "2/2" in place.comity("domains", "list").out
    kinds = place.rows("SELECT discovery_type, count(*) AS rows FROM provenance GROUP BY 1 ORDER BY 1")
    assert kinds == [{"discovery_type": "discovery", "rows": 4}, {"discovery_type": "refresh", "rows": 4}]
    place.comity("domains", "reset", site.host)
    place.comity("crawl", site.url(), "--images")
    again = place.host(site.host)
    assert (again["pages_crawled"], again["images_found"]) == (2, 4)
    routes["/a"] = page(body=body + '<img src="/two.png?2">')
    site.routes |= routes
    place.comity("crawl", site.url(), "--images", "--refresh")
    assert place.host(site.host)["images_found"] == 5
    first = {row["discovery_type"] for row in place.fetches(site.host)[:2]}
    assert first == {"discovery"}
    fetched = place.rows("SELECT count(*) AS n FROM fetches WHERE discovery_type = 'discovery'")
    assert fetched[0]["n"] == again["pages_crawled"], "the increments match the rows"


@pytest.mark.parametrize("processes", [1, 2])
def test_a_worker_that_got_no_page_says_so_by_its_exit_code(web: Web, place: Place, processes: int) -> None:
    work = ("work", "--idle-exit", "--processes", processes, "--json")
    assert place.comity_apart(*work).code == 0, "there was nothing to do"
    dead = [f"http://127.0.0.1:{closed_port()}/" for _ in range(2)]
    place.comity("seeds", "add", *dead)
    assert place.comity_apart(*work).code == 1
    site = web.site(tree(3))
    place.comity("seeds", "add", site.url(), f"http://127.0.0.1:{closed_port()}/")
    assert place.comity_apart(*work).code == 0
    assert len(site.pages()) == 3


def test_what_waits_is_told_with_when_it_goes_on(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a", "/b"), "/a": FAR}, fallback=page())
    out = place.comity("crawl", site.url()).out
    assert "Run the same command to continue once they are due." in out
    assert "the host asked Comity to wait" in place.comity("status").out
    run = place.comity("status", "--json").json["runs"][0]
    assert (run["reason"], run["detail"][:29]) == ("asked_to_wait", "the host asked Comity to wait")
