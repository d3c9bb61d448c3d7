"""A list of visits of its own: a query and a crawl of one host do not swallow each other's work."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from sqlalchemy import func, select

from comity.assemble import State
from comity.clock import SystemClock
from comity.database.connection import Database
from comity.database.tables import domain_frontier, visit_list_hosts, visit_lists
from comity.rules.canonical import web_address
from comity.walk.crawl.progress import RunSummary
from comity.walk.visit_list import VisitList, add_visits, end_list, forget_list, hosts_to_visit, open_list
from tests.walk.crawling import Place
from tests.walk.site import Answer, Web, page, tree

LIMIT_S = 60.0


async def visited(state: State, visits: VisitList) -> RunSummary:
    async with state.fetcher() as fetcher:
        hosts = hosts_to_visit(state.database, visits)
        return await state.crawl(fetcher, hosts, visits=visits).run()


def query(place: Place, name: str, urls: Iterable[str], **changes: object) -> RunSummary:
    with place.opened(**changes) as state:
        visits = open_list(state.database, state.clock, "sql", name)
        add_visits(state.database, visits, map(web_address, urls))
        summary = asyncio.run(asyncio.wait_for(visited(state, visits), LIMIT_S))
        if not hosts_to_visit(state.database, visits):
            end_list(state.database, state.clock, visits)
        return summary


def row(place: Place) -> dict[str, object]:
    """A host's row, but for its lease and its gate."""
    (found,) = place.rows("SELECT * FROM domains")
    gate = ("lease_token", "version", "updated_at", "next_fetch_at", "last_start_at", "latency", "claimed", "adaptive")
    return {name: value for name, value in found.items() if not name.startswith(gate)}


def test_a_list_visits_what_a_crawl_is_done_with_and_changes_nothing_of_it(place: Place, web: Web) -> None:
    site = web.site(tree(12))
    assert place.crawl(site.url("/")).pages == 12
    before, frontier = row(place), place.rows("SELECT * FROM domain_frontier ORDER BY id")
    site.log.clear()
    summary = query(place, "q", [site.url("/"), site.url("/")], follow_links=False)
    assert (summary.pages, site.pages()) == (1, ["/"])
    assert row(place) == before
    of_crawl = "SELECT * FROM domain_frontier WHERE domain_id IN (SELECT id FROM domains) ORDER BY id"
    assert place.rows(of_crawl) == frontier
    assert [run["door"] for run in place.rows("SELECT door FROM crawl_runs ORDER BY started_at")] == ["crawl", "sql"]


def test_a_crawl_finds_what_a_list_was_done_with(place: Place, web: Web) -> None:
    site = web.site(tree(12))
    assert query(place, "q", [site.url("/")], follow_links=True).pages == 12
    (host,) = place.rows("SELECT status, is_seeded, pages_crawled, frontier_size FROM domains")
    assert host == {"status": "pending", "is_seeded": 0, "pages_crawled": 0, "frontier_size": 0}
    site.log.clear()
    assert place.crawl(site.url("/")).pages == 12
    assert len(site.pages()) == 12


def test_two_lists_of_one_host_have_their_own_urls(place: Place, web: Web) -> None:
    site = web.site({"/a": page(), "/b": page()})
    assert query(place, "one", [site.url("/a"), site.url("/b")]).pages == 2
    assert query(place, "two", [site.url("/b")]).pages == 1
    assert sorted(site.pages()) == ["/a", "/b", "/b"]


def test_an_unfinished_list_goes_on_and_a_finished_one_begins_anew(place: Place, web: Web) -> None:
    site = web.site(tree(12))
    assert query(place, "q", [site.url("/")], follow_links=True, max_pages=5).pages == 5
    assert query(place, "q", [site.url("/")], follow_links=True).pages == 7
    assert len(site.pages()) == len(set(site.pages())) == 12
    assert query(place, "q", [site.url("/")], follow_links=True).pages == 12


def test_a_list_reads_sitemaps_for_itself(place: Place, web: Web) -> None:
    sitemap = "<urlset><url><loc>{0}/a</loc></url><url><loc>{0}/b</loc></url></urlset>"
    site = web.site({"/": page(), "/a": page(), "/b": page()})
    site.routes["/sitemap.xml"] = Answer(body=sitemap.format(site.url("")), type="application/xml")
    assert place.crawl(site.url("/"), sitemaps=True, follow_links=False).pages == 3
    assert query(place, "q", [site.url("/")], sitemaps=True, follow_links=False).pages == 3


def test_a_forgotten_list_leaves_nothing(database: Database) -> None:
    clock = SystemClock()
    visits = open_list(database, clock, "audit", "example.org")
    assert add_visits(database, visits, map(web_address, ["https://example.org/", "example.net"])) == 2
    assert add_visits(database, visits, [web_address("https://example.org/")]) == 0
    assert hosts_to_visit(database, visits) == ["example.net", "example.org"]
    assert open_list(database, clock, "audit", "example.org").list_id == visits.list_id
    forget_list(database, visits)
    with database.read() as connection:
        for table in (domain_frontier, visit_lists, visit_list_hosts):
            assert connection.execute(select(func.count()).select_from(table)).scalar_one() == 0
