"""/admin/sources: the table of sources, their forms and actions, one source in full, and the import of a list."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from comity.doors.schemas.decisions import RobotsVerdictView, robots_verdict_view
from comity.doors.schemas.hosts import PolicyView, policy_view
from comity.doors.web.console import plots
from comity.doors.web.console.components import NOTHING, badge, cut, plural, shortened, when
from comity.doors.web.console.forms import Field, Form, FormInvalid, FormValues, PostedForm
from comity.doors.web.console.live import view
from comity.doors.web.console.page import (
    FOR_OPERATORS,
    PageRouter,
    current_services,
    fragment,
    redirect,
    render,
    render_fragment,
    url,
)
from comity.doors.web.console.pages.host_rules import LIMITS
from comity.doors.web.console.tables import Bulk, Column, Table, TableQuery, choice, search
from comity.doors.web.errors import ApiError
from comity.doors.web.notices import Offer
from comity.doors.web.requests import PolicyChanges, SourceChanges, SourceId, SourceRequest
from comity.doors.web.routes.crawl import queue_run
from comity.doors.web.routes.sources import act_on_many
from comity.doors.web.services import Services, WebServices
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, ComityError, NotFound
from comity.model.job import SourceType
from comity.model.robots import RobotsUnreachable
from comity.model.source import ORG_TYPES, HeadRead, RunStatus, ScheduleName, Source, SourceStatus
from comity.model.source_import import SourceFormat, SourceImport
from comity.operate.import_sources import ImportTerms, import_sources
from comity.operate.policy import get_policy, set_policy
from comity.operate.sources import (
    Simulation,
    add_source,
    approve_source,
    check_hint,
    delete_source,
    edit_source,
    ignored_settings,
    pause_source,
    resume_source,
    simulate_extract,
    source_to_try,
    test_fetch,
)
from comity.reports.host_lists import is_known_host
from comity.reports.hosts import known_robots
from comity.reports.queue import identity_of
from comity.reports.sources import (
    LoggedRun,
    count_sources,
    list_runs,
    list_sources,
    next_run,
    sources_status,
)
from comity.rules.canonical import WebAddress, resolve_link
from comity.rules.next_run import NextRunReason
from comity.rules.row_list import read_source_list
from comity.walk.robots.record import cached_robots

router = PageRouter("/admin/sources")
STATUS_TONES: Final = {"active": "good", "paused": "off", "blocked": "warn", "deleted": "off"}
RUN_TONES: Final = {"ok": "good", "warn": "warn", "fail": "bad"}
SCHEDULES: Final = {ScheduleName.S0: "fixed rules", ScheduleName.ADAPTIVE: "adaptive"}
_HISTORY: Final = 60  # runs in the plot
_LATEST: Final = 10  # runs in the table of one source
_IMPORTED_SHOWN: Final = 200
_EXPORTED_AT_ONCE: Final = 500
_LONGEST_TITLE: Final = 90
_ACTIONS: Final = {"pause": pause_source, "resume": resume_source, "approve": approve_source}
_DONE: Final = {"pause": "Paused.", "resume": "Resumed: due now.", "approve": "Approved: due now."}


def run_badge(status: str | None) -> Markup:
    """How a run ended."""
    return badge(RUN_TONES.get(status, "plain"), status) if status else NOTHING


def _href(source: Any) -> str:
    return url("/sources", source.id)


TABLE: Final = Table(
    "sources",
    [
        Column("org_name", "Organisation and careers page", lambda row: _named(row), sorts=True, is_wide=True),
        Column("careers_url", "Careers page", in_page=False),
        Column("source_type", "Type", lambda row: badge("plain", row.source_type), is_minor=True),
        Column("status", "Status", lambda row: badge(STATUS_TONES[row.status], row.status)),
        Column("crawl_frequency_days", "Every", lambda row: _every(row), is_number=True, is_minor=True),
        Column("next_run_at", "Next run", lambda row: _next(row), lambda row: _next_time(row), sorts=True),
        Column("last_crawled_at", "Last crawl", lambda row: _ago(row.last_crawled_at), sorts=True, is_minor=True),
        Column("last_crawl_status", "Last result", lambda row: _result(row)),
        Column("last_crawl_message", "Message", in_page=False),
        Column("org_type", "Kind", in_page=False),
        Column("parser_hint", "Parser hint", in_page=False),
        Column("time_window", "Time window", in_page=False),
        Column("consecutive_failures", "Failures", in_page=False),
        Column("last_found", "Found", in_page=False),
        Column("id", "Id", in_page=False),
    ],
    [
        search("Search name or address"),
        choice("status", "Status", SourceStatus),
        choice("source_type", "Type", SourceType),
        choice("org_type", "Kind", ORG_TYPES),
        choice("last_crawl_status", "Result", RunStatus),
    ],
    default_sort="next_run_at",
    key=lambda row: row.id,
    bulk=(
        Bulk("run", "Run now"),
        Bulk("pause", "Pause"),
        Bulk("resume", "Resume"),
        Bulk("delete", "Delete", is_dangerous=True),
    ),
    bulk_path="/sources/bulk",
    row_href=_href,
    empty="No sources yet.",
)


def _host(row: Source) -> str:
    address = resolve_link(row.careers_url, row.careers_url)
    return address.host if address is not None else row.careers_url


def _next_time(row: Source) -> datetime | None:
    return row.next_run_at if row.status is SourceStatus.ACTIVE else None


def _next(row: Source) -> Markup:
    if row.status is not SourceStatus.ACTIVE:
        return NOTHING
    now = current_services().state.clock.now()
    is_due = row.next_run_at is None or row.next_run_at <= now
    return badge("wait", "due now") if is_due else when(row.next_run_at, relative_to=now)


def _ago(moment: datetime | None) -> Markup:
    return when(moment, relative_to=current_services().state.clock.now())


def _every(row: Source) -> object:
    return f"{row.crawl_frequency_days} d" if row.crawl_frequency_days else NOTHING


def _result(row: Source) -> Markup:
    said = Markup('<span class="sub is-one-line">{}</span>').format(shortened(row.last_crawl_message, 32))
    return run_badge(row.last_crawl_status) + (said if row.last_crawl_message else "")


def _named(row: Source) -> Markup:
    address = row.careers_url.partition("://")[2].removesuffix("/")
    return Markup('<span class="title">{}</span><span class="sub is-cut" title="{}">{}</span>').format(
        shortened(row.org_name or _host(row), 60), row.careers_url, address
    )


_ORG_TYPE_CHOICES: Final = [("", "not set"), *((each, each) for each in ORG_TYPES)]
FORM: Final = Form(
    (
        Field("careers_url", "Careers page", "url", required=True, placeholder="https://example.org/careers"),
        Field("org_name", "Organisation", placeholder="Example Aid", attributes={"maxlength": 300}),
        Field("source_type", "Format", "select", choices=[(str(each), str(each)) for each in SourceType]),
        Field(
            "org_type",
            "Kind of organisation",
            "select",
            help="Sets the default frequency: un 1 day, ingo 2, ngo 3, academic 7.",
            choices=_ORG_TYPE_CHOICES,
        ),
        Field(
            "crawl_frequency_days",
            "Days between runs",
            "number",
            help="Default: set by the kind of organisation.",
            attributes={"min": 1, "max": 365},
        ),
        Field(
            "time_window",
            "Time window",
            placeholder="22:00-05:00",
            help="Hours in which to run, in the organisation's time zone.",
            attributes={"maxlength": 32},
        ),
        Field("country", "Country", placeholder="KE", help="Two letters.", attributes={"maxlength": 2}),
        Field("time_zone", "Time zone", placeholder="Africa/Nairobi", attributes={"maxlength": 64}),
        Field(
            "schedule",
            "Schedule",
            "select",
            help="Fixed rules follow the kind of organisation; adaptive learns how often the page changes.",
            choices=[(str(each), label) for each, label in SCHEDULES.items()],
        ),
        Field("importance", "Importance", "number", attributes={"min": 0, "max": 1000, "step": "any"}),
        Field(
            "parser_hint",
            "Parser hint",
            "area",
            help="Where the postings are, as JSON, or the name of an applicant system. Leave empty to detect them.",
            attributes={"rows": 8, "maxlength": 20000},
            check="/sources/check-hint",
            is_code=True,
        ),
    ),
    {"source_type": "html", "schedule": "s0", "importance": "1"},
)
NEW_FORM: Final = Form(
    (
        *FORM.fields,
        Field("approved", "Run it at once", "check", help="Otherwise it is paused until you resume it."),
    ),
    {**FORM.values, "approved": "on"},
)
POLICY_FORM: Final = Form(LIMITS)
IMPORT_FORM: Final = Form(
    (
        Field(
            "content",
            "List of sources",
            "area",
            required=True,
            help="The first line of CSV and TSV names the columns, of which careers_url is needed. At most 250 kB; "
            "larger lists: comity sources import FILE.",
            placeholder="careers_url,org_name,org_type\nhttps://example.org/careers,Example Aid,ngo",
            attributes={"rows": 12},
            is_code=True,
        ),
        Field("format", "Format", "select", choices=[(str(each), str(each)) for each in SourceFormat]),
        Field("update", "Update sources that differ", "check"),
        Field("skip_bad", "Skip rows that cannot be used", "check", help="Otherwise one such row stops the import."),
        Field("approved", "Run new sources at once", "check", help="Otherwise they are paused until you resume them."),
    ),
    {"format": str(SourceFormat.CSV), "approved": "on"},
)


@router.get("")
def listed(request: Request, services: Services) -> Response:
    """Show the table of sources."""
    query = TABLE.read(request)
    if query.wants_csv:
        return TABLE.csv(_all_rows(services, query))
    rows, total = _rows(services, query, query.limit + 1, query.offset)
    return render(
        request,
        "sources/list.html",
        title="Sources",
        section="sources",
        wide=True,
        listing=TABLE.listing(query, rows, total=total),
        counts=count_sources(services.state.database),
    )


def _rows(services: WebServices, query: TableQuery, limit: int, offset: int) -> tuple[list[Source], int]:
    return list_sources(
        services.state.database,
        status=query.get("status"),
        source_type=query.get("source_type"),
        org_type=query.get("org_type"),
        result=query.get("last_crawl_status"),
        containing=query.get("q"),
        sort=query.sort,
        descending=query.descending,
        limit=limit,
        offset=offset,
    )


def _all_rows(services: WebServices, query: TableQuery) -> Iterator[Source]:
    for offset in range(0, 100_000, _EXPORTED_AT_ONCE):
        rows, _ = _rows(services, query, _EXPORTED_AT_ONCE, offset)
        yield from rows
        if len(rows) < _EXPORTED_AT_ONCE:
            return


@router.get("/new", dependencies=FOR_OPERATORS)
def new(request: Request) -> Response:
    """Show the form of a new source."""
    return _form(request, NEW_FORM, "/sources", "Add a source", "Add")


@router.post("")
def add(request: Request, services: Services, entered: PostedForm) -> Response:
    """Add a source. Its first run is due now."""
    state = services.state
    try:
        body = entered.parse(SourceRequest, boxes=["approved"])
        source = add_source(state.database, state.clock, body.careers_url, approved=body.approved, **body.columns())
    except (FormInvalid, BadInput) as error:
        return _form(
            request, NEW_FORM.refused(entered, error, at="careers_url"), "/sources", "Add a source", "Add", status=422
        )
    services.look_for_due()
    said = "Added: due now." if source.status is SourceStatus.ACTIVE else "Added: paused until it is resumed."
    return redirect(request, f"/sources/{source.id}", notice=_with_notes(services, source, said))


@router.post("/bulk")
async def bulk(request: Request, services: Services, entered: PostedForm) -> Response:
    """Run, pause, resume or delete the ticked sources. Deleting asks first."""
    action, ids = (
        entered.get("action"),
        [found for each in entered.all("id")[:200] if (found := identity_of(each)) is not None],
    )
    if action not in ("run", "pause", "resume", "delete") or not ids:
        return redirect(request, "/sources", notice="Select some sources first.", kind="warn")
    if action == "delete" and not entered.is_on("confirmed"):
        return _ask_delete(
            request,
            plural(len(ids), "source"),
            "/sources",
            post_path="/sources/bulk",
            fields=[("action", action), ("confirmed", "on"), *(("id", str(each)) for each in ids)],
        )
    done = await act_on_many(services, action, ids)
    failed = [item for item in done if not item.is_done]
    word = {"run": "queued", "pause": "paused", "resume": "resumed", "delete": "deleted"}[action]
    notice = f"{plural(len(done) - len(failed), 'source')} {word}."
    if failed:
        notice += f" {plural(len(failed), 'source')} could not be {word}: {failed[0].reason}."
    offer = None
    if action == "pause":
        paused = (("id", str(item.id)) for item in done if item.is_done)
        offer = Offer("/sources/bulk", (("action", "resume"), *paused), "Resume")  # no undo: they are due at once
    return redirect(request, "/sources", notice=notice, kind="warn" if failed else "good", offer=offer)


@router.post("/check-hint")
def check(request: Request, entered: PostedForm) -> Response:
    """Say while typing whether a parser hint can be used; without scripts, the form says it when it is sent."""
    text = entered.get("parser_hint")
    return render_fragment(request, "sources/hint.html", is_empty=not text, problem=check_hint(text))


@router.get("/import", dependencies=FOR_OPERATORS)
def import_form(request: Request) -> Response:
    """Show the form for a list of sources."""
    return _import_page(request, IMPORT_FORM)


@router.post("/import")
def import_list(request: Request, services: Services, entered: PostedForm) -> Response:
    """Add the sources of a list, or say what would become of each row."""
    kind = entered.get("format")
    try:
        if not entered.get("content"):
            raise BadInput("content", "enter a list of sources")
        if kind not in set(SourceFormat):
            raise BadInput("format", "must be one of those listed")
        rows = read_source_list(entered.get("content").encode(), SourceFormat(kind))
        terms = ImportTerms(
            update=entered.is_on("update"),
            skip_bad=entered.is_on("skip_bad"),
            dry_run=entered.get("action") == "check",
            approved=entered.is_on("approved"),
        )
        report = import_sources(services.state.database, services.state.clock, rows, terms)
    except BadInput as error:
        return _import_page(request, IMPORT_FORM.refused(entered, error), status=422)
    services.look_for_due()
    return _import_page(request, IMPORT_FORM.filled(dict(entered.pairs)), report)


def _import_page(
    request: Request, form: Form, report: SourceImport | None = None, *, status: int = 200
) -> HTMLResponse:
    rows = [] if report is None else sorted(report.rows, key=lambda row: row.reason is None)[:_IMPORTED_SHOWN]
    return render(
        request,
        "sources/import.html",
        title="Import sources",
        section="sources",
        trail=[("Sources", "/sources")],
        status=status,
        form=form,
        report=report,
        rows=rows,
    )


@router.get("/{source_id}")
def show(request: Request, services: Services, source_id: SourceId) -> Response:
    """Show one source in full."""
    return _detail(request, services, source_id)


@router.get("/{source_id}/edit", dependencies=FOR_OPERATORS)
def edit_form(request: Request, services: Services, source_id: SourceId) -> Response:
    """Show the form of a source."""
    source = services.source(source_id)
    return _form(request, FORM.filled(source), f"/sources/{source_id}/edit", "Edit", "Save", source=source)


@router.post("/{source_id}/edit")
def edit(request: Request, services: Services, source_id: SourceId, entered: PostedForm) -> Response:
    """Change a source. An empty field removes a value."""
    source = services.source(source_id)
    try:
        FORM.filled(source).require_same(entered)
        changes = entered.parse(SourceChanges, keep_empty=True).model_dump(exclude_unset=True)
        saved = edit_source(services.state.database, services.state.clock, source_id, **changes)
    except (FormInvalid, BadInput) as error:
        form, path = FORM.refused(entered, error, at="careers_url"), f"/sources/{source_id}/edit"
        return _form(request, form, path, "Edit", "Save", source=source, status=422)
    return redirect(request, f"/sources/{source_id}", notice=_with_notes(services, saved, "Saved."))


@router.get("/{source_id}/delete", dependencies=FOR_OPERATORS)
def ask_delete(request: Request, services: Services, source_id: SourceId) -> Response:
    """Ask before a source is deleted."""
    source = services.source(source_id)
    at = f"/sources/{source_id}"
    return _ask_delete(request, _name(source), at, post_path=f"{at}/delete", above=[(_name(source), at)])


def _ask_delete(
    request: Request,
    name: str,
    back: str,
    *,
    post_path: str,
    fields: Sequence[tuple[str, str]] = (),
    above: Sequence[tuple[str, str]] = (),
) -> HTMLResponse:
    return render(
        request,
        "sources/delete.html",
        title=f"Delete {name}",
        section="sources",
        trail=[("Sources", "/sources"), *above],
        name=name,
        back=back,
        post_path=post_path,
        fields=fields,
    )


@router.post("/{source_id}/delete")
def delete(request: Request, services: Services, source_id: SourceId) -> Response:
    """Delete a source. Postings that only it lists are closed; its log is kept."""
    source = delete_source(services.state.database, services.state.clock, source_id)
    services.notify_search()
    return redirect(request, "/sources", notice=f"Deleted {_name(source)}.")


@router.post("/{source_id}/run")
async def run(request: Request, services: Services, source_id: SourceId, entered: PostedForm) -> Response:
    """Run a source now, whether or not it is due."""
    try:
        queued = await queue_run(services, source_id)
    except NotFound:
        raise
    except (ComityError, ApiError) as error:
        return redirect(request, _back(entered, source_id), notice=f"Not run: {error}.", kind="bad")
    said = "Queued: it runs in a moment." if queued.queued else "It is queued already."
    return redirect(request, _back(entered, source_id), notice=said)


@router.post("/{source_id}/pause")
@router.post("/{source_id}/resume")
@router.post("/{source_id}/approve")
def change_status(request: Request, services: Services, source_id: SourceId, entered: PostedForm) -> Response:
    """Pause, resume or approve a source."""
    action = request.url.path.rpartition("/")[2]
    try:
        _ACTIONS[action](services.state.database, services.state.clock, source_id)
    except BadInput as error:  # taken down
        return redirect(request, _back(entered, source_id), notice=str(error), kind="bad")
    services.look_for_due()
    return redirect(request, _back(entered, source_id), notice=_DONE[action])


@router.post("/{source_id}/policy")
def change_policy(request: Request, services: Services, source_id: SourceId, entered: PostedForm) -> Response:
    """Set the limits of the source's host. They apply from its next request."""
    source = services.source(source_id)
    try:
        there = policy_view(get_policy(services.state.database, _host(source)), _host(source))
        _policy_form(there).require_same(entered)
        changes = entered.parse(PolicyChanges, boxes=["allow_js"]).model_dump(exclude_unset=True)
        policy = set_policy(services.state.database, services.state.clock, _host(source), **changes)
    except (FormInvalid, BadInput) as error:
        form = POLICY_FORM.refused(entered, error)
        return _detail(request, services, source_id, policy_form=form, status=422)
    return redirect(request, f"/sources/{source_id}", notice=f"Saved. It applies to the next request to {policy.host}.")


@router.post("/{source_id}/test-fetch")
async def fetch_head(request: Request, services: Services, source_id: SourceId) -> Response:
    """Fetch only the headers of the page, under the usual politeness rules."""
    source = await asyncio.to_thread(services.source, source_id)
    trial = _Trial()
    try:
        async with services.trial() as runner:
            trial.head = await test_fetch(runner, source.careers_url)
    except (ComityError, ApiError) as error:
        trial.problem = str(error)
    return await asyncio.to_thread(_detail, request, services, source_id, trial=trial)


@router.post("/{source_id}/simulate-extract")
async def simulate(request: Request, services: Services, source_id: SourceId) -> Response:
    """Fetch the first page and show its first three postings. Nothing is stored."""
    await asyncio.to_thread(services.source, source_id)
    source = await asyncio.to_thread(source_to_try, services.state.database, str(source_id))
    trial = _Trial()
    try:
        async with services.trial() as runner:
            trial.simulation = await simulate_extract(runner, source)
    except (ComityError, ApiError) as error:
        trial.problem = str(error)
    return await asyncio.to_thread(_detail, request, services, source_id, trial=trial)


@dataclass(slots=True)
class _Trial:
    """The result of a test fetch or a simulated run."""

    head: HeadRead | None = None
    simulation: Simulation | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Robots:
    """What robots.txt says about a source's page."""

    view: RobotsVerdictView
    fetched_at: datetime | None
    expires_at: datetime | None


def _detail(
    request: Request,
    services: Services,
    source_id: UUID,
    *,
    trial: _Trial | None = None,
    policy_form: Form | None = None,
    status: int = 200,
) -> HTMLResponse:
    source = services.source(source_id, allow_deleted=True)
    database = services.state.database
    address = resolve_link(source.careers_url, source.careers_url)
    runs = list_runs(database, source_id, _HISTORY)
    policy = policy_view(get_policy(database, address.host), address.host) if address is not None else None
    return render(
        request,
        "sources/detail.html",
        title=cut(_name(source), _LONGEST_TITLE),
        section="sources",
        trail=[("Sources", "/sources")],
        status=status,
        source=source,
        schedule=SCHEDULES[source.schedule],
        runs=runs[:_LATEST],
        plot=_history(runs),
        robots=_robots(services, address) if address is not None else None,
        policy=policy,
        policy_form=policy_form or _policy_form(policy),
        is_policy_open=policy_form is not None,
        host=address.host if address is not None else "",
        is_known_host=address is not None and is_known_host(database, address.host),
        notes=ignored_settings(database, source),
        trial=trial,
        run_badge=run_badge,
        tones=STATUS_TONES,
    )


@view("source")
def source_figures(services: WebServices, parameters: Mapping[str, str]) -> str:
    """How a source stands: its status, whether it is running, and its next run and why."""
    source = services.source(UUID(parameters["id"]), allow_deleted=True)
    state = services.state
    why: NextRunReason = next_run(state.database, state.clock, source)
    locks = sources_status(state.database, state.clock).locks
    return fragment(
        "sources/figures.html",
        source=source,
        why=why,
        now=state.clock.now(),
        lock=next((lock for lock in locks if lock.source_id == source.id), None),
        tones=STATUS_TONES,
        run_badge=run_badge,
    )


def _history(runs: list[LoggedRun]) -> Markup | None:
    """Found, inserted and closed of each run, oldest first."""
    if len(runs) < 2:
        return None
    ordered = list(reversed(runs))
    return plots.line_plot(
        "Postings by run",
        [run.ran_at for run in ordered],
        [
            plots.Series("found", [run.found for run in ordered], "1"),
            plots.Series("inserted", [run.inserted for run in ordered], "good"),
            plots.Series("closed", [run.closed for run in ordered], "warn"),
        ],
        empty="None of these runs found a posting.",
    )


def _robots(services: WebServices, address: WebAddress) -> _Robots | None:
    """The verdict of the robots.txt that was fetched last; None if none was. No request goes to the host."""
    settings = services.state.settings
    try:
        unreachable = RobotsUnreachable(settings.robots_unreachable)
        found = cached_robots(services.state.database, address, settings.identity, unreachable)
    except NotFound:
        return None
    known = known_robots(services.state.database, address.host)
    entry = next((each for each in known if each.origin == address.origin), None)
    return _Robots(
        robots_verdict_view(found, address, settings.identity),
        entry.fetched_at if entry is not None else None,
        entry.expires_at if entry is not None else None,
    )


def _policy_form(policy: PolicyView | None) -> Form:
    return POLICY_FORM.filled(policy) if policy is not None else POLICY_FORM


def _form(
    request: Request,
    form: Form,
    path: str,
    title: str,
    submit: str,
    *,
    source: Source | None = None,
    status: int = 200,
) -> HTMLResponse:
    above = [("Sources", "/sources")]
    if source is not None:
        above.append((_name(source), f"/sources/{source.id}"))
    return render(
        request,
        "sources/form.html",
        title=title,
        section="sources",
        trail=above,
        status=status,
        form=form,
        form_path=path,
        submit=submit,
        back=above[-1][1],
    )


def _with_notes(services: WebServices, source: Source, said: str) -> str:
    return " ".join([said, *(f"Note: {note}." for note in ignored_settings(services.state.database, source))])


def _name(source: Source) -> str:
    return source.org_name or _host(source)


def _back(entered: FormValues, source_id: UUID) -> str:
    """Where an action leads back to: the list as it was, or the source."""
    back = entered.get("back")
    return back[:1000] if back.startswith(("/sources?", "/crawl")) and back.isprintable() else f"/sources/{source_id}"
