"""`comity queue policies …`: add, list, change, import and export policies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.doors.cli.help_text import command
from comity.doors.cli.options import (
    JsonOption,
    LimitOption,
    StateOption,
    check_number,
    name_options_in_errors,
    read_invocation,
)
from comity.doors.cli.output import Cell, CsvOption, check_one_format, write_line
from comity.doors.cli.queue import DomainOption, EnabledOption, SearchOption
from comity.doors.cli.queue import policies as app
from comity.doors.cli.queue.rendering import (
    MOST_LISTED,
    export_rows,
    note_more,
    write_exact,
    write_policies,
    write_policy,
    write_prices,
    write_report,
    write_rows,
)
from comity.doors.cli.sources.rendering import write_import
from comity.model.errors import BadInput

if TYPE_CHECKING:
    from comity.doors.cli.options import Invocation
    from comity.reports.queue import CrawlPolicy

PolicyArgument = Annotated[str, typer.Argument(metavar="POLICY", help="A policy: its URL or its id.")]
PolicyArguments = Annotated[list[str], typer.Argument(metavar="POLICY…", help="Policies: their URLs or ids.")]
EveryOption = Annotated[
    int | None, typer.Option("--frequency-hours", metavar="N", help="Hours between crawls. Default 24.")
]
PriorityOption = Annotated[
    int | None,
    typer.Option("--priority", metavar="N", help="Jobs with a higher priority are handed out first. Default 5."),
]
RetriesOption = Annotated[
    int | None, typer.Option("--max-retries", metavar="N", help="Retries after a failure. Default 3.")
]
BackoffOption = Annotated[
    int | None,
    typer.Option("--retry-backoff-minutes", metavar="N", help="Minutes before the first retry. Default 5."),
]
TimeoutOption = Annotated[
    int | None, typer.Option("--timeout-minutes", metavar="N", help="How long a bot may hold a job. Default 10.")
]
ScheduleOption = Annotated[
    str | None,
    typer.Option("--schedule", metavar="fixed|adaptive", help="At a fixed rate, or by the rate of changes."),
]
ImportanceOption = Annotated[
    float | None, typer.Option("--importance", metavar="N", help="Its weight in the adaptive schedule. Default 1.")
]
ConfigOption = Annotated[
    str | None,
    typer.Option("--crawl-config", metavar="JSON|@FILE", help="What bots should know about the page, as JSON."),
]


@command(
    app,
    "add",
    examples=(
        "comity queue policies add https://example.com/product/1",
        "comity queue policies add https://example.com/product/1 \\",
        "    --frequency-hours 6 --priority 10",
    ),
)
def add(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="The page to crawl.")],
    frequency_hours: EveryOption = None,
    priority: PriorityOption = None,
    max_retries: RetriesOption = None,
    retry_backoff_minutes: BackoffOption = None,
    timeout_minutes: TimeoutOption = None,
    schedule: ScheduleOption = None,
    importance: ImportanceOption = None,
    crawl_config: ConfigOption = None,
    disabled: Annotated[
        bool, typer.Option("--disabled", help="Add it disabled: it makes no jobs until it is enabled.")
    ] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a policy. Its first job is due now."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.queue import add_policy, check_policy
    from comity.reports.queue import find_policy

    columns = _columns(
        frequency_hours=frequency_hours,
        priority=priority,
        max_retries=max_retries,
        retry_backoff_minutes=retry_backoff_minutes,
        timeout_minutes=timeout_minutes,
        schedule=schedule,
        importance=importance,
        crawl_config=crawl_config,
        enabled=False if disabled else None,
    )
    with name_options_in_errors(columns):
        check_policy(invocation.collapse, url=url, **columns)  # before anything is opened or created
    with invocation.open_or_make() as opened:
        added = add_policy(opened.database, opened.clock, url, collapse=invocation.collapse, **columns)
        policy = find_policy(opened.database, str(added))
    _show(invocation, policy, "is disabled" if disabled else "is due now")


@command(
    app,
    "list",
    examples=(
        "comity queue policies list",
        "comity queue policies list --domain example.com --disabled",
        "comity queue policies list --sort -failure_count --failing --csv",
    ),
)
def list_all(
    context: typer.Context,
    enabled: EnabledOption = None,
    due: Annotated[bool, typer.Option("--due", help="Only those that are due now.")] = False,
    failing: Annotated[bool, typer.Option("--failing", help="Only those whose last job failed.")] = False,
    domain: DomainOption = None,
    search: SearchOption = None,
    sort: Annotated[
        str,
        typer.Option(
            "--sort",
            metavar="COLUMN",
            help="created_at, url, priority, next_run_at, failure_count or last_success_at; "
            "a leading - reverses the order.",
        ),
    ] = "next_run_at",
    limit: LimitOption = 100,
    as_csv: CsvOption = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List policies, the next to run first."""
    check_number("--limit", limit, 1, MOST_LISTED)
    invocation = read_invocation(context, state, as_json)
    check_one_format(as_csv=as_csv, as_json=invocation.as_json)
    from comity.doors.schemas.queue import CrawlPolicyView
    from comity.reports.queue import POLICIES

    with name_options_in_errors({"sort": sort}), invocation.open_existing() as opened:
        page = POLICIES.page(
            opened.database,
            sort=sort,
            limit=limit,
            enabled=enabled,
            due_by=opened.clock.now() if due else None,
            failing=failing,
            domain=None if domain is None else invocation.host(domain),
            containing=search,
        )
    remedy = "Add one: comity queue policies add URL"
    nothing = "No policies found."
    write_rows(invocation, CrawlPolicyView, page.items, write_policies, as_csv=as_csv, nothing=nothing, remedy=remedy)
    note_more(invocation, page, limit, "comity queue policies export")


@command(app, "show", examples=("comity queue policies show https://example.com/product/1",))
def show(context: typer.Context, named: PolicyArgument, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Show one policy."""
    invocation = read_invocation(context, state, as_json)
    from comity.reports.queue import find_policy

    with invocation.open_existing() as opened:
        policy = find_policy(opened.database, named)
    _show(invocation, policy, None)


@command(
    app,
    "edit",
    examples=(
        "comity queue policies edit https://example.com/product/1 --priority 9",
        "comity queue policies edit ID --crawl-config @config.json",
    ),
)
def edit(
    context: typer.Context,
    named: PolicyArgument,
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="Its new URL.")] = None,
    frequency_hours: EveryOption = None,
    priority: PriorityOption = None,
    max_retries: RetriesOption = None,
    retry_backoff_minutes: BackoffOption = None,
    timeout_minutes: TimeoutOption = None,
    schedule: ScheduleOption = None,
    importance: ImportanceOption = None,
    crawl_config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a policy; an empty --crawl-config removes it. A job that exists keeps its settings."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.queue import check_policy, edit_policy
    from comity.reports.queue import find_policy

    changes = _columns(
        url=url,
        frequency_hours=frequency_hours,
        priority=priority,
        max_retries=max_retries,
        retry_backoff_minutes=retry_backoff_minutes,
        timeout_minutes=timeout_minutes,
        schedule=schedule,
        importance=importance,
        crawl_config=crawl_config,
    )
    with name_options_in_errors(changes):
        check_policy(invocation.collapse, **changes)
    with invocation.open_existing() as opened:
        policy = find_policy(opened.database, named)
        edit_policy(opened.database, opened.clock, policy.id, collapse=invocation.collapse, **changes)
        policy = find_policy(opened.database, str(policy.id))
    _show(invocation, policy, "was changed")


def _add_action(name: str, action: str, about: str) -> None:
    """A command that changes policies."""

    def act(
        context: typer.Context, named: PolicyArguments, state: StateOption = None, as_json: JsonOption = False
    ) -> None:
        invocation = read_invocation(context, state, as_json)
        from comity.operate.queue import PolicyAction, act_on_policies
        from comity.reports.queue import find_policy

        with invocation.open_existing() as opened:
            ids = [find_policy(opened.database, each).id for each in named]
            report = act_on_policies(opened.database, opened.clock, PolicyAction(action), ids)
        write_report(invocation, report, "policy", "policies")

    act.__doc__ = about
    command(app, name, examples=(f"comity queue policies {name} https://example.com/product/1",))(act)


for _name, _action, _about in (
    ("enable", "enable", "Enable policies."),
    (
        "disable",
        "disable",
        "Disable policies: no jobs are made. A job that no bot holds is dropped; a locked one may be finished.",
    ),
    ("run-now", "run_now", "Make policies due now. A job waiting for its retry can be pulled now."),
    (
        "delete",
        "delete",
        "Delete policies with their jobs and results. To stop crawling but keep the results, disable them.",
    ),
):
    _add_action(_name, _action, _about)


@command(
    app,
    "import",
    examples=(
        "comity queue policies import policies.csv --dry-run",
        "comity queue policies import policies.jsonl --update",
    ),
)
def import_file(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .csv, .tsv, .json or .jsonl file.")],
    update: Annotated[
        bool, typer.Option("--update", help="Update existing policies that differ from the file.")
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Add the other rows if some are refused; by default, add none.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report what would happen; change nothing.")] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add every policy in a file, and report on every row. If one row is refused, nothing is added.

    The first line of a CSV file names the columns: url, frequency_hours, priority, max_retries, retry_backoff_minutes,
    timeout_minutes, enabled, schedule, importance, crawl_config (JSON). Only url is required. An export can be
    imported.
    """
    invocation = read_invocation(context, state, as_json)
    from comity.model.source_import import MOST_FILE_BYTES
    from comity.operate.queue import PolicyImportTerms, import_policies
    from comity.rules.row_list import format_of, read_policy_list

    kind = format_of(file)
    try:
        with Path(file).expanduser().open("rb") as stream:
            content = stream.read(MOST_FILE_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from None
    try:
        listed = read_policy_list(content, kind)
    except BadInput as problem:
        raise BadInput(f"{file}: {problem}") from None
    opening = invocation.open_existing if dry_run else invocation.open_or_make  # a dry run creates no state
    with opening() as opened:
        terms = PolicyImportTerms(update, skip_bad, dry_run, invocation.collapse)
        report = import_policies(opened.database, opened.clock, listed, terms)
    if invocation.as_json:
        from comity.doors.schemas.queue import PolicyImportView

        write_exact(PolicyImportView.model_validate(report))
    else:
        write_import(report, "POLICY", [row.url for row in report.rows])
    if report.refused and not skip_bad:
        raise typer.Exit(BadInput.exit_code)


@command(
    app,
    "export",
    examples=("comity queue policies export policies.csv", "comity queue policies export - | head"),
)
def export(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .csv, .json or .jsonl file; - is stdout, as CSV.")],
    domain: DomainOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Export all policies. The file can be imported again."""
    invocation = read_invocation(context, state, as_json)
    from comity.doors.schemas.queue import CrawlPolicyView
    from comity.reports.queue import POLICIES

    with invocation.open_existing() as opened:
        host = None if domain is None else invocation.host(domain)
        export_rows(invocation, file, CrawlPolicyView, POLICIES.each(opened.database, sort="url", domain=host))


@command(app, "prices", examples=("comity queue policies prices https://example.com/product/1",))
def prices(
    context: typer.Context,
    named: PolicyArgument,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="Show at most N, the latest first.")] = 100,
    as_csv: CsvOption = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the price history of a policy, oldest first."""
    check_number("--limit", limit, 1, MOST_LISTED)
    invocation = read_invocation(context, state, as_json)
    check_one_format(as_csv=as_csv, as_json=invocation.as_json)
    from comity.doors.schemas.queue import PricePointView
    from comity.reports.queue import find_policy, price_history

    with invocation.open_existing() as opened:
        policy = find_policy(opened.database, named)
        points = price_history(opened.database, policy.id, limit)
    if points and not (invocation.as_json or as_csv):
        write_line(Cell(policy.url, "bold"))
    nothing = f"{policy.url} has no results yet."
    write_rows(invocation, PricePointView, points, write_prices, as_csv=as_csv, nothing=nothing)


def _show(invocation: Invocation, policy: CrawlPolicy, became: str | None) -> None:
    if invocation.as_json:
        from comity.doors.schemas.queue import CrawlPolicyView

        write_exact(CrawlPolicyView.model_validate(policy))
        return
    write_line(Cell(policy.url, "bold"), f" {became}." if became else "")
    write_policy(policy)


def _columns(**options: Any) -> dict[str, Any]:
    """The options that were used, with the configuration read."""
    columns = {name: value for name, value in options.items() if value is not None}
    if "crawl_config" in columns:
        columns["crawl_config"] = _config(columns["crawl_config"])
    return columns


def _config(text: str) -> Any:
    if not text.strip():
        return None
    if text.startswith("@"):
        try:
            text = Path(text[1:]).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise BadInput(f"--crawl-config: the file cannot be read: {reason}") from None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BadInput("--crawl-config: must be a JSON object, or @FILE with one") from None
