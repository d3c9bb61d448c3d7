"""Cursors and days of a search: a position as text that the client passes back, and "7d" as an instant.

A cursor contains only the values by which hits are sorted. It grants nothing, so it is not signed; an altered one is
refused or starts the next page elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, Final
from uuid import UUID

from comity.model.errors import BadInput
from comity.model.search import SearchPosition, SearchSort

LONGEST_SEARCH_CURSOR: Final = 400
_AGO: Final = re.compile(r"(\d{1,5}) ?([hdw])", re.IGNORECASE)
_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def write_cursor(position: SearchPosition) -> str:
    """A position as text of letters, digits, - and _."""
    values = [
        str(position.sort),
        position.newest_at.astimezone(UTC).isoformat(),
        position.posting_id.hex,
        position.deadline.astimezone(UTC).isoformat() if position.deadline is not None else None,
        position.rank,
    ]
    while values[-1] is None:
        values.pop()
    return base64.urlsafe_b64encode(json.dumps(values, separators=(",", ":")).encode()).decode().rstrip("=")


def read_cursor(text: str, sort: SearchSort) -> SearchPosition:
    """The position of a cursor; raises `BadInput` if it is invalid or belongs to another order."""
    position = _position(text)
    if position is None:
        raise BadInput("cursor", "must be the `next` of an earlier result")
    if position.sort is not sort:
        raise BadInput("cursor", f"belongs to a result sorted by {position.sort}, not by {sort}")
    return position


def _position(text: str) -> SearchPosition | None:
    if len(text) > LONGEST_SEARCH_CURSOR or not text.isascii():
        return None
    try:
        values: Any = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        sort, newest_at, posting_id, deadline, rank = [*values, None, None][:5]
        found = SearchPosition(
            SearchSort(sort),
            _aware(newest_at),
            UUID(hex=posting_id),
            _aware(deadline) if deadline is not None else None,
            float(rank) if rank is not None else None,
        )
    except (binascii.Error, ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        return None
    has_rank = found.rank is not None and isfinite(found.rank)
    return found if has_rank == (found.sort is SearchSort.RELEVANCE) else None


def _aware(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError("a time without a zone")
    return found.astimezone(UTC)


def read_since(name: str, text: str, now: datetime) -> datetime:
    """The start of a day in UTC (2026-03-31), or the time that long ago: 24h, 7d, 2w."""
    said = text.strip()
    ago = _AGO.fullmatch(said)
    try:
        if ago is not None:
            return now - int(ago[1]) * _UNITS[ago[2].lower()]
        if _DAY.fullmatch(said):
            return datetime.strptime(said, "%Y-%m-%d").replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        pass
    raise BadInput(name, f"must be a date such as 2026-03-31, or an age such as 24h, 7d or 2w, not {text[:40]!r}")
