"""Statements on `left_out_urls`: URLs that patterns left out, up to a limit for each host.

A row has all that is needed to queue the URL when other patterns are in force. It is in the database also where the
frontier is in Redis.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    String,
    Table,
    Text,
    Uuid,
    and_,
    bindparam,
    delete,
    or_,
    select,
    text,
    update,
)

from comity.database.bulk import Encoding, insert_rows
from comity.database.dialects import named_in
from comity.database.tables import domains, metadata
from comity.database.types import instant
from comity.model.frontier import LeftOutUrl
from comity.model.host import HostStatus

MOST_PER_HOST: Final = 100_000
PATTERN_CHARACTERS: Final = 200
_BATCH: Final = 500

left_out_urls: Final = Table(
    "left_out_urls",
    metadata,
    Column("url_key", BigInteger(), primary_key=True, autoincrement=False),
    # The host whose pages or sitemaps named the URL; with several hosts as one site the URL may be on another.
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="CASCADE"), primary_key=True),
    Column("url", Text(), nullable=False),
    Column("depth", Integer(), nullable=False),
    Column("is_image", Boolean(), nullable=False),
    Column("found_by", SmallInteger(), nullable=False),
    Column("found_on", BigInteger(), nullable=False),
    Column("rule", String(10), nullable=False),
    Column("pattern", String(PATTERN_CHARACTERS), nullable=False),
    Column("is_of_policy", Boolean(), nullable=False),
    # Seconds since 1970: a third of what an instant takes in SQLite.
    Column("seen_at", BigInteger(), nullable=False, server_default=text("0")),
    Index("idx_left_out_urls_domain", "domain_id", "url_key"),
    sqlite_with_rowid=False,
)
_ROW = tuple(column.name for column in left_out_urls.columns)


def put(connection: Connection, host_id: UUID, found: Iterable[LeftOutUrl], at: float) -> None:
    """Record URLs that patterns left out; beyond the bound of the host they are only counted."""
    by_key = {each.key: each for each in found}
    known = _known(connection, host_id, by_key)
    if known:  # another pattern may have decided
        _change(connection, host_id, [by_key[key] for key in known], at)
    new = [each for key, each in by_key.items() if key not in known]
    room = max(0, MOST_PER_HOST - _recorded(connection, host_id)) if new else 0
    host = Encoding(connection).uuid(host_id)
    rows = [
        (
            each.key,
            host,
            each.url,
            each.depth,
            each.is_image,
            int(each.found_by),
            each.found_on,
            each.rule,
            each.pattern[:PATTERN_CHARACTERS],
            each.is_of_policy,
            int(at),
        )
        for each in new[:room]
    ]
    insert_rows(connection, left_out_urls, _ROW, rows, unless=("url_key", "domain_id"))
    _count(connection, host_id, len(rows), len(new) - len(rows))
    if rows:  # they were not checked against these patterns
        asked_with(connection, host_id, None)


def _change(connection: Connection, host_id: UUID, found: Iterable[LeftOutUrl], at: float) -> None:
    column = left_out_urls.c
    statement = (
        update(left_out_urls)
        .where(column.domain_id == host_id, column.url_key == bindparam("key"))
        .values(
            rule=bindparam("new_rule"),
            pattern=bindparam("new_pattern"),
            is_of_policy=bindparam("new_is_of_policy"),
            seen_at=int(at),
        )
    )
    values = [
        {
            "key": each.key,
            "new_rule": each.rule,
            "new_pattern": each.pattern[:PATTERN_CHARACTERS],
            "new_is_of_policy": each.is_of_policy,
        }
        for each in found
    ]
    connection.execute(statement, values)


def _count(connection: Connection, host_id: UUID, recorded: int, unrecorded: int) -> None:
    if recorded or unrecorded:
        column = domains.c
        connection.execute(
            update(domains)
            .where(column.id == host_id)
            .values(
                left_out_recorded=column.left_out_recorded + recorded,
                left_out_unrecorded=column.left_out_unrecorded + unrecorded,
            )
        )


def _known(connection: Connection, host_id: UUID, keys: Iterable[int]) -> set[int]:
    column, rest = left_out_urls.c, iter(keys)
    found: set[int] = set()
    while some := list(islice(rest, _BATCH)):
        statement = select(column.url_key).where(column.url_key.in_(some), column.domain_id == host_id)
        found.update(connection.execute(statement).scalars())
    return found


def _recorded(connection: Connection, host_id: UUID) -> int:
    value: int | None = connection.execute(
        select(domains.c.left_out_recorded).where(domains.c.id == host_id)
    ).scalar_one_or_none()
    return value or 0


def page(connection: Connection, host_id: UUID, after: int | None, limit: int) -> Sequence[Any]:
    """URLs that were left out on a host, by their keys, a page at a time."""
    column = left_out_urls.c
    statement = select(left_out_urls).where(column.domain_id == host_id).order_by(column.url_key).limit(limit)
    if after is not None:
        statement = statement.where(column.url_key > after)
    return connection.execute(statement).all()


def remove(connection: Connection, host_id: UUID, keys: Collection[int]) -> None:
    """Delete rows of URLs that are no longer left out."""
    column, rest = left_out_urls.c, iter(keys)
    removed = 0
    while some := list(islice(rest, _BATCH)):
        statement = delete(left_out_urls).where(column.url_key.in_(some), column.domain_id == host_id)
        removed += connection.execute(statement).rowcount
    _count(connection, host_id, -removed, 0)


def asked_with(connection: Connection, host_id: UUID, rules: str | None) -> None:
    """Record the patterns against which every row of a host was last checked; None if there are newer rows."""
    connection.execute(update(domains).where(domains.c.id == host_id).values(left_out_rules=rules))


def hosts_with(connection: Connection, host_ids: Collection[UUID]) -> Mapping[UUID, str | None]:
    """Which of some hosts have rows, with the patterns against which these were last checked."""
    column = domains.c
    statement = select(column.id, column.left_out_rules).where(
        column.id.in_(list(host_ids)), column.left_out_recorded > 0
    )
    return {row.id: row.left_out_rules for row in connection.execute(statement)}


def exhausted_hosts(
    connection: Connection, now: Any, hosts: Collection[str] | None, limit: int, after: UUID | None
) -> Sequence[Any]:
    """Hosts with rows that are done and that no worker holds, of those that are named or of all seeded ones."""
    column = domains.c
    statement = select(column.id, column.domain, column.left_out_rules).where(
        column.left_out_recorded > 0,
        column.status == HostStatus.EXHAUSTED,
        or_(column.claimed_by.is_(None), column.claim_expires_at <= instant(connection, now)),
    )
    if hosts is not None:
        statement = statement.where(named_in(connection.dialect.name, column.domain, "hosts"))
    else:
        statement = statement.where(column.is_seeded, column.paused_by_run.is_(None))
    if connection.dialect.name == "postgresql":
        statement = statement.with_for_update(skip_locked=True)
    if after is not None:
        statement = statement.where(column.id > after)
    parameters = {} if hosts is None else {"hosts": list(hosts)}
    return connection.execute(statement.order_by(column.id).limit(limit), parameters).all()


def of_url(connection: Connection, key: int, limit: int = 20) -> Sequence[Any]:
    """Where a URL was left out, by whichever host's pages, newest first."""
    statement = (
        select(left_out_urls, domains.c.domain)
        .join(domains, domains.c.id == left_out_urls.c.domain_id)
        .where(left_out_urls.c.url_key == key)
        .order_by(left_out_urls.c.seen_at.desc())
        .limit(limit)
    )
    return connection.execute(statement).all()


def move(connection: Connection, from_host: UUID, to_host: UUID) -> None:
    """Move one host's rows to another; rows that it already has are dropped."""
    column = left_out_urls.c
    known = select(column.url_key).where(column.domain_id == to_host)
    connection.execute(delete(left_out_urls).where(and_(column.domain_id == from_host, column.url_key.in_(known))))
    connection.execute(update(left_out_urls).where(column.domain_id == from_host).values(domain_id=to_host))
