"""Links that lie too deep are kept and told, and a larger limit goes on with them, in every store."""

from __future__ import annotations

from typing import Any

import pytest

import comity
from tests.walk.crawling import TOO_DEEP, Place
from tests.walk.site import Site, Web, page

CHAIN = {f"/{number}": page(f"/{number + 1}", f"/side{number}") for number in range(8)}


def chain(web: Web) -> Site:
    return web.site(CHAIN, fallback=page())


@pytest.fixture(params=["embedded", "shared"])
def anywhere(place: Place, request: pytest.FixtureRequest) -> Place:
    """A state in one file, or on PostgreSQL and Redis."""
    return place if request.param == "embedded" else request.getfixturevalue("shared")


def crawl(place: Place, site: Site, *options: Any) -> Any:
    return place.comity("crawl", site.url("/0"), "--json", *options)


def test_a_larger_limit_goes_on_where_the_smaller_one_ended(web: Web, anywhere: Place) -> None:
    site = chain(web)
    first = crawl(anywhere, site, "--max-depth", 1).json["summary"]
    assert site.pages() == ["/0", "/1", "/side0"]
    (line,) = first["hosts"]
    assert (first["code"], line["code"], line["status"], line["too_deep"]) == ("too_deep", "too_deep", "exhausted", 2)
    assert line["reason"] == "2 links are deeper than --max-depth 1; a larger --max-depth follows them"
    info = anywhere.comity("domains", "info", site.host, "--json").json
    assert info["frontier"] == {"queued": 0, "done": 3, "dropped": 0, "too_deep": 2}
    assert "2 links: a larger --max-depth follows them" in anywhere.comity("domains", "info", site.host).out
    again = crawl(anywhere, site, "--max-depth", 1)
    assert (again.code, again.json["summary"]["code"], len(site.pages())) == (0, "too_deep", 3)
    second = crawl(anywhere, site, "--max-depth", 3).json["summary"]
    assert second["pages"] == 4
    assert site.pages()[3:] == ["/2", "/side1", "/3", "/side2"], "nothing is asked for twice"
    third = crawl(anywhere, site, "--max-depth", 50).json["summary"]
    assert (third["code"], third["hosts"][0]["too_deep"]) == ("nothing_left", 0)
    assert sorted(site.pages()) == sorted({*CHAIN, "/8", *(f"/side{number}" for number in range(8))})
    row = anywhere.comity("domains", "info", site.host, "--json").json
    assert (row["pages_crawled"], row["pages_discovered"], row["frontier_size"]) == (17, 17, 0)


def test_a_worker_that_follows_further_goes_on_too(web: Web, place: Place) -> None:
    site = chain(web)
    crawl(place, site, "--max-depth", 1)
    place.env["COMITY_MAX_DEPTH"] = "2"
    assert place.comity("work", "--idle-exit").code == 0
    assert site.pages()[3:] == ["/2", "/side1"]
    assert place.host(site.host)["left_at_depth"] == 3
    assert place.comity("work", "--idle-exit").code == 0
    assert len(site.pages()) == 5, "nothing more lies within its reach"


def test_the_python_door_goes_on_too(web: Web, place: Place) -> None:
    site = chain(web)
    options: dict[str, Any] = {
        "state": place.state,
        "into": place.pages,
        "delay": 0,
        "sitemaps": False,
        "allow_networks": ["127.0.0.0/8"],
    }
    run = comity.crawl(site.url("/0"), max_depth=0, **options)
    assert [each.url for each in run] == [site.url("/0")]
    assert (run.summary.code, run.summary.hosts[0].too_deep) == ("too_deep", 2)
    run = comity.crawl(site.url("/0"), max_depth=1, **options)
    assert sorted(each.url for each in run) == [site.url("/1"), site.url("/side0")]


def test_a_run_that_was_stopped_half_way_takes_up_what_was_too_deep_before(web: Web, place: Place) -> None:
    site = chain(web)
    crawl(place, site, "--max-depth", 1, "--max-pages", 2)
    assert place.host(site.host)["status"] == "active"
    second = crawl(place, site, "--max-depth", 2).json["summary"]
    assert sorted(site.pages()) == sorted(["/0", "/1", "/side0", "/2", "/side1"])
    assert second["code"] == "too_deep"


def test_a_link_that_is_found_nearer_to_a_seed_is_followed(web: Web, place: Place) -> None:
    """A page lies too deep where it is found first; another page, tried late, links to it directly."""
    late = {"count": 0}

    def second(_asked: Any) -> Any:
        late["count"] += 1
        from tests.walk.site import Answer

        return Answer(500) if late["count"] == 1 else page("/target")

    routes = {"/0": page("/late", "/near"), "/near": page("/deep"), "/deep": page("/target"), "/late": second}
    site = web.site(routes, fallback=page())
    place.crawl(site.url("/0"), max_depth=2)
    assert "/target" in site.pages(), "two steps from the seed, by way of /late"
    assert TOO_DEEP not in place.frontier(site.host).values()


def test_robots_and_takedowns_hold_for_links_that_are_too_deep(web: Web, place: Place) -> None:
    site = web.site({"/0": page("/private", "/a")}, robots="User-agent: *\nDisallow: /private\n", fallback=page())
    place.crawl(site.url("/0"), max_depth=0)
    assert place.frontier(site.host) == {site.url("/0"): 1, site.url("/a"): TOO_DEEP}
    place.comity("takedown", "add", site.url("/a"))
    told = crawl(place, site, "--max-depth", 1)
    assert "/a" not in site.pages()
    assert told.json["summary"]["pages"] == 0
