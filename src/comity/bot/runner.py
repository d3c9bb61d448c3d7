"""`Bot.run`: pull jobs, hand each to a function when its window opens, submit what it returns.

`workers` threads run the function. Two duties run beside them: pulling while there is room, and keeping the locks of
all jobs in hand. A job whose window was missed is returned, never started late: another client may have the slot after
it. On SIGTERM or Ctrl-C, jobs that have not started are returned at once, and those that have are finished.
"""

from __future__ import annotations

import heapq
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from comity.bot.client import BotApiError, BotClient, BotClientError
from comity.bot.jobs import QUARANTINE, Failure, Job, Pulled, Result

LOG: Final = logging.getLogger("comity.bot")
Handler = Callable[[Job], "Result | Failure | None"]
_IDLE_S: Final = 5.0
_LONGEST_IDLE_S: Final = 60.0
_GRACE_S: Final = 30.0
EMPTY_PULLS: Final = 2  # the first may have passed over hosts that rest for a while
BEAT_CHECK_S: Final = 2.0
MISSED: Final = "the window to start was missed"
STOPPED: Final = "the bot was stopped"


def warn_of_quarantine(pulled: Pulled, before: str | None) -> str | None:
    """Log once that the server hands out nothing to this bot; returns what limits it now."""
    if pulled.limited_by == QUARANTINE and before != QUARANTINE:
        LOG.warning("this bot failed too often and is in quarantine: the server hands out no jobs to it for a while")
    return pulled.limited_by


class Bot:
    """A bot that works until it is stopped."""

    def __init__(
        self,
        url: str,
        bot_id: str,
        key: str | None = None,
        *,
        workers: int = 4,
        max_in_hand: int = 20,
        domain: str | None = None,
        timeout_s: float = 30.0,
        grace_s: float = _GRACE_S,
    ) -> None:
        """`max_in_hand` jobs at most are held at once; `grace_s` is how long a stop waits for started jobs."""
        self._stopping = threading.Event()
        self.client = BotClient(url, bot_id, key, timeout_s=timeout_s, wait=self._wait)
        self._workers = max(1, workers)
        self._max_in_hand = max(1, max_in_hand)
        self._domain = domain
        self._grace_s = grace_s
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, Job]] = []  # by when their windows open
        self._held: dict[str, Job] = {}
        self._order = 0
        self._stops_when_empty = False
        self.counts = {"done": 0, "failed": 0, "released": 0, "lost": 0}

    def stop(self) -> None:
        """Give back what has not started, finish what has, and return from `run`. Safe in a signal handler's thread."""
        self._stopping.set()

    def run(self, handler: Handler, *, until_empty: bool = False) -> dict[str, int]:
        """Work until `stop`, SIGTERM or Ctrl-C; with `until_empty`, until two pulls find nothing. Returns the counts.

        The function gets a job when its request may start, makes one request, and returns a `Result` or a `Failure`.
        What it raises becomes a failure.
        """
        self._stops_when_empty = until_empty
        threads = [
            threading.Thread(target=self._work, args=(handler,), name=f"comity-bot-{number}", daemon=True)
            for number in range(self._workers)
        ]
        threads.append(threading.Thread(target=self._keep_locks, name="comity-bot-heartbeat", daemon=True))
        with self._signals():
            for thread in threads:
                thread.start()
            try:
                self._pull_until_stopped()
            finally:
                self._finish(threads)
        return dict(self.counts)

    def _pull_until_stopped(self) -> None:
        idle_s, empty_pulls = 0.0, 0
        limited_by: str | None = None
        while not self._stopping.is_set():
            room = self._max_in_hand - len(self._held)
            if room < 1:
                self._pause(0.2)
                continue
            try:
                pulled = self.client.pull(min(room, 100), self._domain)
            except BotApiError:
                raise  # a wrong key or a wrong request does not become right by itself
            except BotClientError as error:
                LOG.warning("cannot pull: %s", error)
                self._stopping.wait(_IDLE_S)
                continue
            for job in pulled.jobs:
                self._take(job)
            limited_by = warn_of_quarantine(pulled, limited_by)
            is_empty = pulled.is_empty and not self._held
            empty_pulls = empty_pulls + 1 if is_empty else 0
            if self._stops_when_empty and empty_pulls == EMPTY_PULLS:
                return
            if pulled.jobs:
                idle_s = 0.0
                continue
            idle_s = min(_LONGEST_IDLE_S, idle_s + _IDLE_S)
            self._pause(min(idle_s, pulled.retry_after_s if pulled.retry_after_s is not None else idle_s))

    def _pause(self, seconds: float) -> None:
        self._stopping.wait(max(0.05, seconds))

    def _wait(self, seconds: float) -> None:
        """The pause between two attempts; a bot that stops shortens it."""
        if self._stopping.wait(seconds):
            time.sleep(min(seconds, 0.5))

    def _take(self, job: Job) -> None:
        with self._changed:
            self._order += 1
            self._held[job.job_id] = job
            heapq.heappush(self._waiting, (job.opens_at, self._order, job))
            self._changed.notify_all()

    def _next(self) -> Job | None:
        """The next job whose window is open; None when the bot stops."""
        with self._changed:
            while not self._stopping.is_set():
                if not self._waiting:
                    self._changed.wait(0.5)
                    continue
                opens_at, _, job = self._waiting[0]
                left_s = opens_at - time.monotonic()
                if left_s > 0:
                    self._changed.wait(min(left_s, 0.5))
                    continue
                heapq.heappop(self._waiting)
                return job
        return None

    def _work(self, handler: Handler) -> None:
        while (job := self._next()) is not None:
            now = time.monotonic()
            if job.is_lost:
                self._forget(job, "lost")
            elif now > job.closes_at:
                self._give_back([job], MISSED)
            else:
                job.mark_started(now)
                self._submit(job, run_handler(handler, job))

    def _submit(self, job: Job, outcome: Result | Failure) -> None:
        try:
            self.client.submit(job, outcome)
        except BotApiError as error:
            LOG.warning("the result of %s was refused: %s", job.url, error)
            self._forget(job, "lost")
        except BotClientError as error:
            LOG.warning("the result of %s could not be submitted: %s", job.url, error)
            self._forget(job, "lost")
        else:
            self._forget(job, "done" if isinstance(outcome, Result) else "failed")

    def _forget(self, job: Job, counted: str) -> None:
        with self._changed:
            self._held.pop(job.job_id, None)
            self.counts[counted] += 1
            self._changed.notify_all()

    def _give_back(self, jobs: list[Job], reason: str) -> None:
        for job in jobs:
            self._forget(job, "released")
        with suppress(BotClientError):  # their locks run out
            self.client.release([job.job_id for job in jobs], reason)

    def _keep_locks(self) -> None:
        """Prolong every lock in hand at a third of the shortest time limit."""
        beaten_at = time.monotonic()
        while not self._stopping.wait(BEAT_CHECK_S):
            with self._changed:
                ids, every_s = list(self._held), beat_every_s(self._held.values())
            if not ids or time.monotonic() - beaten_at < every_s:
                continue
            beaten_at = time.monotonic()
            try:
                lost = self.client.heartbeat(ids).lost
            except BotClientError as error:
                LOG.warning("cannot keep locks: %s", error)
                continue
            with self._changed:
                for job_id in lost:
                    if job_id in self._held:
                        self._held[job_id].is_lost = True

    def _finish(self, threads: list[threading.Thread]) -> None:
        """Give back what has not started; wait for what has."""
        self._stopping.set()
        with self._changed:
            idle = [job for _, _, job in self._waiting if not job.is_lost]
            self._waiting.clear()
            self._changed.notify_all()
        if idle:
            self._give_back(idle, STOPPED)
        ends_at = time.monotonic() + self._grace_s
        for thread in threads:
            thread.join(max(0.0, ends_at - time.monotonic()))
        with self._changed:
            late = list(self._held.values())
        if late:  # their functions are still running; what they return is not submitted
            self._give_back(late, STOPPED)
        self.client.close()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Stop on SIGTERM and Ctrl-C; only the main thread can set signal handlers."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def on_signal(_number: int, _frame: Any) -> None:
            self._stopping.set()

        before = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def beat_every_s(held: Iterable[Job]) -> float:
    """How often to keep locks: three times in the shortest of them."""
    return min([60.0, *(max(1.0, job.timeout_s / 3) for job in held)])


def run_handler(handler: Handler, job: Job) -> Result | Failure:
    """Call the function; an exception is a failure, and so is no result."""
    try:
        outcome = handler(job)
    except Exception as error:
        LOG.warning("%s failed", job.url, exc_info=error)
        return Failure(f"{type(error).__name__}: {error}")
    return outcome if outcome is not None else Failure("the bot found nothing")
