"""Response schemas of hosts: summaries, details, policies, robots.txt, leases, and the status of the whole state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pydantic import ConfigDict, Field

from comity.doors.schemas.base import Instant, Schema
from comity.model.host import SCRIPTS_NOT_RUN, HostPolicy, HostStatus
from comity.rules.politeness.policy import reaches

if TYPE_CHECKING:
    from comity.reports.hosts import HolderLine, HostInFull, HostLine, StatusLine
    from comity.reports.status import QueueLine, Status, WorkerLine


class PolicyView(Schema):
    """The limits of a host."""

    host: str
    max_concurrency: int
    min_request_interval_ms: int
    max_pages: int
    max_kb_per_page: int
    allow_js: bool
    last_seen_status: str | None
    is_set: bool = Field(description="false: no operator has set a limit; these are the defaults.")
    is_page_size_set: bool = Field(
        description="Whether an operator set max_kb_per_page. If so, it applies to crawls, sources, audits and queries."
    )
    include: list[str] = Field(description="Patterns of URLs to crawl; an empty list means all.")
    exclude: list[str] = Field(description="Patterns of URLs to leave out.")
    binds: dict[str, str] = Field(
        description="What each limit applies to: crawls, sources, audits and queries; source runs; or nothing yet.",
        examples=[{"min_request_interval_ms": "crawls, sources, audits and queries", "max_pages": "source runs"}],
    )
    request_options: dict[str, Any] | None = Field(
        description="Headers, cookies, credentials, proxy and login for requests; secrets are references only."
    )
    note: str | None = Field(description="A setting that is stored but has no effect: scripts are not run.")


def policy_view(policy: HostPolicy | None, host: str) -> PolicyView:
    """The policy of a host; without one, the defaults, which bind nothing."""
    found = policy or HostPolicy(host)
    return PolicyView(
        **(asdict(found) | {"include": list(found.include), "exclude": list(found.exclude)}),
        is_set=policy is not None,
        binds=reaches(is_page_size_set=found.is_page_size_set) if policy is not None else {},
        note=SCRIPTS_NOT_RUN if found.allow_js else None,
    )


class ListedHost(Schema):
    """One host in a list: some of the fields of a host, under the same names."""

    domain: str
    status: HostStatus
    pages_crawled: int
    pages_discovered: int
    images_stored: int
    image_yield_rate: float | None = Field(description="Images stored per page.")
    last_crawled_at: Instant | None
    block_reason_code: str | None
    block_reason: str | None
    priority_score: int
    claimed_by: str | None
    next_crawl_after: Instant | None
    frontier_size: int = Field(description="URLs still to visit.")


class HostList(Schema):
    """One page of the hosts."""

    hosts: list[ListedHost]
    limit: int
    next: str | None = Field(description="The value of `after` for the next page; null: this is the last one.")
    is_whole: bool = Field(
        description="false: the filter was applied to a part of the hosts; the next page continues after them."
    )


class FrontierCounts(Schema):
    """The URLs of a host, counted by state."""

    queued: int
    done: int
    dropped: int
    too_deep: int = Field(description="Stored links that are deeper than any crawl has followed so far.")


class ErrorSummary(Schema):
    """One kind of error: `host` and `at` are from the latest, `urls` are the first few."""

    code: str
    count: int
    host: str
    at: Instant
    urls: list[str]


class HostView(Schema):
    """Everything known about a host: the columns of `domains`, its URL counts and its policy."""

    model_config = ConfigDict(extra="allow")

    id: UUID
    domain: str
    parent_domain: str | None
    status: HostStatus
    is_seeded: bool = Field(description="false: the host is known but was not seeded, so whole-site crawls skip it.")
    block_reason: str | None
    block_reason_code: str | None
    first_blocked_at: Instant | None
    cooldown_count: int
    claimed_by: str | None = Field(description="The worker that holds the lease.")
    claim_expires_at: Instant | None
    lease_token: int
    version: int
    pages_discovered: int
    pages_crawled: int
    images_found: int
    images_stored: int
    max_pages_per_run: int | None = Field(description="The page limit of a whole-site run.")
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
    frontier_checkpoint_id: str | None = Field(description="Where its URLs are stored; null if none remain.")
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
    frontier: FrontierCounts
    frontier_is_whole: bool = Field(description="false: it has more URLs, of which only some were counted.")
    policy: PolicyView | None = Field(description="null: no operator has set a limit.")
    errors: list[ErrorSummary] = Field(description="Errors of recent visits, by kind.")


def host_summary(line: HostLine) -> ListedHost:
    """One host in a list, under the names of the columns."""
    return ListedHost(
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
        next_crawl_after=line.next_crawl_after,
        frontier_size=line.urls_queued,
    )


def host_view(host: HostInFull) -> HostView:
    """One host with all its fields."""
    policy = host.policy
    return HostView(
        **host.columns,
        frontier=FrontierCounts(
            queued=host.queued,
            done=host.done,
            dropped=host.dropped,
            too_deep=host.too_deep,
        ),
        frontier_is_whole=host.is_whole,
        errors=[ErrorSummary.model_validate(line) for line in host.errors],
        policy=policy_view(_policy_from(policy), policy["host"]) if policy is not None else None,
    )


def _policy_from(row: Mapping[str, Any]) -> HostPolicy:
    return HostPolicy(**{name: row[name] for name in HostPolicy.__slots__})


class RobotsView(Schema):
    """The robots.txt of a host, as last fetched."""

    host: str
    origin: str
    robots_txt: str | None
    fetched_at: Instant | None
    expires_at: Instant | None
    crawl_delay_ms: int | None
    disallow: list[str]
    access: str = Field(description="The outcome of fetching it: parse, allow_all or disallow_all.")
    http_status: int | None
    detail: str | None
    other_origins: list[str] = Field(description="Other origins of the host whose robots.txt is stored.")


class HolderView(Schema):
    """A worker that holds leases."""

    claimed_by: str
    hosts: int
    expired: int = Field(description="Leases that expired and were not claimed by another worker.")
    earliest_expiry: Instant


class StatusCount(Schema):
    """The number of hosts with one status."""

    status: HostStatus
    hosts: int
    waiting: int = Field(description="Hosts that a worker may claim now.")


class ClaimsView(Schema):
    """Lease holders, expired leases, and hosts waiting for a worker."""

    holders: list[HolderView]
    expired: int
    statuses: list[StatusCount]


def claims_view(held: list[HolderLine], counts: Sequence[StatusLine | QueueLine]) -> ClaimsView:
    """Claims by worker, expired claims and hosts by status, in one document."""
    return ClaimsView(
        holders=[
            HolderView(
                claimed_by=line.holder, hosts=line.hosts, expired=line.expired, earliest_expiry=line.earliest_expiry
            )
            for line in held
        ],
        expired=sum(line.expired for line in held),
        statuses=[StatusCount(status=line.status, hosts=line.hosts, waiting=line.waiting) for line in counts],
    )


class WorkerView(Schema):
    """A worker, as its leases describe it."""

    model_config = ConfigDict(from_attributes=True, extra="allow")

    holder: str
    machine: str
    process: int | None
    hosts: int
    expired: int
    is_silent: bool
    seen_at: Instant | None
    first_end: Instant
    run_started_at: Instant | None
    pages: int | None
    state: str = Field(description="working, silent, ran out, or gone (reported only on the worker's machine).")


class LeaseCounts(Schema):
    """Leases, counted over all workers."""

    held: int
    stuck: int = Field(description="Expired and not claimed by another worker.")
    silent: int


class HostQueueView(Schema):
    """The hosts with one status."""

    model_config = ConfigDict(extra="allow")

    status: HostStatus
    hosts: int
    waiting: int = Field(description="Hosts that a worker may claim now.")


class UrlCount(Schema):
    """URLs still to visit, on all hosts."""

    urls: int
    is_exact: bool = Field(description="false: an estimate.")


class FetchThroughputView(Schema):
    """Fetches within a period of time."""

    seconds: int
    fetches: int
    bytes_received: int
    outcomes: dict[str, int]
    is_exact: bool


class ThroughputWindows(Schema):
    """Throughput of the last minute and the last hour."""

    minute: FetchThroughputView
    hour: FetchThroughputView


class DueHostView(Schema):
    """A host that becomes due again."""

    host: str
    status: HostStatus
    reason: str | None
    at: Instant


class RecentRunView(Schema):
    """A crawl run."""

    model_config = ConfigDict(extra="allow")

    run_id: str
    status: str
    reason: str | None
    started_at: Instant
    ended_at: Instant | None
    pages: int
    errors: int
    bytes_received: int


class StatusView(Schema):
    """The status of the whole state."""

    model_config = ConfigDict(extra="allow")

    at: Instant
    workers: list[WorkerView]
    claims: LeaseCounts
    hosts: list[HostQueueView]
    frontier: UrlCount
    throughput: ThroughputWindows
    due_next: list[DueHostView]
    errors: list[ErrorSummary]
    runs: list[RecentRunView]


def worker_state(line: WorkerLine) -> str:
    """The state of a worker; whether its process is gone can be known only on its own machine."""
    from comity.leases.holder import is_dead

    if is_dead(line.holder):
        return "gone"
    if line.expired == line.hosts:
        return "ran out"
    return "silent" if line.is_silent else "working"


def status_view(status: Status, state_of: Callable[[WorkerLine], str]) -> StatusView:
    """The status as one document."""
    figures = status.figures
    return StatusView.model_validate(
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
