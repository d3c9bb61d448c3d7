"""The tables of the console and the statements on them: users, sessions, and the record of what was done.

They are separate from `database.tables`, so that a crawl does not load them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Index,
    Integer,
    Row,
    Select,
    String,
    Table,
    Text,
    delete,
    exists,
    false,
    func,
    insert,
    select,
    text,
    update,
)

from comity.database.dialects import insert_into
from comity.database.queue.tables import crawl_policies
from comity.database.sources.tables import sources
from comity.database.tables import domains, metadata
from comity.database.types import RowNumber, UtcDateTime, instant, written_at

MAX_SESSIONS: Final = 1000
MAX_ACTIVITIES: Final = 1_000_000
_TRIM_EVERY: Final = 1000

console_users: Final = Table(
    "console_users",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("password_hash", Text(), nullable=False),
    Column("role", String(10), nullable=False, server_default=text("'viewer'")),
    written_at("created_at"),
    Column("last_login_at", UtcDateTime()),
    CheckConstraint("role IN ('viewer', 'operator')", name="role"),
)

# The name of a session is known to its browser alone; here is its SHA-256.
console_sessions: Final = Table(
    "console_sessions",
    metadata,
    Column("name_hash", String(64), primary_key=True),
    Column("user_name", String(64), nullable=False),  # no foreign key: the user "admin" may be a setting
    # Of the password hash with which the session began: another password ends the session.
    Column("password_mark", String(64), nullable=False),
    written_at("started_at"),
    Column("expires_at", UtcDateTime(), nullable=False),
    Index("idx_console_sessions_user_name", "user_name"),
    Index("idx_console_sessions_expires_at", "expires_at"),
)

console_activity: Final = Table(
    "console_activity",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    written_at("at"),
    Column("user_name", String(64)),
    Column("role", String(10)),
    Column("by_token", Boolean(), nullable=False, server_default=false()),
    Column("address", String(45), nullable=False, server_default=text("''")),
    Column("action", String(200), nullable=False),
    Column("path", Text(), nullable=False, server_default=text("''")),
    Column("subject", Text(), nullable=False, server_default=text("''")),
    Column("status", Integer(), nullable=False, server_default=text("0")),
    Index("idx_console_activity_user_name", "user_name", "id"),
    Index("idx_console_activity_action", "action", "id"),
)


def add_user(connection: Connection, name: str, password_hash: str, role: str, now: datetime | None) -> bool:
    """Add a user; False if the name is taken."""
    statement = (
        insert_into(connection, console_users)
        .values(name=name, password_hash=password_hash, role=role, created_at=instant(connection, now))
        .on_conflict_do_nothing(index_elements=[console_users.c.name])
        .returning(console_users.c.name)
    )
    return connection.execute(statement).first() is not None


def user(connection: Connection, name: str) -> Row[Any] | None:
    """One user."""
    return connection.execute(select(console_users).where(console_users.c.name == name)).first()


def users(connection: Connection) -> list[Row[Any]]:
    """Every user, by name."""
    return list(connection.execute(select(console_users).order_by(console_users.c.name)))


def has_users(connection: Connection) -> bool:
    """Whether there is any user."""
    return bool(connection.execute(select(exists(select(console_users.c.name)))).scalar())


def change_user(connection: Connection, name: str, values: Mapping[str, Any]) -> bool:
    """Change some columns of a user; False if there is no such user."""
    statement = update(console_users).where(console_users.c.name == name).values(**values)
    return connection.execute(statement).rowcount > 0


def note_login(connection: Connection, name: str, now: datetime | None) -> None:
    """Note when a user logged in last."""
    change_user(connection, name, {"last_login_at": instant(connection, now)})


def remove_user(connection: Connection, name: str) -> bool:
    """Remove a user; False if there is no such user."""
    return connection.execute(delete(console_users).where(console_users.c.name == name)).rowcount > 0


def start_session(
    connection: Connection, name_hash: str, user_name: str, password_mark: str, now: datetime | None, lifetime_s: float
) -> None:
    """Store a session, and drop those that have ended and those beyond the limit."""
    drop_ended(connection, now)
    newest = select(console_sessions.c.name_hash).order_by(console_sessions.c.started_at.desc()).limit(MAX_SESSIONS - 1)
    connection.execute(delete(console_sessions).where(console_sessions.c.name_hash.not_in(newest)))
    statement = insert(console_sessions).values(
        name_hash=name_hash,
        user_name=user_name,
        password_mark=password_mark,
        started_at=instant(connection, now),
        expires_at=instant(connection, now, lifetime_s),
    )
    connection.execute(statement)


def session(connection: Connection, name_hash: str, now: datetime | None) -> Any:
    """A session that has not ended, with the row of its user; that is empty for a user who is a setting."""
    of_user = console_sessions.c.user_name == console_users.c.name
    statement = (
        select(
            console_sessions.c.user_name,
            console_sessions.c.password_mark,
            console_sessions.c.expires_at,
            console_users.c.password_hash,
            console_users.c.role,
        )
        .select_from(console_sessions.outerjoin(console_users, of_user))
        .where(console_sessions.c.name_hash == name_hash, console_sessions.c.expires_at > instant(connection, now))
    )
    return connection.execute(statement).first()


def end_session(connection: Connection, name_hash: str) -> None:
    """End one session."""
    connection.execute(delete(console_sessions).where(console_sessions.c.name_hash == name_hash))


def end_sessions(connection: Connection, user_name: str) -> int:
    """End every session of a user; returns how many there were."""
    return connection.execute(delete(console_sessions).where(console_sessions.c.user_name == user_name)).rowcount


def drop_ended(connection: Connection, now: datetime | None) -> None:
    """Drop sessions that have ended."""
    connection.execute(delete(console_sessions).where(console_sessions.c.expires_at <= instant(connection, now)))


def record(connection: Connection, values: Mapping[str, Any], now: datetime | None) -> None:
    """Record what was done, and drop the oldest records beyond the limit."""
    statement = insert(console_activity).values(at=instant(connection, now), **values).returning(console_activity.c.id)
    number: int = connection.execute(statement).scalar_one()
    if number % _TRIM_EVERY == 0:
        connection.execute(delete(console_activity).where(console_activity.c.id <= number - MAX_ACTIVITIES))


def activities(
    connection: Connection,
    *,
    user_name: str | None = None,
    action: str | None = None,
    before: int | None = None,
    after: int | None = None,
    limit: int = 50,
    oldest_first: bool = False,
) -> list[Row[Any]]:
    """Records, newest first: those older than the record `before`, or those next newer than the record `after`.

    With `oldest_first` in the other order: the next newer than `after`, or the next older than `before`.
    """
    statement: Select[Any] = select(console_activity)
    if user_name is not None:
        statement = statement.where(console_activity.c.user_name == user_name)
    if action is not None:
        statement = statement.where(console_activity.c.action == action)
    if before is not None:
        statement = statement.where(console_activity.c.id < before)
    if after is not None:
        statement = statement.where(console_activity.c.id > after)
    goes_up = after is not None or (oldest_first and before is None)
    end = console_activity.c.id if goes_up else console_activity.c.id.desc()
    found = list(connection.execute(statement.order_by(end).limit(limit)))
    return found if goes_up == oldest_first else found[::-1]


def recorded_since(
    connection: Connection, actions: Sequence[str], now: datetime | None, window_s: float, limit: int
) -> list[Row[Any]]:
    """The newest records of some actions within a time, the newest first: address, status and time of each."""
    at, record_id = console_activity.c.at, console_activity.c.id
    found: list[Row[Any]] = []
    for action in actions:
        statement = (
            select(record_id, console_activity.c.address, console_activity.c.status, at)
            .where(console_activity.c.action == action, at > instant(connection, now, -window_s))
            .order_by(record_id.desc())
            .limit(limit)
        )
        found.extend(connection.execute(statement))
    return sorted(found, key=lambda row: row.id, reverse=True)[:limit]


def newest_activity(connection: Connection) -> int:
    """The number of the newest record, or 0."""
    return int(connection.execute(select(func.max(console_activity.c.id))).scalar() or 0)


def is_empty(connection: Connection) -> bool:
    """Whether the state has neither hosts nor sources nor crawl policies."""
    tables = (domains.c.id, sources.c.id, crawl_policies.c.id)
    return not any(connection.execute(select(exists(select(column)))).scalar() for column in tables)


def local_hosts(connection: Connection, source: str) -> list[Row[Any]]:
    """Hosts on ports of this machine that one source added, with their status."""
    statement = select(domains.c.domain, domains.c.status).where(
        domains.c.domain >= "127.0.0.1:",  # a range of the index: the next character after the colon ends it
        domains.c.domain < "127.0.0.1;",
        domains.c.source == source,
    )
    return list(connection.execute(statement))
