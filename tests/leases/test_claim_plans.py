"""How the databases carry out a claim: by the indexes made for it, whatever the size of the table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import event, text

from comity.clock import SystemClock
from comity.database.connection import Database, open_database
from comity.leases.leases import Leases
from tests.leases.test_contention import fill

HOSTS = 20_000
INDEX = "idx_domains_discovery_candidates"
FEW = 250
LATER, EARLIER = "INTERVAL '20 minutes'", "INTERVAL '-20 minutes'"


@pytest.fixture
def filled_postgresql(migrated_postgres_url: str) -> Iterator[Database]:
    """A database of its own, whose statistics are as fresh, or as stale, as the test makes them."""
    database = open_database(migrated_postgres_url)
    fill(database, HOSTS)
    yield database
    database.close()


def analyze(database: Database) -> None:
    with database.write() as connection:
        connection.execute(text("ANALYZE domains"))


def lease_most(database: Database, ends: str) -> None:
    with database.write() as connection:
        connection.execute(
            text(
                "UPDATE domains SET claimed_by = 'other' || (priority_score % 50), lease_token = 1,"
                f" claim_expires_at = CURRENT_TIMESTAMP + {ends} WHERE priority_score > {HOSTS // 10}"
            )
        )


def statement_of_a_claim(database: Database, **options: Any) -> tuple[str, Any]:
    """What is really sent."""
    sent: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        sent.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        assert Leases(database, SystemClock()).claim(10, **options)
    finally:
        event.remove(database.engine, "before_cursor_execute", note)
    (claim,) = [each for each in sent if "UPDATE domains" in each[0]]
    return claim


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def plan_on_postgresql(database: Database, **options: Any) -> list[dict[str, Any]]:
    statement, parameters = statement_of_a_claim(database, **options)
    with database.engine.connect() as connection:  # ends with a rollback
        answer = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters).scalar_one()
    (tree,) = answer if isinstance(answer, list) else json.loads(answer)
    return list(nodes(tree["Plan"]))


def reads_little(plan: list[dict[str, Any]]) -> None:
    """Whatever is read, sorted or joined is a few rows of the table."""
    assert INDEX in {node.get("Index Name") for node in plan}
    for node in plan:
        assert node["Node Type"] != "Seq Scan", node
        looked_at = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        assert looked_at <= FEW, node


def test_postgresql_reads_the_front_of_the_index_of_candidates(filled_postgresql: Database) -> None:
    analyze(filled_postgresql)
    reads_little(plan_on_postgresql(filled_postgresql))


@pytest.mark.parametrize(
    ("statistics", "ends"),
    [("from before", LATER), ("from after", LATER), ("none", LATER), ("from before", EARLIER), ("from after", EARLIER)],
)
def test_postgresql_does_so_with_most_hosts_leased_or_run_out(
    filled_postgresql: Database, statistics: str, ends: str
) -> None:
    if statistics == "from before":
        analyze(filled_postgresql)
    lease_most(filled_postgresql, ends)
    if statistics == "from after":
        analyze(filled_postgresql)
    reads_little(plan_on_postgresql(filled_postgresql))


def test_postgresql_does_so_a_hundred_times_on_one_connection(filled_postgresql: Database) -> None:
    """A statement that is prepared may get another plan after some runs."""
    analyze(filled_postgresql)
    leases = Leases(filled_postgresql, SystemClock())
    began = scans(filled_postgresql)
    for _ in range(100):
        assert len(leases.claim(5)) == 5
    ended = scans(filled_postgresql)
    assert ended[0] == began[0]
    assert ended[1] >= began[1] + 100


def scans(database: Database) -> tuple[int, int]:
    """How often the whole table was read, and how often an index was used."""
    with database.write() as connection:
        connection.execute(text("SELECT pg_stat_force_next_flush()"))
    counted = text("SELECT seq_scan, idx_scan FROM pg_stat_user_tables WHERE relname = 'domains'")
    with database.read() as connection:
        whole, by_index = connection.execute(counted).one()
    return whole, by_index


@pytest.mark.parametrize("statistics", ["none", "fresh"])
@pytest.mark.parametrize("leased", ["none", "most", "most, and run out"])
def test_sqlite_reads_the_front_of_the_index_of_candidates(
    embedded_database: Database, statistics: str, leased: str
) -> None:
    fill(embedded_database, HOSTS)
    if leased != "none":
        ends = "-20 minutes" if "run out" in leased else "+20 minutes"
        with embedded_database.write() as connection:
            connection.execute(
                text(
                    f"UPDATE domains SET claimed_by = 'other' || priority_score % 50,"
                    f" claim_expires_at = datetime('now', '{ends}') WHERE priority_score > {HOSTS // 10}"
                )
            )
    if statistics == "fresh":
        with embedded_database.write() as connection:
            connection.exec_driver_sql("ANALYZE")
    statement, parameters = statement_of_a_claim(embedded_database)
    with embedded_database.read() as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    steps = [row[3] for row in rows]
    on_hosts = [step for step in steps if "domains" in step]
    assert f"SCAN domains USING INDEX {INDEX}" in on_hosts, steps
    others = [step for step in on_hosts if INDEX not in step]
    assert all(step.startswith("SEARCH domains USING") for step in others), steps
    assert any("idx_domains_lease_expiry (claim_expires_at<?)" in step for step in others), steps
    # The candidates come in order; only the few that were found are sorted, once.
    assert sum("USE TEMP B-TREE FOR ORDER BY" in step for step in steps) == 1, steps


@pytest.mark.parametrize("statistics", ["none", "fresh"])
@pytest.mark.parametrize("smart", [True, False])
def test_a_claim_of_named_hosts_looks_at_those_only(
    embedded_database: Database, filled_postgresql: Database, statistics: str, smart: bool
) -> None:
    fill(embedded_database, HOSTS)
    options: dict[str, Any] = {"hosts": ["h7.example", "h8.example"], "smart": smart}
    if statistics == "fresh":
        analyze(filled_postgresql)
        with embedded_database.write() as connection:
            connection.exec_driver_sql("ANALYZE")
    statement, parameters = statement_of_a_claim(embedded_database, **options)
    with embedded_database.read() as connection:
        steps = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    found = [step for step in steps if "domains" in step and "(id=?)" not in step]
    assert all("(domain=?)" in step for step in found), steps
    assert len(found) == 2
    for node in plan_on_postgresql(filled_postgresql, **options):
        assert node["Node Type"] != "Seq Scan"
        assert node["Actual Rows"] + node.get("Rows Removed by Filter", 0) <= FEW, node
