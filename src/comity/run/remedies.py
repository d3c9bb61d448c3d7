"""Errors in full: what went wrong, and what would help in the words of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from comity.model.errors import ComityError, RemedyCode

_SENTENCES: Final = {
    RemedyCode.ADD_SEED: "`comity seeds add {subject}` adds it",
    RemedyCode.EXPORT_PAGES: "`comity pages export {subject}` makes one file of them afterwards",
    RemedyCode.LIFT_TAKEDOWN: "`comity takedown remove {subject}` lifts the takedown",
    RemedyCode.LIST_SOURCES: "`comity sources list` lists them",
    RemedyCode.MAKE_PASSWORD_HASH: "`comity web hash-password` prints one",
    RemedyCode.MAKE_TOKEN: "`comity web new-token` prints one",
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
