"""What went wrong, as a value: for the front door that reports it, or for the parent process that does."""

from __future__ import annotations

import os
import traceback
from dataclasses import dataclass

from comity.model.errors import ComityError, StateUnavailable
from comity.run.remedies import in_full


@dataclass(frozen=True, slots=True)
class Failure:
    """A stable code, one sentence, and the exit code of a command that ends by it."""

    code: str
    message: str
    exit_code: int = 1
    details: str = ""
    """The traceback, if COMITY_TRACEBACK asks for it."""


class ChildFailed(ComityError):
    """A child process failed; the failure is reported as if it had happened here."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def describe_failure(error: BaseException) -> Failure:
    """Turn any exception into a failure."""
    if isinstance(error, ChildFailed):
        return error.failure
    if isinstance(error, ComityError):
        return Failure(error.code, in_full(error), error.exit_code)
    if isinstance(error, OSError):
        return Failure("system_error", _system_sentence(error))
    wants_traceback = bool(os.environ.get("COMITY_TRACEBACK"))
    details = "".join(traceback.format_exception(error)).rstrip("\n") if wants_traceback else ""
    from_driver = getattr(error, "orig", None)  # SQLAlchemy wraps the error of the driver
    if from_driver is not None:
        return Failure(StateUnavailable.code, f"the state cannot be used: {_first_line(from_driver)}", details=details)
    advice = "" if wants_traceback else "; COMITY_TRACEBACK=1 shows where"
    message = f"unexpected {type(error).__name__}: {_first_line(error)}{advice}"
    return Failure("unexpected", message, details=details)


def _system_sentence(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename is not None else what


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or ["no details"])[0]
