"""The scheduler of sources as a process: its signals, and what it says."""

from __future__ import annotations

import asyncio
import signal

from comity.doors.cli.exit_codes import INTERRUPTED
from comity.doors.cli.options import Invocation
from comity.doors.cli.output import note
from comity.doors.cli.sources.rendering import teller
from comity.doors.cli.work import obey
from comity.run.event_loop import event_loop_runner
from comity.run.observe import log_of, wait_teller


def serve_sources(door: Invocation) -> int:
    """Run sources as they become due until a signal comes; gives the exit code."""
    codes: list[int] = []

    async def serve() -> None:
        with door.open_or_make() as opened:
            async with opened.fetcher() as fetcher, opened.source_desk(fetcher) as desk:
                desk.tell_of_waits(wait_teller(log_of(door)))
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

    with event_loop_runner() as runner:
        runner.run(serve())
    return codes[0] if codes else 0
