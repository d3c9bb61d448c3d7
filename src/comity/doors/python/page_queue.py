"""The pages between a crawl and its reader. There are few of them: a slow reader slows the crawl down.

The crawl's database thread adds pages, and the reader's thread takes them; each changes its own counters only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from comity.doors.python.page import Page

MOST_PAGES: Final = 400  # for a batch that is read, one that is committed, and one that is collected
MOST_BYTES: Final = 64 * 1024 * 1024  # of bodies


class PageQueue:
    """`put` hands a page to the reader; `resume` resumes the crawl when its reader has caught up."""

    def __init__(self, put: Callable[[Page], None], resume: Callable[[], None]) -> None:
        self._put = put
        self._resume = resume
        self._added_pages = self._added_bytes = 0
        self._taken_pages = self._taken_bytes = 0
        self._is_held_up = False
        self._is_closed = False

    def add(self, pages: list[Page]) -> None:
        """Pages were committed."""
        if self._is_closed:
            return
        for page in pages:
            self._added_pages += 1
            self._added_bytes += len(page.body)
            self._put(page)

    def took(self, page: Page) -> None:
        """The reader has taken a page."""
        self._taken_pages += 1
        self._taken_bytes += len(page.body)
        if self._is_held_up and not self._is_longer_than(MOST_PAGES // 2, MOST_BYTES // 2):
            self._is_held_up = False
            self._resume()

    def close(self) -> None:
        """Drop further pages: the reader is gone."""
        self._is_closed = True

    def is_held_up(self, coming: int, coming_bytes: int = 0) -> bool:
        """Whether the crawl should wait for the reader, with so many pages still to be committed."""
        # Set before it is known, so that the reader, on another thread, cannot pass the mark unnoticed.
        self._is_held_up = True
        self._is_held_up = not self._is_closed and self._is_longer_than(MOST_PAGES - coming, MOST_BYTES - coming_bytes)
        return self._is_held_up

    def _is_longer_than(self, pages: int, size: int) -> bool:
        return self._added_pages - self._taken_pages >= pages or self._added_bytes - self._taken_bytes >= size
