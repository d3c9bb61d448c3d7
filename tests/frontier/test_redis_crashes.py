"""A frontier in Redis loses nothing: not when Redis dies, not when it comes back without its last writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from comity.database.connection import Database
from comity.database.tables import frontier_journal
from comity.frontier.redis.layout import LAYOUT
from comity.frontier.redis.link import RedisLink
from comity.frontier.store import FrontierUnavailable, HostSettlement, PutBack
from tests.database.states import MovedClock
from tests.frontier.rooms import NOW, Room, entry, key_of
from tests.frontier.valkeys import ChosenValkey, frontier_at, until, whole
from tests.sizes import sized


@pytest.fixture
def server() -> Iterator[ChosenValkey]:
    with ChosenValkey() as running:
        yield running


@pytest.fixture
def room(server: ChosenValkey, embedded_database: Database) -> Iterator[Room]:
    store = frontier_at(server, embedded_database)
    yield Room(embedded_database, store)
    store.close()


def rows(room: Room) -> int:
    with room.database.read() as connection:
        return connection.execute(select(func.count()).select_from(frontier_journal)).scalar_one()


def work(room: Room, turn: int) -> None:
    """A little of everything."""
    room.settle(
        links=[entry(f"{turn}/{number}", number % 3, number % 2) for number in range(100)],
        done=[key_of(f"{turn - 1}/{number}") for number in range(40)],
        dropped=[key_of(f"{turn - 1}/{number}") for number in range(40, 50)],
        put_back=[PutBack(key_of(f"{turn - 1}/{number}"), NOW.timestamp() + number, 1) for number in range(50, 60)],
    )


def test_a_redis_that_is_killed_comes_back_with_everything(room: Room, server: ChosenValkey) -> None:
    for turn in range(10):
        work(room, turn)
    before = whole(room.store, room.host)
    server.kill()
    server.start()
    assert whole(room.store, room.host) == before
    assert before["states"] == {0: 550, 1: 360, 2: 90}


def test_the_journal_lets_go_of_what_is_on_disk(room: Room) -> None:
    for turn in range(5):
        work(room, turn)
    until(lambda: not room.store.tidy())  # type: ignore[attr-defined]
    assert rows(room) == 0
    work(room, 5)
    assert rows(room) == 1


def test_a_crawl_that_goes_on_lets_go_of_its_batches_by_the_way(room: Room, server: ChosenValkey) -> None:
    clock = MovedClock()
    store = frontier_at(server, room.database, clock)
    for turn in range(6):
        work(Worked(room, store), turn)
        clock.advance(seconds=1)
        assert rows(room) == 1, "the one before is on disk when the next one comes"
    store.close()


def test_a_batch_that_comes_twice_counts_once(room: Room, server: ChosenValkey) -> None:
    store = frontier_at(server, room.database, replicas=1)  # nothing leaves the journal
    for turn in range(4):
        work(Worked(room, store), turn)
    with store.change() as change:
        change.requeue_all(room.host)
    work(Worked(room, store), 4)
    before = whole(store, room.host)
    following = store._replication
    with room.database.read() as connection:
        kept = connection.execute(select(frontier_journal).order_by(frontier_journal.c.batch)).all()
    mark = following.mark(room.host)
    assert mark is not None
    assert len(kept) == mark.batch == 6
    for batches in (kept, kept[::-1], kept[2:4]):
        assert following.apply(room.host, mark.epoch, [(row.batch, row.payload) for row in batches])
        with server.client() as client:
            assert client.hget(f"{LAYOUT}:{{{room.host.hex}}}", "applied") == b"6", "it does not even look applied anew"
        assert whole(store, room.host) == before
    store.close()


@pytest.mark.parametrize("option", [("--appendfsync", "everysec"), ("--rename-command", "WAITAOF", "")])
def test_a_log_that_is_synced_every_second_is_given_time(embedded_database: Database, option: tuple[str, ...]) -> None:
    with ChosenValkey(*option, "--appendfsync", "everysec") as server:
        store = frontier_at(server, embedded_database, grace_s=0.6)
        room = Room(embedded_database, store)
        work(room, 0)
        work(room, 1)
        assert store.tidy()
        assert rows(room) == 2
        until(lambda: not store.tidy())
        assert rows(room) == 0
        store.close()


def test_a_log_that_is_never_synced_lets_go_of_nothing(embedded_database: Database) -> None:
    with ChosenValkey("--appendfsync", "no") as server:
        store = frontier_at(server, embedded_database, grace_s=0.0)
        room = Room(embedded_database, store)
        work(room, 0)
        for _ in range(3):
            assert store.tidy()
        assert rows(room) == 1
        store.close()


@pytest.mark.parametrize("seen_before", [True, False], ids=["the same process goes on", "another process takes over"])
def test_last_writes_that_redis_lost_come_from_the_journal(
    room: Room, server: ChosenValkey, tmp_path: Path, seen_before: bool
) -> None:
    for turn in range(5):
        work(room, turn)
    until(lambda: not room.store.tidy())  # type: ignore[attr-defined]
    server.copy_log(tmp_path / "log")
    # No replica will ever confirm: the journal keeps what comes now, as if the disk had not synced yet.
    store = frontier_at(server, room.database, replicas=1)
    for turn in range(5, 8):
        work(Worked(room, store), turn)
    with store.change() as change:
        change.requeue_all(room.host)
    for turn in range(8, 10):
        work(Worked(room, store), turn)
    before = whole(store, room.host)
    server.kill()
    server.put_log(tmp_path / "log")
    server.start()
    if not seen_before:
        store.close()
        store = frontier_at(server, room.database, replicas=1)
        store.prepare_hosts([room.host])
    with server.client() as client:
        assert seen_before or client.hget(f"{LAYOUT}:{{{room.host.hex}}}", "applied") == b"11"
    assert whole(store, room.host) == before
    assert rows(room) == 6, "nothing is let go of before it is on disk"
    store.close()


class Worked(Room):
    """The same host in another hand."""

    def __init__(self, room: Room, store: Any) -> None:
        self.database, self.store, self.host = room.database, store, room.host


def test_a_connection_that_broke_confirms_nothing(room: Room, server: ChosenValkey, tmp_path: Path) -> None:
    with server.client() as client:
        client.config_set("appendfsync", "everysec")
    server.copy_log(tmp_path / "log")
    work(room, 0)
    before = whole(room.store, room.host)
    room.store.tidy()  # type: ignore[attr-defined]  # the mark is set and not confirmed
    server.kill()
    server.put_log(tmp_path / "log")
    server.start()
    until(lambda: not room.store.tidy())  # type: ignore[attr-defined]
    assert rows(room) == 0
    with server.client() as client:
        assert client.hget(f"{LAYOUT}:{{{room.host.hex}}}", "known") == b"100"
    assert whole(room.store, room.host) == before


def test_an_empty_redis_is_filled_from_a_journal_that_holds_everything(server: ChosenValkey, room: Room) -> None:
    store = frontier_at(server, room.database, replicas=1)
    for turn in range(5):
        work(Worked(room, store), turn)
    before = whole(store, room.host)
    with server.client() as client:
        client.flushall()
    assert whole(store, room.host) == before
    store.close()


def test_a_change_stands_when_redis_dies_before_it_is_told(room: Room, server: ChosenValkey) -> None:
    work(room, 0)
    with room.store.change() as change:
        change.settle(room.host, None, HostSettlement([entry("new", 0, 9)], done=[key_of("0/1")]))
        server.kill()
    with pytest.raises(FrontierUnavailable, match="cannot be used"):
        room.store.peek(room.host, 5, NOW)
    with pytest.raises(FrontierUnavailable), room.store.change({room.host: [entry("x")]}):
        raise AssertionError("it must not begin")
    server.start()
    assert room.paths(1) == ["new"]
    assert room.store.find([room.host], key_of("0/1")).state == 1


def test_what_a_dead_worker_left_is_finished_by_the_next(room: Room, server: ChosenValkey) -> None:
    work(room, 0)
    with room.store.change() as change:
        change.settle(room.host, None, HostSettlement([entry("new", 0, 9)], done=[key_of("0/1")]))
        server.kill()
    server.start()
    second = frontier_at(server, room.database)
    assert second.recover() == 1
    assert [each.url for each in second.peek(room.host, 1, NOW)] == ["https://a.example/new"]
    until(lambda: not second.tidy())
    assert rows(room) == 0
    second.close()


class Brittle(RedisLink):
    """A line that breaks once: at the given call, before or after the server has done what it was asked."""

    calls = 0
    breaks_at = -1
    is_after = False

    def run(self, name: str, stem: str, *arguments: Any) -> Any:
        return self._broken(lambda: RedisLink.run(self, name, stem, *arguments))

    def run_many(self, calls: Any) -> Any:
        return self._broken(lambda: RedisLink.run_many(self, calls))

    def commands(self, commands: Any) -> Any:
        return self._broken(lambda: RedisLink.commands(self, commands))

    def _broken(self, call: Any) -> Any:
        Brittle.calls += 1
        if Brittle.calls - 1 == Brittle.breaks_at:
            if Brittle.is_after:
                call()
            raise FrontierUnavailable("broken")
        return call()


def story(room: Room) -> None:
    """Every kind of change, each tried until it is taken."""
    other = room.new_host("www.a.example")
    steps: list[Any] = [
        lambda change: change.add(room.host, None, [entry(f"{number}") for number in range(1500)]),
        lambda change: change.settle(
            room.host,
            None,
            HostSettlement(
                [entry("x", 1), entry("3")],
                [key_of(str(number)) for number in range(1200)],
                put_back=[PutBack(key_of("1300"), NOW.timestamp() + 5, 1)],
            ),
        ),
        lambda change: change.add(other, None, [entry("1"), entry("o", 2), entry("p", 2)]),
        lambda change: change.settle(other, None, HostSettlement(done=[key_of("o")])),
        lambda change: change.move(other, room.host),
        lambda change: change.requeue_all(room.host),
        lambda change: change.change_state(room.host, [key_of("7"), key_of("8")], 0, 2),
        lambda change: change.settle(
            room.host, None, HostSettlement(put_back=[PutBack(key_of("9"), NOW.timestamp() + 7, 1)])
        ),
    ]
    for step in steps:
        for _ in range(3):
            try:
                with room.store.change() as change:
                    step(change)
                break
            except FrontierUnavailable:
                continue
        else:
            raise AssertionError("it breaks once only")


@pytest.mark.parametrize("is_after", [False, True], ids=["before the call", "after the call"])
def test_a_line_that_breaks_at_any_call_changes_nothing_in_the_end(
    room: Room, server: ChosenValkey, monkeypatch: pytest.MonkeyPatch, is_after: bool
) -> None:
    monkeypatch.setattr("comity.frontier.redis.store.RedisLink", Brittle)

    calls: list[int] = []

    def told(breaks_at: int) -> dict[str, Any]:
        Brittle.calls, Brittle.breaks_at, Brittle.is_after = 0, breaks_at, is_after
        again = Worked(room, frontier_at(server, room.database))
        again.host = again.new_host(f"h{breaks_at}{is_after}.example")
        again.new_host = lambda name: room.new_host(f"{breaks_at}{is_after}.{name}")  # type: ignore[method-assign]
        story(again)
        calls.append(Brittle.calls)
        Brittle.breaks_at = -1
        again.store.close()
        fresh = frontier_at(server, room.database)
        fresh.prepare_hosts([again.host])
        found = whole(fresh, again.host)
        fresh.close()
        return found

    wanted = told(-1)
    assert wanted["states"] == {0: 1501, 2: 2}
    assert calls[0] > 20
    for breaks_at in range(sized(int(is_after), 0), calls[0], sized(2, 1)):  # half before, half after
        assert told(breaks_at) == wanted, f"broken at call {breaks_at}"
