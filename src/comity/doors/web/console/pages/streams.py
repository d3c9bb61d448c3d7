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
    views = list(dict.fromkeys(view))
    # Users may share an address; without a login, every request comes from this machine.
    owner = f"user {caller.user}" if caller.user is not None else "token" if caller.by_token else "this machine"
    if not services.live.has_room(owner, views):
        raise ApiError(503, "too_many_streams", "too many live pages are open", {"Retry-After": "30"})

    async def is_admitted() -> bool:
        return caller.session_name is None or await services.sessions.get(caller.session_name) is not None

    stream = services.live.stream(services, views, is_admitted, owner)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
