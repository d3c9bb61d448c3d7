"""`comity audit SITE`: audit a site, show the progress, and report what was found."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from comity.doors.cli.audit.options import FailOnOption, ReportOption, TablesOption, check_places
from comity.doors.cli.audit.results import Results, deliver
from comity.doors.cli.crawl.options import CARRIED, LINKS, SPEED, AllowNetworkOption, option, request_settings, switch
from comity.doors.cli.options import (
    Invocation,
    JsonOption,
    StateOption,
    name_options_in_errors,
    read_invocation,
    warn_missing_contact,
)
from comity.doors.cli.output import note
from comity.model.errors import BadInput
from comity.model.run import EndReason
from comity.run.signals import INTERRUPTED

if TYPE_CHECKING:
    from comity.run.audit.audit import AuditRun

_ROBOTS: Final = "robots.txt and noindex"
_LOOK_EVERY_S: Final = 0.2


def audit(
    context: typer.Context,
    site: Annotated[str, typer.Argument(metavar="SITE", help="The start page of the site, or its host.")],
    report: ReportOption = None,
    tables: TablesOption = None,
    fail_on: FailOnOption = None,
    max_pages: Annotated[
        int | None, option("--max-pages", "N", "Stop after N fetched pages; 0: no limit. Default 200.", SPEED)
    ] = None,
    max_minutes: Annotated[
        float | None, option("--max-minutes", "N", "Stop after N minutes; 0: no limit. Default 60.", SPEED)
    ] = None,
    max_depth: Annotated[
        int | None, option("--max-depth", "N", "Follow links at most N steps from the start. Default 50.", LINKS)
    ] = None,
    sitemaps: Annotated[bool | None, switch("--sitemaps/--no-sitemaps", "Read sitemaps. Default yes.", LINKS)] = None,
    robots_unreachable: Annotated[
        str | None,
        option(
            "--robots-unreachable",
            "disallow|allow",
            "What to assume while robots.txt cannot be read. Default disallow.",
            _ROBOTS,
        ),
    ] = None,
    keep_noindex: Annotated[
        bool | None, switch("--keep-noindex", "Also store the bodies of pages that say noindex.", _ROBOTS)
    ] = None,
    requests: Any = None,
    allow_network: AllowNetworkOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Audit a site within a budget, and report what is wrong with it.

    Pages are found by sitemaps and links; robots.txt is obeyed, and the reason for every decision is stored. At most
    two requests run at once, with pauses of 200 to 500 ms, or longer if the site asks for it. An audit that was
    stopped is continued by the same command; one that has ended is kept (comity audit list), and two can be compared.

    MAX_PAGES, MAX_SCAN_TIME_MINUTES and USER_AGENT in the environment set what --max-pages, --max-minutes and
    --user-agent do. The exit code is 1 if no page could be read, and if --fail-on finds something.
    """
    _check_site(context, site)
    check_places(report, tables)
    invocation = read_invocation(
        context,
        state,
        as_json,
        max_pages=max_pages,
        max_minutes=max_minutes,
        max_depth=max_depth,
        sitemaps=sitemaps,
        robots_unreachable=robots_unreachable,
        keep_noindex=keep_noindex,
        **request_settings(requests),
        allow_networks=tuple(allow_network) if allow_network else None,
    )
    _audit(invocation, site, Results(report, tables, fail_on, as_json=invocation.as_json))


def _check_site(context: typer.Context, site: str) -> None:
    """A misspelled command would be asked for as a host."""
    if "." in site or ":" in site or "/" in site or site == "localhost":
        return
    from comity.rules.suggestions import nearest

    commands = list(getattr(context.command, "commands", ()))
    meant = nearest(site, commands)
    hint = f"did you mean comity audit {meant}?" if meant is not None else "write it as https://example.com/"
    raise BadInput(f"{site!r} is not a site; {hint}")


def _audit(invocation: Invocation, site: str, results: Results) -> None:
    from comity.rules.seed_list import read_seed
    from comity.run.audit.audit import AuditRun, plan_audit
    from comity.run.crawl.sites import with_request_options

    settings = invocation.settings
    with name_options_in_errors(settings.model_dump(include=CARRIED)):
        settings = with_request_options(settings, [read_seed(site, collapse=invocation.collapse)])
    warn_missing_contact(settings)
    run = AuditRun(plan_audit(settings, site))
    asyncio.run(_watch(run, quiet=invocation.as_json))
    stored = run.close()
    if stored.info.ended_by == EndReason.STOPPED:
        deliver(stored, results, is_whole=False)
        raise typer.Exit(INTERRUPTED)
    deliver(stored, results)


async def _watch(run: AuditRun, *, quiet: bool) -> None:
    """Run the audit to its end, and show its progress; Ctrl-C stops it, and what is in flight is kept."""
    from comity.run.signals import stop_on_signals

    def stop(_signal: int) -> None:
        note("comity: finishing the requests in flight (press Ctrl-C again to exit at once)")
        run.stop()

    def leave() -> None:
        note("comity: exiting at once; the same command continues from here")

    stop_on_signals(stop, leave)
    run.start()
    showing = None if quiet else asyncio.create_task(_show(run))
    try:
        while not await asyncio.to_thread(run.wait, _LOOK_EVERY_S):
            pass
    finally:
        await _cancel(showing)


async def _show(run: AuditRun) -> None:
    """Show the progress of the crawl under way; an audit that goes on elsewhere has several, one after another."""
    from comity.clock import SystemClock
    from comity.doors.cli.crawl.progress import ProgressLine, show_line

    clock, shown, has_noted = SystemClock(), None, False
    warned: set[str] = set()
    task: asyncio.Task[None] | None = None
    try:
        while True:
            progress = run.progress
            if run.waits_for and not has_noted:
                has_noted = True
                note(f"comity: waiting for another process that is crawling {', '.join(run.waits_for[:3])}")
            for warning in run.near_limits(clock.seconds()):
                if warning.code not in warned:
                    warned.add(warning.code)
                    note(f"comity: {warning.sentence}")
            if progress is not shown and progress.started_at:  # it has none while the state is being opened
                await _cancel(task)
                pages = max(run.plan.max_pages - run.pages_before, 1) if run.plan.max_pages else 0
                line = ProgressLine(progress, clock.seconds, pages, run.plan.max_minutes)
                task, shown = asyncio.create_task(show_line(line, progress, pages)), progress
            await asyncio.sleep(_LOOK_EVERY_S)
    finally:
        await _cancel(task)


async def _cancel(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
