"""The threads that talk to the database for bots, so that the event loop never waits for a disk."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, ParamSpec, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from comity.clock import Clock
from comity.database.connection import Database, is_fault_of_statement
from comity.database.queue import jobs
from comity.model.errors import ComityError

AT_ONCE: Final = 2  # transactions: more would wait for each other's turn in Python while they keep rows
TOGETHER: Final = 8  # pieces of work in one transaction
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class BotThreads:
    """Runs blocking functions, a few at once; shared by everything that serves bots."""

    def __init__(self, threads: int = AT_ONCE) -> None:
        self._executor = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="comity-bots")

    async def run(
        self, function: Callable[Arguments, Result], *arguments: Arguments.args, **options: Arguments.kwargs
    ) -> Result:
        """Run a function; once begun it is finished, also when the waiting task is cancelled."""
        future = self._executor.submit(function, *arguments, **options)
        return await asyncio.shield(asyncio.wrap_future(future))

    def close(self) -> None:
        """Wait for the functions under way and end the threads."""
        self._executor.shutdown(wait=True)


_Work = Callable[[Connection, float], Result]
_Turn = tuple[Callable[[Connection, float], Any], "Future[Any]"]


class TransactionThread:
    """The one thread of a service that commits small pieces of work all the time.

    On an embedded state, what came while the thread was busy shares the next transaction, so that it waits for one sync
    of the disk together. A shared state commits each piece by itself: rows are locked in the order of their ids, and
    two pieces in one transaction would not keep to it.
    """

    def __init__(self, name: str, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._most = 1 if database.is_shared else TOGETHER
        self._waiting: deque[_Turn] = deque()
        self.committed = 0
        """Transactions so far."""

    async def run(self, function: Callable[[], Result]) -> Result:
        """Run a function with transactions of its own, after what came before it."""
        return await asyncio.shield(asyncio.wrap_future(self._executor.submit(function)))

    async def transact(self, work: _Work[Result]) -> Result:
        """Do a piece of work in a transaction, at the time of that; once begun it is finished, also when cancelled."""
        future: Future[Any] = Future()
        turn = (work, future)
        self._waiting.append(turn)
        try:
            self._executor.submit(self._serve)
        except RuntimeError:  # closed
            with suppress(ValueError):  # the thread has taken it with what came before
                self._waiting.remove(turn)
                raise
        found: Result = await asyncio.shield(asyncio.wrap_future(future))
        return found

    @property
    def waiting(self) -> int:
        """Pieces of work that no transaction has begun."""
        return len(self._waiting)

    def close(self) -> None:
        """Wait for the work under way and end the thread."""
        self._executor.shutdown(wait=True)

    def _serve(self) -> None:
        """Serve what waits; a call that finds nothing came after one that served more than its own."""
        turns: list[_Turn] = []
        with suppress(IndexError):  # no more wait
            while len(turns) < self._most:
                turns.append(self._waiting.popleft())
        if not turns:
            return
        try:
            done = self.commit([work for work, _future in turns])
        except ComityError as error:  # the state cannot be used
            done = [error] * len(turns)
        except BaseException as error:  # the commit was refused: each by itself, so that none fails for another
            done = [error] if len(turns) == 1 else [self._commit_alone(work) for work, _future in turns]
        for (_work, future), answer in zip(turns, done, strict=True):
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    def _commit_alone(self, work: _Work[Any]) -> Any:
        try:
            return self.commit([work])[0]
        except BaseException as error:
            return error

    def commit(self, works: Sequence[_Work[Any]]) -> list[Any]:
        """Do pieces of work in one transaction. One of several that fails leaves no trace; its error is its answer."""
        done: list[Any] = []
        with self._database.write() as connection:
            now = time_of(connection, self._database, self._clock)
            if len(works) == 1:
                done.append(works[0](connection, now))
            else:
                done += [self._do_apart(work, connection, now) for work in works]
        self.committed += 1
        return done

    @staticmethod
    def _do_apart(work: _Work[Any], connection: Connection, now: float) -> Any:
        apart = connection.begin_nested()
        try:
            done = work(connection, now)
        except Exception as error:
            if isinstance(error, DBAPIError) and not is_fault_of_statement(error):
                raise
            apart.rollback()  # fails where the whole transaction has ended: then none of its work is done
            return error
        apart.commit()
        return done


def time_of(connection: Connection, database: Database, clock: Clock) -> float:
    """The time of a transaction: a shared server goes by its own clock, an embedded state by ours."""
    return jobs.server_time(connection) if database.now(clock) is None else clock.seconds()
