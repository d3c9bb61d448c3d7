"""Error responses: every error leaves as {error, message, details} with a status.

On bot routes it has the envelope of the bot API: `success: false`, and an object of details.

Outside dev, errors on our side (no database, an internal fault) are masked.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from comity.model.bot import BOT_ID_PATTERN, BOT_ID_RULE
from comity.model.errors import ComityError
from comity.model.queue import BotError, BotRefused
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
    "too_much": 422,
    "too_many_audits": 429,
}
_STATUS_BY_BOT_ERROR: Final = {
    BotError.VALIDATION_ERROR: 400,
    BotError.JOB_NOT_FOUND: 404,
    BotError.JOB_NOT_LOCKED: 400,
    BotError.JOB_ALREADY_LOCKED: 400,
    BotError.NOT_ASSIGNED: 403,
    BotError.LOCK_EXPIRED: 400,
    BotError.INTERNAL_ERROR: 500,
    BotError.TAKEN_DOWN: 451,  # RFC 7725
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


class ErrorPage(Protocol):
    """Renders an error for a browser."""

    def __call__(self, request: Request, error: Exception, *, is_dev: bool) -> Response:
        """The page."""
        ...


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


_MOST_DETAILS: Final = 100


class BadRow(Protocol):
    """A row of a list that cannot be used."""

    @property
    def row(self) -> int: ...  # noqa: D102
    @property
    def field(self) -> str | None: ...  # noqa: D102
    @property
    def reason(self) -> str | None: ...  # noqa: D102


def refused_list(refused: Sequence[BadRow], rows: int) -> ApiError:
    """A list of which nothing was added: the refused rows are the details."""
    details = [
        ErrorDetail(
            where=f"row {each.row}" + (f".{each.field}" if each.field else ""), message=each.reason or "refused"
        )
        for each in refused[:_MOST_DETAILS]
    ]
    if len(refused) == rows:
        said = "the only row cannot" if rows == 1 else f"none of the {rows:,} rows can"
        return ApiError(422, "bad_input", f"{said} be used, so nothing was added", details=details)
    said = f"{len(refused):,} of {rows:,} rows cannot be used, so nothing was added; skip_bad=true adds the others"
    return ApiError(422, "bad_input", said, details=details)


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of an operation, for OpenAPI."""
    return {status: {"model": ErrorResponse, "description": _DESCRIPTIONS[status]} for status in sorted(statuses)}


class BotErrorResponse(BaseModel):
    """The body of every error response on a bot route."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "success": False,
                    "error": "lock_expired",
                    "message": "The lock of this job ran out 5 minutes ago; pull again.",
                    "details": {"job_id": "0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f", "lock_ttl": 600},
                }
            ]
        }
    )

    success: Literal[False]
    error: str = Field(description="A stable code for programs.")
    message: str = Field(description="One sentence for people.")
    details: dict[str, Any] = Field(description="What the code is about; empty if there is nothing to add.")


_FOR_BOTS: Final = {
    400: "`validation_error`, `job_not_locked`, `job_already_locked` or `lock_expired`; also malformed HTTP.",
    401: "`unauthorized`: the API key is missing, wrong or revoked.",
    403: "`not_assigned`: the key or the job belongs to another bot. Also `host_not_allowed` and `csrf`.",
    404: "`job_not_found`.",
    413: "`too_large`: the body is too large.",
    415: "`unsupported_media_type`: the body is not JSON.",
    429: "`too_many_requests`: too many wrong keys from this address; see Retry-After.",
    451: "`taken_down`: the URL was taken down after it was pulled. Nothing was stored, and the job has failed.",
    500: "`internal_error`: try again later.",
    503: "`state_unavailable`: the database does not answer; try again later. Nothing was written.",
}


def bot_error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of a bot route, for OpenAPI."""
    return {status: {"model": BotErrorResponse, "description": _FOR_BOTS[status]} for status in sorted(statuses)}


def bot_error_response(
    status: int, code: str, message: str, details: Mapping[str, Any] | None = None, headers: Any = None
) -> JSONResponse:
    """Build one error response of a bot route."""
    content = {"success": False, "error": code, "message": _plain(message), "details": dict(details or {})}
    return JSONResponse(content, status, dict(headers or {}))


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


def described(error: Exception, *, is_dev: bool) -> tuple[int, str, str]:
    """The status, code and sentence of an error; what is wrong on our side is logged, and masked outside dev."""
    if isinstance(error, ApiError):
        return error.status, error.code, str(error)
    if isinstance(error, ComityError):
        status = _STATUS_BY_CODE.get(error.code, 409)
        if status == 503:
            LOG.warning("%s", error)
        return status, error.code, _UNAVAILABLE if status == 503 and not is_dev else in_full(error)
    LOG.error("unexpected %s", type(error).__name__, exc_info=error if is_dev else None)
    return 500, "internal", f"unexpected {type(error).__name__}" if is_dev else "internal error"


def response_to(error: Exception, *, is_dev: bool, for_bots: bool = False) -> JSONResponse:
    """Turn any exception into a response, in the envelope of the route."""
    if isinstance(error, BotRefused):
        return bot_error_response(_STATUS_BY_BOT_ERROR[error.code], str(error.code), error.message, error.details)
    found = described(error, is_dev=is_dev)
    details, headers = (error.details, error.headers) if isinstance(error, ApiError) else (None, None)
    if not for_bots:
        return error_response(*found, details, headers)
    status, code, message = found
    if status in (409, 422):
        status, code = 400, str(BotError.VALIDATION_ERROR)
    elif status == 500:
        code = str(BotError.INTERNAL_ERROR)
    fields = {_plain(each.where).removeprefix("body."): _plain(each.message) for each in details or ()}
    return bot_error_response(status, code, message, fields, headers)


def register_error_handlers(app: FastAPI, *, is_dev: bool, page: ErrorPage | None = None) -> None:
    """Have every error of the application leave in the envelope of its route, or as a page."""

    def on_error(request: Request, error: Exception) -> Response:
        if page is not None and request.scope.get("state", {}).get("wants_error_page"):
            return page(request, _known(error), is_dev=is_dev)
        return response_to(_known(error), is_dev=is_dev, for_bots=is_for_bots(request.scope))

    for kind in (ComityError, ApiError, BotRefused, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, on_error)


def is_for_bots(scope: Mapping[str, Any]) -> bool:
    """Whether the route of a request is for bots; the middleware notes it."""
    return bool(scope.get("state", {}).get("is_for_bots"))


def _known(error: Exception) -> Exception:
    """An error of the framework as one of ours."""
    if isinstance(error, RequestValidationError):
        return invalid_request(error.errors())
    if isinstance(error, HTTPException):
        if error.status_code == 400:  # FastAPI's answer to a body that it cannot decode
            return ApiError(422, "bad_input", "the body is not valid JSON")
        return ApiError(error.status_code, "refused", "the request was refused")
    return error


def invalid_request(errors: Sequence[Any]) -> ApiError:
    """What pydantic found wrong with a request."""
    # Values are not repeated: they may be secret, very long, or not representable in JSON.
    found = [_detail(each) for each in errors[:_MAX_DETAILS]]
    message = "invalid request"
    if found:
        message += f": {found[0].where}: {found[0].message}"
    return ApiError(422, "bad_input", message, details=found)


def _detail(error: Mapping[str, Any]) -> ErrorDetail:
    if error["type"] == "json_invalid":
        return ErrorDetail(where="body", message=f"not valid JSON at character {error['loc'][-1]}")
    message = _plain_message(error)
    return ErrorDetail(where=".".join(map(str, error["loc"])), message=message[:1].lower() + message[1:])


# What pydantic finds most often, in the words of someone who sends JSON; its own speak of Python.
_MESSAGES: Final = {
    "missing": "is required",
    "bool_type": "must be true or false",
    "dict_type": "must be a JSON object",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "list_type": "must be a list",
    "string_type": "must be a string",
    "string_unicode": "must be a string of valid Unicode",
    "string_pattern_mismatch": "must match {pattern}",
    "uuid_type": "must be a UUID",
    "uuid_parsing": "must be a UUID",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "too_short": "must have at least {min_length}",
    "too_long": "must have at most {max_length}",
    "string_too_short": "must have at least {min_length}",
    "string_too_long": "must have at most {max_length}",
}
# The patterns of fields, as sentences.
_PATTERNS: Final = {
    BOT_ID_PATTERN: BOT_ID_RULE,
    "^[Hh][Tt][Tt][Pp][Ss]?://": "must start with http:// or https://",
    "^[A-Za-z]{2}$": "must be two letters",
    "^[A-Za-z]{3}$": "must be three letters",
}
_ITEMS: Final = ("List", "Set", "Tuple", "Dictionary")


def _plain_message(error: Mapping[str, Any]) -> str:
    message, context = _MESSAGES.get(error["type"]), error.get("ctx") or {}
    if message is None:
        return str(error["msg"]).removeprefix("Value error, ")
    if context.get("pattern") in _PATTERNS:
        return _PATTERNS[context["pattern"]]
    thing = "item" if context.get("field_type") in _ITEMS else "character"
    shown: dict[str, str] = {}
    for name, value in context.items():
        shown[name] = f"{value:,.15g}" if isinstance(value, int | float) else str(value)
        if name.endswith("_length"):
            shown[name] += f" {thing}" if value == 1 else f" {thing}s"
    return message.format_map(shown)


def _plain(text: str) -> str:
    """Bounded text that JSON can represent."""
    return text[:_MAX_TEXT].encode("utf-8", "replace").decode()
