"""Search for users: the results of an engine without anything that is taken down. Read-only; makes no web requests."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

from comity.clock import Clock
from comity.database import search as statements
from comity.database import takedowns as takedowns_table
from comity.database.connection import Database
from comity.model.search import HitPage, SearchDocument, SearchHit, SearchPage, SearchPosition, SearchQuery
from comity.rules.canonical import resolve_link
from comity.rules.search.highlight import Marker
from comity.rules.search.query import read_cursor
from comity.rules.search.terms import plan_of, read_terms
from comity.rules.takedown import Takedowns

PART: Final = 500  # hits that are read at once where all are wanted


class SearchEngine(Protocol):
    """Keeps documents and finds them again; `SearchUnavailable` whenever it cannot be reached.

    Documents enter by the outbox, queries by the doors; pages of hits leave.
    """

    name: str

    def ensure(self) -> None:
        """Make whatever the engine needs before it takes documents; harmless to repeat."""

    def put(self, documents: Sequence[SearchDocument]) -> None:
        """Store documents, replacing those with the same identity; they can be found when this returns."""

    def delete(self, ids: Collection[UUID]) -> None:
        """Forget documents; those that are not there do not matter."""

    def clear(self) -> None:
        """Forget every document."""

    def query(self, query: SearchQuery, now: datetime) -> SearchPage:
        """Answer a query; no text is an error."""

    def hits(self, query: SearchQuery, now: datetime, *, limit: int, after: SearchPosition | None = None) -> HitPage:
        """Hits after a position, without counting anything."""


class JobSearch:
    """The search that all front doors use; safe to use from many threads."""

    def __init__(self, database: Database, clock: Clock, engine: SearchEngine) -> None:
        self.engine = engine
        self._database = database
        self._clock = clock
        self._takedowns: tuple[tuple[str, ...], Takedowns] = ((), Takedowns())

    def query(self, query: SearchQuery) -> SearchPage:
        """Run a query; a takedown applies at once, even if the index still has the posting."""
        page = self.engine.query(query, self._clock.now())
        takedowns = self._takedowns_now()
        hits = tuple(hit for hit in page.hits if not is_taken_down(hit.posting, takedowns))
        total = page.total - (len(page.hits) - len(hits))
        return replace(page, hits=self._with_text(query, hits), total=total)

    def every(self, query: SearchQuery) -> Iterator[SearchHit]:
        """Every hit of a query, however many there are, read a part at a time; its limit and offset do not count."""
        now = self._clock.now()
        after = read_cursor(query.cursor, plan_of(query).sort) if query.cursor is not None else None
        while True:
            page = self.engine.hits(query, now, limit=PART, after=after)
            takedowns = self._takedowns_now()
            hits = tuple(hit for hit in page.hits if not is_taken_down(hit.posting, takedowns))
            yield from self._with_text(query, hits)
            if page.last is None:
                return
            after = page.last

    def _with_text(self, query: SearchQuery, hits: tuple[SearchHit, ...]) -> tuple[SearchHit, ...]:
        """Hits with their whole descriptions, where those are wanted, and with what matched far down in one."""
        terms = read_terms(query.text)
        wanted = hits if query.full_text else tuple(hit for hit in hits if terms.wanted and not _shows_match(hit))
        if not wanted:
            return hits
        with self._database.read() as connection:
            texts = statements.texts(connection, [hit.posting.id for hit in wanted])
        marker, found = Marker(terms), []
        for hit in hits:
            text = texts.get(hit.posting.id)
            if text:
                hit = replace(
                    hit, snippet=hit.snippet if _shows_match(hit) else marker.snippet(text.replace("\n", " "))
                )
                if query.full_text:
                    hit = replace(hit, posting=replace(hit.posting, description_text=text))
            found.append(hit)
        return tuple(found)

    def _takedowns_now(self) -> Takedowns:
        with self._database.read() as connection:
            texts = tuple(row.domain_or_url for row in takedowns_table.entries(connection))
        known, takedowns = self._takedowns
        if texts != known:
            takedowns = Takedowns.of(texts)
            self._takedowns = (texts, takedowns)
        return takedowns


def _shows_match(hit: SearchHit) -> bool:
    return any(piece.is_match for pieces in (hit.title, hit.org_name, hit.location, hit.snippet) for piece in pieces)


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
