"""The event loop on which a command runs: uvloop where it is installed."""

from __future__ import annotations

import asyncio


def event_loop_runner() -> asyncio.Runner:
    """A runner on uvloop, or on the standard loop."""
    try:
        import uvloop
    except ImportError:  # it does not exist for every platform
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
