"""A host: the unit of identity, lease and politeness, and what the state remembers of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class HostStatus(StrEnum):
    """Where a host is in its life; `rules.host_transitions` says which moves are legal."""

    PENDING = "pending"
    ACTIVE = "active"
    EXHAUSTED = "exhausted"
    BLOCKED = "blocked"
    UNREACHABLE = "unreachable"


class BlockReason(StrEnum):
    """Why a host is left alone for a while; `rules.cooldown` says for how long."""

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
    """A scheme-less authority in its one spelling, with the registrable domain it belongs to."""

    authority: str
    parent_domain: str | None

    def __str__(self) -> str:
        return self.authority


@dataclass(frozen=True, slots=True)
class HostProgress:
    """What a stretch of crawling adds to a host's counters."""

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


@dataclass(frozen=True, slots=True)
class HostEnding:
    """How a host is left when its lease is given back."""

    status: HostStatus
    reason: BlockReason | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Seed:
    """A host that somebody wants crawled, with its first URL and its place in a ranking."""

    host: CanonicalHost
    url: str | None = None
    rank: int | None = None
    is_scheme_guessed: bool = False
    """Whether the URL was written without a scheme, so that https is only the first guess."""
