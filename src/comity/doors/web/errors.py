"""Error responses: every error leaves as {error, message, details} with a status.

Outside dev, errors on our side (no database, an internal fault) are masked (spec 9.2).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from comity.model.errors import ComityError
from comity.run.remedies import in_full

LOG: Final = logging.getLogger("comity.web")
_MAX_DETAILS: Final = 20
_MAX_TEXT: Final = 500
# Statuses by error code. Any other error of ours means that the request is valid but conflicts with the state: 409.
_STATUS_BY_CODE: Final = {
    "bad_input": 422,
    "bad_address": 422,
    "already_exists": 409,
    "not_found": 404,
    "state_unavailable": 503,
    "schema_mismatch": 503,
    "search_unavailable": 503,
    "search_refused": 503,
}
_UNAVAILABLE: Final = "temporarily unavailable; try again later"
_DESCRIPTIONS: Final = {
    400: "Malformed HTTP request. The connection is closed.",
    401: "Not authenticated: log in, or send a token or a key.",
    403: "Not allowed from this address or site, or without the CSRF token of the session.",
    404: "Not found.",
    405: "Method not allowed.",
    409: "Not possible now: it already exists, it is already running, or its host is busy.",
    413: "The body is too large.",
    415: "The content type of the body is not accepted.",
    422: "The request is not valid. Nothing was written.",
    429: "Too many requests; try again later.",
    500: "Internal error.",
    503: "The state or the search engine is unavailable. Nothing was written.",
}


class ErrorDetail(BaseModel):
    """One invalid part of a request."""

    where: str = Field(examples=["body.careers_url"])
    message: str = Field(examples=["field required"])


class ErrorResponse(BaseModel):
    """The body of every error response."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "error": "bad_input",
                    "message": "invalid request: body.careers_url: field required",
                    "details": [{"where": "body.careers_url", "message": "field required"}],
                }
            ]
        }
    )

    error: str = Field(description="A stable code for programs.")
    message: str = Field(description="One sentence for people.")
    details: list[ErrorDetail] | None = Field(description="The invalid parts of the request, if any.")


class ApiError(Exception):
    """An error of the web door itself, with its status and code."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        details: Sequence[ErrorDetail] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers
        self.details = details


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of an operation, for OpenAPI."""
    return {status: {"model": ErrorResponse, "description": _DESCRIPTIONS[status]} for status in sorted(statuses)}


def error_response(
    status: int,
    code: str,
    message: str,
    details: Sequence[ErrorDetail] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Build one error response."""
    listed = [{"where": _plain(each.where), "message": _plain(each.message)} for each in details] if details else None
    content = {"error": code, "message": _plain(message), "details": listed}
    return JSONResponse(content, status, dict(headers or {}))


def response_to(error: Exception, *, is_dev: bool) -> JSONResponse:
    """Turn any exception into a response."""
    if isinstance(error, ApiError):
        return error_response(error.status, error.code, str(error), error.details, error.headers)
    if isinstance(error, ComityError):
        status = _STATUS_BY_CODE.get(error.code, 409)
        if status == 503:
            LOG.warning("%s", error)
        return error_response(status, error.code, _UNAVAILABLE if status == 503 and not is_dev else in_full(error))
    LOG.error("unexpected %s", type(error).__name__, exc_info=error if is_dev else None)
    return error_response(500, "internal", f"unexpected {type(error).__name__}" if is_dev else "internal error")


def register_error_handlers(app: FastAPI, *, is_dev: bool) -> None:
    """Have every error of the application leave as an `ErrorResponse`."""

    def on_error(_request: Request, error: Exception) -> JSONResponse:
        return response_to(error, is_dev=is_dev)

    for kind in (ComityError, ApiError):
        app.add_exception_handler(kind, on_error)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(HTTPException, _on_http)


def _on_validation(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    # Values are not repeated: they may be secret, very long, or not representable in JSON.
    found = [_detail(each) for each in error.errors()[:_MAX_DETAILS]]
    message = "invalid request"
    if found:
        message += f": {found[0].where}: {found[0].message}"
    return error_response(422, "bad_input", message, found)


def _on_http(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == 400:  # FastAPI's answer to a body that it cannot decode
        return error_response(422, "bad_input", "the body is not valid JSON")
    return error_response(error.status_code, "refused", "the request was refused")


def _detail(error: Mapping[str, Any]) -> ErrorDetail:
    if error["type"] == "json_invalid":
        return ErrorDetail(where="body", message=f"not valid JSON at character {error['loc'][-1]}")
    message = str(error["msg"]).removeprefix("Value error, ")
    return ErrorDetail(where=".".join(map(str, error["loc"])), message=message[:1].lower() + message[1:])


def _plain(text: str) -> str:
    """Bounded text that JSON can represent."""
    return text[:_MAX_TEXT].encode("utf-8", "replace").decode()
