"""Redirects: each hop is asked about like a first request, wherever it leads."""

from __future__ import annotations

import signal
import threading
import time
from datetime import datetime, timedelta

import pytest

from comity.assemble import State
from comity.leases.leases import Leases
from comity.walk.crawl.crawl import Crawl
from tests.servers.waiting import wait_until
from tests.walk.crawling import QUEUED, Place, line_of, until
from tests.walk.site import LOG_IS_EXACT_TO_S, Answer, Web, page, redirect, tree


def test_a_loop_ends_after_five_redirects(web: Web, place: Place) -> None:
    site = web.site({"/": page("/loop", "/a"), "/loop": redirect("/loop"), "/a": page()})
    summary = place.crawl(site.url())
    assert len(site.of("/loop")) == 6
    assert (summary.pages, summary.errors) == (2, 1)
    assert line_of(summary, site.host).status == "exhausted"
    assert "/a" in site.paths
    assert place.kept()[site.url("/loop")]["error"] == "too_many_redirects: more than 5 redirects"
    assert "too_many_redirects" in place.comity("why", site.url("/loop")).out


def test_a_chain_within_the_limit_is_followed_and_one_beyond_is_not(web: Web, place: Place) -> None:
    routes = {f"/hop{number}": redirect(f"/hop{number + 1}", 301 + number % 2) for number in range(9)}
    site = web.site({"/": page("/hop4", "/hop2"), "/hop9": page()} | routes)
    place.crawl(site.url(), follow_links=True)
    kept = place.kept()
    assert (kept[site.url("/hop4")]["final_url"], kept[site.url("/hop4")]["redirect_count"]) == (site.url("/hop9"), 5)
    assert kept[site.url("/hop2")]["body"] is None


def test_a_location_in_utf_8_is_followed_as_its_octets_say(web: Web, place: Place) -> None:
    raw = "/grün?q=ü".encode().decode("latin-1")  # as servers write it, and as a header is read
    site = web.site({"/": page("/old"), "/old": redirect(raw), "/gr%C3%BCn?q=%C3%BC": page()})
    assert place.crawl(site.url()).pages == 2
    assert place.kept()[site.url("/old")]["final_url"] == site.url("/gr%C3%BCn?q=%C3%BC")


def test_another_host_is_asked_under_its_own_lease_and_robots(web: Web, place: Place) -> None:
    other = web.site(
        {"/ok": page("/more", "/secret"), "/more": page(), "/secret": page()},
        robots="User-agent: *\nDisallow: /secret\n",
    )
    site = web.site(
        {"/": page("/out", "/out2"), "/out": redirect(other.url("/ok")), "/out2": redirect(other.url("/secret"))}
    )
    summary = place.crawl(site.url())
    assert other.paths == ["/robots.txt", "/ok"], "its robots.txt first, nothing forbidden, and no crawl of its own"
    kept = place.kept()
    assert kept[site.url("/out")]["final_url"] == other.url("/ok")
    assert kept[site.url("/out2")]["body"] is None
    assert kept[site.url("/out2")]["error"].startswith("robots_denied")
    assert place.evidence(other.url("/secret"))[0]["type"] == "blocked_by_robots"
    row = place.host(other.host)
    assert (row["is_seeded"], row["status"], row["source"], row["claimed_by"]) == (0, "pending", "redirect", None)
    assert row["lease_token"] >= 1
    assert row["last_start_at"] is not None, "the gate remembers for the next holder"
    assert line_of(summary, site.host).status == "exhausted"
    ledger = place.rows(
        "SELECT url FROM politeness_ledger JOIN domains ON domains.id = domain_id WHERE domain = ?", other.host
    )
    assert sorted(row["url"] for row in ledger) == sorted(other.url(path) for path in other.paths)
    assert place.crawl(other.url("/ok")).pages == 2, "once it is seeded it is crawled like any other"


def test_a_site_that_moved_to_another_host_is_told(web: Web, place: Place) -> None:
    new = web.site({"/": page("/a"), "/a": page()})
    old, busy = web.site({"/": redirect(new.url())}), web.site({"/": page("/a"), "/a": redirect(new.url("/a"))})
    assert place.crawl(old.url(), busy.url()).warnings == (
        f"{old.host} redirects to another host; comity crawl {new.url()} crawls that one.",
    )


@pytest.mark.roomy
def test_the_pace_of_another_host_is_kept_by_all_who_are_sent_there(web: Web, place: Place) -> None:
    other = web.site(fallback=page(), robots="User-agent: *\nCrawl-delay: 0.3\n")
    sites = [
        web.site(
            {"/": page(*(f"/{number}" for number in range(3)))}, fallback=lambda asked: redirect(other.url(asked.path))
        )
        for _ in range(2)
    ]
    place.crawl(*(site.url() for site in sites))
    assert len(other.pages()) == 6
    assert min(other.gaps()[1:]) >= 0.3 - LOG_IS_EXACT_TO_S
    assert other.overlaps() == 0


def test_a_slow_host_is_not_given_back_while_somebody_waits_for_it(web: Web, place: Place) -> None:
    """Its delay is longer than the time after which an idle guest is given back."""
    other = web.site(fallback=page(), robots="User-agent: *\nCrawl-delay: 6\n")
    site = web.site({"/": redirect(other.url("/far"))})
    place.crawl(site.url(), within_s=60)
    assert len(site.of("/")) == 1, "the first hop is asked for once"
    assert place.kept()[site.url()]["final_url"] == other.url("/far")


@pytest.mark.roomy
def test_a_host_that_both_redirects_and_is_crawled_has_one_gate(web: Web, place: Place) -> None:
    first = web.site({"/": page("/a"), "/a": page()}, robots="User-agent: *\nCrawl-delay: 0.15\n")
    second = web.site(
        {"/": page(*(f"/to{number}" for number in range(4)))}
        | {f"/to{number}": redirect(first.url("/a")) for number in range(4)}
    )
    place.crawl(first.url(), second.url())
    assert min(first.gaps()[1:]) >= 0.15 - LOG_IS_EXACT_TO_S
    assert first.overlaps() == 0
    told = place.comity("verify-politeness")
    assert (told.code, "no violation" in told.out) == (0, True)


def test_a_private_address_behind_a_redirect_is_refused_with_evidence(web: Web, place: Place) -> None:
    secret = web.site({"/": page()}, address="127.0.0.2")
    site = web.site({"/": page("/out", "/a"), "/out": redirect(secret.url("/admin")), "/a": page()})
    summary = place.crawl(site.url(), allow_networks=("127.0.0.1/32",))
    assert [row["page_url"] for row in place.fetches(site.host)].count(site.url("/out")) == 1, "no use in trying again"
    assert secret.log == []
    (found,) = [row for row in place.evidence(secret.url("/admin")) if row["type"] == "address_refused"]
    assert "loopback" in found["content"]["reason"]
    assert summary.errors == 1
    assert line_of(summary, site.host).status == "exhausted"
    assert place.kept()[site.url("/out")]["error"].startswith("address_refused")
    assert place.host(secret.host)["claimed_by"] is None


def test_a_taken_down_target_is_not_asked_for_anything(web: Web, place: Place) -> None:
    other = web.site({"/x": page()})
    site = web.site({"/": page("/out"), "/out": redirect(other.url("/x"))})
    assert place.comity("takedown", "add", other.host).code == 0
    place.crawl(site.url())
    assert other.log == []
    assert place.evidence(other.url("/x"))[0]["type"] == "taken_down"


def test_a_robots_file_that_is_moved_to_a_taken_down_host_is_not_followed_there(web: Web, place: Place) -> None:
    other = web.site({}, robots="User-agent: *\nAllow: /\n")
    site = web.site(tree(2), robots=redirect(other.url("/robots.txt")))
    assert place.comity("takedown", "add", other.host).code == 0
    place.crawl(site.url())
    assert other.log == []
    assert site.pages() == []


def test_a_robots_file_that_is_moved_to_another_host_is_read_there(web: Web, place: Place) -> None:
    other = web.site({}, robots="User-agent: *\nDisallow: /p1\n")
    site = web.site(tree(3), robots=redirect(other.url("/robots.txt")))
    place.crawl(site.url())
    assert site.paths == ["/robots.txt", "/", "/p2"]
    assert other.paths == ["/robots.txt"]
    assert place.host(other.host)["claimed_by"] is None


def test_a_target_that_somebody_else_holds_is_put_off_and_not_hammered(web: Web, place: Place) -> None:
    other = web.site({"/x": page()})
    site = web.site({"/": page("/out", "/a"), "/out": redirect(other.url("/x")), "/a": page()})
    with place.opened() as state:
        place.crawl(other.url("/nothing"))
        mine = Leases(state.database, state.clock, holder="somebody:else")
        (lease,) = mine.take([other.host])
        seen = len(other.log)
        done = threading.Timer(1.0, mine.release, [lease])
        done.start()
        summary = place.crawl(site.url(), within_s=60)
        done.join()
    assert len(site.of("/out")) <= 3, "it is asked again, but not over and over"
    if line_of(summary, site.host).queued == 0:
        assert place.kept()[site.url("/out")]["final_url"] == other.url("/x")
    else:
        assert place.frontier(site.host)[site.url("/out")] == QUEUED
    assert other.paths[seen:].count("/x") <= 1


def test_targets_that_others_hold_are_waited_for_one_by_one(web: Web, place: Place) -> None:
    """Each wait doubles for its own target: five targets that are held for a moment do not add up to a minute."""
    others = [web.site({"/x": page()}) for _ in range(5)]
    links = {f"/out{number}": redirect(other.url("/x")) for number, other in enumerate(others)}
    site = web.site({"/": page(*links)} | links)
    postponed = "SELECT url, max(created_at) AS at, count(*) AS n FROM evidence WHERE type = 'postponed' GROUP BY url"
    place.comity("seeds", "add", *(other.url() for other in others))

    async def stop(crawl: Crawl, _state: State) -> None:
        await until(lambda: len(place.rows(postponed)) == 5)
        crawl.stop()

    with place.opened() as state:
        Leases(state.database, state.clock, holder="somebody:else").take([other.host for other in others])
        place.crawl(site.url(), meanwhile=stop, within_s=60)
    found = place.rows("SELECT url, not_before FROM domain_frontier WHERE url LIKE '%/out%'")
    due = {row["url"]: datetime.fromisoformat(row["not_before"]) for row in found}
    for row in place.rows(postponed):
        assert due[row["url"]] - datetime.fromisoformat(row["at"]) == timedelta(seconds=2 ** row["n"])


def test_a_redirect_to_nowhere_is_refused(web: Web, place: Place) -> None:
    places = [
        "http://[bad",
        "mailto:x@example.org",
        "ftp://127.0.0.1/x",
        "http://user:pass@127.0.0.1/",
        "javascript:alert(1)",
    ]
    site = web.site(
        {"/": page(*(f"/{number}" for number in range(5)))}
        | {f"/{number}": redirect(to) for number, to in enumerate(places)}
    )
    summary = place.crawl(site.url())
    assert (summary.pages, summary.errors) == (1, 5)
    assert sorted(site.pages()) == ["/", "/0", "/1", "/2", "/3", "/4"]


@pytest.mark.roomy
def test_a_stop_while_a_redirect_waits_for_another_hosts_delay_is_quick(web: Web, place: Place) -> None:
    other = web.site(fallback=page(), robots="User-agent: *\nCrawl-delay: 300\n")
    site = web.site({"/": redirect(other.url("/far"))})
    with place.begun("crawl", site.url()) as process:
        wait_until(lambda: "/robots.txt" in other.paths, 60, "the other host's robots.txt")
        time.sleep(0.2)
        process.send(signal.SIGTERM)
        assert process.wait(60) == 130, "far less than the delay"
    assert place.frontier(site.host) == {site.url(): QUEUED}
    assert place.host(site.host)["claimed_by"] is None
    assert place.host(other.host)["claimed_by"] is None


@pytest.mark.roomy
def test_collapsed_sub_domains_share_one_lease_and_one_gate(web: Web, place: Place) -> None:
    """`a.localhost` and `b.localhost` are names of this machine to every curl."""
    site = web.site({"/": page()}, fallback=page())
    port = site.port
    site.routes["/"] = page(f"http://a.one.localhost:{port}/a", f"http://b.one.localhost:{port}/b")
    place.crawl(f"http://one.localhost:{port}/", collapse_subdomains=True, delay_s=0.1)
    hosts = [row["domain"] for row in place.rows("SELECT domain FROM domains")]
    assert hosts == [f"one.localhost:{port}"]
    assert {seen.host.partition(":")[0] for seen in site.log} == {"one.localhost", "a.one.localhost", "b.one.localhost"}
    assert min(site.gaps()) >= 0.1 - LOG_IS_EXACT_TO_S


def test_an_answer_without_a_location_is_no_redirect(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a"), "/a": Answer(302)})
    summary = place.crawl(site.url())
    assert (summary.pages, summary.errors) == (1, 1)


def test_a_host_whose_slot_a_redirect_of_another_used_goes_on_by_itself(web: Web, place: Place) -> None:
    """The visit that held the slot belongs to the other host; its end must still bring this one back."""
    slow = {f"/slow{number}": Answer(body=b"<p>slow", after_s=0.6) for number in range(3)}
    second = web.site(tree(12) | slow)
    first = web.site(
        {"/": page("/r0", "/r1", "/r2")}
        | {f"/r{number}": redirect(second.url(f"/slow{number}")) for number in range(3)}
    )
    summary = place.crawl(first.url(), second.url(), delay_s=0.05)
    assert summary.status == "finished"
    assert {line.host: line.status for line in summary.hosts} == {first.host: "exhausted", second.host: "exhausted"}
    assert set(tree(12)) <= set(second.pages())


def test_a_relative_link_that_begins_like_a_scheme_is_followed_from_every_page(web: Web, place: Place) -> None:
    site = web.site(
        {
            "/": page("/a/", "/b/"),
            "/a/": page("http-status.html"),
            "/b/": page("http-status.html"),
            "/a/http-status.html": page(),
            "/b/http-status.html": page(),
        }
    )
    place.crawl(site.url())
    assert {"/a/http-status.html", "/b/http-status.html"} <= set(site.pages())


def test_a_policy_made_to_slow_a_host_down_does_not_cut_its_pages(web: Web, place: Place) -> None:
    """A crawl has 10 MB a page, and 1 MB only where the operator says so."""
    site = web.site({"/": page("/big"), "/big": Answer(body=b"<p>" + b"x" * 2_000_000)})
    place.comity("policy", "set", site.host, "--min-request-interval-ms", "1")
    place.crawl(site.url())
    assert len(place.kept()[site.url("/big")]["body"]) > 2_000_000


def test_a_policy_bounds_the_size_of_a_page(web: Web, place: Place) -> None:
    site = web.site({"/": page("/big"), "/big": Answer(body=b"<p>" + b"x" * 50_000)})
    place.comity("policy", "set", site.host, "--max-kb-per-page", "20", "--min-request-interval-ms", "1")
    place.crawl(site.url())
    (row,) = [row for row in place.fetches(site.host) if row["page_url"] == site.url("/big")]
    assert row["outcome"] == "rejected"
    assert row["error"].startswith("too_large")


@pytest.mark.parametrize("scheme", ["http:", ""])
def test_a_password_in_a_redirect_is_neither_stored_nor_printed(web: Web, place: Place, scheme: str) -> None:
    site = web.site({"/": page("/r"), "/r": redirect(f"{scheme}//me:s3cret@other.localhost/a")})
    told = place.comity("crawl", site.url(), "--json-lines", "--log-requests", place.folder / "requests.jsonl")
    why = place.comity("why", site.url("/r"))
    assert "//***@other.localhost/a" in why.out
    assert "s3cret" not in told.out + told.err + why.out
    assert not [path for path in place.folder.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]
