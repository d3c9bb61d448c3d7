"""`comity sources …`: add, list and change sources.

The options of the columns of a source are declared once for every command that takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from comity.doors.cli.help_text import command
from comity.doors.cli.options import (
    Invocation,
    JsonOption,
    LimitOption,
    OptionGroup,
    StateOption,
    check_number,
    name_options_in_errors,
    option,
    read_invocation,
    takes,
    used,
)
from comity.doors.cli.output import (
    Cell,
    CsvOption,
    check_one_format,
    column_names,
    note,
    write_csv,
    write_json,
    write_line,
)
from comity.doors.cli.sources import app
from comity.doors.cli.sources.rendering import source_document, write_import, write_source, write_sources
from comity.model.errors import BadInput
from comity.model.wording import counted

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.model.source import Source
    from comity.operate.import_sources import ImportTerms

MOST_LISTED: Final = 10_000
_LIST: Final = "A list of sources"


SourceArgument = Annotated[str, typer.Argument(metavar="SOURCE", help="A source: its URL or its id.")]
TypeOption = Annotated[str | None, option("--type", "html|rss|api", "What the URL returns. Default html.")]
HintOption = Annotated[
    str | None, option("--parser-hint", "JSON|@FILE", "How to read the page, if it cannot be detected.")
]
CountryOption = Annotated[str | None, option("--country", "XX", "The country of the organisation: two letters.")]
_COLUMNS: Final[OptionGroup] = {
    "org_name": Annotated[str | None, option("--org-name", "TEXT", "The organisation.")],
    "source_type": TypeOption,
    "org_type": Annotated[
        str | None,
        option("--org-type", "un|ingo|ngo|academic|…", "The kind of organisation; it sets the default frequency."),
    ],
    "parser_hint": HintOption,
    "crawl_frequency_days": Annotated[
        int | None,
        option("--crawl-frequency-days", "N", "Days between runs. The default depends on the kind of organisation."),
    ],
    "time_window": Annotated[
        str | None,
        option("--time-window", "HH:MM-HH:MM", "The hours in which to read it, in the time zone of the organisation."),
    ],
    "country": CountryOption,
    "time_zone": Annotated[str | None, option("--time-zone", "NAME", "Its time zone, such as Africa/Nairobi.")],
    "schedule": Annotated[
        str | None, option("--schedule", "s0|adaptive", "Fixed rules (s0), or by the rate of changes (adaptive).")
    ],
    "importance": Annotated[
        float | None, option("--importance", "N", "The weight of its changes in the adaptive schedule. Default 1.")
    ],
}


def _used_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that were named, with the content of a hint's file."""
    named = used(columns)
    return named | ({"parser_hint": read_hint(named["parser_hint"])} if "parser_hint" in named else {})


def read_hint(text: str | None) -> str | None:
    """The hint itself, or the content of the file that is named with an @."""
    if text is None or not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadInput(f"--parser-hint: {text[1:]} cannot be read: {reason}") from None


@command(
    app,
    "add",
    examples=(
        "comity sources add https://example.org/careers --org-name Aid --org-type ngo",
        "comity sources add https://example.org/jobs.rss --type rss \\",
        "    --country KE --time-window 22:00-05:00",
        "comity sources add https://example.org/api --type api \\",
        "    --parser-hint @hint.json",
        "comity sources add --from sources.csv --dry-run",
    ),
)
@takes(columns=_COLUMNS)
def add(
    context: typer.Context,
    columns: dict[str, Any],
    url: Annotated[str | None, typer.Argument(metavar="URL", help="The page that lists the openings.")] = None,
    propose: Annotated[bool, typer.Option("--propose", help="Add it paused, for later approval.")] = False,
    file: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Add every source in a .csv, .tsv, .json or .jsonl file.",
            rich_help_panel=_LIST,
        ),
    ] = None,
    update: Annotated[
        bool,
        typer.Option("--update", help="Update existing sources that differ from the file.", rich_help_panel=_LIST),
    ] = False,
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad",
            help="Add the other rows if some are refused; by default, add none.",
            rich_help_panel=_LIST,
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Report what would happen; change nothing.", rich_help_panel=_LIST)
    ] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a source, or a list of them; they are due immediately.

    With --from, every row of the file is reported. If one row is refused, nothing is added. The first line names the
    columns: careers_url (or url), org_name, org_type, source_type, country … See docs/analysts.md.
    """
    columns = _used_columns(columns)
    if file is None:
        for name, is_used in (("--update", update), ("--skip-bad", skip_bad), ("--dry-run", dry_run)):
            if is_used:
                raise BadInput(f"{name} can be used only with --from FILE")
        if url is None:
            raise BadInput("name a URL or a file: comity sources add URL, or comity sources add --from FILE")
        _add_one(read_invocation(context, state, as_json), url, columns, propose=propose)
        return
    if url is not None or columns:
        other = url if url is not None else f"--{next(iter(columns)).replace('_', '-')}"
        raise BadInput(f"--from and {other} cannot be combined; the file has a column for each setting")
    from comity.operate.import_sources import ImportTerms

    terms = ImportTerms(update=update, skip_bad=skip_bad, dry_run=dry_run, approved=not propose)
    _add_list(read_invocation(context, state, as_json), file, terms)


def _add_one(invocation: Invocation, url: str, columns: dict[str, Any], *, propose: bool) -> None:
    from comity.operate.sources import add_source, check_columns, ignored_settings

    with name_options_in_errors(columns):
        check_columns(careers_url=url, **columns)  # before anything is opened or created
    with invocation.open_or_make() as opened:
        source = add_source(opened.database, opened.clock, url, approved=not propose, **columns)
        notes = ignored_settings(opened.database, source)
    _show(invocation, source, "is due now" if not propose else "waits for approval", notes)


def _add_list(invocation: Invocation, file: str, terms: ImportTerms) -> None:
    from comity.operate.import_sources import import_sources
    from comity.rules.row_list import format_of, read_source_list

    kind, content = format_of(file), _content(file)
    try:
        listed = read_source_list(content, kind)
    except BadInput as problem:
        raise BadInput(f"{file}: {problem}") from None
    # A dry run creates no state.
    opening = invocation.open_existing if terms.dry_run else invocation.open_or_make
    with opening() as opened:
        report = import_sources(opened.database, opened.clock, listed, terms)
    if invocation.as_json:
        from comity.doors.schemas.sources import SourceImportView

        write_json(SourceImportView.model_validate(report).document())
    else:
        write_import(report, "SOURCE", [row.careers_url for row in report.rows])
    if report.refused and not terms.skip_bad:
        raise typer.Exit(BadInput.exit_code)


def _content(file: str) -> bytes:
    """The bytes of a file; of one that is too large, only enough to refuse it."""
    from comity.model.source_import import MOST_FILE_BYTES

    try:
        with Path(file).expanduser().open("rb") as stream:
            return stream.read(MOST_FILE_BYTES + 1)
    except OSError as error:
        raise BadInput(f"--from: {file} cannot be read: {error.strerror}") from None


@command(
    app,
    "list",
    examples=("comity sources list", "comity sources list --status paused --json", "comity sources list --search aid"),
)
def list_all(
    context: typer.Context,
    status: Annotated[
        str | None, option("--status", "NAME", "Only sources with this status: active, paused, blocked or deleted.")
    ] = None,
    org_type: Annotated[str | None, option("--org-type", "NAME", "Only this kind of organisation.")] = None,
    search: Annotated[str | None, option("--search", "TEXT", "Only those whose name or URL contains this.")] = None,
    limit: LimitOption = 100,
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
        write_line("No sources found.", Cell("  Add one: comity sources add URL", "dim"))


@command(
    app,
    "edit",
    examples=(
        "comity sources edit https://example.org/careers --crawl-frequency-days 1",
        'comity sources edit https://example.org/careers --time-window ""',
    ),
)
@takes(columns=_COLUMNS)
def edit(
    context: typer.Context,
    columns: dict[str, Any],
    named: SourceArgument,
    url: Annotated[str | None, option("--url", "URL", "Its new URL.")] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a source; an empty value clears a field. With a new URL, type or hint, it is due now."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.sources import check_columns, edit_source, ignored_settings
    from comity.reports.sources import find_source

    changes = used({"careers_url": url}) | _used_columns(columns)
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
