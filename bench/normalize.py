"""What it costs to put a posting into the common vocabulary.

    python bench/normalize.py [--repeat 5] [--postings 2000]

Postings are made of titles, places, dates and descriptions as organisations write them, in several languages, no two
alike. "new" has every cache empty of these very words; "again" reads the same postings once more, as a second run of a
source does. "loading" is the first posting of a process, with the tables of countries and cities. "last resort" is one
date that only dateparser reads. The answer decides whether a listing of some hundred jobs may be normalized
beside the fetching: the aim is under 200 µs a posting.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import random
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path

from comity.model.job import JobFound

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
TITLES = (
    *("Programme Policy Officer (Nutrition), P-3", "Consultant – Gender Equality", "WASH Engineer", "Country Director"),
    *("Chargé(e) de suivi et évaluation", "Coordinador(a) de Logística", "Referent Finanzen (m/w/d)", "Driver, G-2"),
    *(
        "Senior Protection Adviser",
        "Internship: Communications",
        "Oficial de Salud Materna",
        "Technischer Berater Klima",
    ),
    *("Monitoring, Evaluation and Learning Manager", "مسؤول حماية الطفل", "Специалист по логистике", "Head of Mission"),
)
PLACES = (
    *("Nairobi, Kenya", "Geneva, Switzerland", "Washington, DC, USA", "Dakar or Nairobi", "Remote", "Kyiv/Ukraine"),
    *(
        "Goma, DRC",
        "Paris (France)",
        "Tbilisi, Georgia",
        "Cox's Bazar, Bangladesh",
        "Bogotá, D.C., Colombia",
        "عمان، الأردن",
    ),
    *("Home-based in Kenya", "Berlin, Deutschland", "Atlanta, GA", "Juba, South Sudan", "Multiple locations"),
)
DATES = (
    *(
        "{day} December 2026",
        "Dec {day}, 2026 23:59 CET",
        "{day}/12/2026",
        "2026-12-{day}",
        "{day} décembre 2026 à 17h00",
    ),
    *(
        "{day} de diciembre de 2026",
        "{day}. Dezember 2026",
        "2026-12-{day}T23:59:00+01:00",
        "11:59 PM EST, December {day}, 2026",
    ),
    *("Open until filled", "in 5 days", ""),
)
TERMS = ("FULL_TIME", "Fixed-term", "Consultancy", "", "Temps plein", "Vollzeit", "Internship")
SENTENCES = (
    "The organisation works in {number} countries to protect people affected by conflict and disaster.",
    "The post holder leads the team and reports to the Country Director, with frequent travel to field sites.",
    "Experience with water, sanitation and hygiene programmes is required; knowledge of French is an asset.",
    "Le ou la titulaire du poste assure le suivi des activités et la qualité des données recueillies.",
    "La persona seleccionada coordinará las actividades de protección con las comunidades locales.",
    "Only nationals of the country may apply. We do not offer visa sponsorship.",
)


def postings(count: int, seed: int) -> list[JobFound]:
    chance = random.Random(seed)
    made = []
    for at in range(count):
        description = " ".join(chance.sample(SENTENCES, 3)).format(number=seed * count + at)
        made.append(
            JobFound(
                title=f"{chance.choice(TITLES)} {seed}/{at}",
                apply_url=f"https://www.example.org/careers/{seed}{at:05d}-job?utm_source=board&lang=en",
                location_raw=f"{chance.choice(PLACES)}{chance.choice(('', f' ({at})'))}",
                description_snippet=description,
                deadline_raw=chance.choice(DATES).format(day=chance.randint(10, 31)),
                posted_raw=f"{chance.randint(1, 14)} November 2026",
                employment_raw=chance.choice(TERMS),
            )
        )
    return made


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("--repeat", type=int, default=5)
    reader.add_argument("--postings", type=int, default=2000)
    reader.add_argument("--profile", action="store_true")
    wanted = reader.parse_args()
    figures: dict[str, float] = {}

    started = time.process_time()
    from comity.rules.jobs.normalize import normalize

    figures["importing, ms"] = (time.process_time() - started) * 1e3

    def run(found: list[JobFound]) -> float:
        started = time.process_time()
        for job in found:
            normalize(job, org_name="Example Aid", org_type="ingo", source_country="CH", now=NOW)
        return (time.process_time() - started) / len(found) * 1e6

    figures["loading, ms"] = run(postings(1, 0)) / 1e3
    new, again = [], []
    for seed in range(1, wanted.repeat + 1):
        found = postings(wanted.postings, seed)
        new.append(run(found))
        again.append(run(found))
    figures["new, µs"], figures["again, µs"] = min(new), min(again)
    figures["new, median µs"] = statistics.median(new)
    odd = [JobFound(title="Officer", apply_url="", deadline_raw=f"{day} Δεκεμβρίου 2026") for day in range(1, 21)]
    figures["last resort, first, ms"] = run(odd[:1]) / 1e3
    figures["last resort, ms"] = run(odd[1:]) / 1e3
    for name, figure in figures.items():
        print(f"{name:<26}{figure:>10.1f}")
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "normalize.json").write_text(json.dumps(figures, indent=2))
    if wanted.profile:
        profile = cProfile.Profile()
        profile.runcall(run, postings(wanted.postings, 99))
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
