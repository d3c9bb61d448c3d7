"""A run as numbers: what a batch brought, what is under way, and how late the renewal of leases is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest

from comity.model.evidence import Evidence, EvidenceType
from comity.model.frontier import QueuedUrl
from comity.model.gate import WaitReason
from comity.model.outcome import Answered, Failed, Fetched, Gone, Outcome, Postponed, RateLimited, Refused, Trail
from comity.telemetry.meter import Meter
from comity.walk.crawl.metering import RunMeter
from comity.walk.crawl.progress import Progress
from comity.walk.settle.settler import Settled

HOST = uuid4()


@dataclass
class Run:
    """A run as it says it is."""

    progress: Progress = field(default_factory=lambda: Progress(0.0))
    unsettled: int = 3
    unsettled_bytes: int = 4096
    in_flight: int = 2
    hosts_held: int = 5
    gate_waits: Mapping[WaitReason, int] = field(default_factory=dict)


class Watched:
    def __init__(self) -> None:
        self.now = 1000.0
        self.meter = Meter()
        self.run = Run()
        self.counting = RunMeter(self.meter, self.run, lambda: self.now, 600.0)

    def number(self, name: str, value: str = "") -> float:
        return self.meter.read().numbers[f"comity_{name}"][value]


@pytest.fixture
def watched() -> Watched:
    watched = Watched()
    watched.counting.begin()
    return watched


def entry(key: int) -> QueuedUrl:
    return QueuedUrl(f"https://a.example/{key}", key, 0, 0, 0)


def trail(*types: EvidenceType) -> Trail:
    made = Trail()
    made.evidence += [Evidence(HOST, "https://a.example/", 1, each, {}, {}, "high", 0.0) for each in types]
    return made


def answered(status: int, elapsed_s: float) -> Answered:
    return Answered("https://a.example/", 0, status, 0.0, elapsed_s, 100)


def fetched(key: int, made: Trail | None = None) -> Fetched:
    return Fetched(entry(key), made or Trail(), answered(200, 0.2), b"", None, "hash", None, ())


def test_outcomes_are_counted_by_what_became_of_them(watched: Watched) -> None:
    outcomes: list[Outcome] = [
        fetched(1),
        fetched(2),
        Gone(entry(3), Trail(), answered(404, 0.3)),
        RateLimited(entry(4), Trail(), answered(429, 0.1), None),
        Failed(entry(5), Trail(), "timeout", "slow", 0.0, 20.0, None, 0),
        Postponed(entry(6), Trail(), "delay", 5.0),
    ]
    result = Settled(links=7, received=900, lost=[])
    result.postponed = {HOST: [(entry(4), 5.0), (entry(6), 5.0)]}
    watched.counting.settled(outcomes, result, 0.02)
    found = {outcome: watched.number("pages_total", outcome) for outcome in ("fetched", "gone", "failed", "postponed")}
    assert found == {"fetched": 2, "gone": 1, "failed": 1, "postponed": 1}
    assert (watched.number("received_bytes_total"), watched.number("links_found_total")) == (900, 7)
    assert watched.number("retries_total") == 1, "what was postponed before it was asked is no retry"
    histograms = watched.meter.read().histograms
    assert sum(histograms["comity_fetch_seconds"][:-1]) == 5
    assert histograms["comity_fetch_seconds"][-1] == pytest.approx(20.8)
    assert histograms["comity_settle_seconds"][-1] == 0.02


@pytest.mark.parametrize(
    ("outcome", "reason", "number"),
    [
        (Refused(entry(1), trail(EvidenceType.BLOCKED_BY_ROBOTS), "robots_denied", "", 0.0), "robots", 1),
        (Refused(entry(1), trail(EvidenceType.TAKEN_DOWN), "taken_down", "", 0.0), "takedown", 1),
        (Refused(entry(1), Trail(), "trap", "", 0.0), "trap", 1),
        (Refused(entry(1), Trail(), "address_refused", "", 0.0), "address", 1),
        (Refused(entry(1), Trail(), "too_many_redirects", "", 0.0), "other", 1),
        (fetched(1, trail(EvidenceType.ROBOTS_ALLOWED, *[EvidenceType.BLOCKED_BY_ROBOTS] * 3)), "robots", 3),
        (fetched(1, trail(EvidenceType.ROBOTS_ALLOWED)), "robots", 0),
    ],
)
def test_refusals_are_counted_by_who_said_so(watched: Watched, outcome: Any, reason: str, number: int) -> None:
    watched.counting.settled([outcome], Settled(), 0.01)
    assert watched.meter.read().numbers["comity_refusals_total"][reason] == number


def test_gauges_are_those_of_the_run_and_fall_to_zero_with_it(watched: Watched) -> None:
    watched.run.progress.queued = 12
    assert [watched.number(name) for name in ("requests_in_flight", "hosts_held", "frontier_at_hand")] == [2, 5, 12]
    watched.counting.end()
    watched.run.in_flight = 99
    names = ("requests_in_flight", "hosts_held", "frontier_at_hand", "unsettled_outcomes", "unsettled_bytes")
    assert [watched.number(name) for name in names] == [0] * 5


def test_waits_are_counted_once_however_often_somebody_looks(watched: Watched) -> None:
    watched.run.gate_waits = {WaitReason.DELAY: 4}
    assert [watched.number("gate_waits_total", "delay") for _ in range(3)] == [4, 4, 4]
    watched.run.gate_waits = {WaitReason.DELAY: 6, WaitReason.BLOCK: 1}
    assert (watched.number("gate_waits_total", "delay"), watched.number("gate_waits_total", "block")) == (6, 1)


def test_a_renewal_is_overdue_after_one_and_a_half_intervals_if_anything_is_held(watched: Watched) -> None:
    watched.now += 900
    assert watched.number("lease_renewal_overdue_seconds") == 0
    watched.now += 7
    assert watched.number("lease_renewal_overdue_seconds") == 7
    watched.run.hosts_held = 0
    assert watched.number("lease_renewal_overdue_seconds") == 0
    watched.run.hosts_held = 5
    watched.counting.renewed(lost=2)
    assert watched.number("lease_renewal_overdue_seconds") == 0
    assert watched.number("leases_lost_total") == 2


def test_without_anybody_who_wants_to_know_nothing_is_counted() -> None:
    counting = RunMeter(None, Run(), lambda: 0.0, 600.0)
    counting.begin()
    counting.settled([fetched(1)], Settled(), 0.1)
    counting.renewed(1)
    counting.update_gauges()
    counting.end()
