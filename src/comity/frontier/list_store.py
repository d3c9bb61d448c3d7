"""The frontier of one list of visits: the same tables and behaviour, apart from what other work has to visit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import UUID, uuid4

from comity.database.connection import Database
from comity.database.frontier import lists
from comity.frontier.sql_store import SqlChange, SqlFrontier, SqlReads
from comity.model.frontier import FrontierEntry


class ListFrontier(SqlFrontier):
    """A `FrontierStore` whose URLs are those of one list. It is always in the database, also beside a Redis."""

    def __init__(self, database: Database, list_id: UUID) -> None:
        super().__init__(database)
        self.list_id = list_id
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
            change = SqlChange(connection, key_of)
            yield change
            change.flush()
        self._keys.update(added)

    def checkpoint_id(self, host_id: UUID, host: str, run_id: UUID | None) -> None:  # noqa: ARG002  # as in the database
        """A host's row says nothing of lists."""
        return
