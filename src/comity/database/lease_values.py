"""Between the values that a lease speaks of and the columns of `domains` that keep them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, case, func, literal

from comity.database.instants import from_seconds, to_seconds
from comity.database.tables import domains
from comity.database.types import UtcDateTime
from comity.model.gate import GateMemory
from comity.model.host import HostEnding, HostProgress, HostStatus, Lease
from comity.rules.cooldown import cooldown_ends_at


def lease_from(row: Row[Any]) -> Lease:
    """Read a leased host's row."""
    return Lease(
        host_id=row.id,
        host=row.domain,
        holder=row.claimed_by,
        token=row.lease_token,
        expires_at=row.claim_expires_at,
        status=row.status,
        cooldown_count=row.cooldown_count,
        max_pages_per_run=row.max_pages_per_run,
        memory=GateMemory(
            next_fetch_at=to_seconds(row.next_fetch_at),
            blocked_until=to_seconds(row.blocked_until),
            backoff_step=row.backoff_step,
            adaptive_delay_s=row.adaptive_delay_s,
            latency_baseline_s=row.latency_baseline_s,
            latency_recent_s=row.latency_recent_s,
            unclean_end_at=to_seconds(row.unclean_end_at),
            last_start_at=to_seconds(row.last_start_at),
        ),
    )


def memory_values(memory: GateMemory) -> dict[str, Any]:
    """The columns that keep a gate's memory between holders."""
    return {
        "next_fetch_at": from_seconds(memory.next_fetch_at),
        "blocked_until": from_seconds(memory.blocked_until),
        "backoff_step": memory.backoff_step,
        "adaptive_delay_s": memory.adaptive_delay_s,
        "latency_baseline_s": memory.latency_baseline_s,
        "latency_recent_s": memory.latency_recent_s,
        "unclean_end_at": from_seconds(memory.unclean_end_at),
        "last_start_at": from_seconds(memory.last_start_at),
    }


def progress_values(progress: HostProgress, now: datetime) -> dict[str, Any]:
    """The columns that a stretch of crawling adds to."""
    depth = domains.c.crawl_depth_reached
    queued = domains.c.frontier_size + progress.queued
    values: dict[str, Any] = {
        "pages_crawled": domains.c.pages_crawled + progress.pages_crawled,
        "pages_discovered": domains.c.pages_discovered + progress.pages_discovered,
        "images_found": domains.c.images_found + progress.images_found,
        "images_stored": domains.c.images_stored + progress.images_stored,
        "total_error_count": domains.c.total_error_count + progress.errors,
        "crawl_depth_reached": case((depth < progress.depth_reached, progress.depth_reached), else_=depth),
        "frontier_size": case((queued < 0, 0), else_=queued),
        "frontier_updated_at": now,
        "last_crawled_at": now,
    }
    if progress.checkpoint_id is not None:
        values["frontier_checkpoint_id"] = progress.checkpoint_id
    if progress.consecutive_errors is not None:
        values["consecutive_error_count"] = progress.consecutive_errors
    return values


def ending_values(lease: Lease, ending: HostEnding, now: datetime, refresh_after: timedelta) -> dict[str, Any]:
    """The columns that say how a host was left, and when it is due again."""
    values: dict[str, Any] = {"status": ending.status, "block_reason": None, "block_reason_code": None}
    if ending.reason is not None:
        return values | {
            "block_reason": ending.detail or str(ending.reason),
            "block_reason_code": str(ending.reason),
            "first_blocked_at": func.coalesce(domains.c.first_blocked_at, literal(now, UtcDateTime())),
            "next_crawl_after": cooldown_ends_at(now, ending.reason, lease.cooldown_count),
        }
    due = now + refresh_after if ending.status is HostStatus.EXHAUSTED else None
    return values | {"first_blocked_at": None, "cooldown_count": 0, "next_crawl_after": due}
