"""How hosts are left: what they are called afterwards, why, and that everybody can read it."""

from __future__ import annotations

import asyncio

import pytest

from comity.assemble import State
from comity.walk.crawl.crawl import Crawl
from comity.walk.session.leased_host import LeasedHost
from tests.servers.ports import closed_port
from tests.walk.crawling import DONE, QUEUED, Place, line_of, until
from tests.walk.site import Answer, Web, page, redirect, tree

LOGIN = page("/login", "/forgot", title="Sign in", body='<form><input type="password" name="p"></form>')


def left(place: Place, host: str) -> tuple[str, str | None]:
    row = place.host(host)
    assert row["claimed_by"] is None, "every lease is given back"
    return row["status"], row["block_reason_code"]


def test_a_name_that_does_not_resolve_is_unreachable(place: Place) -> None:
    place.crawl("nowhere.invalid")
    assert place.frontier("nowhere.invalid") == {"https://nowhere.invalid/": QUEUED}, "a bare host begins at its root"
    assert left(place, "nowhere.invalid") == ("unreachable", "dns_failure")
    told = place.comity("domains", "list")
    assert "nowhere.invalid" in told.out
    assert "dns_failure" in told.out


def test_a_robots_file_that_fails_closes_the_site(web: Web, place: Place) -> None:
    site = web.site(tree(3), robots=Answer(503, headers={"Retry-After": "0"}))
    place.crawl(site.url())
    assert left(place, site.host) == ("blocked", "robots_unreachable")
    assert set(site.paths) == {"/robots.txt"}
    assert 1 < len(site.paths) <= 3
    assert place.frontier(site.host) == {site.url(): QUEUED}
    assert "robots.txt answered 503" in place.comity("why", site.url()).out


def test_a_robots_outage_in_the_middle_loses_nothing(web: Web, place: Place) -> None:
    """The copy in the cache runs out while the site is half crawled, and robots.txt fails once."""
    site = web.site(tree(12), robots="User-agent: *\nAllow: /\n")
    place.crawl(site.url(), max_pages=5)
    place.execute("UPDATE robots_cache SET expires_at = '2020-01-01 00:00:00.000000'")
    good, site.routes["/robots.txt"] = site.routes["/robots.txt"], Answer(500)
    place.crawl(site.url())
    assert left(place, site.host) == ("blocked", "robots_unreachable")
    assert len(set(site.pages())) == 5
    assert sorted(place.frontier(site.host).values()).count(QUEUED) > 0
    site.routes["/robots.txt"] = good
    place.execute("UPDATE robots_cache SET expires_at = '2020-01-01 00:00:00.000000'")
    assert place.comity("domains", "reset", site.host).code == 0
    place.crawl(site.url())
    assert left(place, site.host) == ("exhausted", None)
    assert set(site.pages()) == set(tree(12))


def test_an_operator_may_go_on_without_robots_but_on_low_confidence_only(web: Web, place: Place) -> None:
    site = web.site(tree(6), robots=Answer(500))
    place.crawl(site.url(), robots_unreachable="allow", max_pages=2)
    place.crawl(site.url(), robots_unreachable="allow", max_pages=1)
    assert len(site.pages()) == 3
    found = [row for path in site.pages() for row in place.evidence(site.url(path))]
    assert {(row["type"], row["confidence"]) for row in found} == {("robots_allowed", "low")}, "from the cache as well"
    place.crawl(site.url())
    assert len(site.pages()) == 3, "who changes their mind is obeyed at once"
    assert left(place, site.host) == ("blocked", "robots_unreachable")


def test_a_robots_file_is_asked_about_again_when_it_is_old(web: Web, place: Place) -> None:
    robots = Answer(body="User-agent: *\nDisallow: /p1\n", type="text/plain", etag='"v1"')
    site = web.site(tree(6), robots=robots)
    place.crawl(site.url(), max_pages=1)
    place.execute("UPDATE robots_cache SET expires_at = '2020-01-01 00:00:00.000000'")
    place.crawl(site.url())
    first, second = site.of("/robots.txt")
    assert ("if-none-match" in first.headers, second.headers["if-none-match"]) == (False, '"v1"')
    assert "/p1" not in site.paths, "the rules that were confirmed still hold"
    (row,) = place.rows("SELECT * FROM robots_cache")
    assert (row["access"], row["http_status"]) == ("parse", 304)
    assert row["expires_at"] > "2026"


def test_a_site_that_robots_closes_is_blocked_and_asked_for_nothing(web: Web, place: Place) -> None:
    site = web.site(tree(3), robots="User-agent: *\nDisallow: /\n")
    place.crawl(site.url())
    assert left(place, site.host) == ("blocked", "robots_denied")
    assert site.paths == ["/robots.txt"]
    told = place.comity("domains", "list")
    assert "robots disallow (robots_denied)" in told.out


def test_a_site_that_opens_its_robots_is_crawled_after_a_reset(web: Web, place: Place) -> None:
    site = web.site(tree(3), robots="User-agent: *\nDisallow: /\n")
    place.crawl(site.url())
    site.routes["/robots.txt"] = Answer(body="User-agent: *\nAllow: /\n", type="text/plain")
    place.execute("UPDATE robots_cache SET expires_at = '2020-01-01 00:00:00.000000'")
    assert place.comity("domains", "reset", site.host).code == 0
    place.crawl(site.url())
    assert left(place, site.host) == ("exhausted", None)
    assert set(site.pages()) == set(tree(3))


@pytest.mark.parametrize("wall", ["redirect", "in place"])
def test_a_site_behind_a_login_is_blocked(web: Web, place: Place, wall: str) -> None:
    door = LOGIN if wall == "in place" else redirect("/login")
    site = web.site({"/login": LOGIN, "/forgot": door}, fallback=door)
    place.crawl(site.url(), site.url("/reports"), site.url("/inbox"))
    assert left(place, site.host) == ("blocked", "login_required")
    assert "login_wall" in [row["type"] for row in place.evidence(site.url("/inbox"))]
    assert "login_required" in place.comity("domains", "list").out


def test_one_login_form_does_not_close_a_site(web: Web, place: Place) -> None:
    site = web.site({"/": page("/account", "/a"), "/a": page(), "/account": redirect("/login"), "/login": LOGIN})
    place.crawl(site.url())
    assert left(place, site.host) == ("exhausted", None)


@pytest.mark.parametrize(
    ("status", "reason"), [(403, "forbidden"), (401, "login_required"), (451, None), (404, None), (410, None)]
)
def test_a_site_whose_root_answers_so_is_left_so(web: Web, place: Place, status: int, reason: str | None) -> None:
    site = web.site(fallback=Answer(status))
    place.crawl(site.url())
    assert left(place, site.host) == (("blocked", reason) if reason else ("exhausted", None))
    assert site.pages() == ["/"], "a refusal is final"
    assert place.frontier(site.host) == {site.url(): DONE}


def test_a_host_whose_cooldown_is_over_is_tried_again(web: Web, place: Place) -> None:
    """What was refused is asked for again; a host is not declared done without a request."""
    site = web.site(fallback=Answer(403))
    place.crawl(site.url())
    assert left(place, site.host) == ("blocked", "forbidden")
    place.execute("UPDATE domains SET next_crawl_after = '2020-01-01 00:00:00.000000'")
    site.fallback = page()
    told = place.comity("crawl", site.url(), "--json").json
    assert told["summary"]["pages"] == 1
    assert left(place, site.host) == ("exhausted", None)
    assert place.host(site.host)["cooldown_count"] == 0


def test_errors_in_a_row_block_the_host_and_leave_the_rest_queued(web: Web, place: Place) -> None:
    routes = {"/": page(*(f"/p{number}" for number in range(30)))}
    site = web.site(routes, fallback=Answer(500))
    place.crawl(site.url(), max_domain_errors=4)
    assert left(place, site.host) == ("blocked", "server_errors")
    assert len(site.pages()) == 5
    assert list(place.frontier(site.host).values()).count(QUEUED) == 30
    assert place.host(site.host)["consecutive_error_count"] == 4


def test_a_few_broken_pages_do_not_block_a_site_that_serves(web: Web, place: Place) -> None:
    """A broken page is tried several times, but it is one error of the host, not many."""
    broken = [f"/broken{number}" for number in range(3)]
    site = web.site({"/": page("/a", *broken), "/a": page()}, fallback=Answer(500))
    settled = "SELECT count(*) AS tries FROM fetches WHERE outcome = 'failed' GROUP BY page_url"

    async def stop(crawl: Crawl, _state: State) -> None:
        """Tries come after 0, 1, 2 and 4 seconds."""
        await until(lambda: [row["tries"] >= 3 for row in place.rows(settled)] == [True] * 3)
        crawl.stop()

    place.crawl(site.url(), max_domain_errors=4, meanwhile=stop)
    assert left(place, site.host) == ("active", None)
    assert place.host(site.host)["consecutive_error_count"] == 3
    for path in broken:
        assert len(site.of(path)) >= 3, "once, and twice again so far"


def test_the_dead_end_of_others_is_not_held_against_a_host(web: Web, place: Place) -> None:
    dead = f"http://127.0.0.1:{closed_port()}/"
    ways_out = [f"/out{number}" for number in range(6)]
    site = web.site({"/": page(*ways_out, "/a"), "/a": page()} | {path: redirect(dead + path) for path in ways_out})
    place.crawl(site.url(), max_domain_errors=3)
    assert left(place, site.host) == ("exhausted", None)
    assert "/a" in site.paths


def test_a_connection_that_breaks_is_tried_again(web: Web, place: Place) -> None:
    site = web.site(
        {"/": page("/a", "/b"), "/a": lambda asked: Answer(drops=True) if asked.count == 1 else page(), "/b": page()}
    )
    place.crawl(site.url())
    assert left(place, site.host) == ("exhausted", None)
    assert len(site.of("/a")) == 2
    assert [row["outcome"] for row in place.fetches(site.host) if row["page_url"].endswith("/a")] == [
        "failed",
        "fetched",
    ]
    assert site.url("/a") in place.kept()


def test_a_site_that_closes_every_connection_is_crawled_all_the_same(web: Web, place: Place) -> None:
    routes = {path: Answer(body=body, closes=True) for path, body in tree(6).items()}
    site = web.site(routes)  # type: ignore[arg-type]
    place.crawl(site.url())
    assert sorted(site.pages()) == sorted(tree(6))
    assert len({seen.connection for seen in site.log}) == 6


def test_a_private_address_is_refused_and_says_what_would_change_it(web: Web, place: Place) -> None:
    site = web.site(tree(2))
    summary = place.crawl(site.url(), allow_networks=())
    assert [row["outcome"] for row in place.fetches(site.host)].count("failed") <= 1, "there is no use in trying again"
    assert site.log == []
    assert left(place, site.host) == ("unreachable", "address_refused")
    assert "--allow-network 127.0.0.1/32" in (line_of(summary, site.host).reason or "")
    assert "address_refused" in [row["type"] for row in place.evidence(site.url())]


def test_hosts_are_left_one_by_one(web: Web, place: Place) -> None:
    """A bad neighbour does not touch the others of the same run."""
    good, bad, dead = web.site(tree(5)), web.site(fallback=Answer(403)), f"127.0.0.1:{closed_port()}"
    summary = place.crawl(good.url(), bad.url(), f"http://{dead}/")
    statuses = {line.host: line.status for line in summary.hosts}
    assert statuses == {good.host: "exhausted", bad.host: "blocked", dead: "unreachable"}
    assert summary.status == "finished"
    assert left(place, dead) == ("unreachable", "connection_failure")
    assert place.frontier(dead) == {f"http://{dead}/": QUEUED}, "what could not be asked is still to be asked"
    assert place.host(dead)["next_crawl_after"] is not None
    assert place.host(dead)["first_blocked_at"] is not None


def test_a_304_that_nobody_asked_for_is_no_page(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a"), "/a": Answer(304)})
    summary = place.crawl(site.url())
    assert summary.pages == 1
    assert summary.errors == 1
    assert len(place.kept()) == 2


def test_a_host_that_is_served_in_the_very_moment_it_was_read_on_is_not_forgotten(web: Web, place: Place) -> None:
    """Nothing more was found of it, and a visit of another host ends just then: the run must come to its end."""
    site = web.site(tree(3))

    def hurry(crawl: Crawl, _state: State) -> None:
        dispatcher, ready = crawl._dispatcher, crawl._dispatcher.ready
        looks = iter(range(20))

        def ready_and_serve(host: LeasedHost) -> None:
            if next(looks, None) is not None:
                host.work.has_more = True  # as far as is known
            ready(host)
            asyncio.get_running_loop().call_soon(dispatcher.serve)

        dispatcher.ready = ready_and_serve  # type: ignore[method-assign]

    summary = place.crawl(site.url(), meanwhile=hurry, within_s=60)
    assert (summary.pages, line_of(summary, site.host).status) == (3, "exhausted")
