"""Taking hosts and URLs down: never fetched, queued or served again, from this moment on.

A posting whose link is covered is closed and leaves search; once the entry is removed, the next run brings it back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from comity.database import postings, search_outbox, sources, takedowns
from comity.database.connection import Database
from comity.database.tables import DROPPED, QUEUED
from comity.frontier.sql_store import own_frontier
from comity.frontier.store import FrontierChange, FrontierStore
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


def add_takedowns(
    database: Database, texts: Iterable[str], *, reason: str | None = None, frontier: FrontierStore | None = None
) -> list[TakedownReport]:
    """Remember hosts or URLs and drop what is queued of them: all of them, or none."""
    entries = [read_entry(text) for text in texts]
    store = frontier or own_frontier(database)
    # What is queued after this look is refused, and dropped, when its turn comes.
    covered = {entry: _covered(database, store, entry, QUEUED) for entry in entries}
    with store.change() as change:
        for entry in entries:
            search_outbox.tell_of_host(change.connection, entry.host)
        return [
            TakedownReport(
                entry.text,
                takedowns.add(change.connection, entry.text, reason),
                _move(change, covered[entry], QUEUED, DROPPED),
                _close_postings(change.connection, entry),
            )
            for entry in entries
        ]


def remove_takedowns(database: Database, texts: Iterable[str], *, frontier: FrontierStore | None = None) -> list[str]:
    """Forget entries, all or none; what they dropped from the queues waits there again."""
    entries = {read_entry(text).text: text for text in texts}
    store = frontier or own_frontier(database)
    with database.read() as connection:
        spelled = [row.domain_or_url for row in takedowns.entries(connection)]
    # An entry written by hand may be spelled otherwise: take it as it stands, too.
    still = Takedowns.of(each for each in spelled if each not in entries and each not in entries.values())
    covered = [_covered(database, store, read_entry(entry), DROPPED, but=still) for entry in entries]
    with store.change() as change:
        for entry, text in entries.items():
            if not any([takedowns.remove(change.connection, entry), takedowns.remove(change.connection, text)]):
                raise NotFound(f"{entry} is not taken down")
        for keys in covered:
            _move(change, keys, DROPPED, QUEUED)
        for entry in entries:
            search_outbox.tell_of_host(change.connection, read_entry(entry).host)
        sources.forget_all_pages(change.connection)
    return list(entries)


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


def _covered(
    database: Database, store: FrontierStore, entry: TakedownEntry, state: int, *, but: Takedowns | None = None
) -> dict[UUID, list[int]]:
    """The keys of URLs in one state that an entry covers, but for those that others cover, by host."""
    covered = Takedowns.of([entry.text])
    with database.read() as connection:
        host_ids = takedowns.hosts_reached(connection, entry.host, canonical_host(entry.host).parent_domain)
    found: dict[UUID, list[int]] = {}
    with store.reading() as reads:
        for host_id in host_ids:
            last = 0
            while rows := reads.urls(host_id, state, last, _BATCH):
                addresses = [(row.key, resolve_link(row.url, row.url)) for row in rows]
                found.setdefault(host_id, []).extend(
                    key
                    for key, address in addresses
                    if address and covered.covering(address) and not (but and but.covering(address))
                )
                last = rows[-1].place
    return found


def _move(change: FrontierChange, keys: dict[UUID, list[int]], before: int, after: int) -> int:
    """Bring URLs to another state; gives how many."""
    return sum(change.change_state(host_id, each, before, after) for host_id, each in keys.items() if each)


def list_takedowns(database: Database) -> list[StoredTakedown]:
    """Every entry, oldest first."""
    with database.read() as connection:
        return [_stored(row) for row in takedowns.entries(connection)]


def page_of_takedowns(database: Database, limit: int, offset: int) -> tuple[list[StoredTakedown], int]:
    """Some entries, oldest first, and how many there are in all."""
    with database.read() as connection:
        return [_stored(row) for row in takedowns.page(connection, limit, offset)], takedowns.count(connection)


def _stored(row: Any) -> StoredTakedown:
    return StoredTakedown(row.domain_or_url, row.reason, row.created_at)
