"""Demonstration data of the sources: weeks of runs, postings to search, and crawls that ended in every way."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import delete, insert, update

from comity.assemble import State
from comity.database import runs
from comity.database.sources import postings
from comity.database.sources.tables import crawl_logs, job_postings, job_sightings, sources
from comity.operate.policy import set_policy
from comity.reports.runs import list_crawl_runs
from comity.reports.sources import list_sources

TITLES = (
    ("Water and Sanitation Engineer", "Nairobi, Kenya", "KE", "mid", ["wash", "engineering"]),
    ("Emergency Nurse", "Juba, South Sudan", "SS", "senior", ["health"]),
    ("Logistics Officer", "Goma, DR Congo", "CD", "mid", ["logistics"]),
    ("Protection Advisor", "Geneva, Switzerland", "CH", "senior", ["protection"]),
    ("Finance Manager", "Amman, Jordan", "JO", "lead", ["finance"]),
    ("Programme Assistant", "Dhaka, Bangladesh", "BD", "junior", ["education"]),
    ("Data Analyst", "Remote", "GB", "mid", ["data"]),
    ("Shelter Specialist", "Port-au-Prince, Haiti", "HT", "senior", ["shelter"]),
)


def seed_history(state: State) -> None:
    """Forty runs of each source, the last of which is on its row."""
    chance, now = Random(7), state.clock.now()
    found, _ = list_sources(state.database, limit=50)
    with state.database.write() as connection:
        connection.execute(delete(crawl_logs))
        for place, source in enumerate(found):
            rows: list[dict[str, Any]] = []
            listed = chance.randint(8, 40)
            for number in range(40):
                ran_at = now - timedelta(days=(39 - number) * 1.7, minutes=chance.randint(0, 600) + 90 * place)
                is_bad = chance.random() < 0.06 or (place == 4 and number > 36)
                inserted, closed = chance.randint(0, 6), chance.randint(0, 5)
                listed = max(2, listed + inserted - closed)
                rows.append(
                    {
                        "id": uuid4(),
                        "source_id": source.id,
                        "ran_at": ran_at,
                        "duration_ms": chance.randint(900, 14_000),
                        "found": 0 if is_bad else listed,
                        "inserted": 0 if is_bad else inserted,
                        "updated": 0 if is_bad else chance.randint(0, 3),
                        "skipped": 0,
                        "closed": 0 if is_bad else closed,
                        "pages": 0 if is_bad else chance.randint(1, 4),
                        "status": "fail" if is_bad else "warn" if chance.random() < 0.04 else "ok",
                        "message": "the server answered 503" if is_bad else "",
                        "next_run_at": now + timedelta(hours=7 + 9 * place),
                        "next_run_reason": "nothing new, 1 in a row (slower from 3): 3 days, the source's own base of "
                        "3 days; jitter +4.2 %",
                    }
                )
            connection.execute(insert(crawl_logs), rows)
            last = rows[-1]
            values = {
                "last_crawled_at": last["ran_at"],
                "last_crawl_status": last["status"],
                "last_crawl_message": last["message"] or None,
                "last_found": listed,
                "next_run_at": last["next_run_at"] if place != 1 else now,
            }
            if place == 5:
                values |= {"status": "blocked", "last_crawl_status": "fail", "next_run_at": None}
                values |= {"last_crawl_message": "robots disallow"}
            connection.execute(update(sources).where(sources.c.id == source.id).values(**values))


def seed_postings(state: State) -> None:
    """Sixty postings, in the index."""
    chance, now = Random(11), state.clock.now()
    found, _ = list_sources(state.database, limit=50)
    rows = []
    for number in range(60):
        title, place, country, level, tags = TITLES[number % len(TITLES)]
        source = found[number % len(found)]
        rows.append(
            {
                "id": UUID(int=7000 + number),
                "canonical_hash": f"{7000 + number:064}",
                "source_id": source.id,
                "title": title if number >= 2 else f"{title} <script>alert({number})</script>",
                "org_name": source.org_name or "",
                "apply_url": f"{source.careers_url}/{number}",
                "location_raw": place,
                "country_iso": country,
                "level_norm": level,
                "work_modality": chance.choice(["onsite", "remote", "hybrid", None]),
                "career_type": chance.choice(["permanent", "fixed-term", "consultancy", None]),
                "mission_tags": tags,
                "language": chance.choice(["en", "en", "fr"]),
                "description_snippet": "You will work with a small team on the design, supply and upkeep of services "
                "for people who had to leave their homes, and report to the head of programme.",
                "deadline": now + timedelta(days=chance.randint(3, 40)),
                "first_seen_at": now - timedelta(days=chance.randint(0, 20)),
            }
        )
    with state.database.write() as connection:
        connection.execute(insert(job_postings), rows)
        sightings = [{"source_id": row["source_id"], "posting_id": row["id"]} for row in rows]
        connection.execute(insert(job_sightings), sightings)
        postings.queue_for_search(connection, [row["id"] for row in rows], "upsert")
    state.outbox_drain().drain()


def seed_runs(state: State) -> None:
    """Crawls that ended in every way, and one that another machine runs."""
    now = state.clock.now()
    ends = (
        ("finished", "nothing_left", "nothing left to visit", 1843),
        ("stopped", "stopped", "stopped by the operator", 512),
        ("finished", "page_limit", "the limit of 1,000 pages per run was reached", 1000),
        ("failed", "dns_failure", "the host's name could not be resolved", 0),
        ("running", None, None, 266),
    )
    with state.database.write() as connection:
        for number, (status, reason, detail, pages) in enumerate(ends):
            run_id, started = uuid4(), now - timedelta(hours=30 - 6 * number)
            seeds = {"seeds": [f"https://site-{number}.example/"], "is_supervised": True, "text": number == 1}
            settings = state.recorded_settings | seeds
            runs.begin(connection, run_id, door="crawl", holder="elsewhere:1:1:a", settings=settings, now=started)
            runs.add(connection, run_id, crawled=pages, failed=pages // 40, received=pages * 48_000)
            if reason is not None and detail is not None:
                ended = started + timedelta(minutes=11 + number)
                runs.end(connection, run_id, status=status, reason=reason, detail=detail, now=ended)
    set_policy(state.database, state.clock, "relief-international.example", min_request_interval_ms=5000)


def paths_of_sources(state: State) -> list[str]:
    """Every page of sources and crawls that has a parameter."""
    source = list_sources(state.database, sort="org_name", limit=5)[0][3]
    run = list_crawl_runs(state.database, door="crawl", limit=1)[0]
    pages = [f"/sources/{source.id}{end}" for end in ("", "/edit", "/delete")]
    return [*pages, f"/crawl/runs/{run.id}", f"/crawl/logs?source_id={source.id}", "/postings?q=engineer"]
