"""Which statements may read the stored pages: DuckDB parses them, the rule judges."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import duckdb
import pytest

from comity.rules.sql.reading_only import refusal

REFUSED = (
    "COPY pages TO '/tmp/stolen.csv'",
    "COPY (SELECT 1) TO '/tmp/stolen.csv'",
    "ATTACH '/tmp/other.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM glob('/etc/*')",
    "SELECT getenv('HOME')",
    "PRAGMA database_list",
    "SET memory_limit = '8GB'",
    "CREATE TABLE kept AS SELECT 1",
    "INSERT INTO pages SELECT * FROM pages",
    "DELETE FROM pages",
    "SELECT 1; SELECT 2",
    "SELECT * FROM behind.pages",
    "SELECT * FROM memory.behind.pages",
    "SELECT * FROM query('FROM behind.pages')",
    "SELECT * FROM query_table('behind.pages')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_views",
    "SELECT * FROM information_schema.tables",
    "SELECT current_setting('temp_directory')",
    "WITH duckdb_views AS (SELECT 1) SELECT * FROM duckdb_views",
    'WITH "/etc/passwd" AS (SELECT 1) SELECT * FROM "/etc/passwd"',
    "SELECT (SELECT count(*) FROM read_blob('/etc/passwd'))",
    "SELECT * FROM arrow_scan(1, 2, 3)",
    "CALL pragma_version()",
    "SHOW TABLES",
    "EXPLAIN ANALYZE SELECT 1",
    "SELECT pg_sleep(100)",
    "nonsense",
)


ADMITTED = (
    "SELECT * FROM pages",
    "FROM pages SELECT url LIMIT 3;",
    "TABLE main.pages",
    "DESCRIBE pages",
    "SUMMARIZE SELECT http_status FROM pages",
    "WITH few AS (SELECT url FROM pages) SELECT * FROM few JOIN pages USING (url)",
    "WITH RECURSIVE n AS (SELECT 1 a UNION ALL SELECT a + 1 FROM n WHERE a < 5) SELECT * FROM n",
    "SELECT unnest(string_split(body, ' ')) AS word, count(*) FROM pages GROUP BY ALL ORDER BY 2 DESC LIMIT 20",
    "SELECT * FROM range(3), generate_series(1, 2), unnest([1, 2])",
    "SELECT json_extract(body, '$.a'), regexp_extract(body, 'x'), pg_typeof(1) FROM pages",
    "VALUES (1), (2)",
    "SELECT 1 UNION ALL SELECT http_status FROM pages",
    "SELECT * FROM (SELECT url FROM pages) AS t(u) WHERE EXISTS (SELECT 1 FROM pages)",
)


@pytest.fixture(scope="module")
def judged() -> Iterator[Callable[[str], str | None]]:
    with duckdb.connect() as connection:

        def judge(sql: str) -> str | None:
            row = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()
            assert row is not None
            return refusal(json.loads(row[0]))

        yield judge


def test_statements_that_read_pages_are_admitted(judged: Callable[[str], str | None]) -> None:
    assert {sql: judged(sql) for sql in ADMITTED} == dict.fromkeys(ADMITTED)


def test_every_other_statement_is_refused_with_a_reason(judged: Callable[[str], str | None]) -> None:
    assert [sql for sql in REFUSED if not judged(sql)] == []


def test_a_name_that_hides_another_table_is_refused_wherever_it_stands(judged: Callable[[str], str | None]) -> None:
    hidden = "SELECT (WITH duckdb_settings AS (SELECT 1 a) SELECT a FROM duckdb_settings), * FROM duckdb_settings"
    assert judged(hidden) is not None
