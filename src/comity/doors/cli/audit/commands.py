"""`comity audit SITE`, and `comity audit list`, `report` and `compare` for audits that are stored.

A group of commands that is a command itself: `comity audit example.com` audits, unless the first word names one of the
commands of the group.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand

from comity.doors.cli.audit.results import Results, deliver, write_audits, write_comparison
from comity.doors.cli.crawl.options import (
    CARRIED,
    CRAWL,
    LINKS,
    SPEED,
    AllowNetworkOption,
    request_settings,
)
from comity.doors.cli.help_text import PlainHelpGroup, command, reflow, render_examples
from comity.doors.cli.options import (
    Invocation,
    JsonOption,
    StateOption,
    name_options_in_errors,
    option,
    read_invocation,
    switch,
    takes,
    warn_missing_contact,
)
from comity.doors.cli.output import note, write_json
from comity.model.audit import Severity
from comity.model.errors import BadInput
from comity.model.run import EndReason
from comity.run.signals import INTERRUPTED

if TYPE_CHECKING:
    from comity.model.audit import AuditInfo
    from comity.reports.audit.stored_audits import StoredAudit
    from comity.run.audit.audit import AuditRun

# Some releases of typer bundle their own click, so the class is taken from typer itself.
_COMMAND: Final[Any] = TyperCommand.__mro__[1]
_CHOSEN: Final = "comity.audit.command"
_EXAMPLES: Final = (
    "comity audit https://example.com/ --report audit.html",
    "comity audit example.com --max-pages 1000 --tables audit-tables",
    "comity audit example.com --fail-on error --json > audit.json",
    "comity audit list",
    "comity audit compare BEFORE AFTER --fail-on warning",
)
_ROBOTS: Final = "robots.txt and noindex"
_LOOK_EVERY_S: Final = 0.2
_HTML: Final = (".html", ".htm")
_RESULTS: Final = "Results (docs/audit.md)"

ReportOption = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE.html",
        help="Write the report as one self-contained HTML page.",
        rich_help_panel=_RESULTS,
    ),
]
TablesOption = Annotated[
    Path | None,
    typer.Option(
        "--tables",
        metavar="FOLDER",
        help="Write pages, links, headers, hops, findings and decisions as CSV and Parquet.",
        rich_help_panel=_RESULTS,
    ),
]
FailOnOption = Annotated[
    Severity | None,
    typer.Option(
        "--fail-on",
        metavar="error|warning|notice",
        help="Exit with code 1 if there is a finding of this severity or worse.",
        rich_help_panel=_RESULTS,
    ),
]
NewFailOnOption = Annotated[
    Severity | None,
    typer.Option(
        "--fail-on",
        metavar="error|warning|notice",
        help="Exit with code 1 if a finding of this severity or worse is new on a page.",
        rich_help_panel=_RESULTS,
    ),
]
_AUDIT_HELP = "The name of an audit or its folder; or a site, for its newest audit."


class AuditGroup(PlainHelpGroup):
    """Runs the command that the first word names. If it names no command, it is the site to audit."""

    allow_interspersed_args = True
    allow_extra_args = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line, as a group or as a command."""
        if args and args[0] in self.commands:
            ctx.meta[_CHOSEN] = (args[0], args[1:])
            return []
        rest: list[str] = _COMMAND.parse_args(self, ctx, args)
        return rest

    def invoke(self, ctx: Any) -> Any:
        """Run what was chosen."""
        chosen = ctx.meta.pop(_CHOSEN, None)
        if chosen is None:
            return ctx.invoke(self.callback, **ctx.params)
        name, args = chosen
        command = self.commands[name]
        # Its parent is that of the group: usage would name the group's own argument otherwise.
        with command.make_context(f"{ctx.info_name} {name}", list(args), parent=ctx.parent) as inner:
            return command.invoke(inner)


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    app = typer.Typer()
    command(app, "list", examples=("comity audit list", "comity audit list --json"))(list_audits)
    command(
        app,
        "report",
        examples=(
            "comity audit report example.com --report audit.html",
            "comity audit report example.com-20260105-090000-1f2e --tables tables",
        ),
    )(report_audit)
    command(
        app,
        "compare",
        examples=(
            "comity audit compare example.com-20260105-090000-1f2e example.com",
            "comity audit compare before/ after/ --fail-on warning",
        ),
    )(compare)
    app.callback(
        cls=AuditGroup,
        no_args_is_help=True,
        invoke_without_command=True,
        subcommand_metavar="",
        help=reflow(audit.__doc__ or ""),
        epilog=render_examples(_EXAMPLES),
    )(takes(requests=CRAWL)(audit))
    root.add_typer(app, name="audit", rich_help_panel="Crawl")


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
    two requests run at once, with pauses of 200 to 500 ms, or longer if the site asks for it. The same command
    continues an audit that was stopped. One that has ended is kept (comity audit list), and two can be compared.

    MAX_PAGES, MAX_SCAN_TIME_MINUTES and USER_AGENT in the environment set what --max-pages, --max-minutes and
    --user-agent do. The exit code is 1 if no page could be read, and if --fail-on finds something.
    """
    _check_site(context, site)
    _check_places(report, tables)
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


def _check_places(report: Path | None, tables: Path | None) -> None:
    """Raise `BadInput` if a result cannot be written, before an audit that may take an hour."""
    if report is not None:
        if report.suffix.lower() not in _HTML and not report.is_dir():
            raise BadInput(f"--report: {report} must end with .html; for other formats use --tables or --json")
        if report.is_dir():
            raise BadInput(f"--report: {report} is a folder; name a file such as {report / 'audit.html'}")
        if not report.absolute().parent.is_dir():
            raise BadInput(f"--report: there is no folder {report.parent}")
        if not os.access(report.absolute().parent, os.W_OK):
            raise BadInput(f"--report: no permission to write in {report.parent}")
    if tables is not None and tables.exists() and not tables.is_dir():
        raise BadInput(f"--tables: {tables} is a file; name a folder")


def _check_site(context: typer.Context, site: str) -> None:
    """Raise `BadInput` for a word that is no host: most likely a misspelled command."""
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
    """Show the progress of the current crawl; an audit may make several crawls, one after another."""
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


def list_audits(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """List the stored audits, the newest first."""
    invocation = read_invocation(context, state, as_json)
    from comity.reports.audit.stored_audits import stored_audits

    audits = stored_audits(
        Path(invocation.settings.audits), lambda problem: note(f"comity: skipped an audit: {problem}")
    )
    if invocation.as_json:
        from comity.doors.schemas.audits import AuditInfoView

        write_json([each.document() for each in AuditInfoView.list_of(audits)])
        return
    write_audits(audits)


def report_audit(
    context: typer.Context,
    audit: Annotated[str, typer.Argument(metavar="AUDIT", help=_AUDIT_HELP)],
    report: ReportOption = None,
    tables: TablesOption = None,
    fail_on: FailOnOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Report a stored audit again: as a summary, a page, tables or JSON. Nothing is requested."""
    _check_places(report, tables)
    invocation = read_invocation(context, state, as_json)
    deliver(_stored(invocation, audit), Results(report, tables, fail_on, as_json=invocation.as_json))


def compare(
    context: typer.Context,
    before: Annotated[str, typer.Argument(metavar="BEFORE", help=_AUDIT_HELP)],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The later audit, named in the same way.")],
    fail_on: NewFailOnOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two audits: what got better and worse, by finding and page.

    A site as BEFORE means its newest audit before AFTER, so the same site twice compares its last two audits. Audits of
    two addresses of a site, such as a test server and the public one, are compared by path. With --fail-on,
    the exit code is 1 if something of that severity or worse is new.
    """
    invocation = read_invocation(context, state, as_json)
    from comity.reports.audit.build import compare_stored

    later = _stored(invocation, after)
    comparison = compare_stored(_stored(invocation, before, earlier_than=later.info), later)
    if invocation.as_json:
        from comity.doors.schemas.audits import comparison_document

        write_json(comparison_document(comparison))
    else:
        write_comparison(comparison)
    if fail_on and any(each.worse and each.severity.rank >= fail_on.rank for each in comparison.changes):
        raise typer.Exit(1)


def _stored(invocation: Invocation, name: str, *, earlier_than: AuditInfo | None = None) -> StoredAudit:
    from comity.reports.audit.stored_audits import find_audit

    return find_audit(Path(invocation.settings.audits), name, earlier_than=earlier_than)
