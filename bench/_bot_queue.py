"""How long pulls and submits of bots hold their transaction, at 200 requests a second on PostgreSQL.

    python bench/queue.py [--rate 200] [--seconds 20] [--hosts 1000] [--jobs 100000] [--crowded 900000] [--no-fsync]
        [--http] [--repeat 1]

Asked: does a pull keep its locks for less than 5 ms and a submit for less than 10 ms at the 95th percentile? And does
it stay so with 1,000,000 waiting jobs of which 90 % belong to one host that may not be asked now (`--crowded`), so that
no pull reads past them? If not, a statement or an index of the queue is wrong.

Half of the requests are pulls of one job, the other half submit what was pulled, each with a page of 20 KB. They are
sent at random times (a Poisson process), whether or not those before have been answered. "lock" is from the moment at
which the first statement that locks a row is sent to the end of COMMIT; "transaction" is from BEGIN to the end of
COMMIT; "request" is the whole call, with the wait for a thread, the digest and the compression. The generator, the
service and PostgreSQL share this machine. PostgreSQL syncs every commit.

`--http` sends the same to `comity web`, a process of its own, as bots with keys do, and measures each request from its
first byte to the last of its answer, beside the transactions in the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import random
import re
import statistics
import sys
import tempfile
import time
from collections import defaultdict, deque
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlsplit

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from sqlalchemy import Connection  # noqa: E402

from bench.grants import cpu_s, serving  # noqa: E402
from comity.clock import SystemClock  # noqa: E402
from comity.database.bounded_postgresql import BoundedConnection  # noqa: E402
from comity.database.connection import Database, open_database  # noqa: E402
from comity.database.schema import upgrade  # noqa: E402
from comity.doors.cli.main import run  # noqa: E402
from comity.model.queue import PulledJob, Submission  # noqa: E402
from comity.model.robots import RobotsUnreachable  # noqa: E402
from comity.operate.bots import add_bot  # noqa: E402
from comity.walk.bots.pull import Puller  # noqa: E402
from comity.walk.bots.robots import RobotsBook  # noqa: E402
from comity.walk.bots.submit import Submitter  # noqa: E402
from comity.walk.bots.threads import BotThreads  # noqa: E402
from tests.servers.postgres import PostgresServer  # noqa: E402

RESULTS = REPOSITORY / "bench" / "results" / "queue.json"
BOTS = 120
PAGE = "".join(random.Random(1).choices("<div class=price>abcdefgh ", k=20_000))
_LOCKS: Final = re.compile(r"\b(UPDATE|INSERT|DELETE|FOR (KEY )?SHARE)\b")


class Times:
    """Notes how long each transaction of a pull or a submit was open in this process, and how long it kept locks."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, str, float, float]] = []
        """When a transaction ended, what it was, how long it kept locks, and how long it was open."""
        execute, commit, rollback = BoundedConnection.execute, BoundedConnection.commit, BoundedConnection.rollback
        open_: dict[int, tuple[float, float | None, str]] = {}

        def noted(connection: BoundedConnection, statement: Any, *arguments: Any, **options: Any) -> Any:
            now = time.perf_counter()
            began, locks, kind = open_.get(id(connection), (now, None, "other"))
            if locks is None and _LOCKS.search(statement):
                locks = now
            kind = next((name for words, name in _KINDS.items() if words in statement), kind)
            open_[id(connection)] = began, locks, kind
            return execute(connection, statement, *arguments, **options)

        def committed(connection: BoundedConnection) -> None:
            commit(connection)
            now = time.perf_counter()
            began, locks, kind = open_.pop(id(connection), (now, None, "other"))
            self.rows.append((now, kind, 0.0 if locks is None else now - locks, now - began))

        def rolled_back(connection: BoundedConnection) -> None:
            open_.pop(id(connection), None)
            rollback(connection)

        BoundedConnection.rollback = rolled_back  # type: ignore[method-assign]
        BoundedConnection.execute = noted  # type: ignore[method-assign]
        BoundedConnection.commit = committed  # type: ignore[method-assign]

    def between(self, since: float, until: float) -> dict[str, list[float]]:
        """How long pulls and submits took that ended then."""
        found: dict[str, list[float]] = {f"{kind} {what}": [] for kind in ("pull", "submit") for what in _WHATS}
        for ended, kind, locks, whole in self.rows:
            if since <= ended <= until and kind != "other":
                found[f"{kind} lock"].append(locks)
                found[f"{kind} transaction"].append(whole)
        return found


_WHATS: Final = ("lock", "transaction")
_KINDS: Final = {"move_reason = 'pulled'": "pull", "INSERT INTO crawl_results": "submit"}


def serve(written: str) -> None:
    """`comity web` with its transactions timed; they are written to a file at its end."""
    times = Times()
    try:
        run(["web", "--port", "0"])
    finally:
        Path(written).write_text(json.dumps(times.rows))


def fill(database: Database, hosts: int, jobs: int, crowded: int) -> None:
    """Hosts with their robots.txt, jobs spread over them, and one more host that is blocked and has many."""
    with database.write() as connection:
        execute = connection.exec_driver_sql
        execute(
            "INSERT INTO domains (domain, parent_domain, is_seeded, queue_ready_at) "
            "SELECT 'h' || n || '.example', 'h' || n || '.example', false, now() FROM generate_series(1, %s) AS n",
            (hosts,),
        )
        execute(
            "INSERT INTO robots_cache (origin, host, access, http_status, fetched_at, expires_at) "
            "SELECT 'https://' || domain, domain, 'allow_all', 404, now(), now() + interval '1 day' FROM domains"
        )
        spread = (
            "INSERT INTO crawl_jobs (domain_id, url, priority, first_priority, ages_at) "
            "SELECT d.id, 'https://' || d.domain || '/' || n, 5, 5, now() + interval '1 hour' "
        )
        joined = "FROM generate_series(1, %s) AS n JOIN domains AS d ON d.domain = "
        execute(spread + joined + "'h' || (n %% %s + 1) || '.example'", (jobs, hosts))
        if crowded:
            execute(
                "INSERT INTO domains (domain, parent_domain, is_seeded, queue_ready_at, blocked_until) "
                "VALUES ('crowded.example', 'crowded.example', false, now(), now() + interval '1 day')"
            )
            execute(
                "INSERT INTO robots_cache (origin, host, access, http_status, fetched_at, expires_at) VALUES "
                "('https://crowded.example', 'crowded.example', 'allow_all', 404, now(), now() + interval '1 day')"
            )
            execute(spread + joined + "'crowded.example'", (crowded,))
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


class Service(Protocol):
    """What serves the bots."""

    async def pull(self, bot: str) -> list[Any]:
        """Jobs for a bot."""

    async def submit(self, bot: str, job: Any) -> None:
        """Take the result of a job."""


class InProcess:
    """The puller and the submitter, without HTTP."""

    def __init__(self, database: Database) -> None:
        self._threads = BotThreads()
        clock = SystemClock()
        self._puller = Puller(database, clock, self._threads, book())
        self._submitter = Submitter(database, clock, self._threads)

    async def pull(self, bot: str) -> list[PulledJob]:
        pulled = await self._threads.run(self._puller._try, bot, 1, None, None)
        return list(pulled.pulled.jobs)

    async def submit(self, bot: str, job: PulledJob) -> None:
        submission = Submission(
            bot,
            job.job_id,
            True,
            price=Decimal("99.99"),
            currency="USD",
            title="Product",
            in_stock=True,
            parsed_data={"sku": str(job.job_id)},
            raw_html=PAGE,
            http_status=200,
            started_at=job.slot.not_before,
        )
        await self._submitter.submit(submission)

    def close(self) -> None:
        self._threads.close()


class OverHttp:
    """A server, asked over connections that are kept open; the least that a client can do for a request."""

    def __init__(self, address: str, keys: dict[str, str]) -> None:
        parts = urlsplit(address)
        self._host, self._port = parts.hostname, parts.port
        self._keys = keys
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def pull(self, bot: str) -> list[dict[str, Any]]:
        jobs: list[dict[str, Any]] = (await self._ask("pull", bot, {"max_jobs": 1}))["jobs"]
        return jobs

    async def submit(self, bot: str, job: dict[str, Any]) -> None:
        result = {
            "job_id": job["job_id"],
            "success": True,
            "price": 99.99,
            "currency": "USD",
            "title": "Product",
            "in_stock": True,
            "parsed_data": {"sku": job["job_id"]},
            "raw_html": PAGE,
            "http_status": 200,
            "started_at": job["not_before"],
        }
        await self._ask("submit", bot, result)

    async def _ask(self, what: str, bot: str, body: dict[str, Any]) -> dict[str, Any]:
        sent = json.dumps({"bot_id": bot, **body}).encode()
        head = (
            f"POST /api/crawl/{what}/ HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nX-API-Key: {self._keys[bot]}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        line = self._idle.pop() if self._idle else await asyncio.open_connection(self._host, self._port)
        reader, writer = line
        writer.write(head.encode() + sent)
        received = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"(?i)content-length: (\d+)", received)
        assert length is not None, received
        answer = json.loads(await reader.readexactly(int(length[1])))
        self._idle.append(line)
        assert answer["success"], answer
        data: dict[str, Any] = answer["data"]
        return data


class Load:
    """Bots that pull and submit at random times, so many requests a second."""

    def __init__(self, service: Service, rate: float, seconds: float) -> None:
        self._service = service
        self._rate = rate
        self._count = int(rate * seconds)
        self._held: deque[tuple[str, Any]] = deque()
        self.request_s: dict[str, list[float]] = defaultdict(list)
        self.empty = 0
        self.handed = 0

    async def run(self) -> None:
        """Send every request at its time, and wait for the last answer."""
        tasks = set()
        due, gaps = time.perf_counter(), random.Random(2)
        for number in range(self._count):
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            due += gaps.expovariate(self._rate)
            act = self._submit() if number % 2 and self._held else self._pull(f"bot-{number // 2 % BOTS}")
            task = asyncio.create_task(act)
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)

    async def drain(self) -> None:
        """Submit what is still held, so that no host stays reserved."""
        while self._held:
            await self._submit()

    async def _pull(self, bot: str) -> None:
        started = time.perf_counter()
        jobs = await self._service.pull(bot)
        self.request_s["pull request"].append(time.perf_counter() - started)
        self.handed += len(jobs)
        self.empty += not jobs
        self._held.extend((bot, job) for job in jobs)

    async def _submit(self) -> None:
        bot, job = self._held.popleft()
        started = time.perf_counter()
        await self._service.submit(bot, job)
        self.request_s["submit request"].append(time.perf_counter() - started)


def figures(seconds: list[float]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    found = sorted(seconds)
    at = {name: found[min(len(found) - 1, int(len(found) * part))] for name, part in _PARTS.items()}
    return {name: round(value * 1000, 2) for name, value in at.items()}


_PARTS = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "most": 1.0}


class Round(NamedTuple):
    """What one round measured."""

    since: float
    until: float
    load: Load
    server_cpu_s: float


def measure(url: str, arguments: argparse.Namespace, crowded: int) -> list[dict[str, Any]]:
    """One situation, as often as wanted."""
    database = open_database(url, connections=8)
    upgrade(database)
    started = time.perf_counter()
    fill(database, arguments.hosts, arguments.jobs, crowded)
    said = {
        "jobs": arguments.jobs + crowded,
        "of one blocked host": crowded,
        "filled in s": round(time.perf_counter() - started, 1),
    }
    if arguments.http:
        times, rounds = over_http(url, database, arguments)
    else:
        times, service = Times(), InProcess(database)
        rounds = asyncio.run(run_rounds(service, arguments, time.process_time))
        service.close()
    database.close()
    return [said | result(times, each) for each in rounds]


def over_http(url: str, database: Database, arguments: argparse.Namespace) -> tuple[Times, list[Round]]:
    """The rounds against a server, and the times of its transactions."""
    clock = SystemClock()
    keys = {f"bot-{number}": add_bot(database, clock, f"bot-{number}")[1] for number in range(BOTS)}
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "times"
        begun = f"import sys; sys.path.insert(0, {str(REPOSITORY)!r}); from bench._bot_queue import serve; "
        with serving(url, [sys.executable, "-c", f"{begun}serve({str(written)!r})"]) as (address, pid):
            rounds = asyncio.run(run_rounds(OverHttp(address, keys), arguments, lambda: cpu_s([pid])))
        times = Times()
        times.rows = json.loads(written.read_text())
    return times, rounds


async def run_rounds(service: Service, arguments: argparse.Namespace, used_s: Callable[[], float]) -> list[Round]:
    """A warm-up, in which statements are prepared, and what is measured, as often as wanted."""
    warming = Load(service, arguments.rate, min(3.0, arguments.seconds))
    await warming.run()
    await warming.drain()
    rounds = []
    for _ in range(arguments.repeat):
        load = Load(service, arguments.rate, arguments.seconds)
        since, before_s = time.perf_counter(), used_s()
        await load.run()
        rounds.append(Round(since, time.perf_counter(), load, used_s() - before_s))
        await load.drain()
    return rounds


def result(times: Times, measured: Round) -> dict[str, Any]:
    """The figures of a round."""
    load, requests = measured.load, sum(map(len, measured.load.request_s.values()))
    timed = times.between(measured.since, measured.until) | load.request_s
    return {
        "requests/s": round(requests / (measured.until - measured.since), 1),
        "handed": load.handed,
        "empty pulls": load.empty,
        "CPU ms a request": round(1000 * measured.server_cpu_s / requests, 2),
        **{f"{name} ms": figures(seconds) for name, seconds in timed.items()},
    }


def shown(found: list[dict[str, Any]]) -> str:
    """The rounds of one situation: for each percentile the best and the median."""
    lines = [", ".join(f"{name}: {value}" for name, value in found[0].items() if not isinstance(value, dict))]
    for name in (name for name, value in found[0].items() if isinstance(value, dict)):
        parts = []
        for part in _PARTS:
            values = [each[name][part] for each in found]
            parts.append(f"{part} {min(values):6.2f} / {statistics.median(values):6.2f}")
        lines.append(f"  {name:22} {'   '.join(parts)}")
    return "\n".join(lines)


def main() -> None:
    """Measure both situations and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--crowded", type=int, default=900_000)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--no-fsync", action="store_true")
    arguments = parser.parse_args()
    written = []
    print(f"best / median of {arguments.repeat}")
    with PostgresServer(fsync=not arguments.no_fsync, settings={"shared_buffers": "256MB"}) as server:
        for crowded in sorted({0, arguments.crowded}):
            found = measure(server.create_database(), arguments, crowded)
            print(shown(found), flush=True)
            written += found
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(
        json.dumps({"machine": platform.platform(), "arguments": vars(arguments), "found": written}, indent=2)
    )


if __name__ == "__main__":
    main()
