"""Demonstration data for tests and screenshots. Each noun has a function of its own in `SEEDERS`."""

from __future__ import annotations

from collections.abc import Callable

from comity.assemble import State
from comity.operate.sources import add_source, pause_source
from tests.console.seed_hosts import seed_hosts, seed_pages

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


def seed_sources(state: State) -> None:
    for number, (name, kind, address) in enumerate(ORGANISATIONS):
        source = add_source(state.database, state.clock, address, approved=True, org_name=name, org_type=kind)
        if number % 4 == 3:
            pause_source(state.database, state.clock, source.id)


SEEDERS: list[Callable[[State], None]] = [seed_sources, seed_hosts, seed_pages]


def seed(state: State) -> None:
    """Fill a state."""
    for each in SEEDERS:
        each(state)
