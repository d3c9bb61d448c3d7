"""Grants a second and how long an exchange takes: batches of URLs with the reports on the batch before.

    python -m bench.grants [--database sqlite|postgresql] [--seconds 10] [--clients 2] [--rate 3000] [--batch 100]
        [--direct]

A real server (`comity web`) on a new state, with as many hosts as keep a delay of one second at that rate. Clients
speak HTTP; every answer was committed before. `--rate` paces the clients; 0 lets them run as fast as they can. Without
a server (`--direct`) the same is asked of the granter in one process: the transaction alone. CPU time is that of the
server and, apart, of the database's processes, for 1,000 grants and their reports: it says more on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import quantiles

from sqlalchemy import insert, update

from comity.assemble import State, open_state
from comity.clock import SystemClock
from comity.database.connection import open_database
from comity.database.queue import reservations
from comity.database.schema import upgrade
from comity.database.tables import robots_cache
from comity.database.types import from_seconds
from comity.integrations.grants import GrantClient
from comity.model.grants import GrantReport
from comity.model.host import CanonicalHost
from comity.rules.ledger_chain import content_digest
from comity.settings import read_settings
from tests.servers.postgres import postgres_for_tests

BATCH = 100  # as many as one request may have
HOSTS = 8_000  # each is asked for again after 2.7 s
_WARM_UP = 5
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
ROBOTS = "User-agent: *\nDisallow: /private\n"


def fill(url: str, hosts: int) -> None:
    """Make a state that knows hosts and their robots.txt."""
    database = open_database(url)
    upgrade(database)
    expires_at = from_seconds(time.time() + 86_400)
    names = [f"host-{number}.example" for number in range(hosts)]
    version = content_digest(ROBOTS.encode())
    with database.write() as connection:
        # Known only because crawlers asked for them, as the hosts of grants mostly are.
        reservations.add_hosts(connection, [CanonicalHost(name, name) for name in names])
        rows = [
            {
                "origin": f"https://{name}",
                "host": name,
                "robots_txt": ROBOTS,
                "access": "parse",
                "http_status": 200,
                "version": version,
                "expires_at": expires_at,
            }
            for name in names
        ]
        connection.execute(insert(robots_cache), rows)
        # As if Comity had read each of them and entered it in the ledger.
        settings = read_settings(database_url=url)
        book = State(database, SystemClock(), settings).robots_book()
        noted = book.find(connection, [rows[0]["origin"]], time.time())[rows[0]["origin"]].noted
        connection.execute(update(robots_cache).values(noted=noted))
    database.close()


def cpu_s(pids: Iterable[int]) -> float:
    """Seconds of CPU that processes have used."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / _TICKS_A_SECOND


def backends(url: str) -> list[int]:
    """The processes of a PostgreSQL server."""
    if not url.startswith("postgresql"):
        return []
    database = open_database(url)
    with database.read() as connection:
        rows = connection.exec_driver_sql("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()").all()
    database.close()
    return [row[0] for row in rows]


@contextmanager
def serving(url: str, command: Sequence[str] = ()) -> Iterator[tuple[str, int]]:
    """`comity web` on a free port, or a command that does the same."""
    command = command or [str(Path(sys.executable).with_name("comity")), "web", "--port", "0"]
    environment = {**os.environ, "COMITY_DATABASE_URL": url, "COMITY_ENV": "dev", "COMITY_DISABLE_SCHEDULER": "1"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            if found:
                break
        else:
            raise SystemExit("the server did not start")
        yield found[0], process.pid
    finally:
        process.terminate()
        process.wait(30)


def batches(client: int, options: argparse.Namespace) -> Iterator[list[str]]:
    """URLs, each batch of other hosts; each client has its own."""
    own = range(client, options.hosts, 1 if options.direct else options.clients)
    number = 0
    while True:
        yield [f"https://host-{own[(number + at) % len(own)]}.example/{number + at}" for at in range(options.batch)]
        number += options.batch


def run_client(
    url: str, server: str | None, client: int, options: argparse.Namespace, pause_s: float, after_s: float
) -> tuple[int, list[float]]:
    """Exchange batch after batch; gives the grants, and how long each exchange took. Clients begin one by one."""
    exchange = direct(url) if server is None else over_http(server, client)
    urls, seconds = batches(client, options), options.seconds
    for _ in range(_WARM_UP):  # the first ones of a process build its statements
        exchange(next(urls))
    granted, took = 0, []
    ends_at = time.perf_counter() + seconds
    due = time.perf_counter() + after_s
    while (now := time.perf_counter()) < ends_at:
        if now < due:
            time.sleep(due - now)
        due = max(due + pause_s, now - 1.0)
        started = time.perf_counter()
        granted += exchange(next(urls))
        took.append(time.perf_counter() - started)
    return granted, took


def over_http(url: str, client: int) -> Callable[[list[str]], int]:
    """Exchanges of a client that reports each batch with the next."""
    connection = GrantClient(url, None, f"bench-{client}")
    reports: list[dict[str, object]] = []

    def exchange(urls: list[str]) -> int:
        answers = connection.grant(urls, reports)
        given = [each for each in answers if each.is_allowed]
        now = time.monotonic()
        reports[:] = [each.report(max(now, each.opens_at), 200, 0.05, None) for each in given]
        return len(given)

    return exchange


def direct(url: str) -> Callable[[list[str]], int]:
    """The same without a server."""
    state = open_state(read_settings(database_url=url)).__enter__()
    granter = state.granter(None)
    reports: list[GrantReport] = []

    def exchange(urls: list[str]) -> int:
        work = partial(granter._grant, "bench", urls, None, reports)
        answers = granter._thread.commit([work])[0].answers
        given = [each for each in answers if each.grant_id is not None and each.slot is not None]
        reports[:] = [GrantReport(each.grant_id, 200, 0.05, None, each.slot.not_before) for each in given]
        return len(given)

    return exchange


def measure(url: str, options: argparse.Namespace) -> None:
    fill(url, options.hosts)
    clients = 1 if options.direct else options.clients
    with ExitStack() as stack:
        pause_s = _pause(options, clients)
        if options.direct:
            pid, server = os.getpid(), None
            pool: Executor = stack.enter_context(ThreadPoolExecutor(1))
        else:
            server, pid = stack.enter_context(serving(url))
            # Each client is a process, as it is in truth: threads would wait for each other's turn in Python.
            pool = stack.enter_context(ProcessPoolExecutor(clients, get_context("spawn")))
        turns = [
            pool.submit(run_client, url, server, client, options, pause_s, pause_s * client / clients)
            for client in range(clients)
        ]
        time.sleep(min(2.0, options.seconds / 4))  # after the warm-up
        processes, since = backends(url), time.perf_counter()
        before = cpu_s([pid]), cpu_s(processes)
        results = [turn.result() for turn in turns]
        used = cpu_s([pid]) - before[0], cpu_s(processes) - before[1]
        share = (time.perf_counter() - since) / options.seconds
    granted = sum(result[0] for result in results)
    took = sorted(1000 * each for result in results for each in result[1])
    cuts = quantiles(took, n=100)
    how = "direct" if options.direct else f"{clients} clients over HTTP"
    server_s, database_s = (1000 * each / (granted * share) for each in used)
    print(
        f"{options.database}, {how}, rate {options.rate or 'unbounded'}: {granted / options.seconds:,.0f} grants/s "
        f"with as many reports; an exchange of {options.batch}: p50 {cuts[49]:.1f} ms, p95 {cuts[94]:.1f} ms, "
        f"p99 {cuts[98]:.1f} ms, most {took[-1]:.1f} ms ({len(took)} exchanges); CPU for 1,000 grants: "
        f"server {server_s:.3f} s, database {database_s:.3f} s"
    )


def _pause(options: argparse.Namespace, clients: int) -> float:
    return options.batch * clients / options.rate if options.rate else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--rate", type=float, default=3000.0)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--direct", action="store_true")
    options = parser.parse_args()
    if options.database == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            measure(f"sqlite:///{folder}/state.db", options)
    else:
        with postgres_for_tests() as server:
            measure(server.create_database(), options)


if __name__ == "__main__":
    main()
