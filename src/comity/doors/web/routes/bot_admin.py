"""/admin/bots: who may pull jobs, with which key and within which limits; and /admin/metrics."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Path, Query, Request, Response

from comity.doors.schemas.queue import BotList, BotView, NewBot
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import error_responses
from comity.doors.web.exports import EXPORTED, ExportFormat, stream
from comity.doors.web.figures import queue_rows
from comity.doors.web.queue_requests import BotChanges, BotRequest, QuarantineRequest
from comity.doors.web.requests import Limit
from comity.doors.web.services import Services
from comity.model.bot import BOT_ID_PATTERN, BotRecord, BotStatus
from comity.operate.bots import (
    add_bot,
    get_bot,
    limit_bot,
    list_bots,
    quarantine_bot,
    renew_key,
    resume_bot,
    revoke_bot,
)
from comity.reports.queue import age_s
from comity.telemetry.meter import render_readings
from comity.telemetry.metrics import QUEUE_JOBS, QUEUE_OLDEST, WEBHOOK_DELIVERIES

router = Router(Audience.ADMIN, prefix="/admin/bots", tags=["bots"])
metrics_router = Router(Audience.ADMIN, prefix="/admin", tags=["metrics"])
BotSort = Annotated[
    str, Query(description="A column; - in front of it reverses the order.", max_length=40, examples=["-last_seen_at"])
]
BotName = Annotated[str, Path(description="The id of a bot.", pattern=BOT_ID_PATTERN, examples=["shop-bot-1"])]


@router.get("", operation_id="list_bots", response_model=BotList)
def list_all(
    services: Services,
    status: Annotated[BotStatus | None, Query()] = None,
    limit: Limit = 100,
    cursor: Annotated[
        str | None, Query(description="`next_cursor` of the previous page.", pattern=BOT_ID_PATTERN)
    ] = None,
    sort: BotSort = "bot_id",
) -> BotList:
    """List the bots in the order of their ids. `sort`: also created_at, last_seen_at, jobs_pulled, jobs_done, …"""
    found = list_bots(services.state.database, status=status, after=cursor, limit=limit + 1, sort=sort)
    following = found[limit - 1].bot_id if len(found) > limit else None
    return BotList(bots=BotView.list_of(found[:limit]), limit=limit, next_cursor=following)


@router.post(
    "", operation_id="add_bot", status_code=201, response_model=NewBot, responses=error_responses(409, 413, 415)
)
def add(services: Services, body: BotRequest) -> NewBot:
    """Add a bot. Its key is in this answer and cannot be shown again: only its hash is stored."""
    values = body.model_dump(exclude={"bot_id"})
    return _with_key(*add_bot(services.state.database, services.state.clock, body.bot_id, **values))


@router.get("/export", operation_id="export_bots", response_class=Response, responses=EXPORTED)
def export(
    services: Services,
    format: Annotated[ExportFormat, Query(description="csv, json or jsonl.")] = "csv",  # noqa: A002
    status: Annotated[BotStatus | None, Query()] = None,
    sort: BotSort = "bot_id",
) -> Response:
    """Export the bots, without their keys."""
    return stream("bots", format, BotView, list_bots(services.state.database, status=status, sort=sort))


@router.get("/{bot_id}", operation_id="get_bot", response_model=BotView, responses=error_responses(404))
def show(services: Services, bot_id: BotName) -> BotView:
    """Show one bot."""
    return BotView.model_validate(get_bot(services.state.database, bot_id))


@router.patch("/{bot_id}", operation_id="limit_bot", response_model=BotView, responses=error_responses(404, 413, 415))
def limit(services: Services, bot_id: BotName, body: BotChanges) -> BotView:
    """Change the limits or the note of a bot. They apply from its next pull."""
    sent: dict[str, Any] = body.model_dump(exclude_unset=True)
    changes: dict[str, Any] = {
        name: ("" if name == "note" else 0) if value is None else value for name, value in sent.items()
    }
    return BotView.model_validate(limit_bot(services.state.database, bot_id, **changes))


@router.post("/{bot_id}/new-key", operation_id="renew_bot_key", response_model=NewBot, responses=error_responses(404))
def new_key(services: Services, bot_id: BotName) -> NewBot:
    """Give a bot a new key. The old one stops working; a revoked bot is active again."""
    return _with_key(*renew_key(services.state.database, bot_id))


@router.post("/{bot_id}/revoke", operation_id="revoke_bot", response_model=BotView, responses=error_responses(404))
def revoke(services: Services, bot_id: BotName) -> BotView:
    """Revoke a bot: its key stops working within a second. Other bots can pull its jobs once their locks run out."""
    return BotView.model_validate(revoke_bot(services.state.database, bot_id))


@router.post(
    "/{bot_id}/quarantine",
    operation_id="quarantine_bot",
    response_model=BotView,
    responses=error_responses(404, 409, 413, 415),
)
def quarantine(services: Services, bot_id: BotName, body: QuarantineRequest) -> BotView:
    """Keep a bot from pulling for some minutes. It may still submit the jobs that it holds."""
    state = services.state
    return BotView.model_validate(quarantine_bot(state.database, state.clock, bot_id, body.minutes))


@router.post("/{bot_id}/resume", operation_id="resume_bot", response_model=BotView, responses=error_responses(404, 409))
def resume(services: Services, bot_id: BotName) -> BotView:
    """End the quarantine of a bot: its failures are cleared, and it may pull again."""
    return BotView.model_validate(resume_bot(services.state.database, bot_id))


def _with_key(bot: BotRecord, key: str) -> NewBot:
    return NewBot(**BotView.model_validate(bot).model_dump(), key=key)


_METRICS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Metrics as Prometheus reads them.",
        "content": {
            "text/plain": {"schema": {"type": "string"}},
            "application/openmetrics-text": {"schema": {"type": "string"}},
        },
    }
}


@metrics_router.get("/metrics", operation_id="get_metrics", response_class=Response, responses=_METRICS)
def metrics(services: Services, request: Request) -> Response:
    """Metrics of the crawl service, for Prometheus: pulls, submits, errors, jobs by status, webhooks."""
    jobs, oldest_at, deliveries = queue_rows(services)
    for status, number in jobs.items():
        services.meter.set(QUEUE_JOBS, number, status)
    services.meter.set(QUEUE_OLDEST, age_s(oldest_at, services.state.clock.now()) or 0.0)
    for status, number in deliveries.items():
        services.meter.set(WEBHOOK_DELIVERIES, number, status)
    text, media_type = render_readings([services.meter.read()], request.headers.get("accept", ""))
    return Response(text, headers={"Content-Type": media_type})
