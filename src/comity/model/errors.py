"""Everything Comity raises on purpose, in one tree.

ComityError
├── BadInput              what the user entered cannot be used; nothing was written (exit code 2)
│   ├── BadAddress        not a host or URL that a crawler may request
│   └── AlreadyThere      the thing to be created already exists
├── NotFound              the named thing is not in the state
├── IllegalTransition     a host may not go from that status to this one
├── LeaseLost             the lease under which something was to be written is no longer held
├── HostBusy              another worker holds the lease on the host
├── SchemaMismatch        the database schema and this code are of different versions
├── StateUnavailable      the database cannot be opened or does not answer
│   └── FrontierUnavailable   nor does the store of the frontier, where that is another (`frontier.store`)
└── SearchUnavailable     the search engine cannot be reached
    └── SearchRefused     the search engine refuses the documents or the key

Each class has a stable ``code``, shared with every front door, and ``exit_code`` for the command line. An error may
carry a ``remedy``: a code that each door words in its own way, because only a door knows its options and commands.
"""

from __future__ import annotations

from enum import StrEnum, auto
from typing import ClassVar, NamedTuple, overload


class RemedyCode(StrEnum):
    """What would help; doors have a sentence for each."""

    ADD_SEED = auto()  # the subject is a host
    EXPORT_PAGES = auto()  # a file
    FINISH_MOVE = auto()
    LIFT_TAKEDOWN = auto()  # the entry
    LIST_AUDITS = auto()
    LIST_BOTS = auto()
    LIST_JOBS = auto()
    LIST_POLICIES = auto()
    LIST_RESULTS = auto()
    LIST_SOURCES = auto()
    LIST_USERS = auto()
    LIST_WEBHOOKS = auto()
    MAKE_PASSWORD_HASH = auto()
    MAKE_TOKEN = auto()
    MOVE_FRONTIER = auto()
    READ_ROBOTS = auto()  # a URL
    UPGRADE_SCHEMA = auto()
    VERIFY_PAGES = auto()  # the place of the pages


class Remedy(NamedTuple):
    """What would help, and the host, entry or place that it concerns."""

    code: RemedyCode
    subject: str = ""


class ComityError(Exception):
    """Something Comity refuses or cannot do, in one sentence."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, *arguments: object, remedy: Remedy | None = None) -> None:
        super().__init__(*arguments)
        self.remedy = remedy


class BadInput(ComityError):
    """What the user entered cannot be used: `BadInput(field, reason)`, or `BadInput(reason)` if it is not one field.

    The field is a setting, a column or a parameter; a door that calls it something else renames it.
    """

    code = "bad_input"
    exit_code = 2

    @overload
    def __init__(self, reason: str, /, *, remedy: Remedy | None = None) -> None: ...
    @overload
    def __init__(self, field: str, reason: str, /, *, remedy: Remedy | None = None) -> None: ...
    def __init__(self, field_or_reason: str, reason: str | None = None, /, *, remedy: Remedy | None = None) -> None:
        self.field = None if reason is None else field_or_reason
        self.reason = field_or_reason if reason is None else reason
        super().__init__(self.reason if self.field is None else f"{self.field}: {self.reason}", remedy=remedy)

    def renamed(self, field: str) -> BadInput:
        """The same error, with the field renamed to what the user calls it."""
        return BadInput(field, self.reason, remedy=self.remedy)


class BadAddress(BadInput):
    """Not a host or URL that a crawler may request."""

    code = "bad_address"

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"{_quoted(text)}: {reason}")
        self.text = text
        self.reason = reason


class AlreadyThere(BadInput):
    """The thing to be created already exists."""

    code = "already_exists"


class NotFound(ComityError):
    """The named thing is not in the state."""

    code = "not_found"


class IllegalTransition(ComityError):
    """A host may not change from that status to this one."""

    code = "illegal_transition"


class LeaseLost(ComityError):
    """The lease is no longer held: another worker has it, or it expired. Nothing was written."""

    code = "lease_lost"


class HostBusy(ComityError):
    """Another worker holds the lease on the host."""

    code = "host_busy"


class SchemaMismatch(ComityError):
    """The database schema and this code are of different versions."""

    code = "schema_mismatch"


class StateUnavailable(ComityError):
    """The database cannot be opened or does not respond."""

    code = "state_unavailable"


class SearchUnavailable(ComityError):
    """The search engine cannot be reached."""

    code = "search_unavailable"


class SearchRefused(SearchUnavailable):
    """The search engine refuses a document or the key; other documents may succeed."""

    code = "search_refused"

    def __init__(self, sentence: str, engine_code: str = "") -> None:
        super().__init__(sentence)
        self.engine_code = engine_code


def _quoted(text: str, longest: int = 80) -> str:
    """Quote foreign text for a message: control characters escaped, length bounded."""
    quoted = repr(text if len(text) <= longest else text[:longest] + "…")
    return quoted if len(text) <= longest else f"{quoted} ({len(text)} characters)"
