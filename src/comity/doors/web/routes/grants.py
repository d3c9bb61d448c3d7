"""/api/politeness: crawlers with their own URLs ask when they may request each, and report the result."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final
from uuid import UUID

from fastapi import Depends, Response
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.json_schema import WithJsonSchema

from comity.doors.schemas.bot_api import GrantDocument, grant_json
from comity.doors.web.access import Caller
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.bot_routes import (
    TIME_SCHEMA,
    LenientBody,
    Whole,
    body_of,
    body_schema,
    counting,
    declare,
    plain_text,
    read_time,
)
from comity.doors.web.services import CurrentCaller, Services, WebServices
from comity.model.grants import MOST_URLS, GrantAnswers, GrantReport
from comity.model.queue import BotError, BotRefused
from comity.telemetry.metrics import GRANT_ANSWERS, GRANT_REPORTS

MOST_REPORTS: Final = 1000
_LONGEST_URL: Final = 2048
_LONGEST_RETRY_AFTER_S: Final = 366 * 86_400
_EXAMPLE_ID: Final = "0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f"
_CLIENT_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,93}$"

router = Router(Audience.BOT, max_body_bytes=524_288, prefix="/api/politeness", tags=["grants"])

GrantId = Annotated[UUID, Field(strict=False, examples=[_EXAMPLE_ID])]
Text = Annotated[str, AfterValidator(plain_text)]


class ClientBody(LenientBody):
    """A body of a crawler that uses grants."""

    client_id: Annotated[str, Field(pattern=_CLIENT_PATTERN)] = Field(
        description="The client's own id: that of its key, or that followed by a slash and a name.",
        examples=["acme", "acme/spider-2"],
    )


class ReportBody(LenientBody):
    """The result of one request. Without a status, it failed."""

    grant_id: GrantId
    status: Annotated[Whole, Field(ge=100, le=599)] | None = Field(
        None, description="429 and 503 block the host for every client.", examples=[200]
    )
    latency: Annotated[float, Field(ge=0, le=86_400, strict=False)] | None = Field(
        None, description="Seconds from the start of the request to the first byte of the answer.", examples=[0.25]
    )
    retry_after: Annotated[float, Field(ge=0, le=_LONGEST_RETRY_AFTER_S, strict=False)] | None = Field(
        None, description="Seconds that the site asked to wait."
    )
    started_at: Annotated[float | None, BeforeValidator(read_time), WithJsonSchema(TIME_SCHEMA)] = None

    def value(self) -> GrantReport:
        """The value for the rooms below."""
        return GrantReport(self.grant_id, self.status, self.latency, self.retry_after, self.started_at)


Reports = Annotated[list[ReportBody], Field(max_length=MOST_REPORTS)]


class GrantRequest(ClientBody):
    """URLs that a client wants to request, and reports on earlier ones."""

    urls: Annotated[list[Annotated[Text, Field(max_length=_LONGEST_URL)]], Field(min_length=1, max_length=MOST_URLS)]
    user_agent: Annotated[Text, Field(max_length=200)] | None = Field(
        None,
        description="The client's own user agent: robots.txt is read for its product token. Default: Comity's.",
        examples=["AcmeBot/2.0 (+https://acme.example/bot)"],
    )
    reports: Reports = Field(
        default_factory=list, description="As for `/report/`; recorded before the URLs are answered."
    )


class ReportRequest(ClientBody):
    """Reports on requests that were made with grants."""

    reports: Annotated[Reports, Field(min_length=1)]


class GrantReleaseRequest(ClientBody):
    """Grants that were not used."""

    grant_ids: Annotated[list[GrantId], Field(min_length=1, max_length=MOST_REPORTS)]


_GRANT: Final = {"client_id": "acme", "urls": ["https://example.com/products/1"]}
_REPORT: Final = {
    "client_id": "acme",
    "reports": [{"grant_id": _EXAMPLE_ID, "status": 200, "latency": 0.25, "started_at": "2026-02-05T14:30:00.250Z"}],
}
_RELEASE: Final = {"client_id": "acme", "grant_ids": [_EXAMPLE_ID]}


@declare(router, "/grant", GrantDocument, body=body_schema(GrantRequest, _GRANT))
async def grant_requests(
    services: Services, caller: CurrentCaller, body: Annotated[GrantRequest, Depends(body_of(GrantRequest))]
) -> Response:
    """Ask whether and when URLs may be requested.

    A URL is `allowed` with a grant, `denied` with the rule or the reason, or has to `wait`: ask for it again after
    `retry_after` seconds. Start the request between `not_before` and `start_by`; if that is missed, release the grant.
    """
    with counting(services):
        _check_client(caller, body)
        reports = [report.value() for report in body.reports]
        granted = await services.granter.grant(
            body.client_id, body.urls, user_agent=body.user_agent or None, reports=reports
        )
    return _answer(services, granted)


@declare(router, "/report", GrantDocument, body=body_schema(ReportRequest, _REPORT))
async def report_requests(
    services: Services, caller: CurrentCaller, body: Annotated[ReportRequest, Depends(body_of(ReportRequest))]
) -> Response:
    """Report the results of requests. This ends their grants; reporting again changes nothing."""
    with counting(services):
        _check_client(caller, body)
        granted = await services.granter.report(body.client_id, [report.value() for report in body.reports])
    return _answer(services, granted)


@declare(router, "/release", GrantDocument, body=body_schema(GrantReleaseRequest, _RELEASE))
async def release_grants(
    services: Services,
    caller: CurrentCaller,
    body: Annotated[GrantReleaseRequest, Depends(body_of(GrantReleaseRequest))],
) -> Response:
    """Give grants back whose requests were not made."""
    with counting(services):
        _check_client(caller, body)
        granted = await services.granter.release(body.client_id, body.grant_ids)
    return _answer(services, granted)


def _check_client(caller: Caller, body: ClientBody) -> None:
    """Refuse a body whose client id does not belong to its key."""
    bot = caller.bot
    if bot is not None and body.client_id != bot and not body.client_id.startswith(f"{bot}/"):
        message = f"the API key belongs to {bot}: client_id must be {bot}, or {bot} followed by a slash and a name"
        raise BotRefused(BotError.NOT_ASSIGNED, message, {"client_id": body.client_id})


def _answer(services: WebServices, granted: GrantAnswers) -> Response:
    for permission, number in Counter(answer.permission for answer in granted.answers).items():
        services.meter.add(GRANT_ANSWERS, number, str(permission))
    for result, number in Counter(answer.result for answer in granted.reports).items():
        services.meter.add(GRANT_REPORTS, number, str(result))
    return Response(grant_json(granted), media_type="application/json")
