"""The threads that talk to the database for bots, so that the event loop never waits for a disk."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from time import monotonic
from typing import Any, Final, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from comity.clock import Clock
from comity.database.connection import Database, is_fault_of_statement
from comity.database.queue import jobs
from comity.model.errors import ComityError
from comity.walk.session.database_thread import DatabaseThread

AT_ONCE: Final = 2  # transactions at once: more would wait for each other in Python while they hold row locks
TOGETHER: Final = 8  # pieces of work in one transaction
_WEIGHT: Final = 0.1  # weight of the last commit in the moving average
Result = TypeVar("Result")


class BotThreads(DatabaseThread):
    """Runs blocking functions, a few at once; shared by everything that serves bots."""

    def __init__(self, threads: int = AT_ONCE) -> None:
        super().__init__("comity-bots", threads)


_Work = Callable[[Connection, float], Result]
_Turn = tuple[Callable[[Connection, float], Any], "Future[Any]"]


class TransactionThread:
    """The one thread of a service that commits small pieces of work all the time.

    On an embedded state, pieces that are shorter than a commit share a transaction, so that they wait for one disk sync
    together. Longer ones would only delay each other: their clients read answers and ask again while the next is
    committed. A shared state commits each piece separately: rows are locked in the order of their ids, which two pieces
    in one transaction would break.
    """

    def __init__(self, name: str, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._most = 1 if database.is_shared else TOGETHER
        self._waiting: deque[_Turn] = deque()
        self._commit_s: float | None = None
        """How long commits take at present; None before the first."""
        self.committed = 0
        """Transactions so far."""

    async def run(self, function: Callable[[], Result]) -> Result:
        """Run a function with transactions of its own, after what came before it."""
        return await asyncio.shield(asyncio.wrap_future(self._executor.submit(function)))

    async def transact(self, work: _Work[Result]) -> Result:
        """Do a piece of work in a transaction, at its time. Once started, it finishes even if the task is cancelled."""
        future: Future[Any] = Future()
        turn = (work, future)
        self._waiting.append(turn)
        try:
            self._executor.submit(self._serve)
        except RuntimeError:  # closed
            with suppress(ValueError):  # the thread has already taken it together with earlier work
                self._waiting.remove(turn)
                raise
        found: Result = await asyncio.shield(asyncio.wrap_future(future))
        return found

    @property
    def waiting(self) -> int:
        """Pieces of work that are still waiting."""
        return len(self._waiting)

    def close(self) -> None:
        """Wait for the running work, and end the thread."""
        self._executor.shutdown(wait=True)

    def _serve(self) -> None:
        """Do the waiting work. A call may find nothing: an earlier one did its work, too."""
        if not self._waiting:
            return
        turns = [self._waiting.popleft()]
        try:
            done = self.commit(self._following(turns))
        except ComityError as error:  # the state cannot be used
            done = [error] * len(turns)
        except BaseException as error:  # the commit failed: do each piece by itself, so that none fails for another
            done = [error] if len(turns) == 1 else [self._commit_alone(work) for work, _future in turns]
        for (_work, future), answer in zip(turns, done, strict=True):
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    def _following(self, turns: list[_Turn]) -> Iterator[_Work[Any]]:
        """Yield the first of `turns`, then waiting ones (added to `turns`), while pieces are shorter than a commit."""
        began_s = monotonic()
        yield turns[0][0]
        while len(turns) < self._most and self._waiting:
            if self._commit_s is not None and monotonic() - began_s > len(turns) * self._commit_s:
                return
            turns.append(self._waiting.popleft())
            yield turns[-1][0]

    def _commit_alone(self, work: _Work[Any]) -> Any:
        try:
            return self.commit([work])[0]
        except BaseException as error:
            return error

    def commit(self, works: Iterable[_Work[Any]]) -> list[Any]:
        """Do pieces of work in one transaction, which starts with the first.

        If the first fails, its error is raised, and no other is started. Any other that fails leaves no trace, and its
        error is its answer. Each uses the time at which it starts: what a client reports happened before that.
        """
        done: list[Any] = []
        with self._database.write() as connection:
            for work in works:
                now = time_of(connection, self._database, self._clock)
                done.append(self._do_apart(work, connection, now) if done else work(connection, now))
            ended_s = monotonic()
        took_s = monotonic() - ended_s
        self._commit_s = took_s if self._commit_s is None else self._commit_s + _WEIGHT * (took_s - self._commit_s)
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
            apart.rollback()  # fails if the whole transaction was rolled back: then none of its work is done
            return error
        apart.commit()
        return done


def time_of(connection: Connection, database: Database, clock: Clock) -> float:
    """The time of a transaction: a shared server uses its own clock, an embedded state uses ours."""
    return jobs.server_time(connection) if database.now(clock) is None else clock.seconds()
