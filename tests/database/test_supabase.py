"""infra/supabase.sql: in step with the tables, harmless when run again, and a way forward for an older table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from comity.database import schema
from comity.database.connection import Database, open_database
from comity.database.supabase import supabase_sql
from tests.database.test_migrations import look
from tests.servers.postgres import PostgresDatabases

SCRIPT = Path(__file__).parents[2] / "infra" / "supabase.sql"
# As the first systems had it, before most of its columns.
OLD_SOURCES = """
    CREATE TABLE sources (
        id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
        org_name TEXT,
        careers_url TEXT NOT NULL UNIQUE,
        source_type TEXT DEFAULT 'html',
        status TEXT DEFAULT 'active'
    );
    INSERT INTO sources (org_name, careers_url, status) VALUES ('Old House', 'https://old.example/jobs', 'paused');
    INSERT INTO sources (careers_url, source_type, status) VALUES ('https://a.example/', 'RSS', 'Active');
    INSERT INTO sources (careers_url, source_type, status) VALUES ('https://b.example/', 'xml', NULL);
    CREATE TABLE crawl_locks (source_id UUID PRIMARY KEY, locked_at TIMESTAMPTZ DEFAULT now());
"""


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    opened = open_database(postgres_url)
    yield opened
    opened.close()


def apply(database: Database, script: str) -> None:
    """As `psql -f` would."""
    connection = database.engine.raw_connection()
    try:
        connection.driver_connection.autocommit = True  # type: ignore[union-attr]
        connection.cursor().execute(script)
    finally:
        connection.invalidate()


def test_the_file_is_what_the_tables_say() -> None:
    assert SCRIPT.read_text(encoding="utf-8") == supabase_sql(), (
        "python -m comity.database.supabase > infra/supabase.sql"
    )


def test_run_once_or_twice_it_gives_what_migrating_gives(
    database: Database, postgres_server: PostgresDatabases
) -> None:
    apply(database, SCRIPT.read_text(encoding="utf-8"))
    first = look(database)
    with database.write() as connection:
        connection.execute(text("INSERT INTO sources (careers_url) VALUES ('https://kept.example/')"))
    apply(database, SCRIPT.read_text(encoding="utf-8"))
    assert look(database) == first
    schema.ensure_current(database)  # Comity takes it for its own
    with database.read() as connection:
        assert connection.execute(text("SELECT status, crawl_frequency_days FROM sources")).all() == [("active", 3)]
    url = postgres_server.create_database()
    migrated = open_database(url)
    try:
        schema.upgrade(migrated)
        found = look(migrated)
        for kind, rows in found.items():
            assert set(rows) ^ set(first[kind]) == set(), kind
    finally:
        migrated.close()
        postgres_server.drop_database(url)


def test_an_older_table_gets_the_columns_that_it_lacks_and_keeps_its_rows(database: Database) -> None:
    apply(database, OLD_SOURCES)
    for _ in range(2):
        apply(database, SCRIPT.read_text(encoding="utf-8"))
    with database.write() as connection:
        row = connection.execute(text("SELECT * FROM sources WHERE org_name IS NOT NULL")).one()
        others = connection.execute(text("SELECT source_type, status FROM sources WHERE org_name IS NULL ORDER BY 1"))
        assert others.all() == [("html", "paused"), ("rss", "active")]
        connection.execute(text("UPDATE sources SET updated_at = now()"))  # no row is against a rule
        assert (row.org_name, row.status, row.consecutive_failures, row.schedule) == ("Old House", "paused", 0, "s0")
        wanted = {column["name"] for column in _columns(database, "sources")}
        assert {"next_run_at", "parser_hint", "time_window", "last_found", "importance"} <= wanted
        connection.execute(text("INSERT INTO crawl_locks (source_id) SELECT id FROM sources"))
        connection.execute(text("INSERT INTO crawl_logs (source_id, status) SELECT id, 'ok' FROM sources"))
    schema.ensure_current(database)


def test_tables_of_another_age_are_left_alone(database: Database) -> None:
    schema.upgrade(database)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    before = look(database)
    with pytest.raises(Exception, match="run `comity db upgrade` instead"):
        apply(database, SCRIPT.read_text(encoding="utf-8"))
    assert look(database) == before


def _columns(database: Database, table: str) -> list[dict[str, str]]:
    query = text("SELECT column_name AS name FROM information_schema.columns WHERE table_name = :table")
    with database.read() as connection:
        return [dict(row._mapping) for row in connection.execute(query, {"table": table})]
