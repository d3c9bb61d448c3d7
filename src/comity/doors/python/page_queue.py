"""The line of pages between a crawl and whoever iterates. It is short: a slow reader holds the crawl up.

Pages come from the crawl's database thread and leave on the reader's; each side moves its own counters only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from comity.doors.python.page import Page

MOST_PAGES: Final = 400  # room for a batch that is read, one that is committed, and one that gathers
MOST_BYTES: Final = 64 * 1024 * 1024  # of bodies


class PageQueue:
    """`put` hands a page over to the reader; `go_on` tells the crawl that its reader has caught up."""

    def __init__(self, put: Callable[[Page], None], go_on: Callable[[], None]) -> None:
        self._put = put
        self._go_on = go_on
        self._came_pages = self._came_bytes = 0
        self._taken_pages = self._taken_bytes = 0
        self._is_held_up = False
        self._is_left = False

    def add(self, pages: list[Page]) -> None:
        """Pages were committed."""
        if self._is_left:
            return
        for page in pages:
            self._came_pages += 1
            self._came_bytes += len(page.body)
            self._put(page)

    def took(self, page: Page) -> None:
        """The reader has taken a page."""
        self._taken_pages += 1
        self._taken_bytes += len(page.body)
        if self._is_held_up and not self._is_longer_than(MOST_PAGES // 2, MOST_BYTES // 2):
            self._is_held_up = False
            self._go_on()

    def leave(self) -> None:
        """Nobody reads any more."""
        self._is_left = True

    def is_held_up(self, coming: int, coming_bytes: int = 0) -> bool:
        """Whether the crawl should wait for the reader, with so many pages still to be committed."""
        # Said before it is known: the reader, on another thread, must not pass the mark in between.
        self._is_held_up = True
        self._is_held_up = not self._is_left and self._is_longer_than(MOST_PAGES - coming, MOST_BYTES - coming_bytes)
        return self._is_held_up

    def _is_longer_than(self, pages: int, octets: int) -> bool:
        return self._came_pages - self._taken_pages >= pages or self._came_bytes - self._taken_bytes >= octets
