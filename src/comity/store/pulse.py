"""A sign of life: the segment that a living process has open is touched from time to time.

Where a file system has no locks, that is all by which another machine can tell a slow crawl from a dead one.
"""

from __future__ import annotations

from threading import Event, Thread
from typing import Final

from comity.store.segment import SegmentWriter

TOUCH_EVERY_S: Final = 600.0  # a sixth of the time after which a segment counts as a dead process's


class Pulse:
    """Touches one segment beside everything else, from its first page until the end."""

    def __init__(self) -> None:
        self._segment: SegmentWriter | None = None
        self._thread: Thread | None = None
        self._is_over = Event()

    def watch(self, segment: SegmentWriter) -> None:
        """This is the segment from now on."""
        self._segment = segment
        if self._thread is None:
            self._is_over.clear()
            self._thread = Thread(target=self._beat, name="comity-pulse", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """No segment is open any more."""
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _beat(self) -> None:
        while not self._is_over.wait(TOUCH_EVERY_S):
            if self._segment is not None:
                self._segment.touch()  # one that became a part is not there any more, and stays so
