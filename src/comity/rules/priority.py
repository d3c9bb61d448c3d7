"""The priority of a host: higher gets the next free worker.

A sum of weighted parts, rounded to an integer. The database computes the same sum for all hosts in one
statement (`database.hosts`); a test holds the two together.
"""

from __future__ import annotations

from datetime import UTC, datetime

from comity.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PriorityWeights:
    """The weights of the parts of the score; all are settings."""

    seed_rank: float = 1000.0
    seed_rank_half: float = 1000.0
    image_yield: float = 1000.0
    page_remaining: float = 2.0
    pages_remaining_cap: int = 500
    error_rate: float = 500.0
    day_waiting: float = 5.0
    never_crawled_since: datetime = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class HostSignals:
    """The part of a host's row that its priority depends on."""

    pages_discovered: int = 0
    pages_crawled: int = 0
    images_found: int = 0
    images_stored: int = 0
    errors: int = 0
    seed_rank: int | None = None
    last_crawled_at: datetime | None = None


def rate(part: int, pages_crawled: int) -> float | None:
    """Something per page crawled; unknown before the first page."""
    return part / pages_crawled if pages_crawled > 0 else None


def priority_score(signals: HostSignals, weights: PriorityWeights, now: datetime) -> int:
    """Score a host; higher is sooner.

    Rank 1 is the best seed, so this part falls with the rank: half of its weight is left at `seed_rank_half`. The yield
    is computed from the current counters.
    """
    rank_part = 0.0
    if signals.seed_rank is not None:
        rank_part = weights.seed_rank * weights.seed_rank_half / (weights.seed_rank_half + max(signals.seed_rank, 0))
    # Revisited pages are counted as crawled more than once: a refresh must not lower the priority of a host.
    remaining = min(max(signals.pages_discovered - signals.pages_crawled, 0), weights.pages_remaining_cap)
    waited = now - (signals.last_crawled_at or weights.never_crawled_since)
    total = (
        rank_part
        + weights.image_yield * (rate(signals.images_stored, signals.pages_crawled) or 0.0)
        + weights.page_remaining * remaining
        - weights.error_rate * (rate(signals.errors, signals.pages_crawled) or 0.0)
        + weights.day_waiting * waited.total_seconds() / 86400
    )
    return round(max(-(2**31), min(2**31 - 1, total)))
