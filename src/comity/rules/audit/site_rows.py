"""A site as the rules hold it: one slim row for each URL, and the faults found so far.

Facts, headers and hops of a page are judged while the page is in memory, and then dropped; a row keeps only what other
pages are judged by. Links are never held: of each fault, the first pages that link to it are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum, auto
from typing import Final

from comity.model.audit import AuditedPage, AuditInfo, Finding, FindingCode, FoundOn, PageFacts
from comity.model.fetch import FailureKind
from comity.rules.audit.catalogue import CATALOGUE
from comity.rules.directives import read_directives

MAX_SOURCES: Final = 20
_MAX_DETAIL: Final = 300

_SEARCH_AGENT: Final = "Googlebot"
_FOR_SEARCH: Final = frozenset({"meta robots", "meta googlebot"})
_TOO_MANY_REQUESTS: Final = 429
_NOT_MODIFIED: Final = 304
_UNRESOLVED: Final = f"({FailureKind.DNS_FAILURE})"
_NO_ANSWER: Final = frozenset(
    {
        FailureKind.DNS_FAILURE,
        FailureKind.CONNECT_FAILURE,
        FailureKind.TLS_FAILURE,
        FailureKind.CERTIFICATE_REFUSED,
        FailureKind.CONNECT_TIMEOUT,
        FailureKind.FIRST_BYTE_TIMEOUT,
        FailureKind.IDLE_TIMEOUT,
        FailureKind.TOTAL_TIMEOUT,
        FailureKind.RESET,
        FailureKind.PROTOCOL_ERROR,
        FailureKind.BAD_ENCODING,
        FailureKind.HEADER_FLOOD,
        FailureKind.INVALID_HEADER,
        "bad_redirect",
    }
)


class UrlResult(Enum):
    """What became of a URL."""

    OK = auto()
    CLIENT_ERROR = auto()
    SERVER_ERROR = auto()
    NO_ANSWER = auto()
    LOOP = auto()
    BLOCKED = auto()
    """robots.txt forbids it."""
    UNKNOWN = auto()
    """Not visited, or left for a reason that is not the site's fault."""


FAILED: Final = frozenset({UrlResult.CLIENT_ERROR, UrlResult.SERVER_ERROR, UrlResult.NO_ANSWER})


class SiteRow:
    """What is kept of a URL."""

    __slots__ = (
        "answer",
        "canonical",
        "code",
        "depth",
        "final_url",
        "first_status",
        "has_noindex",
        "is_html",
        "is_linked",
        "is_listed",
        "is_soft_404",
        "redirects",
        "sources",
        "status",
        "url",
    )

    def __init__(self, url: str, answer: UrlResult = UrlResult.UNKNOWN) -> None:
        self.url = url
        self.answer = answer
        self.status: int | None = None
        self.code = ""
        self.depth = 0
        self.final_url = url
        self.first_status: int | None = None
        self.redirects = 0
        self.has_noindex = False
        self.is_html = False
        self.is_soft_404 = False
        self.is_listed = False
        self.is_linked = False
        self.canonical: str | None = None
        """Another page that stands for this one; None if there is none, or more than one."""
        self.sources: list[str] | None = None
        """The first pages that link to it, where a fault or a redirect makes them worth knowing."""

    @property
    def has_failed(self) -> bool:
        """Whether it gives no page, through a fault of the site."""
        return self.answer in FAILED

    @property
    def is_redirect(self) -> bool:
        """Whether it leads to a page elsewhere."""
        return self.redirects > 0 and self.answer is UrlResult.OK

    @property
    def is_indexable(self) -> bool:
        """Whether search engines are to index this very address."""
        return (
            self.is_html
            and self.answer is UrlResult.OK
            and not self.redirects
            and not self.has_noindex
            and not self.is_soft_404
            and self.canonical is None
        )

    @property
    def failure(self) -> str:
        """Why it gives no page, in a word."""
        if self.status is not None and self.answer in (UrlResult.CLIENT_ERROR, UrlResult.SERVER_ERROR):
            return str(self.status)
        return self.code.replace("_", " ") or "no answer"

    def add_source(self, page: str) -> None:
        """Note a page that links here; the first twenty are kept."""
        if self.sources is None:
            self.sources = []
        if len(self.sources) < MAX_SOURCES and page not in self.sources:
            self.sources.append(page)


class Found:
    """Faults by code, in the order in which they were found."""

    def __init__(self) -> None:
        self._by_code: dict[FindingCode, list[FoundOn]] = {}

    def add(self, code: FindingCode, url: str, detail: str = "", sources: Collection[str] = ()) -> None:
        """Note a fault of a page."""
        listed = self._by_code.setdefault(code, [])
        listed.append(FoundOn(url, detail[:_MAX_DETAIL], tuple(sources)[:MAX_SOURCES]))

    def findings(self) -> tuple[Finding, ...]:
        """Every fault with its words: by severity, then by how many pages have it, then by code."""
        made = []
        for code, pages in self._by_code.items():
            entry = CATALOGUE[code]
            made.append(Finding(code, entry.severity, entry.title, entry.meaning, entry.remedy, tuple(pages)))
        return tuple(sorted(made, key=lambda each: (-each.severity.rank, -each.count, each.code)))


class Site:
    """The rows of a site by URL."""

    def __init__(self, info: AuditInfo) -> None:
        self.info = info
        self.rows: dict[str, SiteRow] = {}
        self._hosts = {host_of(info.site)}
        self.is_secure = info.site.startswith("https:")
        self.judged: set[str] = set()
        """Addresses of the pages whose content was judged: a page reached by a redirect is judged once."""

    @property
    def start(self) -> SiteRow | None:
        """The row of the start page."""
        return self.rows.get(self.info.site) or self.rows.get(self.info.site + "/")

    def take(self, page: AuditedPage) -> SiteRow:
        """Keep a row of a page."""
        row = _row_of(page)
        known = self.rows.get(page.url)
        if known is not None:
            row.is_listed |= known.is_listed
        self.rows[page.url] = row
        if row.url.rstrip("/") == self.info.site.rstrip("/") and row.final_url != row.url:
            self._hosts.add(host_of(row.final_url))
            self.is_secure |= row.final_url.startswith("https:")
        if row.is_redirect and row.final_url != row.url and self.has(row.final_url) and row.final_url not in self.rows:
            # A page known by a redirect alone: others may name it as canonical or as a translation.
            target = _row_of(page, is_target=True)
            target.is_listed = False
            self.rows[row.final_url] = target
        return row

    def has(self, url: str) -> bool:
        """Whether an address belongs to the site."""
        return host_of(url) in self._hosts

    def find(self, url: str) -> SiteRow | None:
        """The row of an address, with or without its fragment."""
        return self.rows.get(url) or (self.rows.get(url.partition("#")[0]) if "#" in url else None)

    def visited(self) -> Iterable[SiteRow]:
        """Every row, in the order of the audit."""
        return self.rows.values()


def host_of(url: str) -> str:
    """The host and port of an absolute URL, without www."""
    authority = url.partition("://")[2].partition("/")[0].partition("?")[0].partition("#")[0]
    return authority.rpartition("@")[2].lower().removeprefix("www.")


def says_noindex(facts: PageFacts | None, headers: Iterable[tuple[str, str]]) -> bool:
    """Whether a page asks search engines not to index it, in its HTML or its header."""
    directives = facts.directives if facts is not None else ()
    meta = [each.text for each in directives if each.source in _FOR_SEARCH]
    fields = [each.text for each in directives if each.source == "header"]
    fields += [value for name, value in headers if name == "x-robots-tag"]
    return bool(meta or fields) and read_directives(meta, fields, _SEARCH_AGENT).noindex


def _row_of(page: AuditedPage, *, is_target: bool = False) -> SiteRow:
    row = SiteRow(page.final_url or page.url if is_target else page.url)
    row.status = page.status
    row.code = (page.error or "").partition(":")[0].strip()
    row.depth = page.depth
    row.final_url = page.final_url or page.url
    row.is_listed = page.in_sitemap
    if not is_target:
        row.redirects = _redirects(page)
        row.first_status = page.hops[0].status if page.hops else None
    row.answer = _answer(page, row.code)
    row.has_noindex = row.code == "noindex" or says_noindex(page.facts, page.headers)
    row.is_html = page.is_page
    canonicals = page.facts.canonicals if page.facts is not None and not row.redirects else ()
    if len(set(canonicals)) == 1 and canonicals[0].partition("#")[0] != row.url:
        row.canonical = canonicals[0].partition("#")[0]
    return row


def _redirects(page: AuditedPage) -> int:
    if len(page.hops) > 1:
        return len(page.hops) - 1
    return int(page.final_url is not None and page.final_url != page.url and page.status is not None)


def _answer(page: AuditedPage, code: str) -> UrlResult:
    """What an answer means. 429 limits the rate of requests to the whole host, and says nothing of the page."""
    if code == "too_many_redirects" or _is_loop(page):
        return UrlResult.LOOP
    if code in ("blocked_by_robots", "robots_denied"):
        return UrlResult.BLOCKED
    if code in _NO_ANSWER:
        return UrlResult.NO_ANSWER
    if page.status is None or page.status == _TOO_MANY_REQUESTS:
        return UrlResult.UNKNOWN
    if page.status >= 500:
        return UrlResult.SERVER_ERROR
    if page.status >= 400:
        return UrlResult.CLIENT_ERROR
    if page.status < 300 or page.status == _NOT_MODIFIED:
        return UrlResult.OK
    # A redirect leads nowhere without a usable address, or to a host that has none. One that was not followed for
    # another reason, such as the robots.txt of another site, says nothing about this one.
    is_held_back = code and page.hops and page.hops[-1].location is not None
    return UrlResult.UNKNOWN if is_held_back and _UNRESOLVED not in (page.error or "") else UrlResult.NO_ANSWER


def _is_loop(page: AuditedPage) -> bool:
    """Whether an address comes twice in a chain that ends in a redirect."""
    if not page.hops or page.hops[-1].location is None:
        return False
    urls = [hop.url for hop in page.hops]
    return len(set(urls)) < len(urls) or page.hops[-1].location in urls
