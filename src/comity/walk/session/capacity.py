"""How many requests may be in flight at once, over all hosts."""

from __future__ import annotations


class Capacity:
    """A counter. The dispatcher starts nothing while none are free; a visit in progress may continue."""

    __slots__ = ("free",)

    def __init__(self, places: int) -> None:
        self.free = places

    def take(self) -> None:
        """Take a place."""
        self.free -= 1

    def release(self) -> None:
        """Free a place."""
        self.free += 1
