"""/search: job postings for everybody. Reads only: whatever is asked, nothing is crawled for it."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BeforeValidator, Field

from comity.doors.web.given import Text
from comity.doors.web.office import OfficeHere
from comity.doors.web.refusals import documented
from comity.doors.web.shown import SearchShown
from comity.model.search import FACETS, MOST_HITS, MOST_SKIPPED, MOST_VALUES, SearchQuery, SearchSort

router = APIRouter(tags=["search"])
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_LONGEST: Final = 1000


def _only_a_day(text: Any) -> Any:
    """No seconds since 1970, which pydantic would take for a day, too."""
    if isinstance(text, str) and not _DAY.fullmatch(text):
        raise ValueError("must be a day such as 2027-01-31")
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
    return Query(description=f"{text}; any of those given.", max_length=MOST_VALUES, examples=[[example]])


Value = Annotated[Text, Field(max_length=300)]


@router.get("/search", operation_id="search", response_model=SearchShown, responses=documented(403, 422, 429, 500, 503))
async def search(  # each filter is a parameter
    office: OfficeHere,
    q: Annotated[
        Text, Query(description='Words that all occur, "phrases", and -words that do not.', max_length=_LONGEST)
    ] = "",
    country_iso: Annotated[list[Value], _any_of("Countries, two letters each", "KE")] = [],  # noqa: B006
    level_norm: Annotated[list[Value], _any_of("Levels", "senior")] = [],  # noqa: B006
    work_modality: Annotated[list[Value], _any_of("onsite, hybrid, remote or field", "remote")] = [],  # noqa: B006
    career_type: Annotated[list[Value], _any_of("Kinds of contract", "consultancy")] = [],  # noqa: B006
    mission_tags: Annotated[list[Value], _any_of("What it is about", "health")] = [],  # noqa: B006
    language: Annotated[list[Value], _any_of("In which language it is written", "en")] = [],  # noqa: B006
    org_name: Annotated[list[Value], _any_of("Organisations by their whole name", "Example Aid")] = [],  # noqa: B006
    source_id: Annotated[list[UUID], Query(description="Sources that list it.", max_length=MOST_VALUES)] = [],  # noqa: B006
    international_eligible: Annotated[bool | None, Query(description="Open to any nationality, or not.")] = None,
    deadline_after: Annotated[Day | None, Query(description="From this day on (UTC).")] = None,
    deadline_before: Annotated[Day | None, Query(description="Up to this day (UTC).")] = None,
    open_only: Annotated[bool, Query(description="Only where one can still apply.")] = True,
    sort: SortName = "relevance",
    limit: Annotated[int, Query(ge=1, le=MOST_HITS)] = 20,
    offset: Annotated[int, Query(ge=0, le=MOST_SKIPPED)] = 0,
    facets: Annotated[
        list[FacetName], Query(description="What to count by; all by default.", max_length=len(FACETS))
    ] = [],  # noqa: B006
) -> SearchShown:
    """Find job postings; without words, the newest."""
    query = SearchQuery(
        text=q,
        country_iso=tuple(country_iso),
        level_norm=tuple(level_norm),
        work_modality=tuple(work_modality),
        career_type=tuple(career_type),
        mission_tags=tuple(mission_tags),
        language=tuple(language),
        org_name=tuple(org_name),
        source_id=tuple(source_id),
        international_eligible=international_eligible,
        deadline_after=_begin(deadline_after),
        deadline_before=_end(deadline_before),
        open_only=open_only,
        sort=SearchSort(sort),
        limit=limit,
        offset=offset,
        facets=tuple(dict.fromkeys(facets)) or FACETS,
    )
    return SearchShown.model_validate(await office.found(query))


def _begin(day: date | None) -> datetime | None:
    return datetime.combine(day, time.min, UTC) if day is not None else None


def _end(day: date | None) -> datetime | None:
    return datetime.combine(day, time.max, UTC) if day is not None else None
