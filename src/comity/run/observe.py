"""What a monitoring system sees of a worker: /metrics, /healthz and /readyz.

The state is queried on its own thread, at most every few seconds, one query at a time: however often metrics are
scraped, and however slowly the state answers, the workers are not disturbed. A process supervisor or a load balancer
checks whether the worker is healthy.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from comity.assemble import open_existing_state
from comity.model.errors import ComityError
from comity.run.remedies import in_full
from comity.telemetry import events, metrics
from comity.telemetry.logs import Log, masked
from comity.telemetry.meter import Meter, MeterReading, Reporter
from comity.telemetry.metrics import LEASE_OVERDUE, LOOP_LAG
from comity.telemetry.serving import HttpAnswer, read_address

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.reports.status import Figures
    from comity.settings import Settings
    from comity.telemetry.serving import HttpAnswer

Result = TypeVar("Result")

FIGURES_EVERY_S: Final = 10.0
CHECKED_EVERY_S: Final = 2.0
ANSWER_WITHIN_S: Final = 5.0
_PROBE: Final = "comity2:ready"  # beside the frontier's own keys
_PROBE_KEPT_MS: Final = 60_000
_STUCK_AFTER_S: Final = 30.0  # an event loop that has been stuck for this long does not recover


@asynccontextmanager
async def observed(settings: Settings, log: Log, reports_to: int | None) -> AsyncIterator[Meter | None]:
    """Observe this process while the block lasts; returns the meter to count on, or None if metrics are off.

    A child process writes its readings to `reports_to`; its parent serves them.
    """
    if reports_to is None and settings.metrics is None:
        yield None
        return
    meter = Meter()
    reporter = Reporter(reports_to) if reports_to is not None else None
    pulse = LoopPulse(meter, monotonic, reporter.report if reporter is not None else None)
    async with AsyncExitStack() as stack:
        if reporter is None:
            numbers = Meter(metrics.Origin.PARENT)
            numbers.set(metrics.PROCESSES, 1)

            def silence() -> dict[int, float]:
                return {os.getpid(): monotonic() - pulse.beat_at}

            await stack.enter_async_context(served(settings, log, lambda: [meter.read(), numbers.read()], silence))
        beating = asyncio.create_task(pulse.run())
        try:
            yield meter
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating
            if reporter is not None:
                reporter.report(meter.read())  # what was counted since the last report


@asynccontextmanager
async def served(
    settings: Settings, log: Log, read: Callable[[], list[MeterReading]], silence_s: Callable[[], Mapping[int, float]]
) -> AsyncIterator[None]:
    """Serve /metrics, /healthz and /readyz while the block lasts, if the settings name an address."""
    if settings.metrics is None:
        yield
        return
    from comity.telemetry.serving import serving

    monitor = StateMonitor(settings, log)
    pages = _Pages(settings, monitor, read, silence_s)
    try:
        paths = {"/metrics": pages.metrics, "/healthz": pages.healthz, "/readyz": pages.readyz}
        async with serving(read_address(settings.metrics), paths) as address:
            log.emit(events.METRICS_SERVED, f"metrics at http://{address}/metrics", address=str(address))
            yield
    finally:
        monitor.close()


class _Pages:
    """The three pages."""

    def __init__(
        self,
        settings: Settings,
        monitor: StateMonitor,
        read: Callable[[], list[MeterReading]],
        silence_s: Callable[[], Mapping[int, float]],
    ) -> None:
        self._redis_url = settings.redis_url
        self._monitor = monitor
        self._read = read
        self._silence_s = silence_s

    async def metrics(self, accept: str) -> HttpAnswer:
        """Every metric, of the processes and of the state."""
        from comity.telemetry.meter import render_readings
        from comity.telemetry.serving import HttpAnswer

        return HttpAnswer(200, *render_readings([*self._read(), await self._monitor.reading()], accept))

    async def healthz(self, _accept: str) -> HttpAnswer:
        """Whether the event loop of every process runs; a process that hangs should be restarted."""

        return page_of(loop_checks(self._silence_s()))

    async def readyz(self, _accept: str) -> HttpAnswer:
        """Whether crawling is possible now: the stores answer, and leases are renewed in time."""

        checks: list[Check] = [await self._monitor.check()]
        if self._redis_url:
            checks.append(await check_redis(self._redis_url))
        return page_of([*checks, *(lease_check(reading) for reading in self._read()[:1])])


class StateMonitor:
    """The figures of the state, at most ten seconds old while it answers, and whether it answers."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self._settings = settings
        self._log = log
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="comity-monitor")
        self._opened = ExitStack()
        self._state: State | None = None
        self._meter = Meter(metrics.Origin.STATE)
        self._figures_at = float("-inf")
        self._figures_turn = asyncio.Lock()
        self._check = Check("state", False, "not checked yet")
        self._checked_at = float("-inf")
        self._check_turn = asyncio.Lock()
        self._running_query: asyncio.Future[Any] | None = None
        self._query_turn = asyncio.Lock()

    async def reading(self) -> MeterReading:
        """The figures; while the state does not answer, the last ones with their age."""
        async with self._figures_turn:
            if monotonic() - self._figures_at >= FIGURES_EVERY_S:
                await self._count()
        if self._figures_at > float("-inf"):
            self._meter.set(metrics.STATE_AGE, round(monotonic() - self._figures_at, 3))
        return self._meter.read()

    async def check(self) -> Check:
        """Whether the state answers."""
        from comity.reports.status import check_state

        async with self._check_turn:
            if monotonic() - self._checked_at >= CHECKED_EVERY_S:
                try:
                    await self._query(lambda state: check_state(state.database))
                    self._check = Check("state", True, "answers")
                except Exception as error:
                    self._check = Check("state", False, _why(error))
                self._checked_at = monotonic()
        return self._check

    def close(self) -> None:
        """Close the state, without waiting for a query that a server does not answer."""
        self._thread.submit(self._close_state)
        self._thread.shutdown(wait=False)

    async def _count(self) -> None:
        from comity.reports.status import figures_of

        begun = monotonic()
        try:
            figures = await self._query(lambda state: figures_of(state.database, state.clock))
        except Exception:
            self._meter.set(metrics.STATE_UP, 0.0)
            return
        self._figures_at = monotonic()
        self._set_figures(figures)
        seconds = round(self._figures_at - begun, 3)
        self._log.emit(events.SCRAPED, f"the state was queried in {seconds:g} s", seconds=seconds)

    def _set_figures(self, figures: Figures) -> None:
        meter, known = self._meter, {str(line.status): line for line in figures.hosts}
        meter.set(metrics.STATE_UP, 1.0)
        for status in metrics.STATE_HOSTS.values:
            meter.set(metrics.STATE_HOSTS, known[status].hosts if status in known else 0, status)
        for status in metrics.STATE_WAITING.values:
            meter.set(metrics.STATE_WAITING, known[status].waiting if status in known else 0, status)
        meter.set(metrics.STATE_CLAIMS, figures.claims)
        meter.set(metrics.STATE_STUCK, figures.stuck)
        meter.set(metrics.STATE_FRONTIER, figures.frontier)

    async def _query(self, query: Callable[[State], Result]) -> Result:
        """Query on the thread. A caller gives up after a while; the next query starts when the thread is free again."""
        async with asyncio.timeout(ANSWER_WITHIN_S), self._query_turn:
            if self._running_query is not None:
                await asyncio.wait([self._running_query])
            future = asyncio.get_running_loop().run_in_executor(self._thread, self._run_query, query)
            self._running_query = future
            future.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            return await asyncio.shield(future)

    def _run_query(self, query: Callable[[State], Result]) -> Result:
        if self._state is None:
            self._state = self._opened.enter_context(open_existing_state(self._settings, migrate=False))
        try:
            return query(self._state)
        except Exception:
            self._close_state()
            raise

    def _close_state(self) -> None:
        self._state = None
        self._opened.close()


async def check_redis(url: str) -> Check:
    """Whether the server of a shared frontier takes writes; the URL may hold a password and is never printed."""
    try:
        from redis.asyncio import Redis

        client = Redis.from_url(url, socket_timeout=ANSWER_WITHIN_S, socket_connect_timeout=ANSWER_WITHIN_S)
        try:
            # A replica, or a server that is full or cannot write to its disk, would still answer a PING.
            await client.set(_PROBE, 1, px=_PROBE_KEPT_MS)
        finally:
            await client.aclose()
    except Exception as error:
        return Check("redis", False, type(error).__name__)
    return Check("redis", True, "answers")


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no response within {ANSWER_WITHIN_S:.0f} s"
    return masked(in_full(error)) if isinstance(error, ComityError) else type(error).__name__


class Check(NamedTuple):
    """The result of one check."""

    name: str
    is_well: bool
    detail: str


def loop_checks(silence_s: Mapping[int, float]) -> list[Check]:
    """Whether the event loop of every process runs, by how long each has been silent."""
    return [
        Check(f"process {number}", seconds < _STUCK_AFTER_S, f"last active {seconds:.1f} s ago")
        for number, seconds in sorted(silence_s.items())
    ]


def lease_check(reading: MeterReading) -> Check:
    """Whether leases are renewed in time: if not, hosts are about to be lost."""
    overdue_s = reading.numbers.get(LEASE_OVERDUE.name, {}).get("", 0.0)
    is_well = overdue_s <= 0
    return Check("leases", is_well, "renewed in time" if is_well else f"renewal is {overdue_s:.0f} s overdue")


def page_of(checks: Sequence[Check]) -> HttpAnswer:
    """200 if all checks pass, 503 if not, with the result of each."""
    is_well = all(check.is_well for check in checks)
    document = {
        "status": "ok" if is_well else "failing",
        "checks": {check.name: {"ok": check.is_well, "detail": check.detail} for check in checks},
    }
    return HttpAnswer(200 if is_well else 503, (json.dumps(document) + "\n").encode(), "application/json")


TICK_S: Final = 1.0
_REMEMBERED: Final = 10  # ticks


class LoopPulse:
    """Beats once a second and notes how late it was. `report` gets a reading at every beat."""

    def __init__(
        self, meter: Meter, clock: Callable[[], float], report: Callable[[MeterReading], None] | None = None
    ) -> None:
        self._meter = meter
        self._clock = clock
        self._report = report
        self._late = deque([0.0], maxlen=_REMEMBERED)
        self.beat_at = clock()

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            due = self._clock() + TICK_S
            await asyncio.sleep(TICK_S)
            self.beat_at = self._clock()
            self._late.append(max(0.0, self.beat_at - due))
            self._meter.set(LOOP_LAG, round(max(self._late), 6))
            if self._report is not None:
                self._report(self._meter.read())
