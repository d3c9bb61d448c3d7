"""The life of a job, as one table: the only place that defines the legal moves.

The database's trigger and the diagram in the documentation are generated from `MOVES`.
"""

from __future__ import annotations

from collections.abc import Mapping

from comity.model.queue import JobStatus

_PENDING, _LOCKED, _DONE, _FAILED, _EXPIRED = JobStatus

MOVES: Mapping[JobStatus, Mapping[JobStatus, str]] = {
    _PENDING: {
        _LOCKED: "a bot pulls it",
        _EXPIRED: "an operator ends it",
    },
    _LOCKED: {
        _LOCKED: "its bot keeps the lock",
        _DONE: "a result is submitted",
        _PENDING: "a failure with retries left, a release, or an operator's reset",
        _FAILED: "a failure without retries left",
        _EXPIRED: "the lock runs out",
    },
    _EXPIRED: {
        _LOCKED: "a bot pulls it",
        _PENDING: "it may be pulled again",
    },
    _FAILED: {
        _PENDING: "an operator starts it again",
    },
    _DONE: {},
}

FIRST = _PENDING


def is_legal(before: JobStatus, after: JobStatus) -> bool:
    """Whether a job may go from one status to the other."""
    return after in MOVES[before]


def diagram() -> str:
    """Draw the table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", "    [*] --> pending: its policy is due"]
    lines += [f"    {before} --> {after}: {event}" for before, moves in MOVES.items() for after, event in moves.items()]
    return "\n".join(lines)
