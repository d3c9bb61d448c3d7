"""The JSON of the crawl service for operators: policies, jobs, results, bots, webhooks and figures.

The secret of a webhook is shown only in the answer that creates it.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, WithJsonSchema

from comity.doors.schemas.base import Instant, Schema
from comity.model.bot import BotStatus
from comity.model.queue import JobStatus, WebhookEvent
from comity.model.source_import import ImportResult
from comity.model.webhook import DeliveryStatus

Price = Annotated[
    Decimal, WithJsonSchema({"type": "number", "description": "Exact, without the zeros that only the column adds."})
]


class BotView(Schema):
    """A bot. Its key is shown only when it is made."""

    bot_id: str
    status: BotStatus
    has_key: bool
    max_jobs_in_hand: int | None = Field(description="null: no limit of its own.")
    max_jobs_per_minute: int | None = Field(description="null: no limit of its own.")
    jobs_in_hand: int
    jobs_pulled: int
    jobs_done: int
    jobs_failed: int
    consecutive_failures: int
    quarantined_until: Instant | None
    note: str | None
    last_seen_at: Instant | None
    created_at: Instant


class NewBot(BotView):
    """A bot with its key, which cannot be shown again."""

    key: str


class CrawlPolicyView(Schema):
    """A crawl policy: a URL that is crawled again and again by bots."""

    id: UUID
    url: str
    domain: str | None
    enabled: bool
    priority: int
    schedule: str
    frequency_hours: int
    next_run_at: Instant | None = Field(description="When its next job is made; null means now.")
    max_retries: int
    retry_backoff_minutes: int
    timeout_minutes: int = Field(description="How long a bot may hold a job.")
    importance: float
    crawl_config: dict[str, Any] | None
    failure_count: int
    last_success_at: Instant | None
    last_failed_at: Instant | None
    last_price: Price | None
    last_currency: str | None
    last_in_stock: bool | None
    created_at: Instant
    updated_at: Instant


class CrawlJobView(Schema):
    """A crawl job: one crawl of a URL."""

    id: UUID
    policy_id: UUID | None
    url: str
    domain: str
    status: JobStatus
    priority: int
    locked_by: str | None
    locked_at: Instant | None
    locked_until: Instant | None
    lock_ttl_seconds: int
    retry_count: int
    max_retries: int
    error_msg: str | None
    crawl_config: dict[str, Any] | None
    not_before: Instant | None = Field(description="When it may be pulled, if not now.")
    slot_at: Instant | None = Field(description="When the request of its present lock may start.")
    slot_ends_at: Instant | None
    submitted_by: str | None
    finished_at: Instant | None
    created_at: Instant
    updated_at: Instant


class JobMoveView(Schema):
    """One change of a job's status."""

    before: JobStatus | None
    after: JobStatus
    actor: str | None
    reason: str | None
    moved_at: Instant


class CrawlResultView(Schema):
    """The result of a job, without its HTML."""

    id: UUID
    job_id: UUID
    policy_id: UUID | None
    url: str
    price: Price | None
    currency: str | None
    title: str | None
    in_stock: bool | None
    parsed_data: dict[str, Any] | None
    raw_html_bytes: int | None
    bot_id: str | None
    crawled_at: Instant
    created_at: Instant


class CrawlJobDetails(CrawlJobView):
    """A job with its history and its result."""

    moves: list[JobMoveView]
    result: CrawlResultView | None


class LateSubmissionView(Schema):
    """A submission that arrived after the lock had run out. It changed nothing."""

    id: UUID
    job_id: UUID
    url: str
    job_status: JobStatus
    bot_id: str
    content: dict[str, Any]
    raw_html_bytes: int | None
    received_at: Instant


class PricePointView(Schema):
    """Price and stock of a policy's URL at one time."""

    crawled_at: Instant
    price: Price | None
    currency: str | None
    in_stock: bool | None
    job_id: UUID


class CrawlPolicyList(Schema):
    """A page of policies."""

    policies: list[CrawlPolicyView]
    limit: int
    next_cursor: str | None = Field(description="The cursor of the next page; null on the last one.")


class CrawlJobList(Schema):
    """A page of jobs."""

    jobs: list[CrawlJobView]
    limit: int
    next_cursor: str | None = Field(description="The cursor of the next page; null on the last one.")


class CrawlResultList(Schema):
    """A page of results."""

    results: list[CrawlResultView]
    limit: int
    next_cursor: str | None = Field(description="The cursor of the next page; null on the last one.")


class LateSubmissionList(Schema):
    """A page of late submissions."""

    late: list[LateSubmissionView]
    limit: int
    next_cursor: str | None = Field(description="The cursor of the next page; null on the last one.")


class BotList(Schema):
    """A page of bots."""

    bots: list[BotView]
    limit: int
    next_cursor: str | None = Field(description="The cursor of the next page; null on the last one.")


class PriceHistory(Schema):
    """The prices of a policy's URL, oldest first."""

    policy_id: UUID
    url: str
    prices: list[PricePointView]


class BulkItem(Schema):
    """What became of one item of a bulk action."""

    id: UUID
    changed: bool
    reason: str | None = Field(description="Why it was not changed.")


class BulkReport(Schema):
    """What a bulk action changed."""

    action: str
    changed: int
    unchanged: int
    items: list[BulkItem]


class PolicyImportRow(Schema):
    """What became of one row of a list of policies."""

    row: int
    line: int | None
    url: str
    result: ImportResult
    field: str | None
    reason: str | None
    policy_id: UUID | None


class PolicyImportView(Schema):
    """The report of an imported list of policies."""

    rows: list[PolicyImportRow]
    counts: dict[str, int]
    is_written: bool = Field(description="false: nothing was changed.")
    is_dry_run: bool
    ignored_columns: list[str]


class RowsExported(Schema):
    """A file of exported rows."""

    file: str
    rows: int


class HostFiguresView(Schema):
    """The open jobs of one host."""

    domain: str
    open: int
    pending: int
    locked: int
    expired: int
    oldest: Instant
    claimed_by: str | None = Field(description="The worker, bot or crawler that holds the host.")
    claim_expires_at: Instant | None
    queue_ready_at: Instant | None = Field(description="When a pull looks at the host again.")


class BotFiguresView(Schema):
    """What one bot holds and has done."""

    bot_id: str
    status: str
    in_hand: int
    jobs_pulled: int
    jobs_done: int
    jobs_failed: int
    consecutive_failures: int
    last_seen_at: Instant | None


class JobThroughputView(Schema):
    """Finished jobs within some hours."""

    hours: int
    done: int
    failed: int


class FinishedHourView(Schema):
    """The jobs that ended within one hour."""

    at: Instant
    done: int
    failed: int


class QueueGlanceView(Schema):
    """The crawl service as its page shows it. Counts stop at 10,001, so that a long queue costs no more."""

    jobs: dict[str, int] = Field(description="Jobs by status.")
    policies: dict[str, int] = Field(description="enabled, disabled, due and failing.")
    oldest_pending_at: Instant | None
    done_24h: int
    failed_24h: int
    hours: list[FinishedHourView] = Field(description="The last 24 hours, the oldest first.")


class QueueStatsView(Schema):
    """A summary of the crawl service."""

    counted_at: Instant
    jobs: dict[str, int] = Field(description="Jobs by status.")
    policies: dict[str, int] = Field(description="total, enabled, due and failing.")
    oldest_pending_at: Instant | None
    oldest_pending_seconds: float | None
    throughput: list[JobThroughputView]
    hosts: list[HostFiguresView] = Field(description="The hosts with the most open jobs.")
    bots: list[BotFiguresView]


class WebhookView(Schema):
    """A webhook: a URL that is called for some events. Its secret is shown only when Comity makes it."""

    id: UUID
    url: str
    events: list[WebhookEvent]
    enabled: bool
    consecutive_failures: int = Field(description="Failed attempts since the last call that was accepted.")
    disabled_reason: str | None
    note: str | None
    created_at: Instant
    updated_at: Instant


class NewWebhook(WebhookView):
    """A webhook with its secret, which cannot be shown again."""

    secret: str | None = Field(description="null if the request named the secret.")


class WebhookList(Schema):
    """All webhooks, the oldest first."""

    webhooks: list[WebhookView]


class WebhookDeliveryView(Schema):
    """One call of a webhook, and the result of its last attempt."""

    id: UUID = Field(description="The same at each attempt; sent as X-Comity-Delivery.")
    webhook_id: UUID
    event: str = Field(description="job.done, job.failed, price.changed, stock.back or test.")
    status: DeliveryStatus
    attempts: int
    next_attempt_at: Instant | None
    last_attempt_at: Instant | None
    last_status: int | None = Field(description="The status that the receiver answered last.")
    last_error: str | None
    is_test: bool
    created_at: Instant
    delivered_at: Instant | None
    payload: dict[str, Any] = Field(description="The field `data` of what is sent.")


class WebhookDeliveryList(Schema):
    """A page of deliveries, the newest first."""

    deliveries: list[WebhookDeliveryView]
    limit: int
    next_cursor: str | None = Field(description="The cursor of the next page; null on the last one.")
