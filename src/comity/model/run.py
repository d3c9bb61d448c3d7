"""A run: what it may crawl (scope), what it may spend (budget; 0 means no limit) and why it ended.

`EndReason` codes are stored in `crawl_runs.end_reason` and used in JSON documents and metrics; their sentences are
for people. The reason of one host's part of a run uses the same codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from comity.model.dataclass import dataclass
from comity.model.fetch import ContentTypeRules


class EndReason(StrEnum):
    """Every way to end. The codes of blocked and unreachable hosts are those of `BlockReason`."""

    # Something outside of the crawl ended the run.
    FAILED = "failed"
    STATE_LOST = "state_lost"
    PROCESSES_DIED = "processes_died"
    DIED = "died"
    STOPPED = "stopped"
    PARENT_GONE = "parent_gone"
    # A budget is spent.
    PAGE_LIMIT = "page_limit"
    VISIT_LIMIT = "visit_limit"
    TIME_LIMIT = "time_limit"
    HOST_PAGE_LIMIT = "host_page_limit"
    HOST_VISIT_LIMIT = "host_visit_limit"
    # URLs are queued that cannot be requested now.
    HELD_ELSEWHERE = "held_elsewhere"
    LEASE_LOST = "lease_lost"
    ASKED_TO_WAIT = "asked_to_wait"
    PUT_OFF = "put_off"
    PROXY_FAILURE = "proxy_failure"
    LOGIN_FAILED = "login_failed"
    CREDENTIALS_MISSING = "credentials_missing"
    NOT_DUE = "not_due"
    NOT_TAKEN = "not_taken"
    # The host is blocked or unreachable.
    ROBOTS_UNREACHABLE = "robots_unreachable"
    RATE_LIMITED = "rate_limited"
    SERVER_ERRORS = "server_errors"
    CONNECTION_FAILURE = "connection_failure"
    DNS_FAILURE = "dns_failure"
    ADDRESS_REFUSED = "address_refused"
    FORBIDDEN = "forbidden"
    LOGIN_REQUIRED = "login_required"
    ROBOTS_DENIED = "robots_denied"
    TAKEN_DOWN = "taken_down"
    # Nothing is queued.
    TOO_DEEP = "too_deep"
    ALREADY_DONE = "already_done"
    NOTHING_LEFT = "nothing_left"

    @property
    def sentence(self) -> str:
        """A sentence that fits after "Ended:"."""
        return SENTENCES[self]


SENTENCES: Final[Mapping[EndReason, str]] = MappingProxyType(
    {
        EndReason.FAILED: "an error ended the run",
        EndReason.STATE_LOST: "the state did not respond",
        EndReason.PROCESSES_DIED: "its processes crashed repeatedly",
        EndReason.DIED: "its process ended without reporting a reason",
        EndReason.STOPPED: "stopped by the operator",
        EndReason.PARENT_GONE: "the process that started the run is gone",
        EndReason.PAGE_LIMIT: "the limit of pages per run was reached",
        EndReason.VISIT_LIMIT: "the limit of visits per run was reached: too few visits fetched a page",
        EndReason.TIME_LIMIT: "the limit of minutes per run was reached",
        EndReason.HOST_PAGE_LIMIT: "the limit of pages per host was reached",
        EndReason.HOST_VISIT_LIMIT: "the limit of visits per host was reached: too few visits fetched a page",
        EndReason.HELD_ELSEWHERE: "another worker took the host",
        EndReason.LEASE_LOST: "the lease on the host expired repeatedly",
        EndReason.ASKED_TO_WAIT: "the host asked Comity to wait",
        EndReason.PUT_OFF: "the remaining URLs are to be retried later",
        EndReason.PROXY_FAILURE: "the proxy could not be used",
        EndReason.LOGIN_FAILED: "the login did not work",
        EndReason.CREDENTIALS_MISSING: "a secret or file that the requests need could not be read",
        EndReason.NOT_DUE: "the host is not due yet",
        EndReason.NOT_TAKEN: "the run ended before the host's turn came",
        EndReason.ROBOTS_UNREACHABLE: "robots.txt could not be read",
        EndReason.RATE_LIMITED: "the host repeatedly answered 429 (too many requests)",
        EndReason.SERVER_ERRORS: "the host repeatedly answered with server errors",
        EndReason.CONNECTION_FAILURE: "the host could not be reached",
        EndReason.DNS_FAILURE: "the host's name could not be resolved",
        EndReason.ADDRESS_REFUSED: "the host's address or port is not allowed",
        EndReason.FORBIDDEN: "the host refused Comity",
        EndReason.LOGIN_REQUIRED: "the host requires a login",
        EndReason.ROBOTS_DENIED: "robots.txt forbids it",
        EndReason.TAKEN_DOWN: "the host is under a takedown",
        EndReason.TOO_DEEP: "only links beyond the depth limit remain",
        EndReason.ALREADY_DONE: "everything found there has been crawled",
        EndReason.NOTHING_LEFT: "nothing left to visit",
    }
)

# Which one is reported for a run whose hosts ended differently: what keeps the most from being done comes first, in
# the order in which they are declared. "Nothing left" is last: it is reported only if it holds for every host.
PRECEDENCE: Final[Mapping[EndReason, int]] = MappingProxyType({reason: rank for rank, reason in enumerate(EndReason)})

FAILURES: Final = frozenset({EndReason.FAILED, EndReason.STATE_LOST, EndReason.PROCESSES_DIED, EndReason.DIED})
STOPS: Final = frozenset({EndReason.STOPPED, EndReason.PARENT_GONE})
DONE: Final = frozenset({EndReason.TOO_DEEP, EndReason.ALREADY_DONE, EndReason.NOTHING_LEFT})


def sentence_of(code: str) -> str:
    """The sentence of a code; any other text (of an older row) is returned unchanged."""
    try:
        return EndReason(code).sentence
    except ValueError:
        return code


HTML_TYPES = ContentTypeRules(
    accept=("text/html", "application/xhtml+xml", "text/plain", "application/xml", "text/xml")
)
# Some servers send images as plain bytes.
IMAGE_TYPES = ContentTypeRules(accept=("image/*", "application/octet-stream", "binary/octet-stream"))


@dataclass(frozen=True, slots=True)
class CrawlScope:
    """What a whole-site crawl follows."""

    follow_links: bool = True
    max_depth: int = 50
    respect_nofollow: bool = True
    follow_canonical: bool = True
    content_types: ContentTypeRules = HTML_TYPES
    collapse_subdomains: bool = False
    sitemaps: bool = True


HOST_PAGES: Final = 1000
"""`domains.max_pages_per_run` of a host for which no other value was set."""


class BudgetReason(StrEnum):
    """Which limit ended, or is about to end, a run or one host's part of it."""

    PAGE_LIMIT = "page_limit"
    VISIT_LIMIT = "visit_limit"
    TIME_LIMIT = "time_limit"
    HOST_PAGE_LIMIT = "host_page_limit"
    HOST_VISIT_LIMIT = "host_visit_limit"

    @property
    def is_of_host(self) -> bool:
        """Whether it ends one host's part of a run, and not the run."""
        return self in (BudgetReason.HOST_PAGE_LIMIT, BudgetReason.HOST_VISIT_LIMIT)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend at most. A page counts when it is fetched; visits without one have their own limit."""

    pages_per_run: int = 0
    pages_per_host: int = 0
    minutes_per_run: float = 0.0


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has spent: pages fetched, and visits started, whatever their result."""

    started_at: float
    pages: int = 0
    host_pages: int = 0  # on the host that is asked about
    visits: int = 0
    host_visits: int = 0
    warned: frozenset[BudgetReason] = frozenset()


@dataclass(frozen=True, slots=True)
class WithinBudget:
    """Continue."""


@dataclass(frozen=True, slots=True)
class BudgetWarning:
    """Continue, but a limit is near; add `reason` to `Spent.warned` so that the warning is not repeated."""

    reason: BudgetReason
    sentence: str


@dataclass(frozen=True, slots=True)
class Exhausted:
    """End cleanly and record the reason."""

    reason: BudgetReason
    sentence: str

    @property
    def detail(self) -> str:
        """A sentence that fits after "Ended:"."""
        return self.sentence.removeprefix("Stopped: ").removesuffix(".")


class HostLoad(NamedTuple):
    """How much an open host still has to do, and how fast it may be requested."""

    host: str
    queued: int  # URLs in memory
    delay_s: float
    latency_s: float | None = None
    blocked_s: float = 0.0  # how long the host asked Comity to wait
    at_once: int = 1
    has_more: bool = False  # whether more URLs are queued than are in memory
