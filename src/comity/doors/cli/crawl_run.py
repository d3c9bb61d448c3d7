"""Running a crawl from a terminal: its loop, its signals and its progress."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from comity.doors.cli.crawl_shown import bytes_shown

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.rules.canonical import WebAddress
    from comity.walk.crawl import Crawl
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

            await reread_robots(state.database, state.clock, read, hosts)

    with _runner() as runner:
        runner.run(look())


def run_crawl(state: State, hosts: Collection[str], *, quiet: bool) -> RunSummary:
    """Crawl until the end, or until somebody stops it; progress goes to stderr."""
    with _runner() as runner:
        return runner.run(_run(state, hosts, quiet))


def _runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:  # not to be had everywhere
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


async def _run(state: State, hosts: Collection[str], quiet: bool) -> RunSummary:
    async with state.fetcher() as fetcher:
        crawl = state.crawl(fetcher, hosts)
        _stop_on_signals(crawl)
        watcher = asyncio.create_task(_nobody_watches() if quiet else _watch(crawl.progress, state))
        try:
            return await crawl.run()
        finally:
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher


def _stop_on_signals(crawl: Crawl) -> None:
    """The first Ctrl-C finishes what is in flight; the second leaves at once. Neither loses anything."""
    loop = asyncio.get_running_loop()
    asked = False

    def on_signal() -> None:
        nonlocal asked
        if asked:
            print("comity: leaving at once; the same command goes on from here", file=sys.stderr, flush=True)
            os._exit(130)
        asked = True
        print("comity: finishing what is under way (Ctrl-C again to leave at once)", file=sys.stderr, flush=True)
        crawl.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)


async def _nobody_watches() -> None:
    await asyncio.Event().wait()


async def _watch(progress: Progress, state: State) -> None:
    if sys.stderr.isatty():
        await _watch_live(progress, state)
    else:
        await _watch_lines(progress)


async def _watch_lines(progress: Progress) -> None:
    """Not a terminal: a line every few seconds."""
    while True:
        await asyncio.sleep(_LINE_EVERY_S)
        print(f"comity: {_sentence(progress)}", file=sys.stderr, flush=True)


async def _watch_live(progress: Progress, state: State) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    most = state.settings.max_pages or None
    columns: list[Any] = [
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TimeElapsedColumn(),
    ]
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("crawling", total=most)
        while True:
            # Without a limit, what is known to be left is the best guess at the end.
            known = progress.pages + progress.errors + max(progress.queued, 0)
            bar.update(task, completed=progress.pages, total=most or max(known, 1), description=_sentence(progress))
            await asyncio.sleep(_LOOK_EVERY_S)


def _sentence(progress: Progress) -> str:
    import time

    seconds = max(time.time() - progress.started_at, 0.001)  # noqa: TID251  # only shown, never decided on
    parts = [
        f"{progress.pages:,} pages",
        f"{progress.pages / seconds:,.1f}/s",
        f"{progress.hosts_active} active",
        f"{progress.queued:,} queued",
        bytes_shown(progress.bytes_received),
    ]
    if progress.errors:
        parts.append(f"{progress.errors} errors")
    if progress.hosts_blocked:
        parts.append(f"{progress.hosts_blocked} blocked")
    return " · ".join(parts)
