"""What the walk asks of a page sink, and the sink that a user supplies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from errno import EDQUOT, ENOSPC
from pathlib import Path
from typing import Protocol

from comity.model.page import PageRecord

Take = Callable[[Sequence[PageRecord]], None]


def is_full(error: BaseException | None) -> bool:
    """Whether a disk, or a user's part of it, has no more room: that passes, and can be waited for."""
    return isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT)


class PageSink(Protocol):
    """Takes pages in batches: `append`, then their visits are committed, then `keep`. Called on one thread."""

    @property
    def folder(self) -> Path | None:
        """Where what dead processes left waits to be taken over; None if there is no such place."""

    @property
    def wants_headers(self) -> bool:
        """Whether it keeps answers as they came, headers and all."""

    def append(self, records: Sequence[PageRecord]) -> list[int]:
        """Take pages; what it raises ends the run, and none of them is acknowledged. Gives their places."""

    def keep(self, places: Iterable[int]) -> None:
        """The visits of these pages are committed; those appended with them and not named are not."""

    def close(self) -> None:
        """Nothing more will come."""


MakeSink = Callable[[Callable[[], PageSink]], PageSink]
"""Makes a sink, of itself or around the store that the settings name: that is what the function it is given opens."""


class UserSink:
    """Hands pages to `write` before their visits are committed, and to `on_kept` afterwards; both must be quick.

    The user's sink comes before the store: it fails more often than a disk does, and then the store has no doubts.

    It stands alone or in front of a store, and is notified of every committed page.
    """

    def __init__(
        self, behind: PageSink | None, write: Take | None, on_kept: Take | None, close: Callable[[], None] | None
    ) -> None:
        self._behind = behind
        self._write = write
        self._on_kept = on_kept
        self._close = close
        self._waiting: dict[int, PageRecord] = {}
        self._failure: Exception | None = None
        self.folder: Path | None = behind.folder if behind is not None else None
        self.wants_headers = behind is not None and behind.wants_headers

    def append(self, records: Sequence[PageRecord]) -> list[int]:
        """Take pages; after a failure nothing is taken any more."""
        if self._failure is not None:
            raise self._failure
        if self._write is not None and records:
            try:
                self._write(records)
            except Exception as error:
                self._failure = error
                raise
        places = self._behind.append(records) if self._behind is not None else list(range(len(records)))
        self._waiting = dict(zip(places, records, strict=True))
        return places

    def keep(self, places: Iterable[int]) -> None:
        """Tell of the pages whose visits are committed."""
        kept, waiting = list(places), self._waiting
        self._waiting = {}
        if self._behind is not None:
            self._behind.keep(kept)
        if self._on_kept is not None and kept:
            self._on_kept([waiting[place] for place in kept])

    def close(self) -> None:
        """End the user's sink and the store, the one also where the other fails."""
        try:
            if self._close is not None:
                self._close()
        finally:
            if self._behind is not None:
                self._behind.close()
