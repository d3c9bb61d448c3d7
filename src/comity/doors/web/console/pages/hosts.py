"""/admin/hosts: the list, one host at a glance, its requests against their slots, cooldown and reset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final, TypeVar
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import Response
from markupsafe import Markup

from comity.doors.schemas import iso_time
from comity.doors.web.console import components, plots
from comity.doors.web.console.forms import Field, Form, FormInvalid, PostedForm
from comity.doors.web.console.live import view
from comity.doors.web.console.page import (
    FOR_OPERATORS,
    PageRouter,
    current_services,
    fragment,
    redirect,
    render,
    url,
)
from comity.doors.web.console.tables import Column, Table, TableQuery, choice, search
from comity.doors.web.requests import CooldownRequest, HostName, ResetRequest
from comity.doors.web.routes.hosts import canonical_name
from comity.doors.web.services import Services, WebServices
from comity.model.errors import BadInput, NotFound
from comity.model.host import HostStatus
from comity.model.ledger import Purpose
from comity.operate.hosts import cool_down_host, reset_host, resume_host
from comity.reports.host_lists import (
    MOST_COUNTED,
    HostOverview,
    HostRequest,
    ListPage,
    UrlCounts,
    host_columns,
    host_counts,
    host_overview,
    host_requests,
    host_url_counts,
    hosts_page,
)
from comity.rules import host_transitions

Item = TypeVar("Item")

router = PageRouter("/admin/hosts")

TONES: Final = {
    HostStatus.PENDING: "wait",
    HostStatus.ACTIVE: "busy",
    HostStatus.EXHAUSTED: "good",
    HostStatus.BLOCKED: "warn",
    HostStatus.UNREACHABLE: "bad",
}
_REQUESTS_SHOWN: Final = 100
_FIRST_CSV_ROWS: Final = 50
_CSV_ROWS: Final = 1_000
_GAP_S: Final = 60.0  # between two requests: longer ones begin their own plot
_MOST_PLOTS: Final = 3
_HOURS: Final = (("1", "1 hour"), ("24", "1 day"), ("168", "7 days"), ("336", "14 days"), ("720", "30 days"))


def figure(text: object) -> Markup:
    """A short text on one line."""
    return Markup('<span class="figure">{}</span>').format(text)


def path_of(address: str) -> str:
    """A URL without its scheme and host, which the page of a host need not repeat."""
    rest = address.partition("://")[2]
    return rest[rest.index("/") :] if "/" in rest else address


def bad(text: object) -> Markup:
    """A text that stands out as an error."""
    return Markup('<span class="is-bad">{}</span>').format(text)


def status_badge(status: HostStatus | str, title: str = "") -> Markup:
    """The status of a host."""
    return components.badge(TONES[HostStatus(status)], status, title=title)


def _reason(row: Any) -> object:
    if row.leased_by:
        return Markup('<span class="soft">held by {}</span>').format(components.holder(row.leased_by, 24))
    return components.words(row.reason_code) if row.reason_code else components.shortened(row.reason or "", 60)


def _pages(row: Any) -> Markup:
    return Markup('<span class="figure">{:,} <span class="soft">/ {:,}</span></span>').format(
        row.pages_crawled, row.pages_discovered
    )


def _not_before(row: Any) -> Markup:
    return components.when(row.next_crawl_after, relative_to=current_services().state.clock.now())


HOSTS: Final = Table(
    "hosts",
    [
        Column(
            "domain",
            "Host",
            lambda row: figure(components.shortened(row.host, 60)),
            lambda row: row.host,
            sorts=True,
            is_wide=True,
        ),
        Column("status", "Status", lambda row: status_badge(row.status)),
        Column(
            "reason",
            "Reason or holder",
            _reason,
            lambda row: row.reason_code or row.reason,
            is_wide=True,
        ),
        Column("pages_crawled", "Pages", _pages, is_number=True, is_minor=True),
        Column("pages_discovered", "Discovered", in_page=False),
        Column("urls_queued", "Queued", is_number=True, is_minor=True),
        Column("priority_score", "Priority", sorts=True, is_number=True, is_minor=True),
        Column("last_crawled_at", "Last crawled", sorts=True),
        Column("next_crawl_after", "Not before", _not_before, sorts=True, is_minor=True),
        Column("leased_by", "Holder", in_page=False),
    ],
    [search("Search by name", "Host name, or part of it"), choice("status", "Status", HostStatus)],
    default_sort="-last_crawled_at",
    key=lambda row: row.host,
    pages_by_key=True,
    row_href=lambda row: url("/hosts", row.host),
    newer="First page",
)


@router.get("")
def listed(request: Request, services: Services) -> Response:
    """List the hosts."""
    query = HOSTS.read(request)
    database = services.state.database
    status = HostStatus(text) if (text := query.get("status")) else None

    def page_of(after: str | None, limit: int) -> ListPage[Any]:
        name = query.get("q") or ""
        return hosts_page(database, status=status, text=name, sort=query.sort_text, after=after, limit=limit)

    if query.wants_csv:
        return HOSTS.csv(every(page_of), is_begun=True)
    page = page_or_first(query, page_of)
    # Kept only as long as it pays: a small state counts them for every page.
    counts = services.figures.get("hosts by status", lambda: host_counts(database), for_s=0)
    return render(
        request,
        "hosts/list.html",
        title="Hosts",
        section="hosts",
        hosts=HOSTS.listing(query, page.items, cursor=page.next or ""),
        is_whole=page.is_whole,
        counts=[(each, counts[each], TONES[each]) for each in HostStatus],
        is_empty=not any(counts.values()),
        most=MOST_COUNTED,
    )


def every(page_of: Callable[[str | None, int], ListPage[Item]]) -> Iterator[Item | None]:
    """All rows of a list, for CSV, with None between two pages. The first page is read at once."""
    return _following(page_of(None, _FIRST_CSV_ROWS), page_of)


def _following(page: ListPage[Item], page_of: Callable[[str | None, int], ListPage[Item]]) -> Iterator[Item | None]:
    yield from page.items
    while page.next is not None:
        yield None
        page = page_of(page.next, _CSV_ROWS)
        yield from page.items


def page_or_first(query: TableQuery, page_of: Callable[[str | None, int], ListPage[Item]]) -> ListPage[Item]:
    """The page that a URL asks for; the first one where its place is of another order or list."""
    try:
        return page_of(query.after or None, query.limit)
    except BadInput as error:
        if error.field != "after":
            raise
        return page_of(None, query.limit)


def url_counts_of(services: WebServices, host: str) -> UrlCounts:
    """The URLs of a host by state, wherever its frontier is; `NotFound` if it was never seen."""
    state = services.state
    return host_url_counts(state.database, host, state.frontier.states if state.settings.redis_url else None)


@view("host")
def host_now(services: WebServices, parameters: Mapping[str, str]) -> str:
    """The figures of one host."""
    host = parameters.get("host", "")
    try:
        row = host_columns(services.state.database, host)
    except NotFound:
        return ""
    return fragment("hosts/figures.html", row=row, badge_of=status_badge)


_TABS: Final = (
    ("overview", "Overview", "/hosts/{}"),
    ("requests", "Requests", "/hosts/{}/requests"),
    ("robots", "robots.txt", "/robots/{}"),
    ("policy", "Policy", "/domain_policies/{}"),
    ("frontier", "Frontier", "/hosts/{}/urls"),
    ("evidence", "Evidence", "/hosts/{}/evidence"),
    ("fetches", "Fetches", "/hosts/{}/fetches"),
    ("moves", "Transitions", "/hosts/{}/moves"),
)


def host_page(
    request: Request, services: WebServices, host: str, tab: str, *, status: int = 200, **context: Any
) -> Response:
    """One part of the page of a host."""
    name = quote(host, safe="")
    return render(
        request,
        f"hosts/{tab}.html",
        title=host,
        section="hosts",
        status=status,
        trail=[("Hosts", "/hosts")],
        host=host,
        host_path=f"/hosts/{name}",
        host_tabs=[(label, path.format(name), each == tab) for each, label, path in _TABS],
        now=services.state.clock.now(),
        **context,
    )


def host_table(
    request: Request,
    services: WebServices,
    host: str,
    tab: str,
    table: Table,
    find: Callable[..., ListPage[Any]],
    more: Callable[[str, ListPage[Any]], Mapping[str, Any]] = lambda _name, _page: {},
) -> Response:
    """A table about a host, a page of it or as CSV. `find(name, query, after=…, limit=…)` has its rows.

    `more` gives what the page shows besides, from the name of the host and the rows.
    """
    name, query = canonical_name(services, host), table.read(request)

    def page_of(after: str | None, limit: int) -> ListPage[Any]:
        return find(name, query, after=after, limit=limit)

    if query.wants_csv:
        return table.csv(every(page_of), is_begun=True)
    page = page_or_first(query, page_of)
    listing = table.listing(query, page.items, cursor=page.next or "")
    return host_page(request, services, name, tab, listing=listing, is_whole=page.is_whole, **more(name, page))


@router.get("/{host}")
def overview(request: Request, services: Services, host: HostName) -> Response:
    """Show what a person wants to know of a host first."""
    name = canonical_name(services, host)
    found = host_overview(services.state.database, name)
    last = host_requests(services.state.database, name, limit=40).items
    return host_page(
        request,
        services,
        name,
        "overview",
        overview=found,
        row=found.columns,
        status_badge=status_badge(found.columns["status"]),
        diagram=plots.state_diagram(
            host_transitions.MOVES,
            found.columns["status"],
            first=host_transitions.FIRST,
            title="Lifecycle of the host",
        ),
        facts_of_gate=_gate_facts(found),
        last=request_plots(last)[:1],
        errors=[(line.code, line.count) for line in found.errors],
    )


def _gate_facts(found: HostOverview) -> list[tuple[str, object]]:
    row, policy = found.columns, found.policy
    return [
        ("Next request allowed", components.when(row["next_fetch_at"])),
        ("Paused until", components.when(row["blocked_until"])),
        ("Adaptive delay", components.duration(row["adaptive_delay_s"])),
        ("Policy interval", components.duration(policy.min_request_interval_ms / 1000) if policy else None),
        ("Latency", components.duration(row["latency_recent_s"])),
        ("Usual latency", components.duration(row["latency_baseline_s"])),
        ("Back-off step", components.number(row["backoff_step"])),
        ("Last request", components.when(row["last_start_at"])),
    ]


def _took(row: HostRequest) -> float:
    return max(0.0, (row.ended_at - row.started_at).total_seconds())


def _slot(row: HostRequest) -> object:
    if row.allowed_at is None:
        return components.NOTHING
    margin = (row.started_at - row.allowed_at).total_seconds()
    if row.is_early:
        return components.badge("bad", f"{-margin:.3f} s early")
    shown = f"{margin:.3f} s" if margin < _GAP_S else components.duration_text(margin)
    return Markup('<span class="figure">{} after</span>').format(shown)


def _clock(row: HostRequest) -> Markup:
    """The time of day to the second, exactly on hover."""
    at = row.started_at
    shown, exact = f"{at:%H:%M:%S}", f"{at:%Y-%m-%d %H:%M:%S.%f} UTC"
    return Markup('<time datetime="{}" data-shown="seconds" title="{}">{}</time>').format(iso_time(at), exact, shown)


def _day(row: HostRequest) -> Markup:
    at = row.started_at
    return Markup('<time datetime="{}" data-shown="day" title="{} UTC">{}</time>').format(
        iso_time(at), f"{at:%Y-%m-%d %H:%M:%S}", f"{at:%d %b}"
    )


def http_status(status: int | None) -> object:
    """The status of an answer; one that is an error stands out."""
    if status is None:
        return components.badge("bad", "no answer")
    return bad(status) if status >= 400 else status


REQUESTS: Final = Table(
    "requests",
    [
        Column("url", "URL", lambda row: components.shortened(path_of(row.url), 80), is_wide=True),
        Column("purpose", "For", lambda row: figure(row.purpose), is_minor=True),
        Column("day", "Day", _day, in_csv=False, is_minor=True),
        Column("started_at", "Started", _clock, sorts=True),
        Column("slot", "Against its slot", _slot, lambda row: row.allowed_at, is_number=True),
        Column("held_by", "Waited for", lambda row: components.words(row.held_by or ""), is_minor=True),
        Column(
            "delay_s",
            "Delay",
            lambda row: Markup('<span class="figure">{} <span class="soft">{}</span></span>').format(
                components.duration_text(row.delay_s), row.delay_source
            ),
            is_minor=True,
        ),
        Column("status", "Status", lambda row: http_status(row.status), is_number=True),
        Column("took", "Took", lambda row: components.duration(_took(row)), _took, is_number=True, is_minor=True),
        Column("rule", "Rule of robots.txt", in_page=False),
    ],
    [choice("purpose", "For", Purpose)],
    default_sort="-started_at",
    key=lambda row: row.number,
    pages_by_key=True,
    newer="Newest",
    older="Older",
    empty="No request to this host is in the politeness ledger yet.",
)


@router.get("/{host}/requests")
def requests(request: Request, services: Services, host: HostName) -> Response:
    """Show requests against the slots that allowed them."""
    return host_table(
        request,
        services,
        host,
        "requests",
        REQUESTS,
        lambda name, query, **page: host_requests(
            services.state.database,
            name,
            purpose=query.get("purpose"),
            oldest_first=not query.descending,
            **page,
        ),
        lambda _name, page: {
            "plots_shown": _plots_of(page.items, is_filtered=bool(request.query_params.get("purpose"))),
            "early": sum(each.is_early for each in page.items),
        },
    )


def _plots_of(requests: tuple[HostRequest, ...], *, is_filtered: bool) -> list[Markup]:
    """The plots of a page; of some purposes alone none, because requests between them are not in it."""
    if is_filtered:
        return []
    return request_plots(sorted(requests, key=lambda each: each.number, reverse=True))


def request_plots(requests: tuple[HostRequest, ...] | list[HostRequest]) -> list[Markup]:
    """Requests above the times in which none was allowed; a long silence begins a new plot. The newest comes first."""
    groups: list[list[HostRequest]] = []
    for each in reversed(requests[:_REQUESTS_SHOWN]):
        silence = (each.started_at - groups[-1][-1].ended_at).total_seconds() if groups else 0.0
        if not groups or silence > max(_GAP_S, 3 * each.delay_s):
            groups.append([])
        groups[-1].append(each)
    return [_request_plot(group) for group in reversed(groups[-_MOST_PLOTS:])]


def _request_plot(group: list[HostRequest]) -> Markup:
    closed, sent, pauses = [], [], []
    before: HostRequest | None = None
    for each in group:
        path = components.cut(each.url, 80)
        answer = each.status if each.status is not None else "no answer"
        tone = "bad" if each.is_early else "warn" if each.status is None or each.status >= 400 else "1"
        sent.append(plots.Mark(each.started_at, f"{path} · {answer} · {_took(each):.2f} s", tone, each.ended_at))
        if each.allowed_at is not None and before is not None and each.allowed_at > before.started_at:
            why = f"no request before {each.allowed_at:%H:%M:%S.%f}"[:-3] + f" UTC · {components.words(each.held_by)}"
            closed.append(plots.Mark(before.started_at, why, "off", each.allowed_at))
        if each.blocked_until is not None:
            pauses.append(plots.Mark(each.ended_at, "the host asked for a pause", "warn", each.blocked_until))
        before = each
    start = group[0].started_at
    span = max(group[-1].ended_at - start, timedelta(seconds=1))
    margin = span * 0.01
    lanes = [plots.Lane("Closed", closed), plots.Lane("Requests", sent)]
    if pauses:
        lanes.append(plots.Lane("Requested pauses", pauses))
    early = sum(each.is_early for each in group)
    note = f"{components.plural(len(group), 'request')}, " + (f"{early} too early" if early else "none too early")
    return plots.timeline(components.when(start), start - margin, start + span + margin, lanes, note=note)


COOLDOWN: Final = Form(
    (
        Field("hours", "Do not crawl for", "select", choices=_HOURS, required=True),
        Field("reason", "Reason", help="Stored with the host.", attributes={"maxlength": 300}),
    ),
    {"hours": "24"},
)


@router.get("/{host}/cooldown", dependencies=FOR_OPERATORS)
def ask_cooldown(request: Request, services: Services, host: HostName) -> Response:
    """Ask for how long a host is left alone."""
    name = canonical_name(services, host)
    host_columns(services.state.database, name)  # 404 if it is unknown
    return host_page(request, services, name, "cooldown", form=COOLDOWN)


@router.post("/{host}/cooldown")
def cooldown(request: Request, services: Services, host: HostName, entered: PostedForm) -> Response:
    """Leave a host alone for a while."""
    name, state = canonical_name(services, host), services.state
    try:
        body = entered.parse(CooldownRequest)
        until = cool_down_host(state.database, state.clock, name, timedelta(hours=body.hours), reason=body.reason)
    except (FormInvalid, BadInput) as error:
        return host_page(request, services, name, "cooldown", form=COOLDOWN.refused(entered, error), status=422)
    return redirect(
        request, f"/hosts/{quote(name, safe='')}", notice=f"No worker takes it before {until:%Y-%m-%d %H:%M} UTC."
    )


@router.get("/{host}/reset", dependencies=FOR_OPERATORS)
def ask_reset(request: Request, services: Services, host: HostName) -> Response:
    """Ask before a host is crawled from the start."""
    name = canonical_name(services, host)
    counts = url_counts_of(services, name)
    return host_page(request, services, name, "reset", counts=counts)


@router.post("/{host}/resume")
def resume(request: Request, services: Services, host: HostName) -> Response:
    """Let workers crawl a paused host again."""
    name = canonical_name(services, host)
    resume_host(services.state.database, name)
    return redirect(request, f"/hosts/{quote(name, safe='')}", notice="Workers may crawl this host again.")


@router.post("/{host}/reset")
def reset(request: Request, services: Services, host: HostName, entered: PostedForm) -> Response:
    """Make a host ready to be crawled from the start."""
    name, state = canonical_name(services, host), services.state
    body = entered.parse(ResetRequest)
    found = reset_host(state.database, state.clock, name, reason=body.reason, frontier=state.frontier)
    queued = components.plural(found.urls_requeued, "URL")
    notice = f"Reset: it is {found.after} now, and {queued} were queued again."
    return redirect(request, f"/hosts/{quote(name, safe='')}", notice=notice)
