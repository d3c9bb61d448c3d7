"""/admin/session: logging in and out, and who one is."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from comity.doors.web.given import LoginGiven
from comity.doors.web.office import AdmittedHere, Office, OfficeHere
from comity.doors.web.refusals import Refused, documented
from comity.doors.web.sessions import Session
from comity.doors.web.shown import SessionShown

router = APIRouter(prefix="/admin/session", tags=["session"])
login_router = APIRouter(prefix="/admin/session", tags=["session"])


@login_router.post(
    "",
    operation_id="log_in",
    status_code=201,
    response_model=SessionShown,
    responses=documented(401, 403, 413, 415, 422, 429, 500, 503),
)
async def log_in(
    request: Request, response: Response, office: OfficeHere, admitted: AdmittedHere, given: LoginGiven
) -> SessionShown:
    """Log in with the admin's password; the answer sets the session's cookie."""
    known_hash = office.access.terms.password_hash
    if known_hash is None:
        raise Refused(403, "login_not_configured", "no password is configured")
    client = request.client.host if request.client else ""
    now = office.state.clock.seconds()
    wait_s = office.throttle.wait_s(client, now)
    if wait_s > 0:
        raise _too_often(wait_s)
    if office.logins.locked():
        raise _too_often(2)
    office.throttle.note_failure(client, now)  # until the password proves right
    async with office.logins:
        is_right = await asyncio.to_thread(_is_right, known_hash, given.password)
    if not is_right:
        raise Refused(401, "unauthorized", "the password is wrong", {"WWW-Authenticate": 'Bearer realm="comity"'})
    office.throttle.forgive(client)
    if admitted.session_name is not None:
        office.access.sessions.end(admitted.session_name)
    name, session = office.access.sessions.begin(now)
    terms = office.access.terms
    response.set_cookie(
        terms.cookie_name,
        name,
        max_age=int(terms.session_s),
        path="/",
        secure=not terms.is_dev,
        httponly=True,
        samesite="strict",
    )
    return _shown(session)


@router.get("", operation_id="get_session", response_model=SessionShown)
async def show(office: OfficeHere, admitted: AdmittedHere) -> SessionShown:
    """Show who asks, and the token that changes need."""
    if admitted.session is not None:
        return _shown(admitted.session)
    kind = "token" if office.access.terms.has_login else "open"
    return SessionShown.model_validate({"kind": kind, "csrf_token": None, "expires_at": None})


@router.delete("", operation_id="log_out", status_code=204)
async def log_out(office: OfficeHere, admitted: AdmittedHere) -> Response:
    """Log out: the session ends here, not only in the browser."""
    response = Response(status_code=204)
    if admitted.session_name is not None:
        office.access.sessions.end(admitted.session_name)
    _delete_cookie(office, response)
    return response


def _delete_cookie(office: Office, response: Response) -> None:
    terms = office.access.terms
    response.delete_cookie(terms.cookie_name, path="/", secure=not terms.is_dev, httponly=True, samesite="strict")


def _is_right(known_hash: str, password: str) -> bool:
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return PasswordHasher().verify(known_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def _too_often(wait_s: float) -> Refused:
    return Refused(
        429, "too_many_attempts", "too many attempts; try again later", {"Retry-After": str(int(wait_s) + 1)}
    )


def _shown(session: Session) -> SessionShown:
    expires_at = datetime.fromtimestamp(session.expires_at, UTC)
    return SessionShown(kind="session", csrf_token=session.csrf_token, expires_at=expires_at)
