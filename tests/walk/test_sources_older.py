"""Tables that an older system made, word for word as it described them: taken over by infra/supabase.sql, then run."""

from __future__ import annotations

import psycopg

from tests.database.test_supabase import SCRIPT
from tests.servers.postgres import conninfo
from tests.walk.site import Web
from tests.walk.sourcing import jobs, listing, office

OLDER = """
    CREATE TABLE sources (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(), org_name text, careers_url text UNIQUE NOT NULL,
        source_type text DEFAULT 'html', org_type text NULL, status text DEFAULT 'active',
        crawl_frequency_days int DEFAULT 3, next_run_at timestamptz, last_crawled_at timestamptz,
        last_crawl_status text, last_crawl_message text, consecutive_failures int DEFAULT 0,
        consecutive_nochange int DEFAULT 0, parser_hint text, time_window text NULL,
        created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now()
    );
    CREATE TABLE crawl_logs (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(), source_id uuid REFERENCES sources (id) ON DELETE CASCADE,
        ran_at timestamptz DEFAULT now(), duration_ms int, found int, inserted int, updated int, skipped int,
        status text, message text
    );
    CREATE TABLE crawl_locks (source_id uuid PRIMARY KEY, locked_at timestamptz DEFAULT now());
    CREATE TABLE domain_policies (
        host text PRIMARY KEY, max_concurrency int DEFAULT 1, min_request_interval_ms int DEFAULT 3000,
        max_pages int DEFAULT 10, max_kb_per_page int DEFAULT 1024, allow_js boolean DEFAULT false,
        last_seen_status text, updated_at timestamptz DEFAULT now()
    );
    CREATE TABLE robots_cache (
        host text PRIMARY KEY, robots_txt text, fetched_at timestamptz, crawl_delay_ms int, disallow jsonb
    );
    CREATE TABLE takedowns (domain_or_url text PRIMARY KEY);
    INSERT INTO robots_cache VALUES ('old.example', 'User-agent: *', now(), NULL, '[]');
    INSERT INTO takedowns VALUES ('gone.example');
"""
ROWS = (("html", 3, 0), (None, None, None), ("HTML", 0, 0), ("xml", 3, 0))


def test_sources_of_an_older_system_run_on_its_own_tables(postgres_url: str, web: Web) -> None:
    site = web.site({f"/{number}": listing(jobs(2, start=10 * number)) for number in range(len(ROWS))})
    with psycopg.connect(conninfo(postgres_url), autocommit=True) as connection:
        connection.execute(OLDER)
        for number, row in enumerate(ROWS):
            connection.execute(
                "INSERT INTO sources (careers_url, source_type, crawl_frequency_days, consecutive_failures) "
                "VALUES (%s, %s, %s, %s)",
                (site.url(f"/{number}"), *row),
            )
        for _ in range(2):
            connection.execute(SCRIPT.read_bytes())
    with office(postgres_url) as bureau:
        done = bureau.run_due()
        assert [(str(report.status), report.counts.inserted) for report in done.reports] == [("ok", 2)] * len(ROWS)
        assert bureau.rows("SELECT domain_or_url FROM takedowns") == [{"domain_or_url": "gone.example"}]
        assert len(bureau.rows("SELECT origin FROM robots_cache")) == 1
