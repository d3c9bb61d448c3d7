"""What does a frontier cost in each store, and does it cost more when it is long?

    python bench/frontier.py [--sizes 100000,1000000] [--stores sqlite,postgresql,redis,redis+postgresql]

Fills the frontier of one host with batches of 1,000 new URLs of 60 characters, then looks at its front (500 URLs), then
settles as a crawl does: 200 done, 20 links of which half are known, one transaction each. Servers are private, from
the tests' own launchers; Redis writes its append-only file and syncs it every second. For Redis it prints the memory
of a million URLs, queued and done; the journal of Redis is in SQLite, or in PostgreSQL (redis+postgresql).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from sqlalchemy import insert  # noqa: E402

from comity.clock import SystemClock  # noqa: E402
from comity.database.connection import open_database  # noqa: E402
from comity.database.schema import upgrade  # noqa: E402
from comity.database.tables import domains  # noqa: E402
from comity.frontier.redis.link import RedisTerms  # noqa: E402
from comity.frontier.redis.store import RedisFrontier  # noqa: E402
from comity.frontier.sql_store import SqlFrontier  # noqa: E402
from comity.frontier.store import FrontierStore, HostSettlement  # noqa: E402
from comity.model.frontier import FrontierEntry  # noqa: E402
from comity.rules.canonical import url_key  # noqa: E402
from tests.servers.postgres import postgres_for_tests  # noqa: E402
from tests.servers.valkey import ValkeyServer  # noqa: E402

BATCH = 1000
LOOKS = 200
SETTLES = 200


class EverySecond(ValkeyServer):
    def _command(self) -> list[Any]:
        return [*super()._command(), "--appendfsync", "everysec"]


@contextmanager
def opened(kind: str) -> Iterator[tuple[FrontierStore, Any, UUID]]:
    """A store, its Redis if it has one, and a host."""
    with ExitStack() as stack:
        if "postgresql" in kind:
            where = stack.enter_context(postgres_for_tests()).create_database()
        else:
            where = stack.enter_context(tempfile.TemporaryDirectory(prefix="comity-bench-")) + "/state.db"
        database = open_database(where)
        upgrade(database)
        with database.write() as connection:
            host: UUID = connection.execute(
                insert(domains).values(domain="www.example.com").returning(domains.c.id)
            ).scalar_one()
        client, store = None, None
        if kind.startswith("redis"):
            import redis

            server = stack.enter_context(EverySecond())
            client = redis.Redis.from_url(server.url())
            store = RedisFrontier(database, server.url(), SystemClock(), RedisTerms(timeout_s=60))
        else:
            store = SqlFrontier(database)
        yield store, client, host
        store.close()
        database.close()


def entries(first: int, count: int, depth: int = 1) -> list[FrontierEntry]:
    urls = [f"https://www.example.com/articles/{number:08}/a-title-of-a-page" for number in range(first, first + count)]
    return [FrontierEntry(url, url_key(url), depth) for url in urls]


def used_mb(client: Any) -> float:
    return float(client.info("memory")["used_memory"]) / 1e6


def measure(kind: str, size: int) -> dict[str, Any]:
    """Fill, look, settle; figures by name."""
    figures: dict[str, Any] = {"store": kind, "urls": size}
    with opened(kind) as (store, client, host):
        before = used_mb(client) if client else 0.0
        made = 0.0
        began = time.perf_counter()
        for first in range(0, size, BATCH):
            start = time.perf_counter()
            batch = entries(first, BATCH)
            made += time.perf_counter() - start
            with store.change({host: batch}) as change:
                assert change.add(host, None, batch) == BATCH
            if (first + BATCH) % 1_000_000 == 0:
                rate = (first + BATCH) / (time.perf_counter() - began - made)
                print(f"{kind}: {first + BATCH:,} of {size:,} added, {rate:,.0f}/s so far", file=sys.stderr, flush=True)
        figures["adds_per_s"] = round(size / (time.perf_counter() - began - made))
        if client:
            figures["mb_per_million_queued"] = round((used_mb(client) - before) / size * 1e6)
        now = datetime.now(UTC)
        times = []
        for _ in range(LOOKS):
            start = time.perf_counter()
            rows = store.peek(host, 500, now)
            times.append(time.perf_counter() - start)
            assert len(rows) == 500
        figures["look_500_ms"] = round(statistics.median(times) * 1e3, 2)
        figures["looks_per_s"] = round(1 / statistics.median(times))
        times = []
        for turn in range(SETTLES):
            done = [row.key for row in store.peek(host, 200, now)]
            links = entries(size + turn * 10 - 10, 20, 2)
            start = time.perf_counter()
            with store.change({host: links}) as change:
                change.settle(host, None, HostSettlement(links, done))
            times.append(time.perf_counter() - start)
        figures["settle_200_ms"] = round(statistics.median(times) * 1e3, 2)
        figures["settle_200_p99_ms"] = round(sorted(times)[int(SETTLES * 0.99)] * 1e3, 2)
        if client:
            figures |= finish(store, client, host, size, before)
    return figures


def finish(store: FrontierStore, client: Any, host: UUID, size: int, before: float) -> dict[str, Any]:
    """What is done takes less room; how long everything takes to be queued again."""
    now = datetime.now(UTC)
    while rows := store.peek(host, 10_000, now):
        with store.change() as change:
            change.settle(host, None, HostSettlement(done=[row.key for row in rows]))
    done = round((used_mb(client) - before) / size * 1e6)
    start = time.perf_counter()
    with store.change() as change:
        change.requeue_all(host)
    return {"mb_per_million_done": done, "requeue_all_s": round(time.perf_counter() - start, 2)}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sizes", default="100000,1000000")
    options.add_argument("--stores", default="sqlite,postgresql,redis,redis+postgresql")
    chosen = options.parse_args()
    results = []
    for size in map(int, chosen.sizes.split(",")):
        for kind in chosen.stores.split(","):
            figures = measure(kind, size)
            results.append(figures)
            print(", ".join(f"{name} {value}" for name, value in figures.items()), flush=True)
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    (folder / "frontier.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
