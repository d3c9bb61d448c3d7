"""Errors as pages: what went wrong, in the layout of the console, with a way on."""

from __future__ import annotations

from typing import Final

from fastapi import Request
from fastapi.responses import Response

from comity.doors.web.console.page import render
from comity.doors.web.errors import ApiError, described
from comity.model.queue import BotRefused

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
    """Render an error. Outside dev, errors on our side are masked."""
    if isinstance(error, BotRefused):
        error = ApiError(409, str(error.code), error.message)
    status, code, message = described(error, is_dev=is_dev)
    response = render(
        request,
        "error.html",
        title=_TITLES.get(status, "Not possible"),
        status=status,
        code=code,
        status_code=status,
        message=message[:1].upper() + message[1:],
        details=error.details if isinstance(error, ApiError) else None,
    )
    for name, value in ((error.headers or {}) if isinstance(error, ApiError) else {}).items():
        response.headers[name] = value
    return response
