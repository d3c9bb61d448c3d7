"""Eight tasks in each of four processes, some of them killed again and again, all of them wanting the same host."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from comity.clock import SystemClock
from comity.database.connection import open_database
from comity.database.schema import upgrade
from comity.operate.seeds import add_seeds
from comity.rules.seed_list import read_seed
from tests.walk.site import Answer, Web, page
from tests.walk.talker import DELAY_S

PROCESSES = 4
SECONDS = 7.0
KILLS = 5


def talker(database_url: str, host: str, url: str, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.walk.talker", database_url, host, url, f"{seconds:.3f}"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def test_no_number_of_tasks_and_processes_comes_closer_than_the_delay(web: Web, database_url: str) -> None:
    """The site's log is the judge: no gap under the delay, and never two requests at once."""
    site = web.site(fallback=Answer(body=page(), after_s=0.05))
    database = open_database(database_url)
    upgrade(database)
    add_seeds(database, SystemClock(), [read_seed(site.url())])
    database.close()
    chance = random.Random(7)
    started = time.monotonic()
    talkers = [talker(database_url, site.host, site.url(), SECONDS) for _ in range(PROCESSES)]
    ended: list[subprocess.Popen[str]] = []
    try:
        for number in range(KILLS):
            time.sleep(0.5 + chance.random() * 0.6)
            victim = talkers[number % PROCESSES]
            victim.kill()
            ended.append(victim)
            rest = max(1.0, SECONDS - (time.monotonic() - started))
            talkers[number % PROCESSES] = talker(database_url, site.host, site.url(), rest)
        told = [process.communicate(timeout=60)[0] for process in talkers]
    finally:
        for process in [*talkers, *ended]:
            process.kill()
            process.wait(10)
            if process.stdout is not None:
                process.stdout.close()
    assert all("made" in text for text in told), told
    assert len(site.log) >= 6, "they did get their turns"
    assert min(site.gaps()) >= DELAY_S
    assert site.overlaps() == 0
    assert len({seen.connection for seen in site.log}) > 1, "more than one process was heard"
