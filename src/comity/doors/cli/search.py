"""`comity search …`: job postings by words and filters, and the state of the search index."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO

import typer

from comity.doors.cli.help_text import PlainHelpCommand, command
from comity.doors.cli.options import Invocation, JsonOption, StateOption, check_number, read_invocation
from comity.doors.cli.output import Cell, json_line, note, render_time, write_json, write_line, write_pairs
from comity.model.errors import BadInput, SearchUnavailable
from comity.model.wording import counted

if TYPE_CHECKING:
    from uuid import UUID

    from comity.assemble import State
    from comity.model.search import Marked, OutboxStatus, SearchDocument, SearchHit, SearchPage, SearchQuery

_MATCH: Final = "bold yellow"
_MOST_VALUES: Final = 6
_FACET_TITLES: Final = {
    "country_iso": "country",
    "level_norm": "level",
    "work_modality": "modality",
    "career_type": "type",
    "mission_tags": "about",
    "international_eligible": "international",
    "language": "language",
    "org_name": "organisation",
}


_FILTERS: Final = "Filters (each may be repeated; one of its values must match)"
_UPKEEP: Final = "The index"
_STDOUT: Final = "-"
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
_MOST_UPDATED_FIRST: Final = 5_000


def _several(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel=_FILTERS)


Several = list[str] | None
WordsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="WORD", help="Words that must all occur; '\"a phrase\"' must occur as it is, -word must not occur."
    ),
]
InternationalOption = Annotated[
    bool | None,
    typer.Option("--international/--national", help="Open to any nationality, or not.", rich_help_panel=_FILTERS),
]
AfterOption = Annotated[str | None, _several("--deadline-after", "DATE", "From this day on.")]
BeforeOption = Annotated[str | None, _several("--deadline-before", "DATE", "Up to this day.")]
SinceOption = Annotated[
    str | None,
    _several(
        "--since", "DATE|7d", "Posted (or first seen, if it has no date) since this day, or in the last 24h, 7d, 2w."
    ),
]
ClosedOption = Annotated[
    bool, typer.Option("--closed", help="Include closed postings and those whose deadline has passed.")
]
FullOption = Annotated[bool, typer.Option("--full", help="Show the whole description of each posting.")]
AllOption = Annotated[bool, typer.Option("--all", help="Return all results, newest first unless --sort is used.")]
CsvOption = Annotated[
    str | None,
    typer.Option("--csv", metavar="[FILE.csv]", help="Print CSV with column names, or write it to FILE.csv."),
]
SortOption = Annotated[
    str | None, typer.Option("--sort", metavar="ORDER", help="relevance, newest or deadline. Default relevance.")
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", metavar="N", help="How many results, at most 100. Default 20.")
]
StatusOption = Annotated[
    bool, typer.Option("--status", help="Show the changes that the index does not have yet.", rich_help_panel=_UPKEEP)
]
RebuildOption = Annotated[
    bool, typer.Option("--rebuild", help="Rebuild the index from all postings.", rich_help_panel=_UPKEEP)
]


def register(root: typer.Typer) -> None:
    """Add the command of this file."""
    command(
        root,
        "search",
        examples=(
            "comity search water engineer --country KE --country SS",
            "comity search '\"programme manager\" -intern' --level senior",
            "comity search --tag health --sort deadline --json",
            "comity search --since 7d --all --csv week.csv",
            "comity search --status",
            "comity search --rebuild",
        ),
        panel="Sources",
        short_help="Find job postings by words and filters.",
        kind=_SearchCommand,
    )(search)


class _SearchCommand(PlainHelpCommand):
    """`--csv` may be followed by the name of a file, which ends in .csv; any other word is one to search for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join the name of the file to its option."""
        end = args.index("--") if "--" in args else len(args)
        for index in [number for number, word in enumerate(args[:end]) if word == "--csv"][::-1]:
            follows = args[index + 1 : index + 2]
            if follows and follows[0].lower().endswith(".csv"):
                args = [*args[:index], f"--csv={follows[0]}", *args[index + 2 :]]
            else:
                args = [*args[:index], f"--csv={_STDOUT}", *args[index + 1 :]]
        return super().parse_args(ctx, args)


def search(
    context: typer.Context,
    words: WordsArgument = None,
    country: Annotated[Several, _several("--country", "XX|NAME", "Country: two letters, or its name.")] = None,
    level: Annotated[Several, _several("--level", "NAME", "intern, junior, mid, senior, lead, director …")] = None,
    modality: Annotated[Several, _several("--modality", "NAME", "onsite, hybrid, remote or field.")] = None,
    career_type: Annotated[Several, _several("--type", "NAME", "permanent, consultancy, internship …")] = None,
    tag: Annotated[Several, _several("--tag", "NAME", "Topic: health, wash, education …")] = None,
    language: Annotated[Several, _several("--language", "xx|NAME", "The language it is written in.")] = None,
    org: Annotated[Several, _several("--org", "NAME", "The organisation, by its full name.")] = None,
    source: Annotated[Several, _several("--source", "ID|URL", "The source that lists it.")] = None,
    international: InternationalOption = None,
    deadline_after: AfterOption = None,
    deadline_before: BeforeOption = None,
    since: SinceOption = None,
    closed: ClosedOption = False,
    full: FullOption = False,
    everything: AllOption = False,
    as_csv: CsvOption = None,
    sort: SortOption = None,
    limit: LimitOption = None,
    offset: Annotated[int, typer.Option("--offset", metavar="N", help="How many results to skip first.")] = 0,
    status: StatusOption = False,
    rebuild: RebuildOption = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find job postings; without words, list the newest. No request is made to any site.

    Case and accents do not matter, and the last word may be incomplete: "engin" finds engineers. The index is updated
    before the search.
    """
    if status and rebuild:
        raise BadInput("--status and --rebuild cannot be combined")
    if everything and (limit is not None or offset):
        raise BadInput(f"--all and --{'limit' if limit is not None else 'offset'} cannot be combined")
    if (status or rebuild) and words:
        raise BadInput(f"--{'status' if status else 'rebuild'} takes no words to search for")
    from comity.rules.search.query import checked_filter

    given = {
        "country_iso": checked_filter("country_iso", country or (), "--country"),
        "level_norm": checked_filter("level_norm", level or (), "--level"),
        "work_modality": checked_filter("work_modality", modality or (), "--modality"),
        "career_type": checked_filter("career_type", career_type or (), "--type"),
        "mission_tags": checked_filter("mission_tags", tag or (), "--tag"),
        "language": checked_filter("language", language or (), "--language"),
        "org_name": tuple(org or ()),
    }
    query = _query(
        " ".join(words or ()),
        sort or ("newest" if everything else "relevance"),
        international_eligible=international,
        deadline_after=_day("--deadline-after", deadline_after),
        deadline_before=_day("--deadline-before", deadline_before, is_end=True),
        since=_since(since),
        open_only=not closed,
        full_text=full,
        limit=20 if limit is None else limit,
        offset=offset,
        **{name: values for name, values in given.items() if values},
    )
    invocation = read_invocation(context, state, as_json)
    if status:
        _show_status(invocation)
    elif rebuild:
        _rebuild(invocation)
    else:
        _search(invocation, query, source or [], everything=everything, as_csv=as_csv)


def _query(text: str, sort: str, **given: Any) -> SearchQuery:
    from comity.model.search import MOST_HITS, MOST_SKIPPED, SearchQuery, SearchSort

    check_number("--limit", given["limit"], 1, MOST_HITS)
    check_number("--offset", given["offset"], 0, MOST_SKIPPED)
    try:
        order = SearchSort(sort)
    except ValueError:
        raise BadInput(f"--sort must be one of {', '.join(SearchSort)}, not {sort[:40]!r}") from None
    return SearchQuery(text, sort=order, **given)


def _since(text: str | None) -> datetime | None:
    from comity.clock import SystemClock
    from comity.rules.search.query import read_since

    return read_since("--since", text, SystemClock().now()) if text is not None else None


def _day(option: str, text: str | None, *, is_end: bool = False) -> datetime | None:
    """A day in UTC: its beginning, or its end."""
    if text is None:
        return None
    try:
        begun = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
        return begun + timedelta(days=1, microseconds=-1) if is_end else begun
    except (ValueError, OverflowError):
        raise BadInput(f"{option} must be a date such as 2026-03-31, not {text[:40]!r}") from None


def _search(
    invocation: Invocation, query: SearchQuery, sources: list[str], *, everything: bool, as_csv: str | None
) -> None:
    from dataclasses import replace

    if as_csv is not None and invocation.as_json:
        raise BadInput("--csv and --json cannot be combined")
    with _csv_file(as_csv) as file, invocation.open_existing() as opened:
        if sources:
            query = replace(query, source_id=tuple(_source(opened, named) for named in sources))
        if not invocation.is_missing:
            _update_index(opened)
        if everything:
            hits = opened.search().every(query)
            _write_all(hits, query, file, as_json=invocation.as_json)
            return
        page = opened.search().query(query)
        if file is not None:
            _write_csv(file, (hit.posting for hit in page.hits), full=query.full_text)
            return
    if invocation.as_json:
        write_json(page_document(page))
    else:
        write_page(page, query)
        if query.org_name and not page.total:
            note("--org needs the full name of an organisation; comity search WORDS also finds parts of it.")


def _write_all(hits: Iterator[SearchHit], query: SearchQuery, file: TextIO | None, *, as_json: bool) -> None:
    """Write every hit as it comes, so that any number of them fits into memory."""
    if file is not None:
        _write_csv(file, (hit.posting for hit in hits), full=query.full_text)
    elif as_json:
        from comity.doors.schemas.sources import HitView

        print('{"hits": [', end="")
        total = 0
        for total, hit in enumerate(hits, 1):
            print("\n " if total == 1 else ",\n ", json_line(HitView.model_validate(hit).document()), sep="", end="")
        print(f'\n], "total": {total}, "facets": {{}}, "next": null}}')
    else:
        total = 0
        for total, hit in enumerate(hits, 1):
            _write_hit(total, hit)
        write_line(Cell(counted(total, "posting"), "bold"))


@contextmanager
def _csv_file(name: str | None) -> Iterator[TextIO | None]:
    """Where CSV goes: nowhere, to stdout, or to a file that is complete once it has its name."""
    if name is None:
        yield None
        return
    if name == _STDOUT:
        sys.stdout.flush()
        stream = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", errors="replace", newline="", write_through=True)
        try:
            yield stream
        finally:
            stream.detach()
        return
    path, part = Path(name).expanduser(), Path(f"{name}.part").expanduser()
    if path.is_dir():
        raise BadInput(f"--csv: {name} is a folder; name a file")
    try:
        with part.open("w", encoding="utf-8", errors="replace", newline="") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise BadInput(f"--csv: {name} cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


def _write_csv(file: TextIO, postings: Iterable[SearchDocument], *, full: bool) -> None:
    """Write postings under the names of their JSON fields."""
    from comity.doors.schemas.sources import PostingView

    names = [name for name in PostingView.model_fields if full or name != "description_text"]
    writer = csv.writer(file)
    writer.writerow(names)
    for posting in postings:
        document = PostingView.model_validate(posting).document()
        writer.writerow([_csv_value(document[name]) for name in names])


def _csv_value(value: Any) -> Any:
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    # A spreadsheet runs a cell that begins like a formula, and titles are written by strangers.
    is_formula = isinstance(value, str) and value.startswith(_FORMULA)
    return f"'{value}" if is_formula else value


def _source(opened: State, named: str) -> UUID:
    from comity.reports.sources import find_source

    return find_source(opened.database, named).id


def _update_index(opened: State) -> None:
    result = opened.outbox_drain().drain(most=_MOST_UPDATED_FIRST)
    if result.error is not None:
        note(f"the index may be out of date: {result.error}")


def _show_status(invocation: Invocation) -> None:
    from comity.reports.status import outbox_status

    with invocation.open_existing() as opened:
        found = outbox_status(opened.database)
        engine = opened.search_engine().name
    if invocation.as_json:
        write_json({"engine": engine} | asdict(found))
        return
    write_pairs(
        [
            ("engine", engine),
            ("pending", f"{found.pending:,}"),
            ("failing", f"{found.failing:,}"),
            ("oldest", render_time(found.oldest_at)),
            ("next attempt", _next_attempt(found)),
            ("last error", found.last_error or "-"),
        ]
    )


def _next_attempt(found: OutboxStatus) -> str:
    return render_time(found.next_attempt_at, absent="at the next pass" if found.pending else "-")


def _rebuild(invocation: Invocation) -> None:
    from comity.doors.cli.output import ProgressBars

    with invocation.open_existing() as opened, ProgressBars() as bars:
        shows: dict[int, Any] = {}

        def show(done: int, total: int) -> None:
            if not shows:
                shows[0] = bars.bar("postings", total)
            shows[0](done)

        done = opened.outbox_drain().rebuild(show)
    if invocation.as_json:
        counts = {"indexed": done.indexed, "removed": done.removed, "postponed": done.postponed}
        write_json(counts | {"error": done.error})
    else:
        gone = f"; {counted(done.removed, 'posting')} skipped because of a takedown" if done.removed else ""
        write_line(
            Cell(f"{done.indexed:,}", "bold"),
            f" {'posting is' if done.indexed == 1 else 'postings are'} indexed{gone}.",
        )
    if done.error is not None:
        raise SearchUnavailable(f"{counted(done.postponed, 'row')} will be retried: {done.error}")


def page_document(page: SearchPage) -> dict[str, Any]:
    """A page of hits as JSON; matches are separate pieces, which the reader must escape."""
    from comity.doors.schemas.sources import SearchResults

    return SearchResults.model_validate(page).document()


def write_page(page: SearchPage, query: SearchQuery) -> None:
    """Write a page of hits."""
    if not page.hits:
        hint = (
            "  Try fewer words or filters; --closed includes closed postings." if query.text or page.total == 0 else ""
        )
        write_line("No postings found.", Cell(hint, "dim"))
        return
    for number, hit in enumerate(page.hits, query.offset + 1):
        _write_hit(number, hit)
    first, last = query.offset + 1, query.offset + len(page.hits)
    write_line(Cell(f"{first:,} to {last:,} of {counted(page.total, 'posting')}", "bold"))
    for name, counts in page.facets.items():
        if counts:
            values = ", ".join(f"{each.value} {each.count:,}" for each in counts[:_MOST_VALUES])
            more = " …" if len(counts) > _MOST_VALUES else ""
            write_line(Cell(f"  {_FACET_TITLES[name]:<14}", "dim"), f"{values}{more}")


def _write_hit(number: int, hit: SearchHit) -> None:
    posting = hit.posting
    write_line(Cell(f"{number:>3}. ", "dim"), *_cells(hit.title, "bold"), *_after(" · ", hit.org_name))
    facts = [posting.country_iso, posting.level_norm, posting.work_modality, posting.career_type]
    until = f"until {posting.deadline:%Y-%m-%d}" if posting.deadline is not None else None
    state = "closed" if posting.closed_at is not None else until
    rest = " · ".join(fact for fact in (*facts, state) if fact)
    place = _cells(hit.location)
    if place or rest:
        write_line("     ", *place, Cell(f"{' · ' if place and rest else ''}{rest}", "dim"))
    if posting.description_text:
        for line in posting.description_text.splitlines():
            write_line("     ", line)
    elif hit.snippet:
        write_line("     ", *_cells(hit.snippet))
    write_line("     ", Cell(posting.apply_url, "dim"))


def _cells(marked: Marked, style: str = "") -> list[Cell]:
    return [Cell(piece.text, _MATCH if piece.is_match else style) for piece in marked]


def _after(text: str, marked: Marked) -> list[Cell]:
    return [Cell(text, "dim"), *_cells(marked)] if marked else []
