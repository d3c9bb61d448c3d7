"""Cooldowns end by themselves, three times; after that, and for hosts that are done, somebody must ask."""

from __future__ import annotations

from datetime import timedelta

import pytest

from comity.model.host import BlockReason, HostEnding, HostStatus
from comity.operate.hosts import reset_host
from comity.rules.endings import COOLDOWNS, status_for
from comity.upkeep import wake_hosts as upkeep
from comity.upkeep.wake_hosts import end_cooldowns
from tests.database.states import BEGINNING, State, names

DAY = timedelta(days=1)


def block(state: State, host: str, reason: BlockReason) -> None:
    """Crawl a host and find it closed."""
    leases = state.leases()
    (lease,) = leases.claim(1, hosts=[host])
    leases.begin(lease, None)
    leases.release(lease, ending=HostEnding(status_for(reason), reason, "as seen"))


@pytest.mark.parametrize("reason", BlockReason)
def test_a_host_rests_as_long_as_its_reason_asks_and_then_is_pending(state: State, reason: BlockReason) -> None:
    state.add("host.example", consecutive_error_count=5)
    block(state, "host.example", reason)
    row = state.row("host.example")
    assert (row["status"], row["block_reason_code"], row["block_reason"]) == (status_for(reason), reason, "as seen")
    assert (row["first_blocked_at"], row["next_crawl_after"]) == (BEGINNING, BEGINNING + COOLDOWNS[reason])
    state.clock.advance(seconds=COOLDOWNS[reason].total_seconds() - 0.001)
    assert end_cooldowns(state.database, state.clock, refresh=True) == 0
    assert state.leases().claim(1) == []
    state.clock.advance(seconds=0.001)
    assert end_cooldowns(state.database, state.clock) == 1
    row = state.row("host.example")
    assert (row["status"], row["next_crawl_after"]) == (HostStatus.PENDING, None)
    counted = reason is not BlockReason.ROBOTS_UNREACHABLE
    assert (row["consecutive_error_count"], row["cooldown_count"]) == (0, int(counted))
    assert row["first_blocked_at"] == BEGINNING
    assert end_cooldowns(state.database, state.clock) == 0
    assert names(state.leases().claim(1)) == ["host.example"]


@pytest.mark.parametrize("reason", [BlockReason.LOGIN_REQUIRED, BlockReason.DNS_FAILURE])
def test_after_three_automatic_retries_a_host_is_left_alone_until_somebody_resets_it(
    state: State, reason: BlockReason
) -> None:
    state.add("host.example")
    for retries in range(4):
        block(state, "host.example", reason)
        assert state.row("host.example")["cooldown_count"] == retries
        state.clock.advance(days=400)
        assert end_cooldowns(state.database, state.clock) == (1 if retries < 3 else 0)
    row = state.row("host.example")
    assert (row["status"], row["next_crawl_after"]) == (status_for(reason), None)
    state.clock.advance(days=4000)
    assert end_cooldowns(state.database, state.clock, refresh=True) == 0
    reset_host(state.database, state.clock, "host.example")
    assert state.row("host.example")["cooldown_count"] == 0
    assert names(state.leases().claim(1)) == ["host.example"]


def test_a_host_whose_robots_file_cannot_be_read_is_looked_at_again_without_end(state: State) -> None:
    state.add("host.example")
    for _day in range(6):
        block(state, "host.example", BlockReason.ROBOTS_UNREACHABLE)
        state.clock.advance(hours=13)
        assert end_cooldowns(state.database, state.clock) == 1
    assert state.row("host.example")["cooldown_count"] == 0


def test_a_success_gives_all_retries_back(state: State) -> None:
    state.add("host.example")
    for _ in range(2):
        block(state, "host.example", BlockReason.FORBIDDEN)
        state.clock.advance(days=15)
        end_cooldowns(state.database, state.clock)
    assert state.row("host.example")["cooldown_count"] == 2
    leases = state.leases()
    (lease,) = leases.claim(1)
    leases.begin(lease, None)
    leases.release(lease, ending=HostEnding(HostStatus.ACTIVE))
    row = state.row("host.example")
    assert (row["cooldown_count"], row["first_blocked_at"]) == (0, None)
    assert (row["block_reason"], row["block_reason_code"], row["next_crawl_after"]) == (None, None, None)


def test_a_host_that_is_done_is_woken_only_when_a_refresh_is_asked_for(state: State) -> None:
    state.add("host.example", cooldown_count=2)
    leases = state.leases()
    (lease,) = leases.claim(1)
    leases.begin(lease, None)
    leases.release(lease, ending=HostEnding(HostStatus.EXHAUSTED))
    assert state.row("host.example")["next_crawl_after"] == BEGINNING + 14 * DAY
    state.clock.advance(days=14)
    assert end_cooldowns(state.database, state.clock) == 0
    assert end_cooldowns(state.database, state.clock, refresh=True) == 1
    row = state.row("host.example")
    assert (row["status"], row["cooldown_count"], row["next_crawl_after"]) == (HostStatus.PENDING, 0, None)


def test_only_what_is_due_wakes(state: State) -> None:
    for status in HostStatus:
        state.add(f"due-{status}.example", status=status, next_crawl_after=BEGINNING)
        state.add(f"later-{status}.example", status=status, next_crawl_after=BEGINNING + DAY)
        state.add(f"never-{status}.example", status=status, next_crawl_after=None)
    hosts = [f"{due}-{status}.example" for due in ("due", "later", "never") for status in HostStatus]
    before = {host: state.row(host) for host in hosts}
    assert end_cooldowns(state.database, state.clock, refresh=True) == 3
    woken = {host for host in hosts if state.row(host) != before[host]}
    assert woken == {"due-blocked.example", "due-unreachable.example", "due-exhausted.example"}


def test_a_host_that_somebody_holds_is_not_changed_under_his_hands(state: State) -> None:
    state.add("host.example", status=HostStatus.BLOCKED, next_crawl_after=BEGINNING)
    state.leases().take(["host.example"])
    before = state.row("host.example")
    assert end_cooldowns(state.database, state.clock) == 0
    assert state.row("host.example") == before


def test_a_host_whose_holder_died_is_not_forgotten(state: State) -> None:
    state.add("host.example", status=HostStatus.BLOCKED, next_crawl_after=BEGINNING)
    (lease,) = state.leases().take(["host.example"])
    state.clock.advance(minutes=30)
    assert end_cooldowns(state.database, state.clock) == 1
    (again,) = state.leases().claim(1)
    assert again.memory.unclean_end_at == lease.expires_at.timestamp()


def test_more_than_one_batch_is_woken_and_counted(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "BATCH_HOSTS", 4)
    for number in range(11):
        state.add(f"h{number}.example", status=HostStatus.BLOCKED, next_crawl_after=BEGINNING)
    assert end_cooldowns(state.database, state.clock) == 11
    assert len(state.leases().claim(20)) == 11
