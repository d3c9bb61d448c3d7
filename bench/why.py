"""Is an explanation quick in a large state? 1,000,000 URLs: queued, visited, and seen and left.

    python bench/why.py [--urls 1000000] [--databases sqlite,postgresql] [--state FILE-OR-URL]

The rows are inserted in bulk (on PostgreSQL by COPY: row by row, the set-up took longer than the measurement) into a
SQLite file or a private PostgreSQL: 100 hosts, each URL with what a crawl leaves
of it. `comity why` is then asked for 2,000 of them, without the start of the command. It decides whether `why` may be
asked by a page that is looked at by people: the 95th percentile is to stay under 50 ms on both databases. A state
that takes long to fill can be kept for a second measurement: `--state FILE-OR-URL` fills it only if it is empty.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter, process_time, time
from typing import Any
from uuid import UUID, uuid4

sys.path.insert(0, str(Path(__file__).parent.parent))

from sqlalchemy import Connection, Table, text

from comity.assemble import open_state
from comity.database import records
from comity.database.bulk import insert_rows
from comity.database.connection import open_database
from comity.database.frontier import rows as frontier_table
from comity.database.frontier import unqueued
from comity.database.schema import upgrade
from comity.database.tables import DONE, crawl_runs, domains
from comity.model.evidence import Evidence, EvidenceType
from comity.model.frontier import FoundBy, FrontierEntry, Unqueued, UnqueuedCode
from comity.model.outcome import FetchRow
from comity.rules.canonical import web_address
from comity.settings import read_settings
from tests.servers.postgres import postgres_for_tests

HOSTS, ASKED = 100, 2_000
P95_MS = 50
LEFT_OF_A_HOST = 2_000
QUEUED_SHARE = 0.3


def rows_of(host_id: UUID, name: str, now: float, urls: int) -> Iterator[tuple[str, Any]]:
    """What a crawl leaves of one host: a queue, visits with their evidence, and links that were left."""
    keys: list[int] = []
    for number in range(urls // HOSTS - LEFT_OF_A_HOST):
        address = web_address(f"https://{name}/section-{number % 50}/page-{number}.html")
        keys.append(address.key)
        found_on = keys[number // 2]
        yield "entry", FrontierEntry(address.url, address.key, 3, 0, None, FoundBy.LINK, found_on)
        if number % 10 >= 10 * QUEUED_SHARE:
            content = {"allowed": True, "reason": "no rule matches"}
            yield (
                "fetch",
                FetchRow(host_id, name, address.url, address.key, "fetched", 200, None, now, 0.1, 9000, 3, address.url),
            )
            kind = EvidenceType.ROBOTS_ALLOWED
            yield "evidence", Evidence(host_id, address.url, address.key, kind, content, {}, "high", now)
    for number in range(LEFT_OF_A_HOST):
        address = web_address(f"https://elsewhere-{number}.example/from/{name}")
        yield "left", Unqueued(address.url, address.key, UnqueuedCode.OTHER_HOST, FoundBy.LINK, found_on)


def copy_rows(
    connection: Connection,
    table: Table,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    *,
    unless: tuple[str, ...] = (),  # noqa: ARG001  # no row is there twice
) -> int:
    """Insert rows as `insert_rows` does, by COPY on PostgreSQL."""
    if connection.dialect.name != "postgresql":
        return insert_rows(connection, table, columns, rows)
    cursor: Any = connection.connection.cursor()
    with cursor.copy(f"COPY {table.name} ({', '.join(columns)}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    return len(rows)


for room in (frontier_table, records, unqueued):
    room.insert_rows = copy_rows  # type: ignore[attr-defined]  # the set-up is not what is measured


def acknowledge(connection: Connection, host_id: UUID, keys: list[int]) -> None:
    """Mark URLs as done, in one statement where there are arrays."""
    if connection.dialect.name != "postgresql":
        frontier_table.acknowledge(connection, [(host_id, keys)])
        return
    statement = text("UPDATE domain_frontier SET state = :done WHERE domain_id = :host AND url_key = ANY(:keys)")
    connection.execute(statement, {"done": DONE, "host": host_id, "keys": keys})


def fill(state: Any, urls: int) -> list[str]:
    """Insert everything; gives the addresses that may be asked about."""
    run_id, now = uuid4(), time()
    addresses: list[str] = []
    with state.database.write() as connection:
        connection.execute(crawl_runs.insert().values(id=run_id, settings={"max_depth": 50}))
    for number in range(HOSTS):
        with state.database.write() as connection:
            host_id, name = uuid4(), f"host-{number}.example"
            connection.execute(domains.insert().values(id=host_id, domain=name, last_crawl_run_id=run_id))
            connection.execute(domains.update().where(domains.c.id == host_id).values(status="active"))
            kinds: dict[str, list[Any]] = {"entry": [], "fetch": [], "evidence": [], "left": []}
            for kind, row in rows_of(host_id, name, now, urls):
                kinds[kind].append(row)
            frontier_table.add(connection, host_id, run_id, kinds["entry"])
            acknowledge(connection, host_id, [row.url_key for row in kinds["fetch"]])
            records.add_fetches(connection, run_id, kinds["fetch"])
            records.add_evidence(connection, run_id, kinds["evidence"])
            unqueued.put(connection, [unqueued.HostUnqueued(host_id, kinds["left"])], now)
            addresses += [row.url for row in (*kinds["entry"], *kinds["left"])]
    return addresses


def left_bytes(path: Path) -> float:
    """Bytes on disk for each URL that was seen and left."""
    import sqlite3

    with sqlite3.connect(path) as connection:
        size = connection.execute("SELECT sum(pgsize) FROM dbstat WHERE name LIKE '%unqueued_%'").fetchone()[0]
        count = connection.execute("SELECT sum(unqueued_recorded) FROM domains").fetchone()[0]
    return float(size) / int(count)


def addresses_in(urls: int) -> list[str]:
    """The addresses that `fill` inserts."""
    return [
        row.url
        for number in range(HOSTS)
        for kind, row in rows_of(UUID(int=number), f"host-{number}.example", 0.0, urls)
        if kind in ("entry", "left")
    ]


def is_filled(state: Any) -> bool:
    """Whether a state has been filled before."""
    with state.database.read() as connection:
        return connection.execute(domains.select().limit(1)).first() is not None


def measure(where: str, urls: int) -> float:
    """Fill a state if it is empty, ask, and print; gives the 95th percentile in milliseconds."""
    kind = "postgresql" if "://" in where else "sqlite"
    if kind == "postgresql":
        database = open_database(where)
        upgrade(database)
        database.close()
    settings = read_settings(database_url=where) if kind == "postgresql" else read_settings(state=where)
    with open_state(settings) as state:
        if is_filled(state):
            addresses = addresses_in(urls)
        else:
            began = perf_counter()
            addresses = fill(state, urls)
            print(f"{kind}: {len(addresses):,} URLs in {perf_counter() - began:.0f} s", flush=True)
            with state.database.write() as connection:
                connection.execute(text("ANALYZE"))  # as the server does by itself after so many rows
        p95 = ask(kind, state, random.Random(7).sample(addresses, ASKED))
    if kind == "sqlite":
        try:
            print(f"a URL that was seen and left: {left_bytes(Path(where)):.0f} bytes on disk")
        except Exception as error:
            print(f"the size on disk cannot be asked for here: {error}")
    return p95


def ask(kind: str, state: Any, addresses: list[str]) -> float:
    """Ask about some addresses, and print; gives the 95th percentile in milliseconds."""
    took = []
    used = process_time()
    for each in addresses:
        address = web_address(each)
        began = perf_counter()
        state.why(address)
        took.append((perf_counter() - began) * 1000)
    used = (process_time() - used) / len(took) * 1000
    took.sort()
    p50, p95, p99 = (took[int(len(took) * share)] for share in (0.5, 0.95, 0.99))
    print(f"{kind}: why, {len(took):,} URLs: p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms,", end=" ")
    print(f"longest {took[-1]:.1f} ms; {used:.1f} ms of our CPU each", flush=True)
    return p95


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--urls", type=int, default=1_000_000)
    options.add_argument("--databases", default="sqlite")
    options.add_argument("--state", help="a SQLite file or a PostgreSQL URL that is kept")
    chosen = options.parse_args()
    if chosen.state:
        return int(measure(chosen.state, chosen.urls) >= P95_MS)
    slowest = 0.0
    for kind in chosen.databases.split(","):
        with ExitStack() as stack:
            where = str(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="comity-bench-"))) / "state.db")
            if kind == "postgresql":
                where = stack.enter_context(postgres_for_tests()).create_database()
            slowest = max(slowest, measure(where, chosen.urls))
    return int(slowest >= P95_MS)


if __name__ == "__main__":
    sys.exit(main())
