"""How many requests may be under way at once, over all hosts."""

from __future__ import annotations


class Capacity:
    """A counter. The dispatcher lets nothing new begin while it is spent; a visit that is under way may go on."""

    __slots__ = ("free",)

    def __init__(self, places: int) -> None:
        self.free = places

    def take(self) -> None:
        """Use a place."""
        self.free -= 1

    def give_back(self) -> None:
        """Leave a place to the next."""
        self.free += 1
