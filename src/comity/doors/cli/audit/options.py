"""Options of audits: what comes out of one, and when the exit code is 1."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from comity.model.audit import Severity
from comity.model.errors import BadInput

_HTML: Final = (".html", ".htm")
RESULTS: Final = "Results (docs/audit.md)"

ReportOption = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE.html",
        help="Write the report as one HTML page that needs nothing else.",
        rich_help_panel=RESULTS,
    ),
]
TablesOption = Annotated[
    Path | None,
    typer.Option(
        "--tables",
        metavar="FOLDER",
        help="Write pages, links, headers, hops, findings and decisions as CSV and Parquet.",
        rich_help_panel=RESULTS,
    ),
]
FailOnOption = Annotated[
    Severity | None,
    typer.Option(
        "--fail-on",
        metavar="error|warning|notice",
        help="Exit with code 1 if there is a finding of this severity or worse.",
        rich_help_panel=RESULTS,
    ),
]
NewFailOnOption = Annotated[
    Severity | None,
    typer.Option(
        "--fail-on",
        metavar="error|warning|notice",
        help="Exit with code 1 if a finding of this severity or worse is new on a page.",
        rich_help_panel=RESULTS,
    ),
]


def check_places(report: Path | None, tables: Path | None) -> None:
    """`BadInput` if a result cannot be written; asked before a site is, whose audit may take an hour."""
    if report is not None:
        if report.suffix.lower() not in _HTML and not report.is_dir():
            raise BadInput(f"--report: {report} must end with .html; for other formats use --tables or --json")
        if report.is_dir():
            raise BadInput(f"--report: {report} is a folder; name a file such as {report / 'audit.html'}")
        if not report.absolute().parent.is_dir():
            raise BadInput(f"--report: there is no folder {report.parent}")
    if tables is not None and tables.exists() and not tables.is_dir():
        raise BadInput(f"--tables: {tables} is a file; name a folder")
