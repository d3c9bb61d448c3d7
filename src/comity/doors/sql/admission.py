"""Which URLs a CRAWL statement visits: those that its filter admits, and that its table lacks or has an old row of.

The filter runs on the user's own connection, which alone has its temporary tables, macros and search path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from threading import Lock
from typing import Any, Final

import duckdb

from comity.clock import SystemClock
from comity.model.errors import BadInput
from comity.model.frontier import FrontierEntry, SeenPage
from comity.model.statement import TextPosition
from comity.rules.refresh import RefreshTerms, revisit_rank
from comity.store.parts.duckdb_table import one_line
from comity.store.sql_table import SqlTable

_SHOWN_PLACE: Final = re.compile(r"\nLINE (\d+): (.*)\n( *)\^")
_STALE: Final = RefreshTerms(timedelta(days=1), only_stale=True)


class Admission:
    """The filter and the table of one statement. A filter that DuckDB cannot read is refused at once."""

    def __init__(
        self,
        duck: Any,
        lock: Lock,
        table: SqlTable,
        where: str | None,
        where_at: TextPosition | None = None,
        *,
        update_stale: bool,
    ) -> None:
        self._duck = duck
        self._lock = lock  # the statement's thread writes rows by the same connection
        self._table = table
        self._where = where
        self._update_stale = update_stale
        if where is not None:
            try:
                duck.execute(_filtered(where), [[], []])
            except duckdb.Error as problem:
                said = one_line(problem).partition("! Candidate bindings")[0]  # which are names of ours
                remedy = "; a filter may name the column url" if isinstance(problem, duckdb.BinderException) else ""
                raise BadInput("WHERE", f"{_place(problem, where_at)}{said}{remedy}") from None

    def admits(self, entries: Sequence[FrontierEntry]) -> Sequence[bool]:
        """Which of some URLs are visited."""
        if self._where is None and not self._table.had_pages:
            return [True] * len(entries)
        urls = [entry.url for entry in entries]
        wanted = set(range(len(urls)))
        with self._lock:
            if self._where is not None:
                wanted = set(self._admitted(self._where, urls))
            known = self._table.known([urls[place] for place in wanted]) if wanted else {}
        return [
            place in wanted
            and (urls[place] not in known or (self._update_stale and _is_stale(entry, known[urls[place]])))
            for place, entry in enumerate(entries)
        ]

    def validators(self, urls: Sequence[str]) -> dict[str, tuple[str | None, str | None]]:
        """The ETag and Last-Modified that the table has of URLs."""
        with self._lock:
            return self._table.validators(urls)

    def detach(self) -> None:
        """Give up the connection."""
        self._duck = None

    def _admitted(self, where: str, urls: Sequence[str]) -> Iterator[int]:
        try:
            found = self._duck.execute(_filtered(where), [urls, urls]).fetchall()
        except duckdb.Error as problem:
            raise BadInput("WHERE", f"the filter failed: {str(problem).splitlines()[0]}") from None
        return (place for (place,) in found)


def _filtered(where: str) -> str:
    """The places of the URLs that a filter admits."""
    numbered = "SELECT unnest(?::VARCHAR[]) AS url, unnest(range(len(?::VARCHAR[]))) AS place"
    return f"SELECT place FROM ({numbered}) WHERE (\n{where}\n)"  # noqa: S608  # the user's own filter


def _place(problem: duckdb.Error, where_at: TextPosition | None) -> str:
    """Where in the script it is what DuckDB shows; the filter has lines of its own, from the second."""
    shown = _SHOWN_PLACE.search(str(problem))
    if where_at is None or shown is None or shown[2].startswith("..."):
        return ""
    lines_on = int(shown[1]) - 2
    column = len(shown[3]) - len(f"LINE {shown[1]}: ") + (1 if lines_on else where_at.column)
    return f"line {where_at.line + lines_on}, column {column}: " if lines_on >= 0 else ""


def _is_stale(entry: FrontierEntry, crawled_at: float) -> bool:
    """Whether a page is visited again: by what its sitemap says, or by its age."""
    seen = SeenPage(crawled_at, is_gone=False)
    return revisit_rank(entry.hints, seen, SystemClock().now(), _STALE) is not None
