"""/admin/pages: stored pages, searched, shown and queried. Crawled text is shown as text, never as a page."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, NamedTuple

from fastapi import Query, Request
from fastapi.responses import Response, StreamingResponse
from markupsafe import Markup

from comity.doors.schemas.stored_pages import PageView, StoredPageList, StoredPageView
from comity.doors.web.console import components
from comity.doors.web.console.page import PageRouter, render, url
from comity.doors.web.console.pages.hosts import http_status
from comity.doors.web.console.tables import MOST_CSV_ROWS, Column, Filter, Table, search
from comity.doors.web.routes.stored_pages import forms_of, host_of
from comity.doors.web.services import Services, WebServices
from comity.model.errors import BadInput, ComityError, NotFound
from comity.rules.csv_rows import csv_line
from comity.rules.sql.reading_only import LONGEST_STATEMENT
from comity.run.stored_pages.client import MOST_ROWS, SECONDS, TooMuch

router = PageRouter("/admin/pages")
_CSV_ROWS: Final = 200
_MOST_ROUNDS: Final = 2 * MOST_CSV_ROWS // _CSV_ROWS
_SHOWN_ROWS: Final = 200
_LONGEST_CELL: Final = 300
_NUMBER: Final = re.compile(r"-?\d[\d.]*(e[+-]?\d+)?", re.ASCII)
EXAMPLES: Final = (
    ("Pages by status", "SELECT http_status, count(*) AS pages FROM pages GROUP BY ALL ORDER BY pages DESC"),
    ("Largest pages", "SELECT url, length(body) AS characters FROM pages ORDER BY characters DESC NULLS LAST LIMIT 20"),
    (
        "Pages without a title",
        "SELECT url FROM pages WHERE http_status = 200 AND coalesce(trim(title), '') = '' LIMIT 100",
    ),
    ("Errors", "SELECT error, count(*) AS pages FROM pages WHERE error IS NOT NULL GROUP BY ALL ORDER BY pages DESC"),
    ("Columns", "DESCRIBE pages"),
)


def _title(row: StoredPageView) -> object:
    if row.error:
        return Markup('<span class="is-bad">{}</span>').format(components.words(row.error[:120]))
    return components.shortened(row.title or "", 80)


def _media_type(content_type: str | None) -> Markup:
    return components.shortened((content_type or "").partition(";")[0].strip(), 40)


PAGES: Final = Table(
    "pages",
    [
        Column(
            "url",
            "URL",
            lambda row: components.shortened(row.url.partition("://")[2], 90),
            lambda row: row.url,
            is_wide=True,
        ),
        Column("title", "Title or error", _title),
        Column("error", "Error", in_page=False),
        Column("http_status", "Status", lambda row: http_status(row.http_status), is_number=True),
        Column("content_type", "Type", lambda row: _media_type(row.content_type), is_minor=True),
        Column("crawl_time", "Stored", is_minor=True),
        Column("final_url", "Redirected to", in_page=False),
    ],
    [
        search("Text in the title or the page", "Text in the title or the page", name="text"),
        Filter("url", "URL", placeholder="URL begins with …"),
        Filter("host", "Host", placeholder="Host"),
    ],
    key=lambda row: row.url,
    pages_by_key=True,
    row_href=lambda row: url("/pages/view", url=row.url, at=_microseconds(row.crawl_time)),
    newer="First page",
    empty="No pages are stored yet. Start a crawl, or run `comity crawl https://example.org/`.",
    empty_lead=("Start a crawl", "/crawl/runs/new"),
)


def _microseconds(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


@router.get("")
async def listed(request: Request, services: Services) -> Response:
    """Search stored pages."""
    query = PAGES.read(request)
    problem, found = "", None
    wanted = {"url": query.get("url") or "", "text": query.get("text") or ""}
    try:
        wanted["host"] = host_of(services, query.get("host"))
        if query.wants_csv:
            return await _csv(services, wanted)
        found = StoredPageList.model_validate(
            await services.stored_pages.search(**wanted, after=query.after or None, limit=query.limit)
            | {"limit": query.limit}
        )
    except (BadInput, TooMuch) as error:
        problem = str(error)
    rows: Sequence[Any] = found.pages if found is not None else ()
    return render(
        request,
        "stored_pages/list.html",
        title="Pages",
        section="pages",
        status=422 if problem else 200,
        found=found,
        pages=PAGES.listing(query, rows, cursor=(found.next or "") if found is not None else ""),
        problem=problem,
        seconds=SECONDS,
        page_tabs=_tabs("search"),
    )


async def _csv(services: WebServices, wanted: dict[str, str]) -> StreamingResponse:
    async def part(after: str | None, limit: int) -> dict[str, Any]:
        found = await services.stored_pages.search(**wanted, after=after, limit=limit)
        if found["timed_out"]:  # the file must not end as if this were all
            raise TooMuch(f"the search took longer than {SECONDS:g} s; narrow it by a host or a URL")
        return found

    first = await part(None, _CSV_ROWS)  # what is wrong is an error then, not a file that breaks off

    async def lines() -> AsyncIterator[bytes]:
        columns = [column for column in PAGES.columns if column.in_csv]
        yield csv_line([column.name for column in columns]).encode()
        found, left = first, MOST_CSV_ROWS
        for _round in range(_MOST_ROUNDS):
            rows = [StoredPageView.model_validate(each) for each in found["pages"]]
            for row in rows:
                yield csv_line([column.text(row) for column in columns]).encode("utf-8", "replace")
            left -= len(rows)
            if found["next"] is None or left <= 0:
                return
            found = await part(found["next"], min(_CSV_ROWS, left))

    headers = {"Content-Disposition": 'attachment; filename="pages.csv"'}
    return StreamingResponse(lines(), media_type="text/csv; charset=utf-8", headers=headers)


def _tabs(current: str) -> list[tuple[str, str, bool]]:
    return [("Search", "/pages", current == "search"), ("SQL", "/pages/query", current == "sql")]


@router.get("/view")
async def show(
    request: Request,
    services: Services,
    address: Annotated[str, Query(alias="url", max_length=2000)] = "",
    at: Annotated[str, Query(max_length=20)] = "",
    part: Annotated[str, Query(max_length=10)] = "text",
) -> Response:
    """Show one stored page: its main text, its source as text, and what is known of it."""
    moment = int(at) if at.isascii() and at.isdecimal() else None
    try:
        found = PageView.model_validate(await services.stored_pages.page(forms_of(services, address), moment))
    except (NotFound, BadInput, TooMuch) as error:
        return render(
            request,
            "stored_pages/missing.html",
            title="Stored page",
            section="pages",
            trail=[("Pages", "/pages")],
            status=404 if isinstance(error, NotFound) else 422,
            problem=str(error),
            address=address,
        )
    here = {"url": found.page.url, "at": at or None}
    return render(
        request,
        "stored_pages/view.html",
        title=found.page.title or "Stored page",
        section="pages",
        trail=[("Pages", "/pages")],
        found=found,
        page=found.page,
        part=part if part in ("text", "source") else "text",
        here=here,
        moment_of=_microseconds,
        host=address.split("/")[2] if address.count("/") > 2 else "",
    )


class _Answer(NamedTuple):
    columns: list[str]
    rows: list[list[str | None]]
    has_more: bool
    seconds: float

    @property
    def numbers(self) -> list[bool]:
        """Which columns hold numbers and nothing else: they are aligned as numbers."""
        columns = [[row[place] for row in self.rows if row[place] is not None] for place in range(len(self.columns))]
        return [bool(column) and all(_NUMBER.fullmatch(str(each)) for each in column) for column in columns]


@router.get("/query")
async def query_pages(
    request: Request,
    services: Services,
    sql: Annotated[str, Query(max_length=LONGEST_STATEMENT)] = "",
    as_format: Annotated[str, Query(alias="format", max_length=5)] = "",
) -> Response:
    """Query the stored pages with SQL."""
    answer, problem = None, ""
    if sql.strip():
        try:
            rows = MOST_ROWS if as_format == "csv" else _SHOWN_ROWS
            found = await services.stored_pages.query(sql, rows=rows)
            answer = _Answer(found["columns"], found["rows"], found["has_more"], found["seconds"])
        except ComityError as error:
            problem = str(error).removeprefix("sql: ")
    if answer is not None and as_format == "csv":
        return _csv_answer(answer)
    return render(
        request,
        "stored_pages/query.html",
        title="Pages",
        section="pages",
        status=422 if problem else 200,
        sql=sql,
        answer=answer,
        problem=problem,
        examples=EXAMPLES,
        seconds=SECONDS,
        most=MOST_ROWS,
        longest=LONGEST_STATEMENT,
        cell=_cell,
        page_tabs=_tabs("sql"),
    )


def _csv_answer(answer: _Answer) -> Response:
    lines = [csv_line(answer.columns), *(csv_line(row) for row in answer.rows)]
    headers = {"Content-Disposition": 'attachment; filename="answer.csv"'}
    return Response("".join(lines).encode("utf-8", "replace"), media_type="text/csv; charset=utf-8", headers=headers)


def _cell(value: str | None) -> Markup:
    if value is None:
        return Markup('<span class="nothing">NULL</span>')
    return components.shortened(value, _LONGEST_CELL) if value else Markup("")
