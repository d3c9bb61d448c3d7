"""`comity domains …` and `comity recalculate-priorities`: what is known of hosts, and what may be done to them.

Older scripts use other names for some of these commands; each is the same command.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from comity.doors.cli.domains.rendering import host_document, line_document, status_cell, write_host, write_hosts
from comity.doors.cli.help_text import command, group
from comity.doors.cli.options import (
    Invocation,
    JsonOption,
    LimitOption,
    StateOption,
    check_number,
    checked_text,
    read_invocation,
)
from comity.doors.cli.output import (
    Cell,
    CsvOption,
    ProgressBars,
    TextColumn,
    TextRow,
    check_one_format,
    column_names,
    note,
    render_time,
    visible,
    write_csv,
    write_json,
    write_line,
    write_table,
)
from comity.model.host import HostStatus
from comity.model.wording import counted, holder_in_words

if TYPE_CHECKING:
    from comity.reports.backfill import BackfillReport, SourceRead
    from comity.reports.hosts import HostLine

app = group("List hosts, show what is known about them, and reset them.")

_STATUSES: Final = ", ".join(list(HostStatus)[:-1]) + " or " + list(HostStatus)[-1]
_WAITS: Final = frozenset({HostStatus.PENDING, HostStatus.ACTIVE})

HostArgument = Annotated[str, typer.Argument(metavar="HOST", help="A host such as example.com, or any URL on it.")]
_MAX_NAMES: Final = 10
_WHY: Final = {
    "leased": "is being crawled by {}; run this again afterwards",
    "misnamed": "has another row, {}; run comity domains merge first",
    "taken_down": "is taken down by {}",
    "busy": "was being written to; run this again",
}


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    root.add_typer(app, name="domains", rich_help_panel="Hosts")

    examples = ("comity recalculate-priorities",)
    command(root, "recalculate-priorities", examples=examples, panel="Hosts")(recalculate_priorities)
    for old, example, new, function in (
        ("domain-status", "domain-status --status blocked", "domains list", list_domains),
        ("domain-info", "domain-info example.com", "domains info", show_domain),
        ("domain-reset", 'domain-reset example.com --reason "manual review"', "domains reset", reset_domain),
        ("top-domains", "top-domains --limit 5", "domains top", top_domains),
    ):
        short_help = f"The same as `comity {new}`."
        command(root, old, examples=(f"comity {example}",), panel="Older names", short_help=short_help)(function)


@command(
    app,
    "list",
    examples=("comity domains list --status blocked", "comity domains list --limit 100000 --csv > hosts.csv"),
)
def list_domains(
    context: typer.Context,
    status: Annotated[
        HostStatus | None, typer.Option("--status", metavar="STATUS", help=f"Only hosts that are {_STATUSES}.")
    ] = None,
    contains: Annotated[
        str | None, typer.Option("--contains", metavar="TEXT", help="Only hosts whose name contains this.")
    ] = None,
    limit: LimitOption = 50,
    offset: Annotated[int, typer.Option("--offset", metavar="N", help="Skip this many first.")] = 0,
    as_csv: CsvOption = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List hosts with their status and progress, the last crawled first.

    PAGES is crawled/discovered, YIELD is images stored per page, times are UTC. For a host that is blocked or
    unreachable, the reason is shown.
    """
    text = checked_text("--contains", contains)
    check_number("--limit", limit, 1)
    check_number("--offset", offset, 0)
    invocation = read_invocation(context, state, as_json)
    check_one_format(as_csv=as_csv, as_json=invocation.as_json)
    from comity.reports.hosts import list_hosts

    with invocation.open_existing() as opened:
        # One more than the limit shows whether there are more.
        lines = list_hosts(
            opened.database, status=status, contains=text and text.lower(), limit=limit + 1, offset=offset
        )
    more, lines = len(lines) > limit, lines[:limit]
    if invocation.as_json:
        write_json([line_document(line) for line in lines])
        return
    if as_csv:
        _write_csv(lines)
    elif lines:
        write_hosts(lines)
    elif status is not None or text is not None or offset:
        write_line("No host matches.", Cell("  List all: comity domains list", "dim"))
    else:
        _write_no_hosts(invocation)
    if more:
        note(f"There are more hosts: use --offset {offset + limit}, or a larger --limit.")


@command(app, "info", examples=("comity domains info example.com",))
def show_domain(
    context: typer.Context, host: HostArgument, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """Show everything that is known about one host.

    Its status and progress, its delays and blocks, the holder of its lease, and its policy.
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


@command(app, "reset", examples=('comity domains reset example.com --reason "the site invited us back"',))
def reset_domain(
    context: typer.Context,
    host: HostArgument,
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Stored with the host.")] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Reset a host: clear its cooldown and errors, and queue every URL again.

    Waits that the site asked for stay in force: the next request is no earlier than the gate allows.
    """
    kept_reason = checked_text("--reason", reason)
    invocation = read_invocation(context, state, as_json)
    name = invocation.host(host)
    from comity.operate.hosts import reset_host

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
        change = ["still ", status_cell(report.after), ", cooldown and errors cleared"]
    write_line(Cell(report.host, "bold"), ": ", *change, f", {counted(report.urls_requeued, 'URL')} queued again.")


@command(app, "top", examples=("comity domains top --limit 5",))
def top_domains(
    context: typer.Context,
    limit: LimitOption = 20,
    as_csv: CsvOption = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rank hosts by images stored per page."""
    check_number("--limit", limit, 1)
    invocation = read_invocation(context, state, as_json)
    check_one_format(as_csv=as_csv, as_json=invocation.as_json)
    from comity.reports.hosts import top_hosts

    with invocation.open_existing() as opened:
        lines = top_hosts(opened.database, limit=limit)
    if invocation.as_json:
        write_json([line_document(line) for line in lines])
    elif as_csv:
        _write_csv(lines)
    elif lines:
        write_hosts(lines)
    else:
        write_line("No page has been crawled yet.", Cell("  List the hosts: comity domains list", "dim"))


@command(app, "claims", examples=("comity domains claims --json",))
def show_claims(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Show the holders of leases, expired leases, and hosts that wait for a worker."""
    invocation = read_invocation(context, state, as_json)
    from comity.reports.hosts import holders, status_counts

    with invocation.open_existing() as opened:
        held, counts = holders(opened.database, opened.clock), status_counts(opened.database, opened.clock)
    expired = sum(line.expired for line in held)
    if invocation.as_json:
        from comity.doors.schemas.hosts import claims_view

        write_json(claims_view(held, counts).document())
        return
    if held:
        columns = (
            TextColumn("HOLDER"),
            TextColumn("HOSTS", True),
            TextColumn("EXPIRED", True),
            TextColumn("NEXT EXPIRY"),
        )
        rows = [
            TextRow((line.holder, f"{line.hosts:,}", _alarming(line.expired), render_time(line.earliest_expiry)))
            for line in held
        ]
        write_table(columns, rows)
        if expired:
            write_line(f"{counted(expired, 'lease')} expired; the next free worker takes over.")
    else:
        write_line("No leases are held.")
    if not counts:
        _write_no_hosts(invocation)
        return
    write_line()
    write_table(
        (TextColumn("STATUS"), TextColumn("HOSTS", True), TextColumn("WAITING", True)),
        [
            TextRow(
                (status_cell(line.status), f"{line.hosts:,}", f"{line.waiting:,}" if line.status in _WAITS else "-")
            )
            for line in counts
        ],
    )


@command(app, "merge", examples=("comity domains merge --dry-run",))
def merge_domains(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report what would be done.")] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Merge hosts that are the same under the current naming rules, such as www.Example.com and example.com.

    The earliest row stays, counters are summed, references to the other row are moved, and of two policies the stricter
    one applies. A host that is being crawled is skipped; run the command again later.
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
        write_line("Every host has one row; there is nothing to merge.")
        return
    rows = [
        TextRow((line.old, line.new, line.action), None if dry_run or line.detail is None else visible(line.detail))
        for line in merged
    ]
    write_table((TextColumn("FROM"), TextColumn("TO"), TextColumn("WHAT")), rows)
    if dry_run:
        write_line("Dry run: nothing was changed.")


def _write_csv(lines: Sequence[HostLine]) -> None:
    from comity.doors.schemas.hosts import ListedHost

    write_csv(column_names(ListedHost), (line_document(line) for line in lines))


def _alarming(number: int) -> Cell:
    return Cell(f"{number:,}", "yellow" if number else "")


def _write_no_hosts(invocation: Invocation) -> None:
    """Write that there are no hosts, and how to add some."""
    where = f" ({visible(invocation.settings.where)} does not exist)" if invocation.is_missing else ""
    write_line(f"No hosts yet{where}.", Cell("  Add some: comity seeds add example.com", "dim"))


def recalculate_priorities(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Recalculate the priority of every host.

    Workers do this after every run and every hour; run it yourself after changing the COMITY_WEIGHT_… settings.
    Blocked and unreachable hosts keep their score.
    """
    invocation = read_invocation(context, state, as_json)
    from comity.upkeep.rescore import rescore

    with invocation.open_existing() as opened:
        number = rescore(opened.database, opened.clock, opened.settings.weights, older_than_s=0.0)
    if invocation.as_json:
        write_json({"hosts": number})
    elif number:
        write_line(f"The priority of {counted(number, 'host')} was recalculated.")
    else:
        write_line("No hosts yet; there is nothing to calculate.")


@command(app, "backfill", examples=("comity domains backfill --dry-run", "comity domains backfill --json"))
def _backfill_domains(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report what would be done.")] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Start again instead of continuing an interrupted backfill.")
    ] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fill the table of hosts from the fetches and images of older crawls.

    A host without a row gets one: exhausted, or blocked or unreachable if more than half of its fetches failed. A host
    with a row keeps its status, lease and settings; counters that are lower than the fetches show are raised. A host
    that is being crawled is skipped. A second run changes nothing; after an interruption, the next run continues. A
    report at the end says what was read, changed and skipped, and which counters disagree.
    """
    invocation = read_invocation(context, state, as_json)
    from comity.operate.backfill import backfill

    with invocation.open_existing() as opened, ProgressBars() as bars:
        report = backfill(
            opened.database,
            opened.clock,
            collapse=invocation.collapse,
            dry_run=dry_run,
            restart=restart,
            weights=opened.settings.weights,
            refresh_after=opened.settings.refresh_after,
            bars=bars.bar,
        )
    if invocation.as_json:
        write_json(_document(report))
    else:
        _write(report)


def _document(report: BackfillReport) -> dict[str, Any]:
    document = asdict(report)
    for name, source in (("fetches", report.fetches), ("provenance", report.provenance)):
        if source is not None:
            document[name]["rows_skipped"] = source.rows_skipped
    return document


def _write(report: BackfillReport) -> None:
    if report.is_resumed:
        write_line("Continued the interrupted backfill.")
    _write_read("fetches", report.fetches)
    if report.provenance is not None:
        _write_read("provenance", report.provenance)
    else:
        write_line(f"No images were counted: {report.provenance_lacks}.")
    write_line()
    before, after = report.before, report.after
    lines = (
        ("hosts", before.hosts, after.hosts),
        ("made by a backfill", before.backfilled, after.backfilled),
        ("in the fetches, but without a row", before.without_row, after.without_row),
    )
    write_table(
        (TextColumn("HOSTS"), TextColumn("BEFORE", True), TextColumn("AFTER", True)),
        [TextRow((title, f"{was:,}", f"{now:,}")) for title, was, now in lines],
    )
    _write_counters(report)
    _write_backfilled(report)
    _write_left(report)
    _write_orphans(report)
    write_line()
    would = "would be " if report.is_dry_run else ""
    write_line(
        f"{counted(report.created, 'host')} {would}added, {report.raised:,} {would}raised, "
        f"{report.unchanged:,} unchanged, {sum(report.left.values()):,} skipped.",
        Cell("  Dry run: nothing was changed." if report.is_dry_run else "", "dim"),
    )


def _write_read(name: str, read: SourceRead) -> None:
    write_line(f"Read {counted(read.rows, 'row')} of {name}: {counted(read.hosts, 'host')}.")
    if read.skipped:
        write_line(f"{counted(read.rows_skipped, 'row')} of them could not be used:")
    for line in read.skipped:
        write_line(f"  {line.rows:,}  {line.reason}", Cell(f"  {line.example}" if line.example else "", "dim"))


def _write_counters(report: BackfillReport) -> None:
    """Write the counters that are wrong for some host."""
    lines = [line for line in report.counters if line.lower_before or line.lower or line.higher]
    if not lines:
        return
    write_line()
    titles = ("TOO LOW", "TO RAISE" if report.is_dry_run else "RAISED", "STILL TOO LOW", "HIGHER")
    write_table(
        (TextColumn("COUNTER"), *(TextColumn(title, True) for title in titles)),
        [
            TextRow((line.counter, f"{line.lower_before:,}", f"{line.raised:,}", f"{line.lower:,}", f"{line.higher:,}"))
            for line in lines
        ],
    )
    if report.mismatches:
        write_line()
        write_table(
            (TextColumn("HOST"), TextColumn("COUNTER"), TextColumn("STORED", True), TextColumn("EVIDENCE", True)),
            [
                TextRow((line.host, line.counter, f"{line.stored:,}", f"{line.evidence:,}"))
                for line in report.mismatches[:_MAX_NAMES]
            ],
        )
        _write_more(sum(line.lower + line.higher for line in report.counters))


def _write_backfilled(report: BackfillReport) -> None:
    if not report.backfilled:
        return
    write_line()
    write_table(
        (TextColumn("BACKFILLED"), TextColumn("HOSTS", True), TextColumn("YIELD", True), TextColumn("PAGES", True)),
        [
            TextRow(
                (
                    status_cell(line.status),
                    f"{line.hosts:,}",
                    "-" if line.average_yield is None else f"{line.average_yield:.2f}",
                    f"{line.average_pages:,.1f}",
                )
            )
            for line in report.backfilled
        ],
    )


def _write_left(report: BackfillReport) -> None:
    if not report.left_hosts:
        return
    write_line()
    for host in report.left_hosts[:_MAX_NAMES]:
        write_line(Cell(host.host, "bold"), f" {_WHY[host.reason].format(holder_in_words(host.detail or ''))}.")
    _write_more(sum(report.left.values()))


def _write_orphans(report: BackfillReport) -> None:
    orphans = report.orphans
    if orphans.provenance_hosts:
        images = counted(orphans.provenance_images, "image")
        write_line(f"{counted(orphans.provenance_hosts, 'host')} with {images} in provenance only: no row was created.")
    if orphans.hosts_without_fetches:
        write_line(f"{counted(orphans.hosts_without_fetches, 'host')} with pages counted, but no fetch stored.")


def _write_more(number: int) -> None:
    if number > _MAX_NAMES:
        write_line(Cell(f"… and {number - _MAX_NAMES:,} more", "dim"))
