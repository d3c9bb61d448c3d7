"""Notices: the sentence that a page shows once, after a form has done its work and the browser was sent on.

It travels in a cookie that lasts a minute, signed with what only this browser knows, so no other site can write one.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse

from comity.doors.web.access import Access, Caller

_LIFETIME_S: Final = 60
_LONGEST_TEXT: Final = 500
_LONGEST_COOKIE: Final = 4000


class Notice(NamedTuple):
    """A sentence, and what it is: `ok`, `warn` or `bad`."""

    text: str
    kind: str


def redirect(request: Request, url: str, *, notice: str | None = None, kind: str = "ok") -> RedirectResponse:
    """Send the browser to a page (RFC 9110 §15.4.4), which shows the notice once. `url` has the prefix already."""
    response = RedirectResponse(url, 303)
    if notice is not None:
        access, caller = _access(request), _caller(request)
        text = notice[:_LONGEST_TEXT].encode("utf-8", "replace").decode()
        content = urlsafe_b64encode(json.dumps([text, kind]).encode()).decode().rstrip("=")
        set_cookie(
            response, access, access.settings.named("comity_notice"), f"{content}.{_mark(caller, content)}", _LIFETIME_S
        )
    return response


def notice_of(request: Request) -> Notice | None:
    """The notice that came with a request; its cookie is dropped with the response."""
    name = _access(request).settings.named("comity_notice")
    value = request.cookies.get(name, "")
    if not value or len(value) > _LONGEST_COOKIE:
        return None
    request.state.drops_notice = True
    content, _, mark = value.partition(".")
    if not hmac.compare_digest(mark.encode("utf-8", "replace"), _mark(_caller(request), content).encode()):
        return None
    try:
        text, kind = json.loads(urlsafe_b64decode(content + "=" * (-len(content) % 4)))
    except ValueError:
        return None
    return Notice(str(text), str(kind))


def set_cookie(response: Any, access: Access, name: str, value: str, max_age_s: int | None) -> None:
    """Set a cookie that scripts cannot read and other sites' forms do not send.

    Not `SameSite=Strict`: a link to a page of the console, in a mail or a chat, should find the session.
    """
    response.set_cookie(
        name,
        value,
        max_age=max_age_s,
        path="/",
        secure=not access.settings.is_dev,
        httponly=True,
        samesite="lax",
    )


def _mark(caller: Caller, content: str) -> str:
    return sha256(f"comity notice {caller.form_secret} {content}".encode()).hexdigest()


def _access(request: Request) -> Access:
    access: Access = request.app.state.services.access
    return access


def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller
