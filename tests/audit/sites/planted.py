"""Sites to audit: three with planted faults, at least one of each code, and one without a fault."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from comity.model.audit import FindingCode as Code
from tests.audit.sites.labelled import HTTP_ORIGIN, ORIGIN, Fault, LabelledSite, PlainRoute

HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Encoding": "gzip",
    "Cache-Control": "max-age=600",
    "Strict-Transport-Security": "max-age=31536000",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'self'",
    "Referrer-Policy": "strict-origin-when-cross-origin",
}
# Words of many subjects: texts of different pages share few pairs of neighbours.
WORDS = re.findall(
    r"\w+",
    """
    ash beech birch cedar cherry elm fir larch maple oak pine poplar spruce walnut willow yew bench board box
    cabinet chair chest clock desk door drawer frame handle ladder lamp ledge lid mirror panel rack shelf stool
    table tray window anvil awl brush chisel clamp drill file gauge hammer knife level mallet plane pliers ruler
    saw scraper square vice wedge wrench amber blue bronze copper cream crimson gold green grey ivory jade ochre
    pink purple red rust silver teal white yellow bend bind bore carve cut drive fasten fit glue grind join lift
    mark mend mix nail oil paint peel plane polish press rub sand seal shape sharpen slide smooth soak split
    stain stretch tie trim turn twist wax weigh wind wrap broad clean coarse cool curved damp deep dense dry
    even fine firm flat hard heavy hollow light long loose narrow plain quick raw rigid rough round sharp short
    slow soft solid steep stiff strong thick thin tight tough warm wide autumn barn bridge brook canal city
    coast corner farm field forest garden harbour hill island lake market meadow mill north orchard path port
    river road south spring station street summer town valley village west winter yard
    """,
)


@dataclass(slots=True)
class Page:
    """A page without a fault; what is changed is a fault, or not."""

    path: str
    title: str | None = None
    description: str | None = None
    words: int = 170
    seed: str | None = None
    """Pages with equal seeds have equal texts."""
    extra_words: str = ""
    links: Sequence[str] = ()
    canonicals: Sequence[str] | None = None
    head: str = ""
    body: str = ""
    language: str | None = "en"
    has_viewport: bool = True
    headings: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    without: Sequence[str] = ()
    delay_s: float = 0.0
    status: int = 200

    def name(self) -> str:
        return self.path.strip("/").replace("-", " ").replace("/", " ") or "workshop"

    def html(self) -> str:
        chance = random.Random(self.seed or self.path)
        title = f"The {self.name()} of the workshop" if self.title is None else self.title
        described = f"What there is to know about the {self.name()}." if self.description is None else self.description
        canonicals = [self.path] if self.canonicals is None else self.canonicals
        text = " ".join(chance.choice(WORDS) for _ in range(self.words))
        headings = f"<h1>About the {self.name()}</h1><h2>In detail</h2>" if self.headings is None else self.headings
        head = [
            f"<title>{title}</title>" if title else "",
            f'<meta name="description" content="{described}">' if described else "",
            '<meta name="viewport" content="width=device-width, initial-scale=1">' if self.has_viewport else "",
            *(f'<link rel="canonical" href="{ORIGIN}{path}">' for path in canonicals),
            self.head,
        ]
        anchors = "".join(f'<li><a href="{link}">To {link}</a></li>' for link in self.links)
        language = f' lang="{self.language}"' if self.language else ""
        return (
            f"<!doctype html><html{language}><head>{''.join(head)}</head><body><nav><a href='/'>Start</a></nav>"
            f"<main>{headings}<p>{text} {self.extra_words}</p>{self.body}<ul>{anchors}</ul></main>"
            f"<footer>The workshop</footer></body></html>"
        )

    def route(self) -> PlainRoute:
        kept = {name: value for name, value in HEADERS.items() if name not in self.without}
        return PlainRoute(self.html(), self.status, {**kept, **self.headers}, self.delay_s)


def redirect(path: str, status: int = 301) -> PlainRoute:
    return PlainRoute("", status, {"Location": ORIGIN + path})


def sitemap(paths: Iterable[str]) -> PlainRoute:
    entries = "".join(f"<url><loc>{ORIGIN}{path}</loc></url>" for path in paths)
    body = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    return PlainRoute(body, 200, {"Content-Type": "application/xml"})


def text(body: str, status: int = 200) -> PlainRoute:
    return PlainRoute(body, status, {"Content-Type": "text/plain; charset=utf-8"})


def alternates(*pairs: tuple[str, str]) -> str:
    return "".join(f'<link rel="alternate" hreflang="{code}" href="{ORIGIN}{path}">' for code, path in pairs)


def json_ld(item: Mapping[str, Any] | str) -> str:
    written = item if isinstance(item, str) else json.dumps({"@context": "https://schema.org", **item})
    return f'<script type="application/ld+json">{written}</script>'


class Plan:
    """A site under construction: pages are linked from the start page and listed, unless told otherwise."""

    def __init__(self) -> None:
        self.routes: dict[str, PlainRoute] = {}
        self.faults: list[Fault] = []
        self.linked: list[str] = []
        self.listed: list[str] = ["/"]

    def add(self, page: Page, *codes: Code, linked: bool = True, listed: bool = True) -> None:
        self.put(page.path, page.route(), *codes, linked=linked, listed=listed)

    def put(self, path: str, route: PlainRoute, *codes: Code, linked: bool = True, listed: bool = False) -> None:
        self.routes[path] = route
        self.linked += [path] * linked
        self.listed += [path] * listed
        self.faults += [Fault(code, path) for code in codes]

    def site(self, name: str, robots: PlainRoute, *, is_secure: bool = True, has_sitemap: bool = True) -> LabelledSite:
        start = Page("/", links=self.linked)
        routes = {"/": start.route(), **self.routes, "/robots.txt": robots}
        if has_sitemap:
            routes["/sitemap.xml"] = sitemap(self.listed)
        return LabelledSite(name, routes, tuple(self.faults), is_secure)


NOINDEX = '<meta name="robots" content="noindex">'
ROBOTS = f"""User-agent: *
Disallow: /private/
Disallow: /cellar/
Allow: /cellar/
Dissallow: /attic/

User-agent: Googlebot
Disallow: /private/
Disallow: /hidden-noindex

Sitemap: {ORIGIN}/sitemap.xml
Sitemap: {ORIGIN}/sitemap-news.xml
"""


def planted_site() -> LabelledSite:
    """A site by https with nearly every fault."""
    plan = Plan()
    plan.add(Page("/about"))
    plan.faults += [
        Fault(Code.ROBOTS_SYNTAX, "/robots.txt"),
        Fault(Code.ROBOTS_RULE_WITHOUT_EFFECT, "/robots.txt"),
        Fault(Code.SITEMAP_FAULT, "/sitemap-news.xml"),
    ]
    _plant_answers(plan)
    _plant_canonicals(plan)
    _plant_sitemap(plan)
    _plant_texts(plan)
    _plant_speed_and_security(plan)
    _plant_languages_and_data(plan)
    return plan.site("planted", text(ROBOTS))


def _plant_answers(plan: Plan) -> None:
    plan.put("/gone", PlainRoute("Gone.", 404), Code.BROKEN_LINK)
    plan.put("/crash", PlainRoute("Oh.", 500), Code.SERVER_ERROR, Code.BROKEN_LINK)
    plan.put("/hangs-up", PlainRoute(drops=True), Code.UNREACHABLE, Code.BROKEN_LINK)
    missing = Page("/no-such-thing", title="Page not found", words=12, headings="<h1>Page not found</h1>")
    plan.add(missing, Code.SOFT_404, listed=False)
    plan.put("/chain-1", redirect("/chain-2"), Code.REDIRECT_CHAIN, Code.LINK_TO_REDIRECT)
    plan.put("/chain-2", redirect("/about"), linked=False)
    plan.put("/loop-1", redirect("/loop-2"), Code.REDIRECT_LOOP)
    plan.put("/loop-2", redirect("/loop-1"), linked=False)
    plan.put("/old-about", redirect("/about"), Code.LINK_TO_REDIRECT)
    plan.put("/offer", redirect("/about", 302), Code.TEMPORARY_REDIRECT, Code.LINK_TO_REDIRECT)


def _plant_canonicals(plan: Plan) -> None:
    plan.add(Page("/canonical-redirect", canonicals=["/old-about"]), Code.CANONICAL_TO_REDIRECT)
    plan.add(Page("/canonical-gone", canonicals=["/gone"]), Code.CANONICAL_TO_ERROR)
    plan.add(Page("/canonical-noindex", canonicals=["/noindex"]), Code.CANONICAL_TO_NOINDEX)
    plan.add(Page("/noindex", head=NOINDEX), listed=False)
    plan.add(Page("/canonical-1", canonicals=["/canonical-2"]), Code.CANONICAL_CHAIN, listed=False)
    plan.add(Page("/canonical-2", canonicals=["/about"]), listed=False)
    plan.add(Page("/canonical-two", canonicals=["/canonical-two", "/about"]), Code.MULTIPLE_CANONICALS)


def _plant_sitemap(plan: Plan) -> None:
    plan.add(Page("/noindex-listed", head=NOINDEX), Code.NOINDEX_IN_SITEMAP)
    plan.add(Page("/noindex-header", headers={"X-Robots-Tag": "noindex"}), Code.NOINDEX_IN_SITEMAP)
    plan.add(Page("/private/report"), Code.BLOCKED_IN_SITEMAP, linked=False)
    plan.put("/moved", redirect("/about"), Code.REDIRECT_IN_SITEMAP, linked=False, listed=True)
    lost = PlainRoute("Gone.", 410)
    plan.put("/lost", lost, Code.ERROR_IN_SITEMAP, Code.BROKEN_PAGE, linked=False, listed=True)
    plan.add(Page("/copy", canonicals=["/about"]), Code.NOT_CANONICAL_IN_SITEMAP)
    plan.add(Page("/orphan"), Code.ORPHAN_PAGE, linked=False)
    plan.add(Page("/unlisted"), Code.UNLISTED_PAGE, listed=False)
    plan.add(Page("/hidden-noindex", head=NOINDEX), Code.NOINDEX_BLOCKED_BY_ROBOTS, listed=False)


def _plant_texts(plan: Plan) -> None:
    plan.add(Page("/untitled", title=""), Code.MISSING_TITLE)
    plan.add(Page("/two-titles", head="<title>Another title</title>"), Code.MULTIPLE_TITLES)
    plan.add(Page("/bench", title="Furniture"), Code.DUPLICATE_TITLE)
    plan.add(Page("/stool", title="Furniture"), Code.DUPLICATE_TITLE)
    plan.add(Page("/wordy", title="A very long title " * 8), Code.LONG_TITLE)
    plan.add(Page("/undescribed", description=""), Code.MISSING_DESCRIPTION)
    plan.add(Page("/lamp", description="Made by hand."), Code.DUPLICATE_DESCRIPTION)
    plan.add(Page("/clock", description="Made by hand."), Code.DUPLICATE_DESCRIPTION)
    plan.add(Page("/no-heading", headings="<p>About it</p>"), Code.MISSING_H1)
    plan.add(Page("/two-headings", headings="<h1>One</h1><h1>Two</h1>"), Code.MULTIPLE_H1)
    plan.add(Page("/skipped", headings="<h1>One</h1><h4>Two</h4>"), Code.SKIPPED_HEADING_LEVEL)
    same = "<h1>Our chairs</h1>"
    plan.add(Page("/chair", seed="chair", headings=same), Code.DUPLICATE_CONTENT)
    plan.add(Page("/chair-again", seed="chair", headings=same), Code.DUPLICATE_CONTENT)
    plan.add(Page("/desk-north", seed="desk", headings=same, extra_words="North."), Code.NEAR_DUPLICATE_CONTENT)
    plan.add(Page("/desk-south", seed="desk", headings=same, extra_words="South."), Code.NEAR_DUPLICATE_CONTENT)
    plan.add(Page("/thin", words=8), Code.THIN_PAGE)
    plan.add(Page("/pictures", body='<img src="/oak.png"><img src="/elm.png" alt="An elm">'), Code.MISSING_ALT)
    plan.add(Page("/no-language", language=None), Code.MISSING_LANGUAGE)
    plan.add(Page("/no-viewport", has_viewport=False), Code.MISSING_VIEWPORT)


def _plant_speed_and_security(plan: Plan) -> None:
    plan.add(Page("/slow", delay_s=2.2), Code.SLOW_PAGE)
    plan.add(Page("/large", body=f"<!-- {'stone ' * 60_000} -->"), Code.LARGE_PAGE)
    plan.add(Page("/steps/1", links=["/steps/2"]))
    plan.add(Page("/steps/2", links=["/steps/3"]), linked=False, listed=False)
    plan.add(Page("/steps/3", links=["/steps/4"]), linked=False, listed=False)
    plan.add(Page("/steps/4"), Code.DEEP_PAGE, linked=False, listed=False)
    plan.faults += [Fault(Code.UNLISTED_PAGE, f"/steps/{number}") for number in (2, 3, 4)]
    plan.add(Page("/uncompressed", without=["Content-Encoding"]), Code.NO_COMPRESSION)
    plan.add(Page("/uncached", without=["Cache-Control"]), Code.NO_CACHE_HEADERS)
    plan.add(Page("/mixed", body='<img src="http://img.test/oak.png" alt="An oak">'), Code.MIXED_CONTENT)
    plan.add(Page("/links-by-http", links=[f"{HTTP_ORIGIN}/about"]), Code.HTTP_LINK)
    plan.add(Page("/no-hsts", without=["Strict-Transport-Security"]), Code.MISSING_HSTS)
    plan.add(Page("/sniffed", without=["X-Content-Type-Options"]), Code.MISSING_CONTENT_TYPE_OPTIONS)
    plan.add(Page("/framed", without=["X-Frame-Options"]), Code.MISSING_FRAME_OPTIONS)
    plan.add(Page("/no-policy", without=["Content-Security-Policy"]), Code.MISSING_CONTENT_SECURITY_POLICY)
    plan.add(Page("/referred", without=["Referrer-Policy"]), Code.MISSING_REFERRER_POLICY)


def _plant_languages_and_data(plan: Plan) -> None:
    plan.add(Page("/en/oak", head=alternates(("en", "/en/oak"), ("de", "/de/oak"))), Code.HREFLANG_NO_RETURN)
    plan.add(Page("/de/oak", language="de"))
    plan.add(Page("/en/elm", head=alternates(("en-UK", "/en/elm"))), Code.HREFLANG_INVALID)
    plan.add(Page("/en/ash", head=alternates(("en", "/en/ash"), ("fr", "/gone"))), Code.HREFLANG_TO_ERROR)
    plan.add(Page("/broken-data", head=json_ld('{"@type": "Product", "name": }')), Code.STRUCTURED_DATA_FAULT)
    plan.add(Page("/product", head=json_ld({"@type": "Product", "name": "Stool"})), Code.STRUCTURED_DATA_INCOMPLETE)


def bare_site() -> LabelledSite:
    """A site by http without a sitemap, and with a robots.txt that is too large."""
    plan = Plan()
    plan.add(Page("/about"))
    plan.faults += [Fault(Code.NO_SITEMAP, "/"), Fault(Code.ROBOTS_TOO_LARGE, "/robots.txt")]
    robots = text("User-agent: *\nDisallow: /private/\n" + "# Do not enter.\n" * 32_500)
    return plan.site("bare", robots, is_secure=False, has_sitemap=False)


def closed_site() -> LabelledSite:
    """A site whose robots.txt fails, so that nothing may be read."""
    plan = Plan()
    plan.faults += [Fault(Code.ROBOTS_UNREACHABLE, "/robots.txt")]
    return plan.site("closed", text("Try again later.", 503), is_secure=False)


def clean_site() -> LabelledSite:
    """A site without a fault, with much that comes near to one."""
    plan = Plan()
    plan.add(Page("/about"))
    plan.add(Page("/terms", head=NOINDEX, words=8, description=""), listed=False)
    plan.add(Page("/about-print", seed="/about", canonicals=["/about"], head=""), listed=False)
    both = alternates(("en", "/en/oak"), ("de-AT", "/de/oak"), ("x-default", "/en/oak"))
    plan.add(Page("/en/oak", head=both))
    plan.add(Page("/de/oak", head=both, language="de-AT"))
    offer = {"@type": "Offer", "price": "12.00", "priceCurrency": "EUR"}
    plan.add(Page("/product", head=json_ld({"@type": "Product", "name": "Stool", "offers": offer})))
    plan.add(Page("/pictures", body='<img src="/oak.png" alt="An oak"><img src="/line.png" alt="">'))
    plan.add(Page("/headings", headings="<h1>One</h1><h2>Two</h2><h3>Three</h3><h2>Four</h2>"))
    plan.add(
        Page("/framed", without=["X-Frame-Options"], headers={"Content-Security-Policy": "frame-ancestors 'self'"})
    )
    plan.add(Page("/tagged", without=["Cache-Control"], headers={"ETag": '"1"'}))
    plan.add(Page("/about-errors", title="Page not found: what it means", words=320))
    plan.add(Page("/steps/1", links=["/steps/2"]))
    plan.add(Page("/steps/2", links=["/steps/3"]), linked=False)
    plan.add(Page("/steps/3"), linked=False)
    plan.put("/members", redirect("/login", 302))
    plan.add(Page("/login", head=NOINDEX), listed=False)
    plan.put("/private/report", PlainRoute("For us.", 403))  # never requested: robots.txt forbids it
    robots = text(f"User-agent: *\nAllow: /\nDisallow: /private/\nCrawl-delay: 0.1\n\nSitemap: {ORIGIN}/sitemap.xml\n")
    return plan.site("clean", robots)


PLANTED = (planted_site, bare_site, closed_site)
