"""How every JSON document spells a time."""

from __future__ import annotations

from datetime import UTC, datetime


def spelled_time(value: datetime) -> str:
    """ISO 8601 in UTC, to the millisecond, with a Z: `2026-02-05T14:30:00.000Z`."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
