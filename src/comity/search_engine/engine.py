"""What every search engine can do. Documents enter by the outbox, queries by the doors; pages of hits leave."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from comity.model.search import HitPage, SearchDocument, SearchPage, SearchPosition, SearchQuery


class SearchEngine(Protocol):
    """Keeps documents and finds them again; `SearchUnavailable` whenever it cannot be reached."""

    name: str

    def ensure(self) -> None:
        """Make whatever the engine needs before it takes documents; harmless to repeat."""

    def put(self, documents: Sequence[SearchDocument]) -> None:
        """Take documents, each in place of the one with its identity; they are found when this returns."""

    def delete(self, ids: Collection[UUID]) -> None:
        """Forget documents; those that are not there do not matter."""

    def clear(self) -> None:
        """Forget every document."""

    def query(self, query: SearchQuery, now: datetime) -> SearchPage:
        """Answer a query; whatever its text, it is no error."""

    def hits(self, query: SearchQuery, now: datetime, *, limit: int, after: SearchPosition | None = None) -> HitPage:
        """Hits after a position, without counting anything."""
