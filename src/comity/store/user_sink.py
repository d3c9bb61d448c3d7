"""A sink that the user supplies, alone or in front of a store; it is notified of every committed page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from comity.model.page import PageRecord
from comity.store.sink import PageSink

Take = Callable[[Sequence[PageRecord]], None]


class UserSink:
    """Hands pages to `write` before their visits are committed, and to `on_kept` afterwards; both must be quick.

    The user's sink comes before the store: it fails more often than a disk does, and then the store has no doubts.
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
