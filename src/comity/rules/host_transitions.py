"""The life of a host, as one table: the only place that defines the legal moves.

The database's trigger and the diagram in the documentation are generated from `MOVES`. A statement that sets the status
is a move. Setting the same status again is legal only where it means something (active: another page was crawled;
blocked: blocked again).
"""

from __future__ import annotations

from collections.abc import Mapping

from comity.model.host import HostStatus

_PENDING, _ACTIVE, _EXHAUSTED, _BLOCKED, _UNREACHABLE = HostStatus

MOVES: Mapping[HostStatus, Mapping[HostStatus, str]] = {
    _PENDING: {
        _ACTIVE: "a crawl starts",
        _BLOCKED: "robots or a login wall at first contact",
        _UNREACHABLE: "no connection at first contact",
    },
    _ACTIVE: {
        _ACTIVE: "pages crawled, or a budget reached",
        _EXHAUSTED: "frontier empty, nothing in flight",
        _BLOCKED: "errors, robots or a login wall",
        _UNREACHABLE: "connections fail",
    },
    _EXHAUSTED: {
        _PENDING: "due again, or reset",
        _ACTIVE: "a refresh starts",
    },
    _BLOCKED: {
        _PENDING: "cooldown over, or reset",
        _ACTIVE: "unblocked while being crawled",
        _BLOCKED: "blocked again",
    },
    _UNREACHABLE: {
        _PENDING: "cooldown over, or reset",
        _ACTIVE: "reached again",
    },
}

FIRST = _PENDING
BACKFILL = "backfill"
# A backfilled row has the status in which the older crawl left its host; its `source` says where it comes from.
FIRST_OF_BACKFILL: Mapping[HostStatus, str] = {
    _EXHAUSTED: "backfilled, with the last status in the log",
    _BLOCKED: "backfilled, refused more often than not",
    _UNREACHABLE: "backfilled, unreachable more often than not",
}


def is_legal(before: HostStatus, after: HostStatus) -> bool:
    """Whether a host may go from one status to the other."""
    return after in MOVES[before]


def diagram() -> str:
    """Draw the table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", "    [*] --> pending: seeded, or first seen"]
    lines += [f"    [*] --> {status}: {event}" for status, event in FIRST_OF_BACKFILL.items()]
    lines += [f"    {before} --> {after}: {event}" for before, moves in MOVES.items() for after, event in moves.items()]
    return "\n".join(lines)
