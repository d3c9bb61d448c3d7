"""Work that waits together is committed together, and stays apart where one piece is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError, OperationalError

from comity.clock import SystemClock
from comity.database.connection import Database
from comity.model.errors import StateUnavailable
from comity.model.queue import BotError, BotRefused
from comity.walk.bots.threads import TransactionThread


def _bots(database: Database) -> list[str]:
    with database.read() as connection:
        return list(connection.execute(text("SELECT bot_id FROM bots ORDER BY bot_id")).scalars())


def _add(connection: Connection, name: str) -> str:
    connection.execute(text("INSERT INTO bots (bot_id) VALUES (:name)"), {"name": name})
    return name


def test_what_waits_together_is_committed_together(database: Database) -> None:
    """A shared state commits each piece by itself: two in one transaction would lock rows in any order."""

    def refuse(connection: Connection, _now: float) -> str:
        _add(connection, "refused")
        raise BotRefused(BotError.NOT_ASSIGNED, "no")

    async def run() -> None:
        thread, busy, goes_on = TransactionThread("test", database, SystemClock()), Event(), Event()

        def keep_busy() -> None:
            busy.set()
            goes_on.wait(30)

        first = asyncio.create_task(thread.run(keep_busy))
        await asyncio.to_thread(busy.wait, 30)
        works = [lambda connection, _now, name=name: _add(connection, name) for name in ("a", "b")]
        waiting = [asyncio.create_task(thread.transact(work)) for work in (*works, refuse)]
        await asyncio.sleep(0)  # each is in the queue
        goes_on.set()
        assert await asyncio.gather(*waiting[:2]) == ["a", "b"]
        with pytest.raises(BotRefused, match="no"):
            await waiting[2]
        await first
        assert thread.committed == (2 if database.is_shared else 1)
        thread.close()

    asyncio.run(run())
    assert _bots(database) == ["a", "b"]


def test_a_fault_of_one_does_not_touch_the_others(embedded_database: Database) -> None:
    """Neither one of ours nor one of a statement: SQLite refuses that, and the transaction goes on."""

    def fail(connection: Connection, _now: float) -> str:
        _add(connection, "failed")
        raise RuntimeError("a fault")

    def break_the_rules(connection: Connection, _now: float) -> str:
        return _add(connection, "a")  # which is there

    def ask_wrongly(connection: Connection, _now: float) -> str:
        _add(connection, "wrong")
        return str(connection.execute(text("SELECT nothing FROM nowhere")).scalar())

    async def run() -> list[object]:
        thread, goes_on = TransactionThread("test", embedded_database, SystemClock()), Event()
        first = asyncio.create_task(thread.run(lambda: goes_on.wait(30)))
        await asyncio.sleep(0)
        works = [lambda connection, _now, name=name: _add(connection, name) for name in ("a", "b")]
        asked = (works[0], fail, break_the_rules, ask_wrongly, works[1])
        waiting = [asyncio.create_task(thread.transact(work)) for work in asked]
        await asyncio.sleep(0)
        goes_on.set()
        found = await asyncio.gather(*waiting, return_exceptions=True)
        await first
        thread.close()
        assert thread.committed == 1
        return list(found)

    done, fault, refused, wrong, also = asyncio.run(run())
    assert (done, str(fault), type(refused), also) == ("a", "a fault", IntegrityError, "b")
    assert isinstance(wrong, OperationalError)
    assert _bots(embedded_database) == ["a", "b"]


def test_where_the_state_fails_no_piece_counts_as_done(embedded_database: Database) -> None:
    """SQLite ends the whole transaction when the disk is full, with what the others did in it."""

    def fill_the_disk(connection: Connection, _now: float) -> str:
        pages = connection.execute(text("PRAGMA page_count")).scalar_one()
        connection.execute(text(f"PRAGMA max_page_count = {pages}"))
        try:
            connection.execute(text("CREATE TABLE large AS SELECT zeroblob(1000000) AS x"))
        finally:
            connection.execute(text("PRAGMA max_page_count = 1000000000"))
        return "never"

    thread = TransactionThread("test", embedded_database, SystemClock())
    with pytest.raises(StateUnavailable, match="full"):
        thread.commit([lambda connection, _now: _add(connection, "a"), fill_the_disk])
    thread.close()
    assert _bots(embedded_database) == []


def test_long_work_does_not_wait_for_what_comes_after_it(embedded_database: Database) -> None:
    """The second waits while the first is done, which takes longer than the commit before it did."""

    async def run() -> None:
        thread, begun, goes_on = TransactionThread("test", embedded_database, SystemClock()), Event(), Event()
        await thread.transact(lambda connection, _now: _add(connection, "a"))
        assert thread._commit_s is not None
        longer_s = 2 * thread._commit_s + 0.01

        def work(connection: Connection, _now: float) -> str:
            begun.set()
            goes_on.wait(30)
            Event().wait(longer_s)
            return _add(connection, "b")

        first = asyncio.create_task(thread.transact(work))
        await asyncio.to_thread(begun.wait, 30)
        second = asyncio.create_task(thread.transact(lambda connection, _now: _add(connection, "c")))
        await asyncio.sleep(0)
        goes_on.set()
        assert await asyncio.gather(first, second) == ["b", "c"]
        assert thread.committed == 3
        thread.close()

    asyncio.run(run())
    assert _bots(embedded_database) == ["a", "b", "c"]


class AwayAtFirst(Database):
    """A state whose first transaction cannot begin."""

    is_away = True

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Fail once."""
        if self.is_away:
            self.is_away = False
            raise StateUnavailable("away")
        with super().write() as connection:
            yield connection


def test_work_is_answered_when_its_transaction_cannot_begin(embedded_database: Database) -> None:
    async def run() -> None:
        thread = TransactionThread("test", AwayAtFirst(embedded_database.engine), SystemClock())
        with pytest.raises(StateUnavailable, match="away"):
            await thread.transact(lambda connection, _now: _add(connection, "a"))
        assert await thread.transact(lambda connection, _now: _add(connection, "b")) == "b"
        assert thread.waiting == 0
        thread.close()

    asyncio.run(run())
    assert _bots(embedded_database) == ["b"]


def test_a_closed_thread_keeps_no_work(embedded_database: Database) -> None:
    thread = TransactionThread("test", embedded_database, SystemClock())
    thread.close()
    with pytest.raises(RuntimeError, match="shutdown"):
        asyncio.run(thread.transact(lambda connection, _now: _add(connection, "late")))
    assert thread.waiting == 0
    assert _bots(embedded_database) == []
