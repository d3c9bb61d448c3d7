"""The progress of a crawl while it runs: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from comity.doors.cli.crawl.rendering import render_bytes
from comity.doors.cli.output import width_of, write_stderr
from comity.model.wording import counted
from comity.rules.budget import BudgetLeft, render_seconds, rendered, seconds_for, steadied, time_left

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.model.run import HostLoad
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
    await show_line(line, progress, settings.max_pages, has_bar=has_bar)


async def show_line(line: ProgressLine, progress: Progress, max_pages: int, *, has_bar: bool = True) -> None:
    """Show a line of progress until this is cancelled."""
    if has_bar and sys.stderr is not None and sys.stderr.isatty():
        await _show_bar(progress, line, max_pages)
    else:
        await _show_lines(line)


async def _show_lines(line: ProgressLine) -> None:
    """Print a line every few seconds, since stderr is not a terminal."""
    while True:
        await asyncio.sleep(_LINE_EVERY_S)
        write_stderr(f"comity: {line.sentence()}")


async def _show_bar(progress: Progress, line: ProgressLine, max_pages: int) -> None:
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, SpinnerColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    console = Console(stderr=True)

    class BarWithLines(Bar):
        """The bar, and below it the figures and the hosts that hold the crawl up. It never gets lower."""

        height = 0

        def get_renderables(self) -> Any:
            bar: RenderableType = self.make_tasks_table(self.tasks)
            figures = wrapped_parts(line.parts, console.width)
            self.height = max(self.height, len(figures))
            figures += [""] * (self.height - len(figures))
            lines = [*figures, *line.host_lines(console.width)]
            return (bar, *(Text(each, style="dim", no_wrap=True) for each in lines))

    columns: list[Any] = [SpinnerColumn(), BarColumn(bar_width=40), TimeElapsedColumn()]
    with BarWithLines(*columns, console=console, transient=True) as bar:
        task = bar.add_task("crawling", total=max_pages or None)
        while True:
            # Without a limit, the URLs known so far are the best estimate of the whole.
            known = progress.pages + progress.errors + max(progress.queued, 0)
            line.sentence()
            bar.update(task, completed=progress.pages, total=max_pages or max(known, 1))
            await asyncio.sleep(_REDRAW_EVERY_S)


class ProgressLine:
    """The progress of a crawl in one line; it remembers the last seconds, for the recent rate and the time left."""

    def __init__(self, progress: Progress, clock: Callable[[], float], max_pages: int, max_minutes: float) -> None:
        self._progress = progress
        self._clock = clock
        self._max_pages = max_pages
        self._max_minutes = max_minutes
        self._recent = deque([_Moment(progress.started_at, 0, 0)])
        self._shown: tuple[float, float] | None = None  # when, and how many seconds were left
        self._loads: Sequence[HostLoad] = ()
        self.parts: list[str] = []

    def sentence(self) -> str:
        """The line as of now."""
        progress, now = self._progress, self._clock()
        self._loads = progress.loads()
        mean = progress.pages / max(now - progress.started_at, 0.001)
        waiting, blocked = progress.hosts_waiting, progress.hosts_blocked
        active = max(progress.hosts_active - waiting - blocked, 0)
        rate = self._rate(now)
        self.parts = [
            counted(progress.pages, "page"),
            f"{rate:,.1f}/s (mean {mean:,.1f})",
            f"hosts {active:,} active, {waiting:,} waiting, {blocked:,} blocked",
            f"{max(progress.queued, 0):,} queued",
            counted(progress.errors, "error"),
            render_bytes(progress.bytes_received),
        ]
        if to_go := self._to_go(now, rate):
            self.parts.append(f"{to_go} to go")
        if left := self._left(now):
            self.parts.append(f"limit in {left}")
        if progress.waits_for is not None:
            self.parts.append(f"waiting: {progress.waits_for}")
        return " · ".join(self.parts)

    def host_lines(self, width: int) -> list[str]:
        """The blocked hosts and the slowest, each on one line that fits."""
        blocked = sorted((load for load in self._loads if load.blocked_s > 0), key=lambda load: -load.blocked_s)
        slowest = sorted((load for load in self._loads if seconds_for(load) > 0), key=seconds_for, reverse=True)
        return [
            fitted("blocked", [f"{load.host} {render_seconds(load.blocked_s)}" for load in blocked], width),
            fitted("slowest", [_pace(load) for load in slowest], width),
        ]

    def _rate(self, now: float) -> float:
        """Pages a second over the last seconds."""
        recent = self._recent
        recent.append(_Moment(now, self._progress.pages, self._progress.links_found))
        while len(recent) > 2 and recent[1].at <= now - _RECENT_S:
            recent.popleft()
        before = recent[0]
        return (self._progress.pages - before.pages) / max(now - before.at, 0.001)

    def _to_go(self, now: float, rate: float) -> str:
        """The estimated time to the end; nothing while it cannot be known."""
        progress = self._progress
        if progress.queued <= 0:
            self._shown = None
            return ""
        pages = max(self._max_pages - progress.pages, 0) if self._max_pages else inf
        seconds = max(self._max_minutes * 60 - (now - progress.started_at), 0.0) if self._max_minutes else inf
        grows = progress.links_found > self._recent[0].links
        left = time_left(self._loads, progress.queued, rate, grows=grows, budget=BudgetLeft(pages, seconds))
        if left is None:
            return ""
        before, shown_s = self._shown or (now, None)
        shown_s = steadied(shown_s, now - before, left.seconds)
        self._shown = (now, shown_s)
        return rendered(left._replace(seconds=shown_s))

    def _left(self, now: float) -> str:
        """What is left of the budgets; nothing if there are none."""
        left = []
        if self._max_pages:
            left.append(counted(max(self._max_pages - self._progress.pages, 0), "page"))
        if self._max_minutes:
            seconds = max(self._max_minutes * 60 - (now - self._progress.started_at), 0.0)
            left.append(f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s")
        return ", ".join(left)


class _Moment(NamedTuple):
    """The progress of the crawl at one time."""

    at: float
    pages: int
    links: int


def _pace(load: HostLoad) -> str:
    """How fast a host may be requested, and what it still has."""
    interval_s = max(load.delay_s, (load.latency_s or 0.0) / max(load.at_once, 1))
    more = "+" if load.has_more else ""
    return f"{load.host} {interval_s:.2g} s each, {load.queued:,}{more} queued"


def wrapped_parts(parts: Sequence[str], width: int) -> list[str]:
    """The parts of the sentence on as few lines as they need; a part is not broken, one that is too long is cut."""
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]} · {part}" if lines else part
        if lines and width_of(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part if width_of(part) <= width else cut(part, width))
    return lines


def fitted(label: str, items: Sequence[str], width: int) -> str:
    """The items that fit on one line, and how many more there are."""
    text = f"{label}: {items[0] if items else 'none'}"
    if width_of(text) > width:
        return cut(text, width)
    for number, item in enumerate(items[1:], 1):
        rest = len(items) - number - 1
        longer = f"{text} · {item}"
        if width_of(longer) + (len(f" · {rest:,} more") if rest else 0) > width:
            more = f" · {len(items) - number:,} more"
            return text + more if width_of(text + more) <= width else text
        text = longer
    return text


def cut(text: str, width: int) -> str:
    """A text that is not wider than `width`; what is missing is an ellipsis."""
    while text and width_of(text) >= width:
        text = text[:-1]
    return f"{text}…"
