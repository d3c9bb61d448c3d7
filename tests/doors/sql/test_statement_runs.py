"""Runs of statements that were cut off at awkward moments: at their limit, and before they began."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from comity.assemble import open_state
from comity.doors.python.options import settings_for
from comity.leases.leases import Leases
from comity.model.frontier import FrontierEntry
from comity.rules.sql.seeds import read_query_seed
from comity.run.sql import statement
from comity.run.sql.statement import StatementPlan, StatementRun
from comity.walk.visit_list import hosts_to_visit, open_list
from tests.servers.waiting import wait_until
from tests.walk.site import Answer, Site, Web, page, tree

LIMIT_S = 60.0


@pytest.fixture
def site() -> Iterator[Site]:
    with Web() as web:
        yield web.site(tree(12))


def admit_all(entries: Sequence[FrontierEntry]) -> Sequence[bool]:
    return [True] * len(entries)


def plan_of(site: Site, folder: Path, most_pages: int, start: str = "/p1", name: str = "test") -> StatementPlan:
    settings = settings_for(
        folder / "s.comity.db",
        pages=str(folder / "pages" / name),
        allow_networks=("127.0.0.0/8",),
        user_agent="TestBot/1.0",
        delay_s=0,
        follow_links=True,
    )
    return StatementPlan(settings, name, (read_query_seed(site.url(start)),), admit_all, most_pages)


def run(plan: StatementPlan, *, stops: bool = False, ends: bool = False) -> StatementRun:
    run = StatementRun(plan)
    if stops:
        run.stop()
    run.start()
    assert run.wait(LIMIT_S)
    if ends:
        run.end()
    run.close()
    return run


def test_a_run_that_was_killed_at_its_limit_requests_nothing_more(site: Site, tmp_path: Path) -> None:
    plan = plan_of(site, tmp_path, most_pages=4)
    assert run(plan).summary.pages == 4
    again = run(plan, ends=True)
    assert (again.summary.pages, again.is_complete, len(site.pages())) == (4, True, 4)


def test_the_last_pages_are_news_before_the_end(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are stored while the run looks for what is left."""
    may_go_on = threading.Event()

    def held(*arguments: Any) -> Any:
        if run.progress.pages:
            may_go_on.wait(LIMIT_S)
        return hosts_to_visit(*arguments)

    monkeypatch.setattr(statement, "hosts_to_visit", held)
    run = StatementRun(plan_of(site, tmp_path, most_pages=0))
    run.start()
    assert not run.wait_for_news(LIMIT_S)
    assert [part.suffix for part in run.finished_parts()] == [".parquet"]
    may_go_on.set()
    assert run.wait_for_news(LIMIT_S)
    run.close()


def test_a_run_that_was_stopped_before_it_began_is_not_complete(site: Site, tmp_path: Path) -> None:
    plan = plan_of(site, tmp_path, most_pages=0)
    assert not run(plan, stops=True, ends=True).is_complete
    assert site.log == []
    assert run(plan, ends=True).is_complete
    assert len(site.pages()) == 12


@pytest.mark.parametrize(("start", "kind"), [("/p1", "pages"), ("/map.xml", "sites")])
def test_a_run_that_was_killed_before_its_urls_were_on_its_list_adds_them(
    site: Site, tmp_path: Path, start: str, kind: str
) -> None:
    site.routes["/map.xml"] = Answer(body=f"<urlset><url><loc>{site.url('/p1')}</loc></url></urlset>", type="text/xml")
    plan = plan_of(site, tmp_path, most_pages=0, start=start)
    with open_state(plan.settings) as state:
        open_list(state.database, state.clock, "sql", f"{plan.name}:{kind}")
    assert run(plan, ends=True).summary.pages == 12


@pytest.mark.parametrize("start", ["/p2", "/map.xml"])
def test_a_statement_that_waits_for_a_host_makes_no_runs_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    monkeypatch.setattr("comity.run.visit_list_thread._LOOK_EVERY_S", 0.05)
    looks: list[bool] = []
    any_free = Leases.any_free
    monkeypatch.setattr(Leases, "any_free", lambda self, hosts: looks.append(any_free(self, hosts)) or looks[-1])
    held = threading.Event()
    with Web() as web:
        site = web.site({"/p1": Answer(body=page(), held=held), "/p2": page()})
        listed = f"<urlset><url><loc>{site.url('/p2')}</loc></url></urlset>"
        site.routes["/map.xml"] = Answer(body=listed, type="application/xml")
        first = StatementRun(plan_of(site, tmp_path, 0))
        second = StatementRun(plan_of(site, tmp_path, 0, start, "second"))
        try:
            first.start()
            wait_until(lambda: "/p1" in site.pages(), LIMIT_S, "the page that is held")
            second.start()
            wait_until(lambda: second.waits_for == (site.host,) and len(looks) > 2, LIMIT_S, "some looks")
            held.set()
            assert second.wait(LIMIT_S)
            assert first.wait(LIMIT_S)
        finally:
            held.set()
            for each in (first, second):
                each.stop()
                each.close()
        assert looks[:2] == [False, False]
        assert (second.summary.pages, second.is_complete, second.waits_for) == (1, True, ())
    with closing(sqlite3.connect(tmp_path / "s.comity.db")) as state:
        assert state.execute("SELECT count(*) FROM crawl_runs").fetchone() == (3,)  # one of them to look
