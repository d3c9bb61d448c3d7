"""/admin/postings: search job postings, and count matches by value. Reading never causes a crawl."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import Response

from comity.doors.web.console.components import words
from comity.doors.web.console.page import PageRouter, render
from comity.doors.web.console.tables import Column, Table
from comity.doors.web.services import Services, WebServices
from comity.model.errors import BadInput, NotFound
from comity.model.search import FACETS, FILTERS, MOST_HITS, MOST_SKIPPED, MOST_VALUES, SearchQuery, SearchSort
from comity.reports.queue import identity_of
from comity.rules.jobs.countries import name_of_country
from comity.rules.search.query import checked_filter

router = PageRouter("/admin/postings")
LABELS: Final = {
    "country_iso": "Country",
    "level_norm": "Level",
    "work_modality": "Modality",
    "career_type": "Contract",
    "mission_tags": "Topic",
    "international_eligible": "Open to all nationalities",
    "language": "Language",
    "org_name": "Organisation",
}
_LIMIT: Final = 20
_LONGEST: Final = 1000
_VALUES_SHOWN: Final = 8
_MOST_EXPORTED: Final = 100_000
_CSV: Final = Table(
    "postings",
    [
        Column(name, name)
        for name in (
            "title",
            "org_name",
            "location_raw",
            "country_iso",
            "level_norm",
            "work_modality",
            "career_type",
            "language",
            "posted_at",
            "deadline",
            "first_seen_at",
            "closed_at",
            "apply_url",
            "source_url",
            "id",
        )
    ],
)


@router.get("")
async def found(request: Request, services: Services) -> Response:
    """Show postings that match."""
    query, ignored = _query(request)
    if request.query_params.get("format") == "csv":
        return await asyncio.to_thread(_CSV.csv, _all_postings(services, query))
    page = await services.find_postings(query)
    chosen = {name: getattr(query, name) for name in FILTERS}
    if query.international_eligible is not None:
        chosen["international_eligible"] = ("true" if query.international_eligible else "false",)
    source = await asyncio.to_thread(_source, services, query)
    return render(
        request,
        "postings/search.html",
        title="Job postings",
        section="postings",
        page=page,
        query=query,
        labels=LABELS,
        named=_named,
        chosen={name: values for name, values in chosen.items() if values},
        facets=[(name, page.facets.get(name, ())) for name in FACETS],
        values_shown=_VALUES_SHOWN,
        href=lambda **changes: _href(request, **changes),
        toggled=lambda name, value: _toggled(request, name, value),
        ignored=ignored,
        source=source,
        limit=_LIMIT,
        most_skipped=MOST_SKIPPED,
        now=services.state.clock.now(),
        sorts=[(each.value, each.value) for each in SearchSort],
    )


def _named(name: str, value: str) -> str:
    """A value of a facet in words."""
    if name == "country_iso":
        return name_of_country(value)
    if name == "international_eligible":
        return "yes" if value == "true" else "no"
    return value if name in ("language", "org_name") else words(value)


def _source(services: WebServices, query: SearchQuery) -> Any:
    if not query.source_id:
        return None
    try:
        return services.source(query.source_id[0], allow_deleted=True)
    except NotFound:
        return None


def _query(request: Request) -> tuple[SearchQuery, list[str]]:
    """What the address asks for; what cannot be used is left out, and named."""
    sent, ignored = request.query_params, []
    values: dict[str, Any] = {}
    for name in FILTERS:
        given = [value[:300] for value in sent.getlist(name) if value and "\0" not in value][:MOST_VALUES]
        try:
            values[name] = checked_filter(name, given)
        except BadInput:
            ignored.append(name)
    values["source_id"] = tuple(filter(None, map(identity_of, sent.getlist("source_id")[:MOST_VALUES])))
    eligible = sent.get("international_eligible")
    values["international_eligible"] = {"true": True, "false": False}.get(eligible) if eligible else None
    sort, offset = sent.get("sort", ""), sent.get("offset", "")
    text = sent.get("q", "")[:_LONGEST].replace("\0", " ")
    return SearchQuery(
        text=text,
        open_only=sent.get("closed") != "on",
        sort=SearchSort(sort) if sort in set(SearchSort) else SearchSort.RELEVANCE,
        limit=_LIMIT,
        offset=min(int(offset), MOST_SKIPPED) if offset.isascii() and offset.isdecimal() and len(offset) < 9 else 0,
        **values,
    ), ignored


def _all_postings(services: WebServices, query: SearchQuery) -> Iterator[Any]:
    following: str | None = None
    for _ in range(_MOST_EXPORTED // MOST_HITS):
        part = replace(query, limit=MOST_HITS, offset=0, cursor=following, facets=())
        page = services.search.query(part)
        yield from (hit.posting for hit in page.hits)
        following = page.next
        if following is None:
            return


def _href(request: Request, **changes: object) -> str:
    """The address of this search with some parameters changed; the first page, unless that is changed."""
    sent = [(name, value) for name, value in request.query_params.multi_items() if name not in ("offset", "format")]
    sent = [(name, value) for name, value in sent if name not in changes]
    sent += [(name, str(value)) for name, value in changes.items() if value not in (None, "")]
    return f"?{urlencode(sent)}"


def _toggled(request: Request, name: str, value: str) -> str:
    """The address with one value of a filter added, or removed if it is there."""
    sent = [each for each in request.query_params.multi_items() if each[0] not in ("offset", "format")]
    if (name, value) in sent:
        sent.remove((name, value))
    else:
        sent = [each for each in sent if name != "international_eligible" or each[0] != name] + [(name, value)]
    return f"?{urlencode(sent)}"
