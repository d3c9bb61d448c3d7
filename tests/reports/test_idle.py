"""Why a host was left alone: every standing has its sentence, and says what would change it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from comity.reports.runs import why_idle
from comity.run.remedies import in_words
from tests.database.states import BEGINNING, State

LATER = BEGINNING + timedelta(days=3)


@pytest.mark.parametrize(
    ("columns", "why", "remedy"),
    [
        (
            {"status": "exhausted", "next_crawl_after": LATER},
            "everything found there has been crawled",
            "domains reset",
        ),
        ({"status": "blocked", "block_reason": "robots disallow"}, "it is blocked (robots disallow)", "domains reset"),
        ({"status": "unreachable"}, "it is unreachable", "domains reset"),
        (
            {"status": "active", "claimed_by": "a:1:2:3", "claim_expires_at": LATER},
            "process 1 on a is crawling it",
            "stop that crawl",
        ),
        ({"status": "active", "next_crawl_after": LATER}, "the host is not due yet", "then"),
        (
            {"status": "active", "next_crawl_after": LATER, "frontier_size": 3},
            "the remaining URLs are to be retried later",
            "then",
        ),
        (
            {"status": "active", "next_crawl_after": LATER, "frontier_size": 3, "blocked_until": LATER},
            "the host asked Comity to wait",
            "then",
        ),
        ({"status": "pending"}, "it is waiting for its turn", "again"),
    ],
)
def test_a_host_of_this_standing_is_explained(state: State, columns: dict[str, Any], why: str, remedy: str) -> None:
    state.add("example.com", **columns)
    (idle,) = why_idle(state.database, state.clock, ["example.com"])  # type: ignore[arg-type]
    assert idle.host == "example.com"
    assert idle.why == why
    assert remedy in in_words(idle.remedy)
    assert idle.due_at == (columns.get("next_crawl_after") or columns.get("claim_expires_at"))


def test_a_lease_that_ran_out_explains_nothing(state: State) -> None:
    state.add("example.com", status="active", claimed_by="a:1:2:3", claim_expires_at=BEGINNING - timedelta(seconds=1))
    (idle,) = why_idle(state.database, state.clock, ["example.com"])  # type: ignore[arg-type]
    assert "a:1:2:3" not in idle.why


def test_unknown_hosts_are_passed_over_and_the_others_come_in_order(state: State) -> None:
    for name in ("b.example", "a.example"):
        state.add(name)
    found = why_idle(state.database, state.clock, {"b.example", "a.example", "c.example"})  # type: ignore[arg-type]
    assert [idle.host for idle in found] == ["a.example", "b.example"]
