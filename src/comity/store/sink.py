"""What the walk asks of a page sink."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from errno import EDQUOT, ENOSPC
from pathlib import Path
from typing import Protocol

from comity.model.page import PageRecord


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
