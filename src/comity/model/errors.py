"""Everything Comity raises on purpose, in one tree.

ComityError
├── BadInput              what was given cannot be used; nothing was written (exit code 2)
│   ├── BadAddress        not a host or URL that a crawler may ask for
│   └── AlreadyThere      what was to be made exists
├── NotFound              the named thing is not in the state
├── IllegalTransition     a host may not go from that status to this one
├── LeaseLost             the lease under which something was to be written is no longer held
├── HostBusy              another worker holds the lease on the host
├── SchemaMismatch        the database and this code are of different ages
├── StateUnavailable      the database cannot be opened or does not answer
│   └── FrontierUnavailable   nor does the store of the frontier, where that is another (`frontier.store`)
└── SearchUnavailable     the search engine cannot be reached
    └── SearchRefused     the search engine refuses what it is given

Each class has a stable ``code``, shared with every front door, and ``exit_code`` for the command line.
"""

from __future__ import annotations

from typing import ClassVar


class ComityError(Exception):
    """Something Comity refuses or cannot do, in one line."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1


class BadInput(ComityError):
    """The input cannot be used."""

    code = "bad_input"
    exit_code = 2


class BadAddress(BadInput):
    """Not a host or URL that a crawler may request."""

    code = "bad_address"

    def __init__(self, text: str, reason: str) -> None:
        self.text = text
        self.reason = reason
        super().__init__(f"{_shown(text)}: {reason}")


class AlreadyThere(BadInput):
    """The thing to create already exists."""

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
    """The search engine rejects this document; it may accept others."""

    code = "search_refused"


def _shown(text: str, longest: int = 80) -> str:
    """Quote foreign text for a message: control characters escaped, length bounded."""
    quoted = repr(text if len(text) <= longest else text[:longest] + "…")
    return quoted if len(text) <= longest else f"{quoted} ({len(text)} characters)"
