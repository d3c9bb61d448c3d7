"""The console: its users, their sessions, the record of what they, and programs with a token, did; and its
demonstration.

A password is stored as its Argon2id hash. The user "admin" may be a setting instead of a row; the setting then decides.
Sessions are stored in the state, so they survive a restart and every web process knows them. The name of a session has
256 random bits and is known only to its browser; the state stores its SHA-256.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from collections import OrderedDict
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from typing import Any, Final

from comity.clock import Clock
from comity.database import console
from comity.database.connection import Database
from comity.database.types import seconds_of
from comity.model.console import ADMIN_NAME, Activity, ConsoleSession, ConsoleUser, RecordedActivity, Role
from comity.model.dataclass import dataclass
from comity.model.errors import AlreadyThere, BadInput, NotFound, Remedy, RemedyCode
from comity.model.host import HostStatus

_CACHE_S: Final = 0.5  # a session that another process ended stops working within this time
_MOST_CACHED: Final = 1000
_LONGEST_TEXT: Final = 500
_LOGIN_ACTIONS: Final = ("log_in", "POST /admin/login")
_MOST_LOGINS: Final = 1000
SHORTEST_PASSWORD: Final = 8
LONGEST_PASSWORD: Final = 1024
USER_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
_REMEDY: Final = Remedy(RemedyCode.LIST_USERS)
DEMO_SOURCE: Final = "demo"
_UNFINISHED: Final = (HostStatus.PENDING, HostStatus.ACTIVE)


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


def hash_password(password: str) -> str:
    """The Argon2id hash of a password; `BadInput` if it is too short or too long."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise BadInput("password", f"must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,} characters")
    from argon2 import PasswordHasher

    return PasswordHasher().hash(password)


def is_password(known_hash: str, password: str) -> bool:
    """Whether a password matches a hash. Slow and memory-hungry on purpose."""
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return PasswordHasher().verify(known_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def check_name(name: str) -> str:
    """A user's name in the form in which it is stored, lower case; raises `BadInput` if it is not allowed."""
    name = name.strip().lower()
    if not USER_NAME.fullmatch(name):
        raise BadInput("name", "must have 1 to 64 letters, digits, dots, dashes, underscores or @")
    return name


def add_user(database: Database, clock: Clock, name: str, password: str, role: Role) -> ConsoleUser:
    """Add a user; raises `AlreadyThere` if the name is taken."""
    name, known_hash = check_name(name), hash_password(password)
    with database.write() as connection:
        if not console.add_user(connection, name, known_hash, role, database.now(clock)):
            raise AlreadyThere(f"there is already a user {name}", remedy=_REMEDY)
        return _user(console.user(connection, name))


def list_users(database: Database) -> list[ConsoleUser]:
    """Every user, by name."""
    with database.read() as connection:
        return [_user(row) for row in console.users(connection)]


def change_password(database: Database, name: str, password: str) -> ConsoleUser:
    """Give a user another password. Every session of the user ends."""
    return _change(database, name, password_hash=hash_password(password))


def change_role(database: Database, name: str, role: Role) -> ConsoleUser:
    """Give a user another role, which takes effect at the next request."""
    return _change(database, name, role=str(role))


def remove_user(database: Database, name: str) -> None:
    """Remove a user. Every session of the user ends."""
    with database.write() as connection:
        console.end_sessions(connection, name)
        if not console.remove_user(connection, name):
            raise _unknown(name)


def has_users(database: Database) -> bool:
    """Whether there are users other than the one in the settings."""
    with database.read() as connection:
        return console.has_users(connection)


def hash_of(database: Database, name: str, admin_password_hash: str | None) -> str | None:
    """The password hash of a user, from the settings or the state; None if there is no such user."""
    if name == ADMIN_NAME and admin_password_hash is not None:
        return admin_password_hash
    if not USER_NAME.fullmatch(name):
        return None
    with database.read() as connection:
        row = console.user(connection, name)
    return None if row is None else str(row.password_hash)


@cache
def decoy_hash() -> str:
    """A hash that no password matches, so that checking an unknown name takes as long as checking a known one."""
    return hash_password(secrets.token_urlsafe(32))


def _change(database: Database, name: str, **values: Any) -> ConsoleUser:
    with database.write() as connection:
        if not console.change_user(connection, name, values):
            raise _unknown(name)
        if "password_hash" in values:
            console.end_sessions(connection, name)
        return _user(console.user(connection, name))


def _unknown(name: str) -> NotFound:
    return NotFound(f"there is no user {name[:64]}", remedy=_REMEDY)


def _user(row: Any) -> ConsoleUser:
    return ConsoleUser(row.name, Role(row.role), row.created_at, row.last_login_at)


def list_activity(
    database: Database,
    *,
    user: str | None = None,
    action: str | None = None,
    before: int | None = None,
    after: int | None = None,
    limit: int = 50,
    oldest_first: bool = False,
) -> list[RecordedActivity]:
    """Records, newest first: those older than the record `before`, or those next newer than the record `after`.

    With `oldest_first` in the other order: the next newer than `after`, or the next older than `before`.
    """
    with database.read() as connection:
        rows = console.activities(
            connection,
            user_name=user,
            action=action,
            before=before,
            after=after,
            limit=limit,
            oldest_first=oldest_first,
        )
    return [_recorded(row) for row in rows]


def newest_activity(database: Database) -> int:
    """The number of the newest record, or 0."""
    with database.read() as connection:
        return console.newest_activity(connection)


def _recorded(row: Any) -> RecordedActivity:
    return RecordedActivity(
        user=row.user_name,
        role=None if row.role is None else Role(row.role),
        by_token=row.by_token,
        address=row.address,
        action=row.action,
        path=row.path,
        subject=row.subject,
        status=row.status,
        number=row.id,
        at=row.at,
    )


def is_empty(database: Database) -> bool:
    """Whether the state has neither hosts nor sources nor crawl policies."""
    with database.read() as connection:
        return console.is_empty(connection)


def unfinished_ports(database: Database) -> list[int]:
    """The ports of all sites of an interrupted demonstration, in order; empty if there is none."""
    with database.read() as connection:
        rows = console.local_hosts(connection, DEMO_SOURCE)
    if not any(row.status in _UNFINISHED for row in rows):
        return []
    return sorted(int(row.domain.rpartition(":")[2]) for row in rows)
