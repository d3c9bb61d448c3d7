"""The built-in engine: full text in the state itself, FTS5 when it is embedded, PostgreSQL when shared."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from threading import Lock
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from comity.database import search as statements
from comity.database.connection import Database
from comity.model.search import FacetCount, HitPage, SearchDocument, SearchPage, SearchPosition, SearchQuery
from comity.rules.search.highlight import hit_of
from comity.rules.search.query import read_cursor, write_cursor
from comity.rules.search.terms import SearchPlan, plan_of

# Counting a large result costs more than showing a page of it: its counts may be half a minute old.
LARGE_RESULT: Final = 5_000
COUNTS_KEPT_FOR: Final = timedelta(seconds=30)
_MOST_KEPT: Final = 64

Counts = tuple[int, dict[str, tuple[FacetCount, ...]]]


class DatabaseSearch:
    """Search in the state's own database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: dict[object, tuple[datetime, Counts]] = {}
        self._lock = Lock()
        self.name = "postgresql" if database.is_shared else "sqlite"

    def ensure(self) -> None:
        """Nothing: the tables are part of the schema."""

    def put(self, documents: Sequence[SearchDocument]) -> None:
        """Take documents in one transaction."""
        with self._database.write() as connection:
            statements.put(connection, documents)

    def delete(self, ids: Collection[UUID]) -> None:
        """Forget documents."""
        with self._database.write() as connection:
            statements.remove(connection, ids)

    def clear(self) -> None:
        """Forget every document."""
        with self._database.write() as connection:
            statements.clear(connection)

    def query(self, query: SearchQuery, now: datetime) -> SearchPage:
        """Answer from one snapshot of the database."""
        plan = plan_of(query)
        after = read_cursor(query.cursor, plan.sort) if query.cursor is not None else None
        with self._database.read() as connection:
            total, facets = self._counts(connection, plan, query.facets, now)
            found = HitPage(())
            if total:
                found = _hits(connection, plan, now, limit=query.limit, offset=query.offset, after=after)
        return SearchPage(found.hits, total, facets, write_cursor(found.last) if found.last is not None else None)

    def hits(self, query: SearchQuery, now: datetime, *, limit: int, after: SearchPosition | None = None) -> HitPage:
        """Hits after a position."""
        with self._database.read() as connection:
            return _hits(connection, plan_of(query), now, limit=limit, after=after)

    def _counts(self, connection: Connection, plan: SearchPlan, names: tuple[str, ...], now: datetime) -> Counts:
        key = (plan, names)
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and timedelta(0) <= now - kept[0] < COUNTS_KEPT_FOR:
            return kept[1]
        if names:
            counts = statements.facets(connection, plan, now, names)
        else:
            counts = statements.count(connection, plan, now), {}
        with self._lock:
            self._kept.pop(key, None)
            if counts[0] >= LARGE_RESULT:
                while len(self._kept) >= _MOST_KEPT:
                    self._kept.pop(next(iter(self._kept)))
                self._kept[key] = (now, counts)
        return counts


def _hits(
    connection: Connection,
    plan: SearchPlan,
    now: datetime,
    *,
    limit: int,
    offset: int = 0,
    after: SearchPosition | None = None,
) -> HitPage:
    """Some hits in order; one more row is read than is shown, to know whether there are more."""
    rows = statements.places(connection, plan, now, limit=limit + 1, offset=offset, after=after)
    documents = statements.documents(connection, [row.number for row in rows[:limit]])
    last = None
    if len(rows) > limit:
        row = rows[limit - 1]
        last = SearchPosition(plan.sort, row.newest_at, row.posting_id, row.deadline, row.rank)
    return HitPage(tuple(hit_of(document, plan.terms) for document in documents), last)
