"""The life of a host is one table; everything that speaks of it agrees with it."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from comity.model.host import HostStatus
from comity.rules.host_transitions import MOVES, diagram, is_legal

STATES_PAGE = Path(__file__).resolve().parents[2] / "docs" / "states.md"
LEGAL = {
    "pending": {"active", "blocked", "unreachable"},
    "active": {"active", "exhausted", "blocked", "unreachable"},
    "exhausted": {"pending", "active"},
    "blocked": {"pending", "active", "blocked"},
    "unreachable": {"pending", "active"},
}


@pytest.mark.parametrize(("before", "after"), list(product(HostStatus, HostStatus)))
def test_every_pair_is_legal_or_refused_as_the_specification_says(before: HostStatus, after: HostStatus) -> None:
    assert is_legal(before, after) == (after in LEGAL[before])


def test_every_status_has_a_way_out() -> None:
    assert set(MOVES) == set(HostStatus)
    for before in HostStatus:
        assert set(MOVES[before]) - {before}


def test_every_status_can_be_reached_from_a_new_host() -> None:
    reached = {HostStatus.PENDING}
    for _ in HostStatus:
        reached |= {after for before in reached for after in MOVES[before]}
    assert reached == set(HostStatus)


def test_the_diagram_draws_every_move_and_no_other() -> None:
    arrows = [line.split(":")[0].split(" --> ") for line in diagram().splitlines() if " --> " in line]
    drawn = {(before.strip(), after.strip()) for before, after in arrows}
    first = {("[*]", status) for status in ("pending", "exhausted", "blocked", "unreachable")}
    assert drawn == first | {(before, after) for before in LEGAL for after in LEGAL[before]}
    assert len(arrows) == len(drawn)


def test_the_documented_diagram_is_the_one_that_the_table_draws() -> None:
    blocks = STATES_PAGE.read_text(encoding="utf-8").split("```mermaid\n")[1:]
    documented = [block.split("```", 1)[0].strip() for block in blocks]
    assert diagram() in documented
