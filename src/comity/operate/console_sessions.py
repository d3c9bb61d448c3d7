"""Sessions of the console, and the record of what its users, and programs with a token, did.

Sessions are stored in the state, so they survive a restart and every web process knows them. The name of a session has
256 random bits and is known only to its browser; the state stores its SHA-256.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections import OrderedDict
from dataclasses import asdict
from hashlib import sha256
from typing import Final

from comity.clock import Clock
from comity.database import console
from comity.database.connection import Database
from comity.database.types import seconds_of
from comity.model.console import ADMIN_NAME, Activity, ConsoleSession, Role
from comity.model.dataclass import dataclass

_CACHE_S: Final = 0.5  # a session that another process ended stops working within this time
_MOST_CACHED: Final = 1000
_LONGEST_TEXT: Final = 500
_LOGIN_ACTIONS: Final = ("log_in", "POST /admin/login")
_MOST_LOGINS: Final = 1000


class ConsoleSessions:
    """Starts, finds and ends sessions, and knows whether there are any users."""

    def __init__(self, database: Database, clock: Clock, lifetime_s: float, admin_password_hash: str | None) -> None:
        self._database = database
        self._clock = clock
        self._lifetime_s = lifetime_s
        self._admin_password_hash = admin_password_hash
        self._known: OrderedDict[str, tuple[ConsoleSession, float]] = OrderedDict()  # and when it was looked up
        self._has_users: tuple[bool, float] | None = None

    async def get(self, name: str) -> ConsoleSession | None:
        """The session with this name, unless it has ended."""
        found, now = _digest(name), self._clock.seconds()
        known = self._known.get(found)
        if known is not None and 0 <= now - known[1] < _CACHE_S and known[0].expires_at > self._clock.now():
            return known[0]
        session = await asyncio.to_thread(self._look_up, found)
        if session is None:
            self._known.pop(found, None)
            return None
        self._known[found] = (session, now)
        self._known.move_to_end(found)
        while len(self._known) > _MOST_CACHED:
            self._known.popitem(last=False)
        return session

    async def has_users(self) -> bool:
        """Whether the state has any user; looked up at most twice a second."""
        now = self._clock.seconds()
        if self._has_users is None or not 0 <= now - self._has_users[1] < _CACHE_S:
            self._has_users = await asyncio.to_thread(self._look_for_users), now
        return self._has_users[0]

    def start(self, user: str, password_hash: str) -> tuple[str, ConsoleSession] | None:
        """Start a session of a user whose password was checked against this hash; returns its name for the cookie.

        None if the user was removed, or the password changed, in the meantime.
        """
        name = secrets.token_urlsafe(32)
        with self._database.write() as connection:
            now = self._database.now(self._clock)
            console.start_session(connection, _digest(name), user, _digest(password_hash), now, self._lifetime_s)
            console.note_login(connection, user, now)
        session = self._look_up(_digest(name))
        if session is None:
            self.end(name)
            return None
        return name, session

    def end(self, name: str) -> None:
        """End one session."""
        self._known.pop(_digest(name), None)
        with self._database.write() as connection:
            console.end_session(connection, _digest(name))

    def end_all(self, user: str) -> int:
        """End every session of a user; returns how many there were."""
        self._known.clear()
        with self._database.write() as connection:
            return console.end_sessions(connection, user)

    def _look_up(self, found: str) -> ConsoleSession | None:
        with self._database.read() as connection:
            row = console.session(connection, found, self._database.now(self._clock))
        if row is None:
            return None
        if row.user_name == ADMIN_NAME and self._admin_password_hash is not None:
            known_hash, role = self._admin_password_hash, Role.OPERATOR
        elif row.password_hash is not None:
            known_hash, role = row.password_hash, Role(row.role)
        else:  # the user is gone
            return None
        if not hmac.compare_digest(_digest(known_hash), row.password_mark):
            return None
        return ConsoleSession(row.user_name, role, row.expires_at)

    def _look_for_users(self) -> bool:
        with self._database.read() as connection:
            return console.has_users(connection)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()


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
