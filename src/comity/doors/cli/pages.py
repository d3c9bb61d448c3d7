"""`comity pages …`: read stored pages by SQL or by URL, export them, and list and check the files that hold them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from comity.doors.cli.help_text import command, group
from comity.doors.cli.options import Invocation, JsonOption, StateOption, check_number, read_invocation
from comity.doors.cli.output import (
    Cell,
    CsvOption,
    TextColumn,
    TextRow,
    check_one_format,
    is_terminal,
    note,
    render_time,
    write_as_is,
    write_csv,
    write_json,
    write_line,
    write_table,
)
from comity.model.errors import BadInput, NotFound
from comity.model.page import FILES_READ, FILES_WRITTEN
from comity.model.wording import counted

if TYPE_CHECKING:
    from comity.rules.takedown import Takedowns
    from comity.store.parts.inventory import Inventory, PartFound
    from comity.store.reading import PageReader, Sources

_MOST_ROWS: Final = 1000  # that a table shows
_LONGEST_CELL: Final = 200
_LISTED: Final = ("url", "http_status", "content_type", "crawl_time", "title", "error")
_LIST: Final = (
    "SELECT url, http_status, content_type, epoch_us(crawl_time), title, error "
    "FROM pages ORDER BY crawl_time DESC, url LIMIT ?"
)
_BODY: Final = (
    "SELECT url, content_type, epoch_us(crawl_time), body, body_bytes FROM pages "
    "WHERE (url IN (?, ?) OR final_url IN (?, ?)) AND (body IS NOT NULL OR body_bytes IS NOT NULL) "
    "ORDER BY crawl_time DESC LIMIT 1"
)
_ERROR: Final = "SELECT error FROM pages WHERE url IN (?, ?) ORDER BY crawl_time DESC LIMIT 1"
_COLORS: Final = {"whole": "green", "damaged": "red", "missing": "red"}
_MOST_NAMES: Final = 5
_MOST_LIMIT: Final = 1_000_000

_PagesOption = Annotated[
    Path | None,
    typer.Option(
        "--pages",
        metavar="FOLDER|FILE",
        help=f"Where the pages are: a folder of Parquet parts, or a {FILES_READ} file. "
        "Default: COMITY_PAGES, or comity-data/pages.",
    ),
]


class Output(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    PARQUET = "parquet"


app = group(
    """Read stored pages.

    Pages are rows of a table called pages: url, surt_key, http_status, body, content_type, crawl_time, error, etag,
    last_modified, content_hash, final_url, redirect_count, title, body_bytes and run_id; also text, markdown
    and extracted columns, if a crawl stored them. DuckDB can read the same files:
    SELECT * FROM 'comity-data/pages/*.parquet'.
    """
)


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    _add_parts_commands(app)
    root.add_typer(app, name="pages", rich_help_panel="Crawl")


@command(
    app,
    "query",
    examples=(
        'comity pages query "SELECT http_status, count(*) FROM pages GROUP BY 1"',
        "comity pages query \"FROM pages WHERE body ILIKE '%cookie%'\" \\\n      --into-format parquet > found.parquet",
    ),
)
def query(
    context: typer.Context,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT statement in DuckDB's SQL.")],
    into_format: Annotated[
        Output, typer.Option("--into-format", metavar="FORMAT", help="table, csv, json, jsonl or parquet, on stdout.")
    ] = Output.TABLE,
    pages: _PagesOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Query the pages with SQL; the query cannot change anything.

    Pages under a takedown are not in the table. Pages of a running crawl appear a few minutes after they were
    fetched; the number of those still missing is printed on stderr.
    """
    invocation = _chosen_pages(context, state, as_json, pages)
    if into_format is Output.PARQUET and is_terminal():
        raise BadInput("Parquet cannot be printed on a terminal: write it to a file, as in > found.parquet")
    with _reading(invocation) as reader:
        if invocation.as_json:
            answer = BytesIO()
            reader.copy(sql, Output.JSON, answer)
            rows, sources = json.loads(answer.getvalue()), reader.sources
            write_json({"rows": rows, "in_segments": sources.in_segments, "parts_left_out": len(sources.left_out)})
            return
        if into_format is Output.TABLE:
            _write_answer(*reader.ask(sql))
        else:
            sys.stdout.flush()
            reader.copy(sql, into_format, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        _note_waiting(reader.sources)


@command(app, "list", examples=("comity pages list --limit 5",))
def list_pages(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many; the newest come first.")] = 20,
    as_csv: CsvOption = False,
    pages: _PagesOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the newest pages."""
    check_number("--limit", limit, 1, 1_000_000)
    invocation = _chosen_pages(context, state, as_json, pages)
    check_one_format(as_csv=as_csv, as_json=invocation.as_json)
    sources = _sources(invocation)
    rows: list[Any] = []
    if not sources.is_empty:
        with _reading(invocation, sources) as reader:
            rows = [(*row[:3], _time(row[3]), *row[4:]) for row in reader.rows(_LIST, [limit])]
    documents = [dict(zip(_LISTED, row, strict=True)) for row in rows]
    if invocation.as_json:
        write_json(documents)
        return
    if as_csv:
        write_csv(_LISTED, documents)
    elif rows:
        columns = (
            TextColumn("URL"),
            TextColumn("STATUS", is_number=True),
            TextColumn("TYPE"),
            TextColumn("WHEN (UTC)"),
            TextColumn("TITLE"),
        )
        write_table(columns, [_listed(*row) for row in rows])
    elif sources.is_empty:
        write_line(f"No pages at {sources.target.path} yet.", Cell("  Crawl some: comity crawl URL", "dim"))
    else:
        write_line(f"No page at {sources.target.path} may be shown: all are taken down.")
    _note_waiting(sources)


@command(app, "body", examples=("comity pages body https://example.com/", "comity pages body URL --raw > logo.png"))
def body(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="The page, or where it was redirected to.")],
    raw: Annotated[bool, typer.Option("--raw", help="Print the stored bytes, even on a terminal.")] = False,
    pages: _PagesOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the newest stored body of a page."""
    invocation = _chosen_pages(context, state, as_json, pages)
    from comity.rules.canonical import web_address

    address = web_address(url, collapse=invocation.collapse)
    forms = [url, address.url]
    with _reading(invocation) as reader:
        found = next(reader.rows(_BODY, forms * 2), None)
        why = next(reader.rows(_ERROR, forms), None) if found is None else None
    if found is None:
        reason = "is not among the stored pages"
        if why:
            reason = f"was visited, but no body was stored: {why[0] or 'unknown'}"
        raise NotFound(f"{address.url} {reason}")
    _write_body(invocation, found, raw=raw)


@command(
    app,
    "export",
    examples=(
        "comity pages export pages.csv",
        "comity pages export pages.warc.gz",
        "comity pages export pages.duckdb --pages comity-data/pages",
    ),
)
def export(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help=f"A new folder (Parquet parts), or a file: .parquet, {FILES_WRITTEN}.",
        ),
    ],
    pages: _PagesOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Export all pages to another format.

    The target must not exist, except a .duckdb file, to which pages are added. Pages under a takedown are skipped.
    """
    invocation = _chosen_pages(context, state, as_json, pages)
    from comity.store.export import export as write_all
    from comity.store.export import read_export_target

    place = read_export_target(target)
    with _reading(invocation) as reader:
        count = write_all(reader, place)
        waiting = reader.sources.in_segments
    if invocation.as_json:
        write_json({"pages": count, "target": str(place.path), "in_segments": waiting})
        return
    write_line(f"{counted(count, 'page')} written to ", Cell(str(place.path), "bold"), ".")
    _note_waiting(reader.sources)


@contextmanager
def _reading(invocation: Invocation, sources: Sources | None = None) -> Iterator[PageReader]:
    from comity.store.reading import open_reader

    found = sources or _sources(invocation)
    takedowns = _takedowns(invocation)
    is_hidden = None if takedowns is None else partial(_is_taken_down, takedowns)
    with open_reader(found, is_hidden) as reader:
        yield reader


def _sources(invocation: Invocation) -> Sources:
    from comity.store.reading import find_sources

    return find_sources(invocation.settings.pages)


def _takedowns(invocation: Invocation) -> Takedowns | None:
    """The takedowns; None if there are none."""
    if invocation.is_missing:
        return None
    from comity.operate.takedown import list_takedowns
    from comity.rules.takedown import Takedowns

    with invocation.open_existing() as opened:
        entries = [stored.entry for stored in list_takedowns(opened.database)]
    return Takedowns.of(entries) if entries else None


def _is_taken_down(takedowns: Takedowns, url: str) -> bool:
    from comity.model.errors import BadAddress
    from comity.rules.canonical import web_address

    try:
        return takedowns.covering(web_address(url)) is not None
    except BadAddress:
        return False


def _write_answer(names: list[str], rows: Iterator[tuple[str | None, ...]]) -> None:
    first = list(islice(rows, _MOST_ROWS))
    columns = [
        TextColumn(name, bool(first) and all(_is_number(row[index]) for row in first))
        for index, name in enumerate(names)
    ]
    write_table(columns, [TextRow([_cell(value) for value in row]) for row in first])
    if next(rows, None) is not None:
        note(f"Only the first {_MOST_ROWS:,} rows are shown; --into-format csv prints all.")


def _is_number(value: str | None) -> bool:
    return value is not None and value.removeprefix("-").replace(".", "", 1).isdecimal()


def _cell(value: str | None) -> Cell:
    if value is None:
        return Cell("NULL", "dim")
    return Cell(value if len(value) <= _LONGEST_CELL else value[:_LONGEST_CELL] + "…")


def _listed(
    url: str, status: int | None, kind: str | None, at: datetime, title: str | None, error: str | None
) -> TextRow:
    media = (kind or "-").partition(";")[0]
    last = Cell(error, "red") if error else _cell(title or "-")
    return TextRow([url, str(status) if status is not None else "-", media, render_time(at), last])


def _write_body(invocation: Invocation, found: tuple[Any, ...], *, raw: bool) -> None:
    url, content_type, at, text, raw_bytes = found
    if invocation.as_json:
        from base64 import b64encode

        coded = b64encode(raw_bytes).decode("ascii") if raw_bytes is not None else None
        about = {"url": url, "content_type": content_type, "crawl_time": _time(at)}
        write_json(about | {"body": text, "body_bytes": coded})
    elif raw or not is_terminal():
        sys.stdout.flush()
        sys.stdout.buffer.write(raw_bytes if text is None else text.encode())
        sys.stdout.buffer.flush()
    elif text is None:
        what = content_type or "of an unknown type"
        raise BadInput(f"{url} is not text ({what}, {len(raw_bytes):,} bytes); --raw prints the bytes")
    else:
        for line in text.splitlines():
            write_as_is(line)


def _time(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1e6, UTC)


def _note_waiting(sources: Sources) -> None:
    if sources.in_segments:
        note(f"{counted(sources.in_segments, 'page')} of running or interrupted crawls cannot be read yet.")
    if sources.left_out:
        note(f"{counted(len(sources.left_out), 'part')} damaged or missing, and skipped; see comity pages verify.")


def _chosen_pages(context: typer.Context, state: str | None, as_json: bool, pages: Path | None) -> Invocation:
    """The options of a command that reads pages; the named place must exist."""
    invocation = read_invocation(context, state, as_json, pages=pages)
    if pages is not None:
        from comity.store.reading import check_exists

        check_exists(pages)
    return invocation


def _add_parts_commands(app: typer.Typer) -> None:
    """Add the commands of this file to `comity pages`."""
    examples = ("comity pages parts", "comity pages parts --pages archive.warc.gz/ --json")
    command(app, "parts", examples=examples)(_parts)
    examples = ("comity pages verify", "comity pages verify --quick --pages /shared/pages")
    command(app, "verify", examples=examples)(_verify)


def _parts(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many; the newest come first.")] = 50,
    pages: _PagesOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the finished parts of all workers with their manifest: rows, bytes, times, runs, writer, digest.

    No part is read. In a folder the manifests are manifest-*.json, one file per part; for a single file it is
    FILE.manifest.jsonl, one line for each part that was joined to it.
    """
    check_number("--limit", limit, 1, _MOST_LIMIT)
    invocation = _chosen_pages(context, state, as_json, pages)
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
        TextColumn("PART"),
        TextColumn("ROWS", is_number=True),
        TextColumn("BYTES", is_number=True),
        TextColumn("FIRST (UTC)"),
        TextColumn("LAST (UTC)"),
        TextColumn("FOUND"),
    )
    write_table(columns, [_row(part) for part in listed])
    if len(listed) < len(found.parts):
        note(f"The newest {len(listed):,} of {len(found.parts):,} parts are shown; use --limit to show more.")
    write_line(_sums(found))
    _note_rest(found)


def _verify(
    context: typer.Context,
    quick: Annotated[bool, typer.Option("--quick", help="Only compare sizes, without reading the parts.")] = False,
    pages: _PagesOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check every part against its manifest, and report parts that are missing, damaged or not listed.

    Every byte is read and the digest compared; crawls may run meanwhile. The exit code is 1 if pages are lost, because
    a part is damaged or missing. Parts without a manifest can still be read, and files of other programs are ignored;
    both are reported.
    """
    invocation = _chosen_pages(context, state, as_json, pages)
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


def _row(part: PartFound) -> TextRow:
    rows, first, last = "-", "-", "-"
    if part.note is not None:
        rows, first, last = (
            f"{part.note.rows:,}",
            _minute(part.note.first_crawl_time),
            _minute(part.note.last_crawl_time),
        )
    condition = Cell(part.condition.value, _COLORS.get(part.condition, "yellow"))
    return TextRow([part.name, rows, f"{part.size:,}", first, last, condition])


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
        note(f"{counted(found.in_segments, 'page')} of running or interrupted crawls are not in a part yet.")
    if found.foreign:
        names = ", ".join(found.foreign[:_MOST_NAMES]) + (", …" if len(found.foreign) > _MOST_NAMES else "")
        note(f"{counted(len(found.foreign), 'file')} not written by a crawl, and ignored: {names}")
    if found.unnoted_bytes:
        note(f"{found.unnoted_bytes:,} bytes of {found.target.path.name} are not listed in the manifest.")


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
