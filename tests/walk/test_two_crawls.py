"""Two crawls on one state at the same time."""

from __future__ import annotations

import pytest

from tests.servers.waiting import wait_until
from tests.walk.crawling import Place
from tests.walk.site import LOG_IS_EXACT_TO_S, Web, tree

ROBOTS = "User-agent: *\nCrawl-delay: 0.1\n"


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_two_crawls_of_different_hosts_both_complete(
    web: Web, place: Place, request: pytest.FixtureRequest, kind: str
) -> None:
    if kind == "postgresql":
        place.env["COMITY_DATABASE_URL"] = request.getfixturevalue("migrated_postgres_url")
    sites = [web.site(tree(12), robots=ROBOTS) for _ in range(4)]
    with (
        place.begun("crawl", sites[0].url(), sites[1].url(), "--json") as first,
        place.begun("crawl", sites[2].url(), sites[3].url(), "--json") as second,
    ):
        assert (first.wait(60), second.wait(60)) == (0, 0), (first.err, second.err)
    for site in sites:
        assert sorted(site.pages()) == sorted(tree(12))
        assert min(site.gaps()[1:]) >= 0.1 - LOG_IS_EXACT_TO_S
    assert len(place.kept()) == 48
    assert place.comity("domains", "claims", "--json").json["holders"] == []
    assert place.comity("verify-politeness").code == 0


def test_the_second_crawl_of_a_host_says_who_holds_it(web: Web, place: Place) -> None:
    site, other = web.site(tree(300), robots=ROBOTS), web.site(tree(3))
    with place.begun("crawl", site.url()) as first:
        wait_until(lambda: len(site.pages()) > 3, 60, "the first crawl")
        holder = place.host(site.host)["claimed_by"]
        assert f":{first.pid}:" in holder
        told = place.comity_apart("crawl", site.url(), other.url())
        assert told.code == 0
        assert (
            f"{site.host} was not crawled: process {first.pid} on {holder.partition(':')[0]} is crawling it. Wait"
            in told.out
        )
        assert "Wait for it, or stop that crawl." in told.out
        assert len(other.pages()) == 3, "what is free is crawled"
        robots = place.comity("robots", site.url())
        assert robots.code in (0, 1)
        reset = place.comity("domains", "reset", site.host)
        assert (reset.code, "stop that crawl first" in reset.err) == (1, True)
        first.kill()
    assert min(site.gaps()[1:]) >= 0.1 - LOG_IS_EXACT_TO_S
    assert site.overlaps() == 0


def test_many_crawls_that_start_at_once_share_the_hosts(web: Web, place: Place) -> None:
    sites = [web.site(tree(8), robots=ROBOTS) for _ in range(4)]
    seeds = [site.url() for site in sites]
    with (
        place.begun("crawl", *seeds) as first,
        place.begun("crawl", *reversed(seeds)) as second,
        place.begun("crawl", *seeds) as third,
    ):
        assert [process.wait(60) for process in (first, second, third)] == [0, 0, 0], (first.err, second.err, third.err)
    place.comity("crawl", *seeds)
    for site in sites:
        assert sorted(site.pages()) == sorted(tree(8))
        assert site.overlaps() == 0
        assert min(site.gaps()[1:]) >= 0.1 - LOG_IS_EXACT_TO_S
    assert len(place.kept()) == 32
