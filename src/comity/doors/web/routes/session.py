"""/admin/session: log in, log out, and show the current session."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Literal

from fastapi import Request, Response
from pydantic import Field

from comity.doors.schemas.base import Instant, Schema
from comity.doors.web.audiences import Audience, Router
from comity.doors.web.errors import ApiError, error_responses
from comity.doors.web.requests import LoginRequest
from comity.doors.web.services import CurrentCaller, Services
from comity.doors.web.sessions import LoginSession

router = Router(Audience.ADMIN, prefix="/admin/session", tags=["session"])
login_router = Router(Audience.ADMIN, before_login=True, prefix="/admin/session", tags=["session"])


class SessionView(Schema):
    """How the caller was admitted: by a session, by a token, or without a login on this machine."""

    kind: Literal["session", "token", "open"]
    csrf_token: str | None = Field(description="Send it as X-CSRF-Token with every change.")
    expires_at: Instant | None


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
    """Log in with the admin password. The response sets the session cookie."""
    settings = services.access.settings
    if settings.password_hash is None:
        raise ApiError(403, "login_not_configured", "no admin password is configured")
    client = request.client.host if request.client else ""
    now = services.state.clock.seconds()
    wait_s = services.throttle.wait_s(client, now)
    if wait_s > 0:
        raise _too_many_attempts(wait_s)
    if services.logins.locked():
        raise _too_many_attempts(2)
    services.throttle.note_failure(client, now)  # forgiven below if the password is correct
    async with services.logins:
        is_correct = await asyncio.to_thread(_is_correct, settings.password_hash, body.password)
    if not is_correct:
        raise ApiError(401, "unauthorized", "the password is wrong", {"WWW-Authenticate": 'Bearer realm="comity"'})
    services.throttle.forgive(client)
    if caller.session_name is not None:
        services.access.sessions.end(caller.session_name)
    name, session = services.access.sessions.start(now)
    response.set_cookie(
        settings.cookie_name,
        name,
        max_age=int(settings.session_s),
        path="/",
        secure=not settings.is_dev,
        httponly=True,
        samesite="strict",
    )
    return _view(session)


@router.get("", operation_id="get_session", response_model=SessionView)
async def show(services: Services, caller: CurrentCaller) -> SessionView:
    """Show how the caller was admitted, and the CSRF token for changes."""
    if caller.session is not None:
        return _view(caller.session)
    kind = "token" if services.access.settings.has_login else "open"
    return SessionView.model_validate({"kind": kind, "csrf_token": None, "expires_at": None})


@router.delete("", operation_id="log_out", status_code=204)
async def log_out(services: Services, caller: CurrentCaller) -> Response:
    """Log out. The session ends on the server, not only in the browser."""
    if caller.session_name is not None:
        services.access.sessions.end(caller.session_name)
    settings = services.access.settings
    response = Response(status_code=204)
    response.delete_cookie(settings.cookie_name, path="/", secure=not settings.is_dev, httponly=True, samesite="strict")
    return response


def _is_correct(known_hash: str, password: str) -> bool:
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return PasswordHasher().verify(known_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def _too_many_attempts(wait_s: float) -> ApiError:
    return ApiError(
        429, "too_many_attempts", "too many login attempts; try again later", {"Retry-After": str(int(wait_s) + 1)}
    )


def _view(session: LoginSession) -> SessionView:
    expires_at = datetime.fromtimestamp(session.expires_at, UTC)
    return SessionView(kind="session", csrf_token=session.csrf_token, expires_at=expires_at)
