"""`comity why` names every cause on its first line, on both databases; each is planted over real HTTP."""

from __future__ import annotations

import os
import re

import pytest
from sqlalchemy import select

from comity.database.frontier import unqueued
from comity.database.tables import domains
from tests.doors import why_causes
from tests.doors.why_causes import CAUSES, Planted
from tests.doors.why_planting import EVERYTHING
from tests.walk.crawling import Place
from tests.walk.site import Web


@pytest.fixture(params=["sqlite", "postgresql"])
def planted(request: pytest.FixtureRequest, place: Place, web: Web) -> Planted:
    """Every cause, planted on each database."""
    url: str | None = None
    if request.param == "postgresql":
        place.env["COMITY_DATABASE_URL"] = url = request.getfixturevalue("migrated_postgres_url")
    everything = Planted(place, web, url)
    for plant in EVERYTHING:
        plant(everything)
    return everything


def test_every_cause_is_named(planted: Planted) -> None:
    """One test for all of them: planting takes longer than looking. `WRITE_DOCS=1` writes the table of docs/why.md."""
    assert planted.told.keys() == CAUSES.keys()
    assert len(CAUSES) >= 45
    assert [name for name in CAUSES if not is_right(planted, name)] == []
    assert_that_the_chain_leads_from_discovery_to_now(planted)
    assert_that_records_are_small(planted)
    wanted = why_causes.written(planted.told)
    if os.environ.get("WRITE_DOCS"):
        why_causes.PAGE.write_text(wanted)
    assert why_causes.PAGE.read_text() == wanted


def is_right(planted: Planted, name: str) -> bool:
    """The first line names what decided last, the last line what would change it, for people and programs alike."""
    asked, cause = planted.told[name], CAUSES[name]
    document = asked.document
    if document["code"] != cause.code or re.search(cause.says, asked.first_line) is None:
        print(f"{name}: {document['code']}: {asked.first_line}")
        return False
    last_line = asked.text.rstrip().splitlines()[-1]
    is_same = document["decision"] == asked.first_line and last_line.endswith(document["remedy"])
    return is_same and last_line.startswith("What would change it: ") and len(document["remedy"]) > 10


def assert_that_the_chain_leads_from_discovery_to_now(planted: Planted) -> None:
    """By which page, sitemap, seed, redirect, canonical address or source a URL was named."""
    chains = {name: asked.document["chain"] for name, asked in planted.told.items()}
    named = {name: chain[0]["sentence"] for name, chain in chains.items() if chain}
    assert named["seed"] == "found through a seed"
    assert named["fetched"] == f"found through a link on {planted.told['seed'].url}"
    assert named["sitemap_only"].startswith("found through the sitemap http")
    assert named["redirect_off_site_target"].startswith("found through a redirect from http")
    assert named["canonical_target"].startswith("found through the canonical address of http")
    assert named["image_other_host"].startswith("found through an image on http")
    assert named["source"] == "added as a source"
    for name, chain in chains.items():
        times = [step["at"] for step in chain]
        past = [at for at in times if at is not None]
        assert times == [*past, *[None] * (len(times) - len(past))], f"{name}: what holds now comes last"
        assert past[1:] == sorted(past[1:]), name


def assert_that_records_are_small(planted: Planted) -> None:
    with planted.opened() as state, state.database.read() as connection:
        ids = connection.execute(select(domains.c.id)).scalars().all()
        longest = max(len(note.url) for host_id in ids for note in unqueued.of_host(connection, host_id))
    assert 30 < longest <= 60
