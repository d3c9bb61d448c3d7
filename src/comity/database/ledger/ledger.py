"""Statements that append to the politeness ledger: requests and notes, each in a hash chain per host.

A batch costs one look at the chain heads, one insert and one write of the heads, however many hosts are in it. The
heads are locked until the transaction ends, so that two processes append one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, bindparam, select, update

from comity.database.bulk import Encoding, Moment, driver_text, insert_rows
from comity.database.ledger.tables import ledger_chains, ledger_notes, robots_versions
from comity.database.tables import politeness_ledger
from comity.model.ledger import LedgerNote, LedgerRow, NoteKind
from comity.rules.ledger_chain import START, chained, chained_request, microseconds

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
    """Enter requests; `fetched` names those that `fetches` has a row for: their starts, by host."""
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
        values += _request_values(heads[host_id], run, of_host, fetched.get(host_id, ()), encode.moment)
    insert_rows(connection, politeness_ledger, _REQUEST, values)
    _keep_heads(connection, heads)


def _request_values(
    head: _Head, run: Any, rows: Iterable[LedgerRow], fetched: Collection[float], moment: Moment
) -> Iterator[tuple[Any, ...]]:
    """A host's requests as `_REQUEST` names their columns, each behind the one before it."""
    key, host_hex, sequence, digest = head.key, head.hex, head.requests, head.request_digest
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
            has_fetch,
        )
    head.requests, head.request_digest = sequence, digest


def append_notes(connection: Connection, notes: Iterable[LedgerNote]) -> None:
    """Enter facts that are no requests."""
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
    """Keep the files of robots.txt that came into force, each once."""
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
    """The ends of some hosts' chains, locked; a host that is asked for the first time gets its row."""
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
    rows = connection.exec_driver_sql(_heads_text(native), (wanted,))
    return {row[0]: _Head(*row) for row in rows.all()}


@lru_cache(maxsize=2)
def _heads_text(native: bool) -> str:
    """Spelled by hand, as `leasing.still_held` is: it runs at every batch."""
    hosts = "= ANY(%s)" if native else "IN (SELECT value FROM json_each(?))"
    columns = "domain_id, requests, request_digest, notes, note_digest"
    text = f"SELECT {columns} FROM ledger_chains WHERE domain_id {hosts}"  # noqa: S608  # our own words
    # In order, so that two who append to the same chains wait for each other in line.
    return f"{text} ORDER BY domain_id FOR UPDATE" if native else text


def _keep_heads(connection: Connection, heads: dict[UUID, _Head]) -> None:
    values = [(head.requests, head.request_digest, head.notes, head.note_digest, head.key) for head in heads.values()]
    connection.exec_driver_sql(_keep_text(connection.dialect.name), values)


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
