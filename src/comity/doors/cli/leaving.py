"""The end of a command that was stopped: within 30 seconds, whatever does not answer.

A store that hangs blocks a thread that cannot be ended. What is committed by then is kept, as after `kill -9`; the rest
is asked for again by the next run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Timer
from typing import Final

LEAVE_WITHIN_S: Final = 29.0
LEFT: Final = (
    f"exited after {LEAVE_WITHIN_S:.0f} s: a store did not answer; what was settled is kept, and the next run "
    "goes on from there"
)
_countdown: Timer | None = None


def say_left() -> None:
    """Tell a person why the command ended like this."""
    print(f"comity: {LEFT}", file=sys.stderr, flush=True)


def leave_in_time(code: int, *, tell: Callable[[], None] = say_left, before: Callable[[], None] = lambda: None) -> None:
    """Leave with this exit code, unless the command ends before its time is up; `before` is done first."""
    global _countdown
    end_countdown()

    def leave() -> None:
        with suppress(Exception):  # stderr may be closed
            tell()
        before()
        os._exit(code)

    _countdown = Timer(LEAVE_WITHIN_S, leave)
    _countdown.daemon = True
    _countdown.start()


def end_countdown() -> None:
    """The command has ended by itself."""
    global _countdown
    if _countdown is not None:
        _countdown.cancel()
        _countdown = None
