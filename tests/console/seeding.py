"""Demonstration data for tests and screenshots. Each noun has a function of its own in `SEEDERS`.

Nothing is random: every run has the same rows, at the same distance from now.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy import insert, select, update

from comity.assemble import State
from comity.database.sources.tables import crawl_logs, sources
from comity.database.tables import crawl_runs, domains, fetches
from comity.model.host import HostStatus
from comity.operate.seeds import add_seeds
from comity.operate.sources import add_source, pause_source
from comity.rules.seed_list import read_seed
from tests.console.queue_seeding import seed_queue
from tests.console.seed_hosts import seed_histories, seed_pages, seed_takedowns
from tests.console.seeding_sources import seed_history, seed_postings, seed_runs

SPACE = UUID("5b4f5f0e-58a1-4f4e-9a53-0d8f8a6c2b11")
ORGANISATIONS = (
    ("Relief International", "ingo", "https://www.relief-international.example/careers"),
    ("United Harvest Programme", "un", "https://jobs.harvest-programme.example/vacancies"),
    ("Lakeside University", "academic", "https://www.lakeside-university.example/about/jobs"),
    ("Clean Water Now", "ngo", "https://cleanwaternow.example/work-with-us"),
    ("Northern Health Trust", "ngo", "https://northern-health.example/join"),
    ("Médecins du Littoral", "ingo", "https://medecins-du-littoral.example/recrutement"),
    ("Open Roads Foundation", "ngo", "https://openroads.example/jobs.rss"),
    ("Institute for Soil Studies", "academic", "https://soil-studies.example/vacancies"),
)
HOSTS = (
    *("news.example", "shop.example", "docs.example", "blog.example", "museum.example", "archive.example"),
    *("recipes.example", "gallery.example", "weather.example", "library.example", "radio.example", "maps.example"),
)
OUTCOMES = ("fetched",) * 14 + ("not_modified",) * 3 + ("gone", "failed", "refused")
ERRORS = {"failed": ("timeout: no answer", "dns: unknown name", "connect: refused"), "gone": ("http_404",)}


def seed_sources(state: State) -> None:
    now = state.clock.now()
    for number, (name, kind, address) in enumerate(ORGANISATIONS):
        source = add_source(state.database, state.clock, address, approved=True, org_name=name, org_type=kind)
        if number % 4 == 3:
            pause_source(state.database, state.clock, source.id)
        with state.database.write() as connection:
            next_run_at = now + timedelta(hours=3 * number - 1)
            changed = update(sources).where(sources.c.id == source.id).values(next_run_at=next_run_at)
            connection.execute(changed)
            connection.execute(insert(crawl_logs), list(_runs(source.id, number, now)))


def _runs(source_id: UUID, number: int, now: datetime) -> Iterator[dict[str, Any]]:
    for back in range(1, 12):
        found = 20 + 3 * number + back % 4
        yield {
            "source_id": source_id,
            "ran_at": now - timedelta(hours=back * (2 + number % 3), minutes=7 * number),
            "duration_ms": 800 + 120 * back,
            "found": found,
            "inserted": (back + number) % 5,
            "updated": back % 3,
            "skipped": found - 4,
            "closed": back % 2,
            "pages": 1 + number % 3,
            "status": "fail" if (back + number) % 9 == 0 else "ok",
            "message": "no answer within 30 seconds" if (back + number) % 9 == 0 else None,
        }


def seed_hosts(state: State) -> None:
    add_seeds(state.database, state.clock, [read_seed(f"https://{host}/") for host in HOSTS])
    moves = {2: ("active",), 3: ("active", "exhausted"), 4: ("active",), 5: ("blocked",), 7: ("unreachable",)}
    with state.database.write() as connection:
        for number, host in enumerate(HOSTS):
            for status in moves.get(number % 8, ()):
                values: dict[str, Any] = {"status": HostStatus(status)}
                if status == "blocked":
                    values |= {"block_reason_code": "robots_denied", "block_reason": "robots.txt forbids all"}
                connection.execute(update(domains).where(domains.c.domain == host).values(**values))


def seed_fetches(state: State) -> None:
    now = state.clock.now()
    run_id = uuid5(SPACE, "run")
    with state.database.write() as connection:
        ids = {row.domain: row.id for row in connection.execute(select(domains.c.domain, domains.c.id))}
        for number in range(5):
            is_running = number == 0
            connection.execute(
                insert(crawl_runs).values(
                    id=run_id if is_running else uuid5(SPACE, f"run {number}"),
                    status="running" if is_running else ("finished", "stopped")[number % 2],
                    started_at=now - timedelta(hours=1 + 5 * number),
                    ended_at=None if is_running else now - timedelta(hours=5 * number),
                    pages_crawled=1200 + 377 * number,
                    pages_failed=12 * number,
                    bytes_received=48_000_000 + 3_100_000 * number,
                    settings={},
                )
            )
        rows = sorted(_fetches(ids, run_id, now), key=lambda row: row["crawled_at"])
        connection.execute(insert(fetches), rows)


def _fetches(ids: dict[str, UUID], run_id: UUID, now: datetime) -> Iterator[dict[str, Any]]:
    for minute in range(24 * 60):
        busy = 1.6 + 1.4 * math.sin(minute / 190)
        for number in range(int(busy) + (minute % 3 == 0)):
            host = HOSTS[(minute * 7 + number) % len(HOSTS)]
            url = f"https://{host}/articles/{minute}/{number}"
            outcome = OUTCOMES[(minute * 3 + number * 7) % len(OUTCOMES)]
            errors = ERRORS.get(outcome, ())
            yield {
                "run_id": run_id,
                "domain_id": ids[host],
                "domain": host,
                "page_url": url,
                "url_key": minute * 10 + number,
                "outcome": outcome,
                "status": {"fetched": 200, "not_modified": 304, "gone": 404}.get(outcome),
                "error": errors[minute % len(errors)] if errors else None,
                "bytes_received": 18_000 + 900 * (minute % 40),
                "duration_ms": round(140 + 60 * math.sin(minute / 150) + 35 * (minute % 11) + 400 * (minute % 37 == 0)),
                "crawled_at": now - timedelta(minutes=minute, seconds=7 * number),
            }


SEEDERS: list[Callable[[State], None]] = [
    seed_sources,
    seed_hosts,
    seed_fetches,
    seed_history,
    seed_postings,
    seed_runs,
    seed_histories,
    seed_pages,
    seed_queue,
    seed_takedowns,
]


def seed(state: State) -> None:
    """Fill a state."""
    for each in SEEDERS:
        each(state)
