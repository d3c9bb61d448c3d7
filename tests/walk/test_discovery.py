"""What a crawl follows and what it leaves: links, their bases and names, rel attributes, types, parameters, depth."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.walk.crawling import DONE, Place
from tests.walk.site import Answer, Asked, Route, Web, page


def anything(asked: Asked) -> str:
    """A page under every path, none like another."""
    return page(title=asked.path)


# Links and their names.


@pytest.mark.parametrize(
    ("base", "href", "fetched"),
    [
        ('<base href="/sub/">', "x", "/sub/x"),
        ('<base href="/sub/page">', "x", "/sub/x"),
        ('<base href="sub/">', "x", "/dir/sub/x"),
        ('<base href="/one/"><base href="/two/">', "x", "/one/x"),
        ('<base href="javascript:void(0)">', "x", "/dir/x"),
        ('<base target="_blank">', "x", "/dir/x"),
        ('<base href="https://elsewhere.example/">', "x", None),
        ('<base href="https://elsewhere.example/">', "/x", None),
        ("", "x", "/dir/x"),
        ("", "../x", "/x"),
        ("", "../../../x", "/x"),
        ("", "?q=1", "/dir/?q=1"),
        ("", "\\x", "/x"),
        ("", " /x\t ", "/x"),
        ("", "/x y", "/x%20y"),
        ("", "/x?a=1&amp;b=2", "/x?a=1&b=2"),
        ("", "/x#part", "/x"),
        ("", "#part", None),
        ("", "", None),
        ("", "mailto:me@example.com", None),
        ("", "javascript:alert(1)", None),
        ("", "data:text/html,x", None),
        ("", "http://user:secret@127.0.0.1/x", None),
        ("", "https://elsewhere.example/x", None),
        ("", "//elsewhere.example/x", None),
        ("", "http://[::1", None),
        ("", "/%zz", "/%zz"),
    ],
)
def test_a_link_leads_where_a_browser_would_go(
    web: Web, place: Place, base: str, href: str, fetched: str | None
) -> None:
    site = web.site({"/dir/": page(href, head=base)}, fallback=anything)
    place.crawl(site.url("/dir/"))
    assert site.pages() == ["/dir/", *([fetched] if fetched is not None else [])]


def test_one_page_under_many_spellings_is_fetched_once(web: Web, place: Place) -> None:
    site = web.site(fallback=anything)
    upper = site.url("/a").replace("http:", "HTTP:")
    spellings = ["/a", "a", "./a", "/b/../a", "/a#one", "/a#two", upper, "/./a", "/b/%2e%2e/a", "//" + site.host + "/a"]
    site.routes["/"] = page(*spellings)
    place.crawl(site.url())
    assert site.pages() == ["/", "/a"]


def test_escapes_are_those_of_the_whatwg_rules_in_one_spelling(web: Web, place: Place) -> None:
    """What must be escaped is, in one way; an escape of what needs none is taken away (RFC 3986 §6.2.2)."""
    site = web.site({"/": page("/%C3%A9", "/é", "/a b", "/a%20b", "/%7Eme", "/~me")}, fallback=anything)
    place.crawl(site.url())
    assert sorted(site.pages()) == ["/", "/%C3%A9", "/a%20b", "/~me"]


def test_escapes_that_mean_something_else_are_other_pages(web: Web, place: Place) -> None:
    paths = ["/a%2Fb", "/a/b", "/q?x=a%26b", "/q?x=a&b", "/Case", "/case", "/slash", "/slash/"]
    site = web.site({"/": page(*(path.replace("&", "&amp;") for path in paths))}, fallback=anything)
    place.crawl(site.url())
    assert sorted(site.pages()) == sorted(["/", *paths])


def test_only_what_a_reader_could_click_is_fetched(web: Web, place: Place) -> None:
    body = """<img src="/i.png" srcset="/i2.png 2x, /i3.png 3x"><script src="/s.js"></script>
    <iframe src="/frame"></iframe><video src="/v.mp4" poster="/v.png"></video><object data="/o"></object>
    <form action="/form"><input></form><area href="/area"><a href="/link">x</a><a name="/not">x</a>
    <source srcset="/w.webp"><embed src="/e"><!-- <a href="/comment">x</a> --><a data-href="/data">x</a>"""
    head = """<link rel="stylesheet" href="/s.css"><link rel="icon" href="/f.ico"><link rel="preload" href="/l">
    <link rel="prefetch" href="/pre"><link rel="manifest" href="/m.json"><meta property="og:url" content="/og">"""
    site = web.site({"/": page(head=head, body=body)}, fallback=anything)
    place.crawl(site.url())
    taken = set(site.pages())
    assert {"/link", "/area"} <= taken
    assert not taken - {"/", "/link", "/area", "/frame"}, "frames and image maps are pages that a reader sees"


def test_where_a_reader_is_taken_without_a_click_is_fetched(web: Web, place: Place) -> None:
    frames = '<frameset><frame src="menu"><frame src="/main"><frame src="https://elsewhere.example/"></frameset>'
    routes: dict[str, Route] = {
        "/": page("/old", "/frames/", "/shy"),
        "/old": page(head='<meta http-equiv="refresh" content="0; url=\'new\'">'),
        "/frames/": f"<!doctype html><title>frames</title>{frames}",
        "/shy": page(
            head='<meta name="robots" content="nofollow"><meta http-equiv="refresh" content="3;url=/not">',
            body='<iframe src="/nor"></iframe>',
        ),
    }
    site = web.site(routes, fallback=anything)
    place.crawl(site.url())
    assert sorted(site.pages()) == ["/", "/frames/", "/frames/menu", "/main", "/new", "/old", "/shy"]


def test_a_query_is_sent_in_the_encoding_of_its_page(web: Web, place: Place) -> None:
    """As browsers do (WHATWG URL §4.4): only the query, the path is UTF-8 everywhere."""
    older = '<a href="/grün?wort=grün#grün">x</a><a href="/x?a=я">y</a>'.encode("cp1252", "xmlcharrefreplace")
    site = web.site(
        {
            "/": Answer(body=older, type="text/html; charset=iso-8859-1"),
            "/gr%C3%BCn?wort=gr%FCn": page("/new?wort=grün"),
        },
        fallback=anything,
    )
    place.crawl(site.url())
    assert sorted(site.pages()) == [
        "/",
        "/gr%C3%BCn?wort=gr%FCn",
        "/new?wort=gr%C3%BCn",
        "/x?a=%26%231103%3B",
    ]


def test_other_hosts_are_left_alone_also_other_ports(web: Web, place: Place) -> None:
    other = web.site(fallback=anything)
    site = web.site({"/": page(other.url("/x"), "/a")}, fallback=anything)
    place.crawl(site.url())
    assert other.log == []
    assert sorted(site.pages()) == ["/", "/a"]


@pytest.mark.parametrize(("depth", "last"), [(0, 0), (1, 1), (3, 3)])
def test_links_are_followed_as_many_steps_as_are_allowed(web: Web, place: Place, depth: int, last: int) -> None:
    site = web.site({f"/{step or ''}": page(f"/{step + 1}") for step in range(8)})
    assert place.comity("crawl", site.url(), "--max-depth", depth).code == 0
    assert len(site.pages()) == last + 1
    assert place.host(site.host)["crawl_depth_reached"] == last


def test_what_lies_deeper_than_is_followed_is_told(web: Web, place: Place) -> None:
    chain: dict[str, Route] = {f"/{step or ''}": page("/", f"/{step + 1}", title=f"{step}") for step in range(52)}
    long, short = web.site(chain | {"/52": page()}), web.site(chain | {"/50": page("/", "/3"), "/51": page()})
    told = place.comity("crawl", long.url(), short.url()).out
    assert (len(long.pages()), len(short.pages())) == (51, 51)
    assert told.count("1 link is deeper than --max-depth 50; a larger --max-depth follows it") == 1
    few = web.site(chain)
    told = place.comity("crawl", few.url(), "--max-depth", 2).out
    assert "Ended: 1 link is deeper than --max-depth 2; a larger --max-depth follows it." in told
    assert place.comity("crawl", long.url(), "--max-depth", 52).code == 0
    assert sorted(long.pages()) == sorted([*chain, "/52"]), "nothing was asked for twice"


def test_a_page_counts_its_steps_from_the_nearest_seed(web: Web, place: Place) -> None:
    site = web.site({f"/{step}": page(f"/{step + 1}") for step in range(10)})
    place.crawl(site.url("/0"), site.url("/5"), max_depth=2)
    assert sorted(site.pages()) == ["/0", "/1", "/2", "/5", "/6", "/7"]


# rel=canonical.


def canonical(href: str) -> str:
    return f'<link rel="canonical" href="{href}">'


def test_the_address_that_a_page_calls_its_own_is_visited(web: Web, place: Place) -> None:
    routes: dict[str, Route] = {"/": page("/a?view=1"), "/a?view=1": page(head=canonical("/a"))}
    site = web.site(routes, fallback=anything)
    assert place.comity("crawl", site.url()).code == 0
    assert site.pages() == ["/", "/a?view=1", "/a"]


def test_it_is_not_visited_if_that_was_not_wanted(web: Web, place: Place) -> None:
    site = web.site({"/": page(head=canonical("/better"))}, fallback=anything)
    assert place.comity("crawl", site.url(), "--no-follow-canonical").code == 0
    assert site.pages() == ["/"]


@pytest.mark.parametrize("written", ["https://elsewhere.example/a", "//elsewhere.example/", "ftp://x/", "", "#", "/"])
def test_an_address_elsewhere_or_the_pages_own_changes_nothing(web: Web, place: Place, written: str) -> None:
    site = web.site({"/": page(head=canonical(written))}, fallback=anything)
    place.crawl(site.url())
    assert site.pages() == ["/"]


def test_an_address_that_robots_closes_stays_closed(web: Web, place: Place) -> None:
    site = web.site({"/": page(head=canonical("/closed"))}, robots="User-agent: *\nDisallow: /closed\n")
    place.crawl(site.url())
    assert site.pages() == ["/"]
    assert [row["type"] for row in place.evidence(site.url("/closed"))] == ["blocked_by_robots"]


def test_two_pages_that_name_each_other_are_fetched_once_each(web: Web, place: Place) -> None:
    site = web.site({"/": page(head=canonical("/a")), "/a": page(head=canonical("/")), "/b": page()})
    place.crawl(site.url())
    assert site.pages() == ["/", "/a"]


def test_names_that_lead_to_ever_more_names_end_like_links(web: Web, place: Place) -> None:
    def next_name(asked: Asked) -> str:
        number = int(asked.path.rpartition("-")[2] or 0)
        return page(title=f"{number}", head=canonical(f"/name-{number + 1}"))

    site = web.site({"/": page(head=canonical("/name-1"))}, fallback=next_name)
    place.crawl(site.url(), max_depth=5)
    assert len(site.pages()) <= 7


# Who does not want to be followed.


NOFOLLOW: list[Route] = [
    page("/a", head='<meta name="robots" content="nofollow">'),
    page("/a", head='<meta name="ROBOTS" content="INDEX, NoFollow">'),
    page("/a", head='<meta name="robots" content="none">'),
    page("/a", head='<meta name="comitybot" content="nofollow">'),
    Answer(body=page("/a"), headers={"X-Robots-Tag": "nofollow"}),
    Answer(body=page("/a"), headers={"X-Robots-Tag": "comitybot: noindex, nofollow"}),
    page(body='<a rel="nofollow" href="/a">x</a>'),
    page(body='<a rel="external NOFOLLOW noopener" href="/a">x</a>'),
]


@pytest.mark.parametrize("route", NOFOLLOW)
def test_nofollow_is_honoured_unless_told_otherwise(web: Web, place: Place, route: Route) -> None:
    site = web.site({"/": route}, fallback=anything)
    assert place.comity("crawl", site.url()).code == 0
    assert site.pages() == ["/"]
    site.log.clear()
    other = Place(place.folder / "other")
    other.folder.mkdir()
    assert other.comity("crawl", site.url(), "--no-respect-nofollow").code == 0
    assert site.pages() == ["/", "/a"]


def test_nofollow_for_others_does_not_concern_us(web: Web, place: Place) -> None:
    routes: dict[str, Route] = {
        "/": page("/b", head='<meta name="otherbot" content="nofollow">'),
        "/b": Answer(body=page("/c"), headers={"X-Robots-Tag": "otherbot: nofollow"}),
        "/c": page("/d", body='<a rel="nofollow" href="/d">once</a><a rel="follow" href="/e">x</a>'),
    }
    site = web.site(routes, fallback=anything)
    place.crawl(site.url())
    assert set(site.pages()) >= {"/", "/b", "/c", "/e"}


def test_links_need_not_be_followed_at_all(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a"), "/b": page("/c")}, fallback=anything)
    assert place.comity("crawl", site.url(), site.url("/b"), "--no-follow-links").code == 0
    assert sorted(site.pages()) == ["/", "/b"]


# Types.

TYPED: dict[str, Route] = {
    "/": page("/text", "/pdf", "/json", "/xhtml", "/none"),
    "/text": Answer(body="plain words", type="text/plain; charset=utf-8"),
    "/pdf": Answer(body=b"%PDF-1.7", type="application/pdf"),
    "/json": Answer(body="{}", type="application/json"),
    "/xhtml": Answer(body=page("/deeper"), type="application/xhtml+xml"),
    "/deeper": page(),
    "/none": Answer(body=page(title="untyped"), type=None),
}


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ((), {"/", "/text", "/xhtml", "/deeper", "/none"}),
        (("--accept", "*/*"), {"/", "/text", "/pdf", "/json", "/xhtml", "/deeper", "/none"}),
        (("--accept", "text/*"), {"/", "/text", "/none"}),
        (("--accept", "text/html", "--accept", "Application/PDF"), {"/", "/pdf", "/none"}),
        (("--accept", "*/*", "--reject", "application/*"), {"/", "/text", "/none"}),
        (("--reject", "text/plain"), {"/", "/xhtml", "/deeper", "/none"}),
    ],
)
def test_only_wanted_types_are_taken(web: Web, place: Place, options: tuple[str, ...], kept: set[str]) -> None:
    site = web.site(TYPED)
    told = place.comity("crawl", site.url(), *options)
    assert told.code == 0, told.err
    pages = {row["url"].removeprefix(site.url("")) for row in place.parts() if row["error"] is None}
    assert pages == kept
    assert set(place.frontier(site.host).values()) == {DONE}


@pytest.mark.parametrize("said", ["", "html", "text/html, text/html", "text/plain, TEXT/HTML ; charset=utf-8"])
def test_a_type_that_says_nothing_or_too_much_hides_no_link(web: Web, place: Place, said: str) -> None:
    site = web.site({"/": Answer(body=page("/a"), type=said)}, fallback=anything)
    place.crawl(site.url())
    assert site.pages() == ["/", "/a"]


@pytest.mark.usefixtures("without_state")
@pytest.mark.parametrize("option", ["--accept", "--reject"])
@pytest.mark.parametrize("pattern", ["text/", "/html", "text/html/x", "te xt/html", "text/*x*", "text;html"])
def test_a_pattern_that_cannot_match_is_refused_in_words(place: Place, option: str, pattern: str) -> None:
    told = place.comity("crawl", "http://127.0.0.1:9/", option, pattern)
    assert told.code == 2
    assert "type" in told.err
    assert "Traceback" not in told.err
    assert not place.state.exists()


# Parameters that say who clicked.


def test_parameters_that_do_not_name_a_page_fall_away(web: Web, place: Place) -> None:
    links = [
        *("/a?utm_source=x&amp;utm_medium=y", "/a?fbclid=1", "/a?UTM_Campaign=z", "/a?", "/a?gclid=1&amp;msclkid=2"),
        *("/b?id=1&amp;utm_source=x", "/b?utm_source=y&amp;id=1", "/b?id=1"),
        *(
            "/c;jsessionid=AB12",
            "/c?PHPSESSID=0123456789abcdef0123456789abcdef",
            "/c?sid=0123456789abcdef0123456789abcdef",
        ),
        *("/d?sid=7", "/d?s=shoes", "/d?utmost=1"),
    ]
    site = web.site({"/": page(*links)}, fallback=anything)
    place.crawl(site.url())
    assert Counter(site.pages()) == Counter(["/", "/a", "/b?id=1", "/c", "/d?sid=7", "/d?s=shoes", "/d?utmost=1"])


def test_more_parameters_can_be_named(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a?from=x", "/a?ref_home=1&amp;FROM=y", "/a?reference=1")}, fallback=anything)
    place.env["COMITY_TRACKING_PARAMETERS"] = "from, ref_*"
    assert place.comity("crawl", site.url()).code == 0
    assert sorted(site.pages()) == ["/", "/a", "/a?reference=1"]


def test_parameters_are_kept_if_that_is_wanted(web: Web, place: Place) -> None:
    links = ["/a?utm_source=x", "/a?fbclid=1", "/a;jsessionid=AB12"]
    site = web.site({"/": page(*links)}, fallback=anything)
    place.env["COMITY_STRIP_TRACKING"] = "false"
    assert place.comity("crawl", site.url()).code == 0
    assert sorted(site.pages()) == sorted(["/", *links])


def test_a_seed_is_asked_for_as_it_was_typed(web: Web, place: Place) -> None:
    site = web.site({"/?utm_source=x": page("/?utm_source=y", "/a")}, fallback=anything)
    assert place.comity("crawl", site.url("/?utm_source=x")).code == 0
    assert "/?utm_source=x" in site.pages()
    assert "/?utm_source=y" not in site.pages()
