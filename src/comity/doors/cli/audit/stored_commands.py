"""`comity audit list`, `comity audit report` and `comity audit compare`: audits that are stored."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.doors.cli.audit.options import FailOnOption, NewFailOnOption, ReportOption, TablesOption, check_places
from comity.doors.cli.audit.results import Results, deliver, write_audits, write_comparison
from comity.doors.cli.help_text import command
from comity.doors.cli.options import Invocation, JsonOption, StateOption, read_invocation
from comity.doors.cli.output import note, write_json

if TYPE_CHECKING:
    from comity.model.audit import AuditInfo
    from comity.reports.audit.stored import StoredAudit

_AUDIT_HELP = "The name of an audit or its folder; or a site, for its newest audit."


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    command(app, "list", examples=("comity audit list", "comity audit list --json"))(list_audits)
    command(
        app,
        "report",
        examples=(
            "comity audit report example.com --report audit.html",
            "comity audit report example.com-20260105-090000-1f2e --tables tables",
        ),
    )(report_audit)
    command(
        app,
        "compare",
        examples=(
            "comity audit compare example.com-20260105-090000-1f2e example.com",
            "comity audit compare before/ after/ --fail-on warning",
        ),
    )(compare)


def list_audits(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """List the stored audits, the newest first."""
    invocation = read_invocation(context, state, as_json)
    from comity.reports.audit.stored import stored_audits

    audits = stored_audits(
        Path(invocation.settings.audits), lambda problem: note(f"comity: an audit is left out: {problem}")
    )
    if invocation.as_json:
        from comity.doors.schemas.audits import AuditInfoView

        write_json([each.document() for each in AuditInfoView.list_of(audits)])
        return
    write_audits(audits)


def report_audit(
    context: typer.Context,
    audit: Annotated[str, typer.Argument(metavar="AUDIT", help=_AUDIT_HELP)],
    report: ReportOption = None,
    tables: TablesOption = None,
    fail_on: FailOnOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Report a stored audit again: as a summary, a page, tables or JSON. Nothing is requested."""
    check_places(report, tables)
    invocation = read_invocation(context, state, as_json)
    deliver(_stored(invocation, audit), Results(report, tables, fail_on, as_json=invocation.as_json))


def compare(
    context: typer.Context,
    before: Annotated[str, typer.Argument(metavar="BEFORE", help=_AUDIT_HELP)],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The later audit, named likewise.")],
    fail_on: NewFailOnOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two audits: what got better and worse, by finding and page.

    A site as BEFORE means its newest audit before AFTER, so the same site twice compares its last two audits. Audits of
    two addresses of a site, such as a test server and the public one, are compared by path. With --fail-on,
    the exit code is 1 if something of that severity or worse is new.
    """
    invocation = read_invocation(context, state, as_json)
    from comity.reports.audit.build import compare_stored

    later = _stored(invocation, after)
    comparison = compare_stored(_stored(invocation, before, earlier_than=later.info), later)
    if invocation.as_json:
        from comity.doors.schemas.audits import comparison_document

        write_json(comparison_document(comparison))
    else:
        write_comparison(comparison)
    if fail_on and any(each.worse and each.severity.rank >= fail_on.rank for each in comparison.changes):
        raise typer.Exit(1)


def _stored(invocation: Invocation, name: str, *, earlier_than: AuditInfo | None = None) -> StoredAudit:
    from comity.reports.audit.stored import find_audit

    return find_audit(Path(invocation.settings.audits), name, earlier_than=earlier_than)
