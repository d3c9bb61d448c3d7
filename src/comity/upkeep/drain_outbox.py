"""Drain the outbox: its rows enter, documents leave for the search engine.

A row says only that a posting changed; the posting is sent as it is now, so that the latest always wins. A row
is deleted when the engine has the posting and it did not change meanwhile. A crash at any point sends it again, which
is harmless; while the engine is down every row stays, and is retried at growing intervals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import outbox as search_outbox
from comity.database import takedowns as takedowns_table
from comity.database.connection import Database
from comity.database.sources import postings as postings_table
from comity.model.dataclass import dataclass
from comity.model.errors import SearchRefused, SearchUnavailable, StateUnavailable
from comity.model.search import SearchDocument
from comity.rules.takedown import Takedowns
from comity.search_engine.job_search import SearchEngine, is_taken_down

BATCH: Final = 500
EVERY_S: Final = 5.0
_CLAIMED_FOR_S: Final = 300.0  # longer than an engine may take for a batch
_FIRST_RETRY_S: Final = 10.0
_LAST_RETRY_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Drained:
    """The result of one pass."""

    indexed: int = 0  # postings that the engine took
    removed: int = 0  # postings that it was to forget: gone, or taken down
    postponed: int = 0  # rows that stay, to be tried again
    error: str | None = None

    def __add__(self, other: Drained) -> Drained:
        return Drained(
            self.indexed + other.indexed,
            self.removed + other.removed,
            self.postponed + other.postponed,
            other.error or self.error,
        )


def retry_after_s(attempts: int) -> float:
    """How long to wait after a number of failures: ten seconds, doubled each time, at most an hour."""
    return min(_LAST_RETRY_S, _FIRST_RETRY_S * 2.0 ** min(attempts, 20))


class OutboxDrain:
    """Empties the outbox into an engine; any number of these may share a state."""

    def __init__(self, database: Database, clock: Clock, engine: SearchEngine, *, batch: int = BATCH) -> None:
        self._database = database
        self._clock = clock
        self._engine = engine
        self._batch = batch

    def drain(self, most: int | None = None, on_batch: Callable[[int], None] = lambda _rows: None) -> Drained:
        """Send everything that is due, or a limited number of rows; stops early if the engine cannot be reached."""
        result, rows_left = Drained(), most
        while rows_left is None or rows_left > 0:
            with self._database.write() as connection:
                limit = self._batch if rows_left is None else min(self._batch, rows_left)
                rows = search_outbox.claim(connection, self._now(), _CLAIMED_FOR_S, limit)
            if not rows:
                break
            batch = self._index(rows)
            result += batch
            on_batch(len(rows))
            if rows_left is not None:
                rows_left -= len(rows)
            if batch.error is not None and batch.indexed + batch.removed == 0:
                break
        return result

    def rebuild(self, on_batch: Callable[[int, int], None] = lambda _done, _total: None) -> Drained:
        """Rebuild the index from all postings; if this is interrupted, a later pass continues."""
        self._engine.ensure()
        with self._database.write() as connection:
            total = search_outbox.queue_all(connection)
        self._engine.clear()
        done = 0

        def on_rows(rows: int) -> None:
            nonlocal done
            done += rows
            on_batch(done, max(total, done))

        return self.drain(on_batch=on_rows)

    async def serve(
        self,
        stopping: asyncio.Event,
        *,
        has_news: asyncio.Event | None = None,
        every_s: float = EVERY_S,
        on_trouble: Callable[[str], None] = lambda _sentence: None,
    ) -> None:
        """Drain as soon as there is news, and every few seconds, until stopped; report the same error once.

        To stop, set `stopping`, then `has_news` if there is one.
        """
        awaited = stopping if has_news is None else has_news
        reported: str | None = None
        while not stopping.is_set():
            if has_news is not None:
                has_news.clear()
            try:
                trouble = (await asyncio.to_thread(self.drain)).error
            except StateUnavailable as error:
                trouble = str(error)
            if trouble is not None and trouble != reported:
                on_trouble(trouble)
            reported = trouble
            with suppress(TimeoutError):
                async with asyncio.timeout(every_s):
                    await awaited.wait()

    def _index(self, rows: Sequence[Any]) -> Drained:
        """Send one batch; if the engine refuses it, send each posting alone, so that one does not block the others."""
        by_posting: dict[UUID, list[Any]] = {}
        for row in rows:
            by_posting.setdefault(row.posting_id, []).append(row)
        try:
            return self._give(by_posting)
        except SearchRefused as error:
            if len(by_posting) == 1:
                return self._postpone(rows, error)
        except SearchUnavailable as error:
            return self._postpone(rows, error)
        return self._index_one_by_one(by_posting)

    def _index_one_by_one(self, by_posting: Mapping[UUID, Sequence[Any]]) -> Drained:
        result, left = Drained(), dict(by_posting)
        for posting_id, own in by_posting.items():
            try:
                result += self._give({posting_id: own})
            except SearchRefused as error:
                result += self._postpone(own, error)
            except SearchUnavailable as error:  # gone meanwhile: the rest would only wait for nothing
                return result + self._postpone([row for rows in left.values() for row in rows], error)
            del left[posting_id]
        return result

    def _give(self, by_posting: Mapping[UUID, Sequence[Any]]) -> Drained:
        with self._database.read() as connection:
            wanted = _current(connection, by_posting)
        gone = by_posting.keys() - wanted.keys()
        if wanted:
            self._engine.put([wanted[each] for each in sorted(wanted)])
        if gone:
            self._engine.delete(gone)
        self._settle(by_posting, wanted)
        return Drained(len(wanted), len(gone))

    def _settle(self, by_posting: Mapping[UUID, Sequence[Any]], indexed: Mapping[UUID, SearchDocument]) -> None:
        """Delete the rows; a posting that changed meanwhile gets a new one, in case another process sent it first."""
        with self._database.write() as connection:
            now = _current(connection, by_posting)
            changed = [each for each in by_posting if now.get(each) != indexed.get(each)]
            search_outbox.done(connection, [row.id for rows in by_posting.values() for row in rows])
            postings_table.queue_for_search(connection, changed, "upsert")

    def _postpone(self, rows: Sequence[Any], error: SearchUnavailable) -> Drained:
        by_attempts: dict[int, list[int]] = {}
        for row in rows:
            by_attempts.setdefault(row.attempts, []).append(row.id)
        with self._database.write() as connection:
            for attempts, ids in by_attempts.items():
                search_outbox.postpone(connection, ids, self._now(), retry_after_s(attempts), str(error))
        return Drained(postponed=len(rows), error=str(error))

    def _now(self) -> datetime | None:
        """The time now; with a shared state, by the server's clock."""
        return self._database.now(self._clock)


def _current(connection: Connection, posting_ids: Collection[UUID]) -> dict[UUID, SearchDocument]:
    """The postings among these that may be served."""
    found = search_outbox.documents(connection, posting_ids)
    takedowns = Takedowns.of(row.domain_or_url for row in takedowns_table.entries(connection))
    return {each: document for each, document in found.items() if not is_taken_down(document, takedowns)}
