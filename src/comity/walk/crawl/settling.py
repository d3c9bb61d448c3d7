"""Collects outcomes and settles them in batches on another thread: at 200, at 6 MB of bodies, or after a short time.

A batch waits for 50 ms. While outcomes of several hosts keep coming, batches begin 0.1 s apart: what a batch costs
beyond its outcomes (the commit, and some rows for each host) is paid less often, and pages of one host are stored
together. Where batches take long, because the disk is slow or other processes write, they begin up to half a second
apart, so that the processes of a state leave each other room. After a `kill -9` each host is then still asked again for
a few pages only; a crawl of few hosts, which would repeat more of each, does not wait. Nor does any crawl once no
visit is under way and none can begin: its next URLs, or its end, come with the batch.

A call to a frontier that does not answer is made again (`RetryingThread`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from math import inf
from time import perf_counter
from typing import Final, ParamSpec, TypeVar

from comity.frontier.store import FrontierStore, FrontierUnavailable, FrontierUnfit
from comity.model.outcome import Fetched, ImageFetched, Outcome
from comity.store.sink import is_full
from comity.walk.crawl.events import BatchSettled, Emit, FrontierRebuilt, FrontierSilent
from comity.walk.robots.keeper import RobotsKeeper
from comity.walk.session.database_thread import DatabaseThread
from comity.walk.session.leased_host import LeasedHost, Unsettled
from comity.walk.settle.settler import HostBatch, Settler

BATCH: Final = 200  # what is not settled is fetched again after a `kill -9`
_WAIT_S: Final = 0.05
_FEW_HOSTS: Final = 4
_BETWEEN_BATCHES_S: Final = 0.1
_MOST_BETWEEN_BATCHES_S: Final = 0.5
_TIMES_THE_LAST: Final = 5.0  # as long as the last batch took, from its start to the start of the next
_MOST_WAITING: Final = 1000
# Of bodies, which are in memory until their pages are written: a batch begins at the first, and takes up to the second,
# so that batches grow where settling falls behind. Visits stop only at the third: if they stopped near the second, the
# answers that then arrive at once would need more memory than a longer queue does.
_ENOUGH_BYTES: Final = 6 << 20
_BATCH_BYTES: Final = 8 << 20
_MOST_BYTES: Final = 16 << 20
_SILENCE_S: Final = 2.0
_WITH_BODY: Final = (Fetched, ImageFetched)
_LEAST_PAUSE_S: Final = 0.1
_MOST_PAUSE_S: Final = 5.0
GIVE_UP_AFTER_S: Final = 900.0
_LOOK_EVERY_S: Final = 0.1

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class Settling:
    """The queue between visits and the database. If a write fails, the run ends and nothing is acknowledged."""

    def __init__(self, settler: Settler, thread: RetryingThread, robots: RobotsKeeper, emit: Emit) -> None:
        self._settler = settler
        self._thread = thread
        self._robots = robots
        self._emit = emit
        self._waiting: dict[LeasedHost, list[Outcome]] = {}
        self._under_way: dict[LeasedHost, list[Outcome]] = {}
        self._count = 0
        self._begun_at = 0.0  # when the current batch was handed over
        self.took_s = 0.0  # the last batch, to be stored and committed
        self.bytes_held = 0  # of bodies that are not yet settled
        self._some = asyncio.Event()
        self._enough = asyncio.Event()  # for a batch
        self._turn = asyncio.Lock()
        self._is_awaited = False
        self._is_over = False

    @property
    def is_full(self) -> bool:
        """Whether the database is so far behind, or silent for so long, that nothing new should begin.

        A page that cannot be settled is fetched once more, by another worker: better not to fetch it now.
        """
        if self._count >= _MOST_WAITING or self.bytes_held >= _MOST_BYTES:
            return True
        return bool(self._under_way) and perf_counter() - self._begun_at > _SILENCE_S

    @property
    def _is_enough(self) -> bool:
        return self._count >= BATCH or self.bytes_held >= _ENOUGH_BYTES

    def put(self, host: LeasedHost, outcome: Outcome) -> None:
        """Queue an outcome."""
        if self._is_over:
            host.unsettled.requests += outcome.trail.requests
            return
        self._waiting.setdefault(host, []).append(outcome)
        self._count += 1
        self.bytes_held += _body_bytes(outcome)
        self._some.set()
        if self._count >= BATCH or self.bytes_held >= _ENOUGH_BYTES:
            self._enough.set()

    def put_news(self, host: LeasedHost) -> None:
        """Settle a host that has something besides the outcomes of visits."""
        self._waiting.setdefault(host, [])
        self._some.set()

    def hurry(self) -> None:
        """Begin the batch now: the crawl has nothing to do before it is settled."""
        if self._waiting:
            self._is_awaited = True
            self._enough.set()

    def is_waiting(self, host: LeasedHost) -> bool:
        """Whether outcomes of a host are not yet settled."""
        return host in self._waiting or host in self._under_way or bool(host.unsettled)

    async def run(self) -> None:
        """Settle for as long as the run lasts."""
        try:
            while True:
                await self._some.wait()
                await self._wait_for_more()
                async with self._turn:
                    await self._settle_some()
        finally:
            self._give_up()

    async def _wait_for_more(self) -> None:
        """Wait until a batch is full or awaited, or it is time for one."""
        self._enough.clear()
        await self._wait_until_full(_WAIT_S)
        if len(self._waiting) > _FEW_HOSTS:
            apart_s = min(max(_BETWEEN_BATCHES_S, _TIMES_THE_LAST * self.took_s), _MOST_BETWEEN_BATCHES_S)
            await self._wait_until_full(self._begun_at + apart_s - perf_counter())
        self._is_awaited = False

    async def _wait_until_full(self, seconds: float) -> None:
        if seconds > 0 and not self._is_enough and not self._is_awaited:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._enough.wait()

    def _give_up(self) -> None:
        """The run is over: waiting URLs will be visited again, but their requests were made and must be recorded."""
        self._is_over = True
        for host, outcomes in self._waiting.items():
            _return_requests(host, outcomes)
        self._waiting, self._count = {}, 0

    async def flush(self, host: LeasedHost | None = None) -> None:
        """Settle everything that waits; with a host, only until nothing of that host waits."""
        if host is not None and host.unsettled:
            self._waiting.setdefault(host, [])
        # A batch at a turn: a flush of one host does not wait for all the others.
        while self._waiting or self._under_way if host is None else host in self._waiting or host in self._under_way:
            async with self._turn:
                await self._settle_some()

    async def _settle_some(self) -> None:
        """Settle a batch, unless a flush has taken everything meanwhile."""
        if not self._waiting:
            self._some.clear()
            return
        taken, body_bytes = self._take()
        self._under_way = taken
        begun = self._begun_at = perf_counter()
        batches = [_batch(host, taken[host]) for host in taken]
        try:
            if self._robots.is_storing:  # the ledger must have each robots.txt before the requests that it allowed
                await self._robots.flush()
            result = await self._thread.run(self._settler.settle, batches)
        except Exception:
            for host, batch in zip(taken, batches, strict=True):
                host.unsettled.requests += batch.news.requests
                _return_requests(host, batch.outcomes)
            raise
        finally:
            self._under_way = {}
            self.took_s = perf_counter() - begun
            self.bytes_held -= body_bytes
            if not self._waiting:
                self._some.clear()
        self._emit(BatchSettled(taken, result))

    def _take(self) -> tuple[dict[LeasedHost, list[Outcome]], int]:
        """Take a batch, as many outcomes as fit and at least one; with the bytes of their bodies."""
        taken: dict[LeasedHost, list[Outcome]] = {}
        most, most_bytes = BATCH, _BATCH_BYTES
        for host in list(self._waiting):
            outcomes = self._waiting.pop(host)
            fits = 0
            for outcome in outcomes:
                if most <= 0 or most_bytes <= 0:
                    break
                fits += 1
                most -= 1
                most_bytes -= _body_bytes(outcome)
            if fits < len(outcomes):
                self._waiting[host] = outcomes[fits:]
            if fits or not outcomes:
                taken[host] = outcomes[:fits]
            self._count -= fits
            if most <= 0 or most_bytes <= 0:
                break
        return taken, _BATCH_BYTES - most_bytes


def _body_bytes(outcome: Outcome) -> int:
    return len(outcome.body) if isinstance(outcome, _WITH_BODY) else 0


def _return_requests(host: LeasedHost, outcomes: list[Outcome]) -> None:
    """Store the requests of outcomes that are not settled; they are recorded when the host is released."""
    for outcome in outcomes:
        host.unsettled.requests += outcome.trail.requests


def _batch(host: LeasedHost, outcomes: list[Outcome]) -> HostBatch:
    news, host.unsettled = host.unsettled, Unsettled()
    memory, errors_in_a_row = host.gate.memory(), host.tally.errors_in_a_row
    return HostBatch(
        host.lease,
        memory,
        errors_in_a_row,
        outcomes,
        news,
        host.refresh_began_at,
        host.may_know_pages,
        host.has_too_deep,
    )


class DiskFull(str):
    """The reason of a wait for space on the disk of the pages."""

    __slots__ = ()


class RetryingThread:
    """The database thread for calls that need the frontier; `clock` gives seconds.

    A store that is unavailable wrote nothing, so the same call is made again, after growing pauses and for a bounded
    time. The same holds for a full disk of pages, if `waits_for_space` says that space will be made. Leases are renewed
    in between, because no pause blocks the thread.
    """

    def __init__(
        self,
        thread: DatabaseThread,
        frontier: FrontierStore,
        clock: Callable[[], float],
        emit: Emit,
        *,
        waits_for_space: bool = False,
    ) -> None:
        self._waits_for_space = waits_for_space
        self._thread = thread
        self._frontier = frontier
        self._clock = clock
        self._emit = emit
        self.ends_at = inf  # when the run ends, whether the frontier is back or not
        self._has_stopped_asking = False

    async def run(
        self, function: Callable[_Arguments, _Result], *arguments: _Arguments.args, **options: _Arguments.kwargs
    ) -> _Result:
        """Run a function until the frontier answers; raises `FrontierUnavailable` in the end."""
        pause_s, gives_up_at = _LEAST_PAUSE_S, inf
        while True:
            try:
                result = await self._thread.run(function, *arguments, **options)
                break
            except FrontierUnfit:
                raise  # waiting does not help
            except (FrontierUnavailable, OSError) as error:
                if isinstance(error, OSError) and not (self._waits_for_space and is_full(error)):
                    raise
                now = self._clock()
                if gives_up_at == inf:
                    gives_up_at = now + GIVE_UP_AFTER_S
                    self._emit(FrontierSilent(_sentence(error)))
                is_silent = isinstance(error, FrontierUnavailable) and self._frontier.has_own_server
                if is_silent and now >= self.ends_at and not self._has_stopped_asking:
                    # Do not lose what was fetched: try once more, with the database alone.
                    self._has_stopped_asking = True
                    self._frontier.stop_asking()
                    continue
                if now >= min(gives_up_at, self.ends_at):
                    raise
            await self._pause(pause_s)
            pause_s = min(pause_s * 2, _MOST_PAUSE_S)
        if gives_up_at != inf:
            self._emit(FrontierSilent(None))
        if rebuilt := self._frontier.take_rebuilt():
            self._emit(FrontierRebuilt(rebuilt))
        return result

    async def _pause(self, seconds: float) -> None:
        """Sleep, but not past the end of the run, which may be set meanwhile."""
        until = self._clock() + seconds
        while (left_s := min(until, self.ends_at) - self._clock()) > 0:  # noqa: ASYNC110  # rare, and the end may move
            await asyncio.sleep(min(left_s, _LOOK_EVERY_S))


def _sentence(error: FrontierUnavailable | OSError) -> str:
    if isinstance(error, OSError):
        return DiskFull(f"{error.filename}: {error.strerror}; waiting for disk space")
    return str(error)
