"""`comity domains …`: what is known of hosts, and what may be done to them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Final

import typer

from comity.doors.cli.domains import app
from comity.doors.cli.domains.rendering import host_document, line_document, status_cell, write_host, write_hosts
from comity.doors.cli.help_text import command
from comity.doors.cli.options import Invocation, JsonOption, StateOption, check_number, checked_text, read_invocation
from comity.doors.cli.output import (
    Cell,
    Column,
    Row,
    counted,
    note,
    render_time,
    visible,
    write_json,
    write_line,
    write_table,
)
from comity.model.host import HostStatus

_STATUSES: Final = ", ".join(list(HostStatus)[:-1]) + " or " + list(HostStatus)[-1]
_WAITS: Final = frozenset({HostStatus.PENDING, HostStatus.ACTIVE})

HostArgument = Annotated[str, typer.Argument(metavar="HOST", help="A host such as example.com, or any URL on it.")]
LimitOption = Annotated[int, typer.Option("--limit", metavar="N", help="Show at most this many.")]


@command(app, "list", examples=("comity domains list --status blocked", "comity domains list --contains wiki --json"))
def list_domains(
    context: typer.Context,
    status: Annotated[
        HostStatus | None, typer.Option("--status", metavar="STATUS", help=f"Only hosts that are {_STATUSES}.")
    ] = None,
    contains: Annotated[
        str | None, typer.Option("--contains", metavar="TEXT", help="Only hosts whose name contains this.")
    ] = None,
    limit: LimitOption = 50,
    offset: Annotated[int, typer.Option("--offset", metavar="N", help="Pass over this many first.")] = 0,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List hosts with their status and progress, those crawled last first.

    PAGES are crawled/discovered, YIELD is images stored a page, times are UTC. A host that is blocked or
    unreachable says why.
    """
    text = checked_text("--contains", contains)
    check_number("--limit", limit, 1)
    check_number("--offset", offset, 0)
    invocation = read_invocation(context, state, as_json)
    from comity.reports.hosts import list_hosts

    with invocation.open_existing() as opened:
        # One more than asked for tells whether there are more.
        lines = list_hosts(
            opened.database, status=status, contains=text and text.lower(), limit=limit + 1, offset=offset
        )
    more, lines = len(lines) > limit, lines[:limit]
    if invocation.as_json:
        write_json([line_document(line) for line in lines])
        return
    if lines:
        write_hosts(lines)
    elif status is not None or text is not None or offset:
        write_line("No host fits.", Cell("  All of them: comity domains list", "dim"))
    else:
        _write_no_hosts(invocation)
    if more:
        note(f"There are more: --offset {offset + limit}, or a larger --limit.")


@command(app, "info", examples=("comity domains info example.com",))
def show_domain(
    context: typer.Context, host: HostArgument, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """Show everything that is known of one host.

    Its standing and progress, what its gate remembers, who holds its lease, and the policy that an operator gave it.
    """
    invocation = read_invocation(context, state, as_json)
    name = invocation.host(host)
    from comity.reports.hosts import host_in_full

    with invocation.open_existing() as opened:
        found, now = host_in_full(opened.database, name, opened.frontier.states), opened.clock.now()
    if invocation.as_json:
        write_json(host_document(found))
    else:
        write_host(found, now)


@command(app, "reset", examples=('comity domains reset example.com --reason "the site asked us back"',))
def reset_domain(
    context: typer.Context,
    host: HostArgument,
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Kept with the host.")] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send a host back to the start: cooldown and errors forgotten, every URL queued again.

    What the site itself asked for is kept: a reset never makes the next request come sooner than the gate allows.
    """
    kept_reason = checked_text("--reason", reason)
    invocation = read_invocation(context, state, as_json)
    name = invocation.host(host)
    from comity.operate.reset import reset_host

    with invocation.open_existing() as opened:
        report = reset_host(opened.database, opened.clock, name, reason=kept_reason, frontier=opened.frontier)
    if invocation.as_json:
        write_json(
            {
                "domain": report.host,
                "status_before": report.before,
                "status": report.after,
                "urls_requeued": report.urls_requeued,
            }
        )
        return
    change: list[str | Cell] = [status_cell(report.before), " → ", status_cell(report.after)]
    if report.before is report.after:
        change = ["still ", status_cell(report.after), ", cooldown and errors forgotten"]
    write_line(Cell(report.host, "bold"), ": ", *change, f", {counted(report.urls_requeued, 'URL')} queued again.")


@command(app, "top", examples=("comity domains top --limit 5",))
def top_domains(
    context: typer.Context, limit: LimitOption = 20, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """Rank hosts by images stored a page."""
    check_number("--limit", limit, 1)
    invocation = read_invocation(context, state, as_json)
    from comity.reports.hosts import top_hosts

    with invocation.open_existing() as opened:
        lines = top_hosts(opened.database, limit=limit)
    if invocation.as_json:
        write_json([line_document(line) for line in lines])
    elif lines:
        write_hosts(lines)
    else:
        write_line("No page has been crawled yet.", Cell("  Hosts that wait: comity domains list", "dim"))


@command(app, "claims", examples=("comity domains claims --json",))
def show_claims(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Show who holds leases, which of them ran out, and which hosts wait for a worker."""
    invocation = read_invocation(context, state, as_json)
    from comity.reports.hosts import holders, status_counts

    with invocation.open_existing() as opened:
        held, counts = holders(opened.database, opened.clock), status_counts(opened.database, opened.clock)
    expired = sum(line.expired for line in held)
    if invocation.as_json:
        from comity.doors.shapes.hosts import claims_shape

        write_json(claims_shape(held, counts).document())
        return
    if held:
        columns = (Column("HOLDER"), Column("HOSTS", True), Column("RAN OUT", True), Column("FIRST TO END"))
        rows = [
            Row((line.holder, f"{line.hosts:,}", _alarming(line.expired), render_time(line.earliest_expiry)))
            for line in held
        ]
        write_table(columns, rows)
        if expired:
            write_line(f"{counted(expired, 'lease')} ran out; the next worker that is free takes over.")
    else:
        write_line("Nobody holds a lease.")
    if not counts:
        _write_no_hosts(invocation)
        return
    write_line()
    write_table(
        (Column("STATUS"), Column("HOSTS", True), Column("WAITING", True)),
        [
            Row((status_cell(line.status), f"{line.hosts:,}", f"{line.waiting:,}" if line.status in _WAITS else "-"))
            for line in counts
        ],
    )


@command(app, "merge", examples=("comity domains merge --dry-run",))
def merge_domains(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fold hosts that are one under today's naming rules, such as www.Example.com and example.com.

    The earliest row is kept, counters are summed, everything that refers to the other is moved, and of two policies the
    stricter holds. A host that is being crawled is left for the next time.
    """
    invocation = read_invocation(context, state, as_json)
    from comity.operate.merge import merge_hosts

    with invocation.open_existing() as opened:
        merged = list(
            merge_hosts(
                opened.database, opened.clock, collapse=invocation.collapse, dry_run=dry_run, frontier=opened.frontier
            )
        )
    if invocation.as_json:
        write_json([{**asdict(line), "done": not dry_run and line.action != "skipped"} for line in merged])
        return
    if not merged:
        write_line("Every host has its one spelling; there is nothing to merge.")
        return
    rows = [
        Row((line.old, line.new, line.action), None if dry_run or line.detail is None else visible(line.detail))
        for line in merged
    ]
    write_table((Column("FROM"), Column("TO"), Column("WHAT")), rows)
    if dry_run:
        write_line("Nothing was changed: this is what would be done.")


def _alarming(number: int) -> Cell:
    return Cell(f"{number:,}", "yellow" if number else "")


def _write_no_hosts(invocation: Invocation) -> None:
    """Say that there is nothing yet, and how to begin."""
    where = f" ({visible(invocation.settings.where)} does not exist)" if invocation.is_missing else ""
    write_line(f"No hosts are known here yet{where}.", Cell("  Add some: comity seeds add example.com", "dim"))


def recalculate_priorities(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Compute the priority of every host anew.

    Workers do this after every run and every hour; by hand it is useful after a change of the COMITY_WEIGHT_… settings.
    Blocked and unreachable hosts keep their score.
    """
    invocation = read_invocation(context, state, as_json)
    from comity.upkeep.rescore import rescore

    with invocation.open_existing() as opened:
        number = rescore(opened.database, opened.clock, opened.settings.weights, older_than_s=0.0)
    if invocation.as_json:
        write_json({"hosts": number})
    elif number:
        write_line(f"The priority of {counted(number, 'host')} was looked at anew.")
    else:
        write_line("No hosts are known here yet; there is nothing to compute.")
