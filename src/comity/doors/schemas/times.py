"""The format of every time in a JSON document. Imports nothing heavy: every command of the command line loads it."""

from __future__ import annotations

from datetime import UTC, datetime


def iso_time(value: datetime) -> str:
    """ISO 8601 in UTC, to the millisecond, with a Z: `2026-02-05T14:30:00.000Z`."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
