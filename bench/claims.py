"""Claims per second, and how long a batch takes, at a million hosts on both databases.

    python bench/claims.py [--hosts 1000000] [--claimers 8] [--rounds 3] [--databases sqlite,postgresql] [--no-fsync]

Asked: does a claim of ten hosts stay under 10 ms at the 99th percentile, and do 2,000 hosts a second come out of one
PostgreSQL, however many hosts there are and however many of them are taken? If not, the claim statement or its index
is wrong. Situations: every host free; one claimer and several at once (processes of their own, all on this machine's
cores beside the server); the better half of all hosts leased, before PostgreSQL has vacuumed and after; the same half
with leases that ran out all at once.

PostgreSQL is one of our own with 256 MB of shared buffers, which syncs every commit; SQLite syncs every commit too.
The best of several rounds is shown; "first" is the slowest first claim of a new process after the situation arose: it
builds the statement, and passes over what the situation left in the index.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from sqlalchemy import text  # noqa: E402

from comity.clock import SystemClock  # noqa: E402
from comity.database.connection import Database, open_database  # noqa: E402
from comity.database.schema import upgrade  # noqa: E402
from comity.leases.leases import Leases  # noqa: E402
from tests.servers.postgres import PostgresServer  # noqa: E402

BATCH = 10
RESULTS = REPOSITORY / "bench" / "results" / "claims.json"


@dataclass(slots=True)
class Figures:
    """What one situation gave in its best round."""

    database: str
    hosts: int
    situation: str
    claimers: int
    hosts_per_second: float
    p50_ms: float
    p99_ms: float
    longest_ms: float
    first_ms: float


# -- one claimer, in a process of its own ------------------------------------------------------------------------------


def claim(url: str, batches: int, start: Any, answers: Any) -> None:
    """Claim batches as fast as they come; tells how long each took, and when it all began and ended.

    The first claim of a process also connects and builds the statement, and is told apart.
    """
    database = open_database(url)
    leases = Leases(database, SystemClock())
    with database.read() as connection:
        connection.execute(text("SELECT 1"))
    before_s = time.monotonic()
    leases.claim(BATCH)
    first_s = time.monotonic() - before_s
    start.wait()
    took_s, claimed, began_s = [], 0, time.monotonic()
    for _ in range(batches):
        before_s = time.monotonic()
        claimed += len(leases.claim(BATCH))
        took_s.append(time.monotonic() - before_s)
    answers.put((began_s, time.monotonic(), claimed, took_s, first_s))
    database.close()


def measure(url: str, claimers: int, batches: int) -> tuple[float, list[float], float]:
    """Hosts a second over all claimers, every batch's seconds in order of size, and the slowest first claim."""
    context = multiprocessing.get_context("spawn")
    start, answers = context.Barrier(claimers), context.Queue()
    processes = [context.Process(target=claim, args=(url, batches, start, answers)) for _ in range(claimers)]
    for process in processes:
        process.start()
    told = [answers.get(timeout=600) for _ in processes]
    for process in processes:
        process.join(60)
    begins, ends, claimed, all_took_s, firsts_s = zip(*told, strict=True)
    assert sum(claimed) == claimers * batches * BATCH, "the hosts ran out"
    took_s = sorted(each for one in all_took_s for each in one)
    return sum(claimed) / (max(ends) - min(begins)), took_s, max(firsts_s)


# -- the situations ----------------------------------------------------------------------------------------------------


def fill(database: Database, hosts: int) -> None:
    """Make hosts: one in fifty active, a fifth crawled before, scores in no order."""
    if database.is_shared:
        numbers = "generate_series(1, :hosts) AS number"
        crawled = "CASE WHEN number % 5 = 0 THEN now() - number % 100 * interval '1 hour' END"
        status = "(CASE WHEN number % 50 = 0 THEN 'active' ELSE 'pending' END)::domain_status"
    else:
        numbers = (
            "(WITH RECURSIVE counted (number) AS"
            " (SELECT 1 UNION ALL SELECT number + 1 FROM counted WHERE number < :hosts) SELECT number FROM counted)"
        )
        crawled = "CASE WHEN number % 5 = 0 THEN datetime('now', '-' || (number % 100) || ' hours') END"
        status = "CASE WHEN number % 50 = 0 THEN 'active' ELSE 'pending' END"
    with database.write() as connection:
        connection.execute(
            text(
                "INSERT INTO domains (domain, parent_domain, priority_score, seed_rank, last_crawled_at, status)"
                " SELECT 'host' || number || '.example', 'host' || number || '.example',"
                f" (CAST(number AS BIGINT) * 7919) % 1000003, number, {crawled}, {status} FROM {numbers}"
            ),
            {"hosts": hosts},
        )
    vacuum(database)


def vacuum(database: Database) -> None:
    """Do what autovacuum does within a minute or two."""
    if database.is_shared:
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM (ANALYZE) domains"))


def lease_better_half(database: Database) -> None:
    """Others hold every host whose score is over the middle."""
    later = "now() + interval '1 hour'" if database.is_shared else "datetime('now', '+1 hour')"
    with database.write() as connection:
        connection.execute(
            text(
                f"UPDATE domains SET claimed_by = 'other' || seed_rank % 500, claim_expires_at = {later},"
                " lease_token = lease_token + 1 WHERE priority_score > 500000 AND claimed_by IS NULL"
            )
        )


def let_them_run_out(database: Database) -> None:
    """All those leases end at once, as after a power cut in the other workers' room."""
    earlier = "now() - interval '1 minute'" if database.is_shared else "datetime('now', '-1 minute')"
    with database.write() as connection:
        connection.execute(
            text(f"UPDATE domains SET claim_expires_at = {earlier} WHERE claimed_by LIKE 'other%'"),
        )


SITUATIONS: dict[str, Callable[[Database], None]] = {
    "all free": vacuum,
    "better half leased a moment ago": lease_better_half,
    "better half leased": vacuum,
    "better half run out": let_them_run_out,
}


def measured(database: Database, name: str, hosts: int, situation: str, claimers: int, rounds: int) -> Figures:
    """The best of some rounds of one situation."""
    url = database.engine.url.render_as_string(hide_password=False)
    batches = max(20, min(1000 // claimers, hosts // (BATCH * claimers * rounds * 10)))
    best: Figures | None = None
    firsts = []
    for _ in range(rounds):
        rate, took_s, first_s = measure(url, claimers, batches)
        firsts.append(first_s)
        if best is None or rate > best.hosts_per_second:
            p50, p99 = took_s[len(took_s) // 2], took_s[int(len(took_s) * 0.99)]
            times = [round(each * 1000, 2) for each in (p50, p99, took_s[-1], firsts[0])]
            best = Figures(name, hosts, situation, claimers, round(rate), *times)
    assert best is not None
    print(
        f"| {best.database} | {best.situation} | {best.claimers} | {best.hosts_per_second:,.0f} | {best.p50_ms:.1f}"
        f" | {best.p99_ms:.1f} | {best.longest_ms:.1f} | {best.first_ms:.1f} |",
        flush=True,
    )
    return best


@contextmanager
def opened(name: str, fsync: bool) -> Iterator[Database]:
    """An empty, migrated database."""
    if name == "postgresql":
        settings = {"shared_buffers": "256MB", "max_wal_size": "4GB"}
        with PostgresServer(fsync=fsync, settings=settings) as server:
            database = open_database(server.create_database())
            upgrade(database)
            yield database
            database.close()
        return
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(Path(folder) / "state.db")
        upgrade(database)
        yield database
        database.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=1_000_000)
    parser.add_argument("--claimers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--databases", default="sqlite,postgresql")
    parser.add_argument("--no-fsync", action="store_true", help="a PostgreSQL that does not sync its commits")
    options = parser.parse_args()
    print(f"{options.hosts:,} hosts, batches of {BATCH}, {os.cpu_count()} cores, best of {options.rounds} rounds\n")
    print("| database | situation | claimers | hosts/s | p50 ms | p99 ms | longest ms | first ms |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    found: list[Figures] = []
    for name in options.databases.split(","):
        with opened(name, not options.no_fsync) as database:
            fill(database, options.hosts)
            several = options.claimers if name == "postgresql" else min(2, options.claimers)
            for situation, arise in SITUATIONS.items():
                arise(database)
                found += [
                    measured(database, name, options.hosts, situation, claimers, options.rounds)
                    for claimers in (1, several)
                ]
    RESULTS.parent.mkdir(exist_ok=True)
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "fsync": not options.no_fsync}
    RESULTS.write_text(json.dumps({"machine": machine, "figures": [asdict(each) for each in found]}, indent=1))


if __name__ == "__main__":
    main()
