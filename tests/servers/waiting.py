"""Bounded waiting: a condition enters, nothing leaves, and a wait that is too long is an error with a name."""

from __future__ import annotations

import time
from collections.abc import Callable

FIRST_PAUSE_SECONDS = 0.002
LONGEST_PAUSE_SECONDS = 0.05


def wait_until(
    condition: Callable[[], bool],
    within_seconds: float,
    what: str,
    *,
    longest_pause_seconds: float = LONGEST_PAUSE_SECONDS,
) -> None:
    """Return as soon as the condition holds; raise TimeoutError, saying what was awaited, if it never does.

    `longest_pause_seconds` is for conditions that cost something to look at.
    """
    deadline = time.monotonic() + within_seconds
    pause_seconds = FIRST_PAUSE_SECONDS
    while not condition():
        if time.monotonic() >= deadline:
            raise TimeoutError(f"waited {within_seconds:g} s in vain: {what}")
        time.sleep(pause_seconds)
        pause_seconds = min(pause_seconds * 1.5, longest_pause_seconds)


def processor_s(work: Callable[[], object]) -> float:
    """The processor time that this thread spends on some work."""
    began_s = time.thread_time()
    work()
    return time.thread_time() - began_s


def least_of(measure: Callable[[], float], enough: float, attempts: int = 5) -> float:
    """The least of several measurements, or the first that is small enough.

    What else runs on the machine only adds to a duration: what is slow by itself is slow every time.
    """
    least = measure()
    for _ in range(attempts - 1):
        if least < enough:
            break
        least = min(least, measure())
    return least
