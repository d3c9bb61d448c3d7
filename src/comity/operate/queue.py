"""What an operator may do in the crawl service: policies, lists of them, and jobs, one by one or in bulk.

All input is checked before anything is written, and refused in one line. A bulk action reports on every item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import takedowns as takedowns_table
from comity.database.connection import Database
from comity.database.queue import operator, reservations
from comity.model.dataclass import dataclass
from comity.model.errors import AlreadyThere, BadInput, NotFound, Remedy, RemedyCode
from comity.model.queue import JobStatus
from comity.model.source_import import ImportResult, ParsedSourceList, SourceRow
from comity.operate.takedown import require_not_taken_down
from comity.rules.canonical import WebAddress, canonical_host, resolve_link, web_address
from comity.rules.job_transitions import is_legal
from comity.rules.queue.submission import document_problem
from comity.rules.suggestions import one_of
from comity.rules.takedown import Takedowns

MOST_BULK: Final = 1000
NO_SUCH_JOB: Final = "there is no such job"
LONGEST_URL: Final = 2048
MOST_CONFIG_BYTES: Final = 65_536
BOUNDS: Final = {
    "frequency_hours": (1, 8760),
    "priority": (0, 1000),
    "max_retries": (0, 100),
    "retry_backoff_minutes": (0, 10_080),
    "timeout_minutes": (1, 1440),
    "importance": (0.0, 1000.0),
}
SCHEDULES: Final = ("fixed", "adaptive")
_OPERATOR: Final = "operator"
_REMEDY: Final = Remedy(RemedyCode.LIST_POLICIES)


def check_policy(collapse: bool = False, **given: Any) -> dict[str, Any]:
    """The columns of a policy as they are stored; `BadInput` names the first that cannot be used."""
    values = {name: value for name, value in given.items() if value is not None or name == "crawl_config"}
    if "url" in values:
        values["url"] = _page_address(str(values["url"]), collapse).url
    for name, (least, most) in BOUNDS.items():
        if name in values and not least <= values[name] <= most:
            raise BadInput(name, f"must be between {least:,} and {most:,}, not {values[name]}")
    if "schedule" in values:
        values["schedule"] = one_of("schedule", values["schedule"], SCHEDULES)
    if values.get("crawl_config") is not None:
        problem = document_problem(values["crawl_config"], MOST_CONFIG_BYTES)
        if problem is not None:
            raise BadInput("crawl_config", problem)
    return values


def add_policy(database: Database, clock: Clock, url: str, *, collapse: bool = False, **columns: Any) -> UUID:
    """Add a policy. Its first job is due now, unless it is disabled."""
    values = check_policy(collapse, url=url, **columns)
    with database.write() as connection:
        require_not_taken_down(connection, values["url"])
        row = operator.add_policy(connection, values | _host_of(connection, values["url"], collapse), clock.now())
        if row is None:
            raise AlreadyThere(f"{values['url']} already has a policy", remedy=_REMEDY)
        policy_id: UUID = row.id
        return policy_id


def edit_policy(database: Database, clock: Clock, policy_id: UUID, *, collapse: bool = False, **changes: Any) -> None:
    """Change some columns of a policy. Jobs that exist keep what they were made with."""
    values = check_policy(collapse, **changes)
    if not values:
        raise BadInput("nothing to change: give at least one setting of the policy")
    with database.write() as connection:
        known = _known(connection, policy_id)
        if values.get("url", known.url) != known.url:
            require_not_taken_down(connection, values["url"])
            if operator.policies_with(connection, [values["url"]]):
                raise AlreadyThere(f"{values['url']} already has a policy", remedy=_REMEDY)
            values |= _host_of(connection, values["url"], collapse) | _dropped(connection, policy_id)  # for the old URL
        if values.get("enabled") is False:
            values |= _dropped(connection, policy_id)
        operator.change_policy(connection, policy_id, values, clock.now())


def _dropped(connection: Connection, policy_id: UUID) -> dict[str, Any]:
    """Drop the job of a policy if no bot holds it. Its run stays due, so it is not lost."""
    return {"next_run_at": None} if operator.drop_waiting_jobs(connection, policy_id) else {}


class PolicyAction(StrEnum):
    """A bulk action on policies."""

    ENABLE = "enable"
    DISABLE = "disable"
    RUN_NOW = "run_now"
    SET_PRIORITY = "set_priority"
    DELETE = "delete"


class JobAction(StrEnum):
    """A bulk action on jobs."""

    MARK_PENDING = "mark_pending"
    MARK_EXPIRED = "mark_expired"
    RESET_LOCK = "reset_lock"
    SET_PRIORITY = "set_priority"


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The result for one item; `reason` says why it was not changed."""

    id: UUID
    changed: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ActionReport:
    """What a bulk action changed."""

    action: str
    items: tuple[ActionResult, ...]

    @property
    def changed(self) -> int:
        """How many items were changed."""
        return sum(item.changed for item in self.items)

    @property
    def unchanged(self) -> int:
        """How many items were not."""
        return len(self.items) - self.changed


def act_on_policies(
    database: Database,
    clock: Clock,
    action: PolicyAction,
    policy_ids: Sequence[UUID],
    *,
    priority: int | None = None,
) -> ActionReport:
    """Enable, disable, run or delete policies or set their priority, all in one transaction."""
    ids = _bounded(policy_ids)
    act = _POLICY_ACTIONS.get(action) or partial(_set_priority, _checked_priority(priority))
    with database.write() as connection:
        return ActionReport(str(action), tuple(_act_on_policy(connection, each, act, clock.now()) for each in ids))


def act_on_jobs(
    database: Database,
    clock: Clock,
    action: JobAction,
    job_ids: Sequence[UUID],
    reason: str | None = None,
    *,
    priority: int | None = None,
) -> ActionReport:
    """Move jobs to another status or set their priority, all in one transaction.

    A job that may not make the move stays as it is.
    """
    ids, now = _bounded(job_ids), clock.now()
    if action is JobAction.SET_PRIORITY:
        return _set_job_priorities(database, ids, _checked_priority(priority), now)
    after = JobStatus.EXPIRED if action is JobAction.MARK_EXPIRED else JobStatus.PENDING
    items: dict[UUID, ActionResult] = {}
    unlocked: set[UUID] = set()
    waiting: set[UUID] = set()
    with database.write() as connection:
        rows = operator.jobs_for_change(connection, ids)
        for job_id in ids:
            row = rows.get(job_id)
            problem = NO_SUCH_JOB if row is None else _objection(connection, row, action, after)
            if row is not None and problem is None:
                values = _moved(row, after, reason or _REASONS[action], now)
                if not operator.move_job(connection, job_id, row.status, values):
                    problem = "its status changed meanwhile"
            items[job_id] = ActionResult(job_id, problem is None, problem)
            if row is not None and problem is None:
                waiting.add(row.domain_id)
                if row.status == JobStatus.LOCKED:
                    unlocked.add(row.domain_id)
        operator.after_moves(connection, unlocked, waiting, now)
    return ActionReport(str(action), tuple(items[each] for each in ids))


def _set_job_priorities(database: Database, ids: Sequence[UUID], priority: int, now: datetime) -> ActionReport:
    """Set the priority of a job, unless it is finished: then the priority is history."""
    items: list[ActionResult] = []
    with database.write() as connection:
        rows = operator.jobs_for_change(connection, ids)
        for job_id in ids:
            row = rows.get(job_id)
            problem = NO_SUCH_JOB if row is None else None
            if row is not None and row.status in (JobStatus.DONE, JobStatus.FAILED):
                problem = f"it is {row.status}"
            elif row is not None and row.priority == priority:
                problem = f"its priority is {priority} already"
            items.append(ActionResult(job_id, problem is None, problem))
        operator.set_job_priority(connection, [item.id for item in items if item.changed], priority, now)
    return ActionReport(str(JobAction.SET_PRIORITY), tuple(items))


def _checked_priority(priority: int | None) -> int:
    if priority is None:
        raise BadInput("priority", "must be set for this action")
    return int(check_policy(priority=priority)["priority"])


_REASONS: Final = {
    JobAction.MARK_PENDING: "an operator marked it pending",
    JobAction.MARK_EXPIRED: "an operator marked it expired",
    JobAction.RESET_LOCK: "an operator reset the lock",
}


def _objection(connection: Connection, row: Any, action: JobAction, after: JobStatus) -> str | None:
    """Why a job may not make a move; None if it may."""
    before = JobStatus(row.status)
    if action is JobAction.RESET_LOCK and before is not JobStatus.LOCKED:
        return f"it is {before}, not locked"
    if before is after:
        return f"it is {before} already"
    if not is_legal(before, after):
        return f"a {before} job cannot become {after}"
    if before is JobStatus.FAILED and row.policy_id is not None and operator.has_open_job(connection, row.policy_id):
        return "its policy has another open job"
    return None


def _moved(row: Any, after: JobStatus, reason: str, now: datetime) -> dict[str, Any]:
    values: dict[str, Any] = {
        "status": str(after),
        "moved_by": _OPERATOR,
        "move_reason": reason[:1000],
        "updated_at": now,
        "not_before": None,
        "locked_by": None,
        "locked_at": None,
        "lock_ends_at": None,
        "slot": None,
        "slot_at": None,
        "slot_ends_at": None,
    }
    if row.status == JobStatus.FAILED:  # it starts again, with all its retries
        values |= {"retry_count": 0, "finished_at": None, "submission_digest": None, "submission_answer": None}
    return values


def _act_on_policy(
    connection: Connection, policy_id: UUID, act: Callable[..., str | None], now: datetime
) -> ActionResult:
    row = operator.get_policy(connection, policy_id)
    problem = "there is no such policy" if row is None else act(connection, row, now)
    return ActionResult(policy_id, problem is None, problem)


def _enable(connection: Connection, row: Any, now: datetime) -> str | None:
    if row.enabled:
        return "it is enabled already"
    operator.change_policy(connection, row.id, {"enabled": True}, now)
    return None


def _disable(connection: Connection, row: Any, now: datetime) -> str | None:
    """Disable a policy. A job that no bot holds is dropped, to be made again on enabling; a locked one may finish."""
    if not row.enabled:
        return "it is disabled already"
    operator.change_policy(connection, row.id, {"enabled": False} | _dropped(connection, row.id), now)
    return None


def _run_now(connection: Connection, row: Any, now: datetime) -> str | None:
    if not row.enabled:
        return "it is disabled; enable it first"
    if not operator.end_waiting(connection, row.id, now) and operator.has_open_job(connection, row.id):
        return "a bot is crawling it now"
    operator.change_policy(connection, row.id, {"next_run_at": now}, now)
    return None


def _set_priority(priority: int, connection: Connection, row: Any, now: datetime) -> str | None:
    if row.priority == priority:
        return f"its priority is {priority} already"
    operator.change_policy(connection, row.id, {"priority": priority}, now)
    return None


def _delete(connection: Connection, row: Any, now: datetime) -> str | None:
    operator.delete_policy(connection, row.id, now)
    return None


_POLICY_ACTIONS: Final[Mapping[PolicyAction, Callable[..., str | None]]] = {
    PolicyAction.ENABLE: _enable,
    PolicyAction.DISABLE: _disable,
    PolicyAction.RUN_NOW: _run_now,
    PolicyAction.DELETE: _delete,
}


@dataclass(frozen=True, slots=True)
class PolicyImportTerms:
    """How to import: update existing policies, skip bad rows, dry run."""

    update: bool = False
    skip_bad: bool = False
    dry_run: bool = False
    collapse: bool = False


@dataclass(frozen=True, slots=True)
class PolicyImportResult:
    """The result for one row of a list; `field` and `reason` say why it was refused, or what differs."""

    row: int
    line: int | None
    url: str
    result: ImportResult
    field: str | None = None
    reason: str | None = None
    policy_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class PolicyImport:
    """The report of an imported list of policies."""

    rows: tuple[PolicyImportResult, ...]
    is_written: bool
    is_dry_run: bool
    ignored_columns: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows with each result."""
        found = [row.result for row in self.rows]
        return {str(result): found.count(result) for result in ImportResult if result in found}

    @property
    def refused(self) -> tuple[PolicyImportResult, ...]:
        """The rows that were refused."""
        return tuple(row for row in self.rows if row.result is ImportResult.REFUSED)


class _Undo(Exception):
    """Ends a transaction without writing anything."""


def import_policies(
    database: Database, clock: Clock, listed: ParsedSourceList, terms: PolicyImportTerms | None = None
) -> PolicyImport:
    """Add the policies of a list in one transaction: all, or none if a row is refused, unless bad rows are skipped."""
    terms = terms or PolicyImportTerms()
    checked = [_checked(row, terms.collapse) for row in listed.rows]
    rows: list[PolicyImportResult] = []
    is_written = True
    try:
        with database.write() as connection:
            rows = _import(connection, clock.now(), checked, terms)
            is_whole = terms.skip_bad or all(row.result is not ImportResult.REFUSED for row in rows)
            if terms.dry_run or not is_whole:
                raise _Undo
    except _Undo:
        is_written = False
        planned = {ImportResult.ADDED: ImportResult.WOULD_ADD, ImportResult.UPDATED: ImportResult.WOULD_UPDATE}
        rows = [
            replace(
                row,
                result=planned.get(row.result, row.result),
                policy_id=None if row.result is ImportResult.ADDED else row.policy_id,
            )
            for row in rows
        ]
    return PolicyImport(tuple(rows), is_written, terms.dry_run, listed.ignored_columns)


def _checked(row: SourceRow, collapse: bool) -> tuple[SourceRow, dict[str, Any]]:
    if row.problem is not None:
        return row, {}
    try:
        return row, check_policy(collapse, **row.values)
    except BadInput as problem:
        return replace(row, problem=(problem.field or "url", problem.reason)), {}


def _import(
    connection: Connection, now: datetime, checked: list[tuple[SourceRow, dict[str, Any]]], terms: PolicyImportTerms
) -> list[PolicyImportResult]:
    takedowns = Takedowns.of(row.domain_or_url for row in takedowns_table.entries(connection))
    urls = list(dict.fromkeys(values["url"] for _, values in checked if values))
    known = operator.policies_with(connection, urls)
    hosts = {url: canonical_host(url, collapse=terms.collapse) for url in urls}
    ids = reservations.add_hosts(connection, set(hosts.values()))
    first: dict[str, tuple[int, dict[str, Any]]] = {}
    found: list[PolicyImportResult] = []
    for row, values in checked:
        url = values.get("url") or str(row.values.get("url", ""))[:300]
        report = PolicyImportResult(row.number, row.line, url, ImportResult.REFUSED)
        if row.problem is not None:
            found.append(replace(report, field=row.problem[0], reason=row.problem[1]))
        elif (entry := _covering(takedowns, url)) is not None:
            found.append(replace(report, field="url", reason=f"is taken down ({entry})"))
        elif url in first:
            found.append(_repeated(report, values, *first[url]))
        else:
            first[url] = (row.number, values)
            domain_id = ids[hosts[url].authority]
            found.append(_put(connection, report, values | {"domain_id": domain_id}, known.get(url), terms, now))
    return found


def _put(
    connection: Connection,
    report: PolicyImportResult,
    values: dict[str, Any],
    known: Any,
    terms: PolicyImportTerms,
    now: datetime,
) -> PolicyImportResult:
    """Add, change or leave one policy."""
    if known is None:
        row = operator.add_policy(connection, values, now)
        if row is not None:
            return replace(report, result=ImportResult.ADDED, policy_id=row.id)
        known = operator.policies_with(connection, [values["url"]])[values["url"]]  # added a moment ago by another
    changes = {name: value for name, value in values.items() if name != "domain_id" and value != getattr(known, name)}
    if changes and terms.update:
        operator.change_policy(connection, known.id, changes, now)
        if changes.get("enabled") is False:
            operator.drop_waiting_jobs(connection, known.id)
        reason = f"changed {', '.join(changes)}"
        return replace(report, result=ImportResult.UPDATED, policy_id=known.id, reason=reason)
    differs = f"{', '.join(changes)} {'differs' if len(changes) == 1 else 'differ'}" if changes else None
    return replace(report, result=ImportResult.ALREADY_THERE, policy_id=known.id, reason=differs)


def _repeated(
    report: PolicyImportResult, values: Mapping[str, Any], number: int, before: Mapping[str, Any]
) -> PolicyImportResult:
    if values == before:
        return replace(report, result=ImportResult.ALREADY_THERE, reason=f"same as row {number:,}")
    differing = [name for name in {**before, **values} if before.get(name) != values.get(name)]
    reason = f"row {number:,} has the same URL, but a different {', '.join(differing)}"
    return replace(report, field="url", reason=reason)


def _covering(takedowns: Takedowns, url: str) -> str | None:
    address = resolve_link(url, url)
    return takedowns.covering(address) if address is not None else None


def _known(connection: Connection, policy_id: UUID) -> Any:
    row = operator.get_policy(connection, policy_id)
    if row is None:
        raise NotFound(f"there is no policy {policy_id}", remedy=_REMEDY)
    return row


def _host_of(connection: Connection, url: str, collapse: bool) -> dict[str, Any]:
    host = canonical_host(url, collapse=collapse)
    return {"domain_id": reservations.add_hosts(connection, {host})[host.authority]}


def _page_address(text: str, collapse: bool) -> WebAddress:
    text = text.strip()
    if not text.lower().startswith(("http://", "https://")):
        raise BadInput("url", "must start with http:// or https://")
    address = web_address(text, collapse=collapse)
    if len(address.url) > LONGEST_URL:
        raise BadInput("url", f"is longer than {LONGEST_URL:,} characters")
    return address


def _bounded(ids: Sequence[UUID]) -> list[UUID]:
    found = list(dict.fromkeys(ids))
    if not 1 <= len(found) <= MOST_BULK:
        raise BadInput("ids", f"send 1 to {MOST_BULK:,} items")
    return found
