"""Hosts, their policies, who holds them, and how the whole state stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pydantic import ConfigDict, Field

from comity.doors.schemas.base import Instant, Schema
from comity.model.host import SCRIPTS_NOT_RUN, HostPolicy, HostStatus
from comity.rules.politeness.policy import reaches

if TYPE_CHECKING:
    from comity.reports.hosts import HolderLine, HostInFull, HostLine, StatusLine
    from comity.reports.status import Status, WorkerLine


class PolicyShown(Schema):
    """The limits of a host."""

    host: str
    max_concurrency: int
    min_request_interval_ms: int
    max_pages: int
    max_kb_per_page: int
    allow_js: bool
    last_seen_status: str | None
    is_set: bool = Field(description="false: no operator set any; these are the defaults of a first setting.")
    is_page_size_set: bool = Field(
        description="Whether an operator set max_kb_per_page; then it applies to crawls, sources, audits and queries."
    )
    binds: dict[str, str] = Field(
        description="What each limit applies to: crawls, sources, audits and queries; source runs; or nothing yet.",
        examples=[{"min_request_interval_ms": "crawls, sources, audits and queries", "max_pages": "source runs"}],
    )
    note: str | None = Field(description="What of it is kept but not honoured: scripts are not run.")


def policy_shape(policy: HostPolicy | None, host: str) -> PolicyShown:
    """The policy of a host; one without its own has the defaults, which apply to nothing."""
    found = policy or HostPolicy(host)
    return PolicyShown(
        **asdict(found),
        is_set=policy is not None,
        binds=reaches(is_page_size_set=found.is_page_size_set) if policy is not None else {},
        note=SCRIPTS_NOT_RUN if found.allow_js else None,
    )


class HostListed(Schema):
    """One host of a listing: a part of what is known of it, under the same names."""

    domain: str
    status: HostStatus
    pages_crawled: int
    pages_discovered: int
    images_stored: int
    image_yield_rate: float | None = Field(description="Images stored a page.")
    last_crawled_at: Instant | None
    block_reason_code: str | None
    block_reason: str | None
    priority_score: int
    claimed_by: str | None


class HostsShown(Schema):
    """A part of the table of hosts, those crawled last first."""

    hosts: list[HostListed]
    limit: int
    offset: int
    has_more: bool = Field(description="Whether a larger offset gives more.")


class FrontierShown(Schema):
    """The URLs of a host by their state."""

    queued: int
    done: int
    dropped: int
    too_deep: int = Field(description="Links that are kept and lie deeper than crawls so far followed.")


class ErrorShown(Schema):
    """One kind of error: `host` and `at` are those of the last, `urls` the first few."""

    code: str
    count: int
    host: str
    at: Instant
    urls: list[str]


class HostShown(Schema):
    """Everything that is known of a host: the columns of `domains`, its URLs and its policy."""

    model_config = ConfigDict(extra="allow")

    id: UUID
    domain: str
    parent_domain: str | None
    status: HostStatus
    is_seeded: bool = Field(description="false: known by name only, and not crawled as a whole.")
    block_reason: str | None
    block_reason_code: str | None
    first_blocked_at: Instant | None
    cooldown_count: int
    claimed_by: str | None = Field(description="The worker that holds its lease.")
    claim_expires_at: Instant | None
    lease_token: int
    version: int
    pages_discovered: int
    pages_crawled: int
    images_found: int
    images_stored: int
    max_pages_per_run: int | None = Field(description="Bounds a whole-site run.")
    crawl_depth_reached: int
    image_yield_rate: float | None
    avg_images_per_page: float | None
    error_rate: float | None
    total_error_count: int
    consecutive_error_count: int
    priority_score: int
    priority_computed_at: Instant | None
    seed_rank: int | None
    source: str | None
    first_seen_at: Instant
    last_crawled_at: Instant | None
    next_crawl_after: Instant | None
    updated_at: Instant
    last_crawl_run_id: UUID | None
    frontier_checkpoint_id: str | None = Field(description="Where its URLs are kept; null where none are left.")
    frontier_size: int
    frontier_updated_at: Instant | None
    next_fetch_at: Instant | None
    blocked_until: Instant | None
    backoff_step: int
    adaptive_delay_s: float
    latency_baseline_s: float | None
    latency_recent_s: float | None
    unclean_end_at: Instant | None
    last_start_at: Instant | None
    is_refresh_due: bool
    refresh_started_at: Instant | None
    frontier: FrontierShown
    policy: PolicyShown | None = Field(description="null: no operator set any limit.")
    errors: list[ErrorShown] = Field(description="Errors among the last visits, by kind.")


def host_listed(line: HostLine) -> HostListed:
    """One host of a listing, under the names of the columns."""
    return HostListed(
        domain=line.host,
        status=line.status,
        pages_crawled=line.pages_crawled,
        pages_discovered=line.pages_discovered,
        images_stored=line.images_stored,
        image_yield_rate=line.image_yield,
        last_crawled_at=line.last_crawled_at,
        block_reason_code=line.reason_code,
        block_reason=line.reason,
        priority_score=line.priority_score,
        claimed_by=line.leased_by,
    )


def host_shape(host: HostInFull) -> HostShown:
    """One host in full."""
    policy = host.policy
    return HostShown(
        **host.columns,
        frontier=FrontierShown(queued=host.queued, done=host.done, dropped=host.dropped, too_deep=host.too_deep),
        errors=[ErrorShown.model_validate(line) for line in host.errors],
        policy=policy_shape(_policy_from(policy), policy["host"]) if policy is not None else None,
    )


def _policy_from(row: Mapping[str, Any]) -> HostPolicy:
    return HostPolicy(**{name: row[name] for name in HostPolicy.__slots__})


class HolderShown(Schema):
    """One holder of leases."""

    claimed_by: str
    hosts: int
    expired: int = Field(description="Leases that ran out and were not taken over.")
    earliest_expiry: Instant


class StatusCount(Schema):
    """How many hosts have one status."""

    status: HostStatus
    hosts: int
    waiting: int = Field(description="Those that a worker might take.")


class ClaimsShown(Schema):
    """Who holds leases, which of them ran out, and which hosts wait for a worker."""

    holders: list[HolderShown]
    expired: int
    statuses: list[StatusCount]


def claims_shape(held: list[HolderLine], counts: list[StatusLine]) -> ClaimsShown:
    """Claims by worker, claims that ran out and hosts by status, in one document."""
    return ClaimsShown(
        holders=[
            HolderShown(
                claimed_by=line.holder, hosts=line.hosts, expired=line.expired, earliest_expiry=line.earliest_expiry
            )
            for line in held
        ],
        expired=sum(line.expired for line in held),
        statuses=[StatusCount(status=line.status, hosts=line.hosts, waiting=line.waiting) for line in counts],
    )


class WorkerShown(Schema):
    """A worker, as the leases that it holds tell of it."""

    model_config = ConfigDict(from_attributes=True, extra="allow")

    holder: str
    machine: str
    process: int | None
    hosts: int
    expired: int
    is_silent: bool
    seen_at: Instant
    first_end: Instant
    run_started_at: Instant | None
    pages: int | None
    state: str = Field(description="working, silent, ran out, or gone (known on its own machine only).")


class LeasesShown(Schema):
    """Leases in all."""

    held: int
    stuck: int = Field(description="Ran out and were not taken over.")
    silent: int


class QueueShown(Schema):
    """Hosts of one status."""

    model_config = ConfigDict(extra="allow")

    status: HostStatus
    hosts: int
    waiting: int = Field(description="Those that a worker might take.")


class UrlsShown(Schema):
    """URLs still to visit, over all hosts."""

    urls: int
    is_exact: bool = Field(description="false: an estimate.")


class ThroughputShown(Schema):
    """Fetches within a stretch of time."""

    seconds: int
    fetches: int
    bytes_received: int
    outcomes: dict[str, int]
    is_exact: bool


class BothThroughputs(Schema):
    """How fast it goes."""

    minute: ThroughputShown
    hour: ThroughputShown


class DueShown(Schema):
    """A host that comes back at a time."""

    host: str
    status: HostStatus
    reason: str | None
    at: Instant


class RunShown(Schema):
    """A run."""

    model_config = ConfigDict(extra="allow")

    run_id: str
    status: str
    reason: str | None
    started_at: Instant
    ended_at: Instant | None
    pages: int
    errors: int
    bytes_received: int


class StateShown(Schema):
    """Status of the whole state."""

    model_config = ConfigDict(extra="allow")

    at: Instant
    workers: list[WorkerShown]
    claims: LeasesShown
    hosts: list[QueueShown]
    frontier: UrlsShown
    throughput: BothThroughputs
    due_next: list[DueShown]
    errors: list[ErrorShown]
    runs: list[RunShown]


def state_of_worker(line: WorkerLine) -> str:
    """`gone` is known on this machine only; elsewhere a worker that says nothing is silent until its leases run out."""
    from comity.leases.holder import is_dead

    if is_dead(line.holder):
        return "gone"
    if line.expired == line.hosts:
        return "ran out"
    return "silent" if line.is_silent else "working"


def state_shape(status: Status, state_of: Callable[[WorkerLine], str]) -> StateShown:
    """Everything that `comity status` shows."""
    figures = status.figures
    return StateShown.model_validate(
        {
            "at": status.at,
            "workers": [{**asdict(line), "state": state_of(line)} for line in status.workers],
            "claims": {"held": figures.claims - figures.stuck, "stuck": figures.stuck, "silent": status.silent},
            "hosts": [asdict(line) for line in figures.hosts],
            "frontier": {"urls": figures.frontier, "is_exact": figures.frontier_is_exact},
            "throughput": {"minute": asdict(status.minute), "hour": asdict(status.hour)},
            "due_next": [asdict(line) for line in status.due],
            "errors": [asdict(line) for line in status.errors],
            "runs": [asdict(line) for line in status.runs],
        }
    )
