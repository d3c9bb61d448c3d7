"""Figures of whole tables: what is expensive to count is counted once for all who look at it (`FigureCache`).

A figure that is counted quickly is never older than a few seconds. One that takes long is shown as it was counted last,
and counted again in the background, so that no page waits for it twice: once when the server starts (`ahead`), and for
some minutes after the last request for it (`recount`), for a fortieth of the time. A page that must not wait at all
asks for what is `known`, and says that the rest is being counted; that takes a hundredth of the time.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from dataclasses import field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from comity.doors.web.errors import LOG
from comity.model.dataclass import dataclass
from comity.model.search import SearchQuery
from comity.operate.webhooks import delivery_counts
from comity.reports.queue import (
    FinishedHour,
    QueueGlance,
    QueueStats,
    finished_by_hour,
    queue_figures,
    queue_glance,
    queue_stats,
)
from comity.reports.status import Figures, figures_of

if TYPE_CHECKING:
    from comity.doors.web.services import WebServices

Value = TypeVar("Value")
_QUICK_S: Final = 0.1
_COLD_S: Final = 0.3
_OLDEST_S: Final = 60.0  # that is shown while a new one is counted
_OLDEST_KNOWN_S: Final = 600.0  # that a page which does not wait shows
_OLD_S: Final = 5.0  # a page tries to get a newer one, even if the last took long: that may have been a cold start
# A figure is cached this many times as long as it took: a crawl in the same process needs the processor.
_SHARE: Final = 40
_SHARE_OF_KNOWN: Final = 100  # the same for what live pages ask for every two seconds
_LONGEST_S: Final = 60.0  # that such a figure is cached for this reason
_RECOUNTED_AFTER_S: Final = 40.0  # before it is too old to be shown
_ASKED_WITHIN_S: Final = 600.0  # what is not requested is not counted
_MOST: Final = 500
_RECOUNT_EVERY_S: Final = 5.0
_HOURS_SHOWN: Final = 24
_HOSTS: Final = "hosts and leases"
_JOBS: Final = "jobs and deliveries"
_QUEUE: Final = "queue"
_POSTINGS: Final = "postings"

QueueRows = tuple[dict[str, int], datetime | None, dict[str, int]]
"""Jobs by status, since when the oldest waits, and deliveries of webhooks by status."""


@dataclass(slots=True)
class _Entry:
    value: Any = None
    counted_at: float | None = None
    begun_at: float = 0.0
    """When counting it started: what was changed later is not in it."""
    took_s: float = 0.0
    counting: Future[None] | None = None
    count: Callable[[], Any] | None = None
    """How to count it again, if a page may wait for it."""
    asked_at: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


class FigureCache:
    """The figures of one process, by name."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._changed_at = -math.inf
        self._entries: dict[str, _Entry] = {}
        self._lock = threading.Lock()
        self._behind = ThreadPoolExecutor(2, thread_name_prefix="figures")
        self._is_closed = False

    def get(self, name: str, count: Callable[[], Value], *, for_s: float = 2.0) -> Value:
        """The figure of this name; `count` is called if it is not known or too old.

        With `for_s=0`, only a figure that takes long is cached at all.
        """
        entry = self._asked(name, count)
        counted_at = entry.counted_at  # read before the value, and written after it: what was counted is there
        value = cast(Value, entry.value)
        age = self._seconds() - counted_at if counted_at is not None else None
        if age is not None and age < max(for_s, _SHARE * entry.took_s if entry.took_s > _QUICK_S else 0):
            return value
        if age is not None and age < _oldest_s(entry) and entry.took_s > _QUICK_S:
            self._count_behind(entry, count)
            return value
        with entry.lock:  # the others wait for the first
            if entry.counted_at is not None and entry.counted_at != counted_at:
                return cast(Value, entry.value)
            return cast(Value, self._counted(entry, count))

    def known(self, name: str, count: Callable[[], Value], *, wait_s: float, for_s: float = 2.0) -> Value | None:
        """The figure as it was counted last, or None if it is not known within `wait_s`.

        It is counted in the background if it is not known or too old; if that fails while a page waits, the page fails.
        """
        entry = self._entry(name)
        age = self._age(entry)
        is_of_now = entry.begun_at >= self._changed_at
        if age is not None and is_of_now and age < max(for_s, _cached_s(entry)):
            return cast(Value, entry.value)
        counting = self._count_behind(entry, count)
        # Where the last count took longer, this one would probably take too long as well.
        is_awaited = age is None or not is_of_now or age >= _OLD_S or entry.took_s <= wait_s
        if counting is not None and is_awaited:
            with suppress(FutureTimeout):
                counting.result(wait_s)
        age = self._age(entry)
        return cast(Value, entry.value) if age is not None and age < _OLDEST_KNOWN_S else None

    def ahead(self, name: str, count: Callable[[], object]) -> None:
        """Begin to count a figure that will be asked for by `get`."""
        self._count_behind(self._asked(name, count), count)

    def wait_counted(self, seconds: float) -> None:
        """Wait for what is being counted, at most so long."""
        with self._lock:
            counting = [entry.counting for entry in self._entries.values() if entry.counting is not None]
        wait(counting, seconds)

    def expire(self) -> None:
        """A user changed something: what is `known` is counted again at the next request."""
        self._changed_at = self._seconds()

    def recount(self) -> None:
        """Count again in the background what takes long, was asked for lately, and is nearly too old to be given.

        Called every few seconds.
        """
        with self._lock:
            entries = list(self._entries.values())
        for entry in entries:
            age, count = self._age(entry), entry.count
            if age is None or count is None or entry.took_s <= _QUICK_S:
                continue
            is_wanted = self._seconds() - entry.asked_at < _ASKED_WITHIN_S
            if is_wanted and age >= max(_RECOUNTED_AFTER_S, _SHARE * entry.took_s):
                self._count_behind(entry, count)

    def close(self) -> None:
        """Count nothing more."""
        self._is_closed = True
        self._behind.shutdown(wait=True, cancel_futures=True)

    def _entry(self, name: str) -> _Entry:
        with self._lock:
            if len(self._entries) >= _MOST:
                self._entries.clear()
            return self._entries.setdefault(name, _Entry())

    def _asked(self, name: str, count: Callable[[], object]) -> _Entry:
        entry = self._entry(name)
        entry.count, entry.asked_at = count, self._seconds()
        return entry

    def _age(self, entry: _Entry) -> float | None:
        counted_at = entry.counted_at  # once: a count that fails takes it away
        return self._seconds() - counted_at if counted_at is not None else None

    def _count_behind(self, entry: _Entry, count: Callable[[], object]) -> Future[None] | None:
        """Count in the background, unless that is under way; None if the server ends."""

        def act() -> None:
            try:
                with entry.lock:
                    self._counted(entry, count)
            except Exception as error:  # the next page that needs it counts again, and reports what is wrong
                LOG.warning("figures could not be counted: %s", type(error).__name__)
                entry.counted_at = None
                raise

        with self._lock:
            if (entry.counting is None or entry.counting.done()) and not self._is_closed:
                entry.counting = self._behind.submit(act)
            return entry.counting

    def _counted(self, entry: _Entry, count: Callable[[], object]) -> object:
        began, is_first = self._seconds(), entry.counted_at is None
        entry.value = count()
        entry.begun_at = began
        entry.counted_at = self._seconds()
        took_s = entry.counted_at - began
        # The first time, statements are built and caches are cold: what is not long then is quick from then on.
        entry.took_s = min(took_s, _QUICK_S) if is_first and took_s < _COLD_S else took_s
        return entry.value


def _cached_s(entry: _Entry) -> float:
    return min(_SHARE_OF_KNOWN * entry.took_s, _LONGEST_S)


def _oldest_s(entry: _Entry) -> float:
    """How old it may be when it is given: older if it takes so long that it cannot be counted every minute."""
    return max(_OLDEST_S, 2 * _SHARE * entry.took_s)


def hosts_and_leases(services: WebServices) -> Figures:
    """Hosts by status, leases, and queued URLs."""
    return services.figures.get(_HOSTS, partial(_hosts, services), for_s=0)


def queue_rows(services: WebServices) -> QueueRows:
    """What the metrics say of the queue's tables."""
    return services.figures.get(_JOBS, partial(_rows, services), for_s=0)


def queue_in_full(services: WebServices) -> QueueStats:
    """The crawl service: jobs by status and host, bots, policies, throughput."""
    return services.figures.get(_QUEUE, partial(_queue, services), for_s=0)


def queue_at_a_glance(services: WebServices) -> QueueGlance:
    """The queue as its page shows it."""
    state = services.state
    return services.figures.get("queue at a glance", lambda: queue_glance(state.database, state.clock), for_s=0)


def finished_hours(services: WebServices) -> list[FinishedHour]:
    """The jobs that ended in each of the last hours."""
    state = services.state
    count = partial(finished_by_hour, state.database, state.clock, _HOURS_SHOWN)
    return services.figures.get("finished by hour", count, for_s=0)


def count_ahead(services: WebServices) -> None:
    """Begin to count when the server starts, so that the first who asks need not wait."""
    services.figures.ahead(_HOSTS, partial(_hosts, services))
    services.figures.ahead(_JOBS, partial(_rows, services))
    services.figures.ahead(_QUEUE, partial(_queue, services))
    if not services.state.settings.meili_url:  # the state itself keeps the counts of a search for a while
        services.figures.ahead(_POSTINGS, partial(services.search.query, SearchQuery(limit=1)))


async def keep_counted(services: WebServices) -> None:
    """Count again what was asked for lately, before it is too old to be given."""
    while True:
        await asyncio.sleep(_RECOUNT_EVERY_S)
        services.figures.recount()


def _hosts(services: WebServices) -> Figures:
    return figures_of(services.state.database, services.state.clock)


def _rows(services: WebServices) -> QueueRows:
    database = services.state.database
    return *queue_figures(database), delivery_counts(database)


def _queue(services: WebServices) -> QueueStats:
    return queue_stats(services.state.database, services.state.clock)
