"""`comity sources …`: add, list and change sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from comity.doors.cli.csv_output import CsvOption, check_one_format, column_names, write_csv
from comity.doors.cli.help_text import command
from comity.doors.cli.options import (
    Invocation,
    JsonOption,
    StateOption,
    check_number,
    name_options_in_errors,
    read_invocation,
)
from comity.doors.cli.output import Cell, counted, note, write_json, write_line
from comity.doors.cli.sources import app
from comity.doors.cli.sources.rendering import source_document, write_source, write_sources
from comity.model.errors import BadInput

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.model.source import Source

MOST_LISTED: Final = 10_000


def option(name: str, metavar: str, text: str) -> Any:
    """An option with a value."""
    return typer.Option(name, metavar=metavar, help=text)


SourceArgument = Annotated[str, typer.Argument(metavar="SOURCE", help="A source: its URL or its id.")]
OrgNameOption = Annotated[str | None, option("--org-name", "TEXT", "The organisation.")]
TypeOption = Annotated[str | None, option("--type", "html|rss|api", "What the URL returns. Default html.")]
OrgTypeOption = Annotated[
    str | None,
    option("--org-type", "un|ingo|ngo|academic|…", "The kind of organisation; it sets the default frequency."),
]
HintOption = Annotated[
    str | None, option("--parser-hint", "JSON|@FILE", "How to read the page, if it cannot be detected.")
]
FrequencyOption = Annotated[
    int | None,
    option("--crawl-frequency-days", "N", "Days between runs. The default depends on the kind of organisation."),
]
WindowOption = Annotated[
    str | None,
    option("--time-window", "HH:MM-HH:MM", "The hours in which to read it, in the time zone of the organisation."),
]
CountryOption = Annotated[str | None, option("--country", "XX", "The country of the organisation: two letters.")]
ZoneOption = Annotated[str | None, option("--time-zone", "NAME", "Its time zone, such as Africa/Nairobi.")]
ScheduleOption = Annotated[
    str | None, option("--schedule", "s0|adaptive", "Fixed rules (s0), or by the rate of changes (adaptive).")
]
ImportanceOption = Annotated[
    float | None, option("--importance", "N", "The weight of its changes in the adaptive schedule. Default 1.")
]


@command(
    app,
    "add",
    examples=(
        "comity sources add https://example.org/careers --org-name Aid --org-type ngo",
        "comity sources add https://example.org/jobs.rss --type rss \\",
        "    --country KE --time-window 22:00-05:00",
        "comity sources add https://example.org/api --type api --parser-hint @hint.json",
    ),
)
def add(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="The page that lists the openings.")],
    org_name: OrgNameOption = None,
    source_type: TypeOption = None,
    org_type: OrgTypeOption = None,
    parser_hint: HintOption = None,
    crawl_frequency_days: FrequencyOption = None,
    time_window: WindowOption = None,
    country: CountryOption = None,
    time_zone: ZoneOption = None,
    schedule: ScheduleOption = None,
    importance: ImportanceOption = None,
    propose: Annotated[bool, typer.Option("--propose", help="Add it paused, for later approval.")] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a source; it is due immediately."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.sources import add_source, check_columns, ignored_settings

    columns = named_only(
        org_name=org_name,
        source_type=source_type,
        org_type=org_type,
        parser_hint=read_hint(parser_hint),
        crawl_frequency_days=crawl_frequency_days,
        time_window=time_window,
        country=country,
        time_zone=time_zone,
        schedule=schedule,
        importance=importance,
    )
    with name_options_in_errors(columns):
        check_columns(careers_url=url, **columns)  # before anything is opened or created
    with invocation.open_or_make() as opened:
        source = add_source(opened.database, opened.clock, url, approved=not propose, **columns)
        notes = ignored_settings(opened.database, source)
    _show(invocation, source, "is due now" if not propose else "waits for approval", notes)


@command(
    app,
    "list",
    examples=("comity sources list", "comity sources list --status paused --json", "comity sources list --search aid"),
)
def list_all(
    context: typer.Context,
    status: Annotated[str | None, option("--status", "NAME", "Only these: active, paused, blocked or deleted.")] = None,
    org_type: Annotated[str | None, option("--org-type", "NAME", "Only this kind of organisation.")] = None,
    search: Annotated[str | None, option("--search", "TEXT", "Only those whose name or URL contains this.")] = None,
    limit: Annotated[int, option("--limit", "N", "How many at most.")] = 100,
    as_csv: CsvOption = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List sources, the next to run first."""
    check_number("--limit", limit, 1, MOST_LISTED)
    _check_status(status)
    invocation = read_invocation(context, state, as_json)
    check_one_format(as_csv=as_csv, as_json=invocation.as_json)
    from comity.reports.sources import list_sources

    with invocation.open_existing() as opened:
        _check_org_type(opened, org_type)
        found, total = list_sources(opened.database, status=status, org_type=org_type, containing=search, limit=limit)
    if invocation.as_json:
        write_json({"sources": [source_document(source) for source in found], "total": total})
    elif as_csv:
        from comity.doors.schemas.sources import SourceView

        write_csv(column_names(SourceView), (source_document(source) for source in found))
        if total > len(found):
            note(f"{len(found):,} of {counted(total, 'source')}; use --limit to print more.")
    elif found:
        write_sources(found)
        if total > len(found):
            write_line(Cell(f"{len(found):,} of {counted(total, 'source')}; use --limit to show more.", "dim"))
    else:
        write_line("No source matches.", Cell("  Add one: comity sources add URL", "dim"))


@command(
    app,
    "edit",
    examples=(
        "comity sources edit https://example.org/careers --crawl-frequency-days 1",
        'comity sources edit https://example.org/careers --time-window ""',
    ),
)
def edit(
    context: typer.Context,
    named: SourceArgument,
    url: Annotated[str | None, option("--url", "URL", "Its new URL.")] = None,
    org_name: OrgNameOption = None,
    source_type: TypeOption = None,
    org_type: OrgTypeOption = None,
    parser_hint: HintOption = None,
    crawl_frequency_days: FrequencyOption = None,
    time_window: WindowOption = None,
    country: CountryOption = None,
    time_zone: ZoneOption = None,
    schedule: ScheduleOption = None,
    importance: ImportanceOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a source; an empty value clears a field. With a new URL, type or hint, it is due now."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.sources import check_columns, edit_source, ignored_settings
    from comity.reports.sources import find_source

    changes = named_only(
        careers_url=url,
        org_name=org_name,
        source_type=source_type,
        org_type=org_type,
        parser_hint=read_hint(parser_hint),
        crawl_frequency_days=crawl_frequency_days,
        time_window=time_window,
        country=country,
        time_zone=time_zone,
        schedule=schedule,
        importance=importance,
    )
    with name_options_in_errors(changes):
        check_columns(**changes)
    with invocation.open_existing() as opened:
        source = find_source(opened.database, named)
        source = edit_source(opened.database, opened.clock, source.id, **changes)
        notes = ignored_settings(opened.database, source)
    _show(invocation, source, "was changed", notes)


@command(app, "approve", examples=("comity sources approve https://example.org/careers",))
def approve(
    context: typer.Context, named: SourceArgument, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """Approve a proposed source; it is due now."""
    from comity.operate.sources import approve_source

    _act(read_invocation(context, state, as_json), named, approve_source, "is due now")


@command(app, "pause", examples=("comity sources pause https://example.org/careers",))
def pause(
    context: typer.Context, named: SourceArgument, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """Pause a source until it is resumed."""
    from comity.operate.sources import pause_source

    _act(read_invocation(context, state, as_json), named, pause_source, "is paused")


@command(app, "resume", examples=("comity sources resume https://example.org/careers",))
def resume(
    context: typer.Context, named: SourceArgument, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """Resume a paused or blocked source: its failures are cleared, and it is due now."""
    from comity.operate.sources import resume_source

    _act(read_invocation(context, state, as_json), named, resume_source, "is due now")


@command(app, "delete", examples=("comity sources delete https://example.org/careers",))
def delete(
    context: typer.Context, named: SourceArgument, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """Delete a source, and close the postings that only it lists. Its log stays."""
    from comity.operate.sources import delete_source

    _act(read_invocation(context, state, as_json), named, delete_source, "was deleted")


def _act(invocation: Invocation, named: str, act: Callable[..., Source], became: str) -> None:
    from comity.reports.sources import find_source

    with invocation.open_existing() as opened:
        source = act(opened.database, opened.clock, find_source(opened.database, named).id)
    _show(invocation, source, became)


def _show(invocation: Invocation, source: Source, became: str, notes: Sequence[str] | None = None) -> None:
    if invocation.as_json:
        write_json(source_document(source) | ({"notes": notes} if notes is not None else {}))
        return
    write_line(Cell(source.careers_url, "bold"), f" {became}.")
    write_source(source)
    for each in notes or ():
        note(each)


def named_only(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def read_hint(given: str | None) -> str | None:
    """The hint itself, or the content of the file that is named with an @."""
    if given is None or not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadInput(f"--parser-hint: {given[1:]} cannot be read: {reason}") from None


def _check_org_type(opened: State, name: str | None) -> None:
    """Rows edited in SQL may have any kind of organisation; a kind that is neither there nor known is a typo."""
    from comity.model.source import ORG_TYPES
    from comity.reports.sources import list_sources
    from comity.rules.suggestions import one_of

    if name is not None and not list_sources(opened.database, org_type=name, limit=1)[1]:
        one_of("--org-type", name, ORG_TYPES)


def _check_status(name: str | None) -> None:
    from comity.model.source import SourceStatus

    known = [str(each) for each in SourceStatus]
    if name is not None and name not in known:
        raise BadInput(f"--status must be {', '.join(known[:-1])} or {known[-1]}, not {name!r}")
