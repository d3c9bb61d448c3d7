"""How long a search takes over many postings in the embedded state.

    python bench/search.py [--postings 100000] [--repeats 5] [--database-url postgresql://…]

Fills an index with made-up postings whose words are as unevenly frequent as those of a language, then asks queries of
several kinds, each with all facets and 20 hits. Prints the median time of each by the clock and by the processor's own
count (which a busy machine disturbs less; on PostgreSQL it is the client's part only), and when it is asked again, as
the counts of a large result are kept for some seconds. Last it reads every posting through cursors, as `--all` does, in
each order, and prints the most memory that this took.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
import tracemalloc
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from uuid import UUID

from comity.clock import SystemClock
from comity.database.connection import Database, open_database
from comity.database.schema import upgrade
from comity.model.job import CAREER_TYPES, LEVELS, MISSION_TAGS, MODALITIES
from comity.model.search import SearchDocument, SearchQuery, SearchSort
from comity.search_engine.database_engine import COUNTS_KEPT_FOR, DatabaseSearch
from comity.search_engine.job_search import JobSearch

NOW = datetime(2026, 2, 7, tzinfo=UTC)
COUNTRIES = ("KE", "CH", "US", "FR", "DE", "SS", "JO", "LB", "CD", "ET", "SO", "YE", "AF", "BD", "MM", "UA", "CO", "HT")
# How many of all titles hold these, roughly as on boards of aid work.
TITLES = {"officer": 0.22, "manager": 0.14, "nurse": 0.03, "engineer": 0.02, "genève": 0.005}


def documents(number: int) -> list[SearchDocument]:
    chance = random.Random(7)
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(3, 9))) for _ in range(30_000)]
    weights = [1 / (rank + 30) for rank in range(len(words))]
    flat = chance.choices(words, weights, k=400_000)
    organisations = [f"{word.title()} Aid" for word in words[:3000]]
    made = []
    for index in range(number):
        start = chance.randrange(len(flat) - 80)
        title = [word for word, share in TITLES.items() if chance.random() < share] + flat[start : start + 4]
        made.append(
            SearchDocument(
                id=UUID(int=index),
                title=" ".join(title).capitalize(),
                org_name=organisations[min(int(chance.paretovariate(0.5)), 2999)],
                apply_url=f"https://jobs.example/{index}",
                location_raw=chance.choice(("Nairobi, Kenya", "Genève", "Köln", "Remote", "")),
                description_snippet=" ".join(flat[start + 4 : start + 64]),
                first_seen_at=NOW - timedelta(minutes=index),
                source_id=UUID(int=chance.randrange(500)),
                deadline=NOW + timedelta(days=chance.randrange(-5, 60)) if chance.random() < 0.7 else None,
                country_iso=chance.choice(COUNTRIES),
                level_norm=chance.choice((*LEVELS, None)),
                work_modality=chance.choice((*MODALITIES, None)),
                career_type=chance.choice((*CAREER_TYPES, None)),
                international_eligible=chance.choice((True, False, None)),
                mission_tags=tuple(sorted(chance.sample(MISSION_TAGS, chance.choice((0, 1, 1, 2, 3))))),
                language=chance.choices(("en", "fr", "es", "ar"), (8, 2, 1, 1))[0],
            )
        )
    return made


QUERIES = {
    "two words": SearchQuery("nurse geneve"),
    "a phrase": SearchQuery('"officer nurse"'),
    "a rare word": SearchQuery("engineer"),
    "a word and filters": SearchQuery("officer", country_iso=("KE", "SS"), level_norm=("senior",)),
    "two frequent words, one not": SearchQuery("officer manager -nurse"),
    "the beginning of a word": SearchQuery("engin"),
    "a word in every fifth": SearchQuery("officer"),
    "the same without facets": SearchQuery("officer", facets=()),
    "filters only": SearchQuery(country_iso=("KE",), mission_tags=("health",)),
    "everything, newest first": SearchQuery(),
    "everything, by deadline": SearchQuery(sort=SearchSort.DEADLINE),
    "hostile": SearchQuery('"(' * 3000 + "-a* OR b NEAR c " * 500),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--postings", type=int, default=100_000)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--database-url", help="an empty PostgreSQL instead of a SQLite file")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as folder:
        database = open_database(chosen.database_url or Path(folder) / "state.db")
        upgrade(database)
        engine = DatabaseSearch(database)
        made = documents(chosen.postings)
        begun = time.monotonic()
        for first in range(0, len(made), 1000):
            engine.put(made[first : first + 1000])
        taken = time.monotonic() - begun
        print(f"{chosen.postings:,} postings taken in {taken:.1f} s ({taken / chosen.postings * 1e6:.0f} µs each)")
        print(f"{'':28} {'found':>8} {'clock':>9} {'processor':>10} {'again':>9}")
        for name, query in QUERIES.items():
            clock_ms, processor_ms, again_ms = [], [], []
            for turn in range(chosen.repeats + 1):
                now = NOW + COUNTS_KEPT_FOR * 2 * turn
                begun, begun_processor = time.perf_counter(), time.process_time()
                total = engine.query(query, now).total
                if turn:  # the first reads the file
                    clock_ms.append((time.perf_counter() - begun) * 1000)
                    processor_ms.append((time.process_time() - begun_processor) * 1000)
                begun = time.perf_counter()
                engine.query(query, now)
                again_ms.append((time.perf_counter() - begun) * 1000)
            clock, processor, again = map(statistics.median, (clock_ms, processor_ms, again_ms))
            print(f"{name:28} {total:>8,} {clock:>6.1f} ms {processor:>7.1f} ms {again:>6.1f} ms")
        del made
        stream(database, engine)
        database.close()


def stream(database: Database, engine: DatabaseSearch) -> None:
    """Read every posting, and print how many came, how long it took, and how much memory."""
    search = JobSearch(database, SystemClock(), engine)
    streamed = {
        "every posting, newest": SearchQuery(sort=SearchSort.NEWEST, open_only=False),
        "every posting, deadline": SearchQuery(sort=SearchSort.DEADLINE, open_only=False),
        "officer, newest": SearchQuery("officer", sort=SearchSort.NEWEST, open_only=False),
        "officer, relevance": SearchQuery("officer", open_only=False),
    }
    for name, query in streamed.items():
        begun = time.process_time()
        found = sum(1 for _ in search.every(query))
        taken = time.process_time() - begun
        tracemalloc.start()
        for _ in islice(search.every(query), 5_000):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"{name:28} {found:>8,} {taken:>6.1f} s of the processor, {peak / 1e6:.1f} MB at most")


if __name__ == "__main__":
    main()
