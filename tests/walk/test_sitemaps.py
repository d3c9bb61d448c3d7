"""Sitemaps in a crawl: which files are asked for, what they bring, and how a site that lies about them fares."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from tests.servers.waiting import wait_until
from tests.walk.crawling import DONE, QUEUED, Place
from tests.walk.site import LOG_IS_EXACT_TO_S, Answer, Asked, Route, Site, Web, page, redirect, tree

XML = "application/xml"


def urlset(*entries: str) -> str:
    """A sitemap of pages; an entry is an address, or whole markup."""
    urls = "".join(each if each[:1] == "<" else f"<url><loc>{each}</loc></url>" for each in entries)
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'


def index(*locations: str) -> str:
    named = "".join(f"<sitemap><loc>{location}</loc></sitemap>" for location in locations)
    return f"<sitemapindex>{named}</sitemapindex>"


def xml(text: str) -> Answer:
    return Answer(body=text, type=XML)


def pages(*paths: str) -> dict[str, Route]:
    return {path: page(title=path) for path in paths}


def robots_naming(*sitemaps: str, delay_s: float | None = None) -> str:
    delay = f"Crawl-delay: {delay_s}\n" if delay_s is not None else ""
    return f"User-agent: *\n{delay}" + "".join(f"Sitemap: {sitemap}\n" for sitemap in sitemaps)


def files(place: Place, site: Site | None = None) -> dict[str, str]:
    """Each sitemap file that the state knows, with what became of it."""
    rows = place.rows("SELECT url, state FROM sitemaps")
    return {row["url"].removeprefix(site.url("") if site else ""): row["state"] for row in rows}


def detail(place: Place, url: str) -> str:
    (row,) = place.rows("SELECT detail FROM sitemaps WHERE url = ?", url)
    return str(row["detail"])


def is_polite(place: Place) -> bool:
    return place.comity("verify-politeness").code == 0


# Which files are asked for.


def test_that_there_is_no_sitemap_is_not_remembered_where_a_url_is_given_directly(web: Web, place: Place) -> None:
    """That a file was not found is cached, but not for direct URLs."""
    site = web.site(pages("/", "/one", "/two", "/three"))
    place.crawl(site.url("/one"), sitemaps=True)
    assert [path for path in site.pages() if "sitemap" in path] == ["/sitemap.xml", "/sitemap_index.xml"]
    assert files(place, site) == {}, "nothing is cached for a direct URL"
    site.routes["/sitemap.xml"] = xml(urlset(site.url("/three")))
    place.crawl(site.url("/two"), sitemaps=True)
    assert site.pages()[-3:].count("/three") == 1


def test_that_there_is_no_sitemap_is_remembered_for_a_host_but_a_direct_url_looks_again(web: Web, place: Place) -> None:
    site = web.site(pages("/", "/one", "/two"))
    place.crawl(site.url(), sitemaps=True)
    assert files(place, site) == {"/sitemap.xml": "missing", "/sitemap_index.xml": "missing"}
    site.routes["/sitemap.xml"] = xml(urlset(site.url("/two")))
    place.comity("domains", "reset", site.host)
    place.crawl(site.url(), sitemaps=True)
    assert "/two" not in site.pages(), "what was not found today is not asked for again"
    place.crawl(site.url("/one"), sitemaps=True)
    assert "/two" in site.pages()


def test_every_sitemap_that_robots_names_is_read_wherever_its_name_points(web: Web, place: Place) -> None:
    site = web.site(
        {"/": page()} | pages("/1", "/2", "/3"), robots=robots_naming("/one.xml", "two.xml", "/one.xml", "ftp://x/y")
    )
    site.routes |= {"/one.xml": xml(urlset(site.url("/1"), "/2")), "/two.xml": xml(urlset(site.url("/3")))}
    place.crawl(site.url(), sitemaps=True)
    assert Counter(site.pages()) == Counter(["/", "/one.xml", "/two.xml", "/1", "/2", "/3"])
    assert files(place, site) == {"/one.xml": "read", "/two.xml": "read"}
    assert is_polite(place)


@pytest.mark.roomy
def test_a_sitemap_on_another_host_is_asked_for_under_that_hosts_own_terms(web: Web, place: Place) -> None:
    other = web.site({"/not-ours": page()}, robots="User-agent: *\nCrawl-delay: 0.3\nDisallow: /closed\n")
    site = web.site(
        {"/": page()} | pages("/a", "/b"),
        robots=robots_naming(other.url("/map.xml"), other.url("/closed/map.xml"), other.url("/more.xml")),
    )
    other.routes["/map.xml"] = xml(urlset(site.url("/a"), other.url("/not-ours"), "/also-not-ours"))
    other.routes["/more.xml"] = xml(urlset(site.url("/b")))
    place.crawl(site.url(), sitemaps=True)
    assert sorted(site.pages()) == ["/", "/a", "/b"]
    assert other.paths == ["/robots.txt", "/map.xml", "/more.xml"]
    assert min(other.gaps()) >= 0.3 - LOG_IS_EXACT_TO_S
    assert other.overlaps() == 0
    assert files(place)[other.url("/closed/map.xml")] == "refused"
    assert {row["type"] for row in place.evidence(other.url("/closed/map.xml"))} == {"blocked_by_robots"}
    held = place.rows("SELECT domain, claimed_by, status, is_seeded FROM domains WHERE domain = ?", other.host)
    assert held == [{"domain": other.host, "claimed_by": None, "status": "pending", "is_seeded": 0}]
    assert is_polite(place)


@pytest.mark.parametrize(
    ("present", "asked"),
    [
        ("/sitemap.xml", ["/sitemap.xml"]),
        ("/sitemap_index.xml", ["/sitemap.xml", "/sitemap_index.xml"]),
        ("", ["/sitemap.xml", "/sitemap_index.xml"]),
    ],
)
def test_without_a_name_the_two_usual_places_are_tried(web: Web, place: Place, present: str, asked: list[str]) -> None:
    site = web.site({"/": page()} | pages("/found"))
    if present:
        site.routes[present] = xml(urlset(site.url("/found")))
    place.crawl(site.url(), sitemaps=True)
    assert [path for path in site.pages() if path.startswith("/sitemap")] == asked
    assert ("/found" in site.pages()) is bool(present)


def test_what_was_looked_for_in_vain_is_not_looked_for_again(web: Web, place: Place) -> None:
    site = web.site(tree(8))
    place.crawl(site.url(), sitemaps=True)
    assert sorted(files(place, site).items()) == [("/sitemap.xml", "missing"), ("/sitemap_index.xml", "missing")]
    site.log.clear()
    place.execute("UPDATE domains SET status = 'pending', next_crawl_after = NULL")
    place.crawl(site.url(), sitemaps=True)
    assert sorted(site.pages()) == sorted(tree(8))
    site.log.clear()
    place.execute("UPDATE domains SET status = 'pending', next_crawl_after = NULL")
    place.execute("UPDATE sitemaps SET asked_at = datetime(asked_at, '-2 days')")
    place.crawl(site.url(), sitemaps=True)
    assert Counter(site.pages()) == Counter([*tree(8), "/sitemap.xml", "/sitemap_index.xml"]), "a day has passed"


def test_a_file_is_asked_for_once_however_many_pages_wait_beside_it(web: Web, place: Place) -> None:
    site = web.site(tree(30, width=20))
    site.routes["/sitemap.xml"] = xml(urlset(*(site.url(path) for path in tree(30))))
    place.crawl(*(site.url(path) for path in list(tree(30))[:10]), sitemaps=True, per_host=8)
    assert Counter(site.pages()) == Counter([*tree(30), "/sitemap.xml"])


def test_indexes_lead_to_indexes_but_never_in_circles_nor_too_deep(web: Web, place: Place) -> None:
    site = web.site({"/": page()} | pages("/a", "/b", "/deep"), robots=robots_naming("/0.xml"))
    site.routes |= {
        "/0.xml": xml(index("/0.xml", "/1.xml", "/1.xml", "/leaf.xml", "mailto:x@example.com")),
        "/1.xml": xml(index("/2.xml", "/0.xml", site.url("/1.xml"))),
        "/2.xml": xml(index("/3.xml", "/1.xml")),
        "/3.xml": xml(index("/4.xml", "/0.xml") + urlset("/b")),
        "/4.xml": xml(urlset("/deep")),
        "/leaf.xml": xml(urlset("/a")),
    }
    place.crawl(site.url(), sitemaps=True)
    asked = Counter(site.pages())
    assert set(asked.values()) == {1}
    assert {"/0.xml", "/1.xml", "/2.xml", "/3.xml", "/leaf.xml", "/a"} <= set(asked)
    assert not {"/4.xml", "/deep"} & set(asked)
    assert "planned" not in files(place).values()


def test_an_index_does_not_send_us_to_hosts_that_robots_did_not_name(web: Web, place: Place) -> None:
    stranger = web.site({"/map.xml": xml(urlset("/x"))})
    site = web.site({"/": page()}, robots=robots_naming("/index.xml"))
    site.routes["/index.xml"] = xml(index(stranger.url("/map.xml")))
    place.crawl(site.url(), sitemaps=True)
    assert stranger.log == []


def test_no_more_files_are_asked_for_than_the_setting_says(web: Web, place: Place) -> None:
    site = web.site({"/": page()}, robots=robots_naming("/index.xml"), fallback=xml(urlset("/")))
    site.routes["/index.xml"] = xml(index(*(f"/{number}.xml" for number in range(3000))))
    place.crawl(site.url(), sitemaps=True, max_sitemaps=7)
    assert len([path for path in site.pages() if path.endswith(".xml")]) == 7
    assert place.host(site.host)["status"] == "exhausted"
    site.log.clear()
    place.execute("UPDATE domains SET status = 'pending', next_crawl_after = NULL")
    place.crawl(site.url(), sitemaps=True, max_sitemaps=7)
    assert site.pages() == ["/"]


# What is in them.

ZIPPED = gzip.compress(b"<urlset><url><loc>/found</loc></url></urlset>")
RSS = "<rss version='2.0'><channel><link>/</link><item><title>x</title><link>/found</link></item></channel></rss>"
ATOM = "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link rel='alternate' href='/found'/></entry></feed>"


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/map.xml.gz", Answer(body=ZIPPED, type="application/x-gzip")),
        ("/map.xml.gz", Answer(body=ZIPPED, type="application/octet-stream")),
        ("/map.gz", Answer(body=ZIPPED, type=None)),
        ("/map.xml", Answer(body=ZIPPED, type="application/gzip")),
        ("/map.xml.gz", Answer(body="<urlset><url><loc>/found</loc></url></urlset>", type=XML, is_gzipped=True)),
        ("/map.xml.gz", Answer(body=ZIPPED, type="application/gzip", is_gzipped=True)),
        ("/map.xml.gz", Answer(body=ZIPPED[:-9], type="application/gzip")),
        ("/map.txt", Answer(body="/found\r\n", type="text/plain")),
        ("/map.txt", Answer(body="\ufeffHTTP://HOST/found\n", type="text/plain; charset=utf-8")),
        ("/rss", Answer(body=RSS, type="application/rss+xml")),
        ("/atom", Answer(body=ATOM, type="application/atom+xml")),
        ("/map.xml", Answer(body="<urlset><url><loc>/found</loc></url><url><loc>/cut", type=XML)),
        ("/map.xml", Answer(body="<urlset><url><loc>/found</url><url><<loc></urlset", type=XML)),
        ("/map.xml", Answer(body="<!DOCTYPE x [<!ENTITY a 'b'>]><urlset><url><loc> /found </loc></url>", type=XML)),
        ("/map.xml", Answer(body="<urlset><url><loc>/found</loc></url></urlset>".encode("utf-16"), type=XML)),
        ("/map.php", Answer(body="<urlset><url><loc><![CDATA[/found]]></loc></url></urlset>", type="text/html")),
    ],
)
def test_a_sitemap_is_read_in_whatever_dress_it_comes(web: Web, place: Place, path: str, answer: Answer) -> None:
    site = web.site({"/": page()} | pages("/found"), robots=robots_naming(path))
    text = answer.body.replace("HTTP://HOST", site.url("")) if isinstance(answer.body, str) else answer.body
    site.routes[path] = Answer(body=text, type=answer.type, is_gzipped=answer.is_gzipped)
    if path == "/map.txt" and isinstance(text, str) and text.startswith("/"):
        site.routes[path] = Answer(body=site.url(text), type=answer.type)
    place.crawl(site.url(), sitemaps=True)
    assert site.pages()[-1] == "/found"
    assert set(site.pages()) == {"/", path, "/found"}
    assert files(place, site) == {path: "read"}


@pytest.mark.parametrize(
    ("answer", "state", "times"),
    [
        (Answer(body=page("/trap", title="Not found, sorry"), type="text/html"), "missing", 1),
        (Answer(body="", type=XML), "missing", 1),
        (Answer(body=b"\x00\x01\x02" * 500, type=XML), "missing", 1),
        (Answer(body='{"loc": "/trap"}', type="application/json"), "missing", 1),
        (Answer(204), "missing", 1),
        (Answer(404, urlset("/trap")), "missing", 1),
        (Answer(410, urlset("/trap")), "missing", 1),
        (Answer(403, urlset("/trap")), "missing", 1),
        (Answer(401, urlset("/trap")), "missing", 1),
        (Answer(302, headers={"Location": "javascript:void(0)"}), "missing", 1),
        (Answer(302, headers={"Location": "/map.xml"}), "missing", 6),
        (Answer(500, urlset("/trap")), "failed", 3),
        (Answer(drops=True), "failed", 3),
        (Answer(body=urlset("/trap"), type=XML, headers={"Content-Encoding": "gzip"}), "failed", 1),
    ],
)
def test_a_sitemap_that_is_none_brings_nothing_and_harms_nothing(
    web: Web, place: Place, monkeypatch: pytest.MonkeyPatch, answer: Answer, state: str, times: int
) -> None:
    monkeypatch.setattr("comity.walk.read_sitemaps.retry_delay", lambda _attempt, _cap_s: 0.05)
    site = web.site(
        {"/": page("/a"), "/map.xml": answer, "/a": page()} | pages("/trap"), robots=robots_naming("/map.xml")
    )
    summary = place.crawl(site.url(), sitemaps=True)
    assert (summary.pages, summary.status) == (2, "finished")
    assert Counter(site.pages()) == Counter({"/": 1, "/a": 1, "/map.xml": times})
    assert files(place, site) == {"/map.xml": state}
    assert place.host(site.host)["status"] == "exhausted"
    assert is_polite(place)


def test_a_server_that_fails_is_asked_again_after_a_pause_and_then_read(web: Web, place: Place) -> None:
    def flaky(asked: Asked) -> Answer:
        return xml(urlset("/found")) if asked.count == 2 else Answer(503)

    site = web.site({"/": page(), "/sitemap.xml": flaky} | pages("/found"))
    place.crawl(site.url(), sitemaps=True)
    first, second = site.of("/sitemap.xml")
    assert second.at - first.at >= 1.0
    assert "/found" in site.pages()
    assert is_polite(place)


@pytest.mark.roomy
def test_a_site_that_asks_to_wait_gets_it_from_its_pages_too(web: Web, place: Place) -> None:
    def busy(asked: Asked) -> Answer:
        return xml(urlset("/found")) if asked.count > 1 else Answer(429, headers={"Retry-After": "2"})

    site = web.site(tree(6), robots=robots_naming("/map.xml"))
    site.routes |= {"/map.xml": busy, "/found": page()}
    place.crawl(site.url(), sitemaps=True)
    asked_at = site.of("/map.xml")[0].at
    after = [seen.at for seen in site.log if seen.at > asked_at]
    assert min(after) - asked_at >= 2.0 - LOG_IS_EXACT_TO_S
    assert files(place, site) == {"/map.xml": "read"}
    assert sorted(site.pages()) == sorted([*tree(6), "/map.xml", "/map.xml", "/found"])
    assert is_polite(place)


def test_a_site_that_asks_for_an_hour_is_left_and_its_sitemap_stays_planned(web: Web, place: Place) -> None:
    site = web.site({"/": page()} | pages("/found"), robots=robots_naming("/map.xml", "/second.xml"))
    site.routes |= {"/map.xml": Answer(429, headers={"Retry-After": "3600"}), "/second.xml": xml(urlset("/found"))}
    place.crawl(site.url(), sitemaps=True, within_s=60)
    assert len(site.of("/map.xml")) == 1
    assert files(place, site) == {"/map.xml": "planned", "/second.xml": "planned"}
    assert place.host(site.host)["next_crawl_after"] is not None
    assert is_polite(place)


def test_a_sitemap_that_moved_is_found_where_it_is_now(web: Web, place: Place) -> None:
    other = web.site(robots="User-agent: *\nDisallow: /closed\n")
    site = web.site({"/": page()} | pages("/a", "/new/b", "/c"), robots=robots_naming("/1.xml", "/2.xml", "/3.xml"))
    site.routes |= {
        "/1.xml": redirect("/new/1.xml", 301),
        "/new/1.xml": xml(urlset("/a", "b")),
        "/2.xml": redirect(other.url("/2.xml"), 307),
        "/3.xml": redirect(other.url("/closed/3.xml")),
    }
    other.routes["/2.xml"] = xml(urlset(site.url("/c"), "/d"))
    place.crawl(site.url(), sitemaps=True)
    assert Counter(site.pages()) == Counter(["/", "/1.xml", "/new/1.xml", "/2.xml", "/3.xml", "/a", "/new/b", "/c"])
    assert other.paths == ["/robots.txt", "/2.xml"]
    assert files(place, site) == {"/1.xml": "read", "/2.xml": "read", "/3.xml": "refused"}
    purposes = place.rows("SELECT url, purpose FROM politeness_ledger")
    assert {row["url"].split("/", 3)[3] for row in purposes if row["purpose"] == "sitemap"} == {
        "1.xml",
        "2.xml",
        "3.xml",
    }
    assert is_polite(place)


def test_robots_and_takedowns_close_a_sitemap_like_any_page(web: Web, place: Place) -> None:
    robots = "User-agent: *\nDisallow: /hidden\nSitemap: /hidden/map.xml\nSitemap: /gone/map.xml\nSitemap: /open.xml\n"
    site = web.site({"/": page()} | pages("/a"), robots=robots, fallback=xml(urlset("/never")))
    site.routes["/open.xml"] = xml(urlset("/a"))
    place.comity("takedown", "add", site.url("/gone/"))
    place.crawl(site.url(), sitemaps=True)
    assert sorted(site.pages()) == ["/", "/a", "/open.xml"]
    assert files(place, site) == {"/hidden/map.xml": "refused", "/gone/map.xml": "refused", "/open.xml": "read"}
    assert "robots" in detail(place, site.url("/hidden/map.xml"))
    assert "taken down" in detail(place, site.url("/gone/map.xml"))
    assert [row["type"] for row in place.evidence(site.url("/gone/map.xml"))] == ["taken_down"]


# What becomes of the entries.


def test_entries_are_asked_of_robots_and_takedowns_and_refused_with_evidence(web: Web, place: Place) -> None:
    """However often they are listed, and whatever is said of them, nothing of them is queued."""
    site = web.site(
        {"/": page("/private/linked")} | pages("/a"), robots="User-agent: *\nDisallow: /private\nSitemap: /map.xml\n"
    )
    hinted = "<url><loc>{}</loc><lastmod>2024-05-06</lastmod><priority>0.9</priority></url>"
    closed = [hinted.format(path) for path in ("/private/x", "/private/x", "/private/linked", "/gone/y", "/gone/y")]
    site.routes["/map.xml"] = xml(urlset(*closed, "/a", *closed))
    place.comity("takedown", "add", site.url("/gone/"))
    place.crawl(site.url(), sitemaps=True)
    assert place.frontier(site.host) == {site.url("/"): DONE, site.url("/a"): DONE}
    assert place.host(site.host)["status"] == "exhausted"
    assert [row["type"] for row in place.evidence(site.url("/private/x"))] == ["blocked_by_robots"]
    assert [row["type"] for row in place.evidence(site.url("/private/linked"))] == ["blocked_by_robots"]
    assert [row["type"] for row in place.evidence(site.url("/gone/y"))] == ["taken_down"]


def test_entries_are_the_same_pages_as_links_however_they_are_written(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a", "/b~"), "/a": page(), "/b~": page()} | pages("/c?id=1", "/%C3%A9"))
    host = site.url("").replace("http:", "HTTP:")
    site.routes["/sitemap.xml"] = xml(
        urlset(
            site.url("/a#part"),
            f"{host}/a",
            "/x/../a",
            site.url("/b~"),
            site.url("/c?utm_source=map&amp;id=1&amp;fbclid=zzz"),
            "/c?id=1",
            "/é",
            "/%C3%A9",
            "",
            "javascript:alert(1)",
            "http://",
            "http://[::1",
            "https://elsewhere.example/z",
            "/" + "x" * 9000,
        )
    )
    place.crawl(site.url(), sitemaps=True)
    assert Counter(site.pages()) == Counter(["/", "/sitemap.xml", "/a", "/b~", "/c?id=1", "/%C3%A9"])


def test_what_a_sitemap_says_of_a_page_is_kept_also_of_one_that_is_known(web: Web, place: Place) -> None:
    site = web.site(
        {"/": page("/linked"), "/linked": page()} | pages("/new", "/zero", "/odd"), robots=robots_naming("/m")
    )
    site.routes["/m"] = xml(
        urlset(
            "<url><loc>/</loc><lastmod>2024-02-03</lastmod><changefreq>daily</changefreq><priority>1.0</priority></url>",
            "<url><loc>/linked</loc><lastmod>2025-01-02T03:04:05+02:00</lastmod></url>",
            "<url><loc>/new</loc><changefreq>WEEKLY</changefreq><priority>0.3</priority></url>",
            "<url><loc>/zero</loc><priority>0.0</priority></url>",
            "<url><loc>/odd</loc><lastmod>0001-01-01</lastmod><changefreq>often</changefreq><priority>1e999</priority></url>",
            "<url><loc>/odd</loc><lastmod>9999-12-31T23:59:59-14:00</lastmod><priority>NaN</priority></url>",
        )
    )
    place.crawl(site.url(), sitemaps=True)
    rows = place.rows("SELECT url, lastmod, changefreq, sitemap_priority FROM domain_frontier")
    said = {row.pop("url").removeprefix(site.url("")): tuple(row.values()) for row in rows}
    assert said["/"][0].startswith("2024-02-03 00:00:00")
    assert said["/"][1:] == ("daily", 1.0)
    assert said["/linked"][0].startswith("2025-01-02 01:04:05")
    assert said["/new"] == (None, "weekly", 0.3)
    assert said["/zero"] == (None, None, 0.0)
    assert set(said) == {"/", "/linked", "/new", "/zero", "/odd"}
    assert len(site.pages()) == len(set(site.pages())) == 6
    place.execute("UPDATE domains SET status = 'pending', next_crawl_after = NULL")
    place.execute("UPDATE sitemaps SET asked_at = datetime(asked_at, '-2 days')")
    site.routes["/m"] = xml(urlset("<url><loc>/linked</loc><lastmod>2026-01-01</lastmod></url>"))
    place.crawl(site.url(), sitemaps=True)
    (row,) = place.rows("SELECT lastmod FROM domain_frontier WHERE url = ?", site.url("/linked"))
    assert row["lastmod"].startswith("2026-01-01"), "what it says today"


def test_a_page_that_was_refused_as_a_trap_is_not_queued_by_what_is_said_of_it(web: Web, place: Place) -> None:
    far = "/calendar/2099-01-01"
    site = web.site({"/": page("/a"), "/a": page(far)}, robots=robots_naming("/m"))
    entry = f"<url><loc>{far}</loc><lastmod>2024-05-06</lastmod></url>"
    site.routes["/m"] = lambda _asked: Answer(body=urlset(entry, entry), type=XML, after_s=0.3)
    place.crawl(site.url(), sitemaps=True, per_host=2)
    assert QUEUED not in place.frontier(site.host).values()
    assert place.host(site.host)["status"] == "exhausted"


# What the crawl was told.


def test_sitemaps_can_be_left_alone(web: Web, place: Place) -> None:
    site = web.site({"/": page()} | pages("/a"), robots=robots_naming("/map.xml"))
    site.routes["/map.xml"] = xml(urlset("/a"))
    place.env["COMITY_SITEMAPS"] = "true"
    assert place.comity("crawl", site.url(), "--no-sitemaps").code == 0
    assert site.pages() == ["/"]
    other = web.site({"/": page()} | pages("/a"), robots=robots_naming("/map.xml"))
    other.routes["/map.xml"] = xml(urlset("/a"))
    assert place.comity("crawl", other.url(), "--max-depth", 0).code == 0
    assert "/map.xml" not in other.pages(), "what it names is one step from a seed"
    assert place.comity("crawl", other.url(), "--max-depth", 1).code == 0
    assert "/a" in other.pages(), "a larger limit reads it"


def test_without_links_the_sitemap_alone_says_what_is_fetched(web: Web, place: Place) -> None:
    site = web.site({"/": page("/linked"), "/listed": page("/linked", "/deeper")} | pages("/linked", "/deeper"))
    site.routes["/sitemap.xml"] = xml(urlset("/listed"))
    place.env["COMITY_SITEMAPS"] = "true"
    assert place.comity("crawl", site.url(), "--no-follow-links").code == 0
    assert sorted(site.pages()) == ["/", "/listed", "/sitemap.xml"]


def test_entries_are_one_step_from_the_seed(web: Web, place: Place) -> None:
    site = web.site({"/": page(), "/1": page("/2"), "/2": page("/3"), "/3": page()})
    site.routes["/sitemap.xml"] = xml(urlset("/1"))
    place.crawl(site.url(), sitemaps=True, max_depth=2)
    assert sorted(site.pages()) == ["/", "/1", "/2", "/sitemap.xml"]
    depths = place.rows("SELECT url, depth FROM domain_frontier WHERE state <> 3")
    assert {row["url"][-1]: row["depth"] for row in depths} == {"/": 0, "1": 1, "2": 2}


def test_a_page_limit_below_the_sitemap_is_kept_and_the_next_run_goes_on(web: Web, place: Place) -> None:
    names = [f"/{number}" for number in range(60)]
    site = web.site({"/": page()} | pages(*names), robots=robots_naming(*(f"/{part}.xml" for part in range(6))))
    for part in range(6):
        site.routes[f"/{part}.xml"] = xml(urlset(*names[part::6]))
    first = place.crawl(site.url(), sitemaps=True, max_pages=3)
    assert first.pages == 3
    while place.host(site.host)["status"] != "exhausted":
        assert place.crawl(site.url(), sitemaps=True, max_pages=20).pages > 0
    assert Counter(site.pages()) == Counter(["/", *names, *(f"/{part}.xml" for part in range(6))])


def test_a_closed_front_page_does_not_hide_the_sitemap(web: Web, place: Place) -> None:
    site = web.site(pages("/a", "/b"), robots="User-agent: *\nDisallow: /$\nSitemap: /map.xml\n")
    site.routes["/map.xml"] = xml(urlset("/a", "/b"))
    place.crawl(site.url(), sitemaps=True)
    assert sorted(site.pages()) == ["/a", "/b", "/map.xml"]


# The site's own view.


@pytest.mark.roomy
def test_pages_and_sitemaps_take_turns_at_the_sites_own_pace(web: Web, place: Place) -> None:
    delay_s = 0.05
    names = [f"/x{number}" for number in range(12)]
    site = web.site(tree(12) | pages(*names), robots=robots_naming("/index.xml", delay_s=delay_s))
    site.routes["/index.xml"] = xml(index(*(f"/{number}.xml" for number in range(12))))
    for number in range(12):
        site.routes[f"/{number}.xml"] = xml(urlset(names[number]))
    assert place.comity_apart("crawl", site.url(), "--sitemaps", "--delay", 0).code == 0
    assert Counter(site.pages()) == Counter([*tree(12), *names, "/index.xml", *(f"/{n}.xml" for n in range(12))])
    assert min(site.gaps()[1:]) >= delay_s - LOG_IS_EXACT_TO_S
    assert site.overlaps() == 0
    first_half = site.pages()[:18]
    assert 5 <= sum(path.endswith(".xml") for path in first_half) <= 12, "neither waits for the other"
    ledger = place.rows("SELECT purpose, count(*) AS requests FROM politeness_ledger GROUP BY purpose")
    assert {row["purpose"]: row["requests"] for row in ledger} == {"robots": 1, "sitemap": 13, "page": 24}
    assert is_polite(place)


@pytest.mark.roomy
def test_killed_amid_a_large_index_nothing_that_was_read_is_asked_for_again(web: Web, place: Place) -> None:
    """The killed crawls end at different moments, also where every page that is known was fetched."""
    parts = [f"/part{number}.xml" for number in range(24)]
    site = web.site({"/": page()}, robots=robots_naming("/index.xml", "/last.xml", delay_s=0.03))
    names = [f"/{number}-{each}" for number in range(24) for each in range(2)]
    site.routes |= pages(*names, "/only-here") | {
        "/index.xml": xml(index(*parts)),
        "/last.xml": xml(urlset("/only-here")),
    }
    for number, part in enumerate(parts):
        site.routes[part] = xml(urlset(*names[2 * number : 2 * number + 2]))
    command = ["crawl", site.url(), "--delay", 0, "--sitemaps"]
    repeated: list[tuple[int, set[str]]] = []
    for wanted in (3, 9, 23, 34):
        with place.begun(*command) as process:
            wait_until(lambda wanted=wanted: len(site.log) >= wanted or process.poll() is not None, 60, "requests")
            process.kill()
        noted = {url for url, state in files(place, site).items() if state == "read"}
        noted |= {url.removeprefix(site.url("")) for url, state in place.frontier(site.host).items() if state == DONE}
        repeated.append((len(site.log), noted))
    last = place.comity_apart(*command, within_s=60)
    assert last.code == 0, last.err
    for before, noted in repeated:
        assert not noted & set(site.paths[before:]), "what was noted is not asked for again"
    asked = Counter(site.pages())
    assert set(asked) == {"/", "/index.xml", "/last.xml", "/only-here", *parts, *names}
    assert asked.total() - len(asked) <= 2 * 4, "what was in the air, and what was not settled"
    assert set(files(place).values()) == {"read"}
    assert place.host(site.host)["status"] == "exhausted"
    assert len(place.kept()) == 50
    assert min(site.gaps()[1:]) >= 0.03 - LOG_IS_EXACT_TO_S
    assert is_polite(place)


def test_what_was_noted_as_read_stays_read_when_the_rest_is_cut_off(web: Web, place: Place) -> None:
    def slow(_asked: Asked) -> Answer:
        return Answer(body=urlset("/late"), type=XML, after_s=1.0 if len(site.of("/b.xml")) == 1 else 0.0)

    site = web.site({"/": page()} | pages("/early", "/late"), robots=robots_naming("/a.xml", "/b.xml"))
    site.routes |= {"/a.xml": xml(urlset("/early")), "/b.xml": slow}
    with place.begun("crawl", site.url(), "--sitemaps") as process:
        wait_until(lambda: "/b.xml" in site.paths and place.state.exists(), 60, "the second file")
        wait_until(lambda: files(place, site).get("/a.xml") == "read", 60, "the first to be noted")
        process.kill()
    assert files(place, site) == {"/a.xml": "read", "/b.xml": "planned"}
    assert place.comity_apart("crawl", site.url(), "--sitemaps").code == 0
    assert len(site.of("/a.xml")) == 1
    assert len(site.of("/late")) == 1


# What was not read is said where the run says how it ended.


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(500), "the server answered 500"),
        (Answer(body="<urlset><url><loc>/a</loc></url><url><loc>/b", type=XML), "its end is missing"),
        (Answer(body=gzip.compress(b"<urlset><url><loc>/a</loc></url></urlset>")[:-9], type=XML), "its end is missing"),
        (Answer(body=gzip.compress(urlset("/a").encode())[:20] + b"\xff" * 40, type=XML), "it is not a sitemap"),
        (Answer(403), "the server answered 403"),
    ],
)
def test_a_named_sitemap_that_was_not_read_in_full_is_warned_of(
    web: Web, place: Place, monkeypatch: pytest.MonkeyPatch, answer: Answer, why: str
) -> None:
    monkeypatch.setattr("comity.walk.read_sitemaps.retry_delay", lambda _attempt, _cap_s: 0.05)
    site = web.site({"/": page()} | pages("/a"), robots=robots_naming("/map.xml", "/whole.xml"))
    site.routes |= {"/map.xml": answer, "/whole.xml": xml(urlset("/a"))}
    summary = place.crawl(site.url(), sitemaps=True)
    assert summary.reason == "nothing left to visit"
    (warning,) = summary.warnings
    assert warning.startswith(f"{site.host}: 1 sitemap was not read in full;")
    assert f"{site.url('/map.xml')} (" in warning
    assert why in warning


def test_sitemaps_that_are_missing_or_complete_or_were_guessed_are_not_warned_of(web: Web, place: Place) -> None:
    site = web.site({"/": page()} | pages("/a"), robots=robots_naming("/map.xml", "/gone.xml"))
    site.routes["/map.xml"] = xml(urlset("/a"))
    other = web.site({"/": page(), "/sitemap.xml": Answer(403), "/sitemap_index.xml": Answer(403)})
    summary = place.crawl(site.url(), other.url(), sitemaps=True)
    assert summary.pages == 3
    assert summary.warnings == ()


def test_sitemaps_beyond_the_setting_and_those_that_robots_forbids_are_warned_of(web: Web, place: Place) -> None:
    site = web.site({"/": page()}, robots=robots_naming("/index.xml"), fallback=xml(urlset("/")))
    site.routes["/index.xml"] = xml(index(*(f"/{number}.xml" for number in range(9))))
    (warning,) = place.crawl(site.url(), sitemaps=True, max_sitemaps=7).warnings
    assert "3 sitemaps were not read in full" in warning
    assert f"{site.url('/6.xml')} (more than the limit per host)" in warning
    closed = web.site({"/": page()}, robots="User-agent: *\nDisallow: /map\n" + "Sitemap: /map.xml\n")
    (warning,) = place.crawl(closed.url(), sitemaps=True).warnings
    assert "robots_denied" in warning


def test_why_says_what_is_wrong_with_a_sitemap(web: Web, place: Place) -> None:
    site = web.site({"/": page()} | pages("/a"), robots=robots_naming("/map.xml"))
    site.routes["/map.xml"] = Answer(body="<urlset><url><loc>/a</loc></url><url><loc>/b", type=XML)
    place.crawl(site.url(), sitemaps=True)
    assert "lists 1 entry (its end is missing)." in place.comity("why", site.url("/map.xml")).out


# Large, hostile and many.


def test_a_file_of_sixty_thousand_entries_is_read_as_far_as_the_protocol_goes(web: Web, place: Place) -> None:
    site = web.site({"/": page()}, robots=robots_naming("/map.xml"))
    site.routes["/map.xml"] = xml(urlset(*(f"/p/{number}" for number in range(60_000))))
    summary = place.crawl(site.url(), sitemaps=True, max_pages=1, within_s=60)
    assert summary.pages == 1
    assert "it has more entries than sitemaps may have" in summary.warnings[0]
    (row,) = place.rows("SELECT state, entries, detail FROM sitemaps")
    assert (row["state"], row["entries"], row["detail"]) == ("read", 50_000, "entries")
    assert len(place.frontier(site.host)) == 50_001
    assert place.host(site.host)["pages_discovered"] == 50_001


@pytest.mark.alone
def test_files_of_the_largest_size_hold_up_nobody_and_are_not_kept_in_memory(web: Web, place: Place) -> None:
    """One of 48 MB that says something, one of 16 MB of nothing but tags; beside them a host at its own pace."""
    large = b"".join(b"<url><loc>/p/%08d%s</loc></url>" % (number, b"y" * 960) for number in range(50_000))
    bodies = [b"<urlset>" + large + b"</urlset>", b"<urlset>" + b"<url/>" * (16 * 1024 * 1024 // 6)]
    hostile = [
        web.site({"/": page(), "/m": Answer(body=body, type=XML)}, robots=robots_naming("/m")) for body in bodies
    ]
    hostile[0].fallback = Answer(404)
    other = web.site(tree(70), robots=robots_naming("/none", delay_s=0.05))
    with place.begun("crawl", *(site.url() for site in (*hostile, other)), "--sitemaps", "--delay", 0) as process:
        wait_until(lambda: len(other.log) >= 60 or process.poll() is not None, 60, "pages of the host between")
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        assert process.poll() is None
        process.kill()
    waited = sorted(other.gaps()[1:])
    most_kb = int(status.split("VmHWM:")[1].split()[0])
    assert waited[len(waited) // 2] < 0.15
    assert waited[-2] < 2.0, "one of them may be the machine's"
    assert most_kb < 400_000


def test_many_hosts_with_sitemaps_are_read_side_by_side(web: Web, place: Place) -> None:
    names = [f"/x{number}" for number in range(5)]
    sites = [web.site({"/": page(), "/sitemap.xml": xml(urlset(*names))} | pages(*names)) for _ in range(40)]
    place.crawl(*(site.url() for site in sites), sitemaps=True)
    for site in sites:
        assert Counter(site.pages()) == Counter(["/", "/sitemap.xml", *names])
    assert is_polite(place)
