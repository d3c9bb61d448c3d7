"""A submit: the result of a job that a bot holds, or its failure. One transaction makes all changes that follow.

The job, its result, its policy, the history, the bot's and the site's failures, the host's gate and reservation, the
ledger and the webhook calls are committed together: an acknowledged submit survives a crash, and a bot that got no
answer submits again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID, uuid4

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import ledger, records
from comity.database.bulk import together
from comity.database.connection import Database
from comity.database.queue import bots, jobs, policies, reservations, results, webhooks
from comity.database.queue.jobs import HeldJob, JobEnd
from comity.database.queue.policies import PolicyRow, SuccessOf
from comity.database.queue.reservations import HostRow, bot_holder
from comity.database.queue.results import PackedPage
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput
from comity.model.gate import DoorProfile, GateLimits, GateMemory, Observation
from comity.model.ledger import Purpose
from comity.model.queue import (
    QUEUE_PROFILE,
    RETRY_BACKOFF_MINUTES,
    BotError,
    BotRefused,
    JobStatus,
    Slot,
    Submission,
    WebhookEvent,
)
from comity.rules.canonical import web_address
from comity.rules.politeness.pace import limits_for, observed
from comity.rules.queue import job_timing, slots
from comity.rules.queue.bot_limits import BreakerTerms, bot_after, site_after
from comity.rules.queue.job_timing import JobRetry, after_failure
from comity.rules.queue.product import plain_price
from comity.rules.queue.slots import EndedSlot, SlotTerms, from_document, request_row
from comity.rules.queue.submission import FormerLock, Judged, SubmitDecision, SubmittedJob, judge, submission_digest
from comity.rules.queue.webhook import is_back_in_stock, is_price_changed
from comity.rules.takedown import Takedowns
from comity.walk.bots.takedowns import TakedownsInForce
from comity.walk.bots.threads import BotThreads
from comity.walk.evidence import taken_down_of

_TRIES: Final = 3
_MOST_LATE: Final = 20  # late submissions of one job that are stored


@dataclass(frozen=True, slots=True)
class SubmitTerms:
    """The terms of submits."""

    profile: DoorProfile = QUEUE_PROFILE
    breaker: BreakerTerms = field(default_factory=BreakerTerms)


class _LostRaceError(Exception):
    """The job changed between the check and the lock; check again."""


class Submitter:
    """Takes the results of bots."""

    def __init__(self, database: Database, clock: Clock, threads: BotThreads, terms: SubmitTerms | None = None) -> None:
        self._takedowns = TakedownsInForce()
        self._database = database
        self._clock = clock
        self._threads = threads
        self._terms = terms or SubmitTerms()

    async def submit(self, submission: Submission) -> dict[str, Any]:
        """Take a result; returns the data of the answer, or raises `BotRefused`."""
        return await self._threads.run(self._submit, submission)

    def _submit(
        self,
        submission: Submission,
        lease_token: int | None = None,
        also: Callable[[Connection], None] = lambda _connection: None,
    ) -> dict[str, Any]:
        page = PackedPage(submission.raw_html)
        digest = submission_digest(submission)
        for _ in range(_TRIES):
            try:
                with self._database.write() as connection:
                    outcome = self._settle(connection, submission, page, digest, lease_token)
                    also(connection)
            except _LostRaceError:
                continue
            if isinstance(outcome, Judged):
                assert outcome.code is not None
                raise BotRefused(outcome.code, outcome.message, outcome.details)
            return outcome
        raise BotRefused(BotError.INTERNAL_ERROR, "another request is changing the job; submit it again")

    async def settle_own(
        self, submission: Submission, lease_token: int, also: Callable[[Connection], None]
    ) -> dict[str, Any]:
        """Take the result of a job that Comity's own worker holds under a lease; `also` is written with it.

        `also` writes the requests that were made; they are stored even if the result comes too late.
        """
        return await self._threads.run(self._submit, submission, lease_token, also)

    def _settle(
        self,
        connection: Connection,
        submission: Submission,
        page: PackedPage,
        digest: str,
        lease_token: int | None = None,
    ) -> dict[str, Any] | Judged:
        takedowns = self._takedowns.at(connection)  # before any row is locked
        own_time = self._database.now(self._clock)
        taken = jobs.take(connection, submission.job_id, None if own_time is None else self._clock.seconds())
        if taken is None:
            details = {"job_id": str(submission.job_id)}
            return Judged(SubmitDecision.REFUSE, BotError.JOB_NOT_FOUND, "there is no job with this id", details)
        job, row, now = taken
        holder = bot_holder(submission.bot_id)
        judged = judge(_view(job), submission.bot_id, digest, now, None)
        if lease_token is not None and job.lease_token != lease_token and judged.answer is SubmitDecision.ACCEPT:
            message = "another worker has the job by now"
            return Judged(SubmitDecision.REFUSE, BotError.NOT_ASSIGNED, message, {"job_id": str(job.id)})
        if judged.answer is SubmitDecision.REFUSE:
            locked_at = jobs.former_lock(connection, job.id, holder)
            if locked_at is not None:
                judged = judge(_view(job), submission.bot_id, digest, now, FormerLock(locked_at))
        if judged.answer is SubmitDecision.REPEAT:
            former = job.submission_answer or {}
            return _taken_down(job, former["takedown"]) if "takedown" in former else _answer_from(former)
        entry = None if judged.answer is SubmitDecision.REFUSE else _entry_covering(takedowns, job.url)
        if entry is not None:
            return self._refuse(connection, submission, digest, job, row, entry, judged, now)
        if judged.answer is SubmitDecision.LATE and results.late_of_job(connection, job.id, _MOST_LATE) < _MOST_LATE:
            results.keep_late(connection, submission, page, digest, now)
        if judged.answer is not SubmitDecision.ACCEPT:
            return judged
        return self._accept(connection, submission, page, digest, job, row, now)

    def _refuse(
        self,
        connection: Connection,
        submission: Submission,
        digest: str,
        job: HeldJob,
        row: HostRow,
        entry: str,
        judged: Judged,
        now: float,
    ) -> Judged:
        """End the job of a URL that was taken down in the meantime, without storing its result.

        The request was made, so it counts for the gate and the ledger. It is not a failure of the bot or the site.
        """
        if judged.answer is not SubmitDecision.ACCEPT:
            return _taken_down(job, entry)
        why, actor = f"taken down: {entry}", bot_holder(submission.bot_id)
        ending = JobEnd(JobStatus.FAILED, "taken down", actor, error_msg=why)
        stored = {"takedown": entry}
        ending = ending._replace(submitted_by=submission.bot_id, submission_digest=digest, submission_answer=stored)
        if not jobs.end(connection, job, ending, now):
            raise _LostRaceError
        self._end_slot(connection, submission, job, row, now, counts=False)
        records.add_evidence(connection, None, [taken_down_of(row.id, web_address(job.url), entry, now)])
        webhooks.enqueue(connection, events_of_failure(job, why), now)
        return _taken_down(job, entry)

    def _accept(
        self,
        connection: Connection,
        submission: Submission,
        page: PackedPage,
        digest: str,
        job: HeldJob,
        row: HostRow,
        now: float,
    ) -> dict[str, Any]:
        policy = None if job.policy_id is None else policies.get(connection, job.policy_id)
        if submission.success:
            answer, ending, events = self._succeed(connection, submission, job, policy, now)
        else:
            answer, ending, events = self._fail(connection, submission, job, policy, now)
        stored = _stored(answer)
        ending = ending._replace(submitted_by=submission.bot_id, submission_digest=digest, submission_answer=stored)
        # The host's row is locked by now: the fewer answers this waits for, the sooner others get the row.
        with together(connection):
            is_ended = jobs.begin_end(connection, job, ending, now)
            call_webhooks = webhooks.begin_enqueue(connection, events, now)
            self._end_slot(connection, submission, job, row, now)
            if not is_ended():
                raise _LostRaceError  # which undoes everything
            if submission.success:
                results.add(
                    connection,
                    answer["result_id"],
                    submission,
                    page,
                    policy_id=None if policy is None else policy.id,
                    url=job.url,
                    now=now,
                )
            self._count(connection, submission, row, now)
            call_webhooks()
        return _answer_from(stored)

    def _succeed(
        self,
        connection: Connection,
        submission: Submission,
        job: HeldJob,
        policy: PolicyRow | None,
        now: float,
    ) -> tuple[dict[str, Any], JobEnd, dict[WebhookEvent, dict[str, Any]]]:
        next_run_at = None
        if policy is not None:
            next_run_at, statistics = _next_run(policy, submission, now)
            success = SuccessOf(next_run_at, submission.price, submission.currency, submission.in_stock, statistics)
            policies.note_success(connection, policy.id, success, now)
        answer = {
            "result_id": uuid4(),
            "job_id": job.id,
            "status": str(JobStatus.DONE),
            "price": submission.price,
            "currency": submission.currency,
            "policy_next_run": None if next_run_at is None else datetime.fromtimestamp(next_run_at, UTC),
        }
        ending = JobEnd(JobStatus.DONE, "submitted", bot_holder(submission.bot_id))
        return answer, ending, _events_of_success(submission, job, policy, answer)

    def _fail(
        self,
        connection: Connection,
        submission: Submission,
        job: HeldJob,
        policy: PolicyRow | None,
        now: float,
    ) -> tuple[dict[str, Any], JobEnd, dict[WebhookEvent, dict[str, Any]]]:
        actor = bot_holder(submission.bot_id)
        decision = after_failure(
            job.retry_count,
            job.max_retries,
            RETRY_BACKOFF_MINUTES if policy is None else policy.retry_backoff_minutes,
            now,
            failures_before=0 if policy is None else policy.failure_count,
            retry_after_s=submission.retry_after_s,
        )
        answer: dict[str, Any] = {"job_id": job.id, "max_retries": job.max_retries}
        if isinstance(decision, JobRetry):
            if policy is not None:
                policies.note_failure(connection, policy.id, None, now)
            answer |= {
                "status": str(JobStatus.PENDING),
                "retry_count": decision.retry_count,
                "not_before": datetime.fromtimestamp(decision.not_before, UTC),
                "message": "Job marked for retry",
            }
            ending = JobEnd(
                JobStatus.PENDING,
                "failed, to be retried",
                actor,
                error_msg=submission.error_msg,
                retry_count=decision.retry_count,
                not_before=decision.not_before,
            )
            return answer, ending, {}
        if policy is not None:
            policies.note_failure(connection, policy.id, decision.next_run_at, now)
        answer |= {
            "status": str(JobStatus.FAILED),
            "retry_count": job.retry_count,
            "message": "Job failed permanently",
            "policy_next_run": None if policy is None else datetime.fromtimestamp(decision.next_run_at, UTC),
        }
        ending = JobEnd(JobStatus.FAILED, "failed, without retries left", actor, error_msg=submission.error_msg)
        return answer, ending, events_of_failure(job, submission.error_msg)

    def _end_slot(
        self,
        connection: Connection,
        submission: Submission,
        job: HeldJob,
        row: HostRow,
        now: float,
        *,
        counts: bool = True,
    ) -> None:
        """Update the gate with the result of the request, record it, and release the host if it was the last job.

        `counts`: whether it counts for the site's failures in a row.
        """
        held, failures = read_slot(job), None
        if counts:
            failures = site_after(
                succeeded=submission.success, failures=row.queue_failures, now=now, terms=self._terms.breaker
            )
        # The job of a worker, whose session has the gate and writes the ledger.
        if held is None and job.lease_token is not None and failures is not None:
            reservations.note_site(connection, row.id, *failures)
        if held is None or job.lease_token is None:  # locked in SQL: there was no slot
            return
        slot, terms = held
        status = submission.http_status
        if status is None and submission.success:
            status = 200
        seen = observed(status, None, submission.retry_after_s)
        limits = limits_of(self._terms.profile, row, terms)
        memory = slots.end(row.memory, limits, slot, now, observation=seen, started_at=submission.started_at)
        end_reservation(connection, job, row, limits, memory, now, failures)
        ended = ended_slot(job, submission.bot_id, slot, terms)
        blocked_until = memory.blocked_until if status in (429, 503) else None
        append_job_request(connection, ended, submission, seen, blocked_until, now)

    def _count(self, connection: Connection, submission: Submission, row: HostRow, now: float) -> None:
        if submission.success:
            bots.note_success(connection, submission.bot_id, now)
            return
        bots.note_seen(connection, submission.bot_id, now)
        found = bots.failures_of(connection, submission.bot_id)
        if found is None:
            return
        failures, times = found
        after = bot_after(
            succeeded=False,
            failures=failures,
            times_quarantined=times,
            site_failures=row.queue_failures,
            now=now,
            terms=self._terms.breaker,
        )
        bots.note_end(
            connection,
            submission.bot_id,
            done=0,
            failed=1,
            failures=after.failures,
            quarantined_until=after.quarantined_until,
        )


def _entry_covering(takedowns: Takedowns, url: str) -> str | None:
    """The takedown that covers a URL; None for a text that is not a web address."""
    try:
        return takedowns.covering(web_address(url))
    except BadInput:
        return None


def append_job_request(
    connection: Connection,
    ended: EndedSlot,
    submission: Submission,
    seen: Observation,
    blocked_until: float | None,
    now: float,
) -> None:
    """Write the request of a job to the ledger, as the bot reported it."""
    row = request_row(
        ended,
        now,
        started_at=submission.started_at,
        latency_s=None,
        status=submission.http_status,
        retry_after_s=seen.retry_after_s,
        blocked_until=blocked_until,
    )
    ledger.append_requests(connection, None, [row])


def end_reservation(
    connection: Connection,
    job: HeldJob,
    row: HostRow,
    limits: GateLimits,
    memory: GateMemory,
    now: float,
    failures: tuple[int, float | None] | None = None,
) -> None:
    """Write a host's gate, and release the host if this was its client's last open job."""
    assert job.locked_by is not None
    assert job.lease_token is not None
    reservations.release_if_idle(
        connection,
        row.id,
        bot_holder(job.locked_by),
        memory,
        token=job.lease_token,
        queue_ready_at=slots.look_again_at(memory, limits, now),
        now=now,
        failures=failures,
    )


def read_slot(job: HeldJob) -> tuple[Slot, SlotTerms] | None:
    """The slot of a job's lock, and its terms; None if the job was locked in SQL."""
    if job.slot is None or job.slot_at is None or job.slot_ends_at is None:
        return None
    return from_document(job.slot, job.slot_at, job.slot_ends_at)


def ended_slot(job: HeldJob, bot_id: str, slot: Slot, terms: SlotTerms) -> EndedSlot:
    """The slot of a job that has ended, for the ledger."""
    token = job.lease_token or 0
    return EndedSlot(job.host_id, job.host, token, bot_id, job.url, Purpose.JOB, slot, terms)


def limits_of(profile: DoorProfile, row: HostRow, terms: SlotTerms) -> GateLimits:
    """The limits of a host now, with robots.txt as it was when the slot was planned."""
    interval_ms = row.policy_interval_ms
    return limits_for(
        profile,
        policy_interval_s=None if interval_ms is None else interval_ms / 1000,
        policy_max_concurrency=row.policy_max_concurrency,
        crawl_delay_s=terms.crawl_delay_s,
    )


def _view(job: HeldJob) -> SubmittedJob:
    return SubmittedJob(
        job.id,
        job.status,
        job.locked_by,
        job.locked_at,
        job.lock_ends_at,
        job.lock_ttl_s,
        job.submitted_by,
        job.submission_digest,
    )


def _next_run(policy: PolicyRow, submission: Submission, now: float) -> tuple[float, dict[str, Any] | None]:
    """When a policy's next job is due after a result, and what its row has learned from it."""
    if policy.schedule != "adaptive":
        return now + policy.frequency_hours * 3600.0, None
    plan = job_timing.plan_next(
        policy.change_statistics,
        job_timing.Seen(policy.last_price, policy.last_currency, policy.last_in_stock),
        job_timing.Seen(submission.price, submission.currency, submission.in_stock),
        now,
        frequency_hours=policy.frequency_hours,
        last_success_at=policy.last_success_at,
        importance=policy.importance,
    )
    return plan.next_run_at, plan.change_statistics


def _events_of_success(
    submission: Submission, job: HeldJob, policy: PolicyRow | None, answer: dict[str, Any]
) -> dict[WebhookEvent, dict[str, Any]]:
    """The events of a result: the result itself, a changed price, and stock that is back."""
    payload = _payload(job) | {
        "result_id": str(answer["result_id"]),
        "price": None if submission.price is None else format(submission.price, "f"),
        "currency": submission.currency,
        "title": submission.title,
        "in_stock": submission.in_stock,
    }
    events = {WebhookEvent.JOB_DONE: payload}
    if policy is None:
        return events
    if is_price_changed(policy.last_price, policy.last_currency, submission.price, submission.currency):
        assert policy.last_price is not None
        events[WebhookEvent.PRICE_CHANGED] = payload | {
            "currency": submission.currency or policy.last_currency,
            "former_price": format(plain_price(policy.last_price), "f"),
            "former_currency": policy.last_currency,
        }
    if is_back_in_stock(policy.last_in_stock, submission.in_stock):
        events[WebhookEvent.BACK_IN_STOCK] = payload
    return events


def events_of_failure(job: HeldJob, error_msg: str | None) -> dict[WebhookEvent, dict[str, Any]]:
    """The events of a job that has failed for good."""
    return {WebhookEvent.JOB_FAILED: _payload(job) | {"error_msg": error_msg, "retry_count": job.retry_count}}


def _payload(job: HeldJob) -> dict[str, Any]:
    policy_id = None if job.policy_id is None else str(job.policy_id)
    return {"job_id": str(job.id), "policy_id": policy_id, "url": job.url}


# The answer is stored as JSON, so that a repeated submit gets the same answer, word for word.


def _stored(answer: dict[str, Any]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, Decimal):
            return format(value, "f")
        if isinstance(value, datetime):
            return value.isoformat()
        return str(value) if isinstance(value, UUID) else value

    return {name: plain(value) for name, value in answer.items()}


def _taken_down(job: HeldJob, entry: str) -> Judged:
    message = f"the URL was taken down ({entry}): nothing is stored, and the job has ended"
    return Judged(SubmitDecision.REFUSE, BotError.TAKEN_DOWN, message, {"job_id": str(job.id), "takedown": entry})


def _answer_from(stored: dict[str, Any]) -> dict[str, Any]:
    answer = dict(stored)
    for name in ("job_id", "result_id"):
        if answer.get(name) is not None:
            answer[name] = UUID(answer[name])
    for name in ("policy_next_run", "not_before"):
        if answer.get(name) is not None:
            answer[name] = datetime.fromisoformat(answer[name])
    if answer.get("price") is not None:
        answer["price"] = Decimal(answer["price"])
    return answer
