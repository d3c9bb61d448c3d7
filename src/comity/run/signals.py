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

EXIT_WITHIN_S: Final = 29.0
FORCED_EXIT: Final = (
    f"exited after {EXIT_WITHIN_S:.0f} s: a store did not answer; what was settled is kept, and the next run "
    "goes on from there"
)
_countdown: Timer | None = None


def print_forced_exit() -> None:
    """Tell a person why the command ended like this."""
    print(f"comity: {FORCED_EXIT}", file=sys.stderr, flush=True)


def exit_in_time(
    code: int, *, tell: Callable[[], None] = print_forced_exit, before: Callable[[], None] = lambda: None
) -> None:
    """Leave with this exit code, unless the command ends before its time is up; `before` is done first."""
    global _countdown
    cancel_exit()

    def leave() -> None:
        with suppress(Exception):  # stderr may be closed
            tell()
        before()
        os._exit(code)

    _countdown = Timer(EXIT_WITHIN_S, leave)
    _countdown.daemon = True
    _countdown.start()


def cancel_exit() -> None:
    """The command has ended by itself."""
    global _countdown
    if _countdown is not None:
        _countdown.cancel()
        _countdown = None
