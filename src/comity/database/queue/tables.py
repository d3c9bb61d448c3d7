"""The tables of the crawl service: policies, jobs, results, bots, grants and webhooks.

Apart from `database.tables`, so that a crawl does not load them; `database.all_tables` has both. `domains` has the
rest: while a bot or another crawler has slots of a host, it holds that host's lease, so that a host is either leased
by a worker or reserved for one client; and `domains.queue_ready_at` says when a pull should look at a host's jobs.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    Uuid,
    false,
    text,
    true,
)

from comity.database.tables import metadata
from comity.database.types import (
    ExactDecimal,
    JsonDocument,
    RowNumber,
    UtcDateTime,
    at_least,
    count,
    partial_index,
    row_id,
    written_at,
)

FAILING: Final = "failure_count > 0"
"""The same words are in the index and in the statements: SQLite compares them."""

crawl_policies: Final = Table(
    "crawl_policies",
    metadata,
    row_id(),
    Column("url", String(2048), nullable=False, unique=True),
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="SET NULL")),
    count("frequency_hours", Integer, 24),
    count("priority", Integer, 5),
    count("max_retries", Integer, 3),
    count("retry_backoff_minutes", Integer, 5),
    count("timeout_minutes", Integer, 10),
    Column("crawl_config", JsonDocument),
    Column("enabled", Boolean(), nullable=False, server_default=true()),
    Column("next_run_at", UtcDateTime()),  # without one, it is due now
    count("failure_count", Integer),
    Column("last_success_at", UtcDateTime()),
    Column("last_failed_at", UtcDateTime()),
    Column("schedule", String(10), nullable=False, server_default=text("'fixed'")),
    Column("importance", Double(), nullable=False, server_default=text("1")),
    # What the adaptive schedule has learned of this page.
    Column("change_statistics", JsonDocument),
    Column("last_price", ExactDecimal(18, 4)),
    Column("last_currency", String(3)),
    Column("last_in_stock", Boolean()),
    written_at("created_at"),
    written_at("updated_at"),
    CheckConstraint("schedule IN ('fixed', 'adaptive')", name="schedule"),
    at_least("frequency_hours", 1),
    at_least("max_retries", 0),
    at_least("retry_backoff_minutes", 0),
    at_least("timeout_minutes", 1),
    Index("idx_crawl_policies_next_run_at", "next_run_at"),
    # What operators list (`listing`): each order with the condition that comes before it, and the id that decides.
    Index("idx_crawl_policies_domain_id", "domain_id", "next_run_at", "id"),
    Index("idx_crawl_policies_enabled", "enabled", "next_run_at", "id"),
    Index("idx_crawl_policies_priority", "priority", "id"),
    Index("idx_crawl_policies_same_priority", "priority", "next_run_at", "id"),
    partial_index("idx_crawl_policies_failing", "failure_count", "id", where=FAILING),
    partial_index("idx_crawl_policies_due", "next_run_at", "priority", where="enabled"),
)

WAITING: Final = "status IN ('pending', 'expired') AND not_before IS NULL"
"""The jobs that may be pulled; the same words are in the index and in the statements."""
PARKED: Final = "status IN ('pending', 'expired') AND not_before IS NOT NULL"
"""The jobs that wait for a time."""
FAILED: Final = "status = 'failed'"
HOSTLESS: Final = "domain_id IS NULL AND not_before IS NULL"
"""The jobs whose host is to be found."""
_OPEN: Final = "status IN ('pending', 'locked', 'expired')"

crawl_jobs: Final = Table(
    "crawl_jobs",
    metadata,
    row_id(),
    Column("policy_id", Uuid(), ForeignKey("crawl_policies.id", ondelete="CASCADE")),
    # Hand-written SQL may leave it out: then the next look at due policies fills it in.
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="CASCADE")),
    Column("url", String(2048), nullable=False),
    Column("status", String(20), nullable=False, server_default=text("'pending'")),
    count("priority", Integer, 5),
    Column("locked_by", String(100)),
    Column("locked_at", UtcDateTime()),
    count("lock_ttl_seconds", Integer, 600),
    # `locked_at` plus the TTL, for the sweeper; one that is missing is computed.
    Column("lock_ends_at", UtcDateTime()),
    count("retry_count", Integer),
    count("max_retries", Integer, 3),
    Column("error_msg", Text()),
    Column("crawl_config", JsonDocument),
    # When a retry may be pulled, or a URL that robots.txt denies may be looked at again. NULL once it may be pulled:
    # the sweeper sees to that, so that a pull never reads past jobs that wait.
    Column("not_before", UtcDateTime()),
    # What the job's priority was at first, and when it grows next because the job has waited.
    Column("first_priority", Integer()),
    Column("ages_at", UtcDateTime()),
    # How often a bot let its lock run out.
    count("expiry_count", Integer),
    # Who moved the job last and why, for its history; they may be omitted in SQL.
    Column("moved_by", String(120)),
    Column("move_reason", Text()),
    # The slot of the present lock: when its request may start, and the delay and rule behind it, for the ledger.
    Column("slot_at", UtcDateTime()),
    Column("slot_ends_at", UtcDateTime()),
    Column("slot", JsonDocument),
    Column("lease_token", RowNumber),
    # Submitting again is answered as before: who did it last, a digest of what came, and the answer.
    Column("submitted_by", String(100)),
    Column("submission_digest", String(32)),
    Column("submission_answer", JsonDocument),
    Column("finished_at", UtcDateTime()),
    written_at("created_at"),
    written_at("updated_at"),
    CheckConstraint("status IN ('pending', 'locked', 'done', 'failed', 'expired')", name="status"),
    # A trigger clears the lock of a job that leaves `locked`.
    CheckConstraint(
        "status <> 'locked' OR (locked_by IS NOT NULL AND locked_at IS NOT NULL)", name="lock_has_bot_and_time"
    ),
    at_least("lock_ttl_seconds", 1),
    Index("idx_crawl_jobs_pull", "status", text("priority DESC"), "created_at", "id"),
    Index("idx_crawl_jobs_lock", "locked_by", "locked_at"),
    Index("idx_crawl_jobs_priority", text("priority DESC"), "status"),
    Index("idx_crawl_jobs_url", "url"),
    Index("idx_crawl_jobs_created_at", "created_at"),
    # What operators list (`listing`), and what a host or a policy that is deleted takes with it.
    Index("idx_crawl_jobs_status", "status", "created_at", "id"),
    Index("idx_crawl_jobs_domain", "domain_id", "status", "created_at", "id"),
    Index("idx_crawl_jobs_policy", "policy_id", "status", "created_at", "id"),
    partial_index("idx_crawl_jobs_failed", "finished_at", where=FAILED),
    # A pull goes host by host, and reads the front of this.
    partial_index(
        "idx_crawl_jobs_host",
        "domain_id",
        text("priority DESC"),
        "created_at",
        where=WAITING,
    ),
    partial_index("idx_crawl_jobs_parked", "not_before", "id", where="not_before IS NOT NULL"),
    partial_index("idx_crawl_jobs_hostless", "created_at", where=HOSTLESS),
    partial_index("idx_crawl_jobs_ages", "ages_at", where=f"{WAITING} AND ages_at IS NOT NULL"),
    partial_index("idx_crawl_jobs_lock_ends", "lock_ends_at", where="status = 'locked'"),
    partial_index("idx_crawl_jobs_locked", "domain_id", "locked_at", where="status = 'locked'"),
    partial_index(
        "uq_crawl_jobs_open",
        "policy_id",
        unique=True,
        where=_OPEN,
    ),
)

# Every move of a job: who or what did it, and why.
crawl_job_moves: Final = Table(
    "crawl_job_moves",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("job_id", Uuid(), ForeignKey("crawl_jobs.id", ondelete="CASCADE"), nullable=False),
    Column("before", String(20)),
    Column("after", String(20), nullable=False),
    Column("actor", String(120)),
    Column("reason", Text()),
    written_at("moved_at"),
    Index("idx_crawl_job_moves_job", "job_id", "id"),
)

crawl_results: Final = Table(
    "crawl_results",
    metadata,
    row_id(),
    Column("job_id", Uuid(), ForeignKey("crawl_jobs.id", ondelete="CASCADE"), nullable=False, unique=True),
    Column("policy_id", Uuid(), ForeignKey("crawl_policies.id", ondelete="SET NULL")),
    Column("url", String(2048), nullable=False),
    Column("price", ExactDecimal(18, 4)),
    Column("currency", String(3)),
    Column("title", String(500)),
    Column("in_stock", Boolean()),
    Column("parsed_data", JsonDocument),
    Column("raw_html", LargeBinary()),  # zstd
    Column("raw_html_bytes", Integer()),
    Column("bot_id", String(100)),
    written_at("crawled_at"),
    written_at("created_at"),
    Index("idx_crawl_results_policy", "policy_id", "crawled_at", "id"),
    Index("idx_crawl_results_created_at", "created_at", "id"),
    Index("idx_crawl_results_currency", "currency", "created_at", "id"),
    Index("idx_crawl_results_in_stock", "in_stock", "created_at", "id"),
    Index("idx_crawl_results_bot", "bot_id", "created_at", "id"),
)

# Submitted after the lock had expired: stored for an operator, and changes nothing.
late_submissions: Final = Table(
    "late_submissions",
    metadata,
    row_id(),
    Column("job_id", Uuid(), ForeignKey("crawl_jobs.id", ondelete="CASCADE"), nullable=False),
    Column("bot_id", String(100), nullable=False),
    Column("submission_digest", String(32), nullable=False),
    Column("content", JsonDocument, nullable=False),
    Column("raw_html", LargeBinary()),
    Column("raw_html_bytes", Integer()),
    written_at("received_at"),
    Index("uq_late_submissions", "job_id", "bot_id", "submission_digest", unique=True),
    Index("idx_late_submissions_received_at", "received_at", "id"),
)

bots: Final = Table(
    "bots",
    metadata,
    Column("bot_id", String(100), primary_key=True),
    Column("key_hash", String(64), unique=True),
    Column("status", String(20), nullable=False, server_default=text("'active'")),
    Column("max_jobs_in_hand", Integer()),
    Column("max_jobs_per_minute", Integer()),
    count("consecutive_failures", Integer),
    count("times_quarantined", Integer),
    count("jobs_pulled"),
    count("jobs_done"),
    count("jobs_failed"),
    Column("quarantined_until", UtcDateTime()),
    Column("note", Text()),
    Column("last_seen_at", UtcDateTime()),
    # The allowance of the present minute.
    Column("minute_started_at", UtcDateTime()),
    count("pulled_this_minute", Integer),
    written_at("created_at"),
    CheckConstraint("status IN ('active', 'quarantined', 'revoked')", name="status"),
    at_least("max_jobs_in_hand", 1),
    at_least("max_jobs_per_minute", 1),
)

# Permission for one request of a crawler that has URLs of its own. Open until it is reported or runs out.
grants: Final = Table(
    "grants",
    metadata,
    row_id(),
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="CASCADE"), nullable=False),
    Column("client", String(100), nullable=False),
    Column("url", Text(), nullable=False),
    Column("slot_at", UtcDateTime(), nullable=False),
    Column("slot_ends_at", UtcDateTime(), nullable=False),
    Column("slot", JsonDocument, nullable=False),
    Column("lease_token", RowNumber, nullable=False),
    Column("expires_at", UtcDateTime(), nullable=False),
    Column("is_open", Boolean(), nullable=False, server_default=true()),
    Column("outcome", String(20)),
    written_at("granted_at"),
    Column("ended_at", UtcDateTime()),
    CheckConstraint("outcome IN ('reported', 'released', 'expired')", name="outcome"),
    partial_index("idx_grants_open", "domain_id", "expires_at", where="is_open"),
    partial_index("idx_grants_expiry", "expires_at", where="is_open"),
    Index("idx_grants_granted_at", "granted_at"),
)

webhooks: Final = Table(
    "webhooks",
    metadata,
    row_id(),
    Column("url", Text(), nullable=False),
    Column("events", JsonDocument, nullable=False),
    Column("secret", Text(), nullable=False),
    Column("enabled", Boolean(), nullable=False, server_default=true()),
    count("consecutive_failures", Integer),
    Column("disabled_reason", Text()),
    Column("note", Text()),
    written_at("created_at"),
    written_at("updated_at"),
)

webhook_deliveries: Final = Table(
    "webhook_deliveries",
    metadata,
    row_id(),
    Column("webhook_id", Uuid(), ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    Column("event", String(40), nullable=False),
    Column("payload", JsonDocument, nullable=False),
    Column("status", String(20), nullable=False, server_default=text("'pending'")),
    count("attempts", Integer),
    # When the next attempt is due. While an attempt is under way: when another process may make it again.
    Column("next_attempt_at", UtcDateTime()),
    Column("last_attempt_at", UtcDateTime()),
    Column("last_status", Integer()),
    Column("last_error", Text()),
    Column("is_test", Boolean(), nullable=False, server_default=false()),
    written_at("created_at"),
    Column("delivered_at", UtcDateTime()),
    CheckConstraint("status IN ('pending', 'delivered', 'failed')", name="status"),
    partial_index("idx_webhook_deliveries_due", "webhook_id", "next_attempt_at", where="status = 'pending'"),
    Index("idx_webhook_deliveries_webhook", "webhook_id", "created_at", "id"),
    Index("idx_webhook_deliveries_created_at", "created_at", "id"),
    Index("idx_webhook_deliveries_status", "status", "created_at", "id"),
)
