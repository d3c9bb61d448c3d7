"""Every code of a finding: the fault gives exactly that finding, and what comes near to it gives none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from comity.model.audit import (
    Alternate,
    AuditedPage,
    AuditedRobots,
    Directive,
    Finding,
    FindingCode,
    Heading,
    PageFacts,
    Resource,
    SitemapFile,
    StructuredItem,
)
from comity.model.audit import FindingCode as Code
from comity.model.page import Hop
from comity.rules.audit.catalogue import CATALOGUE
from comity.rules.audit.findings import find
from comity.rules.audit.similarity import similarity_of
from comity.rules.audit.site_rows import Found, SiteRow, UrlResult
from comity.rules.audit.titles_and_text import FEWEST_WORDS, LONGEST_TITLE, SharedTexts, is_later_page, series_of
from tests.audit.memory import (
    GOOD_HEADERS,
    GOOD_ROBOTS,
    SITE,
    SITEMAP,
    MemoryAudit,
    absolute,
    audit_info,
    failed_page,
    good_facts,
    good_page,
    good_site,
    link,
    listed,
    redirected_page,
    words_of,
)

NOINDEX = (Directive("noindex, follow", "meta robots"),)


def codes(found: tuple[Finding, ...]) -> dict[str, list[str]]:
    """Paths by code."""
    return {str(each.code): [page.url.removeprefix(SITE) for page in each.pages] for each in found}


def page(path: str = "/x", **facts: Any) -> AuditedPage:
    """A listed and linked page, good but for some facts."""
    return good_page(path, facts=good_facts(path, **facts))


def headers_without(*names: str, **changes: str) -> tuple[tuple[str, str], ...]:
    kept = {name: value for name, value in GOOD_HEADERS if name not in names}
    return tuple({**kept, **{name.replace("_", "-"): value for name, value in changes.items()}}.items())


def site(*pages: AuditedPage, **changes: Any) -> MemoryAudit:
    return replace(good_site(*pages), **changes)


def robots(text: str | None, status: int | None = 200) -> MemoryAudit:
    return site(robots_=[AuditedRobots(SITE, status, text, "what it means")])


def not_linked(*pages: AuditedPage) -> MemoryAudit:
    """A site with pages that are known, but that no page links to."""
    known = good_site(*pages)
    return replace(known, links_=[each for each in known.links_ if each.link.url not in {page.url for page in pages}])


def near_words(path: str) -> dict[str, Any]:
    """A text that shares nearly all of its words with others of the kind."""
    words = [*words_of("shared", 300), *words_of(path, 2)]
    return {"similarity": similarity_of(words), "word_count": len(words)}


def canonical(*paths: str) -> dict[str, Any]:
    return {"canonicals": tuple(map(absolute, paths))}


def alternates(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"alternates": tuple(Alternate(language, absolute(path), "link") for language, path in pairs)}


def by_http(**changes: Any) -> AuditedPage:
    """A page of another origin scheme that redirects to its https twin."""
    url = f"http{SITE.removeprefix('https')}/a"
    return replace(redirected_page(url, "/a"), **changes)


Made = Callable[[], MemoryAudit]
FAULTS: list[tuple[Code, Made, dict[str, list[str]]]] = [
    (Code.BROKEN_LINK, lambda: site(failed_page("/x")), {"broken_link": ["/x"]}),
    (Code.BROKEN_LINK, lambda: site(redirected_page("/x", "/y", last=404)), {"broken_link": ["/x"]}),
    (
        Code.BROKEN_PAGE,
        lambda: not_linked(failed_page("/x", in_sitemap=True)),
        {"broken_page": ["/x"], "error_in_sitemap": ["/x"]},
    ),
    (
        Code.BROKEN_PAGE,
        lambda: MemoryAudit(pages_=[failed_page("/", 403, depth=0)], sitemaps_=[SitemapFile(SITEMAP, "missing", 0)]),
        {"broken_page": ["/"]},
    ),
    (Code.SERVER_ERROR, lambda: not_linked(failed_page("/x", 503)), {"server_error": ["/x"]}),
    (Code.SERVER_ERROR, lambda: site(failed_page("/x", 500)), {"broken_link": ["/x"], "server_error": ["/x"]}),
    (Code.UNREACHABLE, lambda: not_linked(failed_page("/x", None)), {"unreachable": ["/x"]}),
    (
        Code.SOFT_404,
        lambda: site(page(titles=("Page not found | Shop",), word_count=20, descriptions=(), headings=())),
        {"soft_404": ["/x"]},
    ),
    (Code.SOFT_404, lambda: site(page(headings=(Heading(1, "404"),), word_count=20)), {"soft_404": ["/x"]}),
    (
        Code.SOFT_404,
        lambda: site(page(headings=(Heading(1, "We can't find that page"),), word_count=20)),
        {"soft_404": ["/x"]},
    ),
    (
        Code.REDIRECT_CHAIN,
        lambda: not_linked(redirected_page("/x", "/y", "/a")),
        {"redirect_chain": ["/x"]},
    ),
    (
        Code.REDIRECT_LOOP,
        lambda: site(failed_page("/x", 301, "too_many_redirects: more than 10 redirects")),
        {"redirect_loop": ["/x"]},
    ),
    (
        Code.REDIRECT_LOOP,
        lambda: site(
            failed_page(
                "/x",
                302,
                hops=(Hop(absolute("/x"), 302, absolute("/y"), 1, 1), Hop(absolute("/y"), 302, absolute("/x"), 1, 1)),
            )
        ),
        {"redirect_loop": ["/x"]},
    ),
    (Code.LINK_TO_REDIRECT, lambda: site(redirected_page("/x", "/a")), {"link_to_redirect": ["/x"]}),
    (
        Code.TEMPORARY_REDIRECT,
        lambda: not_linked(redirected_page("/x", "/a", status=302)),
        {"temporary_redirect": ["/x"]},
    ),
    (
        Code.CANONICAL_TO_REDIRECT,
        lambda: replace(
            not_linked(redirected_page("/y", "/a"), page(**canonical("/y"))),
            links_=[*good_site().links_, link("/", "/x")],
        ),
        {"canonical_to_redirect": ["/x"]},
    ),
    (
        Code.CANONICAL_TO_ERROR,
        lambda: replace(
            not_linked(failed_page("/y"), page(**canonical("/y"))), links_=[*good_site().links_, link("/", "/x")]
        ),
        {"canonical_to_error": ["/x"]},
    ),
    (
        Code.CANONICAL_TO_NOINDEX,
        lambda: site(replace(page("/y", directives=NOINDEX), in_sitemap=False), page(**canonical("/y"))),
        {"canonical_to_noindex": ["/x"]},
    ),
    (
        Code.CANONICAL_CHAIN,
        lambda: site(
            replace(page("/y", **canonical("/a")), in_sitemap=False),
            replace(page("/x", **canonical("/y")), in_sitemap=False),
        ),
        {"canonical_chain": ["/x"]},
    ),
    (Code.MULTIPLE_CANONICALS, lambda: site(page(**canonical("/x", "/a"))), {"multiple_canonicals": ["/x"]}),
    (Code.NOINDEX_IN_SITEMAP, lambda: site(page(directives=NOINDEX)), {"noindex_in_sitemap": ["/x"]}),
    (
        Code.NOINDEX_IN_SITEMAP,
        lambda: site(replace(page(), headers=headers_without(x_robots_tag="none"))),
        {"noindex_in_sitemap": ["/x"]},
    ),
    (
        Code.BLOCKED_IN_SITEMAP,
        lambda: site(listed_=listed("/", "/a", "/b", "/private/x")),
        {"blocked_in_sitemap": ["/private/x"]},
    ),
    (
        Code.REDIRECT_IN_SITEMAP,
        lambda: not_linked(redirected_page("/x", "/a", in_sitemap=True)),
        {"redirect_in_sitemap": ["/x"]},
    ),
    (
        Code.ERROR_IN_SITEMAP,
        lambda: not_linked(failed_page("/x", 500, in_sitemap=True)),
        {"server_error": ["/x"], "error_in_sitemap": ["/x"]},
    ),
    (
        Code.NOT_CANONICAL_IN_SITEMAP,
        lambda: site(page(**canonical("/a"))),
        {"not_canonical_in_sitemap": ["/x"]},
    ),
    (
        Code.SITEMAP_FAULT,
        lambda: site(sitemaps_=[SitemapFile(SITEMAP, "missing", 0)], listed_=[]),
        {"sitemap_fault": ["/sitemap.xml"]},
    ),
    (
        Code.SITEMAP_FAULT,
        lambda: site(sitemaps_=[SitemapFile(SITEMAP, "read", 3, "truncated")]),
        {"sitemap_fault": ["/sitemap.xml"]},
    ),
    (
        Code.NO_SITEMAP,
        lambda: site(
            sitemaps_=[SitemapFile(SITEMAP, "missing", 0)],
            listed_=[],
            robots_=[AuditedRobots(SITE, 404, None, "unavailable")],
        ),
        {"no_sitemap": ["/"]},
    ),
    (Code.ORPHAN_PAGE, lambda: not_linked(page()), {"orphan_page": ["/x"]}),
    (
        Code.ORPHAN_PAGE,
        lambda: replace(not_linked(page()), links_=[*good_site().links_, link("/x", "/x"), link("/x", "/")]),
        {"orphan_page": ["/x"]},
    ),
    (Code.UNLISTED_PAGE, lambda: site(replace(page(), in_sitemap=False)), {"unlisted_page": ["/x"]}),
    (Code.ROBOTS_SYNTAX, lambda: robots(GOOD_ROBOTS + "Dissalow: /c\n"), {"robots_syntax": ["/robots.txt"]}),
    (
        Code.ROBOTS_RULE_WITHOUT_EFFECT,
        lambda: robots("Disallow: /b\n" + GOOD_ROBOTS),
        {"robots_rule_without_effect": ["/robots.txt"]},
    ),
    (
        Code.ROBOTS_TOO_LARGE,
        lambda: robots(GOOD_ROBOTS + "# nothing\n" * 52_000),
        {"robots_too_large": ["/robots.txt"]},
    ),
    (Code.ROBOTS_UNREACHABLE, lambda: robots(None, 503), {"robots_unreachable": ["/robots.txt"]}),
    (
        Code.NOINDEX_BLOCKED_BY_ROBOTS,
        lambda: replace(
            good_site(replace(page(directives=NOINDEX), in_sitemap=False)),
            robots_=[AuditedRobots(SITE, 200, f"{GOOD_ROBOTS}\nUser-agent: Googlebot\nDisallow: /x\n", "")],
        ),
        {"noindex_blocked_by_robots": ["/x"]},
    ),
    (
        Code.NOINDEX_BLOCKED_BY_ROBOTS,
        lambda: not_linked(
            AuditedPage(
                absolute("/private/x"), error="blocked_by_robots: line 2", headers=(("x-robots-tag", "noindex"),)
            )
        ),
        {"noindex_blocked_by_robots": ["/private/x"]},
    ),
    (Code.MISSING_TITLE, lambda: site(page(titles=())), {"missing_title": ["/x"]}),
    (Code.MISSING_TITLE, lambda: site(page(titles=("  ",))), {"missing_title": ["/x"]}),
    (Code.MULTIPLE_TITLES, lambda: site(page(titles=("One", "Two"))), {"multiple_titles": ["/x"]}),
    (
        Code.DUPLICATE_TITLE,
        lambda: site(page(titles=("Our  shop",)), page("/y", titles=("our shop.",))),
        {"duplicate_title": ["/x", "/y"]},
    ),
    (Code.LONG_TITLE, lambda: site(page(titles=("t" * (LONGEST_TITLE + 1),))), {"long_title": ["/x"]}),
    (Code.MISSING_DESCRIPTION, lambda: site(page(descriptions=())), {"missing_description": ["/x"]}),
    (
        Code.DUPLICATE_DESCRIPTION,
        lambda: site(page(descriptions=("All.",)), page("/y", descriptions=("All.",))),
        {"duplicate_description": ["/x", "/y"]},
    ),
    (Code.MISSING_H1, lambda: site(page(headings=(Heading(2, "More"),))), {"missing_h1": ["/x"]}),
    (Code.MULTIPLE_H1, lambda: site(page(headings=(Heading(1, "A"), Heading(1, "B")))), {"multiple_h1": ["/x"]}),
    (
        Code.SKIPPED_HEADING_LEVEL,
        lambda: site(page(headings=(Heading(1, "A"), Heading(3, "B")))),
        {"skipped_heading_level": ["/x"]},
    ),
    (
        Code.DUPLICATE_CONTENT,
        lambda: site(page(text_hash="same"), page("/y", text_hash="same")),
        {"duplicate_content": ["/x", "/y"]},
    ),
    (
        Code.NEAR_DUPLICATE_CONTENT,
        lambda: site(page(**near_words("/x")), page("/y", **near_words("/y"))),
        {"near_duplicate_content": ["/x", "/y"]},
    ),
    (Code.THIN_PAGE, lambda: site(page(word_count=FEWEST_WORDS - 1)), {"thin_page": ["/x"]}),
    (Code.MISSING_ALT, lambda: site(page(images_without_alt=(absolute("/i.png"),))), {"missing_alt": ["/x"]}),
    (Code.MISSING_LANGUAGE, lambda: site(page(language=None)), {"missing_language": ["/x"]}),
    (Code.MISSING_VIEWPORT, lambda: site(page(has_viewport=False)), {"missing_viewport": ["/x"]}),
    (Code.SLOW_PAGE, lambda: site(replace(page(), first_byte_ms=2_500.0)), {"slow_page": ["/x"]}),
    (Code.SLOW_PAGE, lambda: site(replace(page(), elapsed_ms=9_000.0)), {"slow_page": ["/x"]}),
    (Code.LARGE_PAGE, lambda: site(replace(page(), body_bytes=400_000)), {"large_page": ["/x"]}),
    (Code.DEEP_PAGE, lambda: site(replace(page(), depth=4)), {"deep_page": ["/x"]}),
    (
        Code.NO_COMPRESSION,
        lambda: site(replace(page(), headers=headers_without("content-encoding"))),
        {"no_compression": ["/x"]},
    ),
    (
        Code.NO_CACHE_HEADERS,
        lambda: site(replace(page(), headers=headers_without("cache-control"))),
        {"no_cache_headers": ["/x"]},
    ),
    (
        Code.MIXED_CONTENT,
        lambda: site(page(insecure_resources=(Resource("img", "http://example.test/i.png"),))),
        {"mixed_content": ["/x"]},
    ),
    (
        Code.HTTP_LINK,
        lambda: replace(good_site(), links_=[*good_site().links_, link("/", f"http{SITE[5:]}/a")]),
        {"http_link": ["http://example.test/a"]},
    ),
    (Code.HTTP_LINK, lambda: site(by_http()), {"http_link": ["http://example.test/a"]}),
    (
        Code.MISSING_HSTS,
        lambda: site(replace(page(), headers=headers_without(strict_transport_security="max-age=0"))),
        {"missing_hsts": ["/x"]},
    ),
    (
        Code.MISSING_CONTENT_TYPE_OPTIONS,
        lambda: site(replace(page(), headers=headers_without("x-content-type-options"))),
        {"missing_content_type_options": ["/x"]},
    ),
    (
        Code.MISSING_FRAME_OPTIONS,
        lambda: site(replace(page(), headers=headers_without("x-frame-options"))),
        {"missing_frame_options": ["/x"]},
    ),
    (
        Code.MISSING_CONTENT_SECURITY_POLICY,
        lambda: site(replace(page(), headers=headers_without("content-security-policy"))),
        {"missing_content_security_policy": ["/x"]},
    ),
    (
        Code.MISSING_REFERRER_POLICY,
        lambda: site(replace(page(), headers=headers_without("referrer-policy"))),
        {"missing_referrer_policy": ["/x"]},
    ),
    (
        Code.HREFLANG_NO_RETURN,
        lambda: site(page(**alternates(("en", "/x"), ("de", "/a")))),
        {"hreflang_no_return": ["/x"]},
    ),
    (
        Code.HREFLANG_INVALID,
        lambda: site(page(**alternates(("en-UK", "/x")))),
        {"hreflang_invalid": ["/x"]},
    ),
    (
        Code.HREFLANG_TO_ERROR,
        lambda: replace(
            not_linked(failed_page("/y"), page(**alternates(("en", "/x"), ("de", "/y")))),
            links_=[*good_site().links_, link("/", "/x")],
        ),
        {"hreflang_to_error": ["/x"]},
    ),
    (
        Code.STRUCTURED_DATA_FAULT,
        lambda: site(page(structured=(StructuredItem("", "json-ld", (), "line 3: a comma is missing"),))),
        {"structured_data_fault": ["/x"]},
    ),
    (
        Code.STRUCTURED_DATA_INCOMPLETE,
        lambda: site(page(structured=(StructuredItem("Product", "json-ld", ("offers.price",)),))),
        {"structured_data_incomplete": ["/x"]},
    ),
]


@pytest.mark.parametrize(("code", "made", "expected"), FAULTS, ids=[f"{each[0]}-{n}" for n, each in enumerate(FAULTS)])
def test_a_fault_gives_its_finding_alone(code: Code, made: Made, expected: dict[str, list[str]]) -> None:
    assert code in expected
    assert codes(find(made())) == expected


def test_every_code_has_a_test_and_words() -> None:
    assert {each[0] for each in FAULTS} == set(FindingCode) == set(CATALOGUE)
    titles = [entry.title for entry in CATALOGUE.values()]
    assert len(set(titles)) == len(titles)
    for entry in CATALOGUE.values():
        assert entry.meaning.endswith(".")
        assert entry.remedy.endswith(".")
        assert not entry.title.endswith(".")


NOT_VISITED = AuditedPage(absolute("/x"), error="budget: 200 pages were visited")
NEAR_MISSES: dict[str, Made] = {
    "a good site": good_site,
    "an empty audit": MemoryAudit,
    "a page that a budget left": lambda: site(NOT_VISITED, info=audit_info(left=1)),
    "a listed page that a budget left": lambda: site(replace(NOT_VISITED, in_sitemap=True), info=audit_info(left=1)),
    "an audit that a budget ended knows no orphans": lambda: replace(not_linked(page()), info=audit_info(left=3)),
    "an audit that a budget ended knows no unlisted pages": lambda: site(
        replace(page(), in_sitemap=False), info=audit_info(left=3)
    ),
    "a link to another site": lambda: replace(
        good_site(), links_=[*good_site().links_, link("/", "https://other.test/gone", outcome="off_site")]
    ),
    "a link that robots.txt forbids": lambda: site(
        AuditedPage(absolute("/private/x"), error="blocked_by_robots: line 2")
    ),
    "a rate limit": lambda: site(failed_page("/x", 429)),
    "a host that is busy": lambda: site(failed_page("/x", None, "host_busy: another process holds it")),
    "a long text about error pages": lambda: site(page(titles=("404 not found: what it means",), word_count=900)),
    "a number that is no status": lambda: site(page(titles=("Peugeot 404 | Cars",), word_count=150)),
    "a redirect to a login": lambda: not_linked(redirected_page("/x", "/login?next=/x", status=302)),
    "a redirect to another site": lambda: site(redirected_page("/x", "https://other.test/y")),
    "a redirect to a site whose robots.txt cannot be read": lambda: site(
        failed_page(
            "/x",
            302,
            "robots_unreachable: redirected to https://other.test/y",
            hops=(Hop(absolute("/x"), 302, "https://other.test/y", 40.0, 50.0),),
        )
    ),
    "a link to a page for members": lambda: site(failed_page("/members", 401)),
    "addresses by http that the browser upgrades": lambda: site(
        replace(
            page(insecure_resources=(Resource("img", "http://cdn.test/a.png"),)),
            headers=headers_without(content_security_policy="default-src 'self'; upgrade-insecure-requests"),
        )
    ),
    "a redirect from an account to a login": lambda: site(
        redirected_page("/account", "/login?next=/account", status=302, facts=None)
    ),
    "a mail address that Cloudflare hides": lambda: site(failed_page("/cdn-cgi/l/email-protection")),
    "the pages of a list": lambda: site(
        page("/list", titles=("All boats",), descriptions=("Every boat.",)),
        replace(page("/list?page=2", titles=("All boats",), descriptions=("Every boat.",)), in_sitemap=False),
        replace(page("/list/page/3/", titles=("All boats",), descriptions=("Every boat.",)), in_sitemap=False),
    ),
    "a text about what does not exist": lambda: site(page(titles=("La perfección no existe",), word_count=150)),
    "a policy in the page": lambda: site(
        replace(
            page(
                insecure_resources=(Resource("img", "http://cdn.test/a.png"),), policies=("upgrade-insecure-requests",)
            ),
            headers=headers_without("content-security-policy", x_frame_options="DENY"),
        )
    ),
    "a page whose canonical is itself": lambda: site(page(**canonical("/x"))),
    "a page without a canonical": lambda: site(page(canonicals=())),
    "the same canonical twice": lambda: site(page(**canonical("/x", "/x"))),
    "a canonical that was not visited": lambda: site(replace(page(**canonical("/unknown")), in_sitemap=False)),
    "a noindex page": lambda: site(
        replace(
            page(directives=NOINDEX, word_count=3, descriptions=(), titles=("The page about /a",)), in_sitemap=False
        )
    ),
    "noindex for another crawler": lambda: site(page(directives=(Directive("otherbot: noindex", "header"),))),
    "a copy that names its original": lambda: site(
        replace(
            page(text_hash=good_facts("/a").text_hash, similarity=good_facts("/a").similarity, **canonical("/a")),
            in_sitemap=False,
        )
    ),
    "a title of the longest length": lambda: site(page(titles=("t" * LONGEST_TITLE,))),
    "just enough words": lambda: site(page(word_count=FEWEST_WORDS)),
    "headings that go up several levels": lambda: site(
        page(headings=tuple(Heading(level, "A") for level in (1, 2, 3, 4, 2, 3)))
    ),
    "short texts without words to compare": lambda: site(
        replace(page(word_count=0, text_hash=None, similarity=None, directives=NOINDEX), in_sitemap=False)
    ),
    "three clicks": lambda: site(replace(page(), depth=3)),
    "a small page without compression": lambda: site(
        replace(page(), headers=headers_without("content-encoding"), body_bytes=900)
    ),
    "an ETag alone": lambda: site(replace(page(), headers=headers_without("cache-control", etag='"1"'))),
    "a policy for frames": lambda: site(
        replace(page(), headers=headers_without("x-frame-options", content_security_policy="frame-ancestors 'none'"))
    ),
    "headers that were not kept": lambda: site(replace(page(), headers=())),
    "translations that link back": lambda: site(
        page(**alternates(("en", "/x"), ("de-AT", "/y"), ("x-default", "/x"))),
        page("/y", **alternates(("en", "/x"), ("de-AT", "/y"), ("zh-Hant-TW", "https://other.test/"))),
    ),
    "complete structured data": lambda: site(page(structured=(StructuredItem("Product", "json-ld"),))),
    "a missing robots.txt": lambda: robots(None, 404),
    "a sitemap that was only guessed": lambda: site(
        sitemaps_=[SitemapFile(SITEMAP, "read", 3), SitemapFile(f"{SITE}/sitemap_index.xml", "missing", 0)]
    ),
    "a file that is no page": lambda: site(
        replace(page(), facts=None, content_type="application/pdf", headers=(("content-type", "application/pdf"),))
    ),
}


@pytest.mark.parametrize("made", NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_what_comes_near_to_a_fault_gives_no_finding(made: Made) -> None:
    assert codes(find(made())) == {}


@pytest.mark.parametrize(
    ("url", "series", "is_later"),
    [
        ("https://a.test/list", "https://a.test/list", False),
        ("https://a.test/list?page=1", "https://a.test/list", False),
        ("https://a.test/list?page=2", "https://a.test/list", True),
        ("https://a.test/list?sort=price&page=2", "https://a.test/list?sort=price", True),
        ("https://a.test/list?page=2&sort=price", "https://a.test/list?sort=price", True),
        ("https://a.test/list?offset=0", "https://a.test/list", False),
        ("https://a.test/list?start=20", "https://a.test/list", True),
        ("https://a.test/blog/page/7/", "https://a.test/blog", True),
        ("https://a.test/?p=12", "https://a.test/?p=12", False),
        ("https://a.test/page/contact", "https://a.test/page/contact", False),
        ("https://a.test/homepage/3", "https://a.test/homepage/3", False),
    ],
)
def test_pages_of_a_series_are_known_by_their_address(url: str, series: str, is_later: bool) -> None:
    assert (series_of(url), is_later_page(url)) == (series, is_later)


@pytest.mark.parametrize(
    "title", ["Diese Seite existiert nicht", "Cette page n'existe pas", "La página no existe", "La página ya no existe"]
)
def test_an_error_page_in_another_language_is_known(title: str) -> None:
    assert codes(find(site(page(titles=(title,), word_count=100)))) == {"soft_404": ["/x"]}


def test_a_redirect_to_a_host_that_does_not_exist_is_a_broken_link() -> None:
    why = "robots.txt could not be fetched (dns_failure): everything disallowed until it is read again"
    gone = failed_page(
        "/x",
        301,
        f"robots_unreachable: redirected to https://gone.test/: {why}",
        hops=(Hop(absolute("/x"), 301, "https://gone.test/", 40.0, 50.0),),
    )
    assert codes(find(site(gone))) == {"broken_link": ["/x"], "unreachable": ["/x"]}


def test_a_page_that_is_too_large_to_be_read_is_reported() -> None:
    large = replace(page(), facts=None, error="too_large: more than 10000000 bytes", content_type="text/html")
    assert codes(find(site(large))) == {"large_page": ["/x"]}
    assert codes(find(site(replace(large, content_type="application/zip")))) == {}


def test_a_page_by_http_has_no_hsts_and_no_mixed_content_to_miss() -> None:
    plain = "http://example.test/"
    only = good_page(
        plain,
        headers=headers_without("strict-transport-security"),
        facts=good_facts(plain, insecure_resources=(Resource("img", "http://example.test/i.png"),)),
    )
    audit = MemoryAudit(
        pages_=[only],
        sitemaps_=[SitemapFile(f"{plain}sitemap.xml", "read", 1)],
        listed_=listed(plain),
        info=audit_info(site=plain),
    )
    assert codes(find(audit)) == {}


def test_a_page_reached_by_a_redirect_is_judged_once_under_its_own_address() -> None:
    moved = redirected_page("/x", "/y", facts=good_facts("/y", titles=()))
    again = redirected_page("/z", "/y", facts=good_facts("/y", titles=()))
    found = codes(find(not_linked(moved, again)))
    assert found == {"missing_title": ["/y"]}
    own = good_page("/y", facts=good_facts("/y", titles=()), in_sitemap=False)
    assert codes(find(replace(not_linked(moved, own))))["missing_title"] == ["/y"]


def test_a_page_linked_through_a_redirect_is_no_orphan() -> None:
    audit = not_linked(page("/y"), redirected_page("/x", "/y"))
    audit = replace(audit, links_=[*audit.links_, link("/", "/x")])
    assert codes(find(audit)) == {"link_to_redirect": ["/x"]}


def test_a_start_page_that_redirects_to_another_host_makes_that_host_the_site() -> None:
    start = redirected_page("/", "https://shop.test/")
    start = replace(start, facts=good_facts("https://shop.test/", titles=()))
    audit = MemoryAudit(pages_=[start], sitemaps_=[SitemapFile("https://shop.test/sitemap.xml", "planned", 0)])
    assert codes(find(audit)) == {"missing_title": ["https://shop.test/"]}


def test_broken_links_name_the_first_pages_that_hold_them() -> None:
    paths = [f"/p{number}" for number in range(40)]
    pages = [good_page("/"), *(good_page(path) for path in paths), failed_page("/gone")]
    links = [link("/", path) for path in paths] + [link(path, "/gone") for path in paths for _ in range(3)]
    audit = MemoryAudit(
        pages_=pages, links_=links, sitemaps_=[SitemapFile(SITEMAP, "read", 41)], listed_=listed("/", *paths)
    )
    (finding,) = find(audit)
    assert finding.code is Code.BROKEN_LINK
    assert finding.pages[0].detail == "404"
    assert finding.pages[0].sources == tuple(sorted(map(absolute, paths)))[:20]


def test_equal_pages_are_reported_once_and_not_for_their_titles_too() -> None:
    twins = [
        page(path, text_hash="same", titles=("Same",), descriptions=("Same.",), similarity=5) for path in ("/x", "/y")
    ]
    assert codes(find(site(*twins))) == {"duplicate_content": ["/x", "/y"]}
    third = page("/z", titles=("Same",))
    assert codes(find(site(*twins, third))) == {
        "duplicate_content": ["/x", "/y"],
        "duplicate_title": ["/x", "/y", "/z"],
    }


def test_findings_come_by_severity_and_then_by_number() -> None:
    audit = site(page(language=None, titles=()), page("/y", has_viewport=False, language=None))
    assert [str(each.code) for each in find(audit)] == ["missing_title", "missing_viewport", "missing_language"]


@pytest.mark.parametrize(
    ("one", "other", "is_alike"),
    [
        ("Red shoes | Harbour shop", "Red Shoe - Harbour shop", True),
        ("Red shoes | Harbour shop", "Harbour shop | The red shoes!", True),
        ("Café menu for summer", "Cafe menus for the summer", True),
        ("Chapter 1 of the harbour book", "Chapter 2 of the harbour book", False),
        ("Ferries from Cork to Brest", "Ferries from Brest to Cork", False),
        ("Learn C today", "Learn C++ today", False),
        ("News of the harbour", "New harbour", False),
        ("日本の港", "日本の船", False),
    ],
)
def test_nearly_equal_titles_are_duplicates_and_numbers_make_a_difference(one: str, other: str, is_alike: bool) -> None:
    found = SharedTexts()
    faults = Found()
    for path, title in (("/a", one), ("/b", other)):
        row = SiteRow(f"{SITE}{path}", UrlResult.OK)
        row.is_html = True
        found.take(PageFacts(titles=(title,), descriptions=(f"{title}. {path}",)), row)
    found.judge(faults)
    assert [each.code for each in faults.findings()] == (["duplicate_title"] if is_alike else [])
    assert all("(nearly the same)" in on.detail for each in faults.findings() for on in each.pages)
