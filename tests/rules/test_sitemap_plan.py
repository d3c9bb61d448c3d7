"""Which sitemaps of a host are read, and for whom they speak."""

from __future__ import annotations

from comity.model.sitemap import SitemapBounds, SitemapEntry
from comity.rules.canonical import resolve_link
from comity.rules.sitemap_plan import SitemapPlan, common_sitemap_paths
from comity.rules.tracking import DEFAULT_TRACKING

ORIGIN = "https://example.com"


def plan(*named: str, **bounds: int) -> SitemapPlan:
    return SitemapPlan("example.com", ORIGIN, named, bounds=SitemapBounds(**bounds), tracking=DEFAULT_TRACKING)


def taken(sitemaps: SitemapPlan) -> list[str]:
    urls = []
    while (planned := sitemaps.next()) is not None:
        urls.append(planned.address.url)
    return urls


def entries(*locs: str) -> list[SitemapEntry]:
    return [SitemapEntry(loc) for loc in locs]


def test_what_robots_names_is_read_in_its_order_and_once() -> None:
    named = (
        f"{ORIGIN}/b.xml",
        "/a.xml",
        f"{ORIGIN}/b.xml",
        " https://cdn.example.net/c.xml ",
        "ftp://example.com/d.xml",
    )
    assert taken(plan(*named)) == [f"{ORIGIN}/b.xml", f"{ORIGIN}/a.xml", "https://cdn.example.net/c.xml"]


def test_without_a_name_the_usual_places_are_tried_until_one_is_right() -> None:
    assert taken(plan()) == list(common_sitemap_paths(ORIGIN))
    sitemaps = plan()
    first = sitemaps.next()
    assert first is not None
    assert (first.address.url, first.is_guess) == (f"{ORIGIN}/sitemap.xml", True)
    second = sitemaps.next()
    assert second is not None
    sitemaps.read(second)
    assert taken(sitemaps) == []


def test_an_index_is_followed_on_its_host_and_ours() -> None:
    sitemaps = plan("https://cdn.example.net/index.xml")
    index = sitemaps.next()
    assert index is not None
    sitemaps.read(
        index, entries("one.xml", f"{ORIGIN}/two.xml", "https://other.example/three.xml", "one.xml", "mailto:x")
    )
    assert taken(sitemaps) == ["https://cdn.example.net/one.xml", f"{ORIGIN}/two.xml"]


def test_indexes_above_each_other_are_bounded() -> None:
    sitemaps = plan(f"{ORIGIN}/0.xml", most_depth=3)
    depth = 0
    while (planned := sitemaps.next()) is not None:
        depth += 1
        sitemaps.read(planned, entries(f"{ORIGIN}/{depth}.xml"))
    assert depth == 4


def test_the_number_of_files_is_bounded() -> None:
    sitemaps = plan(f"{ORIGIN}/index.xml", most_files=10)
    index = sitemaps.next()
    assert index is not None
    sitemaps.read(index, (SitemapEntry(f"{ORIGIN}/{at}.xml") for at in range(100_000)))
    assert len(taken(sitemaps)) == 9
    assert len(sitemaps.left_out()) == 30  # and the other hundred thousand are not even remembered


def test_entries_are_resolved_cleaned_and_kept_to_the_host() -> None:
    sitemaps = plan("https://cdn.example.net/maps/s.xml", most_entries=3)
    planned = sitemaps.next()
    assert planned is not None
    wanted = [
        (f"{ORIGIN}/a?utm_source=map&id=1", f"{ORIGIN}/a?id=1"),
        ("https://www.example.com/b", "https://www.example.com/b"),
        ("http://example.com/c#top", "http://example.com/c"),
        ("https://cdn.example.net/d", None),
        ("/e", None),
        ("https://example.com.evil.example/", None),
        (f"{ORIGIN}/one-too-many", None),
    ]
    for loc, url in wanted:
        address = sitemaps.accept(planned, SitemapEntry(loc))
        assert (address.url if address else None) == url


def test_collapsed_sub_domains_are_one_host() -> None:
    sitemaps = SitemapPlan("example.com", ORIGIN, ["https://shop.example.com/s.xml"], collapse=True)
    planned = sitemaps.next()
    assert planned is not None
    address = sitemaps.accept(planned, SitemapEntry("https://shop.example.com/a"))
    assert address == resolve_link("https://shop.example.com/a", ORIGIN, collapse=True)
