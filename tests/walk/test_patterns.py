"""Patterns, paths, subdomains and several hosts as one site: what is left out is never requested, by any way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

import comity
from tests.walk.crawling import LOOPBACK, Place
from tests.walk.pictures import png
from tests.walk.site import Answer, Asked, Route, Web, page, redirect

_ROOT = "one.localhost"


class Sites:
    """A host and its subdomains, on one port: a route is `/path`, or `docs/path` on the subdomain docs."""

    def __init__(self, web: Web, routes: Mapping[str, Route], robots: str = "") -> None:
        self._routes = dict(routes)
        self.robots: Callable[[Asked], str] = lambda _asked: robots.replace("PORT", str(self.port))
        self._site = web.site({"/robots.txt": self._robots}, fallback=self._answer)
        self.port = self._site.port
        self.host = f"{_ROOT}:{self.port}"
        self.log = self._site.log

    def _robots(self, asked: Asked) -> Answer:
        return Answer(body=self.robots(asked), type="text/plain")

    def _answer(self, asked: Asked) -> Any:
        route = self._routes.get(_place(asked.headers["host"], asked.path))
        return Answer(404, page()) if route is None else self._with_port(route)

    def _with_port(self, route: Any) -> Any:
        if isinstance(route, str):
            return route.replace("PORT", str(self.port))
        headers = {name: value.replace("PORT", str(self.port)) for name, value in route.headers.items()}
        body = route.body.replace("PORT", str(self.port)) if isinstance(route.body, str) else route.body
        return Answer(route.status, body, route.type, headers)

    def url(self, place: str = "/") -> str:
        sub, _, path = place.partition("/")
        return f"http://{f'{sub}.' if sub else ''}{_ROOT}:{self.port}/{path}"

    @property
    def asked(self) -> list[str]:
        """Everything that was requested, but robots.txt and sitemaps."""
        found = [_place(seen.host, seen.path) for seen in self._site.log]
        return [place for place in found if not place.endswith(("robots.txt", "sitemap.xml", ".xml"))]


def _place(host: str, path: str) -> str:
    name = host.partition(":")[0]
    return name.removesuffix(_ROOT).removesuffix(".") + path


def on(place: str) -> str:
    """A link to a page of a subdomain."""
    sub, _, path = place.partition("/")
    return f"http://{f'{sub}.' if sub else ''}{_ROOT}:PORT/{path}"


def sitemap(*locations: str) -> Answer:
    entries = "".join(f"<url><loc>{location}</loc></url>" for location in locations)
    xml = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    return Answer(body=xml, type="application/xml")


@dataclass(frozen=True)
class Shape:
    """A site, the options of a crawl of it, and exactly what may be requested."""

    name: str
    routes: dict[str, Route]
    options: tuple[str, ...]
    asked: set[str]
    left_out: int | None = None
    seeds: tuple[str, ...] = ("/",)
    robots: str = ""


CANONICAL = '<link rel="canonical" href="{}">'
IMAGE = Answer(body=png(20, 20), type="image/png")

SHAPES = [
    Shape(
        "a folder is excluded with everything below",
        {"/": page("/a", "/private/", "/private/x/y"), "/a": page("/private/z")},
        ("--exclude", "/private/"),
        {"/", "/a"},
        3,
    ),
    Shape(
        "a folder without a slash at its end, and not what only begins alike",
        {"/": page("/private", "/private/x", "/privateer"), "/privateer": page()},
        ("--exclude", "/private"),
        {"/", "/privateer"},
        2,
    ),
    Shape(
        "a star stays in its folder",
        {"/": page("/u/1/edit", "/u/1/2/edit"), "/u/1/2/edit": page()},
        ("--exclude", "/u/*/edit"),
        {"/", "/u/1/2/edit"},
        1,
    ),
    Shape(
        "two stars cross folders",
        {"/": page("/u/edit", "/u/1/edit", "/u/1/2/edit", "/u/1/editor"), "/u/1/editor": page()},
        ("--exclude", "/u/**/edit"),
        {"/", "/u/1/editor"},
        3,
    ),
    Shape(
        "a name at any depth",
        {"/": page("/print", "/a/print", "/a/b/print?x=1", "/printer"), "/printer": page()},
        ("--exclude", "print"),
        {"/", "/printer"},
        3,
    ),
    Shape(
        "a kind of file, whatever its query",
        {"/": page("/a.pdf", "/x/b.pdf?download=1", "/c.html"), "/c.html": page()},
        ("--exclude", "*.pdf"),
        {"/", "/c.html"},
        2,
    ),
    Shape(
        "every URL with a query",
        {"/": page("/list?page=2", "/list", "/a?b"), "/list": page("?sort=up")},
        ("--exclude", "?*"),
        {"/", "/list"},
        3,
    ),
    Shape(
        "one parameter in any place",
        {"/": page("/l?sort=a&p=1", "/l?p=1&sort=a", "/l?p=2"), "/l?p=2": page()},
        ("--exclude", "?*sort=*"),
        {"/", "/l?p=2"},
        2,
    ),
    Shape(
        "a query of one page",
        {"/": page("/s?q=a/b", "/s", "/t?q=1"), "/s": page(), "/t?q=1": page()},
        ("--exclude", "/s?q=*"),
        {"/", "/s", "/t?q=1"},
        1,
    ),
    Shape(
        "a regular expression is searched in the whole URL",
        {"/": page("/2019/a", "/2024/b", "/x/1999"), "/2024/b": page()},
        ("--exclude", r"re:/(19|201)\d+"),
        {"/", "/2024/b"},
        2,
    ),
    Shape(
        "include keeps to a folder; the seed is fetched for its links",
        {"/": page("/docs/a", "/blog/a"), "/docs/a": page("/docs/b/c", "/blog/b"), "/docs/b/c": page()},
        ("--include", "/docs/"),
        {"/", "/docs/a", "/docs/b/c"},
        2,
    ),
    Shape(
        "exclude wins over include",
        {"/": page("/docs/a", "/docs/old/a"), "/docs/a": page()},
        ("--include", "/docs/", "--exclude", "/docs/old/"),
        {"/", "/docs/a"},
        1,
    ),
    Shape(
        "several includes",
        {"/": page("/a/1", "/b/1", "/c/1"), "/a/1": page(), "/b/1": page()},
        ("--include", "/a/", "--include", "re:/b/"),
        {"/", "/a/1", "/b/1"},
        1,
    ),
    Shape(
        "an include that matches nothing leaves the seed alone",
        {"/": page("/a", "/b")},
        ("--include", "/nowhere/"),
        {"/"},
        2,
    ),
    Shape(
        "an exclude that matches the seed leaves the seed alone too",
        {"/": page("/a"), "/a": page()},
        ("--exclude", "**"),
        {"/"},
        1,
    ),
    Shape(
        "--under stays below a folder",
        {"/docs/": page("a", "../blog", "/"), "/docs/a": page("/docs/b", "/docsearch"), "/docs/b": page()},
        ("--under",),
        {"/docs/", "/docs/a", "/docs/b"},
        3,
        seeds=("/docs/",),
    ),
    Shape(
        "--under below the folder of a file",
        {"/docs/index.html": page("a", "/"), "/docs/a": page()},
        ("--under",),
        {"/docs/index.html", "/docs/a"},
        1,
        seeds=("/docs/index.html",),
    ),
    Shape(
        "--under below each of several seeds",
        {"/a/": page("/a/1", "/b/1", "/c/1"), "/b/": page("/a/2"), "/a/1": page(), "/a/2": page(), "/b/1": page()},
        ("--under",),
        {"/a/", "/a/1", "/a/2", "/b/", "/b/1"},
        1,
        seeds=("/a/", "/b/"),
    ),
    Shape(
        "--under together with an exclude",
        {"/docs/": page("a", "b.pdf", "/x"), "/docs/a": page()},
        ("--under", "--exclude", "*.pdf"),
        {"/docs/", "/docs/a"},
        2,
        seeds=("/docs/",),
    ),
    Shape(
        "entries of a sitemap",
        {"/": page(), "/sitemap.xml": sitemap(on("/a"), on("/private/b")), "/a": page()},
        ("--sitemaps", "--exclude", "/private/"),
        {"/", "/a"},
        1,
    ),
    Shape(
        "a sitemap that is itself excluded is read all the same",
        {"/": page(), "/maps/all.xml": sitemap(on("/a"), on("/maps/b")), "/a": page()},
        ("--sitemaps", "--exclude", "/maps/"),
        {"/", "/a"},
        1,
        robots=f"Sitemap: http://{_ROOT}:PORT/maps/all.xml\n",
    ),
    Shape(
        "the target of a redirect",
        {"/": page("/go", "/stay"), "/go": redirect("/private/x"), "/stay": page()},
        ("--exclude", "/private/"),
        {"/", "/go", "/stay"},
        1,
    ),
    Shape(
        "the second hop of a redirect",
        {"/": page("/go"), "/go": redirect("/on"), "/on": redirect("/private/x")},
        ("--exclude", "/private/"),
        {"/", "/go", "/on"},
        1,
    ),
    Shape(
        "a redirect out of what is included",
        {"/": page("/docs/go"), "/docs/go": redirect("/login")},
        ("--include", "/docs/"),
        {"/", "/docs/go"},
        1,
    ),
    Shape(
        "where a seed redirects to is fetched for its links, unless it is excluded",
        {"/": redirect("/en/"), "/en/": page("/docs/a", "/en/b"), "/docs/a": page()},
        ("--include", "/docs/"),
        {"/", "/en/", "/docs/a"},
        1,
    ),
    Shape(
        "a seed that redirects to what is excluded",
        {"/": redirect("/private/")},
        ("--exclude", "/private/"),
        {"/"},
        1,
    ),
    Shape(
        "the canonical address of a page",
        {"/": page("/a"), "/a": page(head=CANONICAL.format("/private/a"))},
        ("--exclude", "/private/"),
        {"/", "/a"},
        1,
    ),
    Shape(
        "images",
        {"/": page(body='<img src="/img/a.png"><img src="/private/b.png">'), "/img/a.png": IMAGE},
        ("--images", "--exclude", "/private/"),
        {"/", "/img/a.png"},
        1,
    ),
    Shape(
        "a refresh; a frame is no link",
        {
            "/": page(
                head='<meta http-equiv="refresh" content="0; url=/private/r">',
                body='<iframe src="/private/f"></iframe>',
            )
        },
        ("--exclude", "/private/"),
        {"/"},
        1,
    ),
    Shape(
        "escaped and other characters",
        {"/": page("/stra%C3%9Fe/a", "/%7Euser/", "/b%20c", "/ok"), "/ok": page()},
        ("--exclude", "/straße/", "--exclude", "/~user/", "--exclude", "/b%20c"),
        {"/", "/ok"},
        3,
    ),
    Shape(
        "a base address",
        {"/": page("x", head=f'<base href="http://{_ROOT}:PORT/private/">'), "/x": page()},
        ("--exclude", "/private/"),
        {"/"},
        1,
    ),
    Shape(
        "without --subdomains they are other hosts",
        {"/": page(on("docs/a"), "/b"), "/b": page()},
        (),
        {"/", "/b"},
        0,
    ),
    Shape(
        "--subdomains follows links to subdomains and back",
        {
            "/": page(on("docs/a"), on("a.b/x"), "http://other.localhost:PORT/y"),
            "docs/a": page(on("docs/b"), on("/c")),
            "docs/b": page(),
            "a.b/x": page(),
            "/c": page(),
        },
        ("--subdomains",),
        {"/", "docs/a", "docs/b", "a.b/x", "/c"},
        0,
    ),
    Shape(
        "patterns hold on subdomains, and may name one",
        {
            "/": page(on("docs/a"), on("blog/a"), on("docs/private/x")),
            "docs/a": page("/b", "/private/c", on("blog/z")),
            "docs/b": page(),
        },
        ("--subdomains", "--exclude", "/private/", "--exclude", f"blog.{_ROOT}/"),
        {"/", "docs/a", "docs/b"},
        4,
    ),
    Shape(
        "every subdomain is excluded by a star, the host itself is not",
        {"/": page(on("docs/a"), "/b"), "/b": page()},
        ("--subdomains", "--exclude", f"*.{_ROOT}/"),
        {"/", "/b"},
        1,
    ),
    Shape(
        "a sitemap that lists a subdomain",
        {
            "/": page(),
            "/sitemap.xml": sitemap(on("/a"), on("docs/b"), on("docs/private/c")),
            "/a": page(),
            "docs/b": page(),
        },
        ("--sitemaps", "--subdomains", "--exclude", "/private/"),
        {"/", "/a", "docs/b"},
        1,
    ),
    Shape(
        "named hosts as one site",
        {
            "/": page(on("shop/a"), on("blog/a")),
            "shop/a": page(on("/c"), on("blog/b"), "/d"),
            "/c": page(),
            "shop/d": page(),
        },
        ("--site-hosts", f"shop.{_ROOT}:PORT"),
        {"/", "/c", "shop/a", "shop/d"},
        0,
    ),
    Shape(
        "--under binds the host that has the seed, not the others of its site",
        {"/docs/": page("/x", on("api/y"), "/docs/a"), "/docs/a": page(), "api/y": page(on("/z"))},
        ("--subdomains", "--under"),
        {"/docs/", "/docs/a", "api/y"},
        2,
        seeds=("/docs/",),
    ),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_nothing_that_is_left_out_is_requested(shape: Shape, web: Web, place: Place) -> None:
    sites = Sites(web, shape.routes, shape.robots)
    options = [option.replace("PORT", str(sites.port)) for option in shape.options]
    answer = place.comity("crawl", *map(sites.url, shape.seeds), "--json", *options)
    assert answer.err == ""
    assert set(sites.asked) == shape.asked, "the origin's own log"
    assert len(sites.asked) == len(shape.asked), "nothing is requested twice"
    summary = answer.json["summary"]
    assert summary["left_out"] == shape.left_out
    assert sum(summary["left_out_by"].values()) == shape.left_out


@pytest.fixture(params=["embedded", "shared"])
def anywhere(place: Place, request: pytest.FixtureRequest) -> Place:
    """A state in one file, or on PostgreSQL and Redis."""
    return place if request.param == "embedded" else request.getfixturevalue("shared")


def test_other_patterns_find_again_what_was_left_out(web: Web, anywhere: Place) -> None:
    routes = {"/": page("/a", "/b/1", "/c/1"), "/a": page("/b/2"), "/c/1": page()}
    sites = Sites(web, routes | {f"/b/{number}": page() for number in (1, 2)})
    first = anywhere.comity("crawl", sites.url(), "--json", "--exclude", "/b/", "--exclude", "/c/").json["summary"]
    assert (sorted(sites.asked), first["left_out"]) == (["/", "/a"], 3)
    assert first["left_out_by"] == {"exclude /b/": 2, "exclude /c/": 1}
    again = anywhere.comity("crawl", sites.url(), "--json", "--exclude", "/b/", "--exclude", "/c/").json
    assert (len(sites.asked), again["summary"]["code"]) == (2, "already_done"), "the same patterns find nothing"
    other = anywhere.comity("crawl", sites.url(), "--json", "--exclude", "/b/").json["summary"]
    assert (sites.asked[2:], other["pages"]) == (["/c/1"], 1)
    third = anywhere.comity("crawl", sites.url(), "--json").json["summary"]
    assert (sorted(sites.asked[3:]), third["pages"]) == (["/b/1", "/b/2"], 2)
    info = anywhere.comity("domains", "info", sites.host, "--json").json
    assert (info["pages_crawled"], info["pages_discovered"], info["left_out_recorded"]) == (5, 5, 0)
    assert anywhere.comity("crawl", sites.url(), "--json").json["summary"]["code"] == "already_done"
    assert len(sites.asked) == 5, "nothing is requested twice"


def test_what_was_queued_before_is_left_out_and_comes_back(web: Web, anywhere: Place) -> None:
    sites = Sites(web, {"/": page("/a", "/b", "/c"), "/a": page(), "/b": page(), "/c": page()})
    anywhere.comity("crawl", sites.url(), "--max-pages", 1)
    assert sites.asked == ["/"]
    left = anywhere.comity("crawl", sites.url(), "--json", "--include", "/a").json["summary"]
    assert (sites.asked[1:], left["left_out"], left["refused"]) == (["/a"], 2, 0)
    anywhere.comity("crawl", sites.url(), "--include", "/a", "--include", "/b")
    assert sites.asked[2:] == ["/b"]
    anywhere.comity("crawl", sites.url())
    assert sites.asked[3:] == ["/c"]


def test_patterns_that_come_back_find_what_others_left_out_meanwhile(web: Web, place: Place) -> None:
    sites = Sites(web, {"/": page("/a", "/b"), "/a": page(), "/b": page("/a/1"), "/a/1": page()})
    place.comity("crawl", sites.url(), "--exclude", "/a", "--exclude", "/b")
    place.comity("crawl", sites.url(), "--exclude", "/a/1", "--exclude", "/b")
    assert sorted(sites.asked) == ["/", "/a"]
    place.comity("crawl", sites.url(), "--exclude", "/a/1")
    assert sorted(sites.asked) == ["/", "/a", "/b"], "of these, /b names /a/1 for the first time"
    place.comity("crawl", sites.url(), "--exclude", "/b")
    assert sorted(sites.asked) == ["/", "/a", "/a/1", "/b"]


def test_a_worker_with_other_patterns_goes_on_too(web: Web, place: Place) -> None:
    sites = Sites(web, {"/": page("/a", "/b"), "/a": page(), "/b": page()})
    place.env["COMITY_EXCLUDE"] = "/a /b"
    place.comity("crawl", sites.url())
    assert sites.asked == ["/"]
    place.env["COMITY_EXCLUDE"] = "/b"
    assert place.comity("work", "--idle-exit").code == 0
    assert sites.asked == ["/", "/a"]
    assert place.comity("work", "--idle-exit").code == 0
    assert len(sites.asked) == 2


def test_images_that_were_left_out_come_back(web: Web, place: Place) -> None:
    sites = Sites(web, {"/": page(body='<img src="/img/a.png">'), "/img/a.png": IMAGE})
    place.comity("crawl", sites.url(), "--images", "--exclude", "*.png")
    assert sites.asked == ["/"]
    place.comity("crawl", sites.url(), "--images")
    assert sites.asked == ["/", "/img/a.png"]
    (row,) = place.rows("SELECT * FROM provenance")
    assert row["page_url"] == sites.url()


def test_a_url_that_an_earlier_crawl_named_is_no_seed_of_this_one(web: Web, place: Place) -> None:
    sites = Sites(web, {"/": page(), "/old/": page("/a"), "/a": page()})
    place.comity("crawl", sites.url("/old/"))
    before = len(sites.asked)
    place.comity("crawl", sites.url(), "--refresh", "--exclude", "/old/")
    assert sorted(sites.asked[before:]) == ["/", "/a"]


def test_evidence_count_and_why(web: Web, place: Place) -> None:
    sites = Sites(web, {"/": page("/private/x", "/go"), "/go": redirect("/private/y")})
    said = place.comity("crawl", sites.url(), "--exclude", "/private/", "--no-sitemaps").out
    assert "2 URLs left out by patterns: 2 by exclude /private/." in said
    (evidence,) = place.evidence(sites.url("/private/x"))
    assert evidence["type"] == "left_out"
    assert evidence["content"] == {
        "rule": "exclude",
        "pattern": "/private/",
        "by": "crawl",
        "reason": "the exclude pattern /private/ matches it",
    }
    why = place.comity("why", sites.url("/private/x"), "--json").json
    assert why["code"] == "left_out"
    assert "the exclude pattern /private/ matches it" in why["decision"]
    assert place.comity("why", sites.url("/go"), "--json").json["code"] == "left_out"
    assert "/private/" in place.comity("why", sites.url("/private/y")).out
    (run,) = place.rows("SELECT settings FROM crawl_runs")
    assert '"exclude":["/private/"]' in run["settings"].replace(" ", "")


def test_evidence_is_bounded_and_rows_still_name_the_pattern(web: Web, place: Place) -> None:
    links = [f"/p/{number}" for number in range(1_500)]
    sites = Sites(web, {"/": page(*links)})
    summary = place.comity("crawl", sites.url(), "--json", "--include", "/docs/", "--max-depth", 3).json["summary"]
    assert summary["left_out"] == 1_500
    assert place.rows("SELECT count(*) AS n FROM evidence WHERE type = 'left_out'") == [{"n": 1_000}]
    assert place.rows("SELECT count(*) AS n FROM left_out_urls") == [{"n": 1_500}]
    why = place.comity("why", sites.url("/p/1499"), "--json").json
    assert (why["code"], "no include pattern matches it (/docs/)" in why["decision"]) == ("left_out", True)


def test_patterns_of_a_policy(web: Web, place: Place) -> None:
    sites = Sites(web, {"/": page("/a", "/b/1", "/c"), "/a": page(), "/b/1": page(), "/c": page()})
    shown = place.comity("policy", "set", sites.host, "--exclude", "/b/", "--min-request-interval-ms", 0)
    assert (shown.code, "/b/" in shown.out) == (0, True)
    assert place.comity("policy", "show", sites.host, "--json").json["exclude"] == ["/b/"]
    first = place.comity("crawl", sites.url(), sites.url("/b/1"), "--json", "--exclude", "/c").json["summary"]
    assert sorted(sites.asked) == ["/", "/a"], "also a seed is not requested"
    assert first["left_out_by"] == {"exclude /c": 1, "policy exclude /b/": 1}
    why = place.comity("why", sites.url("/b/1"), "--json").json
    assert (why["code"], "the exclude pattern /b/ of its host's policy" in why["decision"]) == ("left_out", True)
    assert place.comity("policy", "set", sites.host, "--exclude", "").code == 0
    assert place.comity("policy", "show", sites.host, "--json").json["exclude"] == []
    place.comity("crawl", sites.url())
    assert sorted(sites.asked[2:]) == ["/b/1", "/c"]
    bad = place.comity("policy", "set", sites.host, "--include", "re:(")
    assert (bad.code, "--include: re:(: missing )" in bad.err) == (2, True)


def test_the_python_door_has_the_same(web: Web, place: Place) -> None:
    sites = Sites(web, {"/d/": page("a", "b.pdf", "/x", on("docs/y")), "/d/a": page(), "docs/y": page()})
    options: dict[str, Any] = {"state": place.state, "into": place.pages, "delay": 0, "sitemaps": False}
    options |= {"allow_networks": [LOOPBACK], "exclude": "*.pdf", "under": True, "subdomains": True}
    run = comity.crawl(sites.url("/d/"), **options)
    assert sorted(each.url for each in run) == sorted(map(sites.url, ("/d/", "/d/a", "docs/y")))
    assert run.summary is not None
    assert run.summary.left_out == 2
    with pytest.raises(comity.BadInput, match=r"include: example\.com: write example\.com/ for a host"):
        comity.crawl(sites.url(), include=["example.com"])


def test_a_pattern_that_cannot_be_used_is_an_error_before_the_first_request(web: Web, place: Place) -> None:
    sites = Sites(web, {"/": page()})
    answer = place.comity("crawl", sites.url(), "--exclude", "docs/a")
    assert answer.code == 2
    assert "--exclude: docs/a: begin with / to match from the root" in answer.err
    answer = place.comity("crawl", sites.url(), "--site-hosts", "a b")
    assert (answer.code, sites.asked) == (2, [])


def test_a_site_of_several_hosts_goes_on_where_it_was_stopped(web: Web, anywhere: Place) -> None:
    sites = Sites(web, {"/": page(on("docs/a")), "docs/a": page("/b", on("x/c")), "docs/b": page(), "x/c": page()})
    anywhere.comity("crawl", sites.url(), "--subdomains", "--max-pages", 2)
    assert sites.asked == ["/", "docs/a"]
    summary = anywhere.comity("crawl", sites.url(), "--subdomains", "--json").json["summary"]
    assert (sorted(sites.asked[2:]), summary["pages"]) == (["docs/b", "x/c"], 2)
    robots = [seen.host for seen in sites.log if seen.path == "/robots.txt"]
    assert len(set(robots)) == 3, "each host has a robots.txt of its own"


@pytest.mark.roomy
def test_several_processes_share_a_site_that_grows(web: Web, place: Place) -> None:
    hosts = [f"h{number}" for number in range(6)]
    routes: dict[str, Route] = {"/": page(*(on(f"{host}/") for host in hosts), "/private/1")}
    for number, host in enumerate(hosts):
        after = hosts[(number + 1) % len(hosts)]
        routes |= {f"{host}/": page(on(f"{after}/x"), "/y", "/private/2"), f"{host}/x": page(), f"{host}/y": page()}
    sites = Sites(web, routes)
    options = ("--processes", 2, "--subdomains", "--exclude", "/private/", "--json")
    answer = place.comity_apart("crawl", sites.url(), sites.url("h0/"), *options)
    assert sorted(sites.asked) == sorted(routes), "each page once"
    summary = answer.json["summary"]
    assert (summary["left_out"], summary["left_out_by"]) == (7, {"exclude /private/": 7})


def test_robots_of_each_host_of_a_site_are_obeyed(web: Web, place: Place) -> None:
    sites = Sites(web, {"/": page(on("docs/a"), on("docs/no/b")), "docs/a": page("/no/c")})
    sites.robots = lambda asked: "User-agent: *\nDisallow: /no/\n" if asked.headers["host"][0] == "d" else ""
    place.comity("crawl", sites.url(), "--subdomains")
    assert sites.asked == ["/", "docs/a"]
    assert place.comity("why", sites.url("docs/no/b"), "--json").json["code"] == "robots_denied"


def test_there_are_many_shapes() -> None:
    assert len(SHAPES) >= 30


def test_links_to_another_host_of_the_site_come_back(web: Web, anywhere: Place) -> None:
    sites = Sites(web, {"/": page(on("docs/x/1"), on("docs/a")), "docs/a": page(), "docs/x/1": page()})
    anywhere.comity("crawl", sites.url(), "--subdomains", "--exclude", "/x/")
    assert sorted(sites.asked) == ["/", "docs/a"]
    again = anywhere.comity("crawl", sites.url(), "--subdomains", "--json").json["summary"]
    assert (sites.asked[2:], again["pages"]) == (["docs/x/1"], 1)
    anywhere.comity("crawl", sites.url(), "--subdomains")
    assert len(sites.asked) == 3, "nothing is requested twice"


def test_what_one_kind_of_crawl_does_not_want_comes_back_with_one_that_does(web: Web, place: Place) -> None:
    picture = Answer(body=b"\x89PNG\r\n\x1a\n" + bytes(8), type="image/png")
    routes: dict[str, Route] = {"/": page(on("docs/x/1"), body='<img src="/x/1.png">'), "/x/1.png": picture}
    sites = Sites(web, routes | {"docs/x/1": page()})
    place.comity("crawl", sites.url(), "--subdomains", "--images", "--exclude", "/x/")
    place.comity("crawl", sites.url())
    assert sites.asked == ["/"], "this one follows no other host, and wants no images"
    place.comity("crawl", sites.url(), "--images")
    assert sites.asked[1:] == ["/x/1.png"]
    place.comity("crawl", sites.url(), "--subdomains")
    assert sites.asked[2:] == ["docs/x/1"]


def test_where_redirects_led_comes_back_too(web: Web, place: Place) -> None:
    routes = {"/": page("/red", "/far"), "/red": redirect("/x/1"), "/far": redirect(on("docs/x/2")), "/x/1": page()}
    sites = Sites(web, routes | {"docs/x/2": page()})
    place.comity("crawl", sites.url(), "--subdomains", "--exclude", "/x/")
    assert sorted(sites.asked) == ["/", "/far", "/red"]
    place.comity("crawl", sites.url(), "--subdomains")
    assert sorted(sites.asked[3:]) == ["/x/1", "docs/x/2"]
