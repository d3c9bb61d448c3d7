"""Errors as pages: what went wrong, in the layout of the console, with a way on."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from comity.doors.web.access import Caller
from comity.doors.web.console.components import words
from comity.doors.web.console.page import PAGE_HEADERS, PREFIX, render
from comity.doors.web.errors import ApiError, described
from comity.model.queue import BotRefused

_LONGEST_WAY: Final = 1500
_PART: Final = re.compile(r"invalid request: (?:path|query)\.(\w+): (.+)", re.DOTALL)
_LISTS: Final = {
    "audits": "Audits",
    "bots": "Bots",
    "crawl_jobs": "Jobs",
    "crawl_policies": "Policies",
    "crawl_results": "Results",
    "hosts": "Hosts",
    "pages": "Pages",
    "sources": "Sources",
    "takedowns": "Takedowns",
    "webhooks": "Webhooks",
}
_TITLES: Final = {
    401: "Log in",
    403: "Not allowed",
    404: "Not found",
    405: "Not possible",
    409: "Not possible now",
    413: "Too large",
    415: "Not understood",
    422: "Not valid",
    429: "Too many requests",
    500: "Something went wrong",
    503: "Not available",
}


def error_page(request: Request, error: Exception, *, is_dev: bool) -> Response:
    """Render an error. Outside dev, errors on our side are masked, and strangers see nothing else of the console."""
    if isinstance(error, BotRefused):
        error = ApiError(409, str(error.code), error.message)
    status, code, message = described(error, is_dev=is_dev)
    details = (error.details or ()) if isinstance(error, ApiError) else ()
    caller: Caller | None = getattr(request.state, "caller", None)
    response = render(
        request,
        "error.html",
        title=_TITLES.get(status, "Not possible"),
        status=status,
        code=code,
        status_code=status,
        is_stranger=not is_dev and (caller is None or caller.role is None),
        message=_as_sentence(_in_words(message)),
        details=[each for each in details if each.message not in message],
        list_above=_list_above(request),
    )
    for name, value in ((error.headers or {}) if isinstance(error, ApiError) else {}).items():
        response.headers[name] = value
    return response


def _list_above(request: Request) -> tuple[str, str] | None:
    """The list that what was asked for would be in: its label and path. None for a list itself."""
    name, _, rest = request.url.path.removeprefix(PREFIX).lstrip("/").partition("/")
    return (_LISTS[name], f"/{name}") if rest and name in _LISTS else None


def _in_words(message: str) -> str:
    """A message about a part of the address, in the words of a person: they know no path parameters."""
    found = _PART.fullmatch(message)
    return f"the address is not valid: {words(found[1])} {found[2]}" if found else message


def _as_sentence(message: str) -> str:
    """A message with a capital letter, unless it begins with a name such as that of a host."""
    return message if "." in message.partition(" ")[0] else message[:1].upper() + message[1:]


def to_login(request: Request, prefix: str) -> Response:
    """Send a browser without a session to the login, and after it to the page that it asked for."""
    path = request.url.path.removeprefix(PREFIX)
    is_page = request.method == "GET" and path not in ("", "/")
    wanted = path + (f"?{request.url.query}" if request.url.query else "")
    address = f"{prefix}/login" + (f"?{urlencode({'next': wanted})}" if is_page and len(wanted) <= _LONGEST_WAY else "")
    if request.headers.get("hx-trigger", "").startswith("field-"):  # a check while typing: what was typed is not lost
        return Response(status_code=401, headers=PAGE_HEADERS)
    if request.headers.get("hx-request") == "true":  # htmx continues with the whole page
        return Response(status_code=401, headers={**PAGE_HEADERS, "HX-Redirect": address})
    return RedirectResponse(address, 303, PAGE_HEADERS)
