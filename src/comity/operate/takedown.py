"""Take down hosts and URLs: never fetched, queued or served again, from this moment on.

A posting whose link is covered is closed and leaves search; once the entry is removed, the next run brings it back.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from comity.database import outbox as search_outbox
from comity.database import takedowns
from comity.database.connection import Database
from comity.database.sources import postings as postings_table
from comity.database.sources import rows as sources_table
from comity.database.tables import DONE, DROPPED, QUEUED
from comity.frontier.sql_store import own_frontier
from comity.frontier.store import FrontierChange, FrontierReads, FrontierStore
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, NotFound, Remedy, RemedyCode
from comity.model.source import SourceBlock, SourceStatus
from comity.rules.canonical import canonical_host, resolve_link
from comity.rules.takedown import TakedownEntry, Takedowns, read_entry

BATCH_URLS: Final = 500


@dataclass(frozen=True, slots=True)
class TakedownReport:
    """What adding takedowns did."""

    entry: str
    is_new: bool
    urls_dropped: int
    postings_closed: int = 0


@dataclass(frozen=True, slots=True)
class StoredTakedown:
    """A stored entry."""

    entry: str
    reason: str | None
    created_at: datetime


def add_takedowns(
    database: Database, texts: Iterable[str], *, reason: str | None = None, frontier: FrontierStore | None = None
) -> list[TakedownReport]:
    """Add hosts or URLs and drop what is queued of them, all or none."""
    entries = [read_entry(text) for text in texts]
    store = frontier or own_frontier(database)
    # A URL that is queued after this check is refused, and dropped, when its turn comes.
    covered = {entry: _covered(database, store, entry, QUEUED) for entry in entries}
    with store.change() as change:
        for entry in entries:
            search_outbox.queue_host(change.connection, entry.host)
            _block_sources(change.connection, entry)
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
    """Remove entries, all or none; the URLs that they dropped are queued again."""
    entries = {read_entry(text).text: text for text in texts}
    store = frontier or own_frontier(database)
    with database.read() as connection:
        stored = [row.domain_or_url for row in takedowns.entries(connection)]
    # An entry inserted in SQL may not be in canonical form: match its stored text, too.
    still = Takedowns.of(each for each in stored if each not in entries and each not in entries.values())
    covered = [_covered(database, store, read_entry(entry), DROPPED, but=still) for entry in entries]
    with store.change() as change:
        for entry, text in entries.items():
            if not any([takedowns.remove(change.connection, entry), takedowns.remove(change.connection, text)]):
                raise NotFound(f"{entry} is not taken down")
        for keys in covered:
            _move(change, keys, DROPPED, QUEUED)
        for entry in entries:
            search_outbox.queue_host(change.connection, read_entry(entry).host)
        sources_table.forget_all_pages(change.connection)
        _unblock_sources(change.connection, still)
    return list(entries)


def require_not_taken_down(connection: Connection, url: str) -> None:
    """Raise `BadInput` if an address is taken down."""
    refused = Takedowns.of(row.domain_or_url for row in takedowns.entries(connection))
    address = resolve_link(url, url)
    if address is not None and (entry := refused.covering(address)) is not None:
        raise BadInput(f"{url} is taken down ({entry})", remedy=Remedy(RemedyCode.LIFT_TAKEDOWN, str(entry)))


def covered_of_host(
    database: Database, store: FrontierStore, host: str, host_id: UUID
) -> tuple[str | None, dict[int, list[int]]]:
    """The entry that takes down a whole host, if there is one; else the keys of its URLs that are, by state."""
    with database.read() as connection:
        refused = Takedowns.of(row.domain_or_url for row in takedowns.entries(connection))
    if (entry := refused.covering_host(host)) is not None:
        return entry, {}
    name = host.partition(":")[0]
    named = [each.partition(":")[0] for each in (*refused.hosts, *refused.paths)]
    if not any(each == name or each.endswith("." + name) for each in named):
        return None, {}
    with store.reading() as reads:
        return None, {state: _covered_urls(reads, host_id, state, refused) for state in (QUEUED, DONE)}


def _block_sources(connection: Connection, entry: TakedownEntry) -> None:
    """A source that must not be read is not active."""
    covered = Takedowns.of([entry.text])
    active = sources_table.addresses(connection, SourceStatus.ACTIVE)
    rows = [(row.id, resolve_link(row.careers_url, row.careers_url)) for row in active]
    ids = [identity for identity, address in rows if address is not None and covered.covering(address)]
    sources_table.block(connection, ids, SourceBlock.TAKEN_DOWN, f"taken down: {entry.text}")


def _unblock_sources(connection: Connection, still: Takedowns) -> None:
    """Sources that takedowns alone kept from being read are due again."""
    rows = sources_table.addresses(connection, SourceStatus.BLOCKED, SourceBlock.TAKEN_DOWN)
    addresses = [(row.id, resolve_link(row.careers_url, row.careers_url)) for row in rows]
    ids = [identity for identity, address in addresses if address is not None and not still.covering(address)]
    sources_table.unblock(connection, ids)


def _close_postings(connection: Connection, entry: TakedownEntry) -> int:
    """Close postings that lead to what is taken down; returns how many."""
    covered, closed = Takedowns.of([entry.text]), 0
    last: UUID | None = None
    while rows := postings_table.linking_to(connection, entry.host, last, BATCH_URLS):
        addresses = [(row.id, resolve_link(row.apply_url, row.apply_url)) for row in rows]
        ids = [identity for identity, address in addresses if address and covered.covering(address)]
        if ids:
            postings_table.close(connection, ids)
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
    with store.reading() as reads:
        return {host_id: _covered_urls(reads, host_id, state, covered, but) for host_id in host_ids}


def _covered_urls(
    reads: FrontierReads, host_id: UUID, state: int, covered: Takedowns, but: Takedowns | None = None
) -> list[int]:
    """The keys of a host's URLs in one state that are covered, but for those that others cover."""
    keys: list[int] = []
    last = 0
    while rows := reads.urls(host_id, state, last, BATCH_URLS):
        addresses = [(row.key, resolve_link(row.url, row.url)) for row in rows]
        keys += [
            key
            for key, address in addresses
            if address and covered.covering(address) and not (but and but.covering(address))
        ]
        last = rows[-1].place
    return keys


def _move(change: FrontierChange, keys: dict[UUID, list[int]], before: int, after: int) -> int:
    """Move URLs to another state; returns how many."""
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
