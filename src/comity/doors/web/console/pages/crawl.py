"""/admin/crawl: what is due and running, the log of source runs, and crawls: list, start, follow, stop, continue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from comity.doors.web.console import plots
from comity.doors.web.console.components import NOTHING, badge, duration, number, plural, shortened, size, words
from comity.doors.web.console.forms import Field, Form, FormInvalid, PostedForm, sentence
from comity.doors.web.console.live import view
from comity.doors.web.console.page import FOR_OPERATORS, PageRouter, fragment, redirect, render, url
from comity.doors.web.console.pages.sources import run_badge
from comity.doors.web.console.tables import Column, Filter, Table, TableQuery, choice
from comity.doors.web.errors import ApiError
from comity.doors.web.requests import CrawlRequest
from comity.doors.web.routes.crawl import (
    RunId,
    place_after,
    read_place,
    resume_run,
    run_detail,
    run_progress,
    started,
    stop_run,
)
from comity.doors.web.services import Services, WebServices
from comity.model.errors import BadInput, ComityError, NotFound
from comity.model.source import RunStatus
from comity.reports.queue import identity_of
from comity.reports.runs import DOORS, STATUSES, RunListed, find_run, list_crawl_runs
from comity.reports.sources import LoggedRun, list_due, list_runs, sources_status
from comity.run.crawl.service import MOST_AT_ONCE, MOST_PROCESSES, CrawlOrder

router = PageRouter("/admin/crawl")
RUN_TONES: Final = {"running": "busy", "finished": "good", "stopped": "off", "failed": "bad"}
_DUE_SHOWN: Final = 20
_LOGS_SHOWN: Final = 10
_EXPORTED_AT_ONCE: Final = 500
_TABS: Final = (("Status", "/crawl"), ("Log", "/crawl/logs"), ("Crawls", "/crawl/runs"))


def _tabs(current: str) -> list[tuple[str, str, bool]]:
    return [(label, path, path == current) for label, path in _TABS]


def _counted(name: str, label: str) -> Column:
    return Column(name, label, is_number=True)


LOGS: Final = Table(
    "logs",
    [
        Column("ran_at", "Ran", sorts=True),
        Column(
            "org_name",
            "Source",
            lambda row: Markup('<a href="{}">{}</a>').format(
                url("/sources", row.source_id), shortened(row.org_name or row.careers_url, 48)
            ),
            is_wide=True,
        ),
        Column("status", "Result", lambda row: run_badge(row.status)),
        _counted("found", "Found"),
        _counted("inserted", "Inserted"),
        Column("updated", "Updated", is_number=True, is_minor=True),
        Column("closed", "Closed", is_number=True, is_minor=True),
        Column("pages", "Pages", is_number=True, is_minor=True),
        Column(
            "duration_ms",
            "Took",
            lambda row: duration(row.duration_ms / 1000) if row.duration_ms is not None else NOTHING,
            is_number=True,
            is_minor=True,
        ),
        Column("message", "Message", lambda row: shortened(row.message, 60), is_wide=True),
        Column("next_run_at", "Next run", in_page=False),
        Column("careers_url", "Careers page", in_page=False),
        Column("skipped", "Skipped", in_page=False),
        Column("next_run_reason", "Why then", in_page=False),
        Column("source_id", "Source id", in_page=False),
    ],
    [choice("status", "Result", RunStatus), Filter("source_id", "Source", is_of_links=True)],
    default_sort="-ran_at",
    key=lambda row: place_after(row.ran_at, row.id),
    pages_by_key=True,
    older="Older",
    newer="Newest",
    empty="No source has run yet. Runs appear here as soon as one has.",
    empty_lead=("Add a source", "/sources/new"),
)
RUNS: Final = Table(
    "runs",
    [
        Column("seeds", "Crawl", lambda row: _named(row), lambda row: " ".join(row.seeds), is_wide=True),
        Column("door", "Command", lambda row: badge("plain", row.door), is_minor=True),
        Column("status", "Status", lambda row: badge(RUN_TONES[row.status], row.status)),
        Column("started_at", "Started", sorts=True),
        Column(
            "ended_at",
            "Took",
            lambda row: duration(row.ended_at - row.started_at) if row.ended_at is not None else NOTHING,
            is_number=True,
            is_minor=True,
        ),
        _counted("pages_crawled", "Pages"),
        Column("pages_failed", "Errors", is_number=True, is_minor=True),
        Column("bytes_received", "Size", lambda row: size(row.bytes_received), is_number=True, is_minor=True),
        Column("ending", "Ended", lambda row: shortened(row.ending, 80), is_wide=True),
        Column("end_reason", "End reason", in_page=False),
        Column("id", "Id", in_page=False),
    ],
    # Runs of sources are many, and have their own log.
    [choice("door", "Command", DOORS, default="crawl"), choice("status", "Status", STATUSES)],
    default_sort="-started_at",
    key=lambda row: place_after(row.started_at, row.id),
    pages_by_key=True,
    older="Older",
    newer="Newest",
    row_href=lambda row: url("/crawl/runs", row.id),
    empty="No crawl yet. Start one here, or run `comity crawl https://example.com/`.",
)


def _named(run: RunListed) -> Markup:
    if not run.seeds:
        return Markup('<span class="soft">{}</span>').format("hosts that were due" if run.door == "crawl" else run.door)
    more = f" and {len(run.seeds) - 1:,} more" if len(run.seeds) > 1 else ""
    return shortened(run.seeds[0].removeprefix("https://").removesuffix("/"), 50) + more


_NOT_SETTINGS: Final = ("seeds", "refresh", "is_supervised")
_UNITS: Final = ("_s", "_ms")
_PATTERN: Final = "One per line: /docs/, *.html, re:REGEX."
_BOXES: Final = (
    "under",
    "subdomains",
    "refresh",
    "follow_links",
    "sitemaps",
    "text",
    "markdown",
    "images",
    "keep_links",
    "keep_headers",
)
START: Final = Form(
    (
        Field(
            "seeds",
            "Where to start",
            "area",
            required=True,
            placeholder="https://example.com/",
            help="URLs or hosts, one per line.",
            attributes={"rows": 4},
            is_code=True,
        ),
        Field(
            "max_pages",
            "Maximum pages",
            "number",
            help="0 for no limit. Default: 1,000 per host.",
            attributes={"min": 0},
        ),
        Field("max_minutes", "Maximum minutes", "number", help="0 for no limit.", attributes={"min": 0, "step": "any"}),
        Field("max_depth", "Depth", "number", help="Links from a seed. Default: 50.", attributes={"min": 0}),
        Field(
            "delay_s",
            "Seconds between requests",
            "number",
            help="Longer if the host asks for more.",
            attributes={"min": 0, "step": "any"},
        ),
        Field("processes", "Processes", "number", attributes={"min": 1, "max": MOST_PROCESSES}),
        Field("include", "Only these URLs", "area", help=_PATTERN, attributes={"rows": 3}, is_code=True),
        Field("exclude", "Leave out", "area", help=_PATTERN, attributes={"rows": 3}, is_code=True),
        Field("under", "Stay below the paths of the seeds", "check"),
        Field("subdomains", "Follow links to subdomains", "check"),
        Field("follow_links", "Follow links", "check"),
        Field("sitemaps", "Read sitemaps", "check"),
        Field("refresh", "Visit finished hosts again now", "check"),
        Field("text", "Store the main content as text", "check"),
        Field("markdown", "Store the main content as Markdown", "check"),
        Field("images", "Download images", "check"),
        Field("keep_links", "Store the links of each page", "check"),
        Field("keep_headers", "Store headers and timings", "check"),
    )
)


@router.get("")
@router.get("/status")
def status(request: Request, services: Services) -> Response:
    """Show what is due, running and done."""
    state = services.state
    return render(
        request,
        "crawl/status.html",
        title="Crawl",
        section="crawl",
        tabs_of=_tabs("/crawl"),
        due=list_due(state.database, state.clock, _DUE_SHOWN),
        logs=list_runs(state.database, None, _LOGS_SHOWN),
        now=state.clock.now(),
        run_badge=run_badge,
    )


@view("crawl")
def crawl_figures(services: WebServices, _parameters: Mapping[str, str]) -> str:
    """How many sources are due, queued and running, and which run now."""
    state = services.state
    return fragment(
        "crawl/figures.html",
        found=sources_status(state.database, state.clock),
        services=services,
        has_scheduler=not state.settings.disable_scheduler,
        crawls=services.crawls.running,
        most_crawls=MOST_AT_ONCE,
    )


@router.post("/run_due")
async def run_due(request: Request, services: Services) -> Response:
    """Run every due source once, without waiting for the scheduler."""
    queued = await services.pool.ask_for_due(services.state.settings.sources_limit)
    if not queued:
        return redirect(
            request, "/crawl", notice="Nothing new was queued: no source is due, or all are queued already."
        )
    return redirect(request, "/crawl", notice=f"{plural(queued, 'source')} queued.")


@router.get("/logs")
def logs(request: Request, services: Services) -> Response:
    """Show the log of source runs."""
    query = LOGS.read(request)
    source_id = identity_of(query.get("source_id") or "")
    if query.wants_csv:
        return LOGS.csv(_all_logs(services, query, source_id))
    rows = _logs(services, query, source_id, _position(query.after), query.limit + 1)
    source = services.source(source_id, allow_deleted=True) if source_id is not None else None
    return render(
        request,
        "crawl/logs.html",
        title="Log" if source is None else f"Log of {source.org_name or source.careers_url}",
        section="crawl",
        trail=[("Log", "/crawl/logs")] if source is not None else (),
        tabs_of=_tabs("/crawl/logs"),
        listing=LOGS.listing(query, rows),
    )


def _logs(
    services: WebServices,
    query: TableQuery,
    source_id: UUID | None,
    after: tuple[datetime, UUID] | None,
    limit: int,
) -> list[LoggedRun]:
    if query.get("source_id") and source_id is None:
        return []
    return list_runs(
        services.state.database,
        source_id,
        limit,
        status=query.get("status"),
        after=after,
        oldest_first=not query.descending,
    )


def _all_logs(services: WebServices, query: TableQuery, source_id: UUID | None) -> Iterator[LoggedRun]:
    after: tuple[datetime, UUID] | None = None
    for _ in range(100_000 // _EXPORTED_AT_ONCE):
        rows = _logs(services, query, source_id, after, _EXPORTED_AT_ONCE)
        yield from rows
        if len(rows) < _EXPORTED_AT_ONCE:
            return
        after = (rows[-1].ran_at, rows[-1].id)


@router.get("/runs")
def runs(request: Request, services: Services) -> Response:
    """Show runs, newest first; by default those of crawls."""
    query = RUNS.read(request)
    if query.wants_csv:
        return RUNS.csv(_all_runs(services, query))
    rows = _runs(services, query, _position(query.after), query.limit + 1)
    return render(
        request,
        "crawl/runs.html",
        title="Crawls",
        section="crawl",
        tabs_of=_tabs("/crawl/runs"),
        listing=RUNS.listing(query, rows),
    )


def _runs(services: WebServices, query: TableQuery, after: tuple[datetime, UUID] | None, limit: int) -> list[RunListed]:
    return list_crawl_runs(
        services.state.database,
        door=query.get("door"),
        status=query.get("status"),
        after=after,
        limit=limit,
        oldest_first=not query.descending,
    )


def _all_runs(services: WebServices, query: TableQuery) -> Iterator[RunListed]:
    after: tuple[datetime, UUID] | None = None
    for _ in range(100_000 // _EXPORTED_AT_ONCE):
        rows = _runs(services, query, after, _EXPORTED_AT_ONCE)
        yield from rows
        if len(rows) < _EXPORTED_AT_ONCE:
            return
        after = (rows[-1].started_at, rows[-1].id)


@router.get("/runs/new", dependencies=FOR_OPERATORS)
def new(request: Request, services: Services) -> Response:
    """Show the form that starts a crawl, filled with the server's settings."""
    settings = services.state.settings
    values: dict[str, Any] = {
        name: getattr(settings, name)
        for name in ("delay_s", "processes", "max_depth", "subdomains", "follow_links", "sitemaps")
    }
    kept = ("text", "markdown", "images", "keep_links", "keep_headers")
    values |= {name: getattr(settings, name) for name in kept}
    seeds = request.query_params.get("seeds", "")[:2000]
    return _start_page(request, START.filled(values | {"seeds": seeds}))


@router.post("/runs")
async def start(request: Request, services: Services, entered: PostedForm) -> Response:
    """Start a crawl on this server."""
    try:
        body = entered.parse(CrawlRequest, boxes=_BOXES, lists=["seeds", "include", "exclude"])
        order = CrawlOrder(tuple(body.seeds), body.choices(), body.under, body.refresh)
        run_id = await started(services.crawls.start(order))
    except (FormInvalid, BadInput) as error:
        return _start_page(request, START.refused(entered, error, at="seeds"), status=422)
    except ApiError as error:
        return _start_page(
            request, START.refused(entered, FormInvalid({"": sentence(str(error))})), status=error.status
        )
    return redirect(request, f"/crawl/runs/{run_id}", notice="Started.")


def _start_page(request: Request, form: Form, *, status: int = 200) -> HTMLResponse:
    return render(
        request,
        "crawl/start.html",
        title="Start a crawl",
        section="crawl",
        trail=[("Crawl", "/crawl"), ("Crawls", "/crawl/runs")],
        status=status,
        form=form,
    )


@router.get("/runs/{run_id}")
def show(request: Request, services: Services, run_id: RunId) -> Response:
    """Show one run: its progress while it runs, how it ended, its hosts and settings."""
    detail = run_detail(services, run_id)
    return render(
        request,
        "crawl/run.html",
        title=_title(find_run(services.state.database, run_id)),
        section="crawl",
        trail=[("Crawl", "/crawl"), ("Crawls", "/crawl/runs")],
        run=detail,
        settings=_other_settings(services, detail.settings),
        host_tones={"active": "busy", "exhausted": "good", "blocked": "warn", "unreachable": "bad", "pending": "wait"},
    )


def _title(run: RunListed) -> str:
    if not run.seeds:
        return {"crawl": "Run of a worker", "sources": "Run of a source", "sql": "Run of a query"}.get(
            run.door, "Run of an audit"
        )
    more = f" and {len(run.seeds) - 1:,} more" if len(run.seeds) > 1 else ""
    return run.seeds[0].removeprefix("https://").removesuffix("/")[:80] + more


def _other_settings(services: WebServices, recorded: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The settings of a run that are not those of this server, which are the ones that explain it."""
    own = services.state.recorded_settings

    def differs(name: str, value: Any) -> bool:
        # What the server has no setting for is off unless it is said.
        return own[name] != value if name in own else value not in (None, "", []) and value is not False

    found = sorted(each for each in recorded.items() if each[0] not in _NOT_SETTINGS and differs(*each))
    return [setting_in_words(name, value) for name, value in found]


def setting_in_words(name: str, value: Any) -> tuple[str, str]:
    """A recorded setting as a person reads it: `delay_s`, 0.5 is "delay", "0.5 s"."""
    if value in (None, "", []):
        text = "none"
    elif isinstance(value, bool):
        text = "on" if value else "off"
    elif isinstance(value, list):
        text = ", ".join(map(str, value))
    else:
        text = f"{value:,g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    if name.endswith(_UNITS):
        name, _, unit = name.rpartition("_")
        text = text if text == "none" else f"{text} {unit}"
    return words(name), text


@view("run")
def run_figures(services: WebServices, parameters: Mapping[str, str]) -> str:
    """The progress of a run."""
    run_id = UUID(parameters["id"])
    run = find_run(services.state.database, run_id)
    progress = run_progress(services, run_id) if run.status == "running" else None
    now = services.state.clock.now()
    seconds = max(((run.ended_at or now) - run.started_at).total_seconds(), 0.001)
    pages = progress.pages if progress is not None else run.pages_crawled
    faults = (
        plots.bars("Errors by kind", [(fault.code, fault.count) for fault in progress.faults[:6]], tone="bad")
        if (progress is not None and progress.faults)
        else None
    )
    return fragment(
        "crawl/progress.html",
        run=run,
        progress=progress,
        tones=RUN_TONES,
        pages=pages,
        speed=number(pages / seconds, 1),
        seconds=seconds,
        faults=faults,
    )


@router.post("/runs/{run_id}/stop")
async def stop(request: Request, services: Services, run_id: RunId) -> Response:
    """Stop a crawl cleanly."""
    try:
        await stop_run(services, run_id)
    except NotFound:
        raise
    except ComityError as error:
        return redirect(request, f"/crawl/runs/{run_id}", notice=f"Not stopped: {error}.", kind="bad")
    return redirect(request, f"/crawl/runs/{run_id}", notice="Stopping: requests in flight are finished first.")


@router.post("/runs/{run_id}/resume")
async def resume(request: Request, services: Services, run_id: RunId, entered: PostedForm) -> Response:
    """Continue a crawl where it ended, as a new run."""
    try:
        following = await resume_run(services, run_id, refresh=entered.is_on("refresh"))
    except NotFound:
        raise
    except (ComityError, ApiError) as error:
        return redirect(request, f"/crawl/runs/{run_id}", notice=f"Not continued: {error}.", kind="bad")
    return redirect(request, f"/crawl/runs/{following}", notice="Continued as a new run.")


def _position(text: str) -> tuple[datetime, UUID] | None:
    try:
        return read_place(text) if text else None
    except BadInput:
        return None
