"""Statements on `unqueued_urls`: URLs that were seen and not queued, at most so many for a host."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    SmallInteger,
    String,
    Table,
    Uuid,
    bindparam,
    delete,
    select,
    text,
    update,
)

from comity.database.bulk import Encoding, driver_text, insert_rows, rows_of, run_for_each
from comity.database.tables import domains, metadata
from comity.model.frontier import Unqueued

URL_CHARACTERS: Final = 60
"""How much of an address is kept, for people who list them; the key stands for the whole."""
MOST_PER_HOST: Final = 10_000
# SQLite keeps a copy in memory of each page that a savepoint changes, and URLs have random keys: a page for each.
_MOST_AT_ONCE: Final = 1000

# One row for a URL and the host whose pages named it. It is looked up by its key alone, because the URL may be on a
# host that is not known. At most 200 bytes a row on disk: so it has one index, a short address and a plain time.
unqueued_urls: Final = Table(
    "unqueued_urls",
    metadata,
    Column("url_key", BigInteger(), primary_key=True, autoincrement=False),
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="CASCADE"), primary_key=True),
    Column("url", String(URL_CHARACTERS), nullable=False),
    Column("code", String(20), nullable=False),
    Column("found_by", SmallInteger(), nullable=False, server_default=text("0")),
    Column("found_on", BigInteger(), nullable=False, server_default=text("0")),
    # Seconds since 1970: a third of what an instant takes in SQLite.
    Column("seen_at", BigInteger(), nullable=False),
    sqlite_with_rowid=False,
)


_ROW = ("url_key", "domain_id", "url", "code", "found_by", "found_on", "seen_at")
_BATCH: Final = 500


class HostUnqueued(NamedTuple):
    """What one host's pages name and is not queued."""

    host_id: UUID
    seen: Sequence[Unqueued]
    unrecorded: int = 0
    """How many more there were, which come without a URL."""


def put(connection: Connection, hosts: Sequence[HostUnqueued], at: float) -> None:
    """Record URLs that pages name; what is known of one is replaced where another rule decided.

    Beyond the bound of a host they are only counted.
    """
    if not hosts:
        return
    encode, seen_at = Encoding(connection), int(at)
    recorded = _recorded(connection, hosts)
    are_few = sum(len(each.seen) for each in hosts) <= _MOST_AT_ONCE
    counts = _put_all(connection, hosts, encode, seen_at) if are_few and not recorded else None
    if counts is None:
        counts = [_put_host(connection, each, recorded.get(each.host_id, 0), encode, seen_at) for each in hosts]
    changed_at = encode.time(at)
    values = [(added, more, changed_at, host) for added, more, host in counts if added or more]
    if values:
        run_for_each(connection, _count_text(connection.dialect.name), values)


_Counts = tuple[int, int, Any]
"""How many URLs of a host were recorded, how many more there were, and the host as the driver takes it."""


def _put_all(
    connection: Connection, hosts: Sequence[HostUnqueued], encode: Encoding, seen_at: int
) -> list[_Counts] | None:
    """Insert the URLs of all hosts at once, as each has a few; None, with nothing written, if some are known."""
    counts: list[_Counts] = []
    rows: list[tuple[Any, ...]] = []
    for host_id, seen, unrecorded in hosts:
        host, by_key = encode.uuid(host_id), {each.key: each for each in seen}
        rows += [
            (key, host, url[:URL_CHARACTERS], str(code), int(found_by), found_on, seen_at)
            for url, key, code, found_by, found_on in by_key.values()
        ]
        counts.append((len(by_key), unrecorded, host))
    with connection.begin_nested() as attempt:
        if insert_rows(connection, unqueued_urls, _ROW, rows, unless=("url_key", "domain_id")) == len(rows):
            return counts
        attempt.rollback()
    return None


def _put_host(connection: Connection, unqueued: HostUnqueued, recorded: int, encode: Encoding, seen_at: int) -> _Counts:
    """Insert or change the URLs of one host, as far as there is room."""
    host_id, seen, unrecorded = unqueued
    host = encode.uuid(host_id)
    by_key = {each.key: each for each in seen}
    room = MOST_PER_HOST - recorded
    known: dict[int, str] = {}
    if room < len(by_key):  # those that have a row need no room
        known = _codes(connection, host_id, by_key)
    new = [each for key, each in by_key.items() if key not in known]
    rows = [_row(each, host, seen_at) for each in new[: max(0, room)]]
    # Most are new: to insert them and see what came is cheaper than to look for each of them first.
    added = insert_rows(connection, unqueued_urls, _ROW, rows, unless=("url_key", "domain_id"))
    if added < len(rows):
        known = _codes(connection, host_id, by_key)
    changed = [
        (str(by_key[key].code), int(by_key[key].found_by), by_key[key].found_on, seen_at, key, host)
        for key, code in known.items()
        if code != by_key[key].code
    ]
    if changed:
        run_for_each(connection, _change_text(connection.dialect.name), changed)
    return added, len(new) - len(rows) + unrecorded, host


def _row(each: Unqueued, host: Any, seen_at: int) -> tuple[Any, ...]:
    return each.key, host, each.url[:URL_CHARACTERS], str(each.code), int(each.found_by), each.found_on, seen_at


@lru_cache(maxsize=2)
def _count_text(dialect: str) -> str:
    column = domains.c
    statement = (
        update(domains)
        .where(column.id == bindparam("host"))
        .ordered_values(
            (column.unqueued_recorded, column.unqueued_recorded + bindparam("added")),
            (column.unqueued_unrecorded, column.unqueued_unrecorded + bindparam("more")),
            (column.updated_at, bindparam("changed")),  # or SQLite's trigger changes the row once more
        )
    )
    return driver_text(dialect, statement, ("added", "more", "changed", "host"))


@lru_cache(maxsize=2)
def _change_text(dialect: str) -> str:
    table = unqueued_urls
    statement = (
        update(table)
        .where(table.c.url_key == bindparam("key"), table.c.domain_id == bindparam("host"))
        .ordered_values(
            (table.c.code, bindparam("new_code")),
            (table.c.found_by, bindparam("new_found_by")),
            (table.c.found_on, bindparam("new_found_on")),
            (table.c.seen_at, bindparam("new_seen_at")),
        )
    )
    return driver_text(dialect, statement, ("new_code", "new_found_by", "new_found_on", "new_seen_at", "key", "host"))


def _codes(connection: Connection, host_id: UUID, keys: Iterable[int]) -> dict[int, str]:
    """Those of some URLs that have a row of this host, with their codes."""
    table, rest = unqueued_urls.c, iter(keys)
    found: dict[int, str] = {}
    while some := list(islice(rest, _BATCH)):
        statement = select(table.url_key, table.code).where(table.url_key.in_(some), table.domain_id == host_id)
        found |= {row.url_key: row.code for row in connection.execute(statement)}
    return found


def _recorded(connection: Connection, hosts: Sequence[HostUnqueued]) -> dict[UUID, int]:
    """How many rows the hosts have that may have no room for all of these; nearly always there is none."""
    free = MOST_PER_HOST - max(len(each.seen) for each in hosts)
    native = connection.dialect.name == "postgresql"
    keys = {Encoding(connection).uuid(each.host_id): each.host_id for each in hosts}
    wanted: Any = list(keys) if native else json.dumps(list(keys))
    return {keys[row[0]]: row[1] for row in rows_of(connection, _recorded_text(native), (wanted, free))}


@lru_cache(maxsize=2)
def _recorded_text(native: bool) -> str:
    """Spelled by hand, as `ledger._heads_text` is: it runs at every batch."""
    hosts, most = ("= ANY(%s)", "%s") if native else ("IN (SELECT value FROM json_each(?))", "?")
    columns = "id, unqueued_recorded"
    return f"SELECT {columns} FROM domains WHERE id {hosts} AND unqueued_recorded > {most}"  # noqa: S608  # our own words


def of_url(connection: Connection, key: int, limit: int = 20) -> Sequence[Any]:
    """Where a URL was seen without being queued, by whichever host's pages, newest first."""
    statement = (
        select(unqueued_urls, domains.c.domain)
        .join(domains, domains.c.id == unqueued_urls.c.domain_id)
        .where(unqueued_urls.c.url_key == key)
        .order_by(unqueued_urls.c.seen_at.desc())
        .limit(limit)
    )
    return connection.execute(statement).all()


def move(connection: Connection, from_host: UUID, to_host: UUID) -> None:
    """Move one host's rows to another; rows that it already has are dropped.

    It reads the whole table: hosts are rarely merged.
    """
    table = unqueued_urls
    known = select(table.c.url_key).where(table.c.domain_id == to_host)
    connection.execute(delete(table).where(table.c.domain_id == from_host, table.c.url_key.in_(known)))
    connection.execute(update(table).where(table.c.domain_id == from_host).values(domain_id=to_host))
