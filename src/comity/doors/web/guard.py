"""What stands before every route: access, the size and kind of a body, the headers of every answer, and the last net.

Bodies are read here, bounded in size and time, so that no route can forget to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from starlette.datastructures import MutableHeaders

from comity.clock import Clock
from comity.doors.web.access import Access, Asking
from comity.doors.web.refusals import Refused, answer_to

MOST_BODY_BYTES: Final = 262_144
BODY_WITHIN_S: Final = 30.0
HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class Guard:
    """Wraps the application."""

    def __init__(self, app: Application, access: Access, clock: Clock) -> None:
        self._app = app
        self._access = access
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one request through."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        has_begun = is_read = False

        async def send_guarded(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                self._add_headers(message, scope)
                if not is_read and _has_body(scope):  # what is left of it will not be read
                    MutableHeaders(scope=message)["Connection"] = "close"
            await send(message)

        try:
            asking = _asking(scope)
            scope.setdefault("state", {})["admitted"] = self._access.admit(asking, self._clock.seconds())
            body = await _body(asking, receive)
            is_read = True
            await self._app(_as_get(scope), _replay(body, receive), send_guarded)
        except _Left:
            return
        except Exception as error:
            answer = answer_to(error, is_dev=self._access.terms.is_dev)
            if not has_begun:
                await answer(scope, receive, send_guarded)

    def _add_headers(self, message: Message, scope: Scope) -> None:
        headers = MutableHeaders(scope=message)
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        if scope.get("scheme") == "https":
            headers.setdefault("Strict-Transport-Security", "max-age=31536000")


def _as_get(scope: Scope) -> Scope:
    """HEAD is GET without the body (RFC 9110 §9.3.2), which the server leaves out; load balancers ask so."""
    return {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope


class _Left(Exception):
    """Whoever asked went away before the body was there."""


def _asking(scope: Scope) -> Asking:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key == "host" and key in headers:
            raise Refused(403, "host_not_allowed", "more than one Host header")
        text = value.decode("latin-1")
        headers[key] = f"{headers[key]}; {text}" if key == "cookie" and key in headers else text
    client = scope.get("client")
    return Asking(scope["method"], scope["path"], client[0] if client else "", headers)


async def _body(asking: Asking, receive: Receive) -> bytes:
    """The whole body, which must be JSON if there is one."""
    length = asking.headers.get("content-length", "")
    if length.isdecimal() and int(length) > MOST_BODY_BYTES:
        raise _too_large()  # before a byte of it is read
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            body = await _read(receive)
    except TimeoutError:
        raise Refused(422, "bad_input", "the body did not come in time") from None
    kind = asking.headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and kind != "application/json":
        raise Refused(415, "unsupported_media_type", "the body must be JSON, with Content-Type: application/json")
    return body


async def _read(receive: Receive) -> bytes:
    """What comes, up to the bound."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise _Left
        part = message.get("body", b"")
        size += len(part)
        if size > MOST_BODY_BYTES:
            raise _too_large()
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_large() -> Refused:
    return Refused(413, "too_large", f"a body may have {MOST_BODY_BYTES:,} bytes")


def _has_body(scope: Scope) -> bool:
    names = {name.lower() for name, value in scope["headers"] if value != b"0"}
    return b"content-length" in names or b"transfer-encoding" in names


def _replay(body: bytes, receive: Receive) -> Receive:
    is_given = False

    async def give() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give
