"""Refreshing: known pages are asked whether they changed, what is gone is left alone, a round survives a kill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, text

from comity.database.connection import open_database
from comity.database.tables import fetches
from tests.servers.waiting import wait_until
from tests.walk.crawling import DONE, Place
from tests.walk.site import Answer, Asked, Site, Web, page, redirect, tree

LONG_AGO = "2020-01-01 00:00:00.000000"
EARLIER = "Wed, 04 Feb 2026 10:00:00 GMT"


def tagged(count: int) -> dict[str, Any]:
    """A site of pages that say by what their copies are known."""
    return {path: Answer(body=body, etag=f'"{path}"') for path, body in tree(count).items()}


def dated(body: str) -> Callable[[Asked], Answer]:
    """A page that knows only dates."""

    def answer(asked: Asked) -> Answer:
        if asked.headers.get("if-modified-since") == EARLIER:
            return Answer(304, type=None)
        return Answer(body=body, headers={"Last-Modified": EARLIER})

    return answer


def crawled(place: Place, site: Site, *options: object) -> dict[str, Any]:
    told = place.comity("crawl", site.url(), "--json", *options)
    assert told.code == 0, told.err
    site_said: dict[str, Any] = told.json["summary"]
    return site_said


def refreshed(place: Place, site: Site) -> dict[str, str]:
    """Each URL that a refresh asked for, with how the last such visit ended."""
    rows = [row for row in place.fetches(site.host) if row["discovery_type"] == "refresh"]
    return {row["page_url"].removeprefix(site.url("")): row["outcome"] for row in rows}


def test_pages_that_are_as_they_were_are_counted_and_not_kept_again(web: Web, place: Place) -> None:
    site = web.site(tagged(6))
    assert crawled(place, site)["pages"] == 6
    before = place.parts()
    site.log.clear()
    summary = crawled(place, site, "--refresh")
    assert (summary["pages"], summary["unchanged"], summary["errors"]) == (6, 6, 0)
    assert {seen.path: seen.headers.get("if-none-match") for seen in site.log if seen.path != "/robots.txt"} == {
        path: f'"{path}"' for path in tree(6)
    }
    assert place.parts() == before
    assert set(refreshed(place, site).values()) == {"not_modified"}
    row = place.host(site.host)
    assert (row["status"], row["pages_crawled"], row["pages_discovered"]) == ("exhausted", 6, 6)
    assert (row["is_refresh_due"], row["refresh_started_at"]) == (0, None)
    assert row["next_crawl_after"] is not None
    assert crawled(place, site, "--refresh")["unchanged"] == 6, "what a 304 does not repeat is remembered"


def test_pages_that_only_know_dates_are_asked_by_them(web: Web, place: Place) -> None:
    site = web.site({"/": dated(page("/a")), "/a": dated(page("/"))})
    crawled(place, site)
    for _ in range(2):
        assert crawled(place, site, "--refresh")["unchanged"] == 2


def test_without_the_option_nothing_is_asked_before_it_is_due(web: Web, place: Place) -> None:
    site = web.site(tagged(3))
    crawled(place, site)
    asked = len(site.log)
    told = place.comity("crawl", site.url())
    assert f"comity crawl {site.host} --refresh" in told.out
    assert len(site.log) == asked


def test_a_page_that_changed_is_kept_and_its_new_links_are_followed(web: Web, place: Place) -> None:
    site = web.site(tagged(4))
    crawled(place, site)
    site.routes["/p2"] = Answer(body=page("/", "/new", title="changed"), etag='"changed"')
    site.routes["/new"] = page("/newer")
    site.routes["/newer"] = page()
    summary = crawled(place, site, "--refresh")
    assert (summary["pages"], summary["unchanged"]) == (6, 3)
    assert refreshed(place, site) == {
        "/": "not_modified",
        "/p1": "not_modified",
        "/p2": "fetched",
        "/p3": "not_modified",
    }
    kept = Counter(row["url"].removeprefix(site.url("")) for row in place.parts())
    assert kept == {"/": 1, "/p1": 1, "/p2": 2, "/p3": 1, "/new": 1, "/newer": 1}


def test_a_server_without_validators_is_told_by_its_content(web: Web, place: Place) -> None:
    site = web.site(tree(4))
    crawled(place, site)
    site.routes["/p1"] = page("/", title="changed")
    summary = crawled(place, site, "--refresh")
    assert (summary["pages"], summary["unchanged"]) == (4, 3)
    assert all("if-none-match" not in seen.headers for seen in site.log if seen.path != "/robots.txt")


def test_what_is_gone_is_noted_once_and_left_alone_after(web: Web, place: Place) -> None:
    site = web.site(tagged(5))
    crawled(place, site)
    for path, status in (("/p3", 404), ("/p4", 410)):
        site.routes[path] = Answer(status)
    assert crawled(place, site, "--refresh")["errors"] == 2
    assert refreshed(place, site)["/p3"] == refreshed(place, site)["/p4"] == "gone"
    site.log.clear()
    summary = crawled(place, site, "--refresh")
    assert (summary["pages"], summary["errors"]) == (3, 0)
    assert sorted(site.pages()) == ["/", "/p1", "/p2"]
    assert set(place.frontier(site.host).values()) == {DONE}
    assert place.comity("domains", "reset", site.host).code == 0
    assert crawled(place, site)["errors"] == 2, "begun anew, everything is asked for"


def test_a_page_that_moved_is_asked_where_it_went(web: Web, place: Place) -> None:
    site = web.site({"/": Answer(body=page("/old"), etag='"/"'), "/old": redirect("/place"), "/place": page()})
    site.routes["/place"] = Answer(body=page(), etag='"p"')
    crawled(place, site)
    site.log.clear()
    assert crawled(place, site, "--refresh")["unchanged"] == 2
    assert [seen.headers.get("if-none-match") for seen in site.of("/old") + site.of("/place")] == [None, '"p"']
    site.routes["/old"] = redirect("/other")
    site.routes["/other"] = page(title="elsewhere")
    assert crawled(place, site, "--refresh")["unchanged"] == 1
    assert site.of("/other")[0].headers.get("if-none-match") is None


def test_a_server_that_says_not_modified_to_nothing_is_no_success(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a"), "/a": Answer(304, type=None)})
    assert crawled(place, site)["errors"] == 1
    assert place.fetches(site.host)[-1]["outcome"] == "gone"


def test_a_host_that_is_being_crawled_goes_on_and_a_blocked_one_keeps_its_cooldown(web: Web, place: Place) -> None:
    begun, blocked = web.site(tagged(9)), web.site(fallback=Answer(403))
    crawled(place, begun, "--max-pages", 4)
    assert place.comity("crawl", blocked.url()).code == 1
    crawled(place, begun, "--refresh")
    assert place.comity("crawl", blocked.url(), "--refresh").code == 1
    assert sorted(begun.pages()) == sorted(tree(9))
    assert refreshed(place, begun) == {}
    assert blocked.pages() == ["/"]


def test_a_reset_in_the_midst_of_a_round_begins_anew(web: Web, place: Place) -> None:
    site = web.site(tagged(8))
    crawled(place, site)
    crawled(place, site, "--refresh", "--max-pages", 3)
    row = place.host(site.host)
    assert (row["status"], row["refresh_started_at"] is not None, row["frontier_size"]) == ("active", True, 5)
    place.comity("domains", "reset", site.host)
    site.log.clear()
    crawled(place, site)
    assert sorted(site.pages()) == sorted(tree(8))
    assert all("if-none-match" not in seen.headers for seen in site.log if seen.path != "/robots.txt")


def test_a_budget_parts_a_round_and_the_same_command_goes_on(web: Web, place: Place) -> None:
    site = web.site(tagged(8))
    crawled(place, site)
    site.log.clear()
    for _ in range(4):
        crawled(place, site, "--max-pages", 3, *(["--refresh"] if not site.log else []))
    assert sorted(site.pages()) == sorted(tree(8)), "each once in this round"
    assert len(refreshed(place, site)) == 8
    assert place.host(site.host)["status"] == "exhausted"


def test_a_worker_refreshes_what_is_due_if_that_is_turned_on(web: Web, place: Place) -> None:
    due, later = web.site(tagged(4)), web.site(tagged(4))
    for site in (due, later):
        crawled(place, site)
        site.log.clear()
    place.execute("UPDATE domains SET next_crawl_after = ? WHERE domain = ?", LONG_AGO, due.host)
    assert place.comity_apart("work", "--idle-exit").code == 0
    assert (due.pages(), later.pages()) == ([], [])
    told = place.comity_apart("work", "--idle-exit", "--refresh", "--json")
    assert told.code == 0, told.err
    assert (told.json["pages"], told.json["unchanged"]) == (4, 4)
    assert (sorted(due.pages()), later.pages()) == (sorted(tree(4)), [])


@pytest.mark.roomy
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_killed_in_the_midst_of_a_round_the_next_goes_on_with_what_is_left(
    web: Web, place: Place, request: pytest.FixtureRequest, kind: str
) -> None:
    site = web.site(tagged(30))
    if kind == "postgresql":
        place.env["COMITY_DATABASE_URL"] = url = request.getfixturevalue("migrated_postgres_url")
        database = open_database(url)
    else:
        database = open_database(str(place.state))
    assert place.comity("crawl", site.url()).code == 0
    site.log.clear()
    seen, options = 0, ["--refresh"]
    for _ in range(2):
        with place.begun("crawl", site.url(), "--delay", "0.04", *options) as process:
            wanted = seen + 6
            wait_until(lambda wanted=wanted: len(site.log) >= wanted, 60, "requests")
            process.kill()
        seen, options = len(site.log), []
    told = place.comity_apart("crawl", site.url(), "--delay", "0")
    assert told.code == 0, told.err
    asked = Counter(site.pages())
    assert set(asked) == set(tree(30))
    # In flight at each of the kills: the one under way, and those that came in the 50 ms before.
    assert sum(asked.values()) <= 30 + 2 * 3
    assert all(each.headers.get("if-none-match") == f'"{each.path}"' for each in site.log if each.path != "/robots.txt")
    with database.read() as connection:
        ends = [row.outcome for row in connection.execute(select(fetches).where(fetches.c.discovery_type == "refresh"))]
        host = connection.execute(text("SELECT status, refresh_started_at FROM domains")).one()
    database.close()
    assert ends == ["not_modified"] * 30
    assert tuple(host) == ("exhausted", None)


def sitemap(**said: str) -> Answer:
    """A sitemap; of each page what is said of it."""
    rows = "".join(f"<url><loc>/{name}</loc>{text}</url>" for name, text in said.items())
    return Answer(body=f"<urlset>{rows}</urlset>", type="application/xml")


def absolute(site: Site) -> None:
    """Put the site's own origin before the addresses of its sitemap."""
    answer = site.routes["/sitemap.xml"]
    assert isinstance(answer, Answer)
    body = str(answer.body).replace("<loc>/", f"<loc>{site.url('')}/")
    site.routes["/sitemap.xml"] = Answer(body=body, type="application/xml")


LISTED = {name: Answer(body=page(title=name), etag=f'"{name}"') for name in ("/daily", "/never", "/same", "/changed")}


def test_only_what_sitemaps_call_changed_or_due_is_asked_for(web: Web, place: Place) -> None:
    place.env["COMITY_SITEMAPS"] = "true"
    routes = {"/": Answer(body=page("/plain"), etag='"/"'), "/plain": Answer(body=page(), etag='"plain"'), **LISTED}
    site = web.site(routes, robots="User-agent: *\nAllow: /\n")
    old = "<lastmod>2020-01-01T01:00:00Z</lastmod>"
    said = {
        "daily": f"{old}<changefreq>daily</changefreq><priority>0.3</priority>",
        "never": f"{old}<changefreq>never</changefreq>",
        "same": old,
        "changed": old,
    }
    site.routes["/sitemap.xml"] = sitemap(**said)
    absolute(site)
    assert crawled(place, site)["pages"] == 6
    site.log.clear()
    assert crawled(place, site, "--update-stale")["pages"] == 0, "nothing is stale a moment later"
    assert site.pages() == ["/sitemap.xml"], "but what sitemaps say is looked at"
    # Two days pass, and one page changes; the sitemap is where that is told.
    place.execute("UPDATE fetches SET crawled_at = datetime(crawled_at, '-2 days') || '.000000'")
    site.routes["/sitemap.xml"] = sitemap(**said | {"changed": f"<lastmod>{_now()}</lastmod><priority>0.9</priority>"})
    absolute(site)
    site.routes["/changed"] = page("/found", title="changed")
    site.routes["/found"] = page()
    site.log.clear()
    summary = crawled(place, site, "--update-stale")
    assert sorted(path for path in site.pages() if path != "/sitemap.xml") == ["/changed", "/daily", "/found"]
    assert (summary["pages"], summary["unchanged"]) == (3, 1)
    # Of two that are stale, the one with the higher priority comes first; what nothing is said of goes by its age.
    place.execute("UPDATE fetches SET crawled_at = datetime(crawled_at, '-20 days') || '.000000'")
    site.routes["/sitemap.xml"] = sitemap(
        **said | {"changed": "<changefreq>weekly</changefreq><priority>0.9</priority>"}
    )
    absolute(site)
    site.log.clear()
    crawled(place, site, "--update-stale", "--max-pages", 50)
    order = [path for path in site.pages() if path != "/sitemap.xml"]
    assert set(order) == {"/", "/plain", "/found", "/daily", "/changed"}
    assert order.index("/daily") > order.index("/plain")


def test_a_gone_page_that_a_sitemap_lists_as_changed_is_asked_for_again(web: Web, place: Place) -> None:
    place.env["COMITY_SITEMAPS"] = "true"
    site = web.site({"/": page("/a"), "/a": Answer(404)}, robots="User-agent: *\nAllow: /\n")
    crawled(place, site)
    place.execute("UPDATE fetches SET crawled_at = datetime(crawled_at, '-2 days') || '.000000'")
    crawled(place, site, "--refresh")
    assert len(site.of("/a")) == 1
    site.routes["/sitemap.xml"] = sitemap(a=f"<lastmod>{_now()}</lastmod>")
    absolute(site)
    site.routes["/a"] = page(title="back")
    place.execute("UPDATE fetches SET crawled_at = datetime(crawled_at, '-2 days') || '.000000'")
    crawled(place, site, "--refresh")
    assert len(site.of("/a")) == 2
    assert refreshed(place, site)["/a"] == "fetched"


def _now() -> str:
    return (datetime.now(UTC) - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
