"""Garbage collection for a process of our own: seldom while it starts, and not at all when it ends."""

from __future__ import annotations

import atexit
import gc
import sys
from typing import Final

_OBJECTS_BEFORE_A_COLLECTION: Final = 50_000


def tune_gc() -> None:
    """Collect less often, since imports leave no garbage, and skip the collections of the shutdown."""
    gc.set_threshold(_OBJECTS_BEFORE_A_COLLECTION, 10, 10)
    atexit.register(_skip_last_collections)


def _skip_last_collections() -> None:
    """Everything is closed by now, so a search through all loaded modules would only cost time."""
    if "duckdb" not in sys.modules:  # it counts its objects at shutdown, and would complain
        gc.freeze()
