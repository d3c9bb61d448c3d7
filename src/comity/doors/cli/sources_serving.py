"""The scheduler of sources as a process: its signals, and what it says."""

from __future__ import annotations

import asyncio
import signal

from comity.doors.cli.failures import INTERRUPTED
from comity.doors.cli.options import Chosen
from comity.doors.cli.output import note
from comity.doors.cli.sources_told import teller
from comity.doors.cli.work import obey
from comity.doors.cli.work_watch import log_of, wait_teller
from comity.doors.event_loop import runner_of_loops


def serve_sources(door: Chosen) -> int:
    """Run sources as they become due until a signal comes; gives the exit code."""
    codes: list[int] = []

    async def serve() -> None:
        with door.open_or_make() as opened:
            async with opened.fetcher() as fetcher, opened.source_desk(fetcher) as desk:
                desk.log_waits(wait_teller(log_of(door)))
                due = opened.due_sources(desk, teller(door))

                def on_signal(number: int) -> None:
                    codes.append(INTERRUPTED if number == signal.SIGINT else 0)
                    due.stop()

                obey(on_signal)
                every = opened.settings.sources_every_minutes
                note(f"looking for sources that are due every {every:g} minutes; Ctrl-C ends it")
                ended = asyncio.Event()
                telling = asyncio.create_task(opened.outbox_drain().serve(ended, on_trouble=note))
                try:
                    await due.serve(on_trouble=note)
                finally:
                    ended.set()
                    await telling  # what the last runs found is told by whoever comes next

    with runner_of_loops() as runner:
        runner.run(serve())
    return codes[0] if codes else 0
