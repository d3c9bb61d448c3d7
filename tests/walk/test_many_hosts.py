"""More hosts than are crawled at once, and hosts that are met before their turn."""

from __future__ import annotations

from tests.walk.crawling import Place
from tests.walk.site import Answer, Web, page, redirect, tree

MORE_THAN_AT_ONCE = 70


def test_hosts_that_wait_for_a_place_are_all_crawled(web: Web, place: Place) -> None:
    sites = [web.site(tree(3)) for _ in range(MORE_THAN_AT_ONCE)]
    summary = place.crawl(*(site.url() for site in sites))
    assert len(summary.hosts) == MORE_THAN_AT_ONCE
    assert {line.status for line in summary.hosts} == {"exhausted"}
    assert all(sorted(site.pages()) == sorted(tree(3)) for site in sites)
    assert len(place.kept()) == 3 * MORE_THAN_AT_ONCE


def test_a_host_that_is_a_guest_when_its_turn_comes_is_crawled_all_the_same(web: Web, place: Place) -> None:
    """The first host leads to the last, which is not among those that are crawled at first."""
    last = web.site(tree(3))
    first = web.site({"/": page("/out"), "/out": redirect(last.url("/p1"))})
    others = [web.site({"/": Answer(body=page(), after_s=0.08)}) for _ in range(MORE_THAN_AT_ONCE)]
    file = place.folder / "seeds.txt"
    seeds = [first, *others, last]
    file.write_text("\n".join(f"{rank},{site.url()}" for rank, site in enumerate(seeds, start=1)))
    place.env["ENABLE_SMART_SCHEDULING"] = "false"
    told = place.comity("crawl", "--seeds", file, "--concurrency", 4, "--json").json
    statuses = {line["host"]: line["status"] for line in told["summary"]["hosts"]}
    assert statuses[last.host] == "exhausted"
    assert len(statuses) == len(seeds)
    assert told["idle"] == []
    assert sorted(last.pages()) == ["/", "/p1", "/p1", "/p2"], "once by the way, and once of its own"
    assert all(row["claimed_by"] is None for row in place.rows("SELECT claimed_by FROM domains"))


def test_connections_are_bounded_over_all_hosts(web: Web, place: Place) -> None:
    sites = [web.site({path: Answer(body=str(body), after_s=0.1) for path, body in tree(4).items()}) for _ in range(8)]
    place.crawl(*(site.url() for site in sites), concurrency=3)
    moments = sorted(
        (moment, change)
        for site in sites
        for seen in site.log
        if seen.path != "/robots.txt"
        for moment, change in ((seen.at, 1), (seen.ended_at or seen.at, -1))
    )
    at_once = most = 0
    for _moment, change in moments:
        at_once += change
        most = max(most, at_once)
    assert most <= 3
    assert all(len(site.pages()) == 4 for site in sites)
