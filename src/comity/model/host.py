"""A host: the unit of identity, lease and politeness; its policy, and what the state remembers of it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple
from uuid import UUID

from comity.model.dataclass import dataclass
from comity.model.gate import GateMemory

SCRIPTS_NOT_RUN: Final = "allow_js is set, but scripts are not run: pages are read as the server sends them"


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """Limits for one host; the defaults are those of a careful first visit."""

    host: str
    max_concurrency: int = 1
    min_request_interval_ms: int = 3000
    max_pages: int = 10
    max_kb_per_page: int = 1024
    allow_js: bool = False
    last_seen_status: str | None = None
    is_page_size_set: bool = False
    """Whether an operator set `max_kb_per_page`: then it limits every request, else it is the default of sources."""
    include: tuple[str, ...] = ()
    """Patterns of the URLs that crawls may visit; without any, all."""
    exclude: tuple[str, ...] = ()
    """Patterns of the URLs that crawls leave out, seeds included."""
    request_options: dict[str, Any] | None = None
    """Headers, cookies, credentials, proxy and login of its requests: with references to secrets, never with one."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The sole right to talk to a host until `expires_at`.

    `token` is minted when the lease is taken and never by a heartbeat; every write made under
    the lease names it, so that a late write changes nothing.
    """

    host_id: UUID
    host: str
    holder: str
    token: int
    expires_at: datetime
    status: HostStatus
    cooldown_count: int
    max_pages_per_run: int | None
    memory: GateMemory


class HostStatus(StrEnum):
    """The status of a host; `rules.host_transitions` says which changes are legal."""

    PENDING = "pending"
    ACTIVE = "active"
    EXHAUSTED = "exhausted"
    BLOCKED = "blocked"
    UNREACHABLE = "unreachable"


class BlockReason(StrEnum):
    """Why a host is blocked for a while; `rules.endings` says for how long."""

    LOGIN_REQUIRED = "login_required"
    RATE_LIMITED = "rate_limited"
    FORBIDDEN = "forbidden"
    SERVER_ERRORS = "server_errors"
    ROBOTS_DENIED = "robots_denied"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    DNS_FAILURE = "dns_failure"
    CONNECTION_FAILURE = "connection_failure"
    ADDRESS_REFUSED = "address_refused"


@dataclass(frozen=True, slots=True)
class CanonicalHost:
    """A canonical authority without scheme, with the registrable domain it belongs to."""

    authority: str
    parent_domain: str | None

    def __str__(self) -> str:
        return self.authority


@dataclass(frozen=True, slots=True)
class HostProgress:
    """What a batch of visits adds to a host's counters."""

    pages_crawled: int = 0
    pages_discovered: int = 0
    images_found: int = 0
    images_stored: int = 0
    errors: int = 0
    depth_reached: int = 0
    consecutive_errors: int | None = None
    queued: int = 0
    """URLs that joined the queue, less those that left it."""
    checkpoint_id: str | None = None
    """Where the URLs of the host are kept; None leaves what its row says."""


class HostError(NamedTuple):
    """The last error that concerns a whole host."""

    code: str
    status: int | None
    sentence: str
    refused_address: str | None = None


@dataclass(frozen=True, slots=True)
class HostEnding:
    """The status of a host when its lease is released, and why."""

    status: HostStatus
    reason: BlockReason | None = None
    detail: str | None = None
    refused_address: str | None = None
    """The address of the host, where it is one that a crawler does not ask."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A host to crawl, with its first URL and its place in a ranking."""

    host: CanonicalHost
    url: str | None = None
    rank: int | None = None
    is_scheme_guessed: bool = False
    """Whether the URL was written without a scheme, so that https is only the first guess."""
