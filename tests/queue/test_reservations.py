"""A host is leased or reserved, never both; a client that dies leaves an unclean end."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import insert, select

from comity.database.ledger import ledger_notes
from comity.database.queue import reservations
from comity.database.queue.reservations import Hold, bot_holder, grant_holder
from comity.database.queue.tables import grants
from comity.model.gate import GateMemory
from comity.model.queue import JobStatus
from comity.rules.canonical import canonical_host
from tests.database.states import State
from tests.queue.queued import put_job

HOST = "shop.example"
A, B = bot_holder("a"), bot_holder("b")


def hold(state: State, holder: str, lasts_s: float = 600.0, memory: GateMemory | None = None) -> int:
    """Have a client hold the host; gives the token."""
    now = state.clock.seconds()
    with state.database.write() as connection:
        (row,) = reservations.lock_named(connection, [HOST])
        wanted = Hold(row, now + lasts_s, memory or row.memory_at(now), now)
        return reservations.hold(connection, [wanted], holder, now)[row.id]


def release(state: State, holder: str, token: int, memory: GateMemory | None = None) -> bool:
    now = state.clock.seconds()
    with state.database.write() as connection:
        (row,) = reservations.lock_named(connection, [HOST])
        found = memory or row.memory
        is_back = reservations.release_if_idle(
            connection, row.id, holder, found, token=token, queue_ready_at=now, now=now
        )
        return is_back()


def test_an_unseeded_host_gets_a_row_that_no_crawl_takes(state: State) -> None:
    with state.database.write() as connection:
        first = reservations.add_hosts(connection, [canonical_host("new.example"), canonical_host("b.example")])
        assert (
            reservations.add_hosts(connection, [canonical_host("new.example")])["new.example"] == first["new.example"]
        )
    assert state.row("new.example")["is_seeded"] is False
    assert state.row("new.example")["source"] == "queue"


def test_a_held_host_is_claimed_by_no_worker_and_a_leased_one_is_seen(state: State) -> None:
    state.add(HOST)
    token = hold(state, A)
    assert state.leases().take([HOST]) == []
    assert state.leases().claim(10) == []
    assert release(state, A, token)
    (lease,) = state.leases().take([HOST])
    assert lease.token == token + 1
    with state.database.write() as connection:
        (row,) = reservations.lock_named(connection, [HOST])
        assert row.is_held(state.clock.seconds())
        assert row.holder == lease.holder


def test_holding_again_keeps_the_token_and_the_turn(state: State) -> None:
    state.add(HOST)
    token, since = hold(state, A), state.clock.now()
    state.clock.advance(seconds=30)
    assert hold(state, A, lasts_s=10.0) == token
    row = state.row(HOST)
    assert row["claimed_at"] == since
    assert row["claim_expires_at"] == since + timedelta(seconds=600)  # no lock ends sooner than it was promised
    assert row["unclean_end_at"] is None


def test_a_host_is_given_back_when_its_last_job_or_grant_is_over(state: State) -> None:
    state.add(HOST)
    token = hold(state, A)
    put_job(state, f"https://{HOST}/1", JobStatus.LOCKED, bot="a")
    memory = GateMemory(next_fetch_at=state.clock.seconds() + 5)
    assert not release(state, A, token, memory)
    row = state.row(HOST)
    assert row["claimed_by"] == A
    assert row["next_fetch_at"] == state.clock.now() + timedelta(seconds=5)
    with state.database.write() as connection:
        connection.exec_driver_sql("UPDATE crawl_jobs SET status = 'done'")
        now = state.clock.now()
        connection.execute(
            insert(grants).values(
                domain_id=row["id"],
                client="c",
                url="https://shop.example/x",
                slot_at=now,
                slot_ends_at=now,
                slot={},
                lease_token=token,
                expires_at=now,
            )
        )
    assert not release(state, A, token)
    with state.database.write() as connection:
        connection.exec_driver_sql("DELETE FROM grants")
    assert not release(state, A, token - 1)  # an older lease
    assert not release(state, B, token)  # not the holder
    assert release(state, A, token)
    row = state.row(HOST)
    assert (row["claimed_by"], row["claim_expires_at"], row["queue_ready_at"]) == (None, None, None)
    assert row["unclean_end_at"] is None


def test_a_released_host_is_looked_at_again_while_jobs_wait(state: State) -> None:
    state.add(HOST)
    token = hold(state, A)
    put_job(state, f"https://{HOST}/1")
    assert release(state, A, token)
    assert state.row(HOST)["queue_ready_at"] == state.clock.now()


def test_a_lease_that_ran_out_is_an_unclean_end_for_the_next_holder(state: State) -> None:
    state.add(HOST)
    hold(state, A, lasts_s=60.0, memory=GateMemory(last_start_at=state.clock.seconds() + 1))
    ended = state.clock.now() + timedelta(seconds=60)
    state.clock.advance(seconds=60.5)
    with state.database.write() as connection:
        (row,) = reservations.lock_named(connection, [HOST])
    assert not row.is_held(state.clock.seconds())
    memory = row.memory_at(state.clock.seconds())
    assert memory.unclean_end_at == ended.timestamp()
    # The slots that were planned have waited for it; the ledger still has the gap.
    hold(state, B, memory=memory._replace(unclean_end_at=None))
    with state.database.read() as connection:
        (note,) = connection.execute(select(ledger_notes.c.kind, ledger_notes.c.valid_until)).all()
    assert tuple(note) == ("gap", ended)
    assert state.row(HOST)["unclean_end_at"] is None


def test_clients_that_died_are_swept_and_others_left_alone(state: State) -> None:
    state.add(HOST)
    state.add("crawled.example")
    state.add("granted.example")
    hold(state, A, lasts_s=60.0)
    (lease,) = state.leases().take(["crawled.example"])
    now = state.clock.seconds()
    with state.database.write() as connection:
        (row,) = reservations.lock_named(connection, ["granted.example"])
        reservations.hold(connection, [Hold(row, now + 90, row.memory, None)], grant_holder("c"), now)
    state.clock.advance(seconds=61)
    now = state.clock.seconds()
    with state.database.write() as connection:
        ids = [state.row(host)["id"] for host in (HOST, "crawled.example")]
        assert reservations.overdue(connection, now, 10) == ids[:1]
        assert reservations.end_uncleanly(connection, ids, now) == {ids[0]}
        assert reservations.end_uncleanly(connection, ids, now) == set()
    row_after = state.row(HOST)
    assert row_after["claimed_by"] is None
    assert row_after["unclean_end_at"] == state.clock.now() - timedelta(seconds=1)
    assert row_after["unclean_since"] == state.clock.now() - timedelta(seconds=61)
    assert state.row("crawled.example")["claimed_by"] == lease.holder


def test_a_host_is_extended_only_for_its_holder(state: State) -> None:
    state.add(HOST)
    hold(state, A, lasts_s=60.0)
    host_id = state.row(HOST)["id"]
    now = state.clock.seconds()
    with state.database.write() as connection:
        assert reservations.extend(connection, [host_id], A, now + 30, now) == {host_id}
        assert reservations.extend(connection, [host_id], B, now + 900, now) == set()
        assert reservations.extend(connection, [host_id], A, now + 120, now) == {host_id}
    assert state.row(HOST)["claim_expires_at"] == state.clock.now() + timedelta(seconds=120)
    state.clock.advance(seconds=121)
    later = state.clock.seconds()
    with state.database.write() as connection:
        assert reservations.extend(connection, [host_id], A, later + 30, later) == set()
