"""/admin: the dashboard, and the welcome of an empty state, with the demonstration. `/` leads a browser there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from comity.doors.web.audiences import Audience
from comity.doors.web.console import plots
from comity.doors.web.console.live import Unfinished, view
from comity.doors.web.console.page import PageRouter, fragment, redirect, render
from comity.doors.web.console.plots import Series
from comity.doors.web.figures import hosts_and_leases
from comity.doors.web.routes.console import worker_of
from comity.doors.web.services import Services, WebServices
from comity.model.dataclass import dataclass
from comity.model.host import HostStatus
from comity.model.queue import JobStatus
from comity.operate.console import is_empty
from comity.reports.dashboard import HOURS, MOST_JOBS, Dashboard, Need, NeedCode, dashboard_of

demonstration_router = PageRouter("/admin/demonstration")
root_router = PageRouter("", audience=Audience.PUBLIC)
router = PageRouter()
_NAME: Final = "dashboard"
_WAIT_S: Final = 0.1
_COUNTING: Final = "Counting…"
_TILES: Final = ("Pages per second", "Hosts", "Sources due", "Jobs waiting", "Failed fetches", "Latency", "State size")
# A sentence for one, a sentence for several, and where to go.
_NEEDS: Final = {
    NeedCode.DISK_LOW: ("The disk is nearly full", "", "/settings"),
    NeedCode.TOO_MANY_ERRORS: ("{} % of the last hour's fetches failed", "", "/hosts?status=blocked"),
    NeedCode.SILENT_WORKERS: ("1 worker is silent", "{} workers are silent", "/crawl"),
    NeedCode.STUCK_LEASES: ("1 lease ran out and was not taken over", "{} leases ran out", "/crawl"),
    NeedCode.FAILED_JOBS: ("1 job failed for good", "{} jobs failed for good", "/crawl_jobs?status=failed"),
    NeedCode.FAILING_SOURCES: ("1 source keeps failing", "{} sources keep failing", "/sources"),
    NeedCode.BLOCKED_SOURCES: ("1 source is blocked", "{} sources are blocked", "/sources?status=blocked"),
    NeedCode.QUARANTINED_BOTS: ("1 bot is quarantined", "{} bots are quarantined", "/bots"),
    NeedCode.DISABLED_WEBHOOKS: ("1 webhook was turned off", "{} webhooks were turned off", "/webhooks"),
    NeedCode.SEARCH_BEHIND: ("1 change could not be indexed", "{} changes could not be indexed", "/settings"),
}
# The series of the plots, each with its tone, so that their legends stand while the numbers are counted.
_OUTCOMES: Final = (("fetched", "1"), ("unchanged", "2"), ("refused by rules", "off"), ("failed", "bad"))
_LATENCIES: Final = (("median", "1"), ("95th percentile", "3"))
_POSTINGS: Final = (("new", "good"), ("closed", "off"))
_TONES: Final = {
    HostStatus.PENDING: "2",
    HostStatus.ACTIVE: "1",
    HostStatus.EXHAUSTED: "good",
    HostStatus.BLOCKED: "warn",
    HostStatus.UNREACHABLE: "bad",
}


@dataclass(frozen=True, slots=True)
class Welcome:
    """What the welcome offers."""

    offers_demonstration: bool
    is_loading: bool


def start_of(services: WebServices) -> Welcome | None:
    """The welcome of a state that is empty, or into which the demonstration is being loaded."""
    worker = services.worker
    is_loading = worker is not None and worker.is_showing_demonstration
    if not is_loading and not is_empty(services.state.database):
        return None
    return Welcome(worker is not None and worker.may_show_demonstration(services.state), is_loading)


@view("demonstration")
def progress(services: WebServices, _parameters: Mapping[str, str]) -> str:
    """Whether the demonstration is still being crawled, and then what to look at."""
    worker = services.worker
    return fragment("start/progress.html", is_loading=worker is not None and worker.is_showing_demonstration)


@demonstration_router.post("")
def load(request: Request, services: Services) -> Response:
    """Load the demonstration web."""
    worker_of(services).show_demonstration(services.state)
    return redirect(request, "/", notice="The crawl of the demonstration has started; it takes about half a minute.")


@root_router.get("/")
def root(request: Request) -> RedirectResponse:
    """Lead a browser to the console."""
    return redirect(request, "/")


@router.get("")
def dashboard(request: Request, services: Services) -> Response:
    """Show how everything stands, and how to begin if there is nothing yet."""
    counting = _known(services, wait_s=_WAIT_S) is None
    return render(
        request,
        "dashboard/page.html",
        title="Dashboard",
        section="dashboard",
        start=start_of(services),
        is_counting=counting,
    )


@router.get("/help")
def help_page(request: Request) -> HTMLResponse:
    """Show the keyboard shortcuts, for those without scripts."""
    return render(request, "help.html", title="Keyboard and help")


@view("dashboard")
def dashboard_figures(services: WebServices, _parameters: Mapping[str, str]) -> str:
    """The whole dashboard; before anything is counted, the same places with nothing in them."""
    found = _known(services)  # the page has waited, and a live region is rendered again
    if found is None:
        return Unfinished(_counting(services))
    hours = found.hours
    times = [hour.start for hour in hours]
    outcomes = _series(_OUTCOMES, [(hour.fetched, hour.unchanged, hour.refused, hour.failed) for hour in hours])
    latency = _series(_LATENCIES, [(hour.p50_ms, hour.p95_ms) for hour in hours])
    postings = _series(_POSTINGS, [(run.inserted, run.closed) for run in found.runs])
    status = found.status
    hosts = {line.status: line.hosts for line in status.figures.hosts}
    return fragment(
        "dashboard/figures.html",
        found=found,
        status=status,
        latest=next((hour for hour in reversed(hours) if hour.p50_ms is not None), None),
        failed_share=_failed_share(found),
        needs=[(_sentence(need), _NEEDS[need.code][2], need.is_urgent) for need in found.needs],
        fetched=plots.stacked("Fetches by outcome, per hour", times, outcomes),
        latency=plots.line_plot("Latency", times, latency, unit="ms"),
        postings=plots.stacked("Job postings, per hour", times, postings),
        hosts=plots.bars(
            "Hosts by status",
            [(str(each), hosts.get(each, 0)) for each in HostStatus] if hosts else [],
            tones=[_TONES[each] for each in HostStatus],
            path="/hosts?status={}",
        ),
        jobs=plots.bars(
            "Jobs by state",
            list(found.jobs.items()) if any(found.jobs.values()) else [],
            tones=["2", "1", "good", "bad", "warn"],
            path="/crawl_jobs?status={}",
            most_counted=MOST_JOBS,
        ),
        errors=plots.bars("Errors in the last hour", [(line.code, line.count) for line in status.errors], tone="bad"),
    )


def count_ahead(services: WebServices) -> None:
    """Begin to count when the server starts, so that the first look finds it done."""
    services.figures.known(_NAME, partial(_count, services), wait_s=0)


def _known(services: WebServices, *, wait_s: float = 0.0) -> Dashboard | None:
    """The figures as they were counted last; None if that takes longer than a page may wait."""
    return services.figures.known(_NAME, partial(_count, services), wait_s=wait_s)


def _count(services: WebServices) -> Dashboard:
    state, settings = services.state, services.state.settings
    lease_s, heartbeat_s = settings.lease_minutes * 60, settings.heartbeat_minutes * 60
    figures = hosts_and_leases(services)
    return dashboard_of(
        state.database, state.clock, services.past, lease_s=lease_s, heartbeat_s=heartbeat_s, figures=figures
    )


def _counting(services: WebServices) -> str:
    """What the dashboard shows until it is counted: every panel in its size."""
    hour = services.state.clock.now().replace(minute=0, second=0, microsecond=0)
    times = [hour - timedelta(hours=back) for back in reversed(range(HOURS))]

    def nothing(kinds: Sequence[tuple[str, str]]) -> list[Series]:
        return _series(kinds, [(None,) * len(kinds)] * HOURS)

    hosts: list[tuple[str, None]] = [(str(status), None) for status in HostStatus]
    jobs: list[tuple[str, None]] = [(str(status), None) for status in JobStatus]
    return fragment(
        "dashboard/counting.html",
        tiles=_TILES,
        fetched=plots.stacked("Fetches by outcome, per hour", times, nothing(_OUTCOMES), empty=_COUNTING),
        latency=plots.line_plot("Latency", times, nothing(_LATENCIES), empty=_COUNTING),
        postings=plots.stacked("Job postings, per hour", times, nothing(_POSTINGS), empty=_COUNTING),
        hosts=plots.bars("Hosts by status", hosts, path="/hosts?status={}"),
        jobs=plots.bars("Jobs by state", jobs, path="/crawl_jobs?status={}"),
    )


def _series(kinds: Sequence[tuple[str, str]], hours: Sequence[Sequence[float | None]]) -> list[Series]:
    """The series of a plot from the values of each hour."""
    return [Series(label, [hour[index] for hour in hours], tone) for index, (label, tone) in enumerate(kinds)]


def _sentence(need: Need) -> str:
    one, several, _ = _NEEDS[need.code]
    return (one if need.count == 1 or not several else several).format(f"{need.count:,}")


def _failed_share(found: Dashboard) -> float | None:
    """The share of the last hours' fetches that failed."""
    fetches = sum(hour.fetches for hour in found.hours[-2:])
    return 100 * sum(hour.failed for hour in found.hours[-2:]) / fetches if fetches else None
