"""The record of what users of the console and programs with a token did."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from comity.clock import Clock
from comity.database import console
from comity.database.connection import Database
from comity.model.console import Activity

_LONGEST_TEXT: Final = 500


def record_activity(database: Database, clock: Clock, activity: Activity) -> None:
    """Store one record; long texts are cut."""
    values = asdict(activity)
    values["user_name"] = values.pop("user")
    values["role"] = None if activity.role is None else str(activity.role)
    values["action"] = activity.action[:200]
    values["address"] = activity.address[:45]
    for name in ("path", "subject"):
        values[name] = _storable(values[name])
    with database.write() as connection:
        console.record(connection, values, database.now(clock))


def _storable(text: str) -> str:
    """Text that both databases take: PostgreSQL stores neither NUL nor lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:_LONGEST_TEXT]
