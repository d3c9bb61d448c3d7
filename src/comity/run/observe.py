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
from comity.model.errors import ComityError
from comity.telemetry import events, metrics
from comity.telemetry.address import read_address
from comity.telemetry.events import Level
from comity.telemetry.gathering import Reporter
from comity.telemetry.logs import Log, open_log
from comity.telemetry.meter import Meter, Reading
from comity.telemetry.pulse import Pulse

if TYPE_CHECKING:
    from comity.model.gate import Wait
    from comity.telemetry.health import Check
    from comity.telemetry.serving import Page
    from comity.walk.progress import HostLineInSummary, RunSummary
    from comity.walk.request import OnWait


from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, TypeVar

from comity.telemetry.health import Check
from comity.telemetry.logs import masked

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.reports.status import Figures


# The state as a monitoring system sees it: asked beside the loop, seldom, and never by two at once.

Result = TypeVar("Result")

_FIGURES_EVERY_S: Final = 10.0
_CHECKED_EVERY_S: Final = 2.0
_PATIENCE_S: Final = 5.0
_PROBE: Final = "comity1:ready"
_PROBE_KEPT_MS: Final = 60_000


class StateLook:
    """Figures of the state, at most ten seconds old while it answers; and whether it answers."""

    def __init__(self, door: Invocation, log: Log) -> None:
        self._door = door
        self._log = log
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="comity-look")
        self._opened = ExitStack()
        self._state: State | None = None
        self._meter = Meter(metrics.Origin.STATE)
        self._figures_at = float("-inf")
        self._figures_turn = asyncio.Lock()
        self._check = Check("state", False, "not looked at yet")
        self._checked_at = float("-inf")
        self._check_turn = asyncio.Lock()
        self._asking: asyncio.Future[Any] | None = None
        self._asking_turn = asyncio.Lock()

    async def reading(self) -> Reading:
        """The figures; old ones, with their age, while the state does not answer."""
        async with self._figures_turn:
            if monotonic() - self._figures_at >= _FIGURES_EVERY_S:
                await self._count()
        if self._figures_at > float("-inf"):
            self._meter.set(metrics.STATE_AGE, round(monotonic() - self._figures_at, 3))
        return self._meter.read()

    async def check(self) -> Check:
        """Whether the state answers."""
        from comity.reports.status import check_state

        async with self._check_turn:
            if monotonic() - self._checked_at >= _CHECKED_EVERY_S:
                try:
                    await self._ask(lambda state: check_state(state.database))
                    self._check = Check("state", True, "answers")
                except Exception as error:
                    self._check = Check("state", False, _why(error))
                self._checked_at = monotonic()
        return self._check

    def close(self) -> None:
        """Let go of the state; a look that still waits for a server is not waited for."""
        self._thread.submit(self._let_go)
        self._thread.shutdown(wait=False)

    async def _count(self) -> None:
        from comity.reports.status import figures_of

        begun = monotonic()
        try:
            figures = await self._ask(lambda state: figures_of(state.database, state.clock))
        except Exception:
            self._meter.set(metrics.STATE_UP, 0.0)
            return
        self._figures_at = monotonic()
        self._show(figures)
        seconds = round(self._figures_at - begun, 3)
        self._log.tell(events.SCRAPED, f"the state was looked at in {seconds:g} s", seconds=seconds)

    def _show(self, figures: Figures) -> None:
        meter, known = self._meter, {str(line.status): line for line in figures.hosts}
        meter.set(metrics.STATE_UP, 1.0)
        for status in metrics.STATE_HOSTS.values:
            meter.set(metrics.STATE_HOSTS, known[status].hosts if status in known else 0, status)
        for status in metrics.STATE_WAITING.values:
            meter.set(metrics.STATE_WAITING, known[status].waiting if status in known else 0, status)
        meter.set(metrics.STATE_CLAIMS, figures.claims)
        meter.set(metrics.STATE_STUCK, figures.stuck)
        meter.set(metrics.STATE_FRONTIER, figures.frontier)

    async def _ask(self, question: Callable[[State], Result]) -> Result:
        """Ask on the thread; whoever waits too long goes away, and nothing more is asked until the thread is back."""
        async with asyncio.timeout(_PATIENCE_S), self._asking_turn:
            if self._asking is not None:
                await asyncio.wait([self._asking])
            future = asyncio.get_running_loop().run_in_executor(self._thread, self._answer, question)
            self._asking = future
            future.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            return await asyncio.shield(future)

    def _answer(self, question: Callable[[State], Result]) -> Result:
        if self._state is None:
            self._state = self._opened.enter_context(self._door.open_existing(migrate=False))
        try:
            return question(self._state)
        except Exception:
            self._let_go()
            raise

    def _let_go(self) -> None:
        self._state = None
        self._opened.close()


async def redis_check(url: str) -> Check:
    """Whether the server of a shared frontier takes writes; the URL may hold a password and is never shown."""
    try:
        from redis.asyncio import Redis

        client = Redis.from_url(url, socket_timeout=_PATIENCE_S, socket_connect_timeout=_PATIENCE_S)
        try:
            # A replica, and a server that is full or cannot write to its disk, would answer a mere PING.
            await client.set(_PROBE, 1, px=_PROBE_KEPT_MS)
        finally:
            await client.aclose()
    except Exception as error:
        return Check("redis", False, type(error).__name__)
    return Check("redis", True, "answers")


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {_PATIENCE_S:.0f} s"
    return masked(str(error)) if isinstance(error, ComityError) else type(error).__name__


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
    pulse = Pulse(meter, monotonic, reporter.tell if reporter is not None else None)
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
    door: Invocation, log: Log, read: Callable[[], list[Reading]], silence_s: Callable[[], Mapping[int, float]]
) -> AsyncIterator[None]:
    """Serve /metrics, /healthz and /readyz while the block lasts, if an address was given."""
    if door.settings.metrics is None:
        yield
        return
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
        read: Callable[[], list[Reading]],
        silence_s: Callable[[], Mapping[int, float]],
    ) -> None:
        self._redis_url: str | None = getattr(door.settings, "redis_url", None)
        self._look = look
        self._read = read
        self._silence_s = silence_s

    async def metrics(self, accept: str) -> Page:
        """All numbers there are."""
        from comity.telemetry.exposition import exposed
        from comity.telemetry.serving import Page

        return Page(200, *exposed([*self._read(), await self._look.reading()], accept))

    async def healthz(self, _accept: str) -> Page:
        """Whether every process moves; one that does not is best started anew."""
        from comity.telemetry.health import loop_checks, page_of

        return page_of(loop_checks(self._silence_s()))

    async def readyz(self, _accept: str) -> Page:
        """Whether work can be done now: the stores answer, and leases are renewed in time."""
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
        log.tell(events.WORKER_FAILED, str(error), error=error.code)
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


def log_host(log: Log, line: HostLineInSummary) -> None:
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
