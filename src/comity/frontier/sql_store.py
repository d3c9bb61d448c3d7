"""The frontier in the tables of the database: its changes are part of the caller's transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Connection

from comity.database.connection import Database
from comity.database.frontier import lists
from comity.database.frontier import rows as frontier_table
from comity.database.frontier.journal import FrontierPlace, frontier_place
from comity.frontier.store import DoneUrl, FoundUrl, HostSettlement, PlacedUrl, Validators
from comity.model.errors import BadInput
from comity.model.frontier import FrontierEntry, HostHome, QueuedUrl
from comity.model.sitemap import ChangeFrequency, PageHints

KeyOf = Callable[[UUID], UUID]
"""The id under which the URLs of a host are stored."""
_Admits = Callable[[Sequence[FrontierEntry]], Sequence[bool]]
"""Which URLs a list accepts. Called on the database thread, a batch at a time."""


def itself(host_id: UUID) -> UUID:
    """The host's own id: its URLs are those that all crawls share."""
    return host_id


class SqlChange:
    """Changes in one transaction; acknowledgements of many hosts go out together at its end."""

    def __init__(self, connection: Connection, key_of: KeyOf = itself) -> None:
        self.connection = connection
        self._key_of = key_of
        self._done: list[tuple[UUID, Sequence[int]]] = []
        self._dropped: list[tuple[UUID, Sequence[int]]] = []
        self._put_back: list[tuple[UUID, int, float, int]] = []

    def foresee(self, links: Mapping[UUID, Sequence[FrontierEntry]]) -> None:
        """The database itself decides which links are new."""

    def add(self, host_id: UUID, run_id: UUID | None, entries: Sequence[FrontierEntry]) -> int:
        """Queue URLs that this host has never had; returns how many were new."""
        if not entries:
            return 0
        key = self._key_of(host_id)
        added = frontier_table.add(self.connection, key, run_id, entries)
        if added < len(entries):  # some are known: those that were stored as too deep are wanted now
            added += frontier_table.lift_links(self.connection, key, entries)
        return added

    def settle(self, host_id: UUID, run_id: UUID | None, settlement: HostSettlement) -> int:
        """Store what became of a host's URLs; returns how many of the links were new."""
        host_id = self._key_of(host_id)
        if settlement.done:
            self._done.append((host_id, settlement.done))
        if settlement.dropped:
            self._dropped.append((host_id, settlement.dropped))
        self._put_back += [(host_id, *each) for each in settlement.put_back]
        found = frontier_table.add(self.connection, host_id, run_id, settlement.links) if settlement.links else 0
        if settlement.lifts and settlement.links:
            found += frontier_table.lift_links(self.connection, host_id, settlement.links)
        if settlement.too_deep:
            frontier_table.add_too_deep(self.connection, host_id, run_id, settlement.too_deep)
        if settlement.hints:
            frontier_table.note_hints(self.connection, host_id, settlement.hints)
        return found

    def lift(self, host_id: UUID, max_depth: int) -> int:
        """Queue URLs that were too deep, down to a depth; returns how many."""
        self.flush()
        return frontier_table.lift(self.connection, self._key_of(host_id), max_depth)

    def requeue_all(self, host_id: UUID) -> int:
        """Queue every URL again that is done, without waits and tries; returns how many."""
        self.flush()
        return frontier_table.requeue_all(self.connection, self._key_of(host_id))

    def requeue_known(self, host_id: UUID, ranked: Collection[tuple[int, int]]) -> int:
        """Queue URLs that are done again, each with a new priority."""
        self.flush()
        return frontier_table.requeue_some(self.connection, self._key_of(host_id), ranked)

    def change_state(self, host_id: UUID, keys: Collection[int], before: int, after: int) -> int:
        """Take URLs out of the queue or put them back; only those in the state `before`."""
        self.flush()
        return frontier_table.change_state(self.connection, self._key_of(host_id), keys, before, after)

    def move(self, from_host: UUID, to_host: UUID) -> None:
        """Give one host's URLs to another; those it already has are dropped."""
        self.flush()
        frontier_table.move(self.connection, self._key_of(from_host), self._key_of(to_host))

    def forget(self, host_id: UUID) -> None:
        """Forget every URL of a host."""
        self.flush()
        frontier_table.forget(self.connection, self._key_of(host_id))

    def flush(self) -> None:
        """Write the collected changes, in the order of a settlement."""
        frontier_table.acknowledge(self.connection, self._done)
        frontier_table.acknowledge(self.connection, self._dropped, dropped=True)
        frontier_table.put_back(self.connection, self._put_back)
        self._done, self._dropped, self._put_back = [], [], []


class SqlReads:
    """Queries inside one transaction of the caller."""

    def __init__(self, connection: Connection, key_of: KeyOf = itself) -> None:
        self._connection = connection
        self._key_of = key_of

    def peek(self, host_id: UUID, limit: int, now: datetime) -> list[QueuedUrl]:
        """The next URLs: by priority, depth, age; without postponed ones."""
        rows = frontier_table.peek(self._connection, self._key_of(host_id), limit, now)
        return [QueuedUrl(row.url, row.url_key, row.depth, row.attempts, row.priority) for row in rows]

    def keys(self, host_id: UUID, limit: int) -> list[int]:
        """The keys of URLs that a host has."""
        return frontier_table.keys(self._connection, self._key_of(host_id), limit)

    def queued_up_to(self, host_id: UUID, most: int) -> int:
        """How many URLs are still to visit, counted no further than `most`."""
        return frontier_table.queued_up_to(self._connection, self._key_of(host_id), most)

    def queued_of(self, host_ids: Collection[UUID]) -> dict[UUID, int]:
        """How many URLs of each of some hosts are still to visit."""
        hosts = {self._key_of(host_id): host_id for host_id in host_ids}
        return {hosts[key]: urls for key, urls in frontier_table.queued_of(self._connection, hosts).items()}

    def size(self, host_id: UUID) -> int:
        """How many URLs are still to visit."""
        return frontier_table.size(self._connection, self._key_of(host_id))

    def states(self, host_id: UUID) -> dict[int, int]:
        """How many URLs there are in each state."""
        return frontier_table.states(self._connection, self._key_of(host_id))

    def next_ready_at(self, host_id: UUID) -> datetime | None:
        """When the earliest postponed URL may be tried."""
        return frontier_table.next_ready_at(self._connection, self._key_of(host_id))

    def any_url(self, host_id: UUID) -> str | None:
        """Some URL of a host."""
        return frontier_table.any_url(self._connection, self._key_of(host_id))

    def too_deep(self, host_ids: Collection[UUID]) -> dict[UUID, tuple[int, int]]:
        """How many URLs of hosts are too deep, and the least depth of them."""
        hosts = {self._key_of(host_id): host_id for host_id in host_ids}
        return {hosts[key]: found for key, found in frontier_table.too_deep(self._connection, hosts).items()}

    def too_deep_keys(self, host_id: UUID, limit: int) -> list[int]:
        """The keys of URLs that are too deep."""
        return frontier_table.too_deep_keys(self._connection, self._key_of(host_id), limit)

    def find(self, host_ids: Collection[UUID], key: int) -> FoundUrl | None:
        """What is known of one URL."""
        row = frontier_table.find(self._connection, [self._key_of(host_id) for host_id in host_ids], key)
        if row is None:
            return None
        return FoundUrl(
            row.url,
            row.url_key,
            row.depth,
            row.priority,
            row.state,
            row.attempts,
            row.not_before,
            hints_of(row),
            row.found_by,
            row.found_on or 0,
            row.discovered_at,
        )

    def urls(self, host_id: UUID, state: int, after: int, limit: int) -> list[PlacedUrl]:
        """URLs in one state, a page at a time."""
        rows = frontier_table.urls(self._connection, self._key_of(host_id), state, after, limit)
        return [PlacedUrl(row.id, row.url, row.url_key) for row in rows]

    def done(self, host_id: UUID, after: int | None, limit: int) -> list[DoneUrl]:
        """URLs that are done, a page at a time."""
        rows = frontier_table.done_after(self._connection, self._key_of(host_id), after, limit)
        return [DoneUrl(row.url_key, row.url_key, row.priority, hints_of(row)) for row in rows]


class SqlFrontier:
    """A `FrontierStore` in the database; each single query is a transaction of its own."""

    has_own_server = False
    is_selective = False
    homes: Mapping[str, HostHome] = MappingProxyType({})
    validators: Validators | None = None

    def __init__(self, database: Database) -> None:
        self._database = database

    def stop_asking(self) -> None:
        """There is no other server to ask."""

    def key_of(self, host_id: UUID) -> UUID:
        """The host's own id."""
        return host_id

    def prepare_hosts(self, host_ids: Collection[UUID]) -> None:
        """Nothing is ever left incomplete."""

    def is_blank(self) -> bool:
        """It is the database itself."""
        return False

    @contextmanager
    def reading(self) -> Iterator[SqlReads]:
        """Several queries in one transaction."""
        with self._database.read() as connection:
            yield SqlReads(connection)

    def reads_in(self, connection: Connection) -> SqlReads:
        """Queries within a transaction."""
        return SqlReads(connection)

    def peek(self, host_id: UUID, limit: int, now: datetime) -> list[QueuedUrl]:
        """The next URLs; they stay queued."""
        with self.reading() as reads:
            return reads.peek(host_id, limit, now)

    def keys(self, host_id: UUID, limit: int) -> list[int]:
        """The keys of URLs that a host has."""
        with self.reading() as reads:
            return reads.keys(host_id, limit)

    def queued_up_to(self, host_id: UUID, most: int) -> int:
        """How many URLs are still to visit, counted no further than `most`."""
        with self.reading() as reads:
            return reads.queued_up_to(host_id, most)

    def queued_of(self, host_ids: Collection[UUID]) -> dict[UUID, int]:
        """How many URLs of each of some hosts are still to visit."""
        with self.reading() as reads:
            return reads.queued_of(host_ids)

    def size(self, host_id: UUID) -> int:
        """How many URLs are still to visit."""
        with self.reading() as reads:
            return reads.size(host_id)

    def states(self, host_id: UUID) -> dict[int, int]:
        """How many URLs there are in each state."""
        with self.reading() as reads:
            return reads.states(host_id)

    def next_ready_at(self, host_id: UUID) -> datetime | None:
        """When the earliest postponed URL may be tried."""
        with self.reading() as reads:
            return reads.next_ready_at(host_id)

    def any_url(self, host_id: UUID) -> str | None:
        """Some URL of a host."""
        with self.reading() as reads:
            return reads.any_url(host_id)

    def too_deep(self, host_ids: Collection[UUID]) -> dict[UUID, tuple[int, int]]:
        """How many URLs of hosts are too deep, and the least depth of them."""
        with self.reading() as reads:
            return reads.too_deep(host_ids)

    def too_deep_keys(self, host_id: UUID, limit: int) -> list[int]:
        """The keys of URLs that are too deep."""
        with self.reading() as reads:
            return reads.too_deep_keys(host_id, limit)

    def find(self, host_ids: Collection[UUID], key: int) -> FoundUrl | None:
        """What is known of one URL."""
        with self.reading() as reads:
            return reads.find(host_ids, key)

    def urls(self, host_id: UUID, state: int, after: int, limit: int) -> list[PlacedUrl]:
        """URLs in one state, a page at a time."""
        with self.reading() as reads:
            return reads.urls(host_id, state, after, limit)

    def done(self, host_id: UUID, after: int | None, limit: int) -> list[DoneUrl]:
        """URLs that are done, a page at a time."""
        with self.reading() as reads:
            return reads.done(host_id, after, limit)

    def checkpoint_id(self, host_id: UUID, host: str, run_id: UUID | None) -> str | None:  # noqa: ARG002  # as in Redis
        """The host and the run that last worked on its URLs."""
        return f"{host}:{run_id}" if run_id is not None else None

    @contextmanager
    def change(self, announced: Mapping[UUID, Sequence[FrontierEntry]] | None = None) -> Iterator[SqlChange]:  # noqa: ARG002  # the database tells new from old itself
        """Begin a transaction."""
        with self._database.write() as connection:
            change = SqlChange(connection)
            yield change
            change.flush()

    def take_rebuilt(self) -> tuple[UUID, ...]:
        """Nothing is ever lost."""
        return ()

    def recover(self, limit: int = 1000) -> int:  # noqa: ARG002  # one signature for all stores
        """Nothing is ever left incomplete."""
        return 0

    def close(self) -> None:
        """Nothing is held."""


def own_frontier(database: Database) -> SqlFrontier:
    """The frontier in a database's own tables; refused where its URLs are in Redis."""
    if database.is_shared:
        with database.read() as connection:
            if frontier_place(connection) in (FrontierPlace.ELSEWHERE, FrontierPlace.BOTH):
                raise BadInput("the URLs of this state are in Redis: set COMITY_REDIS_URL to that Redis")
    return SqlFrontier(database)


def hints_of(row: Any) -> PageHints | None:
    """What a sitemap said of a row's URL, if one named it."""
    if row.lastmod is None and row.changefreq is None and row.sitemap_priority is None:
        return None
    changefreq = ChangeFrequency(row.changefreq) if row.changefreq is not None else None
    return PageHints(row.lastmod, changefreq, row.sitemap_priority)


class _ListChange(SqlChange):
    """Changes of a list, which accepts only wanted URLs."""

    def __init__(
        self,
        connection: Connection,
        key_of: KeyOf,
        wanted: Callable[[Sequence[FrontierEntry]], Sequence[FrontierEntry]],
    ) -> None:
        super().__init__(connection, key_of)
        self._wanted = wanted

    def add(self, host_id: UUID, run_id: UUID | None, entries: Sequence[FrontierEntry]) -> int:
        """Queue URLs that this host has never had; returns how many were new."""
        return super().add(host_id, run_id, self._wanted(entries))

    def settle(self, host_id: UUID, run_id: UUID | None, settlement: HostSettlement) -> int:
        """Store what became of a host's URLs; returns how many of the links were new."""
        if settlement.links or settlement.too_deep:
            links, too_deep = self._wanted(settlement.links), self._wanted(settlement.too_deep)
            settlement = replace(settlement, links=links, too_deep=too_deep)
        return super().settle(host_id, run_id, settlement)


class ListFrontier(SqlFrontier):
    """A `FrontierStore` whose URLs are those of one list. It is always in the database, also beside a Redis.

    It has the same tables and behaviour, but is separate from the URLs of other work.
    """

    is_selective = True

    def __init__(self, database: Database, list_id: UUID) -> None:
        super().__init__(database)
        self.list_id = list_id
        self.admits: _Admits | None = None
        self.validators: Validators | None = None
        self.left_out = 0
        """URLs that were found and not admitted."""
        self.homes: Mapping[str, HostHome] = {}
        self._keys: dict[UUID, UUID] = {}

    def key_of(self, host_id: UUID) -> UUID:
        """The id of a host in this list; one that is not in it has nothing there."""
        found = self._keys.get(host_id)
        if found is None:
            with self._database.read() as connection:
                self._keys.update(lists.keys_of(connection, self.list_id, [host_id]))
            found = self._keys.get(host_id) or uuid4()
        return found

    def prepare_hosts(self, host_ids: Collection[UUID]) -> None:
        """Put hosts on the list that are not on it."""
        if any(host_id not in self._keys for host_id in host_ids):
            with self._database.write() as connection:
                self._keys.update(lists.add_hosts(connection, self.list_id, host_ids))

    @contextmanager
    def reading(self) -> Iterator[SqlReads]:
        """Several queries in one transaction."""
        with self._database.read() as connection:
            yield SqlReads(connection, self.key_of)

    @contextmanager
    def change(self, announced: Mapping[UUID, Sequence[FrontierEntry]] | None = None) -> Iterator[SqlChange]:  # noqa: ARG002  # the database tells new from old itself
        """Begin a transaction. A host that is named in it is added to the list."""
        with self._database.write() as connection:

            def key_of(host_id: UUID) -> UUID:
                if host_id not in self._keys:
                    added.update(lists.add_hosts(connection, self.list_id, [host_id]))
                return self._keys.get(host_id) or added[host_id]

            added: dict[UUID, UUID] = {}
            change = _ListChange(connection, key_of, self._wanted)
            yield change
            change.flush()
        self._keys.update(added)

    def _wanted(self, entries: Sequence[FrontierEntry]) -> Sequence[FrontierEntry]:
        if self.admits is None or not entries:
            return entries
        kept = [entry for entry, is_wanted in zip(entries, self.admits(entries), strict=True) if is_wanted]
        self.left_out += len(entries) - len(kept)
        return kept

    def checkpoint_id(self, host_id: UUID, host: str, run_id: UUID | None) -> None:  # noqa: ARG002  # as in the database
        """A host's row does not mention lists."""
        return
