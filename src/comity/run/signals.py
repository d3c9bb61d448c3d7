"""How a long-running command ends: on the first signal cleanly, on the second at once, and always within 30 seconds.

A store that hangs blocks a thread that cannot be stopped, so a timer ends the process. Everything committed by then is
kept, as after `kill -9`; the next run fetches the rest again.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Timer, current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import Final

from comity.model.dataclass import dataclass

INTERRUPTED: Final = 130
EXIT_WITHIN_S: Final = 29.0
_SENT_TWICE_S: Final = 1.0  # `timeout` sends SIGTERM to the process and to its group: that is one request to stop
FORCED_EXIT: Final = (
    f"exited after {EXIT_WITHIN_S:.0f} s because a store did not respond; everything settled is stored, and the "
    "next run continues from there"
)
_timer: Timer | None = None


def _do_nothing() -> None:
    pass


def print_forced_exit() -> None:
    """Write to stderr why the timer ended the command."""
    sys.stderr.write(f"comity: {FORCED_EXIT}\n")
    sys.stderr.flush()


def stop_on_signals(
    on_first: Callable[[int], None],
    on_second: Callable[[], None] = _do_nothing,
    *,
    on_timeout: Callable[[], None] = print_forced_exit,
    timeout_code: int = 1,
    before_exit: Callable[[], None] = _do_nothing,
    hold: Callable[[bool], None] | None = None,
) -> None:
    """Hand the first SIGINT or SIGTERM to `on_first`; exit at the second, and when the time to stop runs out.

    `before_exit` runs before either of these exits, `hold` before and after a suspension by Ctrl-Z.
    """
    import asyncio  # slow to import, and every command imports this module

    loop = asyncio.get_running_loop()
    first: tuple[int, float] | None = None

    def on_signal(number: int) -> None:
        nonlocal first
        if first is not None:
            if number == first[0] == signal.SIGTERM and monotonic() - first[1] < _SENT_TWICE_S:
                return
            on_second()
            before_exit()
            os._exit(INTERRUPTED)
        first = number, monotonic()
        exit_in_time(timeout_code, on_timeout, before_exit)
        on_first(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal, number)
    if hold is not None:
        loop.add_signal_handler(signal.SIGTSTP, _suspend, hold)


def exit_in_time(
    code: int, on_timeout: Callable[[], None] = print_forced_exit, before_exit: Callable[[], None] = _do_nothing
) -> None:
    """Exit with this code unless the command ends in time."""
    global _timer
    cancel_exit()

    def leave() -> None:
        with suppress(Exception):  # stderr may be closed
            on_timeout()
        before_exit()
        os._exit(code)

    _timer = Timer(EXIT_WITHIN_S, leave)
    _timer.daemon = True
    _timer.start()


def cancel_exit() -> None:
    """Stop the timer: the command has ended by itself."""
    global _timer
    if _timer is not None:
        _timer.cancel()
        _timer = None


def _suspend(hold: Callable[[bool], None]) -> None:
    """Suspend child processes too: the terminal's signal does not reach them."""
    hold(True)
    os.kill(os.getpid(), signal.SIGSTOP)
    hold(False)  # resumed by SIGCONT


@dataclass(slots=True)
class CtrlC:
    """Whether the user pressed Ctrl-C."""

    is_pressed: bool = False


@contextmanager
def ctrl_c_noted() -> Iterator[CtrlC]:
    """Note the first Ctrl-C instead of raising it at any moment, as in the middle of an upsert; the second one raises.

    This is for code inside a user's own program: it neither exits nor needs an event loop on this thread. The user's
    own handlers stay in place, and other threads never get the signal.
    """
    noted = CtrlC()
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield noted
        return

    def note(_number: int, _frame: FrameType | None) -> None:
        if noted.is_pressed:
            raise KeyboardInterrupt
        noted.is_pressed = True

    signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
