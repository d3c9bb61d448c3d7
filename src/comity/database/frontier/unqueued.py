"""Statements on URLs that were seen and not queued, at most so many for a host.

Pages name many, so there is no row for each: `unqueued_notes` has one for those of a host that are settled together.
`unqueued_keys` says in which rows a URL is, whatever hosts named it. Decision 15 says why.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from struct import iter_unpack, pack
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import (
    Column,
    Connection,
    ForeignKey,
    Index,
    LargeBinary,
    Table,
    Uuid,
    bindparam,
    delete,
    select,
    update,
)

from comity.database.bulk import Encoding, driver_text, insert_rows, placed, rows_of, run_for_each
from comity.database.frontier.notes import (
    Compress,
    Note,
    compressor,
    keys_in,
    note_of,
    notes_in,
    packed_details,
    packed_keys,
)
from comity.database.tables import domains, metadata
from comity.database.types import RowNumber
from comity.model.frontier import Unqueued

MOST_PER_HOST: Final = 10_000
_SHELVES: Final = 32
"""Into how many parts the keys of a batch are divided: to look for one, a 32nd of all keys is read."""
_SHELF_BIT: Final = 56
_ENTRY: Final = ">qq"
_ENTRY_BYTES: Final = 16
_ROWS_AT_ONCE: Final = 100
_REMEMBERED_MOST: Final = 4_000_000  # notes of earlier leases in memory, 9 bytes each

# The URLs of a host that were settled together. The keys are apart from the rest, which is compressed.
unqueued_notes: Final = Table(
    "unqueued_notes",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="CASCADE"), nullable=False),
    Column("url_keys", LargeBinary(), nullable=False),
    Column("details", LargeBinary(), nullable=False),
    Index("idx_unqueued_notes_domain", "domain_id"),
)

# Where a key is: a row for each batch and each shelf, with pairs of a key and the id of its row of notes. A pair whose
# row is gone says nothing.
unqueued_keys: Final = Table(
    "unqueued_keys",
    metadata,
    # The shelf in the high bits, the first row of the batch in the low ones.
    Column("place", RowNumber, primary_key=True, autoincrement=False),
    Column("entries", LargeBinary(), nullable=False),
)

_NOTES: Final = ("id", "domain_id", "url_keys", "details")


class HostUnqueued(NamedTuple):
    """What one host's pages name and is not queued."""

    host_id: UUID
    seen: Sequence[Unqueued]
    unrecorded: int = 0
    """How many more there were, which come without a URL."""
    lease: int = 0
    """The token of the lease under which it was seen; under one lease a URL comes once."""


class Sighting(NamedTuple):
    """Where a URL was seen without being queued."""

    domain_id: UUID
    domain: str
    code: str
    found_by: int
    found_on: int
    seen_at: int


class _Known:
    """The URLs of a host that are on record, with their codes: 9 bytes each."""

    def __init__(self, notes: Sequence[Note]) -> None:
        ordered = sorted((note.key, note.code) for note in notes)
        self._names = list({code: None for _key, code in ordered})
        numbers = {name: number for number, name in enumerate(self._names)}
        self._keys = array("q", [key for key, _code in ordered])
        self._codes = bytes(numbers[code] for _key, code in ordered)

    def __len__(self) -> int:
        return len(self._keys)

    def code_of(self, key: int) -> str | None:
        """Why a URL was not queued, if it is on record."""
        place = bisect_left(self._keys, key)
        return self._names[self._codes[place]] if place < len(self._keys) and self._keys[place] == key else None


class Earlier:
    """What was on record of hosts when their leases began.

    Only the holder of a lease adds to it, and under one lease no URL comes twice: so it is read once a lease. What does
    not fit into memory is read again.
    """

    def __init__(self, most: int = _REMEMBERED_MOST) -> None:
        self._most = most
        self._notes = 0
        self._kept: dict[int, tuple[int, _Known | None]] = {}  # by hosts, with the tokens of their leases

    def has(self, host: HostUnqueued) -> bool:
        """Whether it is known what was on record when this lease began."""
        found = self._kept.get(host.host_id.int)  # Python computes the hash of a UUID each time
        return found is not None and found[0] == host.lease != 0

    def of(self, connection: Connection, host: HostUnqueued, recorded: int) -> _Known | None:
        """What was on record of a host, of which there are so many notes unless it `has` it; None if nothing was."""
        found = self._kept.get(host.host_id.int)
        if found is not None and found[0] == host.lease != 0:
            return found[1]
        known = _Known(list(of_host(connection, host.host_id))) if recorded else None
        if host.lease:
            self._keep(host, known)
        return known

    def _keep(self, host: HostUnqueued, known: _Known | None) -> None:
        _lease, before = self._kept.pop(host.host_id.int, (0, None))
        self._kept[host.host_id.int] = (host.lease, known)
        self._notes += _weight(known) - (_weight(before) if _lease else 0)
        while self._notes > self._most and len(self._kept) > 1:
            _lease, dropped = self._kept.pop(next(iter(self._kept)))
            self._notes -= _weight(dropped)


def _weight(known: _Known | None) -> int:
    return 20 + len(known or ())  # a host without notes takes memory, too


def put(connection: Connection, hosts: Sequence[HostUnqueued], at: float, earlier: Earlier | None = None) -> None:
    """Record URLs that pages name; what is known of one is replaced where another rule decided.

    Beyond the bound of a host they are only counted. `earlier` belongs to those who put often.
    """
    if not hosts:
        return
    earlier = earlier if earlier is not None else Earlier()
    encode, seen_at, compress = Encoding(connection), int(at), compressor()
    encoded = [encode.uuid(each.host_id) for each in hosts]
    free = MOST_PER_HOST - max(len(each.seen) for each in hosts) if all(map(earlier.has, hosts)) else 0
    recorded = _recorded(connection, encoded, free)
    counts: list[tuple[int, int, Any]] = []
    batch: list[_Packed] = []
    for each, host in zip(hosts, encoded, strict=True):
        count = recorded.get(host, 0)
        new = _unknown(connection, each, earlier.of(connection, each, count), seen_at) if each.seen else []
        if rows := new[: max(0, MOST_PER_HOST - count)]:
            batch.append(_packed(host, rows, seen_at, compress))
        counts.append((len(rows), len(new) - len(rows) + each.unrecorded, host))
    _insert(connection, batch)
    changed_at = encode.time(at)
    values = [(added, more, changed_at, host) for added, more, host in counts if added or more]
    if values:
        run_for_each(connection, _count_text(connection.dialect.name), values)


def _unknown(connection: Connection, host: HostUnqueued, known: _Known | None, seen_at: int) -> list[Unqueued]:
    """Those of a host's URLs that are not on record; notes on the others are replaced if the rule is another."""
    by_key = {each.key: each for each in host.seen}
    if known is None:
        return list(by_key.values())
    codes = {key: known.code_of(key) for key in by_key}
    changed = {key: by_key[key] for key, code in codes.items() if code is not None and code != by_key[key].code}
    _change(connection, host.host_id, changed, seen_at)
    return [each for key, each in by_key.items() if codes[key] is None]


class _Packed(NamedTuple):
    """A row to be inserted; the host is as the driver takes it."""

    host: Any
    keys: Sequence[int]
    details: bytes


def _packed(host: Any, seen: Sequence[Unqueued], seen_at: int, compress: Compress) -> _Packed:
    urls, keys, codes, found_by, found_on = zip(*seen, strict=True)
    details = packed_details((urls, codes, found_by, found_on, (seen_at,) * len(urls)), compress)
    return _Packed(host, keys, details)


def put_notes(connection: Connection, hosts: Mapping[Any, Sequence[Note]]) -> None:
    """Record notes as they are, for hosts as the driver takes them; nothing is counted."""
    compress = compressor()
    batch = []
    for host, notes in hosts.items():
        urls, keys, *rest = zip(*notes, strict=True)
        batch.append(_Packed(host, keys, packed_details((urls, *rest), compress)))
    _insert(connection, batch)


def _insert(connection: Connection, batch: Sequence[_Packed]) -> None:
    """Insert rows of notes, and say on the shelves where their keys are."""
    if not batch:
        return
    ids = _next_ids(connection, len(batch))
    rows: list[tuple[Any, ...]] = []
    shelves: list[list[int]] = [[] for _shelf in range(_SHELVES)]
    for number, (host, keys, details) in zip(ids, batch, strict=True):
        rows.append((number, host, packed_keys(keys), details))
        for key in keys:
            shelves[key % _SHELVES] += (key, number)
    insert_rows(connection, unqueued_notes, _NOTES, rows)
    entries = [
        (shelf << _SHELF_BIT | ids[0], pack(f">{len(pairs)}q", *pairs)) for shelf, pairs in enumerate(shelves) if pairs
    ]
    # SQLite gives the id of the newest row again when that is deleted: then what its batch had here is void.
    verb = "INSERT" if connection.dialect.name == "postgresql" else "INSERT OR REPLACE"
    statement = f"{verb} INTO unqueued_keys (place, entries) VALUES (?, ?)"
    run_for_each(connection, placed(connection.dialect.name, statement), entries)


def _next_ids(connection: Connection, count: int) -> Sequence[int]:
    """Ids for rows of notes, in their order."""
    if connection.dialect.name == "postgresql":
        text = "SELECT nextval('unqueued_notes_id_seq') FROM generate_series(1, %s)"
        return [row[0] for row in rows_of(connection, text, (count,))]
    # Its transactions write one after the other.
    first = rows_of(connection, "SELECT coalesce(max(id), 0) + 1 FROM unqueued_notes")[0][0]
    return range(first, first + count)


def _change(connection: Connection, host_id: UUID, changed: Mapping[int, Unqueued], seen_at: int) -> None:
    """Replace notes of a host, each in the row in which it is."""
    if not changed:
        return
    rewritten, compress = [], compressor()
    for row in _rows_of(connection, host_id):
        if changed.keys().isdisjoint(keys_in(row.url_keys)):
            continue
        notes = notes_in(row.url_keys, row.details)
        for place, note in enumerate(notes):
            if (one := changed.get(note.key)) is not None:
                new = (str(one.code), int(one.found_by), one.found_on, seen_at)
                notes[place] = Note(note.url, note.key, *new)
        urls, _keys, *rest = zip(*notes, strict=True)
        rewritten.append({"row": row.id, "new": packed_details((urls, *rest), compress)})
    if rewritten:
        table = unqueued_notes
        statement = update(table).where(table.c.id == bindparam("row")).values(details=bindparam("new"))
        connection.execute(statement, rewritten)


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


def _recorded(connection: Connection, hosts: Sequence[Any], least: int) -> dict[Any, int]:
    """How many notes there are of those hosts that have more than so many; all as the driver takes them."""
    native = connection.dialect.name == "postgresql"
    wanted: Any = hosts if native else json.dumps(hosts)
    return {row[0]: row[1] for row in rows_of(connection, _recorded_text(native), (wanted, least))}


@lru_cache(maxsize=2)
def _recorded_text(native: bool) -> str:
    """Spelled by hand, as `ledger._heads_text` is: it runs at every batch."""
    hosts, most = ("= ANY(%s)", "%s") if native else ("IN (SELECT value FROM json_each(?))", "?")
    columns = "id, unqueued_recorded"
    return f"SELECT {columns} FROM domains WHERE id {hosts} AND unqueued_recorded > {most}"  # noqa: S608  # our own words


def of_url(connection: Connection, key: int, limit: int = 20) -> Sequence[Sighting]:
    """Where a URL was seen without being queued, by whichever host's pages, newest first."""
    table = unqueued_notes
    found: dict[UUID, Sighting] = {}
    ids = _rows_with(connection, key)
    for first in range(0, len(ids), _ROWS_AT_ONCE):
        statement = (
            select(table, domains.c.domain)
            .join(domains, domains.c.id == table.c.domain_id)
            .where(table.c.id.in_(ids[first : first + _ROWS_AT_ONCE]))
            .order_by(table.c.id.desc())
        )
        for row in connection.execute(statement):
            if (note := note_of(key, row.url_keys, row.details)) is not None:
                found.setdefault(row.domain_id, Sighting(row.domain_id, row.domain, *note[2:]))
        if len(found) >= limit:
            break
    return sorted(found.values(), key=lambda each: each.seen_at, reverse=True)[:limit]


def _rows_with(connection: Connection, key: int) -> list[int]:
    """The ids of the rows that had a key when they were written, newest first."""
    native = connection.dialect.name == "postgresql"
    has_key = "position(%s in entries) > 0" if native else "instr(entries, ?) > 0"
    statement = f"SELECT entries FROM unqueued_keys WHERE place >= ? AND place < ? AND {has_key}"  # noqa: S608  # our own words
    shelf = key % _SHELVES
    values = (shelf << _SHELF_BIT, (shelf + 1) << _SHELF_BIT, packed_keys([key]))
    found = rows_of(connection, placed(connection.dialect.name, statement), values)
    pairs = chain.from_iterable(iter_unpack(_ENTRY, row[0]) for row in found)
    return sorted({number for each, number in pairs if each == key}, reverse=True)


def of_host(connection: Connection, host_id: UUID) -> Iterator[Note]:
    """The URLs that a host's pages name and that were not queued, in the order in which they were recorded."""
    for row in _rows_of(connection, host_id):
        yield from notes_in(row.url_keys, row.details)


def _rows_of(connection: Connection, host_id: UUID) -> Sequence[Any]:
    table = unqueued_notes
    return connection.execute(select(table).where(table.c.domain_id == host_id).order_by(table.c.id)).all()


def move(connection: Connection, from_host: UUID, to_host: UUID) -> None:
    """Move one host's notes to another; of URLs that it already has they are dropped."""
    table, compress = unqueued_notes, compressor()
    known = {note.key for note in of_host(connection, to_host)}
    for row in _rows_of(connection, from_host):
        if known.isdisjoint(keys_in(row.url_keys)):
            continue
        notes = [note for note in notes_in(row.url_keys, row.details) if note.key not in known]
        if not notes:
            connection.execute(delete(table).where(table.c.id == row.id))
            continue
        urls, keys, *rest = zip(*notes, strict=True)
        values = {"url_keys": packed_keys(keys), "details": packed_details((urls, *rest), compress)}
        connection.execute(update(table).where(table.c.id == row.id).values(**values))
    connection.execute(update(table).where(table.c.domain_id == from_host).values(domain_id=to_host))
