"""Which hosts a claim gives, in which order, and which it leaves alone."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from uuid import uuid4

import pytest

from comity.model.gate import GateMemory
from comity.model.host import HostStatus
from tests.database.states import BEGINNING, State, names

DAY = timedelta(days=1)


def test_nothing_is_claimed_from_an_empty_state(state: State) -> None:
    assert state.leases().claim(10) == []


@pytest.mark.parametrize("limit", [0, -1])
def test_a_claim_of_nothing_gives_nothing(state: State, limit: int) -> None:
    state.add("host.example")
    assert state.leases().claim(limit) == []
    assert state.row("host.example")["claimed_by"] is None


def test_a_claim_writes_holder_end_and_token_and_gives_what_the_row_holds(state: State) -> None:
    memory = GateMemory(
        next_fetch_at=BEGINNING.timestamp() + 5,
        blocked_until=BEGINNING.timestamp() + 60.25,
        backoff_step=3,
        adaptive_delay_s=1.5,
        latency_baseline_s=0.2,
        latency_recent_s=0.4,
        unclean_end_at=BEGINNING.timestamp() - 9,
        last_start_at=BEGINNING.timestamp() - 1,
    )
    first = state.leases()
    host_id = state.add("host.example", cooldown_count=2, max_pages_per_run=50, status=HostStatus.ACTIVE)
    (lease,) = first.claim(1)
    first.release(lease, memory=memory)

    second = state.leases()
    (lease,) = second.claim(1)
    row = state.row("host.example")
    assert (row["claimed_by"], row["lease_token"]) == (second.holder, 2)
    assert row["claim_expires_at"] == BEGINNING + timedelta(minutes=30)
    assert (lease.host_id, lease.host, lease.holder, lease.token) == (host_id, "host.example", second.holder, 2)
    assert lease.expires_at == BEGINNING + timedelta(minutes=30)
    assert (lease.status, lease.cooldown_count, lease.max_pages_per_run) == (HostStatus.ACTIVE, 2, 50)
    assert lease.memory == memory
    assert second.held == [lease]


def test_a_worker_leaves_a_host_alone_that_is_left_to_a_person_and_a_person_may_name_it(state: State) -> None:
    state.add("paused.example", paused_by_run=uuid4())
    worker = state.leases()
    assert (worker.claim(10), worker.has_candidate()) == ([], False)
    (lease,) = state.leases().claim(10, hosts=["paused.example"])
    state.clock.advance(hours=1)  # its process is gone
    assert (worker.claim(10), worker.has_candidate()) == ([], False)
    (again,) = worker.claim(10, hosts=["paused.example"])
    assert again.token == lease.token + 1


def test_hosts_come_in_the_order_of_their_merit(state: State) -> None:
    """Active hosts first, then by score; of equals the never crawled first, then those crawled longest ago."""
    expected = [
        ("active-high.example", HostStatus.ACTIVE, 5, None),
        ("active-low.example", HostStatus.ACTIVE, -7, None),
        ("best.example", HostStatus.PENDING, 2_000_000_000, BEGINNING),
        ("never.example", HostStatus.PENDING, 100, None),
        ("long-ago.example", HostStatus.PENDING, 100, BEGINNING - 30 * DAY),
        ("lately.example", HostStatus.PENDING, 100, BEGINNING - DAY),
        ("worst.example", HostStatus.PENDING, -2_000_000_000, None),
    ]
    for host, status, score, crawled_at in Random(7).sample(expected, len(expected)):
        state.add(host, status=status, priority_score=score, last_crawled_at=crawled_at)
    leases = state.leases()
    wanted = [host for host, *_ in expected]
    assert names(leases.claim(3)) == wanted[:3]
    assert names(leases.claim(10)) == wanted[3:]
    assert names(leases.claim(10)) == []


def test_without_smart_scheduling_hosts_come_in_the_order_of_the_seeds(state: State) -> None:
    expected = [
        ("first.example", 1, BEGINNING),
        ("second.example", 2, BEGINNING - DAY),
        ("also-second.example", 2, BEGINNING),
        ("early.example", None, BEGINNING - 9 * DAY),
        ("late.example", None, BEGINNING - DAY),
    ]
    for number, (host, rank, seen_at) in enumerate(Random(3).sample(expected, len(expected))):
        status = HostStatus.ACTIVE if number % 2 else HostStatus.PENDING
        state.add(host, seed_rank=rank, first_seen_at=seen_at, priority_score=number, status=status)
    leases = state.leases()
    wanted = [host for host, *_ in expected]
    assert names(leases.claim(2, smart=False)) == wanted[:2]
    assert names(leases.claim(9, smart=False)) == wanted[2:]


@pytest.mark.parametrize("smart", [True, False])
def test_hosts_that_are_not_due_not_seeded_or_not_open_are_left_alone(state: State, smart: bool) -> None:
    state.add("due.example", next_crawl_after=BEGINNING, seed_rank=1)
    state.add("free.example", next_crawl_after=None, seed_rank=2)
    state.add("later.example", next_crawl_after=BEGINNING + timedelta(microseconds=1), priority_score=9)
    state.add("unseeded.example", is_seeded=False, priority_score=9)
    for status in (HostStatus.EXHAUSTED, HostStatus.BLOCKED, HostStatus.UNREACHABLE):
        state.add(f"{status}.example", status=status, priority_score=9)
    state.leases().take(["unseeded.example"])
    assert sorted(names(state.leases().claim(20, smart=smart))) == ["due.example", "free.example"]
    state.clock.advance(hours=1)
    assert sorted(names(state.leases().claim(20, smart=smart))) == ["due.example", "free.example", "later.example"]


@pytest.mark.parametrize("smart", [True, False])
def test_a_claim_can_be_confined_to_named_hosts(state: State, smart: bool) -> None:
    for number in range(6):
        state.add(f"host{number}.example", priority_score=number, seed_rank=10 - number)
    state.add("blocked.example", status=HostStatus.BLOCKED)
    leases = state.leases()
    wanted = ["host1.example", "host4.example", "host2.example", "blocked.example", "unknown.example", "'; DROP"]
    assert names(leases.claim(2, hosts=wanted, smart=smart)) == ["host4.example", "host2.example"]
    assert names(leases.claim(2, hosts=wanted, smart=smart)) == ["host1.example"]
    assert leases.claim(2, hosts=[], smart=smart) == []


def test_a_claim_can_name_more_hosts_than_a_statement_has_parameters(state: State) -> None:
    state.add("host7.example")
    many = [f"host{number}.example" for number in range(70_000)]
    assert names(state.leases().claim(5, hosts=many)) == ["host7.example"]
    assert names(state.leases().take(many)) == []


def test_a_leased_host_is_not_claimed_again_until_its_lease_ends(state: State) -> None:
    state.add("host.example")
    first, second = state.leases(), state.leases()
    first.claim(1)
    state.clock.advance(minutes=30, microseconds=-1)
    assert second.claim(1) == []
    state.clock.advance(microseconds=1)
    (lease,) = second.claim(1)
    assert (lease.token, lease.holder) == (2, second.holder)
    assert lease.memory.unclean_end_at == (BEGINNING + timedelta(minutes=30)).timestamp()
    assert state.row("host.example")["unclean_end_at"] == BEGINNING + timedelta(minutes=30)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 20])
def test_expired_leases_are_mixed_in_by_the_same_order(state: State, limit: int) -> None:
    gone = state.leases("gone")
    for score in (95, 85, 75):
        state.add(f"expired{score}.example", priority_score=score)
        state.clock.advance(seconds=1)  # the worst of them has been over longest
    for name in ("expired75.example", "expired85.example", "expired95.example"):
        gone.take([name])
        state.clock.advance(seconds=1)
    for score in (100, 90, 80, 70):
        state.add(f"free{score}.example", priority_score=score)
    state.add("active-free.example", status=HostStatus.ACTIVE, priority_score=1)
    state.clock.advance(hours=1)
    order = ["active-free", "free100", "expired95", "free90", "expired85", "free80", "expired75", "free70"]
    leases = state.leases()
    claimed: list[str] = []
    while batch := names(leases.claim(limit)):
        assert len(batch) <= limit
        claimed += batch
    assert claimed == [f"{host}.example" for host in order]


def test_an_expired_lease_on_a_host_that_is_closed_or_not_due_is_not_claimed(state: State) -> None:
    state.add("blocked.example", status=HostStatus.BLOCKED)
    state.add("unseeded.example", is_seeded=False)
    state.add("later.example", next_crawl_after=BEGINNING + 9 * DAY)
    state.leases().take(["blocked.example", "unseeded.example", "later.example"])
    state.clock.advance(days=1)
    assert state.leases().claim(10) == []


def test_named_hosts_are_taken_whatever_their_status(state: State) -> None:
    for status in HostStatus:
        state.add(f"{status}.example", status=status, next_crawl_after=BEGINNING + DAY, is_seeded=False)
    leases = state.leases()
    taken = leases.take([f"{status}.example" for status in HostStatus] + ["unknown.example"])
    assert sorted(names(taken)) == sorted(f"{status}.example" for status in HostStatus)
    assert {lease.status for lease in taken} == set(HostStatus)
    assert sorted(names(leases.held)) == sorted(names(taken))
    for status in HostStatus:
        assert state.row(f"{status}.example")["status"] is status


def test_a_named_host_that_somebody_holds_is_left_out_until_the_lease_ends(state: State) -> None:
    for host in ("held.example", "free.example"):
        state.add(host)
    state.leases().take(["held.example"])
    second = state.leases()
    assert names(second.take(["held.example", "free.example"])) == ["free.example"]
    assert second.take(["held.example"]) == []
    state.clock.advance(minutes=31)
    (lease,) = second.take(["held.example"])
    assert lease.memory.unclean_end_at == (BEGINNING + timedelta(minutes=30)).timestamp()


def test_a_released_host_can_be_claimed_at_once(state: State) -> None:
    state.add("host.example")
    first = state.leases()
    (lease,) = first.claim(1)
    first.release(lease)
    assert first.held == []
    (again,) = state.leases().claim(1)
    assert again.token == lease.token + 1
    assert again.memory.unclean_end_at is None


def test_the_merit_of_many_hosts_decides_as_sorting_them_would(state: State) -> None:
    chance = Random(11)
    rows = []
    for number in range(300):
        status = chance.choice([HostStatus.PENDING, HostStatus.ACTIVE])
        crawled_at = chance.choice([None, BEGINNING - timedelta(hours=chance.randrange(5))])
        score = chance.randrange(6)
        host_id = state.add(f"h{number}.example", status=status, priority_score=score, last_crawled_at=crawled_at)
        never = crawled_at is not None
        rows.append(
            (status is HostStatus.PENDING, -score, never, crawled_at or BEGINNING, host_id, f"h{number}.example")
        )
    leases = state.leases()
    claimed: list[str] = []
    while batch := names(leases.claim(37)):
        claimed += batch
    assert claimed == [row[-1] for row in sorted(rows)]
