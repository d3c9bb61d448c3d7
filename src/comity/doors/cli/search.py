"""`comity search …`: job postings by words and filters, and the state of the search index."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from comity.doors.cli.help_text import command
from comity.doors.cli.options import Invocation, JsonOption, StateOption, check_number, read_invocation
from comity.doors.cli.output import Cell, counted, note, render_time, write_json, write_line, write_pairs
from comity.model.errors import BadInput, SearchUnavailable

if TYPE_CHECKING:
    from uuid import UUID

    from comity.assemble import State
    from comity.model.search import Marked, OutboxStatus, SearchHit, SearchPage, SearchQuery

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
_MOST_UPDATED_FIRST: Final = 5_000


def _several(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel=_FILTERS)


Several = list[str] | None
WordsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="WORD", help='All must occur; "in quotes" a phrase; -word must not occur (quote the whole).'
    ),
]
InternationalOption = Annotated[
    bool | None,
    typer.Option("--international/--national", help="Open to any nationality, or not.", rich_help_panel=_FILTERS),
]
AfterOption = Annotated[str | None, _several("--deadline-after", "DATE", "From this day on.")]
BeforeOption = Annotated[str | None, _several("--deadline-before", "DATE", "Up to this day.")]
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
            "comity search --status",
            "comity search --rebuild",
        ),
        panel="Sources",
        short_help="Find job postings by words and filters.",
    )(search)


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
    everything: Annotated[
        bool, typer.Option("--all", help="Include closed postings and those whose deadline has passed.")
    ] = False,
    sort: Annotated[str, typer.Option("--sort", metavar="ORDER", help="relevance, newest or deadline.")] = "relevance",
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many results, at most 100.")] = 20,
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
    if (status or rebuild) and words:
        raise BadInput(f"--{'status' if status else 'rebuild'} takes no words to search for")
    from comity.rules.search.filters import checked_filter

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
        sort,
        international_eligible=international,
        deadline_after=_day("--deadline-after", deadline_after),
        deadline_before=_day("--deadline-before", deadline_before, is_end=True),
        open_only=not everything,
        limit=limit,
        offset=offset,
        **{name: values for name, values in given.items() if values},
    )
    invocation = read_invocation(context, state, as_json)
    if status:
        _show_status(invocation)
    elif rebuild:
        _rebuild(invocation)
    else:
        _search(invocation, query, source or [])


def _query(text: str, sort: str, **given: Any) -> SearchQuery:
    from comity.model.search import MOST_HITS, MOST_SKIPPED, SearchQuery, SearchSort

    check_number("--limit", given["limit"], 1, MOST_HITS)
    check_number("--offset", given["offset"], 0, MOST_SKIPPED)
    try:
        order = SearchSort(sort)
    except ValueError:
        raise BadInput(f"--sort must be one of {', '.join(SearchSort)}, not {sort[:40]!r}") from None
    return SearchQuery(text, sort=order, **given)


def _day(option: str, text: str | None, *, is_end: bool = False) -> datetime | None:
    """A day in UTC: its beginning, or its end."""
    if text is None:
        return None
    try:
        begun = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
        return begun + timedelta(days=1, microseconds=-1) if is_end else begun
    except (ValueError, OverflowError):
        raise BadInput(f"{option} must be a date such as 2026-03-31, not {text[:40]!r}") from None


def _search(invocation: Invocation, query: SearchQuery, sources: list[str]) -> None:
    from dataclasses import replace

    with invocation.open_existing() as opened:
        if sources:
            query = replace(query, source_id=tuple(_source(opened, named) for named in sources))
        if not invocation.is_missing:
            _update_index(opened)
        page = opened.search().query(query)
    if invocation.as_json:
        write_json(page_document(page))
    else:
        write_page(page, query)
        if query.org_name and not page.total:
            note("--org needs the full name of an organisation; comity search WORDS also finds parts of it.")


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
    from comity.doors.cli.progress_bars import ProgressBars

    with invocation.open_existing() as opened, ProgressBars() as bars:
        shows: dict[int, Any] = {}

        def show(done: int, total: int) -> None:
            if not shows:
                shows[0] = bars.bar("postings", total)
            shows[0](done)

        done = opened.outbox_drain().rebuild(show)
    if invocation.as_json:
        counts = {"told": done.indexed, "removed": done.removed, "postponed": done.postponed}
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
        hint = "  Try fewer words or filters; --all includes closed postings." if query.text or page.total == 0 else ""
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
    if hit.snippet:
        write_line("     ", *_cells(hit.snippet))
    write_line("     ", Cell(posting.apply_url, "dim"))


def _cells(marked: Marked, style: str = "") -> list[Cell]:
    return [Cell(piece.text, _MATCH if piece.is_match else style) for piece in marked]


def _after(text: str, marked: Marked) -> list[Cell]:
    return [Cell(text, "dim"), *_cells(marked)] if marked else []
