"""How a process that is all ours starts and ends without delay. Nothing enters; the interpreter is left changed."""

from __future__ import annotations

import atexit
import gc
import sys
from typing import Final

_OBJECTS_BEFORE_A_COLLECTION: Final = 50_000


def tune_gc() -> None:
    """Spend no time on garbage where there is none to be found: among what imports leave, and at the very end."""
    gc.set_threshold(_OBJECTS_BEFORE_A_COLLECTION, 10, 10)
    atexit.register(_leave_quickly)


def _leave_quickly() -> None:
    """Everything is closed by now: keep the collections of a shutdown from looking through all that was loaded."""
    if "duckdb" not in sys.modules:  # it counts what a shutdown leaves of it, and would complain
        gc.freeze()
