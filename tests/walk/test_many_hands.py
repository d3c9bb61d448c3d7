"""Eight tasks in each of four processes, some of them killed again and again, all of them wanting the same host."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from sqlalchemy import select

from comity.clock import SystemClock
from comity.database.connection import Database, open_database
from comity.database.schema import upgrade
from comity.database.tables import domains
from comity.operate.seeds import add_seeds
from comity.rules.seed_list import read_seed
from tests.servers.waiting import wait_until
from tests.walk.site import Answer, Web, page
from tests.walk.talker import DELAY_S

PROCESSES = 4
SECONDS = 6.0


def talker(database_url: str, host: str, url: str, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.walk.talker", database_url, host, url, f"{seconds:.3f}"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def holder_of(database: Database, host: str) -> str:
    """Who holds the host now; its name contains its process number."""
    with database.read() as connection:
        return connection.execute(select(domains.c.claimed_by).where(domains.c.domain == host)).scalar() or ""


def test_no_number_of_tasks_and_processes_comes_closer_than_the_delay(web: Web, database_url: str) -> None:
    """The site's log is the judge: no gap under the delay, and never two requests at once."""
    site = web.site(fallback=Answer(body=page(), after_s=0.05))
    database = open_database(database_url)
    upgrade(database)
    add_seeds(database, SystemClock(), [read_seed(site.url())])
    ends_at = time.monotonic() + SECONDS
    talkers = [talker(database_url, site.host, site.url(), SECONDS) for _ in range(PROCESSES)]
    killed: list[subprocess.Popen[str]] = []
    try:
        while time.monotonic() < ends_at - 1.5:
            seen = len(site.log)
            wait_until(lambda seen=seen: len(site.log) > seen + 1, 60, "requests")
            holder = holder_of(database, site.host)
            for victim in [process for process in talkers if f":{process.pid}:" in holder]:
                victim.kill()  # in the middle of its lease, right after a request
                killed.append(victim)
                talkers.remove(victim)
                talkers.append(talker(database_url, site.host, site.url(), max(1.0, ends_at - time.monotonic())))
        told = [process.communicate(timeout=60)[0] for process in talkers]
    finally:
        database.close()
        for process in [*talkers, *killed]:
            process.kill()
            process.wait(10)
            if process.stdout is not None:
                process.stdout.close()
    assert all("made" in text for text in told), told
    assert len(killed) >= 2
    assert len(site.log) >= 8, "they did get their turns"
    assert min(site.gaps()) >= DELAY_S
    assert site.overlaps() == 0
    assert len({seen.connection for seen in site.log}) > 2, "several processes were heard"
