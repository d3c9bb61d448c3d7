"""Asking for a refresh: hosts that are done become due, and nobody else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from comity.operate.hosts import request_refresh
from comity.upkeep.wake_hosts import end_cooldowns
from tests.database.states import BEGINNING, State

LATER, EARLIER = BEGINNING + timedelta(days=3), BEGINNING - timedelta(days=3)


@pytest.mark.parametrize(
    ("columns", "is_asked"),
    [
        ({"status": "exhausted", "next_crawl_after": LATER}, True),
        ({"status": "exhausted"}, True),
        ({"status": "exhausted", "claimed_by": "a:1:2:3", "claim_expires_at": EARLIER}, True),
        ({"status": "exhausted", "claimed_by": "a:1:2:3", "claim_expires_at": LATER}, False),
        ({"status": "pending"}, False),
        ({"status": "active"}, False),
        ({"status": "blocked", "next_crawl_after": LATER}, False),
        ({"status": "unreachable", "next_crawl_after": LATER}, False),
    ],
)
def test_a_host_of_this_standing_is_made_due_or_left(state: State, columns: dict[str, Any], is_asked: bool) -> None:
    state.add("a.example", **columns)
    state.add("b.example", status="exhausted", next_crawl_after=LATER)
    before = state.row("a.example")
    asked = request_refresh(state.database, state.clock, ["a.example", "unknown.example"])  # type: ignore[arg-type]
    assert asked == (["a.example"] if is_asked else [])
    row = state.row("a.example")
    if is_asked:
        assert (row["status"], row["is_refresh_due"], row["next_crawl_after"]) == ("pending", True, None)
    else:
        assert row == before
    assert state.row("b.example")["is_refresh_due"] is False, "nobody named it"


@pytest.mark.parametrize("refresh", [False, True])
def test_only_what_was_done_is_refreshed_when_it_is_woken(state: State, refresh: bool) -> None:
    state.add("done.example", status="exhausted", next_crawl_after=EARLIER)
    state.add("blocked.example", status="blocked", next_crawl_after=EARLIER)
    end_cooldowns(state.database, state.clock, refresh=refresh)  # type: ignore[arg-type]
    done, blocked = state.row("done.example"), state.row("blocked.example")
    assert (done["status"], done["is_refresh_due"]) == (("pending", True) if refresh else ("exhausted", False))
    assert (blocked["status"], blocked["is_refresh_due"]) == ("pending", False)
