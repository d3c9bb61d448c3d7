"""A crawl that follows further wakes hosts whose links were too deep, but for links that are taken down."""

from __future__ import annotations

from comity.database.tables import DONE, QUEUED, TOO_DEEP
from comity.frontier.sql_store import SqlFrontier
from comity.model.host import HostStatus
from comity.operate.takedown import add_takedowns
from comity.upkeep import wake_hosts
from comity.upkeep.wake_hosts import go_deeper
from tests.database.states import State

DEEP = "https://deep.example/a/b/c"


def left_too_deep(state: State, host: str, *urls: str, depth: int = 3) -> None:
    """A host that is done but for links that lay too deep."""
    state.add(host, status=HostStatus.EXHAUSTED, left_at_depth=depth)
    state.queue(host, *urls, state=TOO_DEEP, depth=depth)


def deeper(state: State, max_depth: int) -> int:
    return go_deeper(state.database, state.clock, SqlFrontier(state.database), max_depth)


def test_a_host_is_woken_when_its_links_are_within_the_depth(state: State) -> None:
    left_too_deep(state, "deep.example", DEEP)
    assert deeper(state, 2) == 0
    assert deeper(state, 3) == 1
    assert state.row("deep.example")["status"] is HostStatus.PENDING
    assert state.urls("deep.example") == {DEEP: QUEUED}


def test_a_host_that_is_taken_down_is_not_woken(state: State) -> None:
    left_too_deep(state, "deep.example", DEEP)
    add_takedowns(state.database, ["deep.example"])
    assert deeper(state, 3) == 0
    assert state.row("deep.example")["status"] is HostStatus.EXHAUSTED
    assert state.urls("deep.example") == {DEEP: TOO_DEEP}


def test_links_that_are_taken_down_wake_no_host(state: State) -> None:
    left_too_deep(state, "deep.example", DEEP, "https://deep.example/a/d")
    state.queue("deep.example", "https://deep.example/other", state=TOO_DEEP, depth=9)
    state.queue("deep.example", "https://deep.example/", state=DONE)
    add_takedowns(state.database, ["deep.example/a"])
    assert deeper(state, 3) == 0
    assert state.row("deep.example")["status"] is HostStatus.EXHAUSTED
    assert deeper(state, 9) == 1, "the other link is within this depth, and not taken down"


def test_a_takedown_elsewhere_changes_nothing(state: State) -> None:
    left_too_deep(state, "deep.example", DEEP)
    left_too_deep(state, "sub.deep.example", "https://sub.deep.example/a/b")
    add_takedowns(state.database, ["sub.deep.example", "deep.example/elsewhere"])
    assert deeper(state, 3) == 1
    assert state.row("deep.example")["status"] is HostStatus.PENDING
    assert state.row("sub.deep.example")["status"] is HostStatus.EXHAUSTED


def test_hosts_that_stay_asleep_do_not_hold_up_the_others(state: State) -> None:
    for number in range(wake_hosts._DEEPER_BATCH + 5):
        left_too_deep(state, f"h{number}.gone.example", f"https://h{number}.gone.example/a/b")
    left_too_deep(state, "deep.example", DEEP)
    add_takedowns(state.database, ["gone.example"])
    assert deeper(state, 3) == 1
    assert state.row("deep.example")["status"] is HostStatus.PENDING
