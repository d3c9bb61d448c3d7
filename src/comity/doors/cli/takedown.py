"""`comity takedown …`: what must never be fetched, queued or served."""

from __future__ import annotations

from typing import Annotated

import typer

from comity.doors.cli.help_text import command, group
from comity.doors.cli.options import JsonOption, StateOption, checked_text, read_invocation
from comity.doors.cli.output import (
    Cell,
    CsvOption,
    TextColumn,
    TextRow,
    check_one_format,
    column_names,
    render_time,
    write_csv,
    write_json,
    write_line,
    write_table,
)
from comity.model.wording import counted

EntriesArgument = Annotated[
    list[str],
    typer.Argument(metavar="ENTRY", help="A host with its subdomains, or a URL with everything below it."),
]

app = group("Exclude hosts and URLs permanently: they are never fetched, queued or served.")


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    root.add_typer(app, name="takedown", rich_help_panel="Limits")


@command(
    app,
    "add",
    examples=(
        'comity takedown add example.com --reason "requested by the owner"',
        "comity takedown add https://example.org/private",
    ),
)
def add(
    context: typer.Context,
    entries: EntriesArgument,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="The reason; stored with the entry.")
    ] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take hosts or URLs down, and remove them from the queues."""
    kept_reason = checked_text("--reason", reason)
    invocation = read_invocation(context, state, as_json)
    _check(entries)
    from comity.operate.takedown import add_takedowns

    with invocation.open_or_make() as opened:
        reports = add_takedowns(opened.database, entries, reason=kept_reason, frontier=opened.frontier)
    if invocation.as_json:
        from comity.doors.schemas.decisions import takedown_added

        write_json([takedown_added(report).document() for report in reports])
        return
    for report in reports:
        was = "is taken down" if report.is_new else "was already taken down"
        dropped = f"; {counted(report.urls_dropped, 'queued URL')} dropped" if report.urls_dropped else ""
        dropped += f"; {counted(report.postings_closed, 'posting')} closed" if report.postings_closed else ""
        write_line(Cell(report.entry, "bold"), f" {was}{dropped}.")


@command(app, "remove", examples=("comity takedown remove example.com",))
def remove(
    context: typer.Context, entries: EntriesArgument, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """Allow hosts or URLs again. If one of them is not taken down, nothing is changed.

    URLs that were removed from the queues are queued again.
    """
    invocation = read_invocation(context, state, as_json)
    _check(entries)
    from comity.operate.takedown import remove_takedowns

    with invocation.open_existing() as opened:
        removed = remove_takedowns(opened.database, entries, frontier=opened.frontier)
    if invocation.as_json:
        write_json([{"domain_or_url": entry} for entry in removed])
        return
    for entry in removed:
        write_line(Cell(entry, "bold"), " may be crawled again.")


@command(app, "list", examples=("comity takedown list --json", "comity takedown list --csv > takedowns.csv"))
def list_entries(
    context: typer.Context, as_csv: CsvOption = False, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """List what is taken down, oldest first."""
    invocation = read_invocation(context, state, as_json)
    check_one_format(as_csv=as_csv, as_json=invocation.as_json)
    from comity.operate.takedown import list_takedowns

    with invocation.open_existing() as opened:
        stored = list_takedowns(opened.database)
    if invocation.as_json or as_csv:
        from comity.doors.schemas.decisions import TakedownView, takedown_view

        documents = [takedown_view(entry).document() for entry in stored]
        if as_csv:
            write_csv(column_names(TakedownView), documents)
        else:
            write_json(documents)
    elif stored:
        rows = [TextRow((entry.entry, render_time(entry.created_at), entry.reason or "-")) for entry in stored]
        write_table((TextColumn("ENTRY"), TextColumn("SINCE"), TextColumn("REASON")), rows)
    else:
        write_line("Nothing is taken down.", Cell("  Add an entry: comity takedown add example.com", "dim"))


def _check(entries: list[str]) -> None:
    """Refuse entries that are not hosts or URLs, before anything is opened."""
    from comity.rules.takedown import read_entry

    for entry in entries:
        read_entry(entry)
