"""Response schemas: the JSON of every noun, shared by the command line and the HTTP API; docs/json.md describes it.

The format of times is here because every command loads it, and the schemas need pydantic, which is slow to import.
"""

from __future__ import annotations

from datetime import UTC, datetime


def iso_time(value: datetime) -> str:
    """ISO 8601 in UTC, to the millisecond, with a Z: `2026-02-05T14:30:00.000Z`."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
