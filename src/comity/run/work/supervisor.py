"""`comity work --processes N`: one parent that starts as many workers, passes signals on, and replaces who dies.

What may be secret goes to the workers by the environment, never by the command line. Each holds the other end of a pipe
to the parent as its stdin: when the parent is gone, however that came, they finish and end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Final

from comity.doors.cli.exit_codes import INTERRUPTED
from comity.doors.cli.options import Invocation
from comity.doors.cli.work import FINISHING, NO_PAGE, NOTHING_TO_DO, obey
from comity.model.errors import BadInput
from comity.run.event_loop import event_loop_runner
from comity.run.observe import log_of, served
from comity.run.signals import FORCED_EXIT
from comity.run.work.log import FrontierWatch
from comity.telemetry import events, metrics
from comity.telemetry.gathering import Gathered
from comity.telemetry.meter import Meter, Reading

_COMMAND: Final = ("-P", "-m", "comity", "work", "--ends-with-stdin", "--processes", "1")
_RESTARTS_A_MINUTE: Final = 3
_PAUSE_S: Final = 1.0


def run_workers(door: Invocation, hosts: int | None, max_minutes: float, *, idle_exit: bool) -> int:
    """Have processes work until all have ended; gives the exit code."""
    with event_loop_runner() as runner:
        return runner.run(_Workers(door, hosts, max_minutes, idle_exit=idle_exit).run())


class _Workers:
    def __init__(self, door: Invocation, hosts: int | None, max_minutes: float, *, idle_exit: bool) -> None:
        self._door = door
        self._log = log_of(door)
        self._gathered = Gathered(monotonic)
        self._meter = Meter(metrics.Origin.PARENT)
        self._settings = door.settings
        self._hosts = hosts
        self._idle_exit = idle_exit
        self._children: dict[int, asyncio.subprocess.Process] = {}
        self._stopping = asyncio.Event()
        self._code = 0
        self._ended: set[int] = set()  # the exit codes of workers that ended by themselves
        self._ends_at = monotonic() + max_minutes * 60 if max_minutes else None

    async def run(self) -> int:
        """Keep every process going; gives the exit code once all have ended."""
        obey(
            self._on_signal, self._kill_all, lambda: self._log.tell(events.WORKER_LEFT, FORCED_EXIT, error="no_answer")
        )
        async with served(self._door, self._log, self._readings, self._gathered.silence_s):
            await asyncio.to_thread(self._try_state)
            try:
                await asyncio.gather(*(self._keep(number) for number in range(self._settings.processes)))
            finally:
                self._kill_all()
        if not self._code and NO_PAGE in self._ended and 0 not in self._ended:
            return 1  # no page came of all that they tried
        return self._code

    def _try_state(self) -> None:
        """Whatever is wrong with the state is told once, and here."""
        with self._door.open_or_make(connections=2) as state:
            FrontierWatch(self._log).look(state)

    def _readings(self) -> list[Reading]:
        self._meter.set(metrics.PROCESSES, self._gathered.reporting)
        return [self._gathered.reading(), self._meter.read()]

    def _on_signal(self, number: int) -> None:
        self._log.tell(events.STOPPING, FINISHING, signal=signal.Signals(number).name)
        self._code = INTERRUPTED if number == signal.SIGINT else 0
        self._stopping.set()
        self._send_all(signal.SIGTERM)

    def _kill_all(self) -> None:
        self._send_all(signal.SIGKILL)

    def _send_all(self, number: int) -> None:
        for child in self._children.values():
            with suppress(ProcessLookupError):
                child.send_signal(number)

    async def _keep(self, number: int) -> None:
        """One worker after the other, until one ends as it should."""
        died_at: deque[float] = deque(maxlen=_RESTARTS_A_MINUTE)
        while not self._stopping.is_set():
            code = await self._one(number)
            if self._stopping.is_set() or code in (0, INTERRUPTED, NO_PAGE, NOTHING_TO_DO):
                self._ended.add(code)
                return
            if code == BadInput.exit_code:  # it said why, and the next would say the same
                self._code = code
                return
            is_often = len(died_at) == _RESTARTS_A_MINUTE
            pause_s = max(_PAUSE_S, died_at[0] + 60.0 - monotonic()) if is_often else _PAUSE_S
            died_at.append(monotonic())
            said = f"a worker process {_how(code)}; another begins in {pause_s:.0f} s"
            self._log.tell(events.WORKER_DIED, said, error="worker_died", code=code, pause_s=round(pause_s, 3))
            self._meter.add(metrics.DEATHS)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._stopping.wait()

    async def _one(self, number: int) -> int:
        """Start a worker and wait for its end. It is in no terminal's group: Ctrl-C is for us."""
        arguments = self._arguments(number)
        if arguments is None:
            return 0
        with self._hearing(number) as reports_to:
            child = await asyncio.create_subprocess_exec(
                sys.executable,
                *_COMMAND,
                *arguments,
                *(() if reports_to is None else ("--reports-to", str(reports_to))),
                stdin=asyncio.subprocess.PIPE,
                env=self._environment(),
                start_new_session=True,
                pass_fds=() if reports_to is None else (reports_to,),
            )
            self._children[number] = child
            if self._stopping.is_set():  # the signal came while it was being started
                child.send_signal(signal.SIGTERM)
            try:
                return await child.wait()
            finally:
                del self._children[number]

    @contextmanager
    def _hearing(self, number: int) -> Iterator[int | None]:
        """Take a child's readings from a pipe while it lives; gives the end that the child writes to."""
        if self._settings.metrics is None:
            yield None
            return
        loop, gathered = asyncio.get_running_loop(), self._gathered
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)

        def hear() -> bool:
            with suppress(BlockingIOError):
                piece = os.read(ours, 65_536)
                gathered.hear(number, piece)
                return bool(piece)
            return False

        gathered.begin(number)
        loop.add_reader(ours, hear)
        try:
            yield theirs
        finally:
            loop.remove_reader(ours)
            os.close(theirs)
            while hear():
                pass  # what it said last
            os.close(ours)
            gathered.end(number)

    def _arguments(self, number: int) -> list[str] | None:
        """The options of one worker, with its share of what may be under way at once; None if the time is up."""
        settings, count = self._settings, self._settings.processes
        given = {
            "--concurrency": _share(settings.concurrency, number, count),
            "--delay": settings.delay_s,
            "--per-host": settings.per_host,
            "--timeout": settings.fetch_timeout_s,
            "--connect-timeout": settings.connect_timeout_s,
            "--first-byte-timeout": settings.first_byte_timeout_s,
            "--retries": settings.retries,
            "--max-retry-backoff": settings.max_retry_backoff_seconds,
            "--max-minutes": 0.0,
        }
        if self._ends_at is not None:
            left_s = self._ends_at - monotonic()
            if left_s <= 0:
                return None
            given["--max-minutes"] = left_s / 60
        if self._hosts is not None:
            given["--hosts"] = _share(self._hosts, number, count)
        flags = [*(["--idle-exit"] if self._idle_exit else []), *(["--json"] if self._door.as_json else [])]
        return [*(part for name, value in given.items() for part in (name, str(value))), *flags]

    def _environment(self) -> dict[str, str]:
        settings = self._settings
        ours = {"COMITY_PAGES": settings.pages, "COMITY_STATE": settings.state}
        for name in ("enable_refresh_mode", "update_stale", "images", "max_image_bytes"):
            ours[f"COMITY_{name.upper()}"] = str(getattr(settings, name))
        urls = {"COMITY_DATABASE_URL": settings.database_url or "", "COMITY_REDIS_URL": settings.redis_url or ""}
        # Metrics are served here, for all of them.
        return dict(os.environ) | ours | urls | {"COMITY_METRICS": ""}


def _share(whole: int, number: int, count: int) -> int:
    return max(1, whole // count + (number < whole % count))


def _how(code: int) -> str:
    if code < 0:
        with suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}"
    return f"ended with code {code}"
