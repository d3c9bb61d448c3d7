"""Workers: one in this process, or several in child processes that are replaced when they die."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from comity.assemble import open_state
from comity.frontier.store import FrontierUnavailable
from comity.model.errors import BadInput, StateUnavailable
from comity.run.child_process import ChildProcess
from comity.run.crawl.view import Visit
from comity.run.logs import StoreLog, log_for, log_level
from comity.run.observe import served
from comity.run.runtime import event_loop_runner
from comity.run.signals import FORCED_EXIT, INTERRUPTED, stop_on_signals
from comity.run.work.worker import STOPPING, WorkerProcess, WorkLimits, WorkObserver
from comity.store.target import read_target, try_folder
from comity.telemetry import events, metrics
from comity.telemetry.loops import pause
from comity.telemetry.meter import Meter, MeterReading, ReadingCollector
from comity.walk.crawl.progress import HostSummary

if TYPE_CHECKING:
    from comity.settings import Settings

_RESTARTS_A_MINUTE: Final = 3
_PAUSE_S: Final = 1.0
# If the same failure comes this often in a row, each within a minute of the start, it would come forever.
_SAME_FAILURES: Final = 3
_AT_ONCE_S: Final = 60.0
_PASSING: Final = frozenset(
    {StateUnavailable.code, FrontierUnavailable.code}
)  # a store that does not answer comes back


def run_workers(settings: Settings, limits: WorkLimits, view: WorkObserver, *, as_json: bool) -> int:
    """Work in as many processes as the settings say, until all have ended; returns the exit code."""
    with event_loop_runner() as runner:
        if settings.processes > 1:
            return runner.run(_Workers(settings, limits, view, as_json=as_json).run())
        worker = WorkerProcess(settings, limits, log_for(settings, as_json=as_json), view)
        return runner.run(worker.run_alone())


class _Workers:
    def __init__(self, settings: Settings, limits: WorkLimits, view: WorkObserver, *, as_json: bool) -> None:
        self._settings = settings
        self._limits = limits
        self._view = view
        self._as_json = as_json
        self._log = log_for(settings, as_json=as_json)
        self._gathered = ReadingCollector(monotonic)
        self._meter = Meter(metrics.Origin.PARENT)
        self._children: dict[int, ChildProcess] = {}
        self._stopping = asyncio.Event()
        self._code = 0
        self._pages = 0
        self._brought_nothing = False
        self._ends_at = monotonic() + limits.max_minutes * 60 if limits.max_minutes else None

    async def run(self) -> int:
        """Keep every process running; returns the exit code once all have ended."""
        stop_on_signals(self._on_signal, on_timeout=self._log_forced_exit, before_exit=self._kill_all)
        self._view.on_start(self._stop)
        async with served(self._settings, self._log, self._readings, self._gathered.silence_s):
            await asyncio.to_thread(self._check_stores)
            try:
                await asyncio.gather(*(self._keep(number) for number in range(self._settings.processes)))
            finally:
                self._kill_all()
        if not self._code and not self._stopping.is_set() and self._brought_nothing and not self._pages:
            return 1  # all that they tried brought no page
        return self._code

    def _check_stores(self) -> None:
        """Report a problem of a store once, before any process starts."""
        with open_state(self._settings, connections=2) as state:
            StoreLog(self._log).check_frontier(state)
        try_folder(read_target(self._settings.pages))

    def _readings(self) -> list[MeterReading]:
        self._meter.set(metrics.PROCESSES, self._gathered.reporting)
        return [self._gathered.reading(), self._meter.read()]

    def _on_signal(self, number: int) -> None:
        self._log.emit(events.STOPPING, STOPPING, signal=signal.Signals(number).name)
        self._code = INTERRUPTED if number == signal.SIGINT else 0
        self._stop()

    def _stop(self) -> None:
        self._stopping.set()
        for child in self._children.values():
            child.send({"stop": True})

    def _log_forced_exit(self) -> None:
        self._log.emit(events.WORKER_LEFT, FORCED_EXIT, error="no_answer")

    def _kill_all(self) -> None:
        for child in self._children.values():
            child.kill()

    def _on_message(self, message: dict[str, Any]) -> None:
        match message:
            case {"run": figures}:
                if self._view.on_run is not None:
                    self._view.on_run(figures)
            case {"visits": visits}:
                if self._view.on_visits is not None:
                    self._view.on_visits([Visit(**visit) for visit in visits])
            case {"host": line}:
                if self._view.on_host is not None:
                    self._view.on_host(HostSummary(**line))
            case {"ended": {"pages": pages, "brought_nothing": brought_nothing}}:
                self._pages += pages
                self._brought_nothing |= brought_nothing

    async def _keep(self, number: int) -> None:
        """Run workers one after another, until one ends by itself."""
        died_at: deque[float] = deque(maxlen=_RESTARTS_A_MINUTE)
        failures: deque[str | None] = deque(maxlen=_SAME_FAILURES)  # their codes
        while not self._stopping.is_set():
            limits = self._limits_of(number)
            if limits is None:
                return
            child, started_at = ChildProcess(number, self._on_message), monotonic()
            code = await self._run_child(child, limits)
            if self._stopping.is_set() or code == 0:
                return
            if child.failure is not None:
                self._view.on_failure(child.failure)
                if child.failure.exit_code == BadInput.exit_code:  # the next would fail in the same way
                    self._code = child.failure.exit_code
                    return
            is_early = monotonic() - started_at < _AT_ONCE_S
            failures.append(child.failure.code if child.failure is not None and is_early else None)
            if _is_hopeless(failures):
                self._code = code
                message = (
                    f"a worker process failed {_SAME_FAILURES} times in a row for the same reason; it is not restarted"
                )
                self._log.emit(events.WORKER_FAILED, message, error="worker_died")
                return
            is_often = len(died_at) == _RESTARTS_A_MINUTE
            pause_s = max(_PAUSE_S, died_at[0] + 60.0 - monotonic()) if is_often else _PAUSE_S
            died_at.append(monotonic())
            message = f"a worker process {child.describe_exit(code)}; another starts in {pause_s:.0f} s"
            self._log.emit(events.WORKER_DIED, message, error="worker_died", code=code, pause_s=round(pause_s, 3))
            self._meter.add(metrics.DEATHS)
            await pause(self._stopping, pause_s)

    async def _run_child(self, child: ChildProcess, limits: WorkLimits) -> int:
        """Start a worker, and wait for its end."""
        settings = self._settings
        own = settings.model_copy(
            update={
                "concurrency": _share(settings.concurrency, child.number, settings.processes),
                "processes": 1,
                "metrics": None,  # they are served here, for all processes
                "log_level": log_level(settings, as_json=self._as_json),
            }
        )
        with self._readings_of(child.number) as reports_to:
            job = {
                "limits": asdict(limits),
                "reports_runs": self._view.on_run is not None,
                "reports_events": self._view.on_visits is not None,
                "reports_to": reports_to,
                "logs_json": self._log.as_json,
            }
            await child.start("work", own, job, descriptors=() if reports_to is None else (reports_to,))
            self._children[child.number] = child
            if self._stopping.is_set():  # the signal arrived while the process was being started
                child.send({"stop": True})
            try:
                return await child.wait()
            finally:
                del self._children[child.number]

    @contextmanager
    def _readings_of(self, number: int) -> Iterator[int | None]:
        """Gather a child's readings from a pipe while it lives; returns the end that the child writes to."""
        if self._settings.metrics is None:
            yield None
            return
        loop, gathered = asyncio.get_running_loop(), self._gathered
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)

        def read() -> bool:
            with suppress(BlockingIOError):
                piece = os.read(ours, 65_536)
                gathered.receive(number, piece)
                return bool(piece)
            return False

        gathered.begin(number)
        loop.add_reader(ours, read)
        try:
            yield theirs
        finally:
            loop.remove_reader(ours)
            os.close(theirs)
            while read():
                pass  # its last readings
            os.close(ours)
            gathered.end(number)

    def _limits_of(self, number: int) -> WorkLimits | None:
        """The share of one worker; None if the time is up."""
        limits, count = self._limits, self._settings.processes
        if self._ends_at is not None:
            left_s = self._ends_at - monotonic()
            if left_s <= 0:
                return None
            limits = replace(limits, max_minutes=left_s / 60)
        if limits.hosts is not None:
            limits = replace(limits, hosts=_share(limits.hosts, number, count))
        return limits


def _is_hopeless(codes: Sequence[str | None]) -> bool:
    """Whether the last failures of a worker were all of one kind, and of one that does not pass by itself."""
    return len(codes) == _SAME_FAILURES and len(set(codes)) == 1 and codes[0] is not None and codes[0] not in _PASSING


def _share(whole: int, number: int, count: int) -> int:
    return max(1, whole // count + (number < whole % count))
