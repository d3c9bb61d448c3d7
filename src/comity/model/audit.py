"""An audit: what it keeps of each page, the faults it finds, and what its report shows.

An audited page is a stored page (`PageRecord`) with further columns. `PageFacts` is what its HTML says; the rest comes
from the visit. Findings are made from these nouns alone, so the same rules judge a stored audit and one in a test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import NamedTuple, Protocol

from comity.model.dataclass import dataclass
from comity.model.page import Hop, PageLink


class Heading(NamedTuple):
    """A heading of a page."""

    level: int
    text: str


class Alternate(NamedTuple):
    """A translation that a page names (hreflang)."""

    language: str
    url: str
    source: str
    """"link", "header" or "sitemap"."""


class Directive(NamedTuple):
    """What a page asks of crawlers, as written, and where it says so ("meta robots", "meta googlebot", "header")."""

    text: str
    source: str


class StructuredItem(NamedTuple):
    """One item of structured data."""

    type: str
    """Its type without the vocabulary: "Product"."""
    syntax: str
    """"json-ld", "microdata" or "rdfa"."""
    missing: tuple[str, ...] = ()
    """Properties that search engines require of this type and that are missing or empty."""
    problem: str | None = None
    """Why it could not be read: JSON that does not parse, say."""


class Resource(NamedTuple):
    """Something that a page loads: only what is not loaded over https is kept."""

    element: str
    url: str


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What the HTML of a page says. Lists are bounded by the reader; addresses are absolute."""

    language: str | None = None
    titles: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()
    headings: tuple[Heading, ...] = ()
    canonicals: tuple[str, ...] = ()
    """Of link elements and of Link headers."""
    alternates: tuple[Alternate, ...] = ()
    directives: tuple[Directive, ...] = ()
    structured: tuple[StructuredItem, ...] = ()
    images: int = 0
    images_without_alt: tuple[str, ...] = ()
    """Addresses of images that have no alt attribute at all; an empty one marks decoration and is right."""
    insecure_resources: tuple[Resource, ...] = ()
    word_count: int = 0
    text_hash: str | None = None
    """Of the visible text with collapsed spaces: equal texts are duplicates."""
    similarity: int | None = None
    """A 64-bit similarity hash of the visible text: near-duplicates differ in few bits."""
    has_viewport: bool = False
    policies: tuple[str, ...] = ()
    """Content-Security-Policy of meta elements; that of the header is among the headers."""
    forwards: bool = False
    """Whether a meta refresh sends visitors on at once, as generators of static sites write aliases."""


@dataclass(frozen=True, slots=True)
class AuditedPage:
    """One URL that the audit visited or decided about."""

    url: str
    status: int | None = None
    """Of the last answer; None where there was none."""
    error: str | None = None
    """Why there is no page: "http_404", "dns_failure: …", "blocked_by_robots: …"; "noindex" is no error."""
    depth: int = 0
    """Links from the start, by the shortest way known."""
    final_url: str | None = None
    content_type: str | None = None
    content_hash: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Of the last answer: names in lower case, repeated fields repeated."""
    hops: tuple[Hop, ...] = ()
    first_byte_ms: float | None = None
    elapsed_ms: float | None = None
    wire_bytes: int = 0
    body_bytes: int = 0
    in_sitemap: bool = False
    facts: PageFacts | None = None
    """None for what is no HTML page, or could not be read."""

    @property
    def is_page(self) -> bool:
        """Whether an HTML page was received."""
        return self.facts is not None and self.status is not None and 200 <= self.status < 300

    def header(self, name: str) -> str | None:
        """The first value of a header field, by its name in lower case."""
        return next((value for key, value in self.headers if key == name), None)


class AuditedLink(NamedTuple):
    """A link with the page that holds it."""

    page: str
    link: PageLink


class AuditedRobots(NamedTuple):
    """The robots.txt of an origin, as it was in force during the audit."""

    origin: str
    status: int | None
    text: str | None
    reason: str
    """What its answer means, in a sentence."""


class ListedUrl(NamedTuple):
    """A URL in a sitemap of the site."""

    url: str
    sitemap: str
    alternates: tuple[Alternate, ...] = ()
    """The translations that the sitemap names beside it."""


class SitemapFile(NamedTuple):
    """A sitemap of the site, and how reading it went."""

    url: str
    state: str
    urls: int
    problem: str | None = None


class RobotsDecision(NamedTuple):
    """One stored decision by robots.txt: the evidence of type robots_allowed or blocked_by_robots."""

    url: str
    allowed: bool
    matched_rule: str | None
    line: int | None
    crawl_delay: float | None
    timestamp: str
    confidence: str


class Warned(NamedTuple):
    """A budget that was nearly spent, or an error of the audit itself: its code and its sentence."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class AuditInfo:
    """Which audit this is, and how it went."""

    audit_id: str
    site: str
    """The start URL."""
    started_at: float
    ended_at: float | None
    ended_by: str
    """A code of `EndReason`."""
    sentence: str
    pages: int = 0
    requests: int = 0
    max_pages: int = 0
    max_minutes: float = 0.0
    user_agent: str = ""
    warnings: tuple[Warned, ...] = ()
    left: int = 0
    """URLs known and not visited, because a budget or a stop ended the audit."""

    @property
    def is_complete(self) -> bool:
        """Whether everything that was found was visited."""
        return self.left == 0

    @property
    def open_warnings(self) -> list[str]:
        """What went wrong, apart from how it ended: for a budget that is spent, no warning that it was nearly spent."""
        of_the_end = (self.ended_by, f"{self.ended_by}_near")
        return list(dict.fromkeys(each.sentence for each in self.warnings if each.code not in of_the_end))


class AuditData(Protocol):
    """A stored audit, as the rules and the report read it. Each call reads the files again, in a stable order."""

    @property
    def info(self) -> AuditInfo:
        """Which audit this is."""
        ...

    def pages(self) -> Iterable[AuditedPage]:
        """Every URL visited or decided about, by depth and URL."""
        ...

    def links(self) -> Iterable[AuditedLink]:
        """Every link of every page, by page; there may be a hundred for each page."""
        ...

    def outcomes(self) -> Mapping[str, int]:
        """How many links had each outcome."""
        ...

    def robots(self) -> Sequence[AuditedRobots]:
        """The robots.txt of each origin that was asked."""
        ...

    def sitemaps(self) -> Sequence[SitemapFile]:
        """The sitemaps of the site."""
        ...

    def listed(self) -> Iterable[ListedUrl]:
        """The URLs that its sitemaps list."""
        ...

    def decisions(self) -> Iterable[RobotsDecision]:
        """The stored decisions by robots.txt."""
        ...


class Severity(StrEnum):
    """How much a finding matters to visitors and search engines."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"

    @property
    def rank(self) -> int:
        """The rank of a severity; higher is worse."""
        return {"notice": 1, "warning": 2, "error": 3}[self.value]


class FindingCode(StrEnum):
    """Every problem that an audit reports; the codes are stored and must not change."""

    # Answers
    BROKEN_LINK = "broken_link"  # a link to an answer of 4xx or 5xx, or to a host that does not answer
    BROKEN_PAGE = "broken_page"  # a page of the site (start or sitemap) that answers 4xx
    SERVER_ERROR = "server_error"  # 5xx
    UNREACHABLE = "unreachable"  # no answer
    SOFT_404 = "soft_404"  # answers 200 and says that there is no such page
    REDIRECT_CHAIN = "redirect_chain"  # two or more hops
    REDIRECT_LOOP = "redirect_loop"
    LINK_TO_REDIRECT = "link_to_redirect"  # an internal link that answers 3xx
    TEMPORARY_REDIRECT = "temporary_redirect"  # 302, 303, 307 where it seems permanent
    # Canonical
    CANONICAL_TO_REDIRECT = "canonical_to_redirect"
    CANONICAL_TO_ERROR = "canonical_to_error"
    CANONICAL_TO_NOINDEX = "canonical_to_noindex"
    CANONICAL_CHAIN = "canonical_chain"
    MULTIPLE_CANONICALS = "multiple_canonicals"  # different ones
    # Sitemaps and robots.txt
    NOINDEX_IN_SITEMAP = "noindex_in_sitemap"
    BLOCKED_IN_SITEMAP = "blocked_in_sitemap"
    REDIRECT_IN_SITEMAP = "redirect_in_sitemap"
    ERROR_IN_SITEMAP = "error_in_sitemap"
    NOT_CANONICAL_IN_SITEMAP = "not_canonical_in_sitemap"
    SITEMAP_FAULT = "sitemap_fault"  # cannot be read, or is cut
    NO_SITEMAP = "no_sitemap"
    ORPHAN_PAGE = "orphan_page"  # in the sitemap, not linked
    UNLISTED_PAGE = "unlisted_page"  # linked and indexable, not in the sitemap
    ROBOTS_SYNTAX = "robots_syntax"  # a line that no crawler understands
    ROBOTS_RULE_WITHOUT_EFFECT = "robots_rule_without_effect"  # outside of any group, or overruled by another
    ROBOTS_TOO_LARGE = "robots_too_large"  # over 500 KiB
    ROBOTS_UNREACHABLE = "robots_unreachable"
    NOINDEX_BLOCKED_BY_ROBOTS = "noindex_blocked_by_robots"  # known from a header of a HEAD or an earlier visit
    # Titles, texts
    MISSING_TITLE = "missing_title"
    MULTIPLE_TITLES = "multiple_titles"
    DUPLICATE_TITLE = "duplicate_title"
    LONG_TITLE = "long_title"
    MISSING_DESCRIPTION = "missing_description"
    DUPLICATE_DESCRIPTION = "duplicate_description"
    MISSING_H1 = "missing_h1"
    MULTIPLE_H1 = "multiple_h1"
    SKIPPED_HEADING_LEVEL = "skipped_heading_level"
    DUPLICATE_CONTENT = "duplicate_content"  # equal visible text
    NEAR_DUPLICATE_CONTENT = "near_duplicate_content"
    THIN_PAGE = "thin_page"
    MISSING_ALT = "missing_alt"
    MISSING_LANGUAGE = "missing_language"
    MISSING_VIEWPORT = "missing_viewport"
    # Speed and structure
    SLOW_PAGE = "slow_page"
    LARGE_PAGE = "large_page"
    DEEP_PAGE = "deep_page"
    NO_COMPRESSION = "no_compression"
    NO_CACHE_HEADERS = "no_cache_headers"  # neither Cache-Control, Expires, ETag nor Last-Modified
    # Security
    MIXED_CONTENT = "mixed_content"
    HTTP_LINK = "http_link"  # a link by http to a page that is there by https
    MISSING_HSTS = "missing_hsts"
    MISSING_CONTENT_TYPE_OPTIONS = "missing_content_type_options"
    MISSING_FRAME_OPTIONS = "missing_frame_options"  # neither X-Frame-Options nor frame-ancestors
    MISSING_CONTENT_SECURITY_POLICY = "missing_content_security_policy"
    MISSING_REFERRER_POLICY = "missing_referrer_policy"
    # Languages and structured data
    HREFLANG_NO_RETURN = "hreflang_no_return"
    HREFLANG_INVALID = "hreflang_invalid"  # no language code
    HREFLANG_TO_ERROR = "hreflang_to_error"
    STRUCTURED_DATA_FAULT = "structured_data_fault"  # does not parse
    STRUCTURED_DATA_INCOMPLETE = "structured_data_incomplete"  # a required property is missing


class FoundOn(NamedTuple):
    """One page that a finding is about."""

    url: str
    detail: str = ""
    """What is wrong there, in a few words: the status, the title, the target."""
    sources: tuple[str, ...] = ()
    """Pages that hold it (of a broken link) or that share it (of a duplicate); the first twenty."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of problem, with every page that has it."""

    code: FindingCode
    severity: Severity
    title: str
    """What it is, for a heading: "Links to pages that are gone"."""
    meaning: str
    """Why it matters, in a sentence or two."""
    remedy: str
    """What to do about it."""
    pages: tuple[FoundOn, ...]

    @property
    def count(self) -> int:
        """How many pages have it, or lines of robots.txt."""
        return len(self.pages)

    @property
    def unit(self) -> str:
        """What `count` counts."""
        return "line" if self.code in (FindingCode.ROBOTS_SYNTAX, FindingCode.ROBOTS_RULE_WITHOUT_EFFECT) else "URL"


class AgentRule(NamedTuple):
    """What robots.txt allows an agent in one section of a site, and the line that decides."""

    allowed: bool
    line_number: int | None
    rule: str | None


@dataclass(frozen=True, slots=True)
class AgentAccess:
    """What one known agent may read: a row of the table of agents by sections."""

    agent: str
    operator: str
    purpose: str
    """"search", "AI training", "AI answers", "archive", "SEO" …"""
    by_section: Mapping[str, AgentRule]


class SectionCount(NamedTuple):
    """A part of the site tree: pages under a path."""

    path: str
    pages: int
    errors: int


class Bar(NamedTuple):
    """One bar of a plot."""

    label: str
    pages: int


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Everything that a report shows, in the order in which it is shown."""

    info: AuditInfo
    findings: tuple[Finding, ...]
    """By severity, then by how many pages have it."""
    statuses: tuple[Bar, ...] = ()
    depths: tuple[Bar, ...] = ()
    times: tuple[Bar, ...] = ()
    sizes: tuple[Bar, ...] = ()
    tree: tuple[SectionCount, ...] = ()
    agents: tuple[AgentAccess, ...] = ()
    sections: tuple[str, ...] = ()
    robots: tuple[AuditedRobots, ...] = ()
    sitemaps: tuple[SitemapFile, ...] = ()
    decisions: tuple[RobotsDecision, ...] = ()
    """Decisions by robots.txt that denied a URL, and a sample of those that allowed one."""
    totals: Mapping[str, int] = field(default_factory=dict)
    """Pages, links, requests, decisions allowed and denied."""


class ComparedAudit(NamedTuple):
    """What a comparison needs of an audit."""

    info: AuditInfo
    findings: Sequence[Finding]
    urls: Iterable[str]
    """Every URL that it visited or decided about."""


@dataclass(frozen=True, slots=True)
class FindingChange:
    """How one kind of problem changed between two audits."""

    code: FindingCode
    severity: Severity
    title: str
    better: tuple[FoundOn, ...] = ()
    """Pages that no longer have it."""
    worse: tuple[FoundOn, ...] = ()
    """Pages that have it now."""
    same: tuple[FoundOn, ...] = ()
    not_checked: tuple[FoundOn, ...] = ()
    """Pages that had it, and that the later audit did not reach."""
    newly_seen: tuple[FoundOn, ...] = ()
    """Pages that have it, and that the earlier audit did not reach."""


@dataclass(frozen=True, slots=True)
class AuditComparison:
    """What changed between two audits."""

    before: AuditInfo
    after: AuditInfo
    changes: tuple[FindingChange, ...]
    urls_gone: int = 0
    urls_new: int = 0

    @property
    def better(self) -> int:
        """How many problems are fixed, counted by page."""
        return sum(len(each.better) for each in self.changes)

    @property
    def worse(self) -> int:
        """How many problems are new."""
        return sum(len(each.worse) for each in self.changes)

    @property
    def same(self) -> int:
        """How many problems are still there."""
        return sum(len(each.same) for each in self.changes)
