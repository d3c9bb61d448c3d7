"""`comity queue jobs …` and `comity queue results …`: list, show, move and export jobs, and what bots submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from comity.doors.cli.help_text import command
from comity.doors.cli.options import (
    JsonOption,
    LimitOption,
    StateOption,
    check_number,
    checked_text,
    name_options_in_errors,
    read_invocation,
)
from comity.doors.cli.output import Cell, CsvOption, check_one_format, render_time, write_line, write_pairs
from comity.doors.cli.queue import DomainOption, PolicyOption, SearchOption, read_id
from comity.doors.cli.queue import jobs as app
from comity.doors.cli.queue import results as results_app
from comity.doors.cli.queue.rendering import (
    MOST_LISTED,
    export_rows,
    note_more,
    price,
    stock,
    write_exact,
    write_job,
    write_jobs,
    write_late,
    write_report,
    write_results,
    write_rows,
)
from comity.model.errors import BadInput

if TYPE_CHECKING:
    from comity.reports.queue import ItemPage

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The id of a job.")]
JobArguments = Annotated[list[str], typer.Argument(metavar="JOB…", help="Ids of jobs.")]
StatusOption = Annotated[
    str | None,
    typer.Option(
        "--status", metavar="NAME", help="Only jobs with this status: pending, locked, done, failed or expired."
    ),
]
BotOption = Annotated[str | None, typer.Option("--bot", metavar="BOT", help="Only those that this bot holds.")]
ReasonOption = Annotated[
    str | None, typer.Option("--reason", metavar="TEXT", help="The reason; stored in the history of each job.")
]


@command(
    app,
    "list",
    examples=("comity queue jobs list --status locked", "comity queue jobs list --domain example.com --json"),
)
def list_all(
    context: typer.Context,
    status: StatusOption = None,
    bot: BotOption = None,
    policy: PolicyOption = None,
    domain: DomainOption = None,
    search: SearchOption = None,
    sort: Annotated[
        str,
        typer.Option(
            "--sort",
            metavar="COLUMN",
            help="created_at, priority, url, locked_at or retry_count; a leading - reverses the order.",
        ),
    ] = "-created_at",
    limit: LimitOption = 50,
    as_csv: CsvOption = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List jobs, the newest first."""
    check_number("--limit", limit, 1, MOST_LISTED)
    invocation = read_invocation(context, state, as_json)
    check_one_format(as_csv=as_csv, as_json=invocation.as_json)
    from comity.doors.schemas.queue import CrawlJobView
    from comity.reports.queue import JOBS, find_policy

    status = _status(status)
    with name_options_in_errors({"sort": sort}), invocation.open_existing() as opened:
        page = JOBS.page(
            opened.database,
            sort=sort,
            limit=limit,
            status=status,
            bot_id=bot,
            policy_id=None if policy is None else find_policy(opened.database, policy).id,
            domain=None if domain is None else invocation.host(domain),
            containing=search,
        )
    write_rows(invocation, CrawlJobView, page.items, write_jobs, as_csv=as_csv, nothing="No jobs found.")
    note_more(invocation, page, limit, "comity queue jobs export")


@command(app, "show", examples=("comity queue jobs show 0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f",))
def show(context: typer.Context, job: JobArgument, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Show one job with its history: every change of its status, by whom and why."""
    invocation = read_invocation(context, state, as_json)
    from comity.reports.queue import find_job, moves_of, result_of_job

    [job_id] = _ids([job])
    with invocation.open_existing() as opened:
        found = find_job(opened.database, job_id)
        moves = moves_of(opened.database, job_id)
        result = result_of_job(opened.database, job_id)
    if invocation.as_json:
        from comity.doors.schemas.queue import CrawlJobDetails, CrawlJobView, CrawlResultView, JobMoveView

        view = CrawlJobDetails(
            **CrawlJobView.model_validate(found).model_dump(),
            moves=JobMoveView.list_of(moves),
            result=None if result is None else CrawlResultView.model_validate(result),
        )
        write_exact(view)
        return
    write_job(found, moves, result)


def _add_action(name: str, action: str, about: str) -> None:
    """A command that changes the status of jobs."""

    def act(
        context: typer.Context,
        named: JobArguments,
        reason: ReasonOption = None,
        state: StateOption = None,
        as_json: JsonOption = False,
    ) -> None:
        invocation = read_invocation(context, state, as_json)
        from comity.operate.queue import NO_SUCH_JOB, JobAction, act_on_jobs

        ids, why = _ids(named), checked_text("--reason", reason)
        with invocation.open_existing() as opened:
            report = act_on_jobs(opened.database, opened.clock, JobAction(action), ids, why)
        write_report(invocation, report, "job", "jobs", NO_SUCH_JOB)

    act.__doc__ = about
    command(app, name, examples=(f"comity queue jobs {name} 0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f",))(act)


for _name, _action, _about in (
    (
        "reset",
        "reset_lock",
        "Take locked jobs away from their bots. They can be pulled again; a submit of the bot is refused.",
    ),
    ("expire", "mark_expired", "Mark pending or locked jobs as expired, as if their locks had run out."),
    (
        "pending",
        "mark_pending",
        "Make failed, expired or locked jobs pending. A failed one starts again with all its retries.",
    ),
):
    _add_action(_name, _action, _about)


@command(app, "export", examples=("comity queue jobs export jobs.csv --status failed",))
def export(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .csv, .json or .jsonl file; - is stdout, as CSV.")],
    status: StatusOption = None,
    domain: DomainOption = None,
    policy: PolicyOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Export jobs, oldest first."""
    invocation = read_invocation(context, state, as_json)
    from comity.doors.schemas.queue import CrawlJobView
    from comity.reports.queue import JOBS, find_policy

    status = _status(status)
    with invocation.open_existing() as opened:
        rows = JOBS.each(
            opened.database,
            sort="created_at",
            status=status,
            domain=None if domain is None else invocation.host(domain),
            policy_id=None if policy is None else find_policy(opened.database, policy).id,
        )
        export_rows(invocation, file, CrawlJobView, rows)


def _status(name: str | None) -> str | None:
    from comity.model.queue import JobStatus
    from comity.rules.suggestions import one_of

    return None if name is None else one_of("--status", name, [str(each) for each in JobStatus])


def _ids(named: list[str]) -> list[UUID]:
    return [read_id(each, "job", "jobs list") for each in named]


@command(
    results_app,
    "list",
    examples=(
        "comity queue results list",
        "comity queue results list --policy https://example.com/product/1 --csv",
        "comity queue results list --late",
    ),
)
def list_results(
    context: typer.Context,
    policy: PolicyOption = None,
    currency: Annotated[str | None, typer.Option("--currency", metavar="CODE", help="Only in this currency.")] = None,
    in_stock: Annotated[
        bool | None, typer.Option("--in-stock/--out-of-stock", help="Only what is in stock, or what is not.")
    ] = None,
    bot: Annotated[str | None, typer.Option("--bot", metavar="BOT", help="Only those of this bot.")] = None,
    search: SearchOption = None,
    late: Annotated[
        bool, typer.Option("--late", help="Show submissions that came after their lock had expired instead.")
    ] = False,
    sort: Annotated[
        str | None,
        typer.Option("--sort", metavar="COLUMN", help="created_at, crawled_at or url; a leading - reverses the order."),
    ] = None,
    limit: LimitOption = 50,
    as_csv: CsvOption = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List results, the newest first."""
    check_number("--limit", limit, 1, MOST_LISTED)
    invocation = read_invocation(context, state, as_json)
    check_one_format(as_csv=as_csv, as_json=invocation.as_json)
    if late and any(each is not None for each in (policy, currency, in_stock, search)):
        raise BadInput("--late can be combined only with --bot, --sort and --limit")
    from comity.doors.schemas.queue import CrawlResultView, LateSubmissionView
    from comity.reports.queue import LATE, RESULTS, find_policy

    with name_options_in_errors({"sort": sort}), invocation.open_existing() as opened:
        if late:
            page: ItemPage[Any] = LATE.page(opened.database, sort=sort or "", limit=limit, bot_id=bot)
        else:
            page = RESULTS.page(
                opened.database,
                sort=sort or "",
                limit=limit,
                policy_id=None if policy is None else find_policy(opened.database, policy).id,
                currency=None if currency is None else currency.upper(),
                in_stock=in_stock,
                bot_id=bot,
                containing=search,
            )
    schema = LateSubmissionView if late else CrawlResultView
    write = write_late if late else write_results
    write_rows(invocation, schema, page.items, write, as_csv=as_csv, nothing="No results found.")
    note_more(invocation, page, limit, "comity queue results export")


@command(
    results_app,
    "show",
    examples=(
        "comity queue results show 0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f",
        "comity queue results show ID --html > page.txt",
    ),
)
def show_result(
    context: typer.Context,
    named: Annotated[str, typer.Argument(metavar="RESULT", help="The id of a result, or of its job.")],
    html: Annotated[bool, typer.Option("--html", help="Print only the page that was submitted.")] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one result, or the page that was submitted with it."""
    invocation = read_invocation(context, state, as_json)
    from comity.reports.queue import find_result, raw_html_of

    identity = read_id(named, "result", "results list")
    with invocation.open_existing() as opened:
        found = find_result(opened.database, identity)
        page = raw_html_of(opened.database, found.id) if html else b""
    if html:
        print(page.decode("utf-8", "replace"))
        return
    from comity.doors.schemas.base import exact_json
    from comity.doors.schemas.queue import CrawlResultView

    if invocation.as_json:
        write_exact(CrawlResultView.model_validate(found))
        return
    write_line(Cell(found.url, "bold"))
    write_pairs(
        [
            ("id", str(found.id)),
            ("job", str(found.job_id)),
            ("policy", str(found.policy_id or "-")),
            ("title", found.title or "-"),
            ("price", price(found.price, found.currency)),
            ("in stock", stock(found.in_stock)),
            ("bot", found.bot_id or "-"),
            ("crawled", render_time(found.crawled_at)),
            ("page", "-" if found.raw_html_bytes is None else f"{found.raw_html_bytes:,} bytes"),
            ("data", "-" if found.parsed_data is None else exact_json(found.parsed_data)),
        ]
    )


@command(results_app, "export", examples=("comity queue results export results.csv",))
def export_results(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .csv, .json or .jsonl file; - is stdout, as CSV.")],
    policy: PolicyOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Export results without their pages, oldest first."""
    invocation = read_invocation(context, state, as_json)
    from comity.doors.schemas.queue import CrawlResultView
    from comity.reports.queue import RESULTS, find_policy

    with invocation.open_existing() as opened:
        policy_id = None if policy is None else find_policy(opened.database, policy).id
        rows = RESULTS.each(opened.database, sort="created_at", policy_id=policy_id)
        export_rows(invocation, file, CrawlResultView, rows)
