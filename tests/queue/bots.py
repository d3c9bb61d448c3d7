"""Processes full of bots for the tests: each pulls, makes a "request" in its window, and submits.

What a site and a bot would know is in a file that survives a kill: one line for each request, written just before it is
made, and one for each submit that was acknowledged.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from decimal import Decimal
from multiprocessing.process import BaseProcess
from typing import Any

from sqlalchemy import text

from comity.clock import SystemClock
from comity.database.connection import Database, open_database
from comity.model.gate import DoorProfile
from comity.model.queue import BotRefused, PulledJob, Submission
from comity.model.robots import RobotsUnreachable
from comity.walk.bots.locks import Locks
from comity.walk.bots.pull import Puller, PullTerms
from comity.walk.bots.robots import RobotsBook
from comity.walk.bots.submit import Submitter, SubmitTerms
from comity.walk.bots.threads import BotThreads
from tests.servers.forks import FORKS

DELAY_S = 0.05
PROFILE = DoorProfile(interval_s=DELAY_S, random_delay_s=None, max_concurrency=1)
TERMS = PullTerms(PROFILE, horizon_s=1.0, turn_s=2.0)


def start_bots(url: str, log: str, first: int, count: int, ends_at: float, dying: int = 0) -> BaseProcess:
    """A process with some bots; of these, the first few die after their first pull."""
    process = FORKS.Process(target=run_bots, args=(url, log, first, count, ends_at, dying), daemon=True)
    process.start()
    return process


def run_bots(url: str, log: str, first: int, count: int, ends_at: float, dying: int) -> None:
    """What the process does, until every job is done."""
    database = open_database(url, connections=4)
    written = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        asyncio.run(_serve(database, lambda *words: _write(written, words), first, count, ends_at, dying))
    finally:
        os.close(written)
        database.close()


def _write(written: int, words: tuple[Any, ...]) -> None:
    os.write(written, (" ".join(map(str, words)) + "\n").encode())


async def _serve(
    database: Database, log: Callable[..., None], first: int, count: int, ends_at: float, dying: int
) -> None:
    threads = BotThreads()
    book = RobotsBook("ComityBot/1.0", RobotsUnreachable.DISALLOW)
    clock = SystemClock()
    puller = Puller(database, clock, threads, book, terms=TERMS)
    submitter = Submitter(database, clock, threads, SubmitTerms(PROFILE))
    locks = Locks(database, clock, threads, PROFILE)

    async def work(number: int, dies: bool) -> None:
        bot = f"bot-{number}"
        while time.time() < ends_at:
            pulled = await puller.pull(bot, 3)
            log("pulled", bot, *(job.job_id for job in pulled.jobs))
            if dies and pulled.jobs:
                return
            # At once, as the threads of a real bot do: one that waits for the submit of another misses its window.
            await asyncio.gather(*(_do(bot, job, submitter, locks, log) for job in pulled.jobs))
            if not pulled.jobs:
                if await threads.run(are_all_done, database):
                    return
                await asyncio.sleep(0.1)

    async with asyncio.TaskGroup() as bots:
        for number in range(count):
            bots.create_task(work(first + number, number < dying))
    threads.close()


async def _do(bot: str, job: PulledJob, submitter: Submitter, locks: Locks, log: Callable[..., None]) -> None:
    await asyncio.sleep(max(0.0, job.slot.not_before - time.time()))
    started = time.time()
    if not job.slot.not_before <= started <= job.slot.start_by:
        await locks.release(bot, [job.job_id], "missed its window")
        return
    log("request", job.host, repr(started))
    submission = Submission(bot, job.job_id, True, price=Decimal("9.90"), http_status=200, started_at=started)
    try:
        await submitter.submit(submission)
    except BotRefused as refused:
        log("refused", job.job_id, refused.code)
    else:
        log("done", job.job_id)


def are_all_done(database: Database) -> bool:
    """Whether no job is open or has failed; reads an index, because everyone asks this again and again."""
    others = "status IN ('pending', 'locked', 'expired', 'failed')"
    with database.read() as connection:
        found = connection.execute(text(f"SELECT EXISTS (SELECT 1 FROM crawl_jobs WHERE {others})"))
        return not found.scalar()
