"""`comity sources …`: run sources, list their runs, and try pages."""

from __future__ import annotations

from typing import Annotated

import typer

from comity.doors.cli.help_text import command
from comity.doors.cli.options import (
    JsonOption,
    LimitOption,
    StateOption,
    check_number,
    name_options_in_errors,
    option,
    read_invocation,
    used,
    warn_missing_contact,
)
from comity.doors.cli.output import (
    Cell,
    CsvOption,
    check_one_format,
    column_names,
    note,
    render_time,
    write_csv,
    write_json,
    write_line,
    write_pairs,
)
from comity.doors.cli.sources import app
from comity.doors.cli.sources.manage import (
    MOST_LISTED,
    CountryOption,
    HintOption,
    SourceArgument,
    TypeOption,
    read_hint,
)
from comity.doors.cli.sources.rendering import (
    result_document,
    result_writer,
    write_logs,
    write_report,
    write_simulation,
)
from comity.model.errors import BadInput


@command(app, "run", examples=("comity sources run https://example.org/careers", "comity sources run ID --json"))
def run(context: typer.Context, named: SourceArgument, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Run one source now, even if it is not due."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.sources import run_now
    from comity.reports.sources import find_source
    from comity.run.sources import with_source_runner

    warn_missing_contact(invocation.settings)
    with invocation.open_existing() as opened:
        source = find_source(opened.database, named)
        report = with_source_runner(opened, lambda runner: run_now(runner, source))
    if invocation.as_json:
        write_json(result_document(report))
    else:
        write_report(report)
    if str(report.status) == "fail":
        raise typer.Exit(1)


@command(app, "run-due", examples=("comity sources run-due", "comity sources run-due --all --json"))
def run_due(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Continue until nothing is due.")] = False,
    limit: Annotated[int | None, option("--limit", "N", "How many sources at most. Default 20.")] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the sources that are due, once, without the scheduler."""
    if limit is not None:
        check_number("--limit", limit, 1, MOST_LISTED)
    if everything and limit is not None:
        raise BadInput("--all and --limit cannot be combined")
    invocation = read_invocation(context, state, as_json)
    from comity.run.sources import with_source_runner

    warn_missing_contact(invocation.settings)
    with invocation.open_existing() as opened:
        most = None if everything else limit or opened.settings.sources_limit
        on_result = (lambda _result: None) if invocation.as_json else write_report
        done = with_source_runner(opened, lambda runner: opened.due_sources(runner, on_result).run_due(most))
    if invocation.as_json:
        write_json(
            {
                "queued": done.queued,
                "runs": [result_document(report) for report in done.reports],
                "skipped": [result_document(skipped) for skipped in done.skipped],
            }
        )
    elif not done.queued:
        write_line("No source is due.", Cell("  See when: comity sources list", "dim"))


@command(app, "status", examples=("comity sources status --json",))
def status(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Show how many sources are due, and which are running."""
    invocation = read_invocation(context, state, as_json)
    from comity.reports.sources import sources_status

    with invocation.open_existing() as opened:
        found = sources_status(opened.database, opened.clock)
        pool = opened.settings.sources_at_once
        is_on = not opened.settings.disable_scheduler
    if invocation.as_json:
        from comity.doors.schemas.sources import LockView, PoolView, SourcesStatusView

        document = SourcesStatusView(
            running=False,  # this command runs nothing
            scheduler=is_on,
            pool=PoolView(at_once=pool),
            due_count=found.due_count,
            locked=found.locked,
            in_flight=0,
            queued=0,
            locks=[LockView.model_validate(lock) for lock in found.locks],
        )
        write_json(document.document())
        return
    write_pairs(
        [
            ("due", f"{found.due_count:,}"),
            ("running", f"{found.locked:,}"),
            ("at once", f"at most {pool} per scheduler"),
            ("scheduler", "enabled" if is_on else "disabled (DISABLE_SCHEDULER)"),
        ]
    )
    for lock in found.locks:
        write_line(f"  {lock.careers_url}", Cell(f"  since {render_time(lock.locked_at)}", "dim"))


@command(app, "logs", examples=("comity sources logs", "comity sources logs https://example.org/careers --limit 5"))
def logs(
    context: typer.Context,
    named: Annotated[str | None, typer.Argument(metavar="SOURCE", help="Only this source: its URL or id.")] = None,
    limit: LimitOption = 20,
    as_csv: CsvOption = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the latest runs, newest first."""
    check_number("--limit", limit, 1, MOST_LISTED)
    invocation = read_invocation(context, state, as_json)
    check_one_format(as_csv=as_csv, as_json=invocation.as_json)
    from comity.reports.sources import find_source, list_runs

    with invocation.open_existing() as opened:
        source = find_source(opened.database, named) if named is not None else None
        runs = list_runs(opened.database, source.id if source is not None else None, limit)
    if invocation.as_json or as_csv:
        from comity.doors.schemas.sources import SourceRunView

        documents = [SourceRunView.model_validate(each).document() for each in runs]
        if as_csv:
            write_csv(column_names(SourceRunView), documents)
        else:
            write_json(documents)
    elif runs:
        write_logs(runs)
    else:
        write_line("No runs yet.", Cell("  Start some: comity sources run-due", "dim"))


@command(app, "test-fetch", examples=("comity sources test-fetch https://example.org/careers",))
def fetch_head(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="A page; it does not have to be a source.")],
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Request only the headers of a page, as politely as any page: status, size, ETag, Last-Modified."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.sources import test_fetch
    from comity.run.sources import with_source_runner

    warn_missing_contact(invocation.settings)
    with invocation.open_or_make() as opened:
        head = with_source_runner(opened, lambda runner: test_fetch(runner, url))
    if invocation.as_json:
        from comity.doors.schemas.sources import HeadView

        write_json(HeadView.model_validate(head).document())
        return
    size = "unknown" if head.size is None else f"{head.size:,} bytes"
    write_pairs(
        [
            ("url", head.final_url),
            ("status", str(head.status)),
            ("size", size),
            ("type", head.content_type or "unknown"),
            ("etag", head.etag or "none"),
            ("last-modified", head.last_modified or "none"),
            ("took", f"{head.elapsed_ms:,} ms"),
        ]
    )
    if head.note:
        write_line(Cell(f"  {head.note}", "yellow"))


@command(
    app,
    "simulate-extract",
    examples=(
        "comity sources simulate-extract https://example.org/careers",
        "comity sources simulate-extract https://example.org/api --type api \\",
        "    --parser-hint @hint.json",
    ),
)
def simulate(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL|SOURCE", help="A page, or a source by its URL or id.")],
    source_type: TypeOption = None,
    parser_hint: HintOption = None,
    country: CountryOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read the first page and show its first three jobs; nothing is stored. Options override the source's own."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.sources import simulate_extract, source_to_try
    from comity.run.sources import with_source_runner

    tried = used({"source_type": source_type, "parser_hint": read_hint(parser_hint), "country": country})
    warn_missing_contact(invocation.settings)
    with invocation.open_or_make() as opened:
        with name_options_in_errors(tried):
            source = source_to_try(opened.database, url, **tried)
        found = with_source_runner(opened, lambda runner: simulate_extract(runner, source))
    if invocation.as_json:
        from comity.doors.schemas.sources import SimulationView

        write_json(SimulationView.model_validate(found).document())
    else:
        write_simulation(found)
    if found.kind is None:
        raise typer.Exit(1)


@command(app, "serve", examples=("comity sources serve", "comity sources serve --json >> sources.log"))
def serve(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Run the scheduler: sources are run as they become due, until stopped.

    Any number of schedulers can share one state; each source is run by one of them at a time. SIGTERM or Ctrl-C stops
    it: runs in progress get 30 seconds to finish, and are due again if they do not. With --json, each run is one line.
    """
    invocation = read_invocation(context, state, as_json)
    if ":memory:" in invocation.settings.where:
        raise BadInput("a scheduler needs a state that other processes can open; a state in memory cannot be shared")
    if invocation.settings.disable_scheduler:
        write_line("The scheduler is disabled (DISABLE_SCHEDULER); comity sources run-due runs the due sources once.")
        return
    from comity.run.logs import log_for, wait_logger
    from comity.run.sources import SourceObserver, serve_sources

    warn_missing_contact(invocation.settings)
    every = invocation.settings.sources_every_minutes
    log = log_for(invocation.settings, as_json=invocation.as_json)
    code = serve_sources(
        invocation.settings,
        SourceObserver(result_writer(log, as_json=invocation.as_json), on_trouble=note, on_wait=wait_logger(log)),
        on_start=lambda: note(
            f"checking for due sources every {every:g} {'minute' if every == 1 else 'minutes'}; stop with Ctrl-C"
        ),
    )
    if code:
        raise typer.Exit(code)
