"""How long pulls and submits of bots hold their transaction, at 200 requests a second on PostgreSQL.

    python bench/queue.py [--rate 200] [--seconds 20] [--hosts 1000] [--jobs 100000] [--crowded 900000] [--no-fsync]

Asked: is the transaction of a pull under 5 ms and that of a submit under 10 ms at the 95th percentile? And does it stay
so with 1,000,000 waiting jobs of which 90 % belong to one host that may not be asked now (`--crowded`), so that no pull
reads past them? If not, a statement or an index of the queue is wrong.

Half of the requests are pulls of one job, the other half submit what was pulled, each with a page of 20 KB. They are
sent at their times whether or not those before have been answered. The transaction is measured from BEGIN to the end of
COMMIT; "request" is the whole call, with the wait for a thread, the digest and the compression. The generator, the
service and PostgreSQL share this machine. PostgreSQL syncs every commit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import random
import sys
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from threading import local
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from sqlalchemy import Connection  # noqa: E402

from comity.clock import SystemClock  # noqa: E402
from comity.database.connection import Database, open_database  # noqa: E402
from comity.database.schema import upgrade  # noqa: E402
from comity.model.queue import PulledJob, Submission  # noqa: E402
from comity.model.robots import RobotsUnreachable  # noqa: E402
from comity.walk.bots.pull import Puller  # noqa: E402
from comity.walk.bots.robots import RobotsBook  # noqa: E402
from comity.walk.bots.submit import Submitter  # noqa: E402
from comity.walk.bots.threads import BotThreads  # noqa: E402
from tests.servers.postgres import PostgresServer  # noqa: E402

RESULTS = REPOSITORY / "bench" / "results" / "queue.json"
BOTS = 120


class TimedDatabase(Database):
    """Notes how long each write transaction of a pull or a submit was open."""

    def __init__(self, database: Database) -> None:
        super().__init__(database.engine)
        self.kind = local()
        self.took_s: dict[str, list[float]] = defaultdict(list)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction, timed from its beginning to the end of its commit."""
        started = time.perf_counter()
        with super().write() as connection:
            yield connection
        self.took_s[getattr(self.kind, "name", "other")].append(time.perf_counter() - started)


def fill(database: Database, hosts: int, jobs: int, crowded: int) -> None:
    """Hosts with their robots.txt, jobs spread over them, and one more host that is blocked and has many."""
    with database.write() as connection:
        run = connection.exec_driver_sql
        run(
            "INSERT INTO domains (domain, parent_domain, is_seeded, queue_ready_at) "
            "SELECT 'h' || n || '.example', 'h' || n || '.example', false, now() FROM generate_series(1, %s) AS n",
            (hosts,),
        )
        run(
            "INSERT INTO robots_cache (origin, host, access, http_status, fetched_at, expires_at) "
            "SELECT 'https://' || domain, domain, 'allow_all', 404, now(), now() + interval '1 day' FROM domains"
        )
        spread = (
            "INSERT INTO crawl_jobs (domain_id, url, priority, first_priority, ages_at) "
            "SELECT d.id, 'https://' || d.domain || '/' || n, 5, 5, now() + interval '1 hour' "
        )
        joined = "FROM generate_series(1, %s) AS n JOIN domains AS d ON d.domain = "
        run(spread + joined + "'h' || (n %% %s + 1) || '.example'", (jobs, hosts))
        if crowded:
            run(
                "INSERT INTO domains (domain, parent_domain, is_seeded, queue_ready_at, blocked_until) "
                "VALUES ('crowded.example', 'crowded.example', false, now(), now() + interval '1 day')"
            )
            run(
                "INSERT INTO robots_cache (origin, host, access, http_status, fetched_at, expires_at) VALUES "
                "('https://crowded.example', 'crowded.example', 'allow_all', 404, now(), now() + interval '1 day')"
            )
            run(spread + joined + "'crowded.example'", (crowded,))
        note_robots(connection)
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")


def note_robots(connection: Connection) -> None:
    """Say that the ledger has a note of each robots.txt, as it has once Comity has read the file itself."""
    origin = connection.exec_driver_sql("SELECT origin FROM robots_cache LIMIT 1").scalar_one()
    (found,) = book().find(connection, [origin], time.time()).values()
    connection.exec_driver_sql("UPDATE robots_cache SET noted = %s", (found.noted,))


def book() -> RobotsBook:
    return RobotsBook("ComityBot/1.0", RobotsUnreachable.DISALLOW)


class Load:
    """Bots that pull and submit at a steady rate."""

    def __init__(self, database: TimedDatabase, rate: float, seconds: float) -> None:
        self._database = database
        self._rate = rate
        self._count = int(rate * seconds)
        self._threads = BotThreads()
        clock = SystemClock()
        self._puller = Puller(database, clock, self._threads, book())
        self._submitter = Submitter(database, clock, self._threads)
        self._held: deque[tuple[str, PulledJob]] = deque()
        self._page = "".join(random.Random(1).choices("<div class=price>abcdefgh ", k=20_000))
        self.request_s: dict[str, list[float]] = defaultdict(list)
        self.empty = 0
        self.handed = 0

    async def run(self) -> None:
        """Send every request at its time, and wait for the last answer."""
        tasks = set()
        started = time.perf_counter()
        for number in range(self._count):
            await asyncio.sleep(max(0.0, started + number / self._rate - time.perf_counter()))
            act = self._submit() if number % 2 and self._held else self._pull(f"bot-{number // 2 % BOTS}")
            task = asyncio.create_task(act)
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)

    async def drain(self) -> None:
        """Submit what is still held, so that no host stays reserved."""
        while self._held:
            await self._submit()
        self._threads.close()

    async def _pull(self, bot: str) -> None:
        started = time.perf_counter()
        pulled = await self._threads.run(self._as, "pull", self._puller._try, bot, 1, None, None)
        self.request_s["pull"].append(time.perf_counter() - started)
        self.handed += len(pulled.pulled.jobs)
        self.empty += not pulled.pulled.jobs
        self._held.extend((bot, job) for job in pulled.pulled.jobs)

    async def _submit(self) -> None:
        bot, job = self._held.popleft()
        submission = Submission(
            bot,
            job.job_id,
            True,
            price=Decimal("99.99"),
            currency="USD",
            title="Product",
            in_stock=True,
            parsed_data={"sku": str(job.job_id)},
            raw_html=self._page,
            http_status=200,
            started_at=job.slot.not_before,
        )
        started = time.perf_counter()
        await self._threads.run(self._as, "submit", self._submitter._submit, submission)
        self.request_s["submit"].append(time.perf_counter() - started)

    def _as(self, kind: str, act: Any, *arguments: Any) -> Any:
        self._database.kind.name = kind
        return act(*arguments)


def figures(seconds: list[float]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    found = sorted(seconds)
    at = {name: found[min(len(found) - 1, int(len(found) * part))] for name, part in _PARTS.items()}
    return {name: round(value * 1000, 2) for name, value in at.items()}


_PARTS = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "most": 1.0}


async def _run_and_drain(load: Load) -> None:
    await load.run()
    await load.drain()


def measure(url: str, arguments: argparse.Namespace, crowded: int) -> dict[str, Any]:
    """One situation."""
    plain = open_database(url, connections=8)
    upgrade(plain)
    started = time.perf_counter()
    fill(plain, arguments.hosts, arguments.jobs, crowded)
    filled_s = time.perf_counter() - started
    database = TimedDatabase(plain)
    warming = Load(database, arguments.rate, min(3.0, arguments.seconds))
    asyncio.run(_run_and_drain(warming))  # statements are prepared
    database.took_s.clear()
    load = Load(database, arguments.rate, arguments.seconds)
    started = time.perf_counter()
    asyncio.run(load.run())
    took_s = time.perf_counter() - started
    plain.close()
    requests = sum(map(len, load.request_s.values()))
    return {
        "jobs": arguments.jobs + crowded,
        "of one blocked host": crowded,
        "requests/s": round(requests / took_s, 1),
        "handed": load.handed,
        "empty pulls": load.empty,
        "filled in s": round(filled_s, 1),
        **{f"{kind} transaction ms": figures(database.took_s[kind]) for kind in ("pull", "submit")},
        **{f"{kind} request ms": figures(load.request_s[kind]) for kind in ("pull", "submit")},
    }


def main() -> None:
    """Measure both situations and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--crowded", type=int, default=900_000)
    parser.add_argument("--no-fsync", action="store_true")
    arguments = parser.parse_args()
    found = []
    with PostgresServer(fsync=not arguments.no_fsync, settings={"shared_buffers": "256MB"}) as server:
        for crowded in sorted({0, arguments.crowded}):
            found.append(measure(server.create_database(), arguments, crowded))
            print(json.dumps(found[-1], indent=2), flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    written = {"machine": platform.platform(), "arguments": vars(arguments), "found": found}
    RESULTS.write_text(json.dumps(written, indent=2))


if __name__ == "__main__":
    main()
