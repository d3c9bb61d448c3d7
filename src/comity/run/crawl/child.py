"""One process of a crawl that several share: `python -m comity.run.crawl.child`, begun by `crawl_processes`.

What it is to do comes as JSON lines on stdin, what it does goes as JSON lines to stdout; secrets travel nowhere else.
The end of stdin means that whoever began the run is gone: then it stops, cleanly and by itself.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from comity.assemble import open_state
from comity.doors.cli.crawl.rendering import lines_of
from comity.model.budget import BudgetReason, Exhausted
from comity.model.end_reason import EndReason
from comity.run.crawl.shared import HostsLeft, put_page_back, take_page
from comity.run.event_loop import event_loop_runner
from comity.run.gc_tuning import tune_gc
from comity.settings import read_settings
from comity.walk.crawl_hooks import CrawlHooks, HostShare
from comity.walk.run_budget import SharedPages

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.walk.crawl import Crawl
    from comity.walk.progress import Progress

TELL_EVERY_S: Final = 0.2
COUNTED: Final = (
    "begun",
    "held",
    "pages",
    "errors",
    "refused",
    "unchanged",
    "images_found",
    "images_stored",
    "images_failed",
    "bytes_received",
    "links_found",
    "hosts_active",
    "hosts_waiting",
    "hosts_blocked",
    "hosts_done",
    "queued",
)
_LONGEST_LINE: Final = 1 << 28


def main() -> int:
    """Be one process of a run, to the end of the run."""
    tune_gc()
    with event_loop_runner() as runner:
        return runner.run(_take_part(_Voice()))


class _Voice:
    """Says lines to whoever began the run; nothing else gets to that pipe."""

    def __init__(self) -> None:
        self._descriptor = os.dup(1)
        os.dup2(2, 1)  # whatever a library prints

    def say(self, **document: Any) -> None:
        """Say something that must arrive; if nobody listens any more, nothing does."""
        rest = (json.dumps(document) + "\n").encode()
        with suppress(BrokenPipeError):
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    def mention(self, **document: Any) -> None:
        """Say something that the next line says better, unless that would take time."""
        if select.select([], [self._descriptor], [], 0)[1]:
            self.say(**document)


async def _take_part(voice: _Voice) -> int:
    orders = asyncio.StreamReader(_LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    line = await orders.readline()
    if not line:
        return 0
    job = json.loads(line)
    try:
        with open_state(read_settings(**job["settings"]), migrate=False) as state:
            await _crawl(state, job, orders, voice)
    except Exception as error:
        voice.say(failed=_in_words(error))
        return 1
    return 0


async def _crawl(state: State, job: dict[str, Any], orders: asyncio.StreamReader, voice: _Voice) -> None:
    is_held_up = False

    def hold(hold_up: bool) -> None:
        nonlocal is_held_up
        is_held_up = hold_up
        if not hold_up:
            crawl.go_on()

    async with state.fetcher() as fetcher:
        crawl = state.crawl(fetcher, job["hosts"], _hooks(job, voice, lambda: is_held_up))
        for number in (signal.SIGINT, signal.SIGTERM):  # also of a service manager that signals everybody
            asyncio.get_running_loop().add_signal_handler(number, crawl.stop)
        telling = _tell(crawl.progress, voice)
        beside = [asyncio.create_task(_obey(orders, crawl, hold)), asyncio.create_task(telling)]
        try:
            summary = await crawl.run()
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
    crawl.progress.held = 0
    voice.say(**_said(crawl.progress))
    voice.say(ended=[summary.status, summary.code])


def _hooks(job: dict[str, Any], voice: _Voice, is_held_up: Callable[[], bool]) -> CrawlHooks:
    left = HostsLeft(job["hosts_left"], number=job["number"])
    pages = None
    if job["pages_left"] is not None:
        taken_from, put_back_to = job["pages_left"]
        pages = SharedPages(partial(take_page, taken_from), partial(put_page_back, put_back_to))
    tell_host = lambda line: voice.say(host=asdict(line))  # noqa: E731
    return CrawlHooks(
        on_settled=(lambda outcomes: voice.say(visited=lines_of(outcomes))) if job["is_verbose"] else None,
        is_held_up=is_held_up,
        run_id=UUID(job["run_id"]),
        pages=pages,
        hosts=HostShare(job["most_hosts"], left.left, left.leave, left.take_back, tell_host),
    )


async def _obey(orders: asyncio.StreamReader, crawl: Crawl, hold: Callable[[bool], None]) -> None:
    """Do what whoever began the run says, for as long as that lives."""
    while line := await orders.readline():
        match json.loads(line):
            case {"stop": reason}:
                crawl.stop(EndReason(reason))
            case {"spent": [reason, sentence]}:
                crawl.end_by(Exhausted(BudgetReason(reason), sentence))
            case {"hold": hold_up}:
                hold(hold_up)
    crawl.stop(EndReason.PARENT_GONE)


async def _tell(progress: Progress, voice: _Voice) -> None:
    while True:
        await asyncio.sleep(TELL_EVERY_S)
        voice.mention(**_said(progress))


def _said(progress: Progress) -> dict[str, Any]:
    return {
        "progress": {name: getattr(progress, name) for name in COUNTED},
        "warnings": progress.warnings,
        "faults": [asdict(fault) for fault in progress.faults.values()],
    }


def _in_words(error: Exception) -> dict[str, Any]:
    """What the command line would say of this, for whoever began the run to say it."""
    from comity.doors.cli.exit_codes import exit_code_of

    told = io.StringIO()
    with redirect_stderr(told):
        exit_code = exit_code_of(error, as_json=True)
    line, _, details = told.getvalue().partition("\n")
    return {"exit_code": exit_code, "details": details, **json.loads(line)}


if __name__ == "__main__":
    sys.exit(main())
