"""A statement that is killed goes on when it is issued again; two statements of one host keep its delay."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors.sql.test_crawl_statement import WITH, opened, rows
from tests.servers.waiting import wait_until
from tests.sizes import sized
from tests.walk.site import LOG_IS_EXACT_TO_S, Web, tree

LIMIT_S = 60.0
PAGES = 60
IN_FLIGHT = 32


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


def start(folder: Path, statement: str, *state: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.doors.sql.working", str(folder), statement, *state]
    # Whoever started the tests may ignore Ctrl-C, and processes inherit that.
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.mark.roomy
def test_a_killed_statement_goes_on_and_its_rows_are_those_of_one_that_was_not(web: Web, tmp_path: Path) -> None:
    kills = sized(3, 20)
    site = web.site(tree(PAGES))
    statement = f"CRAWL (SELECT '{site.url('/p1')}') INTO pages {WITH}, follow_links true)"
    chance = random.Random(7)
    for _kill in range(kills):
        before = len(site.log)
        process = start(tmp_path, statement)
        wanted = before + chance.randint(1, 2 * PAGES // kills)
        wait_until(
            lambda wanted=wanted, process=process: len(site.log) >= wanted or process.poll() is not None,
            LIMIT_S,
            "pages",
        )
        process.kill()
        process.communicate(timeout=LIMIT_S)
    with opened(tmp_path) as connection:
        connection.execute(statement)
        found = {url for (url,) in rows(connection, "SELECT url FROM pages WHERE http_status = 200")}
        assert rows(connection, "SELECT count(*) FROM pages") == [(PAGES,)]
    assert found == {site.url("/" if number == 0 else f"/p{number}") for number in range(PAGES)}
    asked = Counter(site.pages())
    assert sum(asked.values()) - PAGES <= IN_FLIGHT * kills
    assert list(tmp_path.glob("*.comity.pages/*")) == []


@pytest.mark.roomy
def test_two_statements_of_two_processes_keep_the_delay_of_one_host(web: Web, tmp_path: Path) -> None:
    site = web.site(tree(8))
    state = str(tmp_path / "shared.comity.db")
    processes = []
    for name, first in (("one", "/p1"), ("two", "/p2")):
        (tmp_path / name).mkdir()
        urls = ", ".join(f"'{site.url(path)}'" for path in (first, "/p3", "/p4"))
        statement = f"CRAWL (SELECT unnest([{urls}])) INTO pages {WITH[:-1]}0.3)"
        processes.append(start(tmp_path / name, statement, state))
    for process in processes:
        out, _ = process.communicate(timeout=LIMIT_S)
        assert out.splitlines()[-1] == "ended"
    assert Counter(site.pages()) == {"/p1": 1, "/p2": 1, "/p3": 2, "/p4": 2}
    assert min(site.gaps()) >= 0.3 - LOG_IS_EXACT_TO_S
