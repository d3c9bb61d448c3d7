"""/admin/hosts/{host}/…: the URLs, decisions, visits and transitions of a host, as tables."""

from __future__ import annotations

import json
from typing import Any, Final

from fastapi import Request
from fastapi.responses import Response
from markupsafe import Markup

from comity.doors.web.console import components, plots
from comity.doors.web.console.page import PageRouter, url
from comity.doors.web.console.pages.hosts import (
    bad,
    figure,
    host_table,
    http_status,
    path_of,
    status_badge,
    url_counts_of,
)
from comity.doors.web.console.tables import Column, Table, TableQuery, choice
from comity.doors.web.requests import HostName
from comity.doors.web.routes.hosts import urls_of_host
from comity.doors.web.services import Services
from comity.model.evidence import EvidenceType
from comity.model.host import HostStatus
from comity.model.outcome import OUTCOME_NAMES
from comity.reports.host_lists import (
    COUNTED_URLS,
    URL_STATES,
    ListPage,
    host_columns,
    host_evidence,
    host_fetches,
    host_moves,
)
from comity.rules import host_transitions

router = PageRouter("/admin/hosts")
_ON_ONE_LINE: Final = 20  # characters of an error


def _url_cell(row: Any) -> Markup:
    text = getattr(row, "page_url", None) or row.url
    return Markup('<a href="{}">{}</a>').format(url("/why", url=text), components.shortened(path_of(text), 80))


def _url_text(row: Any) -> str:
    return str(getattr(row, "page_url", None) or row.url)


URLS: Final = Table(
    "frontier",
    [
        Column("url", "URL", _url_cell, _url_text, is_wide=True),
        Column("state", "State", is_minor=True),
        Column("depth", "Depth", is_number=True),
        Column("priority", "Priority", is_number=True, is_minor=True),
        Column("attempts", "Tries", is_number=True, is_minor=True),
        Column("not_before", "Not before", is_minor=True),
        Column("discovered_at", "Found", is_minor=True),
    ],
    [choice("state", "State", URL_STATES, default="queued", has_all=False)],
    key=lambda row: row.url,
    pages_by_key=True,
    newer="First page",
    empty="No URL is queued.",
)


@router.get("/{host}/urls")
def urls(request: Request, services: Services, host: HostName) -> Response:
    """Show the URLs of a host by state."""

    def find(name: str, query: TableQuery, **page: Any) -> ListPage[Any]:
        return urls_of_host(services, name, query.get("state") or "queued", **page)

    def with_counts(name: str, _page: ListPage[Any]) -> dict[str, Any]:
        return {"counts": url_counts_of(services, name), "most": COUNTED_URLS}

    return host_table(request, services, host, "frontier", URLS, find, with_counts)


def _content(row: Any) -> Markup:
    """What led to a decision: its rule or reason first, then names and values."""
    said = dict(row.content)
    first = [str(said.pop(name)) for name in ("matched_rule", "reason") if said.get(name)]
    rest = [f"{components.words(name)} {value}" for name, value in said.items() if isinstance(value, str | int | float)]
    return components.shortened(" · ".join([*first, *rest]), 80)


EVIDENCE: Final = Table(
    "evidence",
    [
        Column("url", "URL", _url_cell, _url_text, is_wide=True),
        Column(
            "type",
            "Decision",
            lambda row: components.badge("good" if row.type == EvidenceType.ROBOTS_ALLOWED else "plain", row.type),
        ),
        Column(
            "content",
            "Because",
            _content,
            lambda row: json.dumps(row.content, ensure_ascii=False),
            is_wide=True,
        ),
        Column("confidence", "Confidence", is_minor=True),
        Column("created_at", "When", sorts=True),
    ],
    [choice("type", "Decision", EvidenceType)],
    default_sort="-created_at",
    key=lambda row: row.created_at,
    pages_by_key=True,
    newer="Newest",
    older="Older",
    empty="No decision about a URL of this host is stored.",
)


@router.get("/{host}/evidence")
def evidence(request: Request, services: Services, host: HostName) -> Response:
    """Show the decisions about the URLs of a host."""

    def find(name: str, query: TableQuery, **page: Any) -> ListPage[Any]:
        oldest_first = not query.descending
        return host_evidence(services.state.database, name, kind=query.get("type"), oldest_first=oldest_first, **page)

    return host_table(request, services, host, "evidence", EVIDENCE, find)


def _error(text: str | None) -> Markup | None:
    if not text:
        return None
    shown = components.shortened(components.words(text), 60)
    return bad(figure(shown) if len(text) <= _ON_ONE_LINE else shown)


FETCHES: Final = Table(
    "fetches",
    [
        Column("page_url", "URL", _url_cell, _url_text, is_wide=True),
        Column("outcome", "Outcome", lambda row: components.words(row.outcome)),
        Column("status", "Status", lambda row: http_status(row.status), is_number=True),
        Column("error", "Error", lambda row: _error(row.error)),
        Column("content_type", "Type", lambda row: (row.content_type or "").partition(";")[0], is_minor=True),
        Column(
            "bytes_received", "Size", lambda row: components.size(row.bytes_received), is_number=True, is_minor=True
        ),
        Column(
            "duration_ms",
            "Took",
            lambda row: components.duration(row.duration_ms / 1000 if row.duration_ms is not None else None),
            is_number=True,
            is_minor=True,
        ),
        Column("crawled_at", "When", sorts=True),
        Column("final_url", "Led to", in_page=False),
        Column("depth", "Depth", in_page=False),
        Column("discovery_type", "Kind", in_page=False),
    ],
    [
        choice(
            "outcome",
            "Outcome",
            OUTCOME_NAMES.values(),
        ),
        choice("errors", "Errors", [("1", "only errors")]),
    ],
    default_sort="-crawled_at",
    key=lambda row: row.id,
    pages_by_key=True,
    newer="Newest",
    older="Older",
    empty="No page of this host has been visited yet.",
)


@router.get("/{host}/fetches")
def fetches(request: Request, services: Services, host: HostName) -> Response:
    """Show the visits of a host's pages."""

    def find(name: str, query: TableQuery, **page: Any) -> ListPage[Any]:
        return host_fetches(
            services.state.database,
            name,
            outcome=query.get("outcome"),
            only_errors=query.get("errors") is not None,
            oldest_first=not query.descending,
            **page,
        )

    return host_table(request, services, host, "fetches", FETCHES, find)


MOVES: Final = Table(
    "transitions",
    [
        Column("moved_at", "When", sorts=True),
        Column("from_status", "From", lambda row: status_badge(row.from_status)),
        Column("to_status", "To", lambda row: status_badge(row.to_status)),
        Column(
            "reason", "Reason", lambda row: components.shortened(row.reason or row.reason_code or "", 120), is_wide=True
        ),
        Column("reason_code", "Code", in_page=False),
        Column("holder", "Worker", lambda row: components.holder(row.holder) if row.holder else None, is_minor=True),
    ],
    [choice("to_status", "To", HostStatus)],
    default_sort="-moved_at",
    key=lambda row: row.moved_at,
    pages_by_key=True,
    newer="Newest",
    older="Older",
    empty="The status of this host has not changed yet.",
)


@router.get("/{host}/moves")
def moves(request: Request, services: Services, host: HostName) -> Response:
    """Show the changes of a host's status."""

    def find(name: str, query: TableQuery, **page: Any) -> ListPage[Any]:
        status = HostStatus(text) if (text := query.get("to_status")) else None
        return host_moves(services.state.database, name, to_status=status, oldest_first=not query.descending, **page)

    def with_diagram(name: str, _page: ListPage[Any]) -> dict[str, Markup]:
        status = host_columns(services.state.database, name)["status"]
        moves, first = host_transitions.MOVES, host_transitions.FIRST
        return {"diagram": plots.state_diagram(moves, status, first=first, title="Lifecycle of the host")}

    return host_table(request, services, host, "moves", MOVES, find, with_diagram)
