"""/admin/pages: stored pages, searched, shown and queried. They are read in a child process with limits."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from comity.doors.schemas.stored_pages import PageView, QueryAnswer, StoredPageList
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import error_responses
from comity.doors.web.requests import After, Limit, Line, Text
from comity.doors.web.services import Services, WebServices
from comity.model.errors import BadAddress, BadInput
from comity.rules.canonical import canonical_host, web_address
from comity.rules.sql.reading_only import LONGEST_STATEMENT
from comity.run.stored_pages.client import MOST_ROWS

router = Router(Audience.ADMIN, prefix="/admin/pages", tags=["pages"])

HostFilter = Annotated[Line | None, Query(description="Only pages of this host.", max_length=300)]
UrlFilter = Annotated[
    Line | None,
    Query(description="Only pages whose URL begins with this, or contains it if it has no scheme.", max_length=2000),
]
TextFilter = Annotated[
    Line | None, Query(description="Only pages whose title, text or source contains this.", max_length=200)
]


@router.get("", operation_id="search_pages", response_model=StoredPageList, responses=error_responses(422))
async def search(
    services: Services,
    host: HostFilter = None,
    url: UrlFilter = None,
    text: TextFilter = None,
    limit: Limit = 50,
    after: After = None,
) -> StoredPageList:
    """Search stored pages, the newest part first. No request goes to a site."""
    found = await services.stored_pages.search(
        host=host_of(services, host), url=url or "", text=text or "", after=after, limit=limit
    )
    return StoredPageList.model_validate(found | {"limit": limit})


@router.get("/view", operation_id="get_page", response_model=PageView, responses=error_responses(404))
async def view(
    services: Services,
    url: Annotated[Line, Query(description="The URL of the page, or the one it redirected to.", max_length=2000)],
    at: Annotated[
        int | None, Query(description="The time of a version, in microseconds since 1970; the newest by default.")
    ] = None,
) -> PageView:
    """Show one stored page: its source as text, its main text, and what is known of it."""
    return PageView.model_validate(await services.stored_pages.page(forms_of(services, url), at))


@router.get("/query", operation_id="query_pages", response_model=QueryAnswer, responses=error_responses(404, 422))
async def query(
    services: Services,
    sql: Annotated[
        Text,
        Query(
            description="One SELECT statement over the table pages.",
            max_length=LONGEST_STATEMENT,
            examples=["SELECT http_status, count(*) FROM pages GROUP BY 1"],
        ),
    ],
    rows: Annotated[int, Query(description="The maximum number of rows to return.", ge=1, le=MOST_ROWS)] = 200,
) -> QueryAnswer:
    """Query the stored pages with SQL: read-only, nothing but pages, with limits of time and memory."""
    return QueryAnswer.model_validate(await services.stored_pages.query(sql, rows=rows))


def host_of(services: WebServices, text: str | None) -> str:
    """The canonical name of a host; empty if none was sent."""
    if not text:
        return ""
    try:
        return canonical_host(text, collapse=services.state.settings.collapse_subdomains).authority
    except BadAddress as error:
        raise BadInput("host", error.reason) from None


def forms_of(services: WebServices, url: str) -> list[str]:
    """The forms under which a page may be stored: as it was sent, and canonical."""
    return [url, web_address(url, collapse=services.state.settings.collapse_subdomains).url]
