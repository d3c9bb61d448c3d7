"""What the nouns of the crawl service share on the command line: how a page of rows is written, and bulk actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from comity.doors.cli.csv_output import column_names, write_csv
from comity.doors.cli.output import Cell, note, write_line
from comity.doors.cli.queue.rendering import write_bulk, write_exact

if TYPE_CHECKING:
    from comity.doors.cli.options import Invocation
    from comity.doors.schemas.base import Schema
    from comity.operate.queue import BulkReport

MOST_LISTED = 10_000


def write_rows(
    invocation: Invocation,
    schema: type[Schema],
    rows: Sequence[Any],
    write: Callable[[Any], None],
    *,
    as_csv: bool,
    nothing: str,
    remedy: str = "",
) -> None:
    """Write rows as JSON, as CSV or as a table; without any, say so."""
    if invocation.as_json:
        write_exact(schema.list_of(rows))
    elif as_csv:
        write_csv(column_names(schema), (each.model_dump() for each in schema.list_of(rows)))
    elif rows:
        write(rows)
    else:
        write_line(nothing, Cell(f"  {remedy}" if remedy else "", "dim"))


def note_more(invocation: Invocation, page: Any, limit: int, export: str = "") -> None:
    """Say that a page is not all there is; JSON is for programs, which ask for as many as they want."""
    if page.cursor is not None and not invocation.as_json:
        elsewhere = f", or {export}" if export else ""
        note(f"only the first {limit:,} are listed; use --limit to list more{elsewhere}")


def write_report(invocation: Invocation, report: BulkReport, one: str, many: str, missing: str | None = None) -> None:
    """Write what a bulk action did; ends with 1 if the reason for every item is `missing`: there is no such thing."""
    if invocation.as_json:
        from comity.doors.schemas.queue import BulkReport as BulkView

        write_exact(BulkView.model_validate(report))
    else:
        write_bulk(report, one, many)
    if missing is not None and all(item.reason == missing for item in report.items):
        raise typer.Exit(1)
