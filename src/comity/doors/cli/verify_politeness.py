"""`comity verify-politeness`: check the ledger, and export it for others to check."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.doors.cli.help_text import command
from comity.doors.cli.options import Invocation, JsonOption, StateOption, read_invocation
from comity.doors.cli.output import Cell, TextColumn, TextRow, write_json, write_line, write_table
from comity.model.errors import BadInput, ComityError
from comity.model.wording import counted

if TYPE_CHECKING:
    from comity.reports.politeness import Anchor, HostAudit

_LONGEST_LIST = 20


def register(root: typer.Typer) -> None:
    """Add the command of this file."""
    examples = (
        "comity verify-politeness --host example.com",
        "comity verify-politeness --export ledger.jsonl",
        "comity verify-politeness --anchor ledger-of-last-month.jsonl",
    )
    command(root, "verify-politeness", panel="Explain", examples=examples)(verify_politeness)


def verify_politeness(
    context: typer.Context,
    host: Annotated[str | None, typer.Option("--host", metavar="HOST", help="Only this host.")] = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Also export the ledger as JSON lines, for others to check."),
    ] = None,
    anchor: Annotated[
        Path | None,
        typer.Option("--anchor", metavar="FILE", help="An earlier export that the ledger must continue."),
    ] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check that the ledger of requests is complete and unaltered, and that each request kept the limits.

    Requests are checked against the rules at the time: the stored robots.txt files, the history of policies, the waits
    that sites asked for, and the leases. The exit code is 1 if a violation was found.
    docs/ledger.md describes the checks and the exported file; docs/verify_ledger.py checks that file without Comity.
    """
    invocation = read_invocation(context, state, as_json)
    name = invocation.host(host) if host is not None else None
    if invocation.is_missing:
        from comity.assemble import state_file

        raise BadInput(f"there is no state at {state_file(invocation.settings)}; name one with --state")
    from comity.reports.politeness import is_known
    from comity.reports.politeness import verify_politeness as verify

    anchors = _anchors(anchor) if anchor is not None else []
    with invocation.open_existing() as opened:
        if name is not None and not is_known(opened.database, name):
            raise BadInput(f"host {name} is not in this state")
        audits = list(verify(opened.database, name))
        audits += _compare(opened.database, anchors, name)
        exported = _export(opened, export, name) if export is not None else None
    _print_audit(invocation, audits, name, exported)
    if any(audit.violations for audit in audits):
        raise typer.Exit(1)


def _print_audit(
    invocation: Invocation, audits: list[HostAudit], name: str | None, exported: dict[str, Any] | None
) -> None:
    violations = [(audit.host, violation) for audit in audits for violation in audit.violations]
    requests = sum(audit.requests for audit in audits)
    if invocation.as_json:
        document = {"requests": requests, "hosts": len(audits), "violations": len(violations), "found": audits}
        write_json(document | ({"export": exported} if exported is not None else {}))
        return
    if violations:
        rows = [
            TextRow([where, str(violation.breach), violation.url or "-"], violation.sentence)
            for where, violation in violations[:_LONGEST_LIST]
        ]
        write_table([TextColumn("HOST"), TextColumn("BREACH"), TextColumn("URL")], rows)
        if len(violations) > _LONGEST_LIST:
            write_line(Cell(f"… and {len(violations) - _LONGEST_LIST:,} more; --json lists them", "dim"))
        write_line(Cell(f"{counted(len(violations), 'violation')} in {counted(requests, 'request')}.", "red"))
    elif not requests and not audits:
        write_line(f"No request to {name} is recorded." if name else "The ledger is empty: no request is recorded.")
    else:
        write_line(f"{counted(requests, 'request')} to {counted(len(audits), 'host')} checked: no violations.")
    remarks = [(audit.host, remark) for audit in audits for remark in audit.remarks]
    for where, remark in remarks[:_LONGEST_LIST]:
        write_line(Cell(f"{where}: ", "bold"), remark + ".")
    if len(remarks) > _LONGEST_LIST:
        write_line(Cell(f"… and {len(remarks) - _LONGEST_LIST:,} more remarks; --json lists them", "dim"))
    if exported is not None:
        held = f"{counted(exported['requests'], 'request')} to {counted(exported['hosts'], 'host')}"
        write_line(f"Exported {held} to {exported['file']}; the digest of all chains is {exported['digest']}.")


def _anchors(file: Path) -> list[Anchor]:
    from comity.reports.politeness import read_anchor

    try:
        with file.open(encoding="utf-8") as lines:
            return read_anchor(lines)
    except OSError as error:
        raise BadInput(f"cannot read the anchor {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"the anchor {file} is not text") from None


def _compare(database: Any, anchors: list[Anchor], name: str | None) -> list[HostAudit]:
    from comity.reports.politeness import compare_anchors

    return list(compare_anchors(database, [each for each in anchors if name is None or each.host == name]))


def _export(opened: Any, file: Path, name: str | None) -> dict[str, Any]:
    """Write to a temporary file, and rename it when it is complete."""
    from comity.reports.politeness import LedgerExport

    written = LedgerExport(opened.database, name, opened.clock.now())
    partial = file.with_name(f".{file.name}.partial")
    try:
        with partial.open("w", encoding="ascii") as lines:
            lines.writelines(written.lines())
            lines.flush()
            os.fsync(lines.fileno())
        partial.replace(file)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise ComityError(f"cannot write {file}: {error.strerror}") from None
    return {"file": str(file), "hosts": written.hosts, "requests": written.requests, "digest": written.digest}
