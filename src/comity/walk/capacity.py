"""How many requests may be under way at once, over all hosts."""

from __future__ import annotations

import asyncio


class Capacity:
    """A counter with a place to wait. A place is taken without waiting, or not at all."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._some_free = asyncio.Event()
        self._some_free.set()

    async def wait(self) -> None:
        """Wait until a place is free; somebody else may take it first."""
        await self._some_free.wait()

    def try_take(self) -> bool:
        """Take a place if there is one."""
        if self._free <= 0:
            return False
        self._free -= 1
        if self._free == 0:
            self._some_free.clear()
        return True

    def give_back(self) -> None:
        """Leave a place to the next."""
        self._free += 1
        self._some_free.set()
