"""The state as a monitoring system sees it: asked beside the loop, seldom, and never by two at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar

from comity.doors.cli.options import Invocation
from comity.doors.remedies import in_full
from comity.model.errors import ComityError
from comity.telemetry import events, metrics
from comity.telemetry.health import Check
from comity.telemetry.logs import Log, masked
from comity.telemetry.meter import Meter, MeterReading

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.reports.status import Figures

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

    async def reading(self) -> MeterReading:
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
    return masked(in_full(error)) if isinstance(error, ComityError) else type(error).__name__
