"""Eight tasks in each of four processes, some of them killed again and again, all of them wanting the same host."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from sqlalchemy import select

from comity.clock import SystemClock
from comity.database.connection import Database, open_database
from comity.database.schema import upgrade
from comity.database.tables import domains
from comity.operate.seeds import add_seeds
from comity.rules.seed_list import read_seed
from tests.servers.waiting import wait_until
from tests.walk.forking import Apart, ForkServer
from tests.walk.site import Answer, Web, page
from tests.walk.talker import DELAY_S

PROCESSES = 4
KILLS = 3
WAITS_MOST = 60


def holder_of(database: Database, host: str) -> str:
    """Who holds the host now; its name contains its process number."""
    with database.read() as connection:
        return connection.execute(select(domains.c.claimed_by).where(domains.c.domain == host)).scalar() or ""


def test_no_number_of_tasks_and_processes_comes_closer_than_the_delay(
    web: Web, database_url: str, fork_server: ForkServer, tmp_path: Path
) -> None:
    """The site's log is the judge: no gap under the delay, and never two requests at once."""
    site = web.site(fallback=Answer(body=page(), after_s=0.05))
    database = open_database(database_url)
    upgrade(database)
    add_seeds(database, SystemClock(), [read_seed(site.url())])

    def talker() -> Apart:
        words = [database_url, site.host, site.url()]
        return fork_server.start(words, dict(os.environ), tmp_path, module="tests.walk.talker")

    talkers = [talker() for _ in range(PROCESSES)]
    killed: list[Apart] = []
    try:
        for _ in range(WAITS_MOST):
            seen = len(site.log)
            wait_until(lambda seen=seen: len(site.log) > seen + 1, 60, "requests")
            if len(killed) == KILLS and len(site.log) >= 12:
                break
            holder = holder_of(database, site.host)
            for victim in [process for process in talkers if f":{process.pid}:" in holder and len(killed) < KILLS]:
                victim.kill()  # in the middle of its lease, right after a request
                killed.append(victim)
                talkers.remove(victim)
                talkers.append(talker())
        for process in talkers:
            process.send(signal.SIGTERM)
        codes = [process.wait(60) for process in talkers]
    finally:
        database.close()
        for process in [*talkers, *killed]:
            process.kill()
    assert codes == [0] * PROCESSES, [process.err for process in talkers]
    assert all("made" in process.out for process in talkers), [process.out for process in talkers]
    assert len(killed) == KILLS
    assert len(site.log) >= 8, "they did get their turns"
    assert min(site.gaps()) >= DELAY_S
    assert site.overlaps() == 0
    assert len({seen.connection for seen in site.log}) > 2, "several processes were heard"
