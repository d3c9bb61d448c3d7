"""How much work one page may take: a count of steps, each a few microseconds at most."""

from __future__ import annotations

from typing import Final

STEPS_ON_THE_LOOP: Final = 20_000
"""Some tens of milliseconds; a page that needs more is evaluated in a child process."""
STEPS_IN_A_CHILD: Final = 2_000_000


class OverBudget(Exception):
    """A page takes more steps than it may."""


class Budget:
    """Steps that are left."""

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int = 1) -> None:
        """Take some; `OverBudget` if there are not so many."""
        self.left -= steps
        if self.left < 0:
            raise OverBudget
