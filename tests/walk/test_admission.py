"""However a URL comes to be known, the same questions are asked about it, in one order, and the answer is recorded."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from comity.database.frontier import unqueued
from comity.model.frontier import FoundBy
from comity.rules.canonical import web_address
from tests.walk.crawling import DONE, DROPPED, QUEUED, Place
from tests.walk.site import Answer, Web, page, redirect

ROBOTS = "User-agent: *\nDisallow: /no\nDisallow: /gone/no\n"
ENDLESS = "a/b/" * 8
# The target of each obstacle, with the code under which it is noted and the evidence that is written in full.
OBSTACLES = {
    "taken down": ("/gone/it", "takedown", "taken_down"),
    "forbidden": ("/no/it", "robots", "blocked_by_robots"),
    "taken down and forbidden": ("/gone/no/it", "takedown", "taken_down"),
    "a trap": (f"/it/{ENDLESS}", "trap", "trap"),
    "a trap and forbidden": (f"/no/{ENDLESS}", "robots", "blocked_by_robots"),
}
Routes = Callable[[str, str], dict[str, str | Answer]]
WAYS: dict[FoundBy, Routes] = {
    FoundBy.LINK: lambda _origin, path: {"/": page(path)},
    FoundBy.CANONICAL: lambda _origin, path: {"/": page(head=f'<link rel="canonical" href="{path}">')},
    FoundBy.IMAGE: lambda _origin, path: {"/": page(body=f'<img src="{path}">')},
    FoundBy.SITEMAP: lambda origin, path: {
        "/": page(),
        "/sitemap.xml": Answer(body=f"<urlset><url><loc>{origin}{path}</loc></url></urlset>", type="text/xml"),
    },
    FoundBy.REDIRECT: lambda _origin, path: {"/": page("/there"), "/there": redirect(path)},
}


# Images and redirects make no endless spaces: there the trap watch is not asked.
CASES = [
    (way, obstacle)
    for way in WAYS
    for obstacle in OBSTACLES
    if obstacle != "a trap" or way not in (FoundBy.IMAGE, FoundBy.REDIRECT)
]


@pytest.mark.parametrize(("way", "obstacle"), CASES, ids=[f"{way.name.lower()}: {name}" for way, name in CASES])
def test_whatever_names_a_url_it_is_denied_for_the_same_reason(
    web: Web, place: Place, way: FoundBy, obstacle: str
) -> None:
    path, code, kind = OBSTACLES[obstacle]
    site = web.site({}, robots=ROBOTS)
    site.routes.update(WAYS[way](site.url(""), path))
    assert place.comity("takedown", "add", site.url("/gone")).code == 0
    place.crawl(site.url(), sitemaps=way is FoundBy.SITEMAP, images=way is FoundBy.IMAGE)
    assert path not in site.paths
    with place.opened() as opened, opened.database.read() as connection:
        (noted,) = unqueued.of_url(connection, web_address(site.url(path)).key)
    assert (noted.code, noted.found_by) == ("redirect_target" if way is FoundBy.REDIRECT else code, way)
    assert [row["type"] for row in place.evidence(site.url(path))] == [kind]


@pytest.mark.parametrize("obstacle", ["taken down", "forbidden", "taken down and forbidden"])
def test_a_queued_url_is_asked_about_again_before_it_is_fetched(web: Web, place: Place, obstacle: str) -> None:
    """A takedown was added, or robots.txt changed, since it was queued."""
    path, _code, kind = OBSTACLES[obstacle]
    site = web.site({"/": page(path), path: page()})
    place.crawl(site.url(), max_pages=1)
    assert place.frontier(site.host)[site.url(path)] == QUEUED
    site.routes["/robots.txt"] = Answer(body=ROBOTS, type="text/plain")
    place.execute("DELETE FROM robots_cache")
    place.execute("INSERT INTO takedowns (domain_or_url) VALUES (?)", f"{site.host}/gone")
    place.crawl(site.url())
    assert path not in site.paths
    assert place.frontier(site.host)[site.url(path)] == (DROPPED if kind == "taken_down" else DONE)
    assert [row["type"] for row in place.evidence(site.url(path))] == [kind]
