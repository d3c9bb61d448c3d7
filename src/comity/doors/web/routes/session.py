"""/admin/session: log in, log out here or everywhere, and show the current session."""

from __future__ import annotations

import asyncio
from typing import Literal

from fastapi import Request, Response
from pydantic import Field

from comity.doors.schemas.base import Instant, Schema
from comity.doors.web.access import Caller
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import ApiError, error_responses
from comity.doors.web.logins import FAILURE_WINDOW_S, wait_after
from comity.doors.web.notices import set_cookie
from comity.doors.web.requests import LoginRequest
from comity.doors.web.services import CurrentCaller, Services, WebServices
from comity.model.console import Role
from comity.operate.console import decoy_hash, hash_of, is_password, login_attempts

router = Router(Audience.ADMIN, any_role=True, prefix="/admin/session", tags=["session"])
login_router = Router(Audience.ADMIN, before_login=True, prefix="/admin/session", tags=["session"])


class SessionView(Schema):
    """How the caller was admitted: by a session, by a token, or without a login on this machine."""

    kind: Literal["session", "token", "open"]
    user: str | None
    role: Role
    csrf_token: str | None = Field(description="Send it as X-CSRF-Token with every change.")
    expires_at: Instant | None


class SessionsEnded(Schema):
    """How many sessions were ended."""

    ended: int


@login_router.post(
    "",
    operation_id="log_in",
    status_code=201,
    response_model=SessionView,
    responses=error_responses(413, 415, 429),
)
async def log_in(
    request: Request, response: Response, services: Services, caller: CurrentCaller, body: LoginRequest
) -> SessionView:
    """Log in with a user's name and password. The response sets the session cookie."""
    return _view(await start_session(request, response, services, caller, body.user, body.password))


async def start_session(
    request: Request, response: Response, services: WebServices, caller: Caller, user: str, password: str
) -> Caller:
    """Check a password, start a session and set its cookie; `ApiError` if that is not possible."""
    access, clock = services.access, services.state.clock
    if access.settings.password_hash is None and not await services.sessions.has_users():
        raise ApiError(403, "login_not_configured", "no user can log in: none is configured")
    client, now = request.client.host if request.client else "", clock.seconds()
    wait_s = services.throttle.wait_s(client, now)
    if not wait_s:  # another process of the state may have seen the wrong passwords
        attempts = await asyncio.to_thread(login_attempts, services.state.database, clock, FAILURE_WINDOW_S)
        # Others of this address may have been noted meanwhile; there is no await from here to `note_failure`.
        wait_s = max(wait_after(attempts, client), services.throttle.wait_s(client, now))
    if wait_s > 0:
        raise _too_many_attempts(wait_s)
    if services.logins.locked():
        raise _too_many_attempts(2)
    services.throttle.note_failure(client, now)  # forgiven below if the password is correct
    name = user.strip().lower()
    async with services.logins:
        known_hash = await asyncio.to_thread(hash_of, services.state.database, name, access.settings.password_hash)
        # What is no name of a user may be a password in the wrong field, so it is not recorded.
        request.state.acting = (name if known_hash else None, None)
        is_correct = await asyncio.to_thread(is_password, known_hash or decoy_hash(), password)
        started = None
        if is_correct and known_hash is not None:
            started = await asyncio.to_thread(services.sessions.start, name, known_hash)
    if started is None:
        message = "the user name or the password is wrong"
        raise ApiError(401, "unauthorized", message, {"WWW-Authenticate": 'Bearer realm="comity"'})
    services.throttle.forgive(client)
    if caller.session_name is not None:
        await asyncio.to_thread(services.sessions.end, caller.session_name)
    session_name, session = started
    request.state.acting = (session.user, session.role)
    set_cookie(response, access, access.settings.cookie_name, session_name, int(access.settings.session_s))
    return Caller(session, session_name, role=session.role, form_secret=session_name)


@router.get("", operation_id="get_session", response_model=SessionView)
async def show(caller: CurrentCaller) -> SessionView:
    """Show how the caller was admitted, and the CSRF token for changes."""
    return _view(caller)


@router.delete("", operation_id="log_out", status_code=204)
async def log_out(services: Services, caller: CurrentCaller) -> Response:
    """Log out. The session ends on the server, not only in the browser."""
    response = Response(status_code=204)
    await end_session(response, services, caller)
    return response


@router.delete("/all", operation_id="log_out_everywhere", response_model=SessionsEnded)
async def log_out_everywhere(response: Response, services: Services, caller: CurrentCaller) -> SessionsEnded:
    """End every session of the user who is logged in, in all browsers."""
    return SessionsEnded(ended=await end_all_sessions(response, services, caller))


async def end_session(response: Response, services: WebServices, caller: Caller) -> None:
    """End the caller's session, and drop its cookie."""
    if caller.session_name is not None:
        await asyncio.to_thread(services.sessions.end, caller.session_name)
    _drop_cookie(response, services)


async def end_all_sessions(response: Response, services: WebServices, caller: Caller) -> int:
    """End every session of the caller's user, and drop the cookie; returns how many there were."""
    _drop_cookie(response, services)
    return 0 if caller.user is None else await asyncio.to_thread(services.sessions.end_all, caller.user)


def _drop_cookie(response: Response, services: WebServices) -> None:
    set_cookie(response, services.access, services.access.settings.cookie_name, "", 0)


def _too_many_attempts(wait_s: float) -> ApiError:
    return ApiError(
        429, "too_many_attempts", "too many login attempts; try again later", {"Retry-After": str(int(wait_s) + 1)}
    )


def _view(caller: Caller) -> SessionView:
    kind: Literal["session", "token", "open"] = "token" if caller.by_token else "open"
    if caller.session is None:
        return SessionView(kind=kind, user=None, role=caller.role or Role.OPERATOR, csrf_token=None, expires_at=None)
    session = caller.session
    return SessionView(
        kind="session",
        user=session.user,
        role=session.role,
        csrf_token=caller.csrf_token,
        expires_at=session.expires_at,
    )
