"""The frontier of one list of visits: the same tables and behaviour, apart from what other work has to visit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from uuid import UUID, uuid4

from sqlalchemy import Connection

from comity.database.connection import Database
from comity.database.frontier import lists
from comity.frontier.sql_store import KeyOf, SqlChange, SqlFrontier, SqlReads
from comity.frontier.store import HostSettlement, Validators
from comity.model.frontier import FrontierEntry

Admits = Callable[[Sequence[FrontierEntry]], Sequence[bool]]
"""Which URLs a list takes in. Called on the database thread, a batch at a time."""


class _ListChange(SqlChange):
    """Changes of a list, which takes in only what is wanted."""

    def __init__(
        self,
        connection: Connection,
        key_of: KeyOf,
        wanted: Callable[[Sequence[FrontierEntry]], Sequence[FrontierEntry]],
    ) -> None:
        super().__init__(connection, key_of)
        self._wanted = wanted

    def add(self, host_id: UUID, run_id: UUID | None, entries: Sequence[FrontierEntry]) -> int:
        """Queue URLs that this host has never had; gives how many were new."""
        return super().add(host_id, run_id, self._wanted(entries))

    def settle(self, host_id: UUID, run_id: UUID | None, settlement: HostSettlement) -> int:
        """Enter what became of a host's URLs; gives how many of the links were new."""
        if settlement.links or settlement.too_deep:
            links, too_deep = self._wanted(settlement.links), self._wanted(settlement.too_deep)
            settlement = replace(settlement, links=links, too_deep=too_deep)
        return super().settle(host_id, run_id, settlement)


class ListFrontier(SqlFrontier):
    """A `FrontierStore` whose URLs are those of one list. It is always in the database, also beside a Redis."""

    is_selective = True

    def __init__(self, database: Database, list_id: UUID) -> None:
        super().__init__(database)
        self.list_id = list_id
        self.admits: Admits | None = None
        self.validators: Validators | None = None
        self.left_out = 0
        """URLs that were found and not admitted."""
        self.homes: Mapping[str, str] = {}
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
        """Several questions in one transaction."""
        with self._database.read() as connection:
            yield SqlReads(connection, self.key_of)

    @contextmanager
    def change(self, announced: Mapping[UUID, Sequence[FrontierEntry]] | None = None) -> Iterator[SqlChange]:  # noqa: ARG002  # the database tells new from old itself
        """Begin a transaction. A host that is named in it comes to be on the list."""
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
        """A host's row says nothing of lists."""
        return
