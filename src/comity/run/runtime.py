"""How Python runs a process of ours: the event loop, and memory.

Imports nothing heavy: every command loads it before anything else.
"""

from __future__ import annotations

import atexit
import gc
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio

_OBJECTS_BEFORE_A_COLLECTION: Final = 50_000
_M_ARENA_MAX: Final = -8  # malloc.h
_OBJECTS_OF_A_START: Final = 250_000  # all modules of a crawl make 150,000


def event_loop_runner() -> asyncio.Runner:
    """A runner on uvloop, or on the standard loop."""
    import asyncio

    try:
        import uvloop
    except ImportError:  # it does not exist for every platform
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def tune_memory() -> None:
    """Collect nothing while modules are imported, since they leave no garbage, and skip the last collections.

    Called first, before any thread begins.
    """
    gc.set_threshold(_OBJECTS_OF_A_START, 10, 10)
    atexit.register(_skip_last_collections)
    _share_one_arena()


def _share_one_arena() -> None:
    """Let all threads share one arena of the C library.

    Pages pass from the event loop to the threads that settle and write them. With an arena for each thread, the holes
    that they leave behind add up to some 25 MB; the threads rarely allocate at the same time, because of Python's lock.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    with suppress(AttributeError, OSError):  # only glibc has it
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def spare_what_is_loaded() -> None:
    """The start is over: collect more often, but leave out modules and tables, which take long to look through.

    Only in a process that `tune_memory` was called for.
    """
    if gc.get_threshold()[0] == _OBJECTS_OF_A_START:
        gc.freeze()
        gc.set_threshold(_OBJECTS_BEFORE_A_COLLECTION, 10, 10)


def _skip_last_collections() -> None:
    """Everything is closed by now, so a search through all loaded modules would only cost time."""
    if "duckdb" not in sys.modules:  # it counts its objects at shutdown, and would complain
        gc.freeze()
