"""`comity pages …`: read stored pages by SQL or by URL, and export them."""

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
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from comity.doors.cli.csv_output import CsvOption, check_one_format, write_csv
from comity.doors.cli.help_text import command, group
from comity.doors.cli.options import Invocation, JsonOption, StateOption, check_number
from comity.doors.cli.output import (
    Cell,
    Column,
    Row,
    counted,
    is_terminal,
    note,
    render_time,
    write_as_is,
    write_json,
    write_line,
    write_table,
)
from comity.doors.cli.pages.parts import PagesOption, add_parts_commands, chosen_pages
from comity.model.errors import BadInput, NotFound

if TYPE_CHECKING:
    from comity.rules.takedown import Takedowns
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
    add_parts_commands(app)
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
    pages: PagesOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Query the pages with SQL; the query cannot change anything.

    Pages under a takedown are not in the table. Pages of a running crawl appear a few minutes after they were
    fetched; the number of those still missing is printed on stderr.
    """
    invocation = chosen_pages(context, state, as_json, pages)
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
    pages: PagesOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the newest pages."""
    check_number("--limit", limit, 1, 1_000_000)
    invocation = chosen_pages(context, state, as_json, pages)
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
            Column("URL"),
            Column("STATUS", is_number=True),
            Column("TYPE"),
            Column("WHEN (UTC)"),
            Column("TITLE"),
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
    pages: PagesOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the newest stored body of a page."""
    invocation = chosen_pages(context, state, as_json, pages)
    from comity.rules.canonical import web_address

    address = web_address(url, collapse=invocation.collapse)
    forms = [url, address.url]
    with _reading(invocation) as reader:
        found = next(reader.rows(_BODY, forms * 2), None)
        why = next(reader.rows(_ERROR, forms), None) if found is None else None
    if found is None:
        reason = f"was visited, but no body was stored: {why[0] or 'unknown'}" if why else "is not among the pages"
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
            help="A new folder (Parquet parts), or a file: .parquet, .duckdb, .jsonl[.gz], .csv[.gz] or .warc[.gz].",
        ),
    ],
    pages: PagesOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Export all pages to another format.

    The target must not exist, except a .duckdb file, to which pages are added. Pages under a takedown are skipped.
    """
    invocation = chosen_pages(context, state, as_json, pages)
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
        Column(name, bool(first) and all(_is_number(row[index]) for row in first)) for index, name in enumerate(names)
    ]
    write_table(columns, [Row([_cell(value) for value in row]) for row in first])
    if next(rows, None) is not None:
        note(f"Only the first {_MOST_ROWS:,} rows are shown; --into-format csv prints all.")


def _is_number(value: str | None) -> bool:
    return value is not None and value.removeprefix("-").replace(".", "", 1).isdecimal()


def _cell(value: str | None) -> Cell:
    if value is None:
        return Cell("NULL", "dim")
    return Cell(value if len(value) <= _LONGEST_CELL else value[:_LONGEST_CELL] + "…")


def _listed(url: str, status: int | None, kind: str | None, at: datetime, title: str | None, error: str | None) -> Row:
    media = (kind or "-").partition(";")[0]
    last = Cell(error, "red") if error else _cell(title or "-")
    return Row([url, str(status) if status is not None else "-", media, render_time(at), last])


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
