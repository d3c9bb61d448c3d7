"""/search: public search of job postings. Read-only: a search never causes a crawl."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import Query
from pydantic import BeforeValidator, Field

from comity.doors.schemas.sources import SearchResults
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import ApiError, ErrorDetail, error_responses
from comity.doors.web.requests import Text
from comity.doors.web.services import Services
from comity.model.errors import BadInput
from comity.model.job import CAREER_TYPES, LEVELS, MISSION_TAGS, MODALITIES
from comity.model.search import FACETS, MOST_HITS, MOST_SKIPPED, MOST_VALUES, SearchQuery, SearchSort
from comity.rules.search.query import LONGEST_SEARCH_CURSOR, checked_filter, read_since

router = Router(Audience.PUBLIC, tags=["search"])
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_MAX_QUERY: Final = 1000
_KNOWN: Final = {
    "level_norm": LEVELS,
    "work_modality": MODALITIES,
    "career_type": CAREER_TYPES,
    "mission_tags": MISSION_TAGS,
}


def _only_a_day(text: Any) -> Any:
    """Pydantic would also accept seconds since 1970."""
    if isinstance(text, str) and not _DAY.fullmatch(text):
        raise ValueError("must be a date such as 2027-01-31")
    return text


Day = Annotated[date, BeforeValidator(_only_a_day)]
FacetName = Literal[
    "country_iso",
    "level_norm",
    "work_modality",
    "career_type",
    "mission_tags",
    "international_eligible",
    "language",
    "org_name",
]
SortName = Literal["relevance", "newest", "deadline"]


def _any_of(text: str, example: str) -> Any:
    description = f"{text}. May be repeated; a posting matches if it has any of the values."
    return Query(description=description, max_length=MOST_VALUES, examples=[[example]])


Value = Annotated[Text, Field(max_length=300)]


@router.get(
    "/search", operation_id="search", response_model=SearchResults, responses=error_responses(403, 422, 429, 500, 503)
)
async def search(  # each filter is a parameter
    services: Services,
    q: Annotated[
        Text,
        Query(description='Words that must all occur, "phrases", and -words to exclude.', max_length=_MAX_QUERY),
    ] = "",
    country_iso: Annotated[list[Value], _any_of("Country: its two-letter code or its name", "KE")] = [],  # noqa: B006
    level_norm: Annotated[list[Value], _any_of(f"Level: {', '.join(LEVELS)}", "senior")] = [],  # noqa: B006
    work_modality: Annotated[list[Value], _any_of(f"Work modality: {', '.join(MODALITIES)}", "remote")] = [],  # noqa: B006
    career_type: Annotated[list[Value], _any_of(f"Contract type: {', '.join(CAREER_TYPES)}", "consultancy")] = [],  # noqa: B006
    mission_tags: Annotated[list[Value], _any_of(f"Topic: {', '.join(MISSION_TAGS)}", "health")] = [],  # noqa: B006
    language: Annotated[list[Value], _any_of("Language of the posting: its two-letter code or its name", "en")] = [],  # noqa: B006
    org_name: Annotated[list[Value], _any_of("Organisation: its full name", "Example Aid")] = [],  # noqa: B006
    source_id: Annotated[list[UUID], Query(description="Sources that list the posting.", max_length=MOST_VALUES)] = [],  # noqa: B006
    international_eligible: Annotated[
        bool | None, Query(description="Whether the posting is open to all nationalities.")
    ] = None,
    deadline_after: Annotated[Day | None, Query(description="The deadline is on or after this day (UTC).")] = None,
    deadline_before: Annotated[Day | None, Query(description="The deadline is on or before this day (UTC).")] = None,
    since: Annotated[
        Text | None,
        Query(
            description="Posted on or after this day (UTC), or in the last 24h, 7d, 2w. For a posting without a date, "
            "the time when it was first seen counts.",
            max_length=20,
            examples=["7d"],
        ),
    ] = None,
    open_only: Annotated[bool, Query(description="Only postings that still accept applications.")] = True,
    sort: SortName = "relevance",
    limit: Annotated[int, Query(ge=1, le=MOST_HITS)] = 20,
    offset: Annotated[int, Query(ge=0, le=MOST_SKIPPED)] = 0,
    cursor: Annotated[
        Text | None,
        Query(
            description="The `next` of the previous page, with the same query; use it instead of offset.",
            max_length=LONGEST_SEARCH_CURSOR,
        ),
    ] = None,
    full_text: Annotated[bool, Query(description="Return the whole description of each posting.")] = False,
    facets: Annotated[
        list[FacetName],
        Query(description="Fields whose values to count; all by default, none with a cursor.", max_length=len(FACETS)),
    ] = [],  # noqa: B006
) -> SearchResults:
    """Search job postings. Without words, list the newest."""
    query = SearchQuery(
        text=q,
        country_iso=_checked("country_iso", country_iso),
        level_norm=_checked("level_norm", level_norm),
        work_modality=_checked("work_modality", work_modality),
        career_type=_checked("career_type", career_type),
        mission_tags=_checked("mission_tags", mission_tags),
        language=_checked("language", language),
        org_name=tuple(org_name),
        source_id=tuple(source_id),
        international_eligible=international_eligible,
        deadline_after=_start_of(deadline_after),
        deadline_before=_end_of(deadline_before),
        since=read_since("since", since, services.state.clock.now()) if since is not None else None,
        open_only=open_only,
        sort=SearchSort(sort),
        limit=limit,
        offset=offset,
        facets=tuple(dict.fromkeys(facets)) or (() if cursor else FACETS),
        cursor=cursor,
        full_text=full_text,
    )
    return SearchResults.model_validate(await services.find_postings(query))


def _checked(name: str, values: list[str]) -> tuple[str, ...]:
    """The values of a filter, normalized; raises `ApiError` 422 for one that no posting can have."""
    try:
        return checked_filter(name, values)
    except BadInput as error:
        known = f"must be one of {', '.join(_KNOWN[name])}" if name in _KNOWN else str(error)
        detail = ErrorDetail(where=f"query.{name}", message=known)
        raise ApiError(422, error.code, str(error), details=[detail]) from None


def _start_of(day: date | None) -> datetime | None:
    return datetime.combine(day, time.min, UTC) if day is not None else None


def _end_of(day: date | None) -> datetime | None:
    return datetime.combine(day, time.max, UTC) if day is not None else None
