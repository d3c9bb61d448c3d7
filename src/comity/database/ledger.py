"""The politeness ledger: statements that append to it and read it, and the tables that it is checked against.

Requests and notes each form a hash chain per host. The tables here are chain heads, notes, robots.txt files and the
history of policies; `politeness_ledger` itself is in `tables`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    Row,
    String,
    Table,
    Text,
    Uuid,
    bindparam,
    exists,
    false,
    func,
    or_,
    select,
    text,
    update,
)

from comity.database.bulk import Encoding, driver_text, insert_rows, rows_of, run_for_each
from comity.database.tables import domains, fetches, metadata, politeness_ledger
from comity.database.types import RowNumber, UtcDateTime, count, written_at
from comity.model.ledger import LedgerNote, LedgerRow, NoteKind
from comity.rules.ledger_chain import START, chained, chained_request, microseconds

# One row for each host that was ever asked: how long its two chains are, and the digests they end with.
ledger_chains: Final = Table(
    "ledger_chains",
    metadata,
    Column("domain_id", Uuid(), primary_key=True),
    Column("host", String(260), nullable=False),
    count("requests"),
    Column("request_digest", String(32), nullable=False, server_default=text("''")),
    count("notes"),
    Column("note_digest", String(32), nullable=False, server_default=text("''")),
    Column("gap_until", UtcDateTime()),  # the end of the last gap that was noted
    Column("former_host", String(260)),
    Column("merged_into", Uuid()),
    Index("idx_ledger_chains_host", "host"),
)

# Facts about a host that are no requests, in a chain of their own: the robots.txt put in force, and gaps that a
# process left when it ended without a release.
ledger_notes: Final = Table(
    "ledger_notes",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("domain_id", Uuid(), nullable=False),
    count("sequence"),
    Column("digest", String(32), nullable=False, server_default=text("''")),
    Column("lease_token", BigInteger(), nullable=False),
    Column("kind", String(10), nullable=False),
    Column("origin", Text()),
    Column("version", String(32)),
    Column("valid_from", UtcDateTime(), nullable=False),
    Column("valid_until", UtcDateTime(), nullable=False),
    Column("detail", Text(), nullable=False, server_default=text("'{}'")),
    Index("idx_ledger_notes_chain", "domain_id", "sequence"),
)

# Each robots.txt that was ever in force, once, by the digest of what is stored of it.
robots_versions: Final = Table(
    "robots_versions",
    metadata,
    Column("version", String(32), primary_key=True),
    Column("body", LargeBinary(), nullable=False),
    written_at("first_seen_at"),
)

# What each policy said and since when; triggers write it, so that edits by hand are in it, too.
policy_history: Final = Table(
    "policy_history",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("host", String(260), nullable=False),
    Column("valid_from", UtcDateTime(), nullable=False),
    Column("is_deleted", Boolean(), nullable=False, server_default=false()),
    Column("max_concurrency", Integer(), nullable=False),
    Column("min_request_interval_ms", Integer(), nullable=False),
    Index("idx_policy_history_host", "host", "id"),
)
REQUEST_COLUMNS: Final = (
    "lease_token",
    "request_number",
    "url",
    "purpose",
    "started_at",
    "ended_at",
    "delay_s",
    "delay_source",
    "max_concurrency",
    "policy_interval_ms",
    "policy_max_concurrency",
    "robots_version",
    "rule_line",
    "rule",
    "status",
    "retry_after_s",
    "blocked_until",
    "has_fetch",
)
"""What the digest of a request covers after its sequence and host, in order (docs/ledger.md)."""
_REQUEST: Final = ("run_id", "domain_id", "sequence", "digest", *REQUEST_COLUMNS)
# The fields of a row between its delay and its block are stored as they are, in the order of the columns.
_AFTER_DELAY: Final = LedgerRow._fields.index("max_concurrency")
_BEFORE_BLOCK: Final = LedgerRow._fields.index("blocked_until")
_NOTE: Final = (
    "domain_id",
    "sequence",
    "digest",
    "lease_token",
    "kind",
    "origin",
    "version",
    "valid_from",
    "valid_until",
    "detail",
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class _Head:
    """The ends of a host's two chains while a batch is appended."""

    __slots__ = ("hex", "key", "note_digest", "notes", "request_digest", "requests")

    def __init__(self, key: Any, requests: int, request_digest: str, notes: int, note_digest: str) -> None:
        self.key = key  # the host's id as the driver takes it
        self.hex: str = key if isinstance(key, str) else key.hex
        self.requests = requests
        self.request_digest = request_digest or START
        self.notes = notes
        self.note_digest = note_digest or START


def append_requests(
    connection: Connection,
    run_id: UUID | None,
    rows: Iterable[LedgerRow],
    fetched: Mapping[UUID, Collection[float]] = MappingProxyType({}),
) -> None:
    """Append requests; `fetched` names those that `fetches` has a row for: their starts, by host.

    A batch costs one look at the chain heads, one insert and one write of the heads, however many hosts are in it. The
    heads are locked until the transaction ends, so that two processes append one after the other.
    """
    by_host: dict[UUID, list[LedgerRow]] = {}
    host_id, of_host = None, []
    for row in rows:
        if row.host_id is not host_id:  # mostly they come host by host
            host_id = row.host_id
            of_host = by_host.setdefault(host_id, [])
        of_host.append(row)
    if not by_host:
        return
    encode = Encoding(connection)
    run = encode.uuid_or_none(run_id)
    heads = _heads(connection, {host_id: of_host[0].host for host_id, of_host in by_host.items()})
    values: list[tuple[Any, ...]] = []
    for host_id, of_host in by_host.items():
        values += _request_values(heads[host_id], run, of_host, fetched.get(host_id, ()), encode)
    insert_rows(connection, politeness_ledger, _REQUEST, values)
    _keep_heads(connection, heads)


def _request_values(
    head: _Head, run: Any, rows: Iterable[LedgerRow], fetched: Collection[float], encode: Encoding
) -> Iterator[tuple[Any, ...]]:
    """A host's requests as `_REQUEST` names their columns, each behind the one before it."""
    key, host_hex, sequence, digest = head.key, head.hex, head.requests, head.request_digest
    moment, flag = encode.moment, encode.flag
    for row in rows:
        sequence += 1
        has_fetch = row.started_at in fetched
        started_at, started_us = moment(row.started_at)
        ended_at, ended_us = moment(row.ended_at)
        blocked_until, blocked_us = (None, None) if row.blocked_until is None else moment(row.blocked_until)
        times = (started_us, ended_us, blocked_us)
        digest = chained_request(digest, sequence, host_hex, row, times, has_fetch=has_fetch)
        delay = row.delay
        yield (
            run,
            key,
            sequence,
            digest,
            row.lease_token,
            row.request_number,
            row.url,
            str(row.purpose),
            started_at,
            ended_at,
            delay.seconds + 0.0,
            str(delay.source),
            *row[_AFTER_DELAY:_BEFORE_BLOCK],
            blocked_until,
            flag(has_fetch),
        )
    head.requests, head.request_digest = sequence, digest


def append_notes(connection: Connection, notes: Iterable[LedgerNote]) -> None:
    """Append facts that are not requests."""
    notes = list(notes)
    if not notes:
        return
    encode = Encoding(connection)
    heads = _heads(connection, {note.host_id: note.host for note in notes})
    values = []
    for note in notes:
        head = heads[note.host_id]
        head.notes += 1
        head.note_digest = digest = chained(
            head.note_digest,
            (
                head.notes,
                head.hex,
                note.lease_token,
                note.kind,
                note.origin,
                note.version,
                microseconds(note.valid_from),
                microseconds(note.valid_until),
                note.detail,
            ),
        )
        values.append(
            (
                head.key,
                head.notes,
                digest,
                note.lease_token,
                str(note.kind),
                note.origin,
                note.version,
                encode.time(note.valid_from),
                encode.time(note.valid_until),
                note.detail,
            )
        )
    insert_rows(connection, ledger_notes, _NOTE, values)
    _keep_heads(connection, heads)


def note_gaps(connection: Connection, rows: Iterable[Any]) -> None:
    """Note for hosts just leased that the lease before ended without a release; each such end is noted once."""
    ended = {row.id: row for row in rows if row.unclean_end_at is not None}
    if not ended:
        return
    chain = ledger_chains.c
    found = connection.execute(select(chain.domain_id, chain.gap_until).where(chain.domain_id.in_(list(ended))))
    noted = {row.domain_id: row.gap_until for row in found}
    new = {
        host_id: row
        for host_id, row in ended.items()
        if noted.get(host_id) is None or noted[host_id] < row.unclean_end_at
    }
    append_notes(connection, (_gap(row) for row in new.values()))
    for host_id, row in new.items():
        connection.execute(update(ledger_chains).where(chain.domain_id == host_id).values(gap_until=row.unclean_end_at))


def _gap(row: Any) -> LedgerNote:
    """From the last start that is known, or the lease's beginning, to the moment it was seen to be over."""
    until = row.unclean_end_at.timestamp()
    known = [each.timestamp() for each in (row.unclean_since, row.last_start_at) if each is not None]
    since = min(max(known), until) if known else until
    return LedgerNote(row.id, row.domain, row.lease_token, NoteKind.GAP, None, None, since, until, "{}")


def keep_versions(connection: Connection, files: Mapping[str, bytes]) -> None:
    """Store the files of robots.txt that came into force, each once."""
    rows = [(version, files[version]) for version in sorted(files)]
    insert_rows(connection, robots_versions, ("version", "body"), rows, unless=("version",))


def rename_chain(connection: Connection, host_id: UUID, name: str) -> None:
    """A host got another name; its chain goes on."""
    chain = ledger_chains.c
    renamed = update(ledger_chains).where(chain.domain_id == host_id, chain.host != name)
    connection.execute(renamed.values(host=name, former_host=chain.host))


def fold_chain(connection: Connection, gone: UUID, kept: UUID) -> None:
    """A host was folded into another: its chain ends, stays as it is, and names the chain that goes on."""
    chain = ledger_chains.c
    connection.execute(update(ledger_chains).where(chain.merged_into == gone).values(merged_into=kept))
    connection.execute(update(ledger_chains).where(chain.domain_id == gone).values(merged_into=kept))


def _heads(connection: Connection, hosts: dict[UUID, str]) -> dict[UUID, _Head]:
    """The ends of some hosts' chains, locked; a host that is new to the ledger gets its row."""
    encode = Encoding(connection)
    native = connection.dialect.name == "postgresql"
    keys = {encode.uuid(host_id): host_id for host_id in hosts}
    found = _locked_heads(connection, list(keys), native=native)
    missing = [key for key in sorted(keys) if key not in found]
    if missing:
        rows = [(key, hosts[keys[key]]) for key in missing]
        insert_rows(connection, ledger_chains, ("domain_id", "host"), rows, unless=("domain_id",))
        found |= _locked_heads(connection, missing, native=native)
    return {keys[key]: head for key, head in found.items()}


def _locked_heads(connection: Connection, keys: Sequence[Any], *, native: bool) -> dict[Any, _Head]:
    wanted: Any = list(keys) if native else json.dumps(list(keys))
    return {row[0]: _Head(*row) for row in rows_of(connection, _heads_text(native), (wanted,))}


@lru_cache(maxsize=2)
def _heads_text(native: bool) -> str:
    """Written out by hand, as `leasing.still_held` is: it runs at every batch."""
    hosts = "= ANY(%s)" if native else "IN (SELECT value FROM json_each(?))"
    columns = "domain_id, requests, request_digest, notes, note_digest"
    text = f"SELECT {columns} FROM ledger_chains WHERE domain_id {hosts}"  # noqa: S608  # our own words
    # In order, so that two transactions that append to the same chains do not deadlock.
    return f"{text} ORDER BY domain_id FOR UPDATE" if native else text


def _keep_heads(connection: Connection, heads: dict[UUID, _Head]) -> None:
    values = [(head.requests, head.request_digest, head.notes, head.note_digest, head.key) for head in heads.values()]
    run_for_each(connection, _keep_text(connection.dialect.name), values)


@lru_cache(maxsize=2)
def _keep_text(dialect: str) -> str:
    chain = ledger_chains.c
    names = ("requests", "request_digest", "notes", "note_digest")
    statement = (
        update(ledger_chains)
        .where(chain.domain_id == bindparam("host_id"))
        .ordered_values(*((chain[name], bindparam(f"new_{name}")) for name in names))
    )
    return driver_text(dialect, statement, (*(f"new_{name}" for name in names), "host_id"))


def microseconds_of(value: datetime | None) -> int | None:
    """A stored instant as whole microseconds, exactly."""
    if value is None:
        return None
    since = value - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def request_values(row: Any) -> tuple[Any, ...]:
    """What the digest of a request covers behind its sequence and host; `ledger.append_requests` has the same order."""
    return (
        row.lease_token,
        row.request_number,
        row.url,
        row.purpose,
        microseconds_of(row.started_at),
        microseconds_of(row.ended_at),
        row.delay_s,
        row.delay_source,
        row.max_concurrency,
        row.policy_interval_ms,
        row.policy_max_concurrency,
        row.robots_version,
        row.rule_line,
        row.rule,
        row.status,
        row.retry_after_s,
        microseconds_of(row.blocked_until),
        row.has_fetch,
    )


def note_values(row: Any) -> tuple[Any, ...]:
    """The same for a note."""
    return (
        row.lease_token,
        row.kind,
        row.origin,
        row.version,
        microseconds_of(row.valid_from),
        microseconds_of(row.valid_until),
        row.detail,
    )


def chain_ids(connection: Connection, host: str | None = None) -> list[UUID]:
    """The chains of all hosts, or those of one: its own, and those of hosts that were folded into it."""
    column = ledger_chains.c
    statement = select(column.domain_id).order_by(column.host, column.domain_id)
    if host is not None:
        named = select(column.domain_id).where(column.host == host)
        statement = statement.where(or_(column.host == host, column.merged_into.in_(named)))
    return list(connection.execute(statement).scalars())


def chain(connection: Connection, host_id: UUID) -> Row[Any] | None:
    """The head of one chain, with the lease of its host as it is now."""
    columns = (
        domains.c.domain,
        domains.c.claimed_by,
        domains.c.claimed_at,
        domains.c.lease_token,
        domains.c.last_start_at,
        domains.c.unclean_end_at,
        domains.c.unclean_since,
    )
    statement = select(ledger_chains, *columns).outerjoin(domains, domains.c.id == ledger_chains.c.domain_id)
    return connection.execute(statement.where(ledger_chains.c.domain_id == host_id)).first()


def folded_into(connection: Connection, host_id: UUID) -> list[UUID]:
    """The chains of hosts that were folded into a host."""
    column = ledger_chains.c
    return list(connection.execute(select(column.domain_id).where(column.merged_into == host_id)).scalars())


def stray_rows(connection: Connection, limit: int) -> Sequence[Any]:
    """Hosts that have requests or notes in the ledger, and no chain."""
    found: list[Any] = []
    for table in (politeness_ledger, ledger_notes):
        has_chain = exists().where(ledger_chains.c.domain_id == table.c.domain_id)
        statement = select(table.c.domain_id, domains.c.domain).outerjoin(domains, domains.c.id == table.c.domain_id)
        found += connection.execute(statement.where(~has_chain).distinct().limit(limit)).all()
    return found


def asked_without_chain(connection: Connection, host: str | None, limit: int) -> Sequence[Row[Any]]:
    """Hosts whose row or visits show requests, but that have no chain."""
    has_chain = exists().where(ledger_chains.c.domain_id == domains.c.id)
    was_visited = exists().where(fetches.c.domain == domains.c.domain)
    statement = select(domains.c.domain).where(~has_chain, or_(domains.c.last_start_at.is_not(None), was_visited))
    if host is not None:
        statement = statement.where(domains.c.domain == host)
    return connection.execute(statement.order_by(domains.c.domain).limit(limit)).all()


def leased_without_chain(connection: Connection, host: str | None, limit: int) -> Sequence[Any]:
    """Hosts that are leased, or were until a process died, and that have no row in the ledger yet."""
    column = domains.c
    has_chain = exists().where(ledger_chains.c.domain_id == column.id)
    is_leased = or_(column.claimed_by.is_not(None), column.unclean_end_at.is_not(None))
    statement = select(column.domain, column.claimed_at, column.unclean_since).where(~has_chain, is_leased)
    if host is not None:
        statement = statement.where(column.domain == host)
    return connection.execute(statement.order_by(column.domain).limit(limit)).all()


def is_known(connection: Connection, host: str) -> bool:
    """Whether the state knows a host by this name, crawled or not."""
    of_domains = select(domains.c.id).where(domains.c.domain == host)
    of_chains = select(ledger_chains.c.domain_id).where(ledger_chains.c.host == host)
    return any(connection.execute(statement.limit(1)).first() is not None for statement in (of_domains, of_chains))


def requests_from(connection: Connection, host_id: UUID, after: tuple[int, int] | None, limit: int) -> Sequence[Any]:
    """A host's requests in the order of the chain, in batches."""
    return _in_order(connection, politeness_ledger, host_id, after, limit)


def notes_from(connection: Connection, host_id: UUID, after: tuple[int, int] | None, limit: int) -> Sequence[Any]:
    """A host's notes in the order of the chain, in batches."""
    return _in_order(connection, ledger_notes, host_id, after, limit)


def _in_order(
    connection: Connection, table: Table, host_id: UUID, after: tuple[int, int] | None, limit: int
) -> Sequence[Any]:
    column = table.c
    statement = select(table).where(column.domain_id == host_id)
    if after is not None:
        sequence, number = after
        statement = statement.where(
            (column.sequence > sequence) | ((column.sequence == sequence) & (column.id > number))
        )
    return connection.execute(statement.order_by(column.sequence, column.id).limit(limit)).all()


def requests_by_start(connection: Connection, host_id: UUID, batch: int) -> Iterator[Any]:
    """A host's requests in the order in which they started.

    The database sorts their numbers alone, so that it holds a few bytes for each; the rows follow in batches.
    """
    ledger = politeness_ledger.c
    numbers = select(ledger.id).where(ledger.domain_id == host_id).order_by(ledger.started_at, ledger.id)
    wanted = connection.execute(numbers, execution_options={"yield_per": batch})
    for part in wanted.scalars().partitions():
        found = connection.execute(select(politeness_ledger).where(ledger.id.in_(part)))
        rows = {row.id: row for row in found}
        yield from (rows[number] for number in part)


def robots_body(connection: Connection, version: str) -> bytes | None:
    """A robots.txt by its digest."""
    body = connection.execute(select(robots_versions.c.body).where(robots_versions.c.version == version)).scalar()
    return None if body is None else bytes(body)


def policies_of(connection: Connection, host: str) -> Sequence[Row[Any]]:
    """What the policy of a host said, in the order of its edits."""
    history = policy_history
    return connection.execute(select(history).where(history.c.host == host).order_by(history.c.id)).all()


def digest_at(connection: Connection, table: str, host_id: UUID, sequence: int) -> str | None:
    """The digest of one row of a chain, of `requests` or of `notes`."""
    column = (politeness_ledger if table == "requests" else ledger_notes).c
    statement = select(column.digest).where(column.domain_id == host_id, column.sequence == sequence)
    digest: str | None = connection.execute(statement.limit(1)).scalar()
    return digest


def fetches_of_host(connection: Connection, host: str, after: tuple[Any, int] | None, limit: int) -> Sequence[Any]:
    """The visits of a host by time, in batches."""
    column = fetches.c
    statement = select(column.id, column.page_url, column.crawled_at).where(column.domain == host)
    if after is not None:
        crawled_at, number = after
        statement = statement.where(
            (column.crawled_at > crawled_at) | ((column.crawled_at == crawled_at) & (column.id > number))
        )
    return connection.execute(statement.order_by(column.crawled_at, column.id).limit(limit)).all()


def visits_without_request(connection: Connection, host: str, chain_ids: Collection[UUID], limit: int) -> Sequence[Any]:
    """Visits of a host that no request of its chains started, or that more visits claim than requests did."""
    ledger, column = politeness_ledger.c, fetches.c
    started = (
        select(ledger.started_at, func.count().label("requests"))
        .where(ledger.domain_id.in_(list(chain_ids)))
        .group_by(ledger.started_at)
        .subquery()
    )
    visited = (
        select(func.min(column.page_url).label("page_url"), column.crawled_at, func.count().label("visits"))
        .where(column.domain == host)
        .group_by(column.crawled_at)
        .subquery()
    )
    statement = (
        select(visited.c.page_url, visited.c.crawled_at)
        .outerjoin(started, started.c.started_at == visited.c.crawled_at)
        .where(visited.c.visits > func.coalesce(started.c.requests, 0))
    )
    return connection.execute(statement.limit(limit)).all()


def requests_without_visit(connection: Connection, host: str, chain_ids: Collection[UUID], limit: int) -> Sequence[Any]:
    """Requests that say that a visit was stored, and it is not."""
    ledger = politeness_ledger.c
    is_there = exists().where(
        fetches.c.domain == host, fetches.c.crawled_at == ledger.started_at, fetches.c.page_url == ledger.url
    )
    statement = select(politeness_ledger).where(
        ledger.domain_id.in_(list(chain_ids)), ledger.has_fetch.is_(True), ~is_there
    )
    return connection.execute(statement.limit(limit)).all()
