"""Search: the query (SearchQuery), what is indexed of a posting (SearchDocument and its JSON), and the result page.

A query is read-only and bounded; it never causes a request to a site. Matches come as pieces of text, marked or not, so
that the renderer escapes each piece and trusts no markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from comity.model.dataclass import dataclass
from comity.model.errors import BadInput

MOST_HITS: Final = 100
MOST_SKIPPED: Final = 10_000
MOST_VALUES: Final = 50  # of one filter
FACETS: Final = (
    *("country_iso", "level_norm", "work_modality", "career_type", "mission_tags"),
    *("international_eligible", "language", "org_name"),
)
MOST_FACET_VALUES: Final = 50  # of one facet, the most frequent first


class SearchSort(StrEnum):
    """The order of postings; without search words, relevance is the same as newest."""

    RELEVANCE = "relevance"
    NEWEST = "newest"
    DEADLINE = "deadline"  # the next to close first, those without a deadline last


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What a user searches for: words, filters (any value of each), order, and which part of the result."""

    text: str = ""
    country_iso: tuple[str, ...] = ()
    level_norm: tuple[str, ...] = ()
    work_modality: tuple[str, ...] = ()
    career_type: tuple[str, ...] = ()
    mission_tags: tuple[str, ...] = ()
    language: tuple[str, ...] = ()
    org_name: tuple[str, ...] = ()  # whatever the case or the accents
    source_id: tuple[UUID, ...] = ()
    international_eligible: bool | None = None
    deadline_after: datetime | None = None  # both inclusive; a posting without a deadline is in neither
    deadline_before: datetime | None = None
    since: datetime | None = None  # posted, or first seen if the page has no date, at this time or later
    open_only: bool = True  # still listed, and the deadline has not passed
    sort: SearchSort = SearchSort.RELEVANCE
    limit: int = 20
    offset: int = 0
    facets: tuple[str, ...] = FACETS
    cursor: str | None = None  # the `next` of the page before; instead of an offset
    full_text: bool = False  # with the whole description of each hit

    def __post_init__(self) -> None:
        """Refuse a query without bounds."""
        if not 1 <= self.limit <= MOST_HITS:
            raise BadInput("limit", f"from 1 to {MOST_HITS}, not {self.limit}")
        if not 0 <= self.offset <= MOST_SKIPPED:
            raise BadInput("offset", f"from 0 to {MOST_SKIPPED}, not {self.offset}")
        if self.cursor is not None and self.offset:
            raise BadInput("offset", "cannot be combined with a cursor")
        for name in (*FILTERS, "source_id"):
            if len(getattr(self, name)) > MOST_VALUES:
                raise BadInput(name, f"at most {MOST_VALUES} values")
        for name in self.facets:
            if name not in FACETS:
                raise BadInput("facets", f"one of {', '.join(FACETS)}, not {name[:40]!r}")


# The filters that name values of text.
FILTERS: Final = (
    *("country_iso", "level_norm", "work_modality", "career_type", "mission_tags"),
    *("language", "org_name"),
)


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """One posting as the search index stores it."""

    id: UUID
    title: str
    org_name: str
    apply_url: str
    location_raw: str
    description_snippet: str
    first_seen_at: datetime
    description_text: str | None = None  # searched; in a hit only where it is asked for
    source_id: UUID | None = None
    source_url: str | None = None  # the page that lists it
    deadline: datetime | None = None
    posted_at: datetime | None = None
    city: str | None = None
    country_iso: str | None = None
    level_norm: str | None = None
    work_modality: str | None = None
    career_type: str | None = None
    international_eligible: bool | None = None
    mission_tags: tuple[str, ...] = ()
    language: str | None = None
    closed_at: datetime | None = None

    @property
    def newest_at(self) -> datetime:
        """When it was posted, by the page if it says so, else when it was first seen."""
        return self.posted_at or self.first_seen_at

    def is_open(self, now: datetime) -> bool:
        """Whether one can still apply."""
        return self.closed_at is None and (self.deadline is None or self.deadline >= now)


Posting = SearchDocument
"""A posting, as users of the Python API call it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text, and whether it matches the query."""

    text: str
    is_match: bool = False


Marked = tuple[Piece, ...]  # put together, the text as it is


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A posting that was found, with the matches marked in it."""

    posting: SearchDocument
    title: Marked
    org_name: Marked
    location: Marked
    snippet: Marked  # a part of the description, around what matched


@dataclass(frozen=True, slots=True)
class FacetCount:
    """How many of the postings found have this value."""

    value: str  # "true" and "false" for what is a yes or no
    count: int


@dataclass(frozen=True, slots=True)
class SearchPage:
    """A page of the result, and the size of the whole result."""

    hits: tuple[SearchHit, ...]
    total: int
    facets: Mapping[str, tuple[FacetCount, ...]] = field(default_factory=dict)
    next: str | None = None
    """The cursor of the page after this one; None if this is the last."""


@dataclass(frozen=True, slots=True)
class SearchPosition:
    """A place in a result: the values by which its last hit was sorted."""

    sort: SearchSort
    newest_at: datetime
    posting_id: UUID
    deadline: datetime | None = None
    rank: float | None = None
    """How well the hit matches, as its engine computes it; None unless the result is sorted by relevance."""


@dataclass(frozen=True, slots=True)
class HitPage:
    """Some hits in order, and the position of the last of them if there are more."""

    hits: tuple[SearchHit, ...]
    last: SearchPosition | None = None


@dataclass(frozen=True, slots=True)
class OutboxStatus:
    """What the search index still has to receive."""

    pending: int
    failing: int  # tried at least once
    oldest_at: datetime | None
    next_attempt_at: datetime | None
    last_error: str | None


# The whole description is searched, and read from the posting when it is shown.
_NAMES: Final = tuple(each.name for each in fields(SearchDocument) if each.name != "description_text")
_TIMES: Final = ("first_seen_at", "deadline", "posted_at", "closed_at")


def card_of(document: SearchDocument) -> dict[str, Any]:
    """The JSON card of a document; empty values are left out."""
    found: dict[str, Any] = {}
    for name in _NAMES:
        value = getattr(document, name)
        if isinstance(value, datetime):
            value = value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        elif isinstance(value, UUID):
            value = str(value)
        elif isinstance(value, tuple):
            value = list(value)
        if value not in (None, []):
            found[name] = value
    return found


def document_from(card: Mapping[str, Any]) -> SearchDocument:
    """The document of a card; ValueError, KeyError or TypeError if the card is invalid."""
    values = {name: card[name] for name in _NAMES if card.get(name) is not None}
    for name in _TIMES:
        if name in values:
            values[name] = datetime.fromisoformat(values[name])
    source_id = values.get("source_id")
    return SearchDocument(
        **values
        | {
            "id": UUID(values["id"]),
            "source_id": UUID(source_id) if source_id is not None else None,
            "mission_tags": tuple(values.get("mission_tags", ())),
        }
    )
