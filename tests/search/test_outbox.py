"""What changes is told to the engine: never lost, the latest last, whoever tells it and whatever goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from threading import Thread
from uuid import UUID

import pytest

from comity.model.errors import SearchUnavailable
from comity.model.search import SearchDocument, SearchQuery
from comity.operate.takedown import add_takedowns, remove_takedowns
from comity.search_engine.database_engine import DatabaseSearch
from comity.search_engine.job_search import JobSearch
from comity.search_engine.meilisearch import MeiliLink, MeiliSearch
from comity.upkeep.drain_outbox import Drained, OutboxDrain, retry_after_s
from tests.database.states import State
from tests.search.meili_stand_in import MeiliStandIn
from tests.search.outbox import add_postings, add_source, change, forget, rows, status
from tests.search.postings import found, numbers
from tests.servers.waiting import wait_until

EVERYTHING = SearchQuery(open_only=False, limit=100)


class Interfered(DatabaseSearch):
    """The engine of the state, with something that happens before or after it takes documents."""

    before: Callable[[], None] | None = None
    after: Callable[[], None] | None = None

    def put(self, documents: Sequence[SearchDocument]) -> None:
        if self.before is not None:
            act, self.before = self.before, None
            act()
        super().put(documents)
        if self.after is not None:
            act, self.after = self.after, None
            act()


@pytest.fixture
def sourced(state: State) -> State:
    add_source(state)
    return state


def drain_of(state: State, batch: int = 500) -> tuple[OutboxDrain, Interfered]:
    engine = Interfered(state.database)
    return OutboxDrain(state.database, state.clock, engine, batch=batch), engine


def served(state: State, text: str = "") -> set[int]:
    query = SearchQuery(text, open_only=False, limit=100)
    return numbers(DatabaseSearch(state.database).query(query, state.clock.now()))


def test_what_is_told_is_found_and_the_outbox_is_empty(sourced: State) -> None:
    add_postings(sourced, 1, 2, 3)
    drain, _ = drain_of(sourced, batch=2)
    assert drain.drain() == Drained(indexed=3)
    assert served(sourced, "engineer") == {1, 2, 3}
    assert rows(sourced) == []
    assert drain.drain() == Drained()
    (hit,) = DatabaseSearch(sourced.database).query(SearchQuery("number2"), sourced.clock.now()).hits
    assert hit.posting.source_url == "https://jobs.example/careers"
    assert hit.posting.mission_tags == ("health",)


def test_the_latest_wins_and_what_is_gone_is_forgotten(sourced: State) -> None:
    add_postings(sourced, 1, 2)
    drain, _ = drain_of(sourced)
    drain.drain()
    change(sourced, 1, title="Cook")
    change(sourced, 1, title="Baker")
    forget(sourced, 2)
    assert len(rows(sourced)) == 3
    assert drain.drain() == Drained(indexed=1, removed=1)
    assert (served(sourced), served(sourced, "baker"), served(sourced, "engineer")) == ({1}, {1}, set())


def test_a_closed_posting_is_found_only_by_who_asks_for_closed_ones(sourced: State) -> None:
    add_postings(sourced, 1)
    drain, engine = drain_of(sourced)
    drain.drain()
    change(sourced, 1, closed_at=sourced.clock.now())
    drain.drain()
    assert served(sourced) == {1}
    assert found(engine.query(SearchQuery(), sourced.clock.now())) == []


def test_an_engine_that_is_down_loses_nothing(sourced: State, meili: MeiliStandIn) -> None:
    engine = MeiliSearch(MeiliLink(meili.url, "a key"))
    drain = OutboxDrain(sourced.database, sourced.clock, engine, batch=2)
    add_postings(sourced, 1, 2, 3)
    meili.is_down = True
    first = drain.drain()
    assert (first.postponed, first.indexed) == (2, 0)
    assert "503" in str(first.error)
    waits = []
    for _ in range(4):
        sourced.clock.advance(seconds=3600)
        drain.drain()
        waits.append(max((row.next_attempt_at - sourced.clock.now()).total_seconds() for row in rows(sourced)[:2]))
    assert waits == [20, 40, 80, 160]
    assert [row.attempts for row in rows(sourced)] == [5, 5, 0]  # the third was never due first
    found_status = status(sourced)
    assert (found_status.pending, found_status.failing) == (3, 2)
    assert "out of service" in str(found_status.last_error)
    meili.is_down = False
    assert drain.drain() == Drained(indexed=1)  # the others wait for their time
    sourced.clock.advance(seconds=160)
    assert drain.drain() == Drained(indexed=2)
    assert numbers(engine.query(EVERYTHING, sourced.clock.now())) == {1, 2, 3}
    assert status(sourced) == type(found_status)(0, 0, None, None, None)


def test_the_wait_grows_to_an_hour_and_no_further() -> None:
    assert [retry_after_s(attempts) for attempts in (0, 1, 2, 8, 9, 10_000)] == [10, 20, 40, 2560, 3600, 3600]


def test_one_posting_that_is_refused_does_not_hold_up_the_others(sourced: State, meili: MeiliStandIn) -> None:
    engine = MeiliSearch(MeiliLink(meili.url, "a key"))
    drain = OutboxDrain(sourced.database, sourced.clock, engine)
    add_postings(sourced, 1, 2, 3)
    meili.refused_word = "number2"
    done = drain.drain()
    assert (done.indexed, done.postponed) == (2, 1)
    assert [(row.posting_id.int, row.attempts) for row in rows(sourced)] == [(2, 1)]
    assert numbers(engine.query(EVERYTHING, sourced.clock.now())) == {1, 3}


def test_an_engine_that_goes_while_postings_are_told_apart_is_not_waited_for_again(
    sourced: State, meili: MeiliStandIn
) -> None:
    engine = MeiliSearch(MeiliLink(meili.url, "a key"))
    engine.ensure()
    drain = OutboxDrain(sourced.database, sourced.clock, engine)
    add_postings(sourced, 1, 2, 3, 4)
    meili.refused_word, meili.puts_before_it_goes = "number3", 2  # all together, and the first by itself
    done = drain.drain()
    assert (done.indexed, done.postponed, meili.puts) == (1, 3, 3)
    assert len(rows(sourced)) == 3


def test_a_crash_after_the_engine_took_it_tells_it_again(sourced: State) -> None:
    def die() -> None:
        raise KeyboardInterrupt

    add_postings(sourced, 1, 2)
    drain, engine = drain_of(sourced)
    engine.after = die
    with pytest.raises(KeyboardInterrupt):
        drain.drain()
    assert served(sourced) == {1, 2}
    assert len(rows(sourced)) == 2
    assert drain.drain() == Drained()  # somebody has them, for all one knows
    sourced.clock.advance(seconds=301)
    assert drain.drain() == Drained(indexed=2)
    assert (served(sourced), rows(sourced)) == ({1, 2}, [])


def test_a_change_while_it_is_told_is_told_again(sourced: State) -> None:
    """Another drain has told the change already when ours comes with the older words."""
    add_postings(sourced, 1)
    slow, engine = drain_of(sourced)
    quick, _ = drain_of(sourced)

    def change_and_tell() -> None:
        change(sourced, 1, title="Baker")
        assert quick.drain() == Drained(indexed=1)

    engine.before = change_and_tell
    slow.drain()
    assert (served(sourced, "baker"), rows(sourced)) == ({1}, [])


def test_a_posting_that_goes_while_it_is_told_is_forgotten_again(sourced: State) -> None:
    add_postings(sourced, 1)
    slow, engine = drain_of(sourced)
    quick, _ = drain_of(sourced)

    def forget_and_tell() -> None:
        forget(sourced, 1)
        assert quick.drain() == Drained(removed=1)

    engine.before = forget_and_tell
    slow.drain()
    assert (served(sourced), rows(sourced)) == (set(), [])


def test_two_drains_at_once_are_harmless(sourced: State) -> None:
    add_postings(sourced, *range(1, 81))
    for number in range(1, 21):
        change(sourced, number, title="Baker")
    results: list[Drained] = []

    def work() -> None:
        results.append(drain_of(sourced, batch=7)[0].drain())

    threads = [Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == 2
    assert (served(sourced, "baker"), rows(sourced)) == (set(range(1, 21)), [])
    total = DatabaseSearch(sourced.database).query(EVERYTHING, sourced.clock.now()).total
    assert total == 80
    assert sum(result.indexed for result in results) <= 100


def test_a_takedown_holds_at_once_and_the_index_forgets(sourced: State) -> None:
    add_postings(sourced, 1, 2)
    add_postings(sourced, 3, apply_url="https://sub.other.example/3")
    add_postings(sourced, 4, apply_url="mailto:jobs@other.example")
    drain, engine = drain_of(sourced)
    drain.drain()
    search = JobSearch(sourced.database, sourced.clock, engine)
    assert numbers(search.query(SearchQuery())) == {1, 2, 3, 4}
    for entry, left in (("other.example", {1, 2, 4}), ("https://jobs.example/1", {2, 4})):
        add_takedowns(sourced.database, [entry])
        page = search.query(SearchQuery())
        assert (numbers(page), page.total) == (left, len(left))
    assert served(sourced) == {1, 2, 3, 4}  # the index has not heard of it yet
    drain.drain()
    assert served(sourced) == {2, 4}
    change(sourced, 3, title="Baker")
    drain.drain()
    assert served(sourced) == {2, 4}
    remove_takedowns(sourced.database, ["other.example"])
    drain.drain()
    assert served(sourced) == {2, 3, 4}  # closed until its source is read again
    add_takedowns(sourced.database, ["https://jobs.example/careers"])  # the page that lists them all
    assert search.query(SearchQuery()).hits == ()
    drain.drain()
    assert served(sourced) == set()


def test_a_rebuild_fills_the_index_anew(sourced: State) -> None:
    add_postings(sourced, 1, 2, 3, tell=False)
    drain, engine = drain_of(sourced, batch=2)
    add_postings(sourced, 9)
    drain.drain()
    forget(sourced, 9)
    seen: list[tuple[int, int]] = []
    assert drain.rebuild(lambda done, total: seen.append((done, total))) == Drained(indexed=3)
    assert seen == [(2, 3), (3, 3)]
    assert (served(sourced), rows(sourced)) == ({1, 2, 3}, [])

    def die() -> None:
        raise KeyboardInterrupt

    engine.after = die
    with pytest.raises(KeyboardInterrupt):
        drain.rebuild()
    sourced.clock.advance(seconds=301)
    drain.drain()
    assert (served(sourced), rows(sourced)) == ({1, 2, 3}, [])


async def test_it_serves_until_it_is_stopped_and_tells_a_trouble_once(sourced: State, meili: MeiliStandIn) -> None:
    engine = MeiliSearch(MeiliLink(meili.url, "a key"))
    drain = OutboxDrain(sourced.database, sourced.clock, engine)
    stopping, troubled = asyncio.Event(), asyncio.Event()
    troubles: list[str] = []

    def on_trouble(sentence: str) -> None:
        troubles.append(sentence)
        troubled.set()

    meili.is_down = True
    add_postings(sourced, 1)
    serving = asyncio.create_task(drain.serve(stopping, every_s=0.01, on_trouble=on_trouble))
    async with asyncio.timeout(60):
        await troubled.wait()
        meili.is_down = False
        sourced.clock.advance(seconds=60)
        await asyncio.to_thread(wait_until, lambda: not rows(sourced), 60, "an empty outbox")
        stopping.set()
        await serving
    assert len(troubles) == 1
    assert numbers(engine.query(EVERYTHING, sourced.clock.now())) == {1}


def test_a_posting_told_of_but_never_there_is_no_trouble(sourced: State) -> None:
    forget(sourced, 12)
    drain, engine = drain_of(sourced)
    assert drain.drain() == Drained(removed=1)
    assert engine.query(EVERYTHING, sourced.clock.now()).total == 0
    with pytest.raises(SearchUnavailable, match="cannot be reached"):
        MeiliSearch(MeiliLink("http://127.0.0.1:1")).delete([UUID(int=1)])
