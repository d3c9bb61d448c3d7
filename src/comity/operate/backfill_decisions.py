"""What becomes of a host in a backfill, and which host an old row speaks of. Rows of sums enter, values leave."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final

from comity.database.backfilling import COUNTERS, LONGEST_NAME, SUMMED
from comity.model.errors import BadAddress
from comity.model.host import BlockReason, CanonicalHost, HostStatus
from comity.rules.canonical import canonical_host
from comity.rules.cooldown import cooldown_ends_at, reason_for_status, status_for
from comity.rules.priority import rate

SOURCE: Final = "backfill_fetches"
_LARGEST: Final = 2**31 - 1
_REASONS_KEPT: Final = 20
_OTHER_REASONS: Final = "other reasons"
_ABSOLUTE: Final = re.compile(r"\s*(https?://[^/?#\\]*)", re.IGNORECASE)
_ADDED: Final = (*SUMMED, "crawl_depth_reached", "first_at", "last_at")


def first_row(row: Any, refresh_after: timedelta) -> dict[str, Any]:
    """The row of a host that had none: as the older crawl left it, and due when it would be due from then on."""
    reason = _why_left(row)
    status = HostStatus.EXHAUSTED if reason is None else status_for(reason)
    due = row.last_at + refresh_after if reason is None else cooldown_ends_at(row.last_at, reason, 0)
    counters = {name: _bounded(name, getattr(row, name)) for name in COUNTERS}
    return {
        "domain": row.host,
        "parent_domain": row.parent_domain,
        "status": status,
        "block_reason": None if reason is None else "more than half of the fetches that are kept went wrong",
        "block_reason_code": None if reason is None else str(reason),
        "first_blocked_at": None if reason is None else row.last_at,
        **counters,
        **_rates(counters),
        "source": SOURCE,
        "first_seen_at": row.first_at,
        "last_crawled_at": row.last_at,
        "next_crawl_after": due,
    }


def _why_left(row: Any) -> BlockReason | None:
    """Why a host counts as blocked or unreachable: more than half of its fetches were refused, or not answered."""
    if 2 * row.refusals > row.fetch_rows:
        kinds = {401: row.logins_asked, 429: row.rate_limits, 500: row.server_errors}
        kinds[403] = row.refusals - sum(kinds.values())
        return reason_for_status(max(kinds, key=lambda status: kinds[status]))
    return BlockReason.CONNECTION_FAILURE if 2 * row.unanswered > row.fetch_rows else None


def raised_counters(row: Any, known: Any) -> dict[str, Any] | None:
    """A row's counters where the evidence proves some of them too low; None where it does not.

    All of them only ever grow, and by what the log has a row for: more in the log proves that something was not
    counted, less only that the log was cut.
    """
    counters = {name: max(getattr(known, name), _bounded(name, getattr(row, name))) for name in COUNTERS}
    times = [time for time in (known.last_crawled_at, row.last_at) if time is not None]
    last = max(times) if times else None
    if last == known.last_crawled_at and all(counters[name] == getattr(known, name) for name in counters):
        return None
    return {"id": known.id, **counters, **_rates(counters), "last_crawled_at": last}


def _rates(counters: dict[str, int]) -> dict[str, float | None]:
    pages = counters["pages_crawled"]
    return {
        "image_yield_rate": rate(counters["images_stored"], pages),
        "avg_images_per_page": rate(counters["images_found"], pages),
        "error_rate": rate(counters["total_error_count"], pages),
    }


def _bounded(name: str, number: int) -> int:
    """Errors and depth have a narrower column than pages and images."""
    return min(number, _LARGEST) if name in ("total_error_count", "crawl_depth_reached") else number


def add_group(sums: dict[str, dict[str, Any]], host: str, parent: str | None, group: Any) -> None:
    """Add the sums of one group of fetches to those of its host."""
    known = sums.get(host)
    if known is None:
        sums[host] = {"host": host, "parent_domain": parent} | {name: getattr(group, name) for name in _ADDED}
        return
    for name in SUMMED:
        known[name] += getattr(group, name)
    known["crawl_depth_reached"] = max(known["crawl_depth_reached"], group.crawl_depth_reached)
    known["first_at"] = min(known["first_at"], group.first_at)
    known["last_at"] = max(known["last_at"], group.last_at)


def skip_rows(skipped: dict[str, list[Any]], error: BadAddress, rows: int) -> None:
    """Count rows that name no host; reasons that quote the address could be many, and only so many are told apart."""
    is_full = error.reason not in skipped and len(skipped) >= _REASONS_KEPT
    line = skipped.setdefault(_OTHER_REASONS if is_full else error.reason, [0, error.text])
    line[0] += rows


@lru_cache(maxsize=65_536)
def host_of_url(text: str, collapse: bool) -> CanonicalHost | BadAddress:
    """The host of a URL that was fetched, of which the beginning is enough; what is no web address is told why."""
    absolute = _ABSOLUTE.match(text)
    try:
        if absolute is not None:
            return canonical_host(absolute[1], collapse=collapse)
        canonical_host(text)
    except BadAddress as error:
        return BadAddress(error.text, error.reason)  # without its traceback: these are kept
    return BadAddress(text.rpartition("@")[2], "no http:// or https:// in front")


@lru_cache(maxsize=65_536)
def host_of_name(text: str, collapse: bool) -> CanonicalHost | BadAddress:
    """The host that a table names."""
    if len(text) > LONGEST_NAME:
        return BadAddress(text[:LONGEST_NAME].rpartition("@")[2], "longer than a host name can be")
    try:
        return canonical_host(text, collapse=collapse)
    except BadAddress as error:
        return BadAddress(error.text, error.reason)


def canonical_name(text: str, collapse: bool) -> str | None:
    """The name that today's rules give to a host; None if it is none."""
    found = host_of_name(text, collapse)
    return None if isinstance(found, BadAddress) else found.authority
