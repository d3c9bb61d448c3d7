"""The progress of a crawl while it runs: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from comity.doors.cli.crawl.rendering import render_bytes
from comity.doors.cli.output import counted

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.walk.crawl.progress import Progress

_LINE_EVERY_S: Final = 5.0
_REDRAW_EVERY_S: Final = 0.25
_RECENT_S: Final = 10.0


@asynccontextmanager
async def show_progress(progress: Progress, state: State, *, has_bar: bool = True) -> AsyncIterator[None]:
    """Show the progress while the block lasts; without a bar if a line for each URL is printed, too."""
    showing = asyncio.create_task(_show(progress, state, has_bar=has_bar))
    try:
        yield
    finally:
        showing.cancel()
        with suppress(asyncio.CancelledError):
            await showing


async def _show(progress: Progress, state: State, *, has_bar: bool) -> None:
    settings = state.settings
    line = ProgressLine(progress, state.clock.seconds, settings.max_pages, settings.max_minutes)
    if has_bar and sys.stderr.isatty():
        await _show_bar(progress, line, settings.max_pages)
    else:
        await _show_lines(line)


async def _show_lines(line: ProgressLine) -> None:
    """Print a line every few seconds, since stderr is not a terminal."""
    while True:
        await asyncio.sleep(_LINE_EVERY_S)
        print(f"comity: {line.sentence()}", file=sys.stderr, flush=True)


async def _show_bar(progress: Progress, line: ProgressLine, max_pages: int) -> None:
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, SpinnerColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class BarWithLine(Bar):
        """The bar, and below it as many lines as the sentence takes in this window."""

        def get_renderables(self) -> Any:
            bar: RenderableType = self.make_tasks_table(self.tasks)
            kept_together = line.text.replace(" ", "\N{NO-BREAK SPACE}").replace("\N{NO-BREAK SPACE}·", " ·")
            return (bar, Text(kept_together.replace("·\N{NO-BREAK SPACE}", "· "), style="dim"))

    columns: list[Any] = [SpinnerColumn(), BarColumn(bar_width=40), TimeElapsedColumn()]
    with BarWithLine(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("crawling", total=max_pages or None)
        while True:
            # Without a limit, the URLs known so far are the best estimate of the whole.
            known = progress.pages + progress.errors + max(progress.queued, 0)
            line.sentence()
            bar.update(task, completed=progress.pages, total=max_pages or max(known, 1))
            await asyncio.sleep(_REDRAW_EVERY_S)


class ProgressLine:
    """The progress of a crawl in one line; it remembers the last seconds, for the recent rate."""

    def __init__(self, progress: Progress, clock: Callable[[], float], max_pages: int, max_minutes: float) -> None:
        self._progress = progress
        self._clock = clock
        self._max_pages = max_pages
        self._max_minutes = max_minutes
        self._recent = deque([(progress.started_at, 0)])
        self.text = ""

    def sentence(self) -> str:
        """The line as of now."""
        progress, now = self._progress, self._clock()
        mean = progress.pages / max(now - progress.started_at, 0.001)
        waiting, blocked = progress.hosts_waiting, progress.hosts_blocked
        active = max(progress.hosts_active - waiting - blocked, 0)
        parts = [
            f"{progress.pages:,} pages",
            f"{self._rate(now):,.1f}/s (mean {mean:,.1f})",
            f"hosts {active:,} active, {waiting:,} waiting, {blocked:,} blocked",
            f"{max(progress.queued, 0):,} queued",
            counted(progress.errors, "error"),
            render_bytes(progress.bytes_received),
        ]
        if left := self._left(now):
            parts.append(f"left {left}")
        if progress.waits_for is not None:
            parts.append(f"waiting: {progress.waits_for}")
        self.text = " · ".join(parts)
        return self.text

    def _rate(self, now: float) -> float:
        """Pages a second over the last seconds."""
        recent = self._recent
        recent.append((now, self._progress.pages))
        while len(recent) > 2 and recent[1][0] <= now - _RECENT_S:
            recent.popleft()
        since, before = recent[0]
        return (self._progress.pages - before) / max(now - since, 0.001)

    def _left(self, now: float) -> str:
        """What is left of the budgets; nothing if there are none."""
        left = []
        if self._max_pages:
            left.append(counted(max(self._max_pages - self._progress.pages, 0), "page"))
        if self._max_minutes:
            seconds = max(self._max_minutes * 60 - (now - self._progress.started_at), 0.0)
            left.append(f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s")
        return ", ".join(left)
