"""What a search engine can do, and search for users: its answer without anything that is taken down.

A search only reads, and makes no web requests.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol
from uuid import UUID

from comity.clock import Clock
from comity.database import takedowns as takedowns_table
from comity.database.connection import Database
from comity.model.search import SearchDocument, SearchPage, SearchQuery
from comity.rules.canonical import resolve_link
from comity.rules.takedown import Takedowns


class SearchEngine(Protocol):
    """Keeps documents and finds them again; `SearchUnavailable` whenever it cannot be reached.

    Documents enter by the outbox, queries by the doors; pages of hits leave.
    """

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


class JobSearch:
    """What every door asks; safe to use from many threads."""

    def __init__(self, database: Database, clock: Clock, engine: SearchEngine) -> None:
        self.engine = engine
        self._database = database
        self._clock = clock
        self._takedowns: tuple[tuple[str, ...], Takedowns] = ((), Takedowns())

    def query(self, query: SearchQuery) -> SearchPage:
        """Answer a query as of now; a takedown holds from the moment it is made, whatever the index still has."""
        page = self.engine.query(query, self._clock.now())
        takedowns = self._takedowns_now()
        hits = tuple(hit for hit in page.hits if not is_taken_down(hit.posting, takedowns))
        if len(hits) == len(page.hits):
            return page
        return replace(page, hits=hits, total=page.total - (len(page.hits) - len(hits)))

    def _takedowns_now(self) -> Takedowns:
        with self._database.read() as connection:
            texts = tuple(row.domain_or_url for row in takedowns_table.entries(connection))
        known, takedowns = self._takedowns
        if texts != known:
            takedowns = Takedowns.of(texts)
            self._takedowns = (texts, takedowns)
        return takedowns


def is_taken_down(document: SearchDocument, takedowns: Takedowns) -> bool:
    """Whether a posting, or the page that lists it, must not be served."""
    if not takedowns.hosts and not takedowns.paths:
        return False
    return any(_is_covered(url, takedowns) for url in (document.apply_url, document.source_url) if url)


def _is_covered(url: str, takedowns: Takedowns) -> bool:
    address = resolve_link(url, url)
    if address is None:  # a mail address is on no site; a web address that cannot be parsed may be on any
        return url[:4].lower() == "http"
    return takedowns.covering(address) is not None
