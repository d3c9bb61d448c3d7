"""The threads that talk to the database for bots, so that the event loop never waits for a disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database.connection import Database
from comity.database.queue import jobs

AT_ONCE: Final = 2  # transactions: more would wait for each other's turn in Python while they keep rows
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


def time_of(connection: Connection, database: Database, clock: Clock) -> float:
    """The time of a transaction: a shared server goes by its own clock, an embedded state by ours."""
    return jobs.server_time(connection) if database.now(clock) is None else clock.seconds()
