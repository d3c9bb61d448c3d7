"""What became of a visit, and the `fetches` row that records it. Settle turns every outcome into rows.

Every expected ending is one of these values. A visit writes nothing: the requests it started and the decisions it met
are carried by its outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from comity.model.dataclass import dataclass
from comity.model.evidence import Evidence
from comity.model.fetch import NO_HEADERS, Cookie, Headers
from comity.model.frontier import FrontierEntry, QueuedUrl
from comity.model.image import ImageShape
from comity.model.ledger import LedgerRow
from comity.model.named_tuple import fast_new
from comity.model.page import Hop


@fast_new
class FetchRow(NamedTuple):
    """One row of `fetches`; a tuple, because every page makes one."""

    host_id: UUID
    host: str
    url: str
    url_key: int
    outcome: str
    status: int | None
    error: str | None
    at: float
    elapsed_s: float
    wire_bytes: int
    depth: int
    final_url: str | None = None
    redirect_count: int = 0
    content_type: str | None = None
    content_hash: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    discovery_type: str = "discovery"
    images_found: int = 0
    images_read: bool = False
    columns_key: int | None = None


@fast_new
class Answered(NamedTuple):
    """The response that ended a visit, after any redirects; a tuple, because every page makes one."""

    final_url: str
    redirect_count: int
    status: int
    at: float
    elapsed_s: float
    wire_bytes: int
    content_type: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    headers: Headers = NO_HEADERS
    address: str | None = None


class VisitDetails:
    """What is kept of a visit besides its page: every answer, the last one in full, and what was read from it."""

    __slots__ = ("body_size", "elapsed_ms", "facts", "first_byte_ms", "headers", "hops", "links", "wire_bytes")

    def __init__(self) -> None:
        self.hops: list[Hop] = []
        self.headers: Headers = NO_HEADERS
        self.first_byte_ms: float | None = None
        self.elapsed_ms: float | None = None
        self.wire_bytes = 0
        self.body_size = 0
        self.facts: str | None = None  # as JSON
        self.links: str | None = None


class Trail:
    """What a visit did: requests started, decisions made, and cookies set by redirects."""

    __slots__ = ("cookies", "details", "evidence", "requests")

    def __init__(self, details: VisitDetails | None = None) -> None:
        self.details = details  # None unless they are kept
        self.requests: list[LedgerRow] = []
        self.evidence: list[Evidence] = []
        self.cookies: tuple[Cookie, ...] = ()


class SkippedLinks(NamedTuple):
    """Links of one page that were left out for one reason: how many, and the first."""

    links: int
    first: str


@fast_new
class Fetched(NamedTuple):
    """A page was received. `keep` is false where the page asks not to be indexed. A tuple: most visits end so."""

    entry: QueuedUrl
    trail: Trail
    answer: Answered
    body: bytes
    encoding: str | None
    content_hash: str
    title: str | None
    links: tuple[FrontierEntry, ...]
    keep: bool = True
    is_login_wall: bool = False
    coded: bytes | None = None  # the body as it was received, if it was compressed
    coding: str | None = None
    data: Any = None  # what a user's own extractor made of it
    images: tuple[FrontierEntry, ...] = ()  # of this host, as far as they may be asked for
    new_images: tuple[FrontierEntry, ...] = ()  # those of them that were not met before
    images_read: bool = False
    too_deep: tuple[FrontierEntry, ...] = ()  # links that lie deeper than is followed, which are kept
    text: str | None = None  # the main content, where it was requested
    markdown: str | None = None
    links_found: int = 0  # links on the page, also those that were left out
    skipped: Mapping[str, SkippedLinks] | None = None  # links that were not queued, by reason; None if no one asked
    extracted: list[Any] | None = None  # the values of the run's further columns
    unconverted: int = 0  # how many of them could not be converted
    columns_key: int | None = None  # which columns were read from it
    is_gzip_member: bool = False  # `coded` is a single member of gzip that every reader takes


class ImageFetched(NamedTuple):
    """An image was received."""

    entry: QueuedUrl
    trail: Trail
    answer: Answered
    body: bytes
    shape: ImageShape


@dataclass(frozen=True, slots=True)
class NotModified:
    """The page has not changed."""

    entry: QueuedUrl
    trail: Trail
    answer: Answered


@dataclass(frozen=True, slots=True)
class Gone:
    """The site answered that there is no such page, or not for us: final."""

    entry: QueuedUrl
    trail: Trail
    answer: Answered


@dataclass(frozen=True, slots=True)
class RateLimited:
    """The site is rate-limiting us (429, or 503 with Retry-After)."""

    entry: QueuedUrl
    trail: Trail
    answer: Answered
    retry_after_s: float | None


@dataclass(frozen=True, slots=True)
class Refused:
    """We did not request it: robots.txt, a takedown, an address that is not public, too many redirects."""

    entry: QueuedUrl
    trail: Trail
    code: str
    reason: str
    at: float
    address: str | None = None
    """The network address that is not asked, where it was that."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The site sent something that we do not accept: too large, of the wrong type, broken."""

    entry: QueuedUrl
    trail: Trail
    code: str
    reason: str
    at: float
    elapsed_s: float
    status: int | None
    wire_bytes: int


@dataclass(frozen=True, slots=True)
class Failed:
    """No usable response: the connection or the server (5xx) failed. May be retried."""

    entry: QueuedUrl
    trail: Trail
    code: str
    reason: str
    at: float
    elapsed_s: float
    status: int | None
    wire_bytes: int


@dataclass(frozen=True, slots=True)
class Postponed:
    """Nothing was decided: the lease, the block or the slot did not allow it now. The URL stays queued."""

    entry: QueuedUrl
    trail: Trail
    code: str
    not_before: float | None = None


Outcome = Fetched | ImageFetched | NotModified | Gone | RateLimited | Refused | Rejected | Failed | Postponed
OUTCOME_NAMES: Final = {
    Fetched: "fetched",
    NotModified: "not_modified",
    Gone: "gone",
    RateLimited: "rate_limited",
    Rejected: "rejected",
    Failed: "failed",
    Refused: "refused",
    Postponed: "postponed",
}
"""What each ending of a page's visit is called, in `fetches` and in metrics."""
