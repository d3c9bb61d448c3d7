"""`kill -9` at random moments: what was reported done is kept, what was in flight is repeated, no site notices."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from comity.database.connection import open_database
from comity.database.tables import crawl_runs, domains
from tests.servers.waiting import wait_until
from tests.sizes import sized
from tests.walk.crawling import Place
from tests.walk.forking import Apart
from tests.walk.site import LOG_IS_EXACT_TO_S, Answer, Asked, Site, Web, page, tree

DELAY_S = 0.12
ROBOTS = f"User-agent: *\nCrawl-delay: {DELAY_S}\n"
# One request under way at each site, and what came in the 50 ms before and waits to be settled together.
AT_RISK_PER_SITE = 2


def sites_to_crawl(web: Web, pages: int) -> list[Site]:
    """Three sites with pages of every fate: most are fine, one moves on, one is missing."""
    made = []
    for number in range(3):
        routes = tree(pages)
        leaf = list(routes)[-1]
        routes[leaf] = Answer(body=page("/moved", "/missing", title=f"site {number}"), is_gzipped=True)
        routes["/moved"] = Answer(302, headers={"Location": "/p1"})
        made.append(web.site(routes, robots="User-agent: *\nAllow: /\n"))
    return made


def slow_down(site: Site) -> None:
    """From now on the site asks for its delay, and its log is empty."""
    site.routes["/robots.txt"] = Answer(body=ROBOTS, type="text/plain")
    site.log.clear()


def contents(place: Place) -> dict[str, tuple[int | None, str | None]]:
    return {url: (row["http_status"], row["content_hash"]) for url, row in place.kept().items()}


def kill_somewhere(process: Apart, sites: list[Site], chance: random.Random) -> None:
    seen = sum(len(site.log) for site in sites)
    wanted = seen + chance.randrange(1, 12)
    wait_until(lambda: sum(len(site.log) for site in sites) >= wanted or process.poll() is not None, 60, "requests")
    process.kill()


@pytest.mark.parametrize(("kind", "pages", "kills"), [("sqlite", *sized((40, 15), (110, 50))), ("postgresql", 15, 3)])
def test_killed_again_and_again_a_crawl_ends_as_if_nothing_had_happened(
    web: Web, place: Place, request: pytest.FixtureRequest, tmp_path: Path, kind: str, pages: int, kills: int
) -> None:
    sites = sites_to_crawl(web, pages)
    command = ["crawl", *(site.url() for site in sites), "--delay", 0]
    undisturbed = Place(tmp_path / "undisturbed", place.server)
    undisturbed.folder.mkdir()
    assert undisturbed.comity_apart(*command, within_s=60).code == 0
    expected = contents(undisturbed)
    assert len(expected) > 2 * pages
    once = {site.host: Counter(site.paths) for site in sites}
    for site in sites:
        slow_down(site)
    if kind == "postgresql":
        place.env["COMITY_DATABASE_URL"] = request.getfixturevalue("migrated_postgres_url")
    chance = random.Random(20260207)
    for _ in range(kills):
        with place.begun(*command) as process:
            kill_somewhere(process, sites, chance)
    last = place.comity_apart(*command, within_s=60)
    assert last.code == 0, last.err
    assert contents(place) == expected
    for site in sites:
        asked = Counter(site.paths)
        assert set(asked) == set(once[site.host])
        again = asked - once[site.host]
        again.pop("/robots.txt", None)
        assert again.total() <= AT_RISK_PER_SITE * kills
        assert min(site.gaps()[1:]) >= DELAY_S - LOG_IS_EXACT_TO_S
        assert site.overlaps() == 0
    claims = place.comity("domains", "claims", "--json").json
    assert claims["holders"] == []
    assert place.comity("verify-politeness").code == 0
    idle = place.comity("crawl", sites[0].url(), "--json").json
    assert (idle["summary"]["pages"], len(idle["idle"])) == (0, 1)
    listed = {host["domain"]: host for host in place.comity("domains", "list", "--json").json}
    for site in sites:
        counted = listed[site.host]
        assert counted["status"] == "exhausted"
        assert counted["pages_crawled"] == sum(url.startswith(site.url()) for url in expected) - 1, "one is missing"
        assert counted["pages_discovered"] == counted["pages_crawled"] + 1


def test_the_pause_is_kept_across_a_kill(web: Web, place: Place) -> None:
    """Nobody knows when a killed crawler made its last request: its successor waits a full delay after its end."""
    site = web.site(tree(5), robots="User-agent: *\nCrawl-delay: 1.2\n")
    for number in (2, 3):
        with place.begun("crawl", site.url(), "--delay", 0) as process:
            wait_until(lambda number=number: len(site.log) >= number, 60, "the next request")
            process.kill()
    assert min(site.gaps()) >= 1.2


def test_a_crawl_into_the_same_folder_for_another_state_takes_nothing_away(web: Web, place: Place) -> None:
    """The pages of a crawl that was killed wait for their own state, whoever else keeps pages there meanwhile."""
    site = web.site(tree(12), robots=ROBOTS)
    with place.begun("crawl", site.url()) as process:
        wait_until(lambda: len(site.log) > 1 and len(place.fetches(site.host)) >= 4, 60, "pages")
        process.kill()
    done = {row["page_url"] for row in place.rows("SELECT page_url FROM fetches WHERE outcome = 'fetched'")}
    other = web.site(tree(2))
    stranger = Place(place.folder, place.server, {"COMITY_STATE": str(place.folder / "other.db")})
    assert stranger.comity_apart("crawl", other.url()).code == 0
    assert place.comity_apart("crawl", site.url()).code == 0
    kept = place.kept()
    assert done <= set(kept)
    assert len(kept) == 14


def test_two_that_start_at_once_after_a_kill_share_the_inheritance(web: Web, place: Place) -> None:
    sites = [web.site(tree(15), robots=ROBOTS) for _ in range(2)]
    with place.begun("crawl", *(site.url() for site in sites)) as process:
        wait_until(lambda: all(len(site.log) > 6 for site in sites), 60, "some pages")
        process.kill()
    with place.begun("crawl", sites[0].url()) as first, place.begun("crawl", sites[1].url()) as second:
        assert (first.wait(60), second.wait(60)) == (0, 0), (first.err, second.err)
    assert set(place.kept()) == {site.url(path) for site in sites for path in tree(15)}


def test_the_runs_of_those_who_died_are_over_when_the_next_begins(web: Web, place: Place) -> None:
    site = web.site(tree(200), robots=ROBOTS)
    with place.begun("crawl", site.url()) as process:
        wait_until(lambda: len(site.log) > 3 or process.poll() is not None, 60, "requests")
        process.kill()
    now = datetime.now(UTC)
    elsewhere = {  # a holder each, of another machine: how long ago it began, in how many processes, whether it holds
        "box-1:7:1:aa": (3, 1, False),
        "box-2:7:1:aa": (3, 1, True),
        "box-3:7:1:aa": (3, 4, False),
        "box-4:7:1:aa": (0, 1, False),
    }
    database = open_database(place.state)
    with database.write() as connection:
        for holder, (hours, processes, holds) in elsewhere.items():
            begun = now - timedelta(hours=hours)
            settings = {"processes": processes}
            connection.execute(insert(crawl_runs).values(holder=holder, settings=settings, started_at=begun))
            if holds:
                lease = {"claimed_by": holder, "claim_expires_at": now + timedelta(minutes=9)}
                connection.execute(insert(domains).values(domain="held.example", **lease))
    assert place.comity("crawl", site.url(), "--max-pages", "5").code == 0
    with database.read() as connection:
        column = crawl_runs.c
        found = connection.execute(select(column.holder, column.status, column.end_reason, column.ended_at)).all()
    database.close()
    statuses = {row.holder: row.status for row in found}
    assert [statuses.pop(holder) for holder in elsewhere] == ["failed", "running", "running", "running"]
    assert sorted(statuses.values()) == ["failed", "finished"]
    ended = {(row.end_reason, row.ended_at >= now) for row in found if row.status == "failed"}
    assert ended == {("died", True)}


def test_a_request_that_was_in_the_air_when_the_crawler_died_is_made_again(web: Web, place: Place) -> None:
    def slow_once(asked: Asked) -> Answer:
        return Answer(body=page(title="slow"), after_s=5.0 if asked.count == 1 else 0.0)

    site = web.site({"/": page("/slow", "/a"), "/slow": slow_once, "/a": page()})
    with place.begun("crawl", site.url()) as process:
        wait_until(lambda: "/slow" in site.paths, 60, "the slow page")
        process.kill()
    assert place.comity_apart("crawl", site.url()).code == 0
    assert len(site.of("/slow")) == 2
    assert set(place.kept()) == {site.url(path) for path in ("/", "/slow", "/a")}
