"""Ctrl-C while a statement crawls: it is noted, and the statement ends at a moment of its own choice."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import current_thread, main_thread
from types import FrameType


@dataclass(slots=True)
class CtrlC:
    """Whether the user pressed Ctrl-C."""

    is_pressed: bool = False


@contextmanager
def ctrl_c_noted() -> Iterator[CtrlC]:
    """Note the first Ctrl-C instead of raising it at any moment, as in the middle of an upsert; the second one raises.

    Handlers of the user's own stay in place, and other threads never get the signal.
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
