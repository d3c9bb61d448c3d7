"""Keeping a lease, writing under it, giving it back; and what a hand that comes late cannot do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from comity.database.leases import leasing
from comity.database.tables import domains
from comity.leases.leases import Leases, LeaseTerms
from comity.model.errors import LeaseLost
from comity.model.gate import GateMemory
from comity.model.host import BlockReason, HostEnding, HostProgress, HostStatus, Lease
from tests.database.states import BEGINNING, State, names


def everything(state: State) -> list[Any]:
    with state.database.read() as connection:
        return [tuple(row) for row in connection.execute(select(domains).order_by(domains.c.domain))]


def test_a_heartbeat_prolongs_and_keeps_the_token(state: State) -> None:
    for number in range(3):
        state.add(f"host{number}.example")
    leases = state.leases()
    before = leases.claim(3)
    state.clock.advance(minutes=10)
    assert leases.heartbeat() == []
    for lease in before:
        row = state.row(lease.host)
        assert row["claim_expires_at"] == BEGINNING + timedelta(minutes=40)
        assert (row["lease_token"], row["claimed_by"]) == (lease.token, leases.holder)
    assert {(lease.host, lease.token, lease.expires_at) for lease in leases.held} == {
        (lease.host, lease.token, BEGINNING + timedelta(minutes=40)) for lease in before
    }
    state.clock.advance(minutes=29)
    leases.release(before[0])  # the value from before the heartbeat names the same lease


def test_a_heartbeat_with_nothing_held_does_nothing(state: State) -> None:
    state.add("host.example")
    rows = everything(state)
    assert state.leases().heartbeat() == []
    assert everything(state) == rows


def test_a_heartbeat_reports_what_was_lost_and_keeps_the_rest(state: State) -> None:
    for host in ("kept.example", "stolen.example", "freed.example"):
        state.add(host)
    leases = state.leases()
    by_name = {lease.host: lease for lease in leases.claim(3)}
    other = state.leases()
    with state.database.write() as connection:
        leasing.write_under(connection, by_name["stolen.example"], {"claim_expires_at": BEGINNING}, BEGINNING)
        leasing.write_under(
            connection, by_name["freed.example"], {"claimed_by": None, "claim_expires_at": None}, BEGINNING
        )
    assert names(other.take(["stolen.example"])) == ["stolen.example"]
    stolen = state.row("stolen.example")
    assert sorted(names(leases.heartbeat())) == ["freed.example", "stolen.example"]
    assert names(leases.held) == ["kept.example"]
    assert state.row("stolen.example") == stolen
    assert leases.heartbeat() == []


def test_a_heartbeat_after_the_end_does_not_revive(state: State) -> None:
    state.add("host.example")
    leases = state.leases()
    (lease,) = leases.claim(1)
    state.clock.advance(minutes=30)
    row = state.row("host.example")
    assert leases.heartbeat() == [lease]
    assert leases.held == []
    assert state.row("host.example") == row
    assert names(state.leases().claim(1)) == ["host.example"]


def test_a_host_that_was_lost_and_won_again_counts_by_its_new_token(state: State) -> None:
    state.add("host.example")
    leases = state.leases()
    (old,) = leases.claim(1)
    state.clock.advance(minutes=31)
    (new,) = leases.claim(1)
    assert new.token == old.token + 1
    with pytest.raises(LeaseLost):
        leases.release(old)
    assert leases.held == [new]
    assert leases.heartbeat() == []
    leases.release(new)


def test_a_host_claimed_while_a_heartbeat_is_under_way_is_not_taken_for_lost(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    for host in ("first.example", "second.example"):
        state.add(host)
    leases = state.leases()
    leases.claim(1)
    renew = leasing.renew
    meanwhile: list[Lease] = []

    def renew_and_dawdle(*arguments: Any, **options: Any) -> Any:
        alive = renew(*arguments, **options)
        with monkeypatch.context() as inner:
            inner.setattr(state.database, "write", lambda: _Borrowed(arguments[0]))
            meanwhile.extend(leases.claim(1))
        return alive

    monkeypatch.setattr(leasing, "renew", renew_and_dawdle)
    assert leases.heartbeat() == []
    assert len(meanwhile) == 1
    assert sorted(names(leases.held)) == ["first.example", "second.example"]


class _Borrowed:
    """A connection that is in a transaction already, lent once more."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __enter__(self) -> Any:
        return self._connection

    def __exit__(self, *_: object) -> None:
        return None


def test_only_what_is_held_is_prolonged(state: State) -> None:
    """A claim whose answer never arrived leaves rows in our name; they must run out."""
    for host in ("known.example", "unknown.example"):
        state.add(host)
    leases = state.leases()
    leases.take(["known.example"])
    Leases(state.database, state.clock, holder=leases.holder).take(["unknown.example"])
    state.clock.advance(minutes=10)
    assert leases.heartbeat() == []
    assert state.row("known.example")["claim_expires_at"] == BEGINNING + timedelta(minutes=40)
    assert state.row("unknown.example")["claim_expires_at"] == BEGINNING + timedelta(minutes=30)


@pytest.mark.parametrize("terms", [(1800, 901), (10, 0), (10, -1), (0, 0), (-10, -5)])
def test_a_lease_must_be_renewed_twice_in_its_time(terms: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="at least twice"):
        LeaseTerms(*terms)
    assert LeaseTerms(1800, 900).renew_every_s == 900
    assert (LeaseTerms().lease_s, LeaseTerms().renew_every_s) == (1800, 600)


def test_a_release_writes_counters_status_and_memory(state: State) -> None:
    state.add("host.example", pages_crawled=100, crawl_depth_reached=7, consecutive_error_count=4)
    leases = state.leases()
    (lease,) = leases.claim(1)
    leases.begin(lease, None)
    state.clock.advance(minutes=5)
    progress = HostProgress(
        pages_crawled=10,
        pages_discovered=30,
        images_found=5,
        images_stored=4,
        errors=2,
        depth_reached=3,
        consecutive_errors=0,
    )
    memory = GateMemory(next_fetch_at=state.clock.seconds() + 1, adaptive_delay_s=2.5, last_start_at=1.0)
    leases.release(lease, ending=HostEnding(HostStatus.EXHAUSTED), progress=progress, memory=memory)
    row = state.row("host.example")
    counters = ("pages_crawled", "pages_discovered", "images_found", "images_stored", "total_error_count")
    assert [row[name] for name in counters] == [110, 30, 5, 4, 2]
    assert (row["crawl_depth_reached"], row["consecutive_error_count"]) == (7, 0)
    assert row["status"] is HostStatus.EXHAUSTED
    assert row["last_crawled_at"] == state.clock.now()
    assert row["next_crawl_after"] == state.clock.now() + timedelta(days=14)
    assert (row["claimed_by"], row["claim_expires_at"]) == (None, None)
    assert row["next_fetch_at"].timestamp() == memory.next_fetch_at
    assert (row["adaptive_delay_s"], row["last_start_at"].timestamp()) == (2.5, 1.0)
    (again,) = leases.take(["host.example"])
    assert again.memory == memory


def test_progress_adds_up_over_several_stretches(state: State) -> None:
    state.add("host.example")
    leases = state.leases()
    (lease,) = leases.claim(1)
    for depth in (3, 9, 5):
        with state.database.write() as connection:
            progress = HostProgress(pages_crawled=2, errors=1, depth_reached=depth, consecutive_errors=depth)
            leases.add_progress(connection, lease, progress, GateMemory())
    row = state.row("host.example")
    assert (row["pages_crawled"], row["total_error_count"], row["crawl_depth_reached"]) == (6, 3, 9)
    assert row["consecutive_error_count"] == 5
    assert row["claimed_by"] == leases.holder


def test_a_frontier_that_was_made_anew_never_counts_below_zero(state: State) -> None:
    state.add("host.example", frontier_size=1)
    leases = state.leases()
    (lease,) = leases.claim(1)
    sizes = []
    for queued in (-2, 3, -5):
        with state.database.write() as connection:
            leases.settle(connection, [(lease, HostProgress(queued=queued), GateMemory())])
        sizes.append(state.row("host.example")["frontier_size"])
        with state.database.write() as connection:
            leases.add_progress(connection, lease, HostProgress(queued=queued), GateMemory())
        sizes.append(state.row("host.example")["frontier_size"])
    assert sizes == [0, 0, 3, 6, 1, 0]


def test_the_refresh_time_can_be_set(state: State) -> None:
    state.add("host.example", status=HostStatus.ACTIVE)
    leases = state.leases(refresh_after=timedelta(days=2))
    leases.release(leases.claim(1)[0], ending=HostEnding(HostStatus.EXHAUSTED))
    assert state.row("host.example")["next_crawl_after"] == BEGINNING + timedelta(days=2)


def test_an_unclean_end_is_remembered_until_a_request_has_waited_for_it(state: State) -> None:
    """The gate clears it; a holder that gives back without having asked for anything leaves it to the next."""
    state.add("host.example")
    state.leases("dead").claim(1)
    state.clock.advance(minutes=31)
    ended = (BEGINNING + timedelta(minutes=30)).timestamp()
    leases = state.leases()
    for memory in (None, "as it came"):
        (lease,) = leases.claim(1)
        assert lease.memory.unclean_end_at == ended
        leases.release(lease, memory=lease.memory if memory else None)
    (lease,) = leases.claim(1)
    assert lease.memory.unclean_end_at == ended
    leases.release(lease, memory=lease.memory._replace(unclean_end_at=None))
    (lease,) = leases.claim(1)
    assert lease.memory.unclean_end_at is None


def _in_transaction(write: Callable[[Leases, Any, Lease], None]) -> Callable[[Leases, Lease, State], None]:
    def act(leases: Leases, lease: Lease, state: State) -> None:
        with state.database.write() as connection:
            write(leases, connection, lease)

    return act


LATE_WRITES: dict[str, Callable[[Leases, Lease, State], None]] = {
    "release": lambda leases, lease, _: leases.release(
        lease,
        ending=HostEnding(HostStatus.BLOCKED, BlockReason.FORBIDDEN),
        progress=HostProgress(pages_crawled=99),
        memory=GateMemory(backoff_step=9),
    ),
    "bare release": lambda leases, lease, _: leases.release(lease),
    "write": _in_transaction(lambda leases, connection, lease: leases.write(connection, lease, {"source": "late"})),
    "empty write": _in_transaction(lambda leases, connection, lease: leases.write(connection, lease, {})),
    "progress": _in_transaction(
        lambda leases, connection, lease: leases.add_progress(
            connection, lease, HostProgress(pages_crawled=99), GateMemory(backoff_step=9)
        )
    ),
    "begin": lambda leases, lease, _: leases.begin(lease, None),
}


@pytest.mark.parametrize("moment", ["over", "taken by another", "taken again by ourselves", "given back", "host gone"])
@pytest.mark.parametrize("write", LATE_WRITES)
def test_a_late_hand_changes_nothing(state: State, write: str, moment: str) -> None:
    state.add("host.example")
    state.add("bystander.example")
    late = state.leases()
    (lease,) = late.take(["host.example"])
    if moment == "given back":
        late.release(lease)
    elif moment == "host gone":
        with state.database.write() as connection:
            connection.execute(domains.delete().where(domains.c.domain == "host.example"))
    else:
        state.clock.advance(minutes=30)
    if moment == "taken by another":
        state.leases().take(["host.example"])
    elif moment == "taken again by ourselves":
        late.take(["host.example"])
    rows = everything(state)
    with pytest.raises(LeaseLost, match=r"host\.example.*nothing was written"):
        LATE_WRITES[write](late, lease, state)
    assert everything(state) == rows


def test_a_late_heartbeat_changes_nothing(state: State) -> None:
    state.add("host.example")
    late = state.leases()
    (lease,) = late.claim(1)
    state.clock.advance(minutes=30)
    state.leases().claim(1)
    rows = everything(state)
    assert late.heartbeat() == [lease]
    assert everything(state) == rows


def test_a_token_is_not_enough_without_the_holder_nor_the_holder_without_the_token(state: State) -> None:
    state.add("host.example")
    leases = state.leases()
    (lease,) = leases.claim(1)
    rows = everything(state)
    for wrong in (replace(lease, holder="somebody"), replace(lease, token=lease.token + 1)):
        with pytest.raises(LeaseLost):
            leases.release(wrong)
    assert everything(state) == rows
    leases.release(lease)


def test_a_lost_lease_does_not_undo_what_else_the_transaction_holds(state: State) -> None:
    for host in ("lost.example", "kept.example"):
        state.add(host)
    leases = state.leases()
    by_name = {lease.host: lease for lease in leases.claim(2)}
    with state.database.write() as connection:
        with pytest.raises(LeaseLost):
            leases.write(connection, replace(by_name["lost.example"], token=99), {"source": "late"})
        leases.write(connection, by_name["kept.example"], {"source": "in time"})
    assert state.row("kept.example")["source"] == "in time"
    assert state.row("lost.example")["source"] is None


def test_it_can_be_asked_which_leases_hold(state: State) -> None:
    for number in range(4):
        state.add(f"host{number}.example")
    leases = state.leases()
    held = leases.claim(4)
    leases.release(held[0])
    asked = [held[0], held[1], replace(held[2], token=99), replace(held[3], holder="somebody")]
    with state.database.write() as connection:
        assert leases.still_held(connection, asked) == {held[1].host_id}
        assert leases.still_held(connection, []) == set()
    with state.database.write() as connection:
        state.clock.advance(minutes=30)
        assert leases.still_held(connection, held) == set()
    assert leases.held == []


def test_asking_after_an_old_lease_does_not_forget_the_new_one(state: State) -> None:
    state.add("host.example")
    leases = state.leases()
    (old,) = leases.claim(1)
    state.clock.advance(minutes=31)
    (new,) = leases.claim(1)
    with state.database.write() as connection:
        assert leases.still_held(connection, [old]) == set()
    assert leases.held == [new]


def test_settling_many_hosts_writes_what_progress_writes_for_one(state: State) -> None:
    progress = HostProgress(
        pages_crawled=3, pages_discovered=9, images_found=5, images_stored=4, errors=2, depth_reached=6
    )
    memory = GateMemory(
        next_fetch_at=BEGINNING.timestamp() + 1.25,
        blocked_until=BEGINNING.timestamp() + 60,
        backoff_step=2,
        adaptive_delay_s=0.75,
        latency_baseline_s=0.1,
        latency_recent_s=0.2,
        unclean_end_at=BEGINNING.timestamp() - 5,
        last_start_at=BEGINNING.timestamp() + 0.000001,
    )
    stretches = [
        (progress, memory),
        (replace(progress, depth_reached=2, consecutive_errors=7), GateMemory()),
        (HostProgress(), memory),
        (HostProgress(consecutive_errors=0), GateMemory()),
    ]
    leases = state.leases()
    for host in ("one.example", "many.example"):
        state.add(host, pages_crawled=100, crawl_depth_reached=4, consecutive_error_count=3, images_stored=1)
    one, many = leases.take(["one.example"])[0], leases.take(["many.example"])[0]
    own_columns = {"id", "domain", "parent_domain", "first_seen_at", "updated_at"}
    for each in stretches:
        with state.database.write() as connection:
            leases.add_progress(connection, one, *each)
            leases.settle(connection, [(many, *each)])
        rows = [state.row(host) for host in ("one.example", "many.example")]
        first, second = ({name: row[name] for name in row.keys() - own_columns} for row in rows)
        assert second == first


def test_memories_alone_are_kept_many_at_once(state: State) -> None:
    memories = [
        GateMemory(1.0, 2.5, backoff_step=3, adaptive_delay_s=0.5, latency_baseline_s=0.25, latency_recent_s=0.125),
        GateMemory(unclean_end_at=7.0, last_start_at=8.000001),
    ]
    leases = state.leases()
    for host in ("one.example", "two.example", "three.example"):
        state.add(host, pages_crawled=5)
    held = leases.take(["one.example", "two.example"])
    others = {name: row for name, row in state.row("three.example").items() if name != "updated_at"}
    with state.database.write() as connection:
        leases.keep_memories(connection, list(zip(held, memories, strict=True)))
        stale = replace(held[0], token=held[0].token + 1)
        leases.keep_memories(connection, [(stale, GateMemory(backoff_step=9))])
        leases.keep_memories(connection, [])
    assert [state.row(lease.host)["pages_crawled"] for lease in held] == [5, 5]
    assert {name: row for name, row in state.row("three.example").items() if name != "updated_at"} == others
    for lease in held:
        leases.release(lease)
    again = {lease.host: lease.memory for lease in leases.take([lease.host for lease in held])}
    assert [again[lease.host] for lease in held] == memories


def test_settling_under_a_token_that_has_passed_changes_nothing(state: State) -> None:
    for host in ("host.example", "other.example"):
        state.add(host)
    late = state.leases()
    lost, kept = late.take(["host.example"])[0], late.take(["other.example"])[0]
    state.clock.advance(minutes=20)
    late.heartbeat()
    with state.database.write() as connection:
        connection.execute(domains.update().where(domains.c.domain == lost.host).values(claim_expires_at=BEGINNING))
    state.leases().take(["host.example"])
    before = state.row("host.example")
    with state.database.write() as connection:
        assert late.still_held(connection, [lost, kept]) == {kept.host_id}
        rows = [(lease, HostProgress(pages_crawled=9), GateMemory(backoff_step=9)) for lease in (lost, kept)]
        late.settle(connection, rows)
        late.settle(connection, [])
    assert state.row("host.example") == before
    assert state.row("other.example")["pages_crawled"] == 9
