"""`comity queue jobs …`: list, show, move and export jobs."""

from __future__ import annotations

from typing import Annotated
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
from comity.doors.cli.output import CsvOption, check_one_format
from comity.doors.cli.queue import DomainOption, PolicyOption, SearchOption, read_id
from comity.doors.cli.queue import jobs as app
from comity.doors.cli.queue.rendering import (
    MOST_LISTED,
    export_rows,
    note_more,
    write_exact,
    write_job,
    write_jobs,
    write_report,
    write_rows,
)

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
