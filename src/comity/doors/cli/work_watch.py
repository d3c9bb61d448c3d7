"""What `comity work` shows to whoever watches it: metrics, health, and lines in the log."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING

import typer

from comity import __version__
from comity.doors.cli.options import Invocation
from comity.doors.cli.output import counted
from comity.doors.remedies import in_full
from comity.model.errors import ComityError
from comity.telemetry import events, metrics
from comity.telemetry.events import Level
from comity.telemetry.gathering import Reporter
from comity.telemetry.health import LoopPulse
from comity.telemetry.logs import Log, open_log
from comity.telemetry.meter import Meter, MeterReading
from comity.telemetry.serving import read_address

if TYPE_CHECKING:
    from comity.model.gate import Wait
    from comity.run.observe import StateLook
    from comity.telemetry.health import Check
    from comity.telemetry.serving import HttpAnswer
    from comity.walk.crawl.progress import HostSummary, RunSummary
    from comity.walk.request import OnWait


def log_of(door: Invocation) -> Log:
    """The log as the settings want it. With --json only what went wrong is told, unless a level was asked for."""
    settings = door.settings
    is_quiet = door.as_json and "log_level" not in settings.model_fields_set
    return open_log(settings.log_format, "warning" if is_quiet else settings.log_level, asked_for_json=door.as_json)


@asynccontextmanager
async def observed(door: Invocation, log: Log, reports_to: int | None) -> AsyncIterator[Meter | None]:
    """Watch this process while the block lasts; gives where to count, or None if nobody wants to know."""
    if reports_to is None and door.settings.metrics is None:
        yield None
        return
    meter = Meter()
    reporter = Reporter(reports_to) if reports_to is not None else None
    pulse = LoopPulse(meter, monotonic, reporter.tell if reporter is not None else None)
    async with AsyncExitStack() as stack:
        if reporter is None:
            numbers = Meter(metrics.Origin.PARENT)
            numbers.set(metrics.PROCESSES, 1)

            def silence() -> dict[int, float]:
                return {os.getpid(): monotonic() - pulse.beat_at}

            await stack.enter_async_context(served(door, log, lambda: [meter.read(), numbers.read()], silence))
        beating = asyncio.create_task(pulse.run())
        try:
            yield meter
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating
            if reporter is not None:
                reporter.tell(meter.read())  # what was counted since the last beat


@asynccontextmanager
async def served(
    door: Invocation, log: Log, read: Callable[[], list[MeterReading]], silence_s: Callable[[], Mapping[int, float]]
) -> AsyncIterator[None]:
    """Serve /metrics, /healthz and /readyz while the block lasts, if an address was given."""
    if door.settings.metrics is None:
        yield
        return
    from comity.run.observe import StateLook
    from comity.telemetry.serving import serving

    look = StateLook(door, log)
    pages = _Pages(door, look, read, silence_s)
    try:
        paths = {"/metrics": pages.metrics, "/healthz": pages.healthz, "/readyz": pages.readyz}
        async with serving(read_address(door.settings.metrics), paths) as address:
            told = f"metrics at http://{address}/metrics"
            log.tell(events.METRICS_SERVED, told, address=str(address))
            yield
    finally:
        look.close()


class _Pages:
    """What is answered to whoever asks."""

    def __init__(
        self,
        door: Invocation,
        look: StateLook,
        read: Callable[[], list[MeterReading]],
        silence_s: Callable[[], Mapping[int, float]],
    ) -> None:
        self._redis_url: str | None = getattr(door.settings, "redis_url", None)
        self._look = look
        self._read = read
        self._silence_s = silence_s

    async def metrics(self, accept: str) -> HttpAnswer:
        """All numbers there are."""
        from comity.telemetry.exposition import render_readings
        from comity.telemetry.serving import HttpAnswer

        return HttpAnswer(200, *render_readings([*self._read(), await self._look.reading()], accept))

    async def healthz(self, _accept: str) -> HttpAnswer:
        """Whether every process moves; one that does not is best started anew."""
        from comity.telemetry.health import loop_checks, page_of

        return page_of(loop_checks(self._silence_s()))

    async def readyz(self, _accept: str) -> HttpAnswer:
        """Whether work can be done now: the stores answer, and leases are renewed in time."""
        from comity.run.observe import redis_check
        from comity.telemetry.health import lease_check, page_of

        checks: list[Check] = [await self._look.check()]
        if self._redis_url:
            checks.append(await redis_check(self._redis_url))
        return page_of([*checks, *(lease_check(reading) for reading in self._read()[:1])])


@contextmanager
def told_as_logged(door: Invocation) -> Iterator[None]:
    """Where the log is JSON, so is the line with which a worker ends that cannot begin or go on."""
    try:
        yield
    except ComityError as error:
        log = log_of(door)
        if door.as_json or not log.as_json:
            raise
        log.tell(events.WORKER_FAILED, in_full(error), error=error.code)
        raise typer.Exit(error.exit_code) from None


def log_start(log: Log, door: Invocation) -> None:
    """A line for a worker that begins."""
    settings = door.settings
    log.tell(
        events.WORKER_STARTED,
        f"a worker begins on {settings.where}",
        version=__version__,
        state=settings.where,
        pages_to=settings.pages,
        concurrency=settings.concurrency,
    )


def log_doubts(log: Log, door: Invocation) -> None:
    """A line for each thing about the environment that looks like a slip."""
    from comity.run.settings_warnings import missing_contact, unknown_variables

    for doubt in (*unknown_variables(os.environ), missing_contact(door.settings)):
        if doubt is not None:
            log.tell(events.SETTINGS_DOUBTED, doubt)


def log_run(log: Log, summary: RunSummary) -> None:
    """A line for a run that ended."""
    rate = summary.pages / summary.seconds if summary.seconds > 0 else 0.0
    message = (
        f"{counted(summary.pages, 'page')} in {summary.seconds:.1f} s ({rate:.1f}/s), "
        f"{counted(summary.errors, 'error')}, {counted(len(summary.hosts), 'host')} left; "
        f"run ended: {summary.reason}"
    )
    names = ("run_id", "status", "code", "reason", "pages", "errors", "refused", "bytes_received")
    log.tell(
        events.RUN_ENDED,
        message,
        Level.WARNING if summary.status == "failed" else None,
        **{name: getattr(summary, name) for name in names},
        seconds=round(summary.seconds, 3),
        pages_per_second=round(rate, 2),
        hosts=len(summary.hosts),
        warnings=summary.warnings[:5],
    )


def log_host(log: Log, line: HostSummary) -> None:
    """A line for a host that was given back."""
    due = None if line.next_run_at is None else datetime.fromtimestamp(line.next_run_at, UTC)
    message = (
        f"{line.host}: {counted(line.pages, 'page')}, {counted(line.errors, 'error')} in {line.seconds:.1f} s; "
        f"left {line.status}, {line.queued:,} queued"
        + (f", due {due:%Y-%m-%d %H:%M} UTC" if due is not None else "")
        + (f" ({line.reason})" if line.reason else "")
    )
    fields = asdict(line) | {"next_run_at": due}
    log.tell(events.HOST_LEFT, message, **fields)


def wait_teller(log: Log) -> OnWait | None:
    """Who is told of waits for a host: the log, where it tells of such at all."""
    if not log.tells(events.RATE_LIMIT_WAIT.level):
        return None

    def tell(host: str, wait: Wait, now: float) -> None:
        seconds = round(wait.until - now, 3)
        message = f"{host}: a request waits {seconds:g} s ({wait.reason})"
        log.tell(events.RATE_LIMIT_WAIT, message, host=host, reason=str(wait.reason), seconds=seconds)

    return tell
