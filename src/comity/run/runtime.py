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


def event_loop_runner() -> asyncio.Runner:
    """A runner on uvloop, or on the standard loop."""
    import asyncio

    try:
        import uvloop
    except ImportError:  # it does not exist for every platform
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def tune_gc() -> None:
    """Collect less often, since imports leave no garbage, and skip the collections of the shutdown."""
    gc.set_threshold(_OBJECTS_BEFORE_A_COLLECTION, 10, 10)
    atexit.register(_skip_last_collections)


def spare_what_is_loaded() -> None:
    """Leave modules and tables out of later collections: a full one over them makes every request of a server wait."""
    gc.freeze()


def _skip_last_collections() -> None:
    """Everything is closed by now, so a search through all loaded modules would only cost time."""
    if "duckdb" not in sys.modules:  # it counts its objects at shutdown, and would complain
        gc.freeze()
