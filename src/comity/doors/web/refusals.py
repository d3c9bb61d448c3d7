"""Every answer that is not what was asked for: one shape, {error, message, details}, and no word too much.

Outside dev, what is a matter of our own (a state that is away, a fault of ours) is told without particulars.
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
from starlette.routing import compile_path

from comity.doors.remedies import in_full
from comity.model.errors import ComityError

LOG: Final = logging.getLogger("comity.web")
_MOST_DETAILS: Final = 20
_LONGEST: Final = 500
# By the stable code of an error; what is not here was understood, but is not possible now.
_STATUS_OF: Final = {
    "bad_input": 422,
    "bad_address": 422,
    "already_exists": 409,
    "not_found": 404,
    "state_unavailable": 503,
    "schema_mismatch": 503,
    "search_unavailable": 503,
    "search_refused": 503,
}
_MASKED: Final = "that cannot be answered now; try again later"
_OF_STATUS: Final = {404: ("not_found", "there is nothing here"), 405: ("method_not_allowed", "not with this method")}


class Detail(BaseModel):
    """One part of a request that cannot be used."""

    where: str = Field(examples=["body.careers_url"])
    message: str = Field(examples=["field required"])


class ErrorAnswer(BaseModel):
    """What is answered instead of what was asked for."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "error": "bad_input",
                    "message": "what was given cannot be used: body.careers_url: field required",
                    "details": [{"where": "body.careers_url", "message": "field required"}],
                }
            ]
        }
    )

    error: str = Field(description="A stable code for programs.")
    message: str = Field(description="One sentence for people.")
    details: list[Detail] | None = Field(description="Which parts of the request cannot be used, if it is that.")


class Refused(Exception):
    """Something that the web door itself refuses."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers


_MEANINGS: Final = {
    400: "The request is no HTTP; the connection is closed.",
    401: "Log in, or send a token.",
    403: "Not from here, or not without the CSRF token of the session.",
    404: "There is no such thing.",
    405: "Not with this method.",
    409: "Not possible now: it exists already, it is being run, or its host is busy.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "What was given cannot be used; nothing was written.",
    429: "Too often, or too much at once; try again later.",
    500: "A fault of ours.",
    503: "The state or the search engine cannot be used now; nothing was written.",
}


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The other answers of an operation, as OpenAPI is told of them."""
    return {status: {"model": ErrorAnswer, "description": _MEANINGS[status]} for status in sorted(statuses)}


def refusal(
    status: int,
    code: str,
    message: str,
    details: Sequence[Detail] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """An answer in the one shape."""
    shown = [{"where": _plain(each.where), "message": _plain(each.message)} for each in details] if details else None
    content = {"error": code, "message": _plain(message), "details": shown}
    return JSONResponse(content, status, dict(headers or {}))


def answer_to(error: Exception, *, is_dev: bool) -> JSONResponse:
    """The answer to an error of the rooms, or to a fault."""
    if isinstance(error, Refused):
        return refusal(error.status, error.code, str(error), headers=error.headers)
    if isinstance(error, ComityError):
        status = _STATUS_OF.get(error.code, 409)
        if status == 503:
            LOG.warning("%s", error)
        return refusal(status, error.code, _MASKED if status == 503 and not is_dev else in_full(error))
    LOG.error("unexpected %s", type(error).__name__, exc_info=error if is_dev else None)
    return refusal(500, "internal", f"unexpected {type(error).__name__}" if is_dev else "something went wrong here")


def register_refusals(app: FastAPI, *, is_dev: bool) -> None:
    """Have every error leave in the one shape."""

    def on_error(_request: Request, error: Exception) -> JSONResponse:
        return answer_to(error, is_dev=is_dev)

    for kind in (ComityError, Refused):
        app.add_exception_handler(kind, on_error)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(HTTPException, _on_http)


def _on_validation(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    # What was given is not repeated: it may be secret, endless, or nothing that JSON can carry.
    found = [
        Detail(where=".".join(str(part) for part in each["loc"]), message=_sentence(str(each["msg"])))
        for each in error.errors()[:_MOST_DETAILS]
    ]
    message = "what was given cannot be used"
    if found:
        message += f": {found[0].where}: {found[0].message}"
    return refusal(422, "bad_input", message, found)


def _on_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == 400:  # a body that is no text, or too deep
        return refusal(422, "bad_input", "the body cannot be read as JSON")
    code, message = _OF_STATUS.get(error.status_code, ("refused", "refused"))
    headers = {"Allow": _allowed(request)} if error.status_code == 405 else None
    return refusal(error.status_code, code, message, headers=headers)


def _allowed(request: Request) -> str:
    """Every method of a path (RFC 9110 §15.5.6); the router only knows of the first."""
    methods: set[str] = set()
    for template, operations in request.app.openapi()["paths"].items():
        if compile_path(template)[0].fullmatch(request.scope["path"]):
            methods |= {method.upper() for method in operations}
    if "GET" in methods:
        methods.add("HEAD")
    return ", ".join(sorted(methods))


def _sentence(text: str) -> str:
    text = text.removeprefix("Value error, ")
    return text[:1].lower() + text[1:]


def _plain(text: str) -> str:
    """Text that JSON can carry, of bounded length."""
    return text[:_LONGEST].encode("utf-8", "replace").decode()
