"""Errors and advice in the words of the command line, and a failure as a value that a parent process can report.

The rooms below name an action or a remedy by its code, because only this room and the doors know commands and options.
"""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from comity.model.dataclass import dataclass
from comity.model.errors import ComityError, RemedyCode, StateUnavailable
from comity.model.wording import Action, CrawlAdvice, Named, Worded, Words

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Value = TypeVar("Value", bound=DataclassInstance)

_SENTENCES: Final = {
    RemedyCode.ADD_SEED: "`comity seeds add {subject}` adds it",
    RemedyCode.EXPORT_PAGES: "`comity pages export {subject}` makes one file of them afterwards",
    RemedyCode.FINISH_MOVE: "`comity db move-frontier` moves the rest to Redis, and with --back to the database",
    RemedyCode.LIFT_TAKEDOWN: "`comity takedown remove {subject}` lifts the takedown",
    RemedyCode.LIST_AUDITS: "`comity audit list` lists them",
    RemedyCode.LIST_BOTS: "`comity bots list` lists them",
    RemedyCode.LIST_JOBS: "`comity queue jobs list` lists them",
    RemedyCode.LIST_POLICIES: "`comity queue policies list` lists them",
    RemedyCode.LIST_RESULTS: "`comity queue results list` lists them",
    RemedyCode.LIST_SOURCES: "`comity sources list` lists them",
    RemedyCode.LIST_USERS: "`comity users list` lists them",
    RemedyCode.LIST_WEBHOOKS: "`comity queue webhooks list` lists them",
    RemedyCode.MAKE_PASSWORD_HASH: "`comity web hash-password` prints one",
    RemedyCode.MAKE_TOKEN: "`comity web new-token` prints one",
    RemedyCode.MOVE_FRONTIER: "`comity db move-frontier` moves them to Redis",
    RemedyCode.READ_ROBOTS: "`comity robots {subject}` reads it",
    RemedyCode.UPGRADE_SCHEMA: "run `comity db upgrade`",
    RemedyCode.VERIFY_PAGES: "`comity pages verify --pages {subject}` lists what is damaged",
}


def in_full(error: ComityError) -> str:
    """The error's sentence, with its remedy if it has one."""
    if error.remedy is None:
        return str(error)
    return f"{error}; {_SENTENCES[error.remedy.code].format(subject=error.remedy.subject)}"


@contextmanager
def with_remedies() -> Iterator[None]:
    """Put the remedy of an error into its sentence, for callers that print the error itself."""
    try:
        yield
    except ComityError as error:
        put_remedy_into(error)
        raise


def put_remedy_into(error: BaseException) -> None:
    """Make an error's sentence the one of `in_full`."""
    if isinstance(error, ComityError) and error.remedy is not None:
        error.args, error.remedy = (in_full(error),), None


_ACTIONS: Final = {
    Action.ADD_SEED: "`comity seeds add {}`",
    Action.ADD_SOURCE: "`comity sources add {}`",
    Action.ALLOW_NETWORK: "`--allow-network CIDR`",
    Action.CLEAR_PATTERNS: "`comity policy set {} --exclude '' --include ''`",
    Action.CRAWL: "`comity crawl {}`",
    Action.CRAWL_ACCEPTING_TYPE: "`comity crawl {} --accept TYPE`",
    Action.CRAWL_DEEPER: "`comity crawl {} --max-depth {}`",
    Action.CRAWL_FOLLOWING_CANONICAL: "`comity crawl {} --follow-canonical`",
    Action.CRAWL_FOLLOWING_LINKS: "`comity crawl {} --follow-links`",
    Action.CRAWL_IGNORING_NOFOLLOW: "`comity crawl {} --no-respect-nofollow`",
    Action.CRAWL_IMAGES: "`comity crawl {} --images`",
    Action.CRAWL_IMAGES_AGAIN: "`comity crawl {} --images --refresh`",
    Action.CRAWL_WITH_SUBDOMAINS: "`comity crawl {} --subdomains`",
    Action.ENABLE_POLICY: "`comity queue policies enable {}`",
    Action.EXPLAIN: "`comity why {}`",
    Action.LIFT_TAKEDOWN: "`comity takedown remove {}`",
    Action.MAX_DEPTH: "--max-depth",
    Action.NO_FOLLOW_CANONICAL: "--no-follow-canonical",
    Action.NO_FOLLOW_LINKS: "--no-follow-links",
    Action.READ_ROBOTS: "`comity robots {}`",
    Action.REFRESH: "`comity crawl {} --refresh`",
    Action.RESET_HOST: "`comity domains reset {}`",
    Action.RESTART_JOB: "`comity queue jobs pending {}`",
    Action.RESUME_SOURCE: "`comity sources resume {}`",
    Action.RUN_POLICY: "`comity queue policies run-now {}`",
    Action.RUN_SOURCE: "`comity sources run {}`",
    Action.SERVE_SOURCES: "`comity sources serve`",
    Action.SHOW_POLICY: "`comity policy show {}`",
    Action.WITH_IMAGES: "--images",
}


CRAWL_ADVICE: Final = CrawlAdvice(
    endless_links="; comity why URL explains one, COMITY_AVOID_TRAPS=false follows them",
    moved="; comity crawl {} crawls that one",
    max_depth="--max-depth",
)


def in_words(text: Words) -> str:
    """A sentence with its actions as the command line writes them."""
    if isinstance(text, str):
        return text
    return "".join(
        _ACTIONS[part.action].format(*part.values) if isinstance(part, Named) else part for part in text.parts
    )


def worded(value: Value) -> Value:
    """A copy of a value, with the text of every sentence among its fields."""
    texts = {each.name: getattr(value, each.name) for each in fields(value)}
    changes: dict[str, Any] = {name: in_words(text) for name, text in texts.items() if isinstance(text, Worded)}
    return replace(value, **changes)


@dataclass(frozen=True, slots=True)
class CommandFailure:
    """A failed command: a stable code, one sentence, and the exit code."""

    code: str
    message: str
    exit_code: int = 1
    details: str = ""
    """The traceback, if COMITY_TRACEBACK asks for it."""


class ChildFailed(ComityError):
    """A child process failed; the failure is reported as if it had happened here."""

    def __init__(self, failure: CommandFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def describe_failure(error: BaseException) -> CommandFailure:
    """Turn any exception into a failure."""
    if isinstance(error, ChildFailed):
        return error.failure
    if isinstance(error, ComityError):
        return CommandFailure(error.code, in_full(error), error.exit_code)
    if isinstance(error, OSError):
        return CommandFailure("system_error", _system_sentence(error))
    wants_traceback = bool(os.environ.get("COMITY_TRACEBACK"))
    details = "".join(traceback.format_exception(error)).rstrip("\n") if wants_traceback else ""
    from_driver = getattr(error, "orig", None)  # SQLAlchemy wraps the error of the driver
    if from_driver is not None:
        return CommandFailure(
            StateUnavailable.code, f"the state cannot be used: {_first_line(from_driver)}", details=details
        )
    advice = "" if wants_traceback else "; COMITY_TRACEBACK=1 shows where"
    message = f"unexpected {type(error).__name__}: {_first_line(error)}{advice}"
    return CommandFailure("unexpected", message, details=details)


def _system_sentence(error: OSError) -> str:
    what = error.strerror or str(error)
    if error.filename is not None:
        return f"{error.filename}: {what}"
    return f"{what}: the disk of the output or of temporary files is full" if error.errno == errno.ENOSPC else what


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or ["no details"])[0]
