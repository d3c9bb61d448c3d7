"""/admin/crawl_jobs: jobs with their status, bot, retries and lock, and what an operator may do with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from comity.doors.web.console import components, plots
from comity.doors.web.console.forms import PostedForm
from comity.doors.web.console.page import PageRouter, current_services, url
from comity.doors.web.console.pages import queue
from comity.doors.web.console.pages.crawl_policies import money, priority_badge
from comity.doors.web.console.tables import Bulk, Column, Filter, Table, TableQuery, choice, search
from comity.doors.web.services import Services, WebServices
from comity.model.errors import BadInput, NotFound
from comity.model.queue import JobStatus
from comity.operate.queue import JobAction, act_on_jobs
from comity.reports.queue import JOBS, LATE, CrawlJob, find_job, identity_of, moves_of, result_of_job
from comity.rules import job_transitions

router = PageRouter("/admin/crawl_jobs")
_PATH: Final = "/crawl_jobs"
_DELAYED: Final = "delayed"
_SHOWN_MOVES: Final = 100
_SHOWN_LATE: Final = 20
_DONE: Final = {
    JobAction.MARK_PENDING: "Marked as pending:",
    JobAction.MARK_EXPIRED: "Marked as expired:",
    JobAction.RESET_LOCK: "Reset the lock of",
    JobAction.SET_PRIORITY: "Set the priority of",
}

# What takes a job from the bot that holds it is asked first: the question, what follows, and the button.
_QUESTIONS: Final = {
    JobAction.MARK_EXPIRED: (
        "Expire {}?",
        "An expired job can be pulled again. A bot that holds it now can no longer submit it.",
        "Expire",
    ),
    JobAction.RESET_LOCK: (
        "Reset the lock of {}?",
        "A bot that loses its lock can no longer submit the job. Any bot can pull it again.",
        "Reset lock",
    ),
    JobAction.MARK_PENDING: (
        "Retry {}?",
        "Some jobs are locked. A bot that loses its lock can no longer submit the job. Any bot can pull it again.",
        "Retry",
    ),
}


def _bot(row: CrawlJob) -> object:
    name = row.locked_by or row.submitted_by
    if not name:
        return components.NOTHING
    return Markup('<a class="figure" href="{}">{}</a>').format(url("/bots", name), components.shortened(name, 24))


def _now() -> datetime:
    return current_services().state.clock.now()


def _waits(row: CrawlJob) -> object:
    """What a job waits for: the end of its lock, or its time."""
    if row.status is JobStatus.LOCKED:
        return queue.countdown(row.locked_until, _now())
    return components.when(row.not_before, relative_to=_now())


TABLE: Final = Table(
    "crawl_jobs",
    [
        Column("url", "URL", lambda row: components.address_lines(row.url), is_wide=True),
        Column("status", "Status", lambda row: queue.job_badge(row.status)),
        Column("locked_by", "Bot", _bot, is_minor=True),
        Column(
            "priority", "Priority", lambda row: priority_badge(row.priority), sorts=True, is_number=True, is_minor=True
        ),
        Column(
            "retry_count",
            "Retries",
            lambda row: f"{row.retry_count} of {row.max_retries}",
            is_number=True,
            is_minor=True,
        ),
        Column("lock", "Lock or wait", _waits, csv=lambda row: row.locked_until or row.not_before, is_number=True),
        Column("created_at", "Created", sorts=True),
        Column("id", "Id", in_page=False),
        Column("policy_id", "Policy", in_page=False),
        Column("error_msg", "Error", in_page=False),
        Column("finished_at", "Finished", in_page=False),
    ],
    [
        search("Host, URL or id"),
        choice("status", "Status", [*JobStatus, (_DELAYED, "delayed (waits for a retry)")]),
        choice("priority", "Priority", [(str(each), str(each)) for each in range(11)]),
        queue.CREATED,
        Filter("bot", "Bot", placeholder="Held by bot"),
        Filter("policy", "Policy", is_of_links=True),
    ],
    default_sort="-created_at",
    key=lambda row: row.id,
    pages_by_key=True,
    newer="First",
    bulk=(
        Bulk("mark_pending", "Retry"),
        Bulk("mark_expired", "Expire"),
        Bulk("reset_lock", "Reset lock"),
        Bulk("set_priority", "Set priority"),
    ),
    bulk_path="/crawl_jobs/actions",
    row_href=lambda row: url(_PATH, row.id),
    empty="No jobs yet. Jobs are made from policies when they are due.",
    empty_lead=("Add a policy", "/crawl_policies/new"),
)


def _wanted(services: WebServices, query: TableQuery) -> dict[str, Any]:
    status, priority, policy = query.get("status"), query.get("priority"), query.get("policy")
    return queue.searched(query) | {
        "status": None if status == _DELAYED else status,
        "delayed": status == _DELAYED,
        "priority": int(priority) if priority else None,
        "bot_id": query.get("bot"),
        "created_after": queue.created_after(services, query),
        # An id that is none finds nothing.
        "policy_id": (identity_of(policy) or identity_of("0" * 32)) if policy else None,
    }


def _sort(query: TableQuery, wanted: dict[str, Any]) -> str:
    """Of a host, a policy, a bot or a time, the newest jobs come first: there is an index for that order only."""
    if wanted["delayed"]:
        return "not_before"
    if wanted["bot_id"]:
        return "-locked_at"
    is_narrow = wanted.get("domain") or wanted["policy_id"] or wanted["created_after"]
    if is_narrow and query.sort != "created_at":
        return "-created_at"
    return query.sort_text


@router.get("")
def listed(request: Request, services: Services) -> Response:
    """List jobs, the newest first."""
    query, database = TABLE.read(request), services.state.database
    wanted = _wanted(services, query)
    sort = _sort(query, wanted)
    if query.wants_csv:
        return TABLE.csv(JOBS.export(database, sort=sort, **wanted), is_begun=True)
    page = JOBS.safe_page(database, sort=sort, limit=query.limit, cursor=query.after or None, **wanted)
    return queue.render_queue(
        request,
        "queue/jobs.html",
        title="Jobs",
        part=_PATH,
        listing=TABLE.listing(query, page.items, cursor=page.cursor),
        is_sorted_otherwise=sort.removeprefix("-") != query.sort,
    )


def _is_any_locked(services: WebServices, ids: Sequence[UUID]) -> bool:
    for each in ids:
        with suppress(NotFound):
            if find_job(services.state.database, each).status is JobStatus.LOCKED:
                return True
    return False


@router.post("/actions")
def act(request: Request, services: Services, entered: PostedForm) -> Response:
    """Act on the ticked jobs, or on one job from its own page."""
    state, ids = services.state, queue.ticked(entered)
    try:
        action = JobAction(entered.get("action"))
    except ValueError:
        raise BadInput("action", "is not known") from None
    fields = [("action", str(action)), *(("id", each) for each in ids)]
    back = f"{_PATH}/{ids[0]}" if entered.is_on("one") else _PATH
    if entered.is_on("one"):
        fields.append(("one", "on"))
    asks = action in _QUESTIONS and (action is not JobAction.MARK_PENDING or _is_any_locked(services, ids))
    if asks and not entered.is_on("confirmed"):
        question, consequence, submit = _QUESTIONS[action]
        return queue.confirmation(
            request,
            _PATH,
            question=question.format(components.plural(len(ids), "job")),
            path=f"{_PATH}/actions",
            submit=submit,
            fields=[*fields, ("confirmed", "on")],
            consequence=consequence,
            back=back,
        )
    priority = queue.priority_of(entered)
    if action is JobAction.SET_PRIORITY and priority is None:
        return queue.confirmation(
            request,
            _PATH,
            question=f"Set the priority of {components.plural(len(ids), 'job')}",
            path=f"{_PATH}/actions",
            submit="Set",
            fields=fields,
            asks_priority=True,
            back=back,
            error="Enter a number." if "priority" in dict(entered.pairs) else "",
        )
    report = act_on_jobs(state.database, state.clock, action, ids, priority=priority)
    return queue.report_on(request, report, _DONE[action], "job", "jobs", back)


@router.get("/{job_id}")
def show(request: Request, services: Services, job_id: queue.RowId) -> HTMLResponse:
    """Show one job: its state in the diagram, its lock, its history and its result."""
    database, now = services.state.database, services.state.clock.now()
    job = find_job(database, job_id)
    result = result_of_job(database, job_id)
    late = LATE.page(database, limit=_SHOWN_LATE, job_id=job_id)
    return queue.render_queue(
        request,
        "queue/job.html",
        title=f"Job {str(job_id)[:8]}",
        part=_PATH,
        job=job,
        status_badge=queue.job_badge(job.status),
        job_badge=queue.job_badge,
        lock=queue.countdown(job.locked_until, now),
        held_s=None if job.locked_at is None else (now - job.locked_at).total_seconds(),
        states=plots.state_diagram(
            job_transitions.MOVES, job.status, first=job_transitions.FIRST, title="State of this job"
        ),
        moves=list(reversed(moves_of(database, job_id, _SHOWN_MOVES))),
        most_moves=_SHOWN_MOVES,
        result=result,
        price=money(result.price, result.currency) if result is not None else None,
        late=late.items,
        now=now,
        config=None if job.crawl_config is None else json.dumps(job.crawl_config, indent=2, ensure_ascii=False),
        may_retry=job_transitions.is_legal(job.status, JobStatus.PENDING),
        may_expire=job_transitions.is_legal(job.status, JobStatus.EXPIRED),
        is_open=job.status in (JobStatus.PENDING, JobStatus.LOCKED, JobStatus.EXPIRED),
    )
