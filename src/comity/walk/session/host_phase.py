"""The phases of a host while its lease is held, and every legal move between them: the only place that knows them.

A host that is being read on or given back is a host with a task, not one in another phase: see `crawl.hosts`.

    HELD ──open──▶ READY ──drain──▶ DRAINING ──close──▶ CLOSED ──release──▶ RELEASED
    (`close` and `lose` are possible from every phase; a LOST host is released, too)
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class Phase(Enum):
    """What may be done with a host."""

    HELD = "held"
    """Leased. Requests may start, but no run visits it: not yet, or it was only leased on demand."""
    READY = "ready"
    """Open: visits may begin."""
    DRAINING = "draining"
    """No visit begins any more. What is under way is finished, redirects included."""
    CLOSED = "closed"
    """The gate is shut: no request starts. Those in flight are finished."""
    LOST = "lost"
    """The lease is gone, and the gate is shut. What is settled from now on writes nothing."""
    RELEASED = "released"
    """Given back and forgotten."""


class Move(Enum):
    """What can happen to a host."""

    OPEN = "open"
    DRAIN = "drain"
    CLOSE = "close"
    LOSE = "lose"
    RELEASE = "release"


class IllegalMove(RuntimeError):
    """A host cannot make this move from its phase: a mistake of ours."""


# A move that comes twice, or too late, leaves a host where it is.
MOVES: Final[Mapping[Phase, Mapping[Move, Phase]]] = {
    Phase.HELD: {Move.OPEN: Phase.READY, Move.CLOSE: Phase.CLOSED, Move.LOSE: Phase.LOST},
    Phase.READY: {Move.DRAIN: Phase.DRAINING, Move.CLOSE: Phase.CLOSED, Move.LOSE: Phase.LOST},
    Phase.DRAINING: {Move.DRAIN: Phase.DRAINING, Move.CLOSE: Phase.CLOSED, Move.LOSE: Phase.LOST},
    Phase.CLOSED: {
        Move.DRAIN: Phase.CLOSED,
        Move.CLOSE: Phase.CLOSED,
        Move.LOSE: Phase.LOST,
        Move.RELEASE: Phase.RELEASED,
    },
    Phase.LOST: {
        Move.DRAIN: Phase.LOST,
        Move.CLOSE: Phase.LOST,
        Move.LOSE: Phase.LOST,
        Move.RELEASE: Phase.RELEASED,
    },
    Phase.RELEASED: {Move.DRAIN: Phase.RELEASED, Move.CLOSE: Phase.RELEASED, Move.LOSE: Phase.RELEASED},
}
SHUT: Final = frozenset({Phase.CLOSED, Phase.LOST, Phase.RELEASED})
"""The phases in which no request may start."""


def after(phase: Phase, move: Move) -> Phase:
    """The phase that follows."""
    following = MOVES[phase].get(move)
    if following is None:
        raise IllegalMove(f"a host that is {phase.value} cannot {move.value}")
    return following
