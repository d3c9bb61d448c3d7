"""Ctrl-C ends a statement cleanly, and keeps what came; ended statements leave nothing behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors.sql.test_crawl_statement import WITH, opened, rows
from tests.doors.sql.test_killed_statement import start
from tests.servers.waiting import wait_until
from tests.walk.site import Answer, Web, tree

LIMIT_S = 60.0


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


def test_ctrl_c_keeps_what_came_and_the_same_statement_goes_on(web: Web, tmp_path: Path) -> None:
    interrupted = threading.Event()
    routes = tree(12)
    routes["/p6"] = Answer(body=str(routes["/p6"]), held=interrupted)  # no statement ends before it
    site = web.site(routes)
    statement = f"CRAWL (SELECT '{site.url('/p1')}') INTO pages {WITH[:-1]}0.2, follow_links true)"
    process = start(tmp_path, statement)
    wait_until(lambda: len(site.pages()) >= 3, LIMIT_S, "three pages")
    process.send_signal(signal.SIGINT)
    interrupted.set()
    out, _ = process.communicate(timeout=LIMIT_S)
    assert out.splitlines()[-1] == "interrupted"
    with opened(tmp_path) as connection:
        ((before,),) = rows(connection, "SELECT count(*) FROM pages")
        assert 3 <= before <= 12
        connection.execute(statement)
        assert rows(connection, "SELECT count(*) FROM pages") == [(12,)]
    assert len(site.pages()) == 12


def test_a_statement_that_reached_its_limit_leaves_nothing_and_says_how_it_ended(web: Web, tmp_path: Path) -> None:
    site = web.site(tree(12))
    statement = f"CRAWL (SELECT '{site.url('/')}') INTO pages {WITH}, follow_links true) LIMIT 5"
    with opened(tmp_path) as connection:
        ((pages, *_rest, ended_by, hosts_left),) = connection.execute(statement).fetchall()
        assert (pages, ended_by, hosts_left) == (5, "page_limit", 0)
        ((pages, *_rest, ended_by, hosts_left),) = connection.execute(statement).fetchall()
        assert (pages, ended_by, hosts_left) == (0, "nothing_left", 0)
    assert not (tmp_path / "web.comity.pages").exists()
