"""The same for asyncio. Requests to the server run in threads: they are few and small beside the crawling itself, which
stays on the loop, so a second HTTP client would add a dependency and gain nothing.
"""

from __future__ import annotations

import asyncio
import signal
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final

from comity.bot.client import BotApiError, BotClient, BotClientError
from comity.bot.jobs import Failure, Heartbeat, Job, Pulled, Released, Result, Submitted
from comity.bot.runner import BEAT_CHECK_S, EMPTY_PULLS, LOG, MISSED, STOPPED, beat_every_s, warn_of_quarantine

AsyncHandler = Callable[[Job], Awaitable["Result | Failure | None"]]
_IDLE_S: Final = 5.0
_LONGEST_IDLE_S: Final = 60.0


class AsyncBotClient:
    """Pull, submit, heartbeat and release, with retries."""

    def __init__(
        self,
        url: str,
        bot_id: str,
        key: str | None = None,
        *,
        timeout_s: float = 30.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.bot_id = bot_id
        self._client = BotClient(url, bot_id, key, timeout_s=timeout_s, tls=tls)

    async def pull(self, max_jobs: int = 10, domain: str | None = None) -> Pulled:
        """Take up to so many jobs, of one host if it is named."""
        return await asyncio.to_thread(self._client.pull, max_jobs, domain)

    async def submit(self, job: Job | str, outcome: Result | Failure) -> Submitted:
        """Submit what was found, or why nothing was. Submitting the same again changes nothing."""
        return await asyncio.to_thread(self._client.submit, job, outcome)

    async def heartbeat(self, job_ids: Iterable[Job | str]) -> Heartbeat:
        """Keep the locks of jobs, or of ids, for another TTL."""
        return await asyncio.to_thread(self._client.heartbeat, list(job_ids))

    async def release(self, job_ids: Iterable[Job | str], reason: str | None = None) -> Released:
        """Give jobs, or ids, back; they can be pulled again at once."""
        return await asyncio.to_thread(self._client.release, list(job_ids), reason)

    def close(self) -> None:
        """Close every connection."""
        self._client.close()

    async def __aenter__(self) -> AsyncBotClient:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.close()


class AsyncBot:
    """A bot on an event loop that works until it is stopped; `run` is as `Bot.run`."""

    def __init__(
        self,
        url: str,
        bot_id: str,
        key: str | None = None,
        *,
        max_in_hand: int = 20,
        domain: str | None = None,
        timeout_s: float = 30.0,
        grace_s: float = 30.0,
    ) -> None:
        self.client = AsyncBotClient(url, bot_id, key, timeout_s=timeout_s)
        self._max_in_hand = max(1, max_in_hand)
        self._domain = domain
        self._grace_s = grace_s
        self._stopping = asyncio.Event()
        self._held: dict[str, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.counts = {"done": 0, "failed": 0, "released": 0, "lost": 0}

    def stop(self) -> None:
        """Give back what has not started, finish what has, and return from `run`."""
        self._stopping.set()

    async def run(self, handler: AsyncHandler, *, until_empty: bool = False) -> dict[str, int]:
        """Work until `stop` or SIGTERM; with `until_empty`, until two pulls find nothing. Returns the counts."""
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError, RuntimeError, ValueError):  # not the main thread
            loop.add_signal_handler(signal.SIGTERM, self.stop)
        beat = asyncio.create_task(self._keep_locks())
        try:
            await self._pull_until_stopped(handler, until_empty)
        finally:
            self._stopping.set()
            if self._tasks:
                await asyncio.wait(list(self._tasks), timeout=self._grace_s)
            for task in list(self._tasks):
                task.cancel()
            beat.cancel()
            await asyncio.gather(beat, *self._tasks, return_exceptions=True)
            if self._held:
                await self._give_back(list(self._held.values()), STOPPED)
            self.client.close()
            with suppress(NotImplementedError, RuntimeError, ValueError):
                loop.remove_signal_handler(signal.SIGTERM)
        return dict(self.counts)

    async def _pull_until_stopped(self, handler: AsyncHandler, until_empty: bool) -> None:
        idle_s, empty_pulls = 0.0, 0
        limited_by: str | None = None
        while not self._stopping.is_set():
            room = self._max_in_hand - len(self._held)
            if room < 1:
                await self._pause(0.1)
                continue
            try:
                pulled = await self.client.pull(min(room, 100), self._domain)
            except BotApiError:
                raise
            except BotClientError as error:
                LOG.warning("cannot pull: %s", error)
                await self._pause(_IDLE_S)
                continue
            for job in pulled.jobs:
                self._held[job.job_id] = job
                task = asyncio.create_task(self._work(handler, job))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            limited_by = warn_of_quarantine(pulled, limited_by)
            is_empty = pulled.is_empty and not self._held
            empty_pulls = empty_pulls + 1 if is_empty else 0
            if until_empty and empty_pulls == EMPTY_PULLS:
                return
            if pulled.jobs:
                idle_s = 0.0
                continue
            idle_s = min(_LONGEST_IDLE_S, idle_s + _IDLE_S)
            await self._pause(min(idle_s, pulled.retry_after_s if pulled.retry_after_s is not None else idle_s))

    async def _pause(self, seconds: float) -> bool:
        """Wait; True if the bot is to stop."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), max(0.05, seconds))
        return self._stopping.is_set()

    async def _work(self, handler: AsyncHandler, job: Job) -> None:
        while (left_s := job.opens_at - time.monotonic()) > 0:
            if await self._pause(left_s):
                break
        now = time.monotonic()
        if job.is_lost:
            self._forget(job, "lost")
        elif self._stopping.is_set() or now < job.opens_at:
            await self._give_back([job], STOPPED)
        elif now > job.closes_at:
            await self._give_back([job], MISSED)
        else:
            job.mark_started(now)
            await self._submit(job, await _outcome(handler, job))

    async def _submit(self, job: Job, outcome: Result | Failure) -> None:
        try:
            await self.client.submit(job, outcome)
        except BotClientError as error:
            LOG.warning("the result of %s was not accepted: %s", job.url, error)
            self._forget(job, "lost")
        else:
            self._forget(job, "done" if isinstance(outcome, Result) else "failed")

    def _forget(self, job: Job, counted: str) -> None:
        self._held.pop(job.job_id, None)
        self.counts[counted] += 1

    async def _give_back(self, jobs: list[Job], reason: str) -> None:
        for job in jobs:
            self._forget(job, "released")
        with suppress(BotClientError):  # their locks run out
            await self.client.release([job.job_id for job in jobs], reason)

    async def _keep_locks(self) -> None:
        beaten_at = time.monotonic()
        while True:
            await asyncio.sleep(BEAT_CHECK_S)
            if not self._held or time.monotonic() - beaten_at < beat_every_s(self._held.values()):
                continue
            beaten_at = time.monotonic()
            try:
                lost = (await self.client.heartbeat(list(self._held))).lost
            except BotClientError as error:
                LOG.warning("cannot keep locks: %s", error)
                continue
            for job_id in lost:
                if job_id in self._held:
                    self._held[job_id].is_lost = True


async def _outcome(handler: AsyncHandler, job: Job) -> Result | Failure:
    try:
        outcome = await handler(job)
    except Exception as error:
        LOG.warning("%s failed", job.url, exc_info=error)
        return Failure(f"{type(error).__name__}: {error}")
    return outcome if outcome is not None else Failure("the bot found nothing")
