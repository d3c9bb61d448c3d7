"""A result of any size is read a part at a time."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from comity.clock import SystemClock
from comity.database.connection import Database
from comity.model.search import SearchQuery, SearchSort
from comity.search_engine.database_engine import DatabaseSearch
from comity.search_engine.job_search import PART, JobSearch
from tests.search.postings import NOW, posting
from tests.sizes import sized

FEW, MANY = 2 * PART, sized(5 * PART, 100_000)


def search_over(database: Database, first: int, last: int) -> JobSearch:
    engine = DatabaseSearch(database)
    for start in range(first, last, 1000):
        numbers = range(start, min(start + 1000, last))
        engine.put([replace(posting(number, f"Officer {number}"), first_seen_at=NOW) for number in numbers])
    return JobSearch(database, SystemClock(), engine)


def peak_of(search: JobSearch, query: SearchQuery, expected: int) -> int:
    """The most memory that reading everything takes; every posting comes once."""
    seen = bytearray(expected)
    tracemalloc.start()
    for hit in search.every(query):
        seen[hit.posting.id.int] += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert set(seen) == {1}
    return peak


@pytest.mark.parametrize(
    "query", [SearchQuery(sort=SearchSort.NEWEST), SearchQuery("officer")], ids=["newest", "words"]
)
def test_memory_does_not_grow_with_the_result(database: Database, query: SearchQuery) -> None:
    search = search_over(database, 0, FEW)
    assert len(list(search.every(query))) == FEW  # what is loaded once
    few = peak_of(search, query, FEW)
    many = peak_of(search_over(database, FEW, MANY), query, MANY)
    assert many < 1.5 * few + MANY


def test_parts_are_found_by_the_index(embedded_database: Database) -> None:
    """Otherwise the last part of a large result would take as long as all of it."""
    search = search_over(embedded_database, 0, 3)
    from sqlalchemy import event

    statements: list[tuple[str, object]] = []

    @event.listens_for(embedded_database.engine, "before_cursor_execute")
    def keep(_connection: object, _cursor: object, statement: str, parameters: object, *_rest: object) -> None:
        statements.append((statement, parameters))

    last = search.engine.hits(SearchQuery(sort=SearchSort.NEWEST), NOW, limit=1).last
    search.engine.hits(SearchQuery(sort=SearchSort.NEWEST), NOW, limit=1, after=last)
    [*_, (statement, parameters)] = [each for each in statements if "newest_at <=" in each[0]]
    with embedded_database.read() as connection:
        plan = " ".join(row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters))
    assert "idx_search_documents_newest_at" in plan
    assert "TEMP B-TREE" not in plan
