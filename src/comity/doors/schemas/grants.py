"""The answers to crawlers that ask for grants, in the envelope of the bot API. Times have microseconds."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal
from uuid import UUID

from pydantic import Field
from pydantic_core import to_json

from comity.doors.schemas.base import Schema
from comity.model.gate import DelaySource
from comity.model.grants import GrantAnswer, GrantAnswers, GrantReason, Permission, ReportAnswer, ReportResult


class GrantView(Schema):
    """What a client may do with one URL."""

    url: str = Field(description="As it was sent.")
    permission: Permission
    reason: GrantReason | None = Field(None, description="Why it is denied, or why to wait.")
    message: str | None = Field(None, description="The same as a sentence.")
    rule: str | None = Field(None, description="The line of robots.txt that decided.", examples=["Disallow: /private"])
    rule_line: int | None = Field(None, description="Its number.")
    grant_id: UUID | None = Field(None, description="To be reported or released.")
    not_before: str | None = Field(
        None, description="The earliest time to start the request.", examples=["2026-02-05T14:30:00.000000Z"]
    )
    start_by: str | None = Field(None, description="The latest time to start the request.")
    delay_seconds: float | None = Field(None, description="The delay between requests to the host.")
    delay_source: DelaySource | None = Field(None, description="What set the delay.")
    expires_at: str | None = Field(None, description="When the grant runs out without a report.")
    retry_after: float | None = Field(None, description="Seconds after which to ask again.")


class ReportView(Schema):
    """What became of a report or a release."""

    grant_id: UUID
    result: ReportResult
    blocked_until: str | None = Field(
        None, description="The end of the pause that the host asked for; send it no request before."
    )


class GrantData(Schema):
    """The answers, in the order of the URLs and reports."""

    server_time: str = Field(description="The clock that the times refer to.")
    grants: list[GrantView]
    reports: list[ReportView]


class GrantDocument(Schema):
    """The answer to a request for grants, a report or a release."""

    success: Literal[True]
    data: GrantData


def grant_json(granted: GrantAnswers) -> bytes:
    """The document as JSON, built without models: a busy crawler asks for thousands of grants a second."""
    data = {
        "server_time": _time(granted.now),
        "grants": [_grant(answer) for answer in granted.answers],
        "reports": [_report(answer) for answer in granted.reports],
    }
    return to_json({"success": True, "data": data})


def _grant(answer: GrantAnswer) -> dict[str, Any]:
    slot = answer.slot
    return {
        "url": answer.url,
        "permission": answer.permission,
        "reason": answer.reason,
        "message": answer.message,
        "rule": answer.rule,
        "rule_line": answer.rule_line,
        "grant_id": answer.grant_id,
        "not_before": None if slot is None else _time(slot.not_before),
        "start_by": None if slot is None else _time(slot.start_by),
        "delay_seconds": None if slot is None else slot.delay_s,
        "delay_source": None if slot is None else slot.delay_source,
        "expires_at": None if answer.expires_at is None else _time(answer.expires_at),
        "retry_after": answer.retry_after_s,
    }


def _report(answer: ReportAnswer) -> dict[str, Any]:
    until = answer.blocked_until
    return {
        "grant_id": answer.grant_id,
        "result": answer.result,
        "blocked_until": None if until is None else _time(until),
    }


@lru_cache(maxsize=1024)
def _time(seconds: float) -> str:
    """To the microsecond, as `datetime` rounds it; the grants of one request mostly have the same times."""
    whole = int(seconds)
    microseconds = round((seconds - whole) * 1e6)
    if microseconds == 1_000_000:
        whole, microseconds = whole + 1, 0
    return f"{_second(whole)}.{microseconds:06d}Z"


@lru_cache(maxsize=1024)
def _second(whole: int) -> str:
    return datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
