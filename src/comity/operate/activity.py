"""Record what users of the console, and programs with a token, did."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from comity.clock import Clock
from comity.database import console
from comity.database.connection import Database
from comity.database.types import seconds_of
from comity.model.console import Activity
from comity.model.dataclass import dataclass

_LONGEST_TEXT: Final = 500
_LOGIN_ACTIONS: Final = ("log_in", "POST /admin/login")
_MOST_LOGINS: Final = 1000


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """One check of a password, by any web process that shares the state."""

    address: str
    is_correct: bool
    age_s: float


def login_attempts(database: Database, clock: Clock, window_s: float) -> list[LoginAttempt]:
    """The recorded attempts of the last seconds, newest first; if there are very many, only the newest."""
    with database.read() as connection:
        now = database.now(clock)
        rows = console.recorded_since(connection, _LOGIN_ACTIONS, now, window_s, _MOST_LOGINS)
        seconds = seconds_of(connection, now)
    return [LoginAttempt(row.address, 200 <= row.status < 400, seconds - row.at.timestamp()) for row in rows]


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
    """Text that both databases accept: PostgreSQL stores neither NUL nor lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:_LONGEST_TEXT]
