"""Running a crawl from a terminal: its loop, its signals and its progress."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from comity.doors.cli.crawl.rendering import ProgressLine, lines_of, write_visits
from comity.run.event_loop import event_loop_runner
from comity.run.signals import exit_in_time

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.rules.canonical import WebAddress
    from comity.walk.progress import Progress, RunSummary
    from comity.walk.robots_in_force import RobotsInForce

_LINE_EVERY_S = 5.0
_LOOK_EVERY_S = 0.25


def reopen_closed(state: State, hosts: Collection[str]) -> None:
    """Look again at robots.txt of hosts that it closed, where the copy is too old; a change opens them."""
    from comity.upkeep.reread_robots import reread_robots

    async def look() -> None:
        async with state.fetcher() as fetcher:

            async def read(address: WebAddress) -> RobotsInForce:
                return await state.read_robots(fetcher, address)

            await reread_robots(state.database, state.clock, read, hosts, state.frontier)

    with event_loop_runner() as runner:
        runner.run(look())


def run_crawl(state: State, hosts: Collection[str], *, quiet: bool, verbose: bool = False) -> RunSummary:
    """Crawl until the end, or until somebody stops it; progress goes to stderr."""
    with event_loop_runner() as runner:
        return runner.run(_run(state, hosts, quiet, verbose))


async def _run(state: State, hosts: Collection[str], quiet: bool, verbose: bool) -> RunSummary:
    from comity.walk.crawl_hooks import CrawlHooks

    hooks = CrawlHooks(on_settled=lambda outcomes: write_visits(lines_of(outcomes))) if verbose else None
    async with state.fetcher() as fetcher:
        crawl = state.crawl(fetcher, hosts, hooks)
        obey_signals(crawl.stop)
        async with watched(crawl.progress, state, quiet=quiet, verbose=verbose):
            return await crawl.run()


def obey_signals(
    stop: Callable[[], None], leave: Callable[[], None] | None = None, hold: Callable[[bool], None] | None = None
) -> None:
    """The first Ctrl-C finishes what is in flight; the second leaves at once. Neither loses anything.

    `leave` is called before leaving at once; `hold` around a suspension by Ctrl-Z.
    """
    loop = asyncio.get_running_loop()
    asked = False

    def on_signal() -> None:
        nonlocal asked
        if asked:
            print("comity: leaving at once; the same command goes on from here", file=sys.stderr, flush=True)
            if leave is not None:
                leave()
            os._exit(130)
        asked = True
        exit_in_time(130, before=leave or (lambda: None))
        print("comity: finishing what is under way (Ctrl-C again to leave at once)", file=sys.stderr, flush=True)
        stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    if hold is not None:
        loop.add_signal_handler(signal.SIGTSTP, _suspend, hold)


def _suspend(hold: Callable[[bool], None]) -> None:
    """Whoever suspends a crawl means all of its processes, which this signal does not reach."""
    hold(True)
    os.kill(os.getpid(), signal.SIGSTOP)
    hold(False)  # somebody said `fg`


@asynccontextmanager
async def watched(progress: Progress, state: State, *, quiet: bool, verbose: bool = False) -> AsyncIterator[None]:
    """Show the progress of what is done in here; as plain lines where a line for each URL is wanted, too."""
    watcher = None if quiet else asyncio.create_task(_watch(progress, state, is_live=not verbose))
    try:
        yield
    finally:
        if watcher is not None:
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher


async def _watch(progress: Progress, state: State, *, is_live: bool) -> None:
    settings = state.settings
    line = ProgressLine(progress, state.clock.seconds, settings.max_pages, settings.max_minutes)
    if is_live and sys.stderr.isatty():
        await _watch_live(progress, line, settings.max_pages)
    else:
        await _watch_lines(line)


async def _watch_lines(line: ProgressLine) -> None:
    """Not a terminal: a line every few seconds."""
    while True:
        await asyncio.sleep(_LINE_EVERY_S)
        print(f"comity: {line.sentence()}", file=sys.stderr, flush=True)


async def _watch_live(progress: Progress, line: ProgressLine, max_pages: int) -> None:
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, SpinnerColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class BarWithLine(Bar):
        """The bar, and below it as many lines as the sentence takes in this window."""

        def get_renderables(self) -> Any:
            bar: RenderableType = self.make_tasks_table(self.tasks)
            kept_together = line.shown.replace(" ", "\N{NO-BREAK SPACE}").replace("\N{NO-BREAK SPACE}·", " ·")
            return (bar, Text(kept_together.replace("·\N{NO-BREAK SPACE}", "· "), style="dim"))

    columns: list[Any] = [SpinnerColumn(), BarColumn(bar_width=40), TimeElapsedColumn()]
    with BarWithLine(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("crawling", total=max_pages or None)
        while True:
            # Without a limit, what is known to be left is the best guess at the end.
            known = progress.pages + progress.errors + max(progress.queued, 0)
            line.sentence()
            bar.update(task, completed=progress.pages, total=max_pages or max(known, 1))
            await asyncio.sleep(_LOOK_EVERY_S)
