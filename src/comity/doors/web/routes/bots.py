"""/api/crawl: what bots do. Pull jobs, submit results, keep locks, give jobs back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import Depends, Response

from comity.doors.schemas.base import exact_json
from comity.doors.schemas.bot_api import (
    HeartbeatAnswer,
    PullAnswer,
    ReleaseAnswer,
    SubmitAnswer,
    heartbeat_data,
    pull_data,
    release_data,
)
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.bot_routes import (
    BotBody,
    HeartbeatRequest,
    PullRequest,
    ReleaseRequest,
    SubmitRequest,
    body_of,
    body_schema,
    counting,
    declare,
)
from comity.doors.web.services import CurrentCaller, Services, WebServices
from comity.model.errors import BadInput, NotFound
from comity.model.queue import OWN_BOT, BotError, BotRefused, JobStatus
from comity.operate.bots import ensure_bot, limit_reached
from comity.reports.queue import find_job
from comity.rules.canonical import canonical_host
from comity.telemetry.metrics import (
    QUEUE_HANDED,
    QUEUE_PULLS,
    QUEUE_SKIPPED,
    QUEUE_SUBMITS,
)

_EXAMPLE_ID: Final = "0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f"
_PULL: Final = {"bot_id": "shop-bot-1", "max_jobs": 10, "domain": "example.com"}
_SUBMIT: Final = {
    "bot_id": "shop-bot-1",
    "job_id": _EXAMPLE_ID,
    "success": True,
    "price": 99.99,
    "currency": "USD",
    "title": "Product",
    "in_stock": True,
    "parsed_data": {},
    "raw_html": "<html>…",
    "http_status": 200,
}
_IDS: Final = {"bot_id": "shop-bot-1", "job_ids": [_EXAMPLE_ID]}

router = Router(Audience.BOT, prefix="/api/crawl", tags=["jobs"])
ids_router = Router(Audience.BOT, max_body_bytes=65_536, prefix="/api/crawl", tags=["jobs"])
submit_router = Router(Audience.BOT, holds_pages=True, prefix="/api/crawl", tags=["jobs"])


@declare(router, "/pull", PullAnswer, body=body_schema(PullRequest, _PULL))
async def pull_jobs(
    services: Services, caller: CurrentCaller, body: Annotated[PullRequest, Depends(body_of(PullRequest))]
) -> Response:
    """Take jobs. Each is locked for the bot until `locked_until`, and has a window in which its request may start.

    Start the request to the site between `not_before` and `start_by`. If the window is missed, release the job and pull
    again: another client may be using the host by then.
    """
    with counting(services):
        await _check_bot(services, caller.bot, body)
        domain = None if body.domain is None else _host(services, body.domain)
        pulled = await services.queue.puller.pull(body.bot_id, body.max_jobs, domain)
        limited_by = None
        if not pulled.jobs and not pulled.skipped:  # a bot must not take its own limit for an empty queue
            state = services.state
            limited_by = await asyncio.to_thread(limit_reached, state.database, state.clock, body.bot_id)
    services.meter.add(QUEUE_PULLS, 1, "jobs" if pulled.jobs else "empty")
    services.meter.add(QUEUE_HANDED, len(pulled.jobs))
    for reason, number in pulled.skipped.items():
        services.meter.add(QUEUE_SKIPPED, number, str(reason))
    return _answer(pull_data(pulled, services.state.clock.now(), limited_by))


@declare(submit_router, "/submit", SubmitAnswer, 404, 451, body=body_schema(SubmitRequest, _SUBMIT))
async def submit_result(
    services: Services, caller: CurrentCaller, body: Annotated[SubmitRequest, Depends(body_of(SubmitRequest))]
) -> Response:
    """Submit the result of a job that the bot holds, or why there is none.

    Submitting the same again answers the same and changes nothing. Different content for a finished job is refused. If
    the URL was taken down meanwhile, nothing is stored and the job has failed.
    """
    with counting(services):
        await _check_bot(services, caller.bot, body)
        async with services.submits:
            submission = body.submission(services.state.settings.max_raw_html_bytes)
            data = await services.queue.submitter.submit(submission)
    services.meter.add(QUEUE_SUBMITS, 1, str(data.get("status", "done")))
    return _answer(data)


@declare(ids_router, "/heartbeat", HeartbeatAnswer, 404, body=body_schema(HeartbeatRequest, _IDS))
async def keep_jobs(
    services: Services, caller: CurrentCaller, body: Annotated[HeartbeatRequest, Depends(body_of(HeartbeatRequest))]
) -> Response:
    """Keep the locks of jobs for another TTL. Jobs that the bot no longer holds are listed in `lost`.

    If it holds none of them, the request is refused with the code of the first.
    """
    with counting(services):
        await _check_bot(services, caller.bot, body)
        kept = await services.queue.locks.heartbeat(body.bot_id, list(dict.fromkeys(body.job_ids)))
        if not kept.kept:
            raise await asyncio.to_thread(_not_held, services, body.bot_id, kept.lost[0])
    return _answer(heartbeat_data(kept))


@declare(
    ids_router, "/release", ReleaseAnswer, 404, body=body_schema(ReleaseRequest, {**_IDS, "reason": "shutting down"})
)
async def release_jobs(
    services: Services, caller: CurrentCaller, body: Annotated[ReleaseRequest, Depends(body_of(ReleaseRequest))]
) -> Response:
    """Give jobs back. They can be pulled again at once, and no retry is counted.

    Jobs that the bot does not hold are listed in `lost`. If it holds none, the request is refused.
    """
    with counting(services):
        await _check_bot(services, caller.bot, body)
        released = await services.queue.locks.release(body.bot_id, list(dict.fromkeys(body.job_ids)), body.reason)
        if not released.released:
            raise await asyncio.to_thread(_not_held, services, body.bot_id, released.lost[0])
    return _answer(release_data(released))


async def _check_bot(services: WebServices, key_bot: str | None, body: BotBody) -> None:
    """Refuse a body whose bot id does not belong to its key; without a key, make sure that the bot has a row."""
    if key_bot is not None:
        if body.bot_id != key_bot:
            message = f"the API key does not belong to the bot {body.bot_id}"
            raise BotRefused(BotError.NOT_ASSIGNED, message, {"bot_id": body.bot_id})
        return
    if body.bot_id == OWN_BOT:
        message = f"{OWN_BOT} is the name of Comity's own worker; choose another"
        raise BotRefused(BotError.NOT_ASSIGNED, message, {"bot_id": body.bot_id})
    state = services.state
    if not await asyncio.to_thread(ensure_bot, state.database, state.clock, body.bot_id):
        raise BotRefused(BotError.NOT_ASSIGNED, f"the bot {body.bot_id} is revoked", {"bot_id": body.bot_id})


def _not_held(services: WebServices, bot_id: str, job_id: UUID) -> BotRefused:
    """Why a bot does not hold a job, with a code of the bot API."""
    details: dict[str, Any] = {"job_id": str(job_id)}
    try:
        job = find_job(services.state.database, job_id)
    except NotFound:
        return BotRefused(BotError.JOB_NOT_FOUND, "there is no job with this id", details)
    if job.status is JobStatus.LOCKED and job.locked_by != bot_id:
        return BotRefused(BotError.JOB_ALREADY_LOCKED, "the job is locked by another bot", details)
    if job.status in (JobStatus.LOCKED, JobStatus.EXPIRED):
        return BotRefused(BotError.LOCK_EXPIRED, "the lock of the job ran out; pull again", details)
    details["status"] = str(job.status)
    return BotRefused(BotError.JOB_NOT_LOCKED, f"the job is {job.status}, not locked; pull it first", details)


def _host(services: WebServices, text: str) -> str:
    try:
        return canonical_host(text, collapse=services.state.settings.collapse_subdomains).authority
    except BadInput as error:
        raise BotRefused(BotError.VALIDATION_ERROR, f"domain: {error.reason}", {"domain": error.reason}) from None


def _answer(data: Mapping[str, Any]) -> Response:
    return Response(exact_json({"success": True, "data": data}, seconds=True), media_type="application/json")
