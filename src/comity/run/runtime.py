"""How Python runs a process of ours: the event loop, and garbage collection.

Imports nothing heavy: every command loads it before anything else.
"""

from __future__ import annotations

import atexit
import gc
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio

_OBJECTS_BEFORE_A_COLLECTION: Final = 50_000
_OBJECTS_OF_A_START: Final = 250_000  # all modules of a crawl make 150,000


def event_loop_runner() -> asyncio.Runner:
    """A runner on uvloop, or on the standard loop."""
    import asyncio

    try:
        import uvloop
    except ImportError:  # it does not exist for every platform
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def tune_gc() -> None:
    """Collect nothing while modules are imported, since they leave no garbage, and skip the last collections."""
    gc.set_threshold(_OBJECTS_OF_A_START, 10, 10)
    atexit.register(_skip_last_collections)


def spare_what_is_loaded() -> None:
    """The start is over: collect more often, but leave out modules and tables, which take long to look through.

    Only in a process that `tune_gc` was called for.
    """
    if gc.get_threshold()[0] == _OBJECTS_OF_A_START:
        gc.freeze()
        gc.set_threshold(_OBJECTS_BEFORE_A_COLLECTION, 10, 10)


def _skip_last_collections() -> None:
    """Everything is closed by now, so a search through all loaded modules would only cost time."""
    if "duckdb" not in sys.modules:  # it counts its objects at shutdown, and would complain
        gc.freeze()
