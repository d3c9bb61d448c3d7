"""/admin/live: the stream of live regions."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Query
from fastapi.responses import StreamingResponse
from pydantic import Field

from comity.doors.web.audiences import Audience, Router
from comity.doors.web.console.live import MAX_VIEWS_OF_A_STREAM, VIEWS
from comity.doors.web.errors import ApiError
from comity.doors.web.services import CurrentCaller, Services

router = Router(Audience.ADMIN, prefix="/admin/live", include_in_schema=False)
_LONGEST_VIEW: Final = 600


@router.get("")
async def follow(
    services: Services,
    caller: CurrentCaller,
    view: Annotated[list[Annotated[str, Field(max_length=_LONGEST_VIEW)]], Query(max_length=MAX_VIEWS_OF_A_STREAM)],
) -> StreamingResponse:
    """Follow some views; each is a name, or a name and parameters: `host?host=example.org`."""
    if any(each.partition("?")[0] not in VIEWS for each in view):
        raise ApiError(404, "not_found", "there is no such view")
    if services.live.is_full:
        raise ApiError(503, "too_many_streams", "too many live pages are open", {"Retry-After": "30"})

    async def is_admitted() -> bool:
        return caller.session_name is None or await services.sessions.get(caller.session_name) is not None

    stream = services.live.stream(services, list(dict.fromkeys(view)), is_admitted)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
