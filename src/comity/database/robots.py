"""Statements on `robots_cache`: the robots.txt of each origin, as last read."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select, update

from comity.database.bulk import in_list, rows_of
from comity.database.dialects import insert_into, named_in
from comity.database.tables import domains, robots_cache
from comity.database.types import instant
from comity.model.host import BlockReason, HostStatus
from comity.model.robots import RobotsAccess


def get(connection: Connection, origin: str) -> Any:
    """What is known of an origin's robots.txt, or None."""
    return connection.execute(select(robots_cache).where(robots_cache.c.origin == origin)).first()


class CachedHead(NamedTuple):
    """A row of the cache without the file."""

    origin: str
    host: str
    version: str | None
    access: str
    http_status: int | None
    detail: str | None
    failure: str | None
    lacks_tls: bool
    noted: str | None
    expires_at: datetime | None


HeadRow = Sequence[Any]
"""A `CachedHead` as the driver gives it. Two that are equal say the same: one that is known is not read again."""


def heads(connection: Connection, origins: Collection[str]) -> dict[str, HeadRow]:
    """What is known of some origins, without the files; in one statement, which every grant runs."""
    native = connection.dialect.name == "postgresql"
    wanted: Any = list(origins) if native else json.dumps(list(origins))
    return {row[0]: row for row in rows_of(connection, _heads_text(native), (wanted,))}


def head_of(row: HeadRow) -> CachedHead:
    """Read one of `heads`."""
    expires_at = _instant(row[9]) if isinstance(row[9], str) else row[9]
    return CachedHead._make((*row[:7], bool(row[7]), row[8], expires_at))


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@lru_cache(maxsize=2)
def _heads_text(native: bool) -> str:
    names = ", ".join(CachedHead._fields)
    listed = in_list("text") if native else "IN (SELECT value FROM json_each(?))"
    return f"SELECT {names} FROM robots_cache WHERE origin {listed}"  # noqa: S608  # our own words


def of_hosts(connection: Connection, hosts: Collection[str]) -> Sequence[Any]:
    """Every origin known of some hosts."""
    statement = select(robots_cache).where(robots_cache.c.host.in_(list(hosts)))
    return connection.execute(statement.order_by(robots_cache.c.origin)).all()


def known_origins(connection: Connection, origins: Collection[str]) -> set[str]:
    """Those of some origins whose robots.txt was requested before, whatever the outcome."""
    found: set[str] = set()
    rest = iter(origins)
    while some := list(islice(rest, 500)):
        found.update(connection.execute(select(robots_cache.c.origin).where(robots_cache.c.origin.in_(some))).scalars())
    return found


def forget_failures(connection: Connection, host: str) -> None:
    """Forget that files of a host could not be read, so that they are requested at the next visit."""
    connection.execute(
        delete(robots_cache).where(robots_cache.c.host == host, robots_cache.c.access == str(RobotsAccess.DISALLOW_ALL))
    )


def forget(connection: Connection, host: str) -> None:
    """Forget the files of a host, so that they are requested at the next visit."""
    connection.execute(delete(robots_cache).where(robots_cache.c.host == host))


def put(connection: Connection, values: dict[str, Any]) -> None:
    """Store what was read, replacing what was known before."""
    changed = {name: value for name, value in values.items() if name != "origin"}
    connection.execute(
        insert_into(connection, robots_cache)
        .values(**values)
        .on_conflict_do_update(index_elements=["origin"], set_=changed)
    )


def note(connection: Connection, origin: str, version: str | None, noted: str) -> None:
    """Record that the ledger has a note of what this row puts in force."""
    connection.execute(update(robots_cache).where(robots_cache.c.origin == origin).values(version=version, noted=noted))


def expired_of_closed_hosts(
    connection: Connection, now: datetime | None, among: Collection[str] | None, limit: int
) -> Sequence[Any]:
    """Files that are due to be read again, of hosts that are blocked because of theirs."""
    statement = (
        select(robots_cache.c.origin, robots_cache.c.host, robots_cache.c.version, robots_cache.c.access)
        .join(domains, domains.c.domain == robots_cache.c.host)
        .where(
            domains.c.status == HostStatus.BLOCKED,
            domains.c.block_reason_code.in_([str(BlockReason.ROBOTS_DENIED), str(BlockReason.ROBOTS_UNREACHABLE)]),
            domains.c.claimed_by.is_(None),
            robots_cache.c.expires_at <= instant(connection, now),
        )
        .order_by(robots_cache.c.expires_at)
        .limit(limit)
    )
    if among is None:
        return connection.execute(statement).all()
    named = named_in(connection.dialect.name, robots_cache.c.host, "hosts")
    return connection.execute(statement.where(named), {"hosts": list(among)}).all()
