"""When Redis has lost a host altogether, its frontier is made anew from what the database knows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import redis
from sqlalchemy import event, insert, select, update

from comity.clock import SystemClock
from comity.database.connection import Database
from comity.database.tables import DONE, QUEUED, domains, fetches, frontier_epochs, sitemaps
from comity.frontier.redis.layout import LAYOUT
from comity.frontier.redis.link import RedisTerms
from comity.frontier.redis.store import RedisFrontier
from comity.frontier.sql_store import SqlFrontier
from comity.frontier.store import FrontierUnavailable
from comity.model.frontier import GUESSED_SCHEME_PRIORITY, FoundBy
from comity.model.host import HostStatus
from comity.model.sitemap import ChangeFrequency, PageHints
from comity.operate.move_frontier import move_frontier_back
from comity.operate.seeds import add_seeds
from comity.rules.seed_list import read_seed
from tests.database.states import MovedClock
from tests.frontier.rooms import NOW, Room, entry, key_of
from tests.frontier.test_redis_crashes import story
from tests.frontier.valkeys import until, whole


@pytest.fixture(params=["sqlite", "postgresql"])
def room(request: pytest.FixtureRequest, redis_url: str) -> Iterator[Room]:
    wanted = "embedded_database" if request.param == "sqlite" else "shared_database"
    database: Database = request.getfixturevalue(wanted)
    store = RedisFrontier(database, redis_url, MovedClock(), RedisTerms(is_durable=False))
    yield Room(database, store)
    store.close()


def visited(room: Room, path: str, outcome: str, minutes: int = 0) -> None:
    url = entry(path).url
    values: dict[str, Any] = {
        "domain_id": room.host,
        "domain": "a.example",
        "page_url": url,
        "url_key": key_of(path),
        "outcome": outcome,
        "depth": len(path),
        "crawled_at": NOW + timedelta(minutes=minutes),
    }
    with room.database.write() as connection:
        connection.execute(insert(fetches).values(**values))


def crawled(room: Room, status: HostStatus) -> None:
    """A host of which some was visited, some only found; the journal holds nothing of it any more."""
    room.add(*map(entry, ["", "a", "bb", "gone", "again", "found"]))
    room.settle(done=[key_of(path) for path in ("", "a", "bb", "gone")])
    for minutes, (path, outcome) in enumerate(
        [
            ("", "fetched"),
            ("a", "failed"),
            ("gone", "gone"),
            ("a", "fetched"),
            ("bb", "not_modified"),
            ("again", "failed"),
        ]
    ):
        visited(room, path, outcome, minutes)
    with room.database.write() as connection:
        for step in dict.fromkeys([HostStatus.ACTIVE, status]):
            connection.execute(update(domains).where(domains.c.id == room.host).values(status=step))
        row = {"domain_id": room.host, "url_key": 1, "url": "https://a.example/sitemap.xml", "state": "read"}
        connection.execute(insert(sitemaps).values(row))
    room.store.recover()


def lose(url: str) -> None:
    with redis.Redis.from_url(url) as client:
        client.flushdb()


def sitemaps_known(room: Room) -> int:
    with room.database.read() as connection:
        return len(connection.execute(select(sitemaps)).all())


def test_pages_are_visited_again_because_lost_urls_were_found_on_them(room: Room, redis_url: str) -> None:
    crawled(room, HostStatus.ACTIVE)
    lose(redis_url)
    assert room.paths() == ["", "a", "bb", "again"], "pages by their depth, and what failed last"
    assert room.store.states(room.host) == {QUEUED: 4, DONE: 1}
    assert room.store.find([room.host], key_of("gone")).state == DONE
    assert room.store.find([room.host], key_of("bb")).depth == 2
    assert sitemaps_known(room) == 0, "they are read again, too"
    assert room.add(entry("found"), entry("gone")) == 1


def test_a_host_that_was_exhausted_had_nothing_left_to_find(room: Room, redis_url: str) -> None:
    crawled(room, HostStatus.EXHAUSTED)
    lose(redis_url)
    assert room.store.states(room.host) == {DONE: 5}
    assert sitemaps_known(room) == 1
    with room.store.change() as change:
        assert change.requeue_all(room.host) == 5
    assert room.store.size(room.host) == 5


def test_whoever_remembers_links_hears_once_that_a_host_was_rebuilt(room: Room, redis_url: str) -> None:
    room.add(entry("x"), entry("y"))
    room.store.recover()
    assert not room.store.take_rebuilt()
    lose(redis_url)
    room.store.states(room.host)
    assert set(room.store.take_rebuilt()) == {room.host}
    assert not room.store.take_rebuilt()


def test_a_redis_that_has_nothing_of_a_state_is_seen(room: Room, redis_url: str) -> None:
    """It lost everything, or it is not the one that was meant."""
    assert not room.store.is_blank(), "there is nothing to be missed yet"
    room.add(entry("x"))
    until(lambda: room.store.recover() == 0)
    assert not room.store.is_blank()
    lose(redis_url)
    assert room.store.is_blank()
    room.paths()
    assert not room.store.is_blank(), "it was made anew"


def test_all_that_is_known_comes_back_into_the_tables(room: Room, redis_url: str) -> None:
    story(room)
    hints = PageHints(NOW, ChangeFrequency.DAILY, 0.9)
    room.settle(links=[entry("hinted", hints=hints)], done=[key_of(str(number)) for number in range(100, 900)])
    second = room.new_host("second.example")
    room.add(entry("of-the-second"), host=second)
    before = [whole(room.store, host) for host in (room.host, second)]
    assert isinstance(room.store, RedisFrontier)
    moved = move_frontier_back(room.database, MovedClock(NOW), room.store)
    assert moved == sum(sum(told["states"].values()) for told in before)
    assert [whole(SqlFrontier(room.database), host) for host in (room.host, second)] == before
    assert move_frontier_back(room.database, MovedClock(NOW), room.store) == 0
    with redis.Redis.from_url(redis_url) as client:
        assert [name for name in client.scan_iter(count=1000) if b"{" in name] == []


def test_seeds_of_many_hosts_take_few_questions(room: Room, redis_url: str) -> None:
    asked: list[str] = []
    event.listen(room.database.engine, "before_cursor_execute", lambda *told: asked.append(told[2]))
    seeds = [read_seed(f"https://h{number}.example/begin") for number in range(400)]
    for turn in (1, 2):
        more = [read_seed(f"https://h{number}.example/{turn}") for number in range(400)]
        report = add_seeds(room.database, SystemClock(), [*seeds, *more], frontier=room.store)
        assert (report.hosts_new, report.urls_queued) == ((400, 800) if turn == 1 else (0, 400))
        assert len(asked) < 40, "not one for each host"
        asked.clear()


def test_the_root_is_queued_where_nothing_was_visited(room: Room, redis_url: str) -> None:
    room.add(entry("deep/page"))
    room.store.recover()
    lose(redis_url)
    assert room.paths() == [""]
    with room.store.reading() as reads:
        found = reads.find([room.host], key_of(""))
    assert found is not None
    assert (found.priority, found.found_by) == (GUESSED_SCHEME_PRIORITY, FoundBy.SEED), "as a seed without a scheme"


def test_what_is_in_the_journal_comes_on_top(room: Room, redis_url: str) -> None:
    crawled(room, HostStatus.ACTIVE)
    lose(redis_url)
    assert room.settle(links=[entry("new", 9)], done=[key_of("a")]) == 1
    assert room.paths() == ["", "bb", "again", "new"]


def test_a_change_that_meets_a_lost_host_is_committed_and_the_host_is_rebuilt_after(room: Room, redis_url: str) -> None:
    crawled(room, HostStatus.ACTIVE)
    with room.store.change() as change:
        lose(redis_url)
        assert change.add(room.host, None, [entry("a"), entry("new", 9)]) == 2, "nobody can tell old from new now"
    assert room.paths() == ["", "a", "bb", "again", "new"]


def test_a_redis_that_went_back_in_time_further_than_the_journal_is_not_believed(room: Room, redis_url: str) -> None:
    crawled(room, HostStatus.ACTIVE)
    with redis.Redis.from_url(redis_url) as client:
        client.hset(f"{LAYOUT}:{{{room.host.hex}}}", "applied", 1)
    assert room.paths() == ["", "a", "bb", "again"]


def test_a_rebuild_that_was_cut_off_is_begun_anew(room: Room, redis_url: str) -> None:
    crawled(room, HostStatus.ACTIVE)
    with redis.Redis.from_url(redis_url) as client:
        client.hset(f"{LAYOUT}:{{{room.host.hex}}}", "applied", -1)
    assert room.paths() == ["", "a", "bb", "again"]


def test_only_one_worker_rebuilds_a_host(room: Room, redis_url: str) -> None:
    crawled(room, HostStatus.ACTIVE)
    lose(redis_url)
    with redis.Redis.from_url(redis_url) as client:
        client.set(f"{LAYOUT}:{{{room.host.hex}}}:building", "somebody else", px=60_000)
        with pytest.raises(FrontierUnavailable, match="another worker"):
            room.paths()
        client.delete(f"{LAYOUT}:{{{room.host.hex}}}:building")
    assert len(room.paths()) == 4


def test_a_worker_that_remembers_the_life_before_sees_the_new_one(room: Room, redis_url: str) -> None:
    crawled(room, HostStatus.ACTIVE)
    other = RedisFrontier(room.database, redis_url, MovedClock(), RedisTerms(is_durable=False))
    assert other.size(room.host) == 2
    lose(redis_url)
    assert room.store.size(room.host) == 4
    with other.change() as change:
        assert change.add(room.host, None, [entry("by the other", 9)]) == 1
    assert room.paths()[-1] == "by the other"
    other.close()


def test_nothing_of_a_former_life_stays_in_redis(room: Room, redis_url: str) -> None:
    crawled(room, HostStatus.ACTIVE)
    with redis.Redis.from_url(redis_url) as client:
        client.hset(f"{LAYOUT}:{{{room.host.hex}}}", "applied", 1)
        room.paths()
        with room.database.read() as connection:
            epoch = connection.execute(select(frontier_epochs.c.epoch)).scalar_one()
        stem = f"{LAYOUT}:{{{room.host.hex}}}"
        assert all(name.decode() == stem or epoch in name.decode() for name in client.scan_iter())
        with room.store.change() as change:
            change.forget(room.host)
        assert list(client.scan_iter()) == []
