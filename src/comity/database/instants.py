"""The clock that a statement uses.

On a shared server the database's own clock rules, so that machines whose clocks differ agree on who holds
a lease. An embedded state has one machine and takes the time from the caller, as tests do everywhere.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, literal

from comity.database.types import UtcDateTime


def instant(connection: Connection, now: datetime | None, plus_s: float = 0.0) -> ColumnElement[Any]:
    """The time of a statement, `plus_s` seconds later; `now=None` asks the server."""
    if now is not None:
        return literal(now + timedelta(seconds=plus_s), UtcDateTime())
    if connection.dialect.name != "postgresql":
        raise ValueError("an embedded state has no clock: pass the time")
    return func.now() + timedelta(seconds=plus_s) if plus_s else func.now()


def from_seconds(seconds: float | None) -> datetime | None:
    """UNIX seconds as the columns keep them."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def to_seconds(value: datetime | None) -> float | None:
    """A stored instant as UNIX seconds."""
    return None if value is None else value.timestamp()
