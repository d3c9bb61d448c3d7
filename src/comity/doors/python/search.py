"""`comity.search`: find job postings by words and filters. It makes no request to any site."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from comity.clock import SystemClock
from comity.doors.python.options import Place, settings_for
from comity.doors.python.records import Records
from comity.model.errors import BadInput
from comity.model.search import Posting, SearchQuery, SearchSort
from comity.rules.search.query import checked_filter, read_since
from comity.run.remedies import with_remedies

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.settings import Settings

Values = str | Iterable[str]
_MOST_UPDATED_FIRST: Final = 5_000
_FILTERS: Final = {
    "country": "country_iso",
    "level": "level_norm",
    "modality": "work_modality",
    "career_type": "career_type",
    "tag": "mission_tags",
    "language": "language",
    "org": "org_name",
}


class Postings(Records[Posting]):
    """The postings that match a query. Nothing is read until you loop over them."""

    def __init__(self, settings: Settings, query: SearchQuery, sources: tuple[str, ...], limit: int | None) -> None:
        super().__init__(Posting, self._postings)
        self._settings = settings
        self._query = query
        self._sources = sources
        self._limit = limit

    @property
    def total(self) -> int:
        """How many postings match, regardless of the limit; counted each time."""
        with self._opened() as (state, query):
            return state.search().query(replace(query, limit=1, facets=())).total

    @property
    def facets(self) -> dict[str, dict[str, int]]:
        """How many of the postings have each value of country, level, modality …; the most frequent 50 of each."""
        with self._opened() as (state, query):
            found = state.search().query(replace(query, limit=1)).facets
        return {name: {each.value: each.count for each in counts} for name, counts in found.items()}

    def _postings(self) -> Iterator[Posting]:
        with self._opened() as (state, query):
            for hit in islice(state.search().every(query), self._limit):
                yield hit.posting

    @contextmanager
    def _opened(self) -> Iterator[tuple[State, SearchQuery]]:
        """The state, with its search index up to date."""
        from comity.assemble import open_existing_state, state_file
        from comity.reports.sources import find_source

        path = state_file(self._settings)
        with with_remedies(), open_existing_state(self._settings) as state:
            ids = tuple(find_source(state.database, named).id for named in self._sources)
            if path is None or path.exists():
                error = state.outbox_drain().drain(most=_MOST_UPDATED_FIRST).error
                if error is not None:
                    warnings.warn(f"the search index may be out of date: {error}", stacklevel=2)
            yield state, replace(self._query, source_id=ids)


def search(
    words: str = "",
    *,
    country: Values = (),
    level: Values = (),
    modality: Values = (),
    career_type: Values = (),
    tag: Values = (),
    language: Values = (),
    org: Values = (),
    source: Values = (),
    international: bool | None = None,
    deadline_after: str | date | None = None,
    deadline_before: str | date | None = None,
    since: str | date | timedelta | None = None,
    closed: bool = False,
    full: bool = False,
    sort: str | None = None,
    limit: int | None = None,
    state: Place | None = None,
) -> Postings:
    """Find job postings; loop over the result, or convert it to a table.

    The filters are those of `comity search`; docs/analysts.md describes them. Without a limit, every posting that
    matches is given, the newest first. A value that cannot be used is a `BadInput` at once.
    """
    given: dict[str, Values] = {
        "country": country,
        "level": level,
        "modality": modality,
        "career_type": career_type,
        "tag": tag,
        "language": language,
        "org": org,
    }
    filters = {_FILTERS[name]: checked_filter(_FILTERS[name], _listed(said), name) for name, said in given.items()}
    if limit is not None and limit < 1:
        raise BadInput("limit", f"must be at least 1, not {limit}")
    query = SearchQuery(
        words,
        international_eligible=international,
        deadline_after=_day("deadline_after", deadline_after, time.min),
        deadline_before=_day("deadline_before", deadline_before, time.max),
        since=_since(since),
        open_only=not closed,
        full_text=full,
        sort=_sort(sort, "relevance" if limit is not None else "newest"),
        **filters,  # type: ignore[arg-type]  # each is a tuple of texts
    )
    return Postings(settings_for(state), query, tuple(_listed(source)), limit)


def _listed(said: Values) -> tuple[str, ...]:
    return (said,) if isinstance(said, str) else tuple(said)


def _sort(said: str | None, otherwise: str) -> SearchSort:
    try:
        return SearchSort(said or otherwise)
    except ValueError:
        raise BadInput("sort", f"must be one of {', '.join(SearchSort)}, not {str(said)[:40]!r}") from None


def _since(said: str | date | timedelta | None) -> datetime | None:
    if isinstance(said, timedelta):
        return SystemClock().now() - said
    if isinstance(said, str):
        return read_since("since", said, SystemClock().now())
    return _day("since", said, time.min)


def _day(name: str, said: Any, at: time) -> datetime | None:
    """A day in UTC, at its beginning or end; a time with a zone is taken as it is."""
    if said is None:
        return None
    try:
        day = date.fromisoformat(said) if isinstance(said, str) else said
        if isinstance(day, datetime):
            if day.tzinfo is None:
                raise BadInput(name, "needs a time zone, such as datetime.UTC")
            return day
        return datetime.combine(day, at, UTC)
    except (ValueError, TypeError):
        raise BadInput(name, f"must be a date such as 2026-03-31, not {str(said)[:40]!r}") from None
