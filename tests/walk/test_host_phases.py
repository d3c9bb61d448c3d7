"""The phases of a leased host: every pair of phase and move, and what each phase means for the gate."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from comity.model.gate import DOOR_PROFILES, Door, GateMemory, Reservation
from comity.model.host import HostStatus, Lease
from comity.walk.session.leased_host import MOVES, SHUT, IllegalMove, LeasedHost, Move, Phase, after

H, R, D, C, L, X = Phase.HELD, Phase.READY, Phase.DRAINING, Phase.CLOSED, Phase.LOST, Phase.RELEASED
ILLEGAL = None
TABLE = {
    #            open     drain    close lose release
    H: (R, ILLEGAL, C, L, ILLEGAL),
    R: (ILLEGAL, D, C, L, ILLEGAL),
    D: (ILLEGAL, D, C, L, ILLEGAL),
    C: (ILLEGAL, C, C, L, X),
    L: (ILLEGAL, L, L, L, X),
    X: (ILLEGAL, X, X, X, ILLEGAL),
}
PAIRS = [(phase, move, TABLE[phase][column]) for phase in Phase for column, move in enumerate(Move)]
PATHS: dict[Phase, tuple[Move, ...]] = {
    H: (),
    R: (Move.OPEN,),
    D: (Move.OPEN, Move.DRAIN),
    C: (Move.CLOSE,),
    L: (Move.LOSE,),
    X: (Move.CLOSE, Move.RELEASE),
}


def leased() -> LeasedHost:
    ends = datetime.now(UTC) + timedelta(minutes=5)
    lease = Lease(uuid4(), "example.com", "me:1", 1, ends, HostStatus.PENDING, 0, None, GateMemory())
    return LeasedHost(lease, DOOR_PROFILES[Door.CRAWL], None, clock=lambda: 0.0, chance=lambda: 0.0)


def make(host: LeasedHost, move: Move) -> None:
    {
        Move.OPEN: host.open,
        Move.DRAIN: host.drain,
        Move.CLOSE: host.close,
        Move.LOSE: host.lose_lease,
        Move.RELEASE: host.release,
    }[move]()


def test_the_table_has_every_pair() -> None:
    assert len(PAIRS) == len(Phase) * len(Move)
    assert {phase: dict(moves) for phase, moves in MOVES.items()} == {
        phase: {move: follows for each, move, follows in PAIRS if each is phase and follows is not None}
        for phase in Phase
    }


@pytest.mark.parametrize(("phase", "move", "follows"), PAIRS, ids=lambda each: getattr(each, "value", "illegal"))
def test_every_move_from_every_phase(phase: Phase, move: Move, follows: Phase | None) -> None:
    host = leased()
    for step in PATHS[phase]:
        make(host, step)
    assert host.phase is phase
    if follows is None:
        with pytest.raises(IllegalMove, match=f"a host that is {phase.value} cannot {move.value}"):
            make(host, move)
        assert host.phase is phase
        with pytest.raises(IllegalMove):
            after(phase, move)
    else:
        make(host, move)
        assert host.phase is follows is after(phase, move)


@pytest.mark.parametrize("phase", Phase, ids=lambda phase: phase.value)
async def test_a_request_starts_only_while_the_gate_is_open(phase: Phase) -> None:
    host = leased()
    for step in PATHS[phase]:
        make(host, step)
    assert host.is_closed is (phase in SHUT)
    assert host.is_stopped is (phase not in (H, R))
    assert isinstance(host.gate.try_reserve(), Reservation) is (phase not in SHUT)


def test_no_phase_leads_back() -> None:
    order = list(Phase)
    assert all(
        order.index(follows) >= order.index(phase) for phase, moves in MOVES.items() for follows in moves.values()
    )
