"""Which of Comity's functions a piece of work calls, in the order of their first calls, on every thread."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

_PACKAGE = "comity."


@dataclass(slots=True)
class Trace:
    """Every call of one of Comity's functions, as `module:function`, in order."""

    calls: list[str] = field(default_factory=list)

    @property
    def first_calls(self) -> dict[str, int]:
        """Where each function was first called."""
        return {name: len(self.calls) - 1 - at for at, name in enumerate(reversed(self.calls))}

    def between(self, first: str, last: str) -> list[str]:
        """The distinct functions from the last call of `first` before the first `last` after it, to that `last`."""
        start = self.calls.index(first)
        end = self.calls.index(last, start)
        return list(dict.fromkeys(self.calls[start : end + 1]))


def _name(frame: FrameType) -> str | None:
    module = frame.f_globals.get("__name__", "")
    if not module.startswith(_PACKAGE):
        return None
    function = frame.f_code.co_qualname.replace(".<locals>", "")
    return None if "<" in function else f"{module[len(_PACKAGE) :]}:{function}"


@contextmanager
def traced() -> Iterator[Trace]:
    """Trace this thread and all that begin inside the block."""
    trace = Trace()

    def profile(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and (name := _name(frame)) is not None:
            trace.calls.append(name)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
