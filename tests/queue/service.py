"""The crawl service on a state with the test's clock: pulls, submits and locks without a web server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
import zstandard
from sqlalchemy import insert

from comity.database import robots as robots_table
from comity.database.queue.tables import crawl_policies
from comity.model.queue import (
    BotError,
    BotRefused,
    JobStatus,
    KeptLocks,
    PulledJob,
    PulledJobs,
    ReleasedJobs,
    Submission,
)
from comity.model.robots import RobotsUnreachable
from comity.rules.queue.bot_limits import BreakerTerms
from comity.upkeep.sweep_queue import make_due_jobs
from comity.walk.bots.locks import Locks
from comity.walk.bots.pull import Puller
from comity.walk.bots.robots import ReadsRobots, RobotsBook
from comity.walk.bots.submit import Submitter, SubmitTerms
from comity.walk.bots.threads import BotThreads
from tests.database.states import State
from tests.queue.queued import put_job

BREAKER = BreakerTerms(bot_failures=4, site_failures=3)
FORBIDDING = "User-agent: *\nDisallow: /private\nCrawl-delay: 5\n"


def unpacked(page: bytes) -> str:
    """A page as a bot submitted it, from its column."""
    return zstandard.ZstdDecompressor().decompress(page, max_output_size=10_000).decode()


class Service:
    """Pull, submit and locks, called as plain functions."""

    def __init__(self, state: State, reader: ReadsRobots | None = None, *, makes_jobs: bool = False) -> None:
        self.state = state
        self.threads = BotThreads(2)
        book = RobotsBook("ComityBot/1.0", RobotsUnreachable.DISALLOW)
        database, clock = state.database, state.clock
        make = partial(make_due_jobs, database, clock, most_batches=1) if makes_jobs else None
        self.puller = Puller(database, clock, self.threads, book, reader, make_due_jobs=make)
        self.submitter = Submitter(database, clock, self.threads, SubmitTerms(breaker=BREAKER))
        self.locks = Locks(database, clock, self.threads, breaker=BREAKER)

    def pull(self, bot: str = "bot-1", most: int = 10, domain: str | None = None) -> PulledJobs:
        return asyncio.run(self.puller.pull(bot, most, domain))

    def pull_one(self, bot: str = "bot-1", domain: str | None = None) -> PulledJob:
        (job,) = self.pull(bot, 1, domain).jobs
        return job

    def submit(self, bot: str, job_id: UUID, success: bool = True, **fields: Any) -> dict[str, Any]:
        return asyncio.run(self.submitter.submit(Submission(bot, job_id, success, **fields)))

    def refusal(self, bot: str, job_id: UUID, success: bool = True, **fields: Any) -> tuple[BotError, BotRefused]:
        with pytest.raises(BotRefused) as refused:
            self.submit(bot, job_id, success, **fields)
        return refused.value.code, refused.value

    def heartbeat(self, bot: str, *job_ids: UUID) -> KeptLocks:
        return asyncio.run(self.locks.heartbeat(bot, job_ids))

    def release(self, bot: str, *job_ids: UUID, reason: str | None = None) -> ReleasedJobs:
        return asyncio.run(self.locks.release(bot, job_ids, reason))

    def allow(self, *hosts: str, text: str | None = None, hours: float = 12.0) -> None:
        """Have the robots.txt of hosts in the cache: a file, or none there."""
        now = self.state.clock.now()
        with self.state.database.write() as connection:
            for host in hosts:
                found = {"access": "parse", "robots_txt": text, "http_status": 200} if text else {"access": "allow_all"}
                values = {
                    "origin": f"https://{host}",
                    "host": host,
                    "http_status": 404,
                    "version": "0" * 32 if text else None,
                    "fetched_at": now,
                    "expires_at": now + timedelta(hours=hours),
                }
                robots_table.put(connection, values | found)

    def job(self, url: str = "https://shop.example/1", **columns: Any) -> UUID:
        """A waiting job."""
        return put_job(self.state, url, JobStatus.PENDING, **columns)

    def policy(self, url: str = "https://shop.example/1", **columns: Any) -> UUID:
        """A policy."""
        with self.state.database.write() as connection:
            statement = insert(crawl_policies).values(url=url, **columns).returning(crawl_policies.c.id)
            found: UUID = connection.execute(statement).scalar_one()
            return found


@pytest.fixture
def service(state: State) -> Iterator[Service]:
    """The service on each database, with robots.txt of one shop known."""
    made = Service(state)
    made.allow("shop.example")
    yield made
    made.threads.close()
