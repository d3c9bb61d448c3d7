"""What runs a crawl for whoever has no event loop: the faster of the two, where it is to be had."""

from __future__ import annotations

import asyncio


def event_loop_runner() -> asyncio.Runner:
    """A runner on uvloop, or on the standard loop."""
    try:
        import uvloop
    except ImportError:  # not to be had everywhere
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
