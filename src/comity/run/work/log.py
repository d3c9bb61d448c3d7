"""What a worker says about its stores: Redis is away, back or empty; pages wait for room on their disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from comity.telemetry import events
from comity.telemetry.logs import Log

if TYPE_CHECKING:
    from comity.assemble import State


class FrontierWatch:
    """Tells each thing once, as it begins and as it ends."""

    def __init__(self, log: Log, on_lost: Callable[[], None] = lambda: None) -> None:
        self._log = log
        self._on_lost = on_lost
        self._lost_at: float | None = None
        self._is_blank = False
        self._full_at: float | None = None  # since when pages wait for room

    def look(self, state: State) -> None:
        """One that will never do is told before a host is leased for nothing; one that is away is waited for."""
        from comity.frontier.store import FrontierUnavailable, FrontierUnfit

        try:
            state.frontier.take_up(())
            is_blank = state.frontier.is_blank()
        except FrontierUnfit:
            raise
        except FrontierUnavailable as error:
            self.on_silence(str(error))
            return
        self.on_silence(None)
        if is_blank and not self._is_blank:
            said = (
                "Redis has none of the URLs of this state: it lost them, or COMITY_REDIS_URL names the wrong server or "
                "database (then stop now). Each host that is taken is made anew in it, and visited again"
            )
            self._log.tell(events.FRONTIER_BLANK, said, error="frontier_blank")
        self._is_blank = is_blank

    async def look_again(self, state: State) -> None:
        """While it is away: whether it is back. A run that never had to wait for it would not tell."""
        if self._lost_at is not None:
            await asyncio.to_thread(self.look, state)

    def on_silence(self, said: str | None) -> None:
        """Redis does not answer, or the disk of the pages is full, for this reason; or that is over."""
        from comity.walk.patience import NoRoom

        if isinstance(said, NoRoom):
            if self._full_at is None:
                self._full_at = monotonic()
                self._log.tell(events.PAGES_WAIT, said, error="disk_full")
            return
        if said is None and self._full_at is not None:
            seconds, self._full_at = round(monotonic() - self._full_at, 3), None
            self._log.tell(events.PAGES_GO_ON, f"there is room for pages again after {seconds:.1f} s", seconds=seconds)
        if said is not None and self._lost_at is None:
            self._lost_at = monotonic()
            self._log.tell(events.FRONTIER_LOST, f"{said}; waiting for it", error="frontier_unavailable")
            self._on_lost()
        elif said is None and self._lost_at is not None:
            seconds, self._lost_at = round(monotonic() - self._lost_at, 3), None
            self._log.tell(events.FRONTIER_BACK, f"the frontier is back after {seconds:.1f} s", seconds=seconds)
