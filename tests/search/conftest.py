"""One engine of each kind, empty."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from comity.search_engine.database_engine import DatabaseSearch
from comity.search_engine.job_search import SearchEngine
from comity.search_engine.meilisearch import MeiliLink, MeiliSearch
from tests.search.meili_stand_in import MeiliStandIn


@pytest.fixture
def meili() -> Iterator[MeiliStandIn]:
    stand_in = MeiliStandIn(key="a key")
    yield stand_in
    stand_in.close()


@pytest.fixture(params=["sqlite", "postgresql", "meilisearch"])
def engine(request: pytest.FixtureRequest) -> SearchEngine:
    """An engine of each kind: the test runs three times."""
    if request.param == "meilisearch":
        made: SearchEngine = MeiliSearch(MeiliLink(request.getfixturevalue("meili").url, "a key"))
    else:
        kind = "embedded_database" if request.param == "sqlite" else "shared_database"
        made = DatabaseSearch(request.getfixturevalue(kind))
    made.ensure()
    return made


@pytest.fixture
def filled(engine: SearchEngine) -> SearchEngine:
    """The same with some postings."""
    from tests.search.postings import POSTINGS

    engine.put(POSTINGS)
    return engine
