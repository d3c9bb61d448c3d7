"""Every metric: its name, its kind and what it means.

`docs/observability.md` has this table; alerts depend on these names, so they do not change.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from comity.model.dataclass import dataclass
from comity.model.grants import Permission, ReportResult
from comity.model.queue import BotError, JobStatus, SkipReason


class MetricKind(StrEnum):
    """The kind of a metric."""

    COUNTER = "counter"  # only grows while a process lives
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Joins(StrEnum):
    """How the values of several processes become one."""

    SUM = "sum"
    MAX = "max"


class Origin(StrEnum):
    """Where a value comes from."""

    WORKER = "worker"  # the processes of this `comity work`
    STATE = "state"  # the database, asked at most every ten seconds: the same on every machine
    PARENT = "parent"  # who answers the scrape
    WEB = "web"  # this `comity web`, since it started


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric."""

    name: str
    kind: MetricKind
    text: str
    label: str = ""
    values: tuple[str, ...] = ()  # of the label, where they are known; those begin at 0
    buckets: tuple[float, ...] = ()
    joins: Joins = Joins.SUM
    origin: Origin = Origin.WORKER


_COUNTER, _GAUGE, _HISTOGRAM = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM
_STATE, _PARENT, _WEB, _MAX = Origin.STATE, Origin.PARENT, Origin.WEB, Joins.MAX
OUTCOMES: Final = (
    "fetched",
    "not_modified",
    "gone",
    "rate_limited",
    "rejected",
    "failed",
    "refused",
    "postponed",
)

PAGES: Final = Metric("comity_pages_total", _COUNTER, "Settled visits, by outcome.", "outcome", OUTCOMES)
BYTES: Final = Metric("comity_received_bytes_total", _COUNTER, "Bytes of pages received over the network.")
LINKS: Final = Metric("comity_links_found_total", _COUNTER, "URLs added to the frontier.")
RETRIES: Final = Metric("comity_retries_total", _COUNTER, "Failed visits that will be retried.")
REFUSALS: Final = Metric(
    "comity_refusals_total",
    _COUNTER,
    "URLs and links that were refused, by cause.",
    "reason",
    ("robots", "takedown", "trap", "address", "other"),
)
WAITS: Final = Metric(
    "comity_gate_waits_total",
    _COUNTER,
    "Times that a host with work had to wait for its gate, by cause.",
    "reason",
    ("delay", "block", "concurrency", "unclean_end", "lease_over"),
)
LEASES_LOST: Final = Metric("comity_leases_lost_total", _COUNTER, "Leases that this worker lost.")
RUNS: Final = Metric(
    "comity_runs_total", _COUNTER, "Ended runs, by outcome.", "status", ("finished", "stopped", "failed")
)
HOSTS_LEFT: Final = Metric(
    "comity_hosts_left_total",
    _COUNTER,
    "Released hosts, by status.",
    "status",
    ("pending", "active", "exhausted", "blocked", "unreachable", "lease_lost"),
)
STATE_LOST: Final = Metric("comity_state_lost_total", _COUNTER, "Times that the state did not respond to a worker.")
WORKER_FAULTS: Final = Metric(
    "comity_worker_loop_faults_total",
    _COUNTER,
    "Unexpected errors of background loops of workers, such as the sweeper; each starts again.",
    "loop",
)
IN_FLIGHT: Final = Metric("comity_requests_in_flight", _GAUGE, "Requests in flight.")
HOSTS_HELD: Final = Metric(
    "comity_hosts_held", _GAUGE, "Hosts that this worker holds, including those leased on demand."
)
HOSTS_WAITING: Final = Metric("comity_hosts_waiting", _GAUGE, "Held hosts that are waiting for their delay.")
HOSTS_BLOCKED: Final = Metric("comity_hosts_blocked", _GAUGE, "Held hosts that asked Comity to wait (429, 503).")
QUEUED: Final = Metric("comity_frontier_at_hand", _GAUGE, "URLs queued for the hosts that this worker is crawling.")
UNSETTLED: Final = Metric("comity_unsettled_outcomes", _GAUGE, "Ended visits that are not committed yet.")
UNSETTLED_BYTES: Final = Metric("comity_unsettled_bytes", _GAUGE, "Bytes of bodies that are not committed yet.")
LOOP_LAG: Final = Metric(
    "comity_loop_lag_seconds", _GAUGE, "The longest delay of the event loop in the last ten seconds.", joins=_MAX
)
LEASE_OVERDUE: Final = Metric(
    "comity_lease_renewal_overdue_seconds",
    _GAUGE,
    "How long the renewal of leases is overdue; 0 if it is not.",
    joins=_MAX,
)
CPU: Final = Metric("comity_cpu_seconds_total", _COUNTER, "Processor time that the workers used.")
MEMORY: Final = Metric("comity_resident_bytes", _GAUGE, "The peak memory use of the workers.")
FETCH_SECONDS: Final = Metric(
    "comity_fetch_seconds",
    _HISTOGRAM,
    "Response times, including redirects.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
SETTLE_SECONDS: Final = Metric(
    "comity_settle_seconds",
    _HISTOGRAM,
    "Time to store and commit a batch.",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
)
PROCESSES: Final = Metric("comity_processes", _GAUGE, "Running worker processes.", origin=_PARENT)
DEATHS: Final = Metric("comity_worker_deaths_total", _COUNTER, "Worker processes that were replaced.", origin=_PARENT)
STATE_UP: Final = Metric("comity_state_up", _GAUGE, "Whether the state responded last time.", origin=_STATE)
STATE_HOSTS: Final = Metric(
    "comity_state_hosts",
    _GAUGE,
    "Hosts by status.",
    "status",
    ("pending", "active", "exhausted", "blocked", "unreachable"),
    origin=_STATE,
)
STATE_WAITING: Final = Metric(
    "comity_state_hosts_waiting", _GAUGE, "Hosts that a worker would lease now.", "status", ("pending", "active"),
    origin=_STATE,
)  # fmt: skip
STATE_CLAIMS: Final = Metric("comity_state_claims", _GAUGE, "Leases that are held.", origin=_STATE)
STATE_STUCK: Final = Metric(
    "comity_state_claims_stuck", _GAUGE, "Leases that expired and were not taken over.", origin=_STATE
)
STATE_FRONTIER: Final = Metric(
    "comity_state_frontier", _GAUGE, "URLs queued, over all hosts; an estimate above 100,000 hosts.", origin=_STATE
)
STATE_AGE: Final = Metric("comity_state_age_seconds", _GAUGE, "Age of the figures of the state.", origin=_STATE)
QUEUE_PULLS: Final = Metric(
    "comity_queue_pulls_total", _COUNTER, "Pulls of bots, by whether they got jobs.", "outcome", ("jobs", "empty"),
    origin=_WEB,
)  # fmt: skip
QUEUE_HANDED: Final = Metric("comity_queue_jobs_handed_total", _COUNTER, "Jobs handed to bots.", origin=_WEB)
QUEUE_SKIPPED: Final = Metric(
    "comity_queue_jobs_skipped_total",
    _COUNTER,
    "Jobs that pulls considered and did not hand out, by reason.",
    "reason",
    tuple(map(str, SkipReason)),
    origin=_WEB,
)
QUEUE_SUBMITS: Final = Metric(
    "comity_queue_submits_total",
    _COUNTER,
    "Accepted submits of bots, by what became of the job.",
    "status",
    ("done", "pending", "failed"),
    origin=_WEB,
)
QUEUE_ERRORS: Final = Metric(
    "comity_queue_errors_total",
    _COUNTER,
    "Refused requests of bots, by code.",
    "error",
    tuple(map(str, BotError)),
    origin=_WEB,
)
QUEUE_SECONDS: Final = Metric(
    "comity_queue_request_seconds",
    _HISTOGRAM,
    "Time to answer a pull or a submit.",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
    origin=_WEB,
)
QUEUE_JOBS: Final = Metric(
    "comity_queue_jobs", _GAUGE, "Jobs by status.", "status", tuple(map(str, JobStatus)), origin=_WEB
)
GRANT_ANSWERS: Final = Metric(
    "comity_grant_answers_total",
    _COUNTER,
    "Answers to URLs of other crawlers, by permission.",
    "permission",
    tuple(map(str, Permission)),
    origin=_WEB,
)
GRANT_REPORTS: Final = Metric(
    "comity_grant_reports_total",
    _COUNTER,
    "Reports and releases of grants, by what became of them.",
    "result",
    tuple(map(str, ReportResult)),
    origin=_WEB,
)
WEBHOOK_ATTEMPTS: Final = Metric(
    "comity_webhook_attempts_total",
    _COUNTER,
    "Calls of webhooks that this process made, by outcome.",
    "outcome",
    ("delivered", "failed"),
    origin=_WEB,
)
WEBHOOKS_DISABLED: Final = Metric(
    "comity_webhooks_disabled_total", _COUNTER, "Webhooks that this process disabled after failures.", origin=_WEB
)
WEBHOOK_DELIVERIES: Final = Metric(
    "comity_webhook_deliveries",
    _GAUGE,
    "Deliveries in the log of webhooks, by status.",
    "status",
    ("pending", "delivered", "failed"),
    origin=_WEB,
)
WEB_FAULTS: Final = Metric(
    "comity_web_loop_faults_total",
    _COUNTER,
    "Unexpected errors of background loops of servers, such as the sweeper; each starts again.",
    "loop",
    origin=_WEB,
)
QUEUE_OLDEST: Final = Metric(
    "comity_queue_oldest_pending_seconds", _GAUGE, "Age of the oldest job that waits; 0 if none does.", origin=_WEB
)

METRICS: Final = (
    PAGES,
    BYTES,
    LINKS,
    RETRIES,
    REFUSALS,
    WAITS,
    LEASES_LOST,
    RUNS,
    HOSTS_LEFT,
    STATE_LOST,
    WORKER_FAULTS,
    IN_FLIGHT,
    HOSTS_HELD,
    HOSTS_WAITING,
    HOSTS_BLOCKED,
    QUEUED,
    UNSETTLED,
    UNSETTLED_BYTES,
    LOOP_LAG,
    LEASE_OVERDUE,
    CPU,
    MEMORY,
    FETCH_SECONDS,
    SETTLE_SECONDS,
    PROCESSES,
    DEATHS,
    STATE_UP,
    STATE_HOSTS,
    STATE_WAITING,
    STATE_CLAIMS,
    STATE_STUCK,
    STATE_FRONTIER,
    STATE_AGE,
    QUEUE_PULLS,
    QUEUE_HANDED,
    QUEUE_SKIPPED,
    QUEUE_SUBMITS,
    QUEUE_ERRORS,
    QUEUE_SECONDS,
    QUEUE_JOBS,
    QUEUE_OLDEST,
    GRANT_ANSWERS,
    GRANT_REPORTS,
    WEBHOOK_ATTEMPTS,
    WEBHOOKS_DISABLED,
    WEBHOOK_DELIVERIES,
    WEB_FAULTS,
)
BY_NAME: Final = {metric.name: metric for metric in METRICS}
