"""`comity pages parts` and `comity pages verify`: the files that hold pages, and whether they match their manifest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from comity.doors.cli.help_text import command
from comity.doors.cli.options import Invocation, JsonOption, StateOption, check_number, read_invocation
from comity.doors.cli.output import Cell, Column, Row, counted, note, write_json, write_line, write_table

if TYPE_CHECKING:
    from comity.store.parts.inventory import Inventory, PartFound

_COLORS: Final = {"whole": "green", "damaged": "red", "missing": "red"}
_MOST_NAMES: Final = 5
_MOST_LIMIT: Final = 1_000_000

PagesOption = Annotated[
    Path | None,
    typer.Option(
        "--pages",
        metavar="FOLDER|FILE",
        help="Where the pages are: a folder of Parquet parts, or a .parquet, .duckdb, .jsonl or .csv file. "
        "Default: COMITY_PAGES, or comity-data/pages.",
    ),
]


def chosen_pages(context: typer.Context, state: str | None, as_json: bool, pages: Path | None) -> Invocation:
    """The options of a command that reads pages; the named place must exist."""
    invocation = read_invocation(context, state, as_json, pages=pages)
    if pages is not None:
        from comity.store.reading import check_exists

        check_exists(pages)
    return invocation


def add_parts_commands(app: typer.Typer) -> None:
    """Add the commands of this file to `comity pages`."""
    examples = ("comity pages parts", "comity pages parts --pages archive.warc.gz/ --json")
    command(app, "parts", examples=examples)(parts)
    examples = ("comity pages verify", "comity pages verify --quick --pages /shared/pages")
    command(app, "verify", examples=examples)(verify)


def parts(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many; the newest come first.")] = 50,
    pages: PagesOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the finished parts of all workers with their manifest: rows, bytes, times, runs, writer, digest.

    No part is read. In a folder the manifests are manifest-*.json, one file per part; for a single file it is
    FILE.manifest.jsonl, one line for each part that was joined to it.
    """
    check_number("--limit", limit, 1, _MOST_LIMIT)
    invocation = chosen_pages(context, state, as_json, pages)
    found = _inventory(invocation, thorough=False)
    if invocation.as_json:
        write_json(_document(found))
        return
    if not found.parts:
        write_line(f"No parts at {found.target.path} yet.", Cell("  Crawl some: comity crawl URL", "dim"))
        _note_rest(found)
        return
    listed = sorted(found.parts, key=_newest_first, reverse=True)[:limit]
    columns = (
        Column("PART"),
        Column("ROWS", is_number=True),
        Column("BYTES", is_number=True),
        Column("FIRST (UTC)"),
        Column("LAST (UTC)"),
        Column("FOUND"),
    )
    write_table(columns, [_row(part) for part in listed])
    if len(listed) < len(found.parts):
        note(f"The newest {len(listed):,} of {len(found.parts):,} parts are shown; use --limit to show more.")
    write_line(_sums(found))
    _note_rest(found)


def verify(
    context: typer.Context,
    quick: Annotated[bool, typer.Option("--quick", help="Only compare sizes, without reading the parts.")] = False,
    pages: PagesOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check every part against its manifest, and report parts that are missing, damaged or not listed.

    Every byte is read and the digest compared; crawls may run meanwhile. The exit code is 1 if pages are lost, because
    a part is damaged or missing. Parts without a manifest can still be read, and files of other programs are ignored;
    both are reported.
    """
    invocation = chosen_pages(context, state, as_json, pages)
    found = _inventory(invocation, thorough=not quick)
    if invocation.as_json:
        write_json(_document(found) | {"is_thorough": not quick})
    else:
        for part in found.parts:
            if part.condition.value not in ("whole", "finishing"):
                reason = f": {part.reason}" if part.reason else ""
                style = _COLORS.get(part.condition, "yellow")
                write_line(Cell(part.condition.value, style), f"  {part.name}{reason}")
        write_line(_sums(found))
        _note_rest(found)
    if found.left_out:
        raise typer.Exit(1)


def _inventory(invocation: Invocation, *, thorough: bool) -> Inventory:
    from comity.store.parts.inventory import take_inventory, target_of

    return take_inventory(target_of(invocation.settings.pages), thorough=thorough)


def _newest_first(part: PartFound) -> tuple[str, str]:
    return ((part.note.last_crawl_time or "") if part.note else "", part.name)


def _row(part: PartFound) -> Row:
    rows, first, last = "-", "-", "-"
    if part.note is not None:
        rows, first, last = (
            f"{part.note.rows:,}",
            _minute(part.note.first_crawl_time),
            _minute(part.note.last_crawl_time),
        )
    condition = Cell(part.condition.value, _COLORS.get(part.condition, "yellow"))
    return Row([part.name, rows, f"{part.size:,}", first, last, condition])


def _minute(time: str | None) -> str:
    return time[:16].replace("T", " ") if time else "-"


def _sums(found: Inventory) -> str:
    notes = [part.note for part in found.parts if part.note is not None and not part.condition.is_wrong]
    writers = {note.writer for note in notes}
    conditions = [part.condition.value for part in found.parts]
    counts = ", ".join(f"{conditions.count(name):,} {name}" for name in dict.fromkeys(sorted(conditions)))
    size = sum(note.size for note in notes)
    return (
        f"{counted(len(found.parts), 'part')} of {counted(len(writers), 'writer')}: {counts or 'none'}. "
        f"{counted(sum(note.rows for note in notes), 'page')} in {size:,} bytes."
    )


def _note_rest(found: Inventory) -> None:
    if found.in_segments:
        note(f"{counted(found.in_segments, 'page')} of running or interrupted crawls are in no part yet.")
    if found.foreign:
        names = ", ".join(found.foreign[:_MOST_NAMES]) + (", …" if len(found.foreign) > _MOST_NAMES else "")
        note(f"{counted(len(found.foreign), 'file')} not written by a crawl, and ignored: {names}")
    if found.unnoted_bytes:
        note(f"{found.unnoted_bytes:,} bytes of {found.target.path.name} are in no part of the manifest.")


def _document(found: Inventory) -> dict[str, Any]:
    listed = []
    for part in found.parts:
        values = part.note._asdict() if part.note is not None else {"part": part.name}
        listed.append(values | {"found": part.condition.value, "found_bytes": part.size, "reason": part.reason or None})
    return {
        "pages": str(found.target.path),
        "parts": listed,
        "is_sound": not found.left_out,
        "in_segments": found.in_segments,
        "foreign": list(found.foreign),
        "unnoted_bytes": found.unnoted_bytes,
    }
