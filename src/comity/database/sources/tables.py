"""The tables of sources: pages that are re-read on a schedule, what was found there, and what search has yet to index.

Apart from `database.tables`, so that a crawl does not load them; `database.all_tables` has both.
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
    SmallInteger,
    String,
    Table,
    Text,
    Uuid,
    text,
)

from comity.database.tables import metadata
from comity.database.types import JsonDocument, RowNumber, UtcDateTime, at_least, count, row_id, written_at

sources: Final = Table(
    "sources",
    metadata,
    row_id(),
    Column("org_name", Text()),
    Column("careers_url", Text(), nullable=False, unique=True),
    Column("source_type", Text(), nullable=False, server_default=text("'html'")),
    Column("org_type", Text()),
    Column("status", Text(), nullable=False, server_default=text("'active'")),
    Column("crawl_frequency_days", Integer(), server_default=text("3")),
    Column("next_run_at", UtcDateTime()),
    Column("last_crawled_at", UtcDateTime()),
    Column("last_crawl_status", Text()),
    Column("last_crawl_message", Text()),
    count("consecutive_failures", Integer),
    count("consecutive_nochange", Integer),
    Column("parser_hint", Text()),
    Column("time_window", Text()),
    written_at("created_at"),
    written_at("updated_at"),
    # Where the organisation is: its country stands in for one that a posting does not name.
    Column("country", String(2)),
    Column("time_zone", String(64)),
    Column("schedule", String(10), nullable=False, server_default=text("'s0'")),
    Column("importance", Double(), nullable=False, server_default=text("1")),
    # What the adaptive schedule has learned of this page, in its own words.
    Column("change_statistics", JsonDocument),
    # How many postings the last read that was believed found, and how many looks in a row found none since.
    count("last_found", Integer),
    count("empty_reads", Integer),
    # Why it is blocked (`SourceBlock`); NULL where an operator blocked it by hand, and where it is not blocked.
    Column("block_reason_code", String(20)),
    CheckConstraint("source_type IN ('html', 'rss', 'api')", name="source_type"),
    CheckConstraint("status IN ('active', 'paused', 'blocked', 'deleted')", name="status"),
    CheckConstraint("schedule IN ('s0', 'adaptive')", name="schedule"),
    at_least("crawl_frequency_days", 1),
    Index("idx_sources_status", "status"),
    Index("idx_sources_next_run_at", "next_run_at"),
    Index("idx_sources_org_type", "org_type"),
    Index("idx_sources_last_crawled_at", "last_crawled_at"),
    Index("idx_sources_org_name", "org_name"),
)

# The pages of a listing as last read: what to request them with, and where to go on if they did not change.
source_pages: Final = Table(
    "source_pages",
    metadata,
    Column("source_id", Uuid(), ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
    Column("number", SmallInteger(), primary_key=True, autoincrement=False),
    Column("url", Text(), nullable=False),
    # After redirects: the two validators below are this address's.
    Column("final_url", Text(), nullable=False),
    Column("etag", Text()),
    Column("last_modified", Text()),
    Column("next_url", Text()),
    Column("kind", String(20), nullable=False),
    count("found", Integer),
    Column("content_hash", String(32)),
    written_at("read_at"),
)

crawl_logs: Final = Table(
    "crawl_logs",
    metadata,
    row_id(),
    Column("source_id", Uuid(), ForeignKey("sources.id", ondelete="CASCADE")),
    written_at("ran_at"),
    Column("duration_ms", Integer()),
    Column("found", Integer()),
    Column("inserted", Integer()),
    Column("updated", Integer()),
    Column("skipped", Integer()),
    Column("status", Text()),
    Column("message", Text()),
    count("closed", Integer),
    count("pages", Integer),
    Column("next_run_at", UtcDateTime()),
    # Which rule of the schedule said so, in a sentence.
    Column("next_run_reason", Text()),
    CheckConstraint("status IN ('ok', 'warn', 'fail')", name="status"),
    Index("idx_crawl_logs_source_id", "source_id", text("ran_at DESC")),
    Index("idx_crawl_logs_ran_at", text("ran_at DESC")),
    Index("idx_crawl_logs_status", "status", text("ran_at DESC")),
)

# Held while a source is run. A row without an expiry (inserted in SQL) ends as late as any other.
crawl_locks: Final = Table(
    "crawl_locks",
    metadata,
    Column("source_id", Uuid(), ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
    written_at("locked_at"),
    Column("expires_at", UtcDateTime()),
    Column("holder", String(255)),
)

job_postings: Final = Table(
    "job_postings",
    metadata,
    row_id(),
    Column("canonical_hash", String(64), nullable=False, unique=True),
    # The source whose text is stored, if several list the same job.
    Column("source_id", Uuid(), ForeignKey("sources.id", ondelete="SET NULL")),
    Column("title", Text(), nullable=False),
    Column("org_name", Text(), nullable=False, server_default=text("''")),
    Column("apply_url", Text(), nullable=False),
    Column("location_raw", Text(), nullable=False, server_default=text("''")),
    Column("description_snippet", Text(), nullable=False, server_default=text("''")),
    # The whole description as the listing has it, at most 20,000 characters.
    Column("description_text", Text(), nullable=False, server_default=text("''")),
    Column("deadline", UtcDateTime()),
    Column("posted_at", UtcDateTime()),
    Column("city", Text()),
    Column("country_iso", String(2)),
    Column("level_norm", String(40)),
    Column("work_modality", String(40)),
    Column("career_type", String(40)),
    Column("international_eligible", Boolean()),
    Column("mission_tags", JsonDocument, nullable=False, server_default=text("'[]'")),
    Column("language", String(20)),
    written_at("first_seen_at"),
    written_at("last_seen_at"),
    written_at("updated_at"),
    Column("closed_at", UtcDateTime()),
    Index("idx_job_postings_source_id", "source_id"),
    Index("idx_job_postings_deadline", "deadline"),
    Index("idx_job_postings_country_iso", "country_iso"),
    Index("idx_job_postings_last_seen_at", "last_seen_at"),
)

# Which source lists which posting, and on which of its pages: a posting is closed when no source lists it any more.
job_sightings: Final = Table(
    "job_sightings",
    metadata,
    Column("source_id", Uuid(), ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
    Column("posting_id", Uuid(), ForeignKey("job_postings.id", ondelete="CASCADE"), primary_key=True),
    count("page_number", SmallInteger),
    written_at("seen_at"),
    Index("idx_job_sightings_posting_id", "posting_id"),
)

# Changes that search has yet to index. Rows are only added and deleted: a change during indexing has a row of its own.
search_outbox: Final = Table(
    "search_outbox",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("posting_id", Uuid(), nullable=False),
    Column("action", String(10), nullable=False),
    count("attempts", Integer),
    Column("next_attempt_at", UtcDateTime()),
    Column("last_error", Text()),
    written_at("created_at"),
    CheckConstraint("action IN ('upsert', 'delete')", name="action"),
    Index("idx_search_outbox_next_attempt_at", "next_attempt_at", "id"),
)
