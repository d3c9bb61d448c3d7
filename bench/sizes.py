"""What does a page take: on the disk of PostgreSQL, in transactions, and in the folder of pages?

    python bench/sizes.py [--hosts 20] [--pages 200]

Crawls the pages of bench/crawl into a private PostgreSQL, once, and divides what is there by the pages. It decides the
figures of docs/sizing.md. A small crawl overstates what does not grow with it (indexes have half empty pages).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import psycopg  # noqa: E402
from _crawlers import comity_command  # noqa: E402
from _site import PORT, Site, host_address, pinned  # noqa: E402

from tests.servers.postgres import conninfo, postgres_for_tests  # noqa: E402

SIZES = """
    SELECT relname, n_live_tup, pg_table_size(relid), pg_indexes_size(relid) FROM pg_stat_user_tables
    WHERE n_live_tup >= 100 ORDER BY pg_total_relation_size(relid) DESC
"""
TRANSACTIONS = """
    SELECT xact_commit, tup_inserted, tup_updated, (SELECT wal_bytes FROM pg_stat_wal) FROM pg_stat_database
    WHERE datname = current_database()
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--hosts", type=int, default=20)
    options.add_argument("--pages", type=int, default=200)
    given = options.parse_args()
    site = Site(given.hosts, given.pages)
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as text, postgres_for_tests() as server:
        folder, url = Path(text), server.create_database()
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"http://{host_address(n)}:{PORT}/p/0\n" for n in range(given.hosts)))
        environment = os.environ | {"COMITY_DATABASE_URL": url}
        command = comity_command(folder, seeds)
        at = command.index("--state")
        del command[at : at + 2]
        comity = command[0]
        subprocess.run([comity, "db", "upgrade"], env=environment, check=True, stdout=subprocess.DEVNULL)
        with psycopg.connect(conninfo(url), autocommit=True) as connection:
            before = connection.execute(TRANSACTIONS).fetchone()
            began, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, preexec_fn=pinned(1))
            seconds, now = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
            connection.execute("VACUUM ANALYZE")
            connection.execute("SELECT pg_stat_force_next_flush()")
            after = connection.execute(TRANSACTIONS).fetchone()
            sizes = connection.execute(SIZES).fetchall()
        pages = site.report()["distinct"]
        kept = sum(path.stat().st_size for path in (folder / "pages").glob("part-*"))
        notes = [json.loads(path.read_bytes()) for path in (folder / "pages").glob("manifest-*.json")]
    site.close()
    assert before is not None
    assert after is not None
    commits, inserted, updated, wal = (int(new) - int(old) for new, old in zip(after, before, strict=True))
    rows = sum(note["rows"] for note in notes)
    print(f"{pages:,} pages, {rows:,} rows in parts; {pages / seconds:,.0f} pages/s with PostgreSQL beside it")
    print(f"a page: {cpu / pages * 1e6:,.0f} µs of the crawler's CPU, {kept / pages:,.0f} bytes of Parquet,", end=" ")
    print(f"{wal / pages:,.0f} of WAL, {commits / pages:.3f} commits,", end=" ")
    print(f"{inserted / pages:.1f} rows in, {updated / pages:.1f} changed")
    print(f"{'table':24} {'rows/page':>10} {'bytes/row':>10} {'+ indexes':>10}")
    for name, rows, size, indexes in sizes:
        print(f"{name:24} {rows / pages:10.2f} {size / rows:10.0f} {indexes / rows:10.0f}")


if __name__ == "__main__":
    main()
