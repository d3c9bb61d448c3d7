"""Notices: the sentence that a page shows once, after a form has done its work and the browser was sent on.

It travels in a cookie that lasts a minute, signed with what only this browser knows, so no other site can write one.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from comity.doors.web.access import Access, Caller

_COOKIE: Final = "comity_notice"
_LIFETIME_S: Final = 60
_LONGEST_TEXT: Final = 500
_LONGEST_OFFER: Final = 1500
_LONGEST_COOKIE: Final = 4000


class Offer(NamedTuple):
    """A button beside a notice, which takes back what was done: a form with hidden fields."""

    path: str
    fields: tuple[tuple[str, str], ...] = ()
    label: str = "Undo"


class Notice(NamedTuple):
    """A sentence, and what it is: `good`, `warn` or `bad`."""

    text: str
    kind: str
    offer: Offer | None = None


def set_notice(request: Request, response: Response, text: str, kind: str, offer: Offer | None = None) -> None:
    """Have the page that the browser goes to next show a notice, once. An offer that is too long for it is left out."""
    access, caller = _access(request), _caller(request)
    if access is None or caller is None:
        return
    text = text[:_LONGEST_TEXT].encode("utf-8", "replace").decode()
    if offer is not None and sum(len(name) + len(value) for name, value in offer.fields) > _LONGEST_OFFER:
        offer = None
    content = urlsafe_b64encode(json.dumps([text, kind, offer]).encode()).decode().rstrip("=")
    name = access.settings.named(_COOKIE)
    set_cookie(response, access, name, f"{content}.{_mark(caller, content)}", _LIFETIME_S)


def notice_of(request: Request) -> Notice | None:
    """The notice that came with a request; its cookie is dropped with the response."""
    access, caller = _access(request), _caller(request)
    value = request.cookies.get(access.settings.named(_COOKIE), "") if access is not None else ""
    if caller is None or not value or len(value) > _LONGEST_COOKIE:
        return None
    request.state.drops_notice = True
    content, _, mark = value.partition(".")
    if not hmac.compare_digest(mark.encode("utf-8", "replace"), _mark(caller, content).encode()):
        return None
    try:
        text, kind, offer = json.loads(urlsafe_b64decode(content + "=" * (-len(content) % 4)))
    except ValueError:
        return None
    return Notice(str(text), str(kind), None if offer is None else Offer(*offer))


def drop_notice(response: Response, access: Access) -> None:
    """Have the browser forget a notice that was shown."""
    set_cookie(response, access, access.settings.named(_COOKIE), "", 0)


def set_cookie(response: Response, access: Access, name: str, value: str, max_age_s: int | None) -> None:
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


def _access(request: Request) -> Access | None:
    services = getattr(request.app.state, "services", None)
    return None if services is None else services.access


def _caller(request: Request) -> Caller | None:
    """A request that was refused before it was admitted has none."""
    return getattr(request.state, "caller", None)
