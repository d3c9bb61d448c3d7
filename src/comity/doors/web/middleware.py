"""The middleware in front of every route: access, size and type of the body, security headers, unexpected errors, and
the record of changes.

Bodies are read here, bounded in size and time by the rules of the route, so that no route can forget it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response

from comity.clock import Clock
from comity.doors.web.access import Access, RequestHead, StaleForm, is_from_own_page
from comity.doors.web.activity import ActivityLog, Record
from comity.doors.web.audiences import Audience, RouteMatch, RouterRules, RouteTable
from comity.doors.web.console.errors import error_page, to_login
from comity.doors.web.console.interrupted_forms import Unsent, ask_to_send, login_for
from comity.doors.web.errors import ApiError, is_for_bots, response_to
from comity.doors.web.notices import drop_notice, set_cookie
from comity.doors.web.requests import FORM, VARY, prefers_html, wants_page

OWN_PREFIX: Final = "/admin"
BODY_TIMEOUT_S: Final = 30.0
SECURITY_HEADERS: Final = {
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


def protect(app: FastAPI, access: Access, clock: Clock, record: Record = lambda _activity: None) -> None:
    """Put the middleware in front of an application; raises `AudienceError` if one of its routes has no audience."""
    app.add_middleware(AccessMiddleware, routes=RouteTable(app.routes), access=access, clock=clock, record=record)


class AccessMiddleware:
    """Forwards a request only if its route is declared, its sender is admitted, and its body is acceptable."""

    def __init__(self, app: Application, routes: RouteTable, access: Access, clock: Clock, record: Record) -> None:
        self._app = app
        self._routes = routes
        self._access = access
        self._clock = clock
        self._record = record

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "http":
            await self._handle(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:  # no WebSocket can be declared, so none is accepted
            await send({"type": "websocket.close", "code": 1008})

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = self._at_own_path(scope)
        has_started = is_read = False
        log: ActivityLog | None = None
        head: RequestHead | None = None

        async def send_guarded(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                if log is not None:  # before the response, so that its reader finds the record
                    await log.write(message["status"])
                _add_headers(message, scope)
                if match.rules is not None and match.rules.audience is Audience.ADMIN:
                    # A cache must not give a browser what a program was sent (RFC 9110 §12.5.5).
                    MutableHeaders(scope=message).setdefault("Vary", VARY)
                self._add_cookies(message, forwarded["state"])
                if not is_read and _announces_body(scope):  # the rest of the body will not be read
                    MutableHeaders(scope=message)["Connection"] = "close"
            await send(message)

        # HEAD is GET without the body, which the server leaves out (RFC 9110 §9.3.2).
        forwarded = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        accepts = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        is_page = wants_page(scope["method"], accepts)
        match = self._routes.match(forwarded["method"], scope["path"], wants_page=is_page)
        if not match.is_found and not match.methods and len(scope["path"]) > 1 and scope["path"].endswith("/"):
            # A path with a slash at its end is served as the path without it: an address is often typed so.
            scope, forwarded = _without_slash(scope), _without_slash(forwarded)
            match = self._routes.match(forwarded["method"], scope["path"], wants_page=is_page)
        is_for_bots = match.rules is not None and match.rules.audience is Audience.BOT
        state = forwarded.setdefault("state", {})
        state["is_for_bots"] = is_for_bots
        state["wants_page"] = is_page
        state["wants_error_page"] = _wants_error_page(match.rules, accepts)
        try:
            head = _head_of(scope)
            caller = state["caller"] = await self._access.admit(head, match.rules, self._clock.seconds())
            log = ActivityLog(self._record, head, scope.get("query_string", b"").decode("latin-1"), match, state)
            self._access.authorize(head, match.rules, caller)
            rules = match.require_route()
            body = log.body = await _body(head, rules, receive, self._access.settings.max_page_body_bytes)
            is_read = True
            self._access.check_form(head, rules, caller, body)
            await self._app(forwarded, _replay(body, receive), send_guarded)
        except _ClientLeft:
            return
        except Exception as error:
            response = None
            if head is not None and _may_be_sent_again(error, head, match):
                # It was read if the session is there, and the token is that of an earlier one.
                sent = log.body if is_read and log is not None else await _body_or_none(head, match, receive)
                is_read = sent is not None
                response = self._asking_again(head, sent, forwarded)
            response = response or self._response_to(error, forwarded)
            if not has_started:
                await response(scope, receive, send_guarded)
        finally:
            if log is not None and not has_started:
                await log.write(0)

    def _at_own_path(self, scope: Scope) -> Scope:
        """The request under the path that the routes declare, where the setting names another prefix for /admin."""
        prefix, path = self._access.settings.prefix, scope["path"]
        if prefix == OWN_PREFIX:
            return scope
        if path == prefix or path.startswith(prefix + "/"):
            own = OWN_PREFIX + path[len(prefix) :]
        elif path == OWN_PREFIX or path.startswith(OWN_PREFIX + "/"):
            own = "/-" + path  # nothing is here
        else:
            return scope
        return {**scope, "path": own, "raw_path": quote(own).encode()}

    def _add_cookies(self, message: Message, state: MutableMapping[str, Any]) -> None:
        """Give a browser that sees a page the cookie that its forms are tied to, and drop a notice that was shown."""
        caller, access = state.get("caller"), self._access
        headers = MutableHeaders(scope=message)
        if caller is None or not headers.get("content-type", "").startswith("text/html"):
            return
        cookies = Response()
        if caller.has_new_secret:
            set_cookie(cookies, access, access.settings.form_cookie_name, caller.form_secret, None)
        if state.get("drops_notice"):
            drop_notice(cookies, access)
        for name, value in cookies.raw_headers:
            if name == b"set-cookie":
                headers.append("Set-Cookie", value.decode("latin-1"))

    def _asking_again(self, head: RequestHead, body: bytes | None, scope: Scope) -> Response | None:
        """What answers our own form whose session has ended: nothing that was entered is lost."""
        unsent = Unsent.of_body(head.path, body) if body is not None else None
        if unsent is None:
            return None
        request, caller = Request(scope), scope["state"].get("caller")
        if caller is None:
            scope["state"]["caller"] = self._access.before_login(head)
            return login_for(request, unsent)
        if not caller.may_write:
            return None
        reason = "The CSRF token is missing or wrong: the page is older than your session. Nothing was changed."
        return ask_to_send(request, unsent, reason, 403)

    def _response_to(self, error: Exception, scope: Scope) -> Response:
        settings = self._access.settings
        if scope["state"]["wants_error_page"]:
            if isinstance(error, ApiError) and error.code == "unauthorized":
                return to_login(Request(scope), settings.prefix)
            return error_page(Request(scope), error, is_dev=settings.is_dev)
        return response_to(error, is_dev=settings.is_dev, for_bots=is_for_bots(scope))


def _may_be_sent_again(error: Exception, head: RequestHead, match: RouteMatch) -> bool:
    """Whether a refused request is a form that a page of this server sent after its session had ended."""
    is_ended = isinstance(error, StaleForm) or (isinstance(error, ApiError) and error.code == "unauthorized")
    rules = match.rules
    is_page = match.is_found and rules is not None and rules.serves_pages and not rules.before_login
    is_form = head.method == "POST" and head.content_type == FORM and head.headers.get("hx-request") != "true"
    # The routes for any role end a session, which is done.
    return is_ended and is_page and is_form and not (rules and rules.any_role) and is_from_own_page(head)


async def _body_or_none(head: RequestHead, match: RouteMatch, receive: Receive) -> bytes | None:
    """The body of a form that was refused by its head; None if it is too large or did not arrive."""
    try:
        return await _body(head, match.require_route(), receive, 0)
    except (ApiError, _ClientLeft):
        return None


def _without_slash(scope: Scope) -> Scope:
    path = scope["path"][:-1]
    return {**scope, "path": path, "raw_path": quote(path).encode()}


def _wants_error_page(rules: RouterRules | None, headers: Mapping[str, str]) -> bool:
    """Whether errors leave as pages: on the route of a page, and for a browser on other admin and unknown paths."""
    if rules is not None and rules.serves_pages:
        return True
    is_open = rules is None or rules.audience is Audience.ADMIN
    return is_open and prefers_html(headers.get("accept", ""))


def _add_headers(message: Message, scope: Scope) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in SECURITY_HEADERS.items():
        headers.setdefault(name, value)
    if scope.get("scheme") == "https":
        headers.setdefault("Strict-Transport-Security", "max-age=31536000")


class _ClientLeft(Exception):
    """The client disconnected before its body was complete."""


def _head_of(scope: Scope) -> RequestHead:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key == "host" and key in headers:
            raise ApiError(403, "host_not_allowed", "the request has more than one Host header")
        text = value.decode("latin-1")
        headers[key] = f"{headers[key]}; {text}" if key == "cookie" and key in headers else text
    client = scope.get("client")
    return RequestHead(scope["method"], scope["path"], client[0] if client else "", headers)


async def _body(head: RequestHead, rules: RouterRules, receive: Receive, max_page_body_bytes: int) -> bytes:
    """Read the body. What the head announces is checked before the first byte, the rest while reading."""
    if rules.holds_pages and max_page_body_bytes > rules.max_body_bytes:
        rules = replace(rules, max_body_bytes=max_page_body_bytes)
    length = head.headers.get("content-length", "")
    declared = int(length) if length.isdecimal() else 0
    if declared > rules.max_body_bytes:
        raise _too_large(rules)
    content_type = head.content_type
    is_accepted = content_type in rules.content_types
    if not is_accepted and (declared or (content_type and "transfer-encoding" in head.headers)):
        raise _wrong_type(rules)
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            return await _read(receive, rules, is_accepted=is_accepted)
    except TimeoutError:
        raise ApiError(422, "bad_input", f"the body did not arrive within {BODY_TIMEOUT_S:g} seconds") from None


async def _read(receive: Receive, rules: RouterRules, *, is_accepted: bool) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise _ClientLeft
        part = message.get("body", b"")
        size += len(part)
        if size > rules.max_body_bytes:
            raise _too_large(rules)
        if part and not is_accepted:
            raise _wrong_type(rules)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_large(rules: RouterRules) -> ApiError:
    return ApiError(413, "too_large", f"the body is larger than {rules.max_body_bytes:,} bytes")


def _wrong_type(rules: RouterRules) -> ApiError:
    accepted = " or ".join(rules.content_types)
    return ApiError(415, "unsupported_media_type", f"the Content-Type of the body must be {accepted}")


def _announces_body(scope: Scope) -> bool:
    names = {name.lower() for name, value in scope["headers"] if value != b"0"}
    return b"content-length" in names or b"transfer-encoding" in names


def _replay(body: bytes, receive: Receive) -> Receive:
    """Hand the body over as one message."""
    is_sent = False

    async def next_message() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message
