"""Taking hosts and URLs down: never fetched, queued or served again, from this moment on.

A posting whose link is covered is closed and leaves search; once the entry is removed, the next run brings it back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from comity.database import postings, search_outbox, sources, takedowns
from comity.database.connection import Database
from comity.database.tables import DROPPED, QUEUED
from comity.model.errors import NotFound
from comity.rules.canonical import canonical_host, resolve_link
from comity.rules.takedown import TakedownEntry, Takedowns, read_entry

_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class TakedownReport:
    """What adding a takedown did."""

    entry: str
    is_new: bool
    urls_dropped: int
    postings_closed: int = 0


@dataclass(frozen=True, slots=True)
class StoredTakedown:
    """An entry as it stands."""

    entry: str
    reason: str | None
    created_at: datetime


def add_takedown(database: Database, text: str, *, reason: str | None = None) -> TakedownReport:
    """Remember a host or URL and drop what is queued of it, in one transaction."""
    return add_takedowns(database, [text], reason=reason)[0]


def add_takedowns(database: Database, texts: Iterable[str], *, reason: str | None = None) -> list[TakedownReport]:
    """The same for several: all of them, or none."""
    entries = [read_entry(text) for text in texts]
    with database.write() as connection:
        return [_add(connection, entry, reason) for entry in entries]


def remove_takedown(database: Database, text: str) -> str:
    """Forget an entry; what it dropped from the queues waits there again."""
    return remove_takedowns(database, [text])[0]


def remove_takedowns(database: Database, texts: Iterable[str]) -> list[str]:
    """The same for several: all of them, or none."""
    entries = {read_entry(text).text: text for text in texts}
    with database.write() as connection:
        for entry, text in entries.items():
            # An entry written by hand may be spelled otherwise: take it as it stands, too.
            if not any([takedowns.remove(connection, entry), takedowns.remove(connection, text)]):
                raise NotFound(f"{entry} is not taken down")
        still = Takedowns.of(row.domain_or_url for row in takedowns.entries(connection))
        for entry in entries:
            _move(connection, read_entry(entry), DROPPED, QUEUED, but=still)
            search_outbox.tell_of_host(connection, read_entry(entry).host)
        sources.forget_all_pages(connection)
    return list(entries)


def _add(connection: Connection, entry: TakedownEntry, reason: str | None) -> TakedownReport:
    is_new = takedowns.add(connection, entry.text, reason)
    search_outbox.tell_of_host(connection, entry.host)
    dropped = _move(connection, entry, QUEUED, DROPPED)
    return TakedownReport(entry.text, is_new, dropped, _close_postings(connection, entry))


def _close_postings(connection: Connection, entry: TakedownEntry) -> int:
    """Close what leads to where nobody may be sent; gives how many."""
    covered, closed = Takedowns.of([entry.text]), 0
    last: UUID | None = None
    while rows := postings.linking_to(connection, entry.host, last, _BATCH):
        addresses = [(row.id, resolve_link(row.apply_url, row.apply_url)) for row in rows]
        ids = [identity for identity, address in addresses if address and covered.covering(address)]
        if ids:
            postings.close(connection, ids)
        closed += len(ids)
        last = rows[-1].id
    return closed


def _move(
    connection: Connection, entry: TakedownEntry, before: int, after: int, *, but: Takedowns | None = None
) -> int:
    """Bring the URLs that an entry covers, but for those that others cover, to another state; gives how many."""
    covered = Takedowns.of([entry.text])
    parent = canonical_host(entry.host).parent_domain
    moved, last = 0, 0
    while rows := takedowns.urls_of_host(connection, entry.host, parent, before, last, _BATCH):
        addresses = [(row.id, resolve_link(row.url, row.url)) for row in rows]
        ids = [
            number
            for number, address in addresses
            if address and covered.covering(address) and not (but and but.covering(address))
        ]
        moved += takedowns.move(connection, ids, after) if ids else 0
        last = rows[-1].id
    return moved


def list_takedowns(database: Database) -> list[StoredTakedown]:
    """Every entry, oldest first."""
    with database.read() as connection:
        return [StoredTakedown(row.domain_or_url, row.reason, row.created_at) for row in takedowns.entries(connection)]
