"""/admin/crawl_results: what bots submitted, with price histories; and what they submitted too late."""

from __future__ import annotations

import json
from typing import Any, Final

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from comity.doors.web.console import components
from comity.doors.web.console.page import PageRouter, current_services, url
from comity.doors.web.console.pages import queue
from comity.doors.web.console.pages.crawl_policies import money, price_plot
from comity.doors.web.console.tables import Column, Filter, Table, TableQuery, choice, search
from comity.doors.web.services import Services, WebServices
from comity.model.errors import NotFound
from comity.reports.queue import (
    LATE,
    RESULTS,
    SubmittedResult,
    find_late,
    find_policy,
    find_result,
    identity_of,
    price_history,
    raw_html_of,
)

router = PageRouter("/admin/crawl_results")
_PATH: Final = "/crawl_results"
_SHOWN_HTML: Final = 200_000  # characters
_SHOWN_PRICES: Final = 150
_CURRENCIES: Final = ("EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "BRL", "VND", "AUD", "CAD", "SEK", "PLN")
_STOCK: Final = (("yes", "in stock"), ("no", "out of stock"))


def stock_badge(in_stock: bool | None) -> Markup:
    """Whether a product is in stock."""
    if in_stock is None:
        return components.NOTHING
    return components.badge("good", "in stock") if in_stock else components.badge("off", "out of stock")


def _crawled(row: SubmittedResult) -> Markup:
    return components.when(row.crawled_at, relative_to=current_services().state.clock.now())


def _bot(row: SubmittedResult) -> object:
    if not row.bot_id:
        return None
    name = components.shortened(row.bot_id, 24)
    return Markup('<a class="figure" href="{}">{}</a>').format(url("/bots", row.bot_id), name)


TABLE: Final = Table(
    "crawl_results",
    [
        Column("url", "URL", lambda row: components.address_lines(row.url), is_wide=True),
        Column("title", "Title", lambda row: components.shortened(row.title, 50), is_minor=True, is_wide=True),
        Column("price", "Price", lambda row: money(row.price, row.currency), is_number=True),
        Column("in_stock", "Stock", lambda row: stock_badge(row.in_stock)),
        Column("bot_id", "Bot", _bot, is_minor=True),
        Column("crawled_at", "Crawled", _crawled, lambda row: row.crawled_at, is_minor=True),
        Column("created_at", "Stored", sorts=True),
        Column("currency", "Currency", in_page=False),
        Column("id", "Id", in_page=False),
        Column("job_id", "Job", in_page=False),
        Column("policy_id", "Policy", in_page=False),
    ],
    [
        search("URL or id"),
        choice("in_stock", "Stock", _STOCK),
        choice("currency", "Currency", [(each, each) for each in _CURRENCIES]),
        choice("orphans", "Policy", [("yes", "none (orphans)")]),
        queue.CREATED,
        Filter("bot", "Bot", placeholder="Bot"),
        Filter("policy", "Policy", is_of_links=True),
    ],
    default_sort="-created_at",
    pages_by_key=True,
    key=lambda row: row.id,
    newer="First",
    row_href=lambda row: url(_PATH, row.id),
    empty="No results yet. Bots submit them for the jobs that they pull.",
    empty_lead=("Add a bot", "/bots/new"),
)
LATE_TABLE: Final = Table(
    "late_submissions",
    [
        Column("url", "URL", lambda row: components.address_lines(row.url), is_wide=True),
        Column("bot_id", "Bot"),
        Column("job_status", "Job status", lambda row: queue.job_badge(row.job_status)),
        Column("raw_html_bytes", "HTML", lambda row: components.size(row.raw_html_bytes), is_number=True),
        Column("received_at", "Received", sorts=True),
        Column("id", "Id", in_page=False),
        Column("job_id", "Job", in_page=False),
    ],
    [Filter("bot", "Bot", placeholder="Bot")],
    default_sort="-received_at",
    pages_by_key=True,
    key=lambda row: row.id,
    newer="First",
    row_href=lambda row: url(f"{_PATH}/late", row.id),
    empty="No late submissions. They come from bots that need longer for a job than its lock lasts.",
)


def _wanted(services: WebServices, query: TableQuery) -> dict[str, Any]:
    policy, stock = query.get("policy"), query.get("in_stock")
    wanted = queue.searched(query)
    # Results have no column for the host: a search that is neither an id nor a URL finds the page of that address.
    if "domain" in wanted:
        wanted = {"url": f"https://{query.get('q')}"}
    return wanted | {
        "in_stock": {"yes": True, "no": False}.get(stock or ""),
        "currency": query.get("currency"),
        "bot_id": query.get("bot"),
        "created_after": queue.created_after(services, query),
        "without_policy": query.get("orphans") is not None,
        "policy_id": (identity_of(policy) or identity_of("0" * 32)) if policy else None,
    }


@router.get("")
def listed(request: Request, services: Services) -> Response:
    """List results, the newest first. They are made by bots and cannot be changed."""
    query, database = TABLE.read(request), services.state.database
    wanted = _wanted(services, query)
    is_of_policy = wanted["policy_id"] is not None or wanted["without_policy"]
    # The index that begins with the policy has the time of the crawl; both times differ by moments.
    sort = query.sort_text.replace("created_at", "crawled_at") if is_of_policy else query.sort_text
    if is_of_policy:
        wanted["crawled_after"] = wanted.pop("created_after")
    if query.wants_csv:
        return TABLE.csv(RESULTS.export(database, sort=sort, **wanted), is_begun=True)
    page = RESULTS.safe_page(database, sort=sort, limit=query.limit, cursor=query.after or None, **wanted)
    return queue.render_queue(
        request,
        "queue/results.html",
        title="Results",
        part=_PATH,
        listing=TABLE.listing(query, page.items, cursor=page.cursor),
        is_late=False,
    )


@router.get("/late")
def listed_late(request: Request, services: Services) -> Response:
    """List what was submitted after the lock had run out. It changed nothing."""
    query, database = LATE_TABLE.read(request), services.state.database
    if query.wants_csv:
        return LATE_TABLE.csv(LATE.export(database, sort=query.sort_text, bot_id=query.get("bot")), is_begun=True)
    page = LATE.safe_page(
        database, sort=query.sort_text, limit=query.limit, cursor=query.after or None, bot_id=query.get("bot")
    )
    return queue.render_queue(
        request,
        "queue/results.html",
        title="Late submissions",
        part=_PATH,
        listing=LATE_TABLE.listing(query, page.items, cursor=page.cursor),
        is_late=True,
    )


@router.get("/late/{late_id}")
def show_late(request: Request, services: Services, late_id: queue.RowId) -> HTMLResponse:
    """Show one late submission."""
    database = services.state.database
    late = find_late(database, late_id)
    html = _source(raw_html_of(database, late_id, late=True)) if late.raw_html_bytes is not None else None
    return queue.render_queue(
        request,
        "queue/late.html",
        title=f"Late submission {str(late_id)[:8]}",
        part=_PATH,
        trail=[("Results", _PATH), ("Late submissions", f"{_PATH}/late")],
        late=late,
        job_badge=queue.job_badge,
        content=json.dumps(late.content, indent=2, ensure_ascii=False),
        html=html,
    )


@router.get("/{result_id}")
def show(request: Request, services: Services, result_id: queue.RowId) -> HTMLResponse:
    """Show one result: its fields, its page as source text, and the price history of its policy."""
    database = services.state.database
    result = find_result(database, result_id)
    plot = policy = None
    if result.policy_id is not None:
        plot = price_plot(price_history(database, result.policy_id, _SHOWN_PRICES))
        try:
            policy = find_policy(database, str(result.policy_id))
        except NotFound:  # deleted a moment ago
            policy = None
    html = _source(raw_html_of(database, result.id)) if result.raw_html_bytes is not None else None
    return queue.render_queue(
        request,
        "queue/result.html",
        title=components.shortened(result.title or result.url.split("://", 1)[-1], 90).striptags(),
        part=_PATH,
        result=result,
        price=money(result.price, result.currency),
        stock=stock_badge(result.in_stock),
        policy=policy,
        plot=plot,
        parsed=None if result.parsed_data is None else json.dumps(result.parsed_data, indent=2, ensure_ascii=False),
        html=html,
        most_html=_SHOWN_HTML,
    )


def _source(body: bytes) -> str:
    """A page of a stranger as text. The template escapes it; nothing of it is rendered."""
    text = body.decode("utf-8", "replace")
    return text if len(text) <= _SHOWN_HTML else f"{text[:_SHOWN_HTML]}\n…"
