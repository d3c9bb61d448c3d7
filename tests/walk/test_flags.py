"""Each flag turned off alone: the crawl still works, and does without just that."""

from __future__ import annotations

import pytest

from tests.walk.crawling import Place
from tests.walk.site import LOG_IS_EXACT_TO_S, Answer, Web, tree

FLAGS = (
    "ENABLE_DOMAIN_TRACKING",
    "ENABLE_PER_DOMAIN_BUDGET",
    "ENABLE_SMART_SCHEDULING",
    "ENABLE_CLAIM_PROTOCOL",
    "ENABLE_REFRESH_MODE",
)


@pytest.mark.roomy
@pytest.mark.parametrize("flag", FLAGS)
def test_without_it_a_crawl_is_stopped_resumed_and_finished_all_the_same(web: Web, place: Place, flag: str) -> None:
    place.env[flag] = "false"
    sites = [web.site(tree(9), robots="User-agent: *\nDisallow: /p8\nCrawl-delay: 0.06\n") for _ in range(2)]
    seeds = [site.url() for site in sites]
    first = place.comity("crawl", *seeds, "--max-pages", 6, "--json").json["summary"]
    assert (first["pages"], first["code"]) == (6, "page_limit")
    second = place.comity("crawl", *seeds, "--json").json["summary"]
    assert (second["status"], second["pages"]) == ("finished", 10)
    for site in sites:
        assert sorted(site.pages()) == sorted(set(tree(9)) - {"/p8"})
        assert min(site.gaps()[1:]) >= 0.06 - LOG_IS_EXACT_TO_S
        assert place.host(site.host)["claimed_by"] is None
    assert len(place.kept()) == 16
    third = place.comity("crawl", *seeds, "--json").json["summary"]
    assert third["pages"] == 0
    assert place.comity("verify-politeness").code == 0


def test_without_tracking_neither_status_nor_counters_are_touched(web: Web, place: Place) -> None:
    site = web.site(tree(4))
    place.comity("seeds", "add", site.url())
    before = place.host(site.host)
    place.crawl(site.url(), enable_domain_tracking=False)
    row = place.host(site.host)
    unchanged = (
        "status",
        "pages_crawled",
        "pages_discovered",
        "total_error_count",
        "crawl_depth_reached",
        "next_crawl_after",
    )
    assert {name: row[name] for name in unchanged} == {name: before[name] for name in unchanged}
    assert len(place.fetches(site.host)) == 4
    assert row["last_start_at"] is not None, "what the gate must remember is kept all the same"


def test_without_tracking_the_summary_says_what_the_row_says_and_a_worker_ends(web: Web, place: Place) -> None:
    place.env["ENABLE_DOMAIN_TRACKING"] = "false"
    site = web.site(tree(4))
    summary = place.comity("crawl", site.url(), "--json").json["summary"]
    (line,) = summary["hosts"]
    assert (line["status"], line["pages"], line["code"]) == ("pending", 4, "nothing_left")
    assert line["status"] == place.host(site.host)["status"]
    again = place.comity("crawl", site.url(), "--json")
    assert (again.code, again.json["summary"]["pages"], again.json["summary"]["code"]) == (0, 0, "nothing_left")
    other = web.site(tree(3))
    place.comity("seeds", "add", other.url())
    told = place.comity_apart("work", "--idle-exit", "--json", within_s=60)
    assert (told.code, len(other.pages())) == (0, 3)


def test_without_smart_scheduling_hosts_come_in_the_order_of_the_seeds(web: Web, place: Place) -> None:
    sites = [web.site(tree(1)) for _ in range(3)]
    file = place.folder / "seeds.txt"
    file.write_text("\n".join(f"{rank},{site.url()}" for rank, site in zip((3, 1, 2), sites, strict=True)))
    place.comity("crawl", "--seeds", file, "--concurrency", 1, "--delay", 0)
    assert len(place.kept()) == 3
    place.env["ENABLE_SMART_SCHEDULING"] = "false"
    place.execute("UPDATE domains SET status = 'pending', next_crawl_after = NULL, priority_score = seed_rank")
    for site in sites:
        site.log.clear()
    place.comity("crawl", "--seeds", file, "--concurrency", 1, "--delay", 0)
    arrivals = sorted((site.log[0].at, rank) for rank, site in zip((3, 1, 2), sites, strict=True))
    assert [rank for _at, rank in arrivals] == [1, 2, 3]


def test_without_claims_a_cooldown_still_holds(web: Web, place: Place) -> None:
    """A host that refused us is left alone, however it is taken."""
    site = web.site(fallback=Answer(403))
    place.crawl(site.url(), enable_claim_protocol=False)
    row = place.host(site.host)
    assert (row["status"], row["block_reason_code"]) == ("blocked", "forbidden")
    asked = len(site.log)
    place.crawl(site.url(), enable_claim_protocol=False)
    again = place.host(site.host)
    assert len(site.log) == asked
    assert (again["status"], again["next_crawl_after"]) == ("blocked", row["next_crawl_after"])
