"""The thread that talks to the database, so that the event loop never waits for a disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class DatabaseThread:
    """Runs blocking functions one after another, in the order of the calls; or, with more `threads`, a few at once."""

    def __init__(self, name: str = "comity-database", threads: int = 1) -> None:
        self._executor = ThreadPoolExecutor(max_workers=threads, thread_name_prefix=name)

    async def run(
        self, function: Callable[Arguments, Result], *arguments: Arguments.args, **options: Arguments.kwargs
    ) -> Result:
        """Run a function. Once started, it finishes even if the waiting task is cancelled."""
        future = self._executor.submit(function, *arguments, **options)
        return await asyncio.shield(asyncio.wrap_future(future))

    def close(self) -> None:
        """Wait for running functions, and end the thread."""
        self._executor.shutdown(wait=True)
