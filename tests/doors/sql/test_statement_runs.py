"""Runs of statements that were cut off at awkward moments: at their limit, and before they began."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from comity.doors.python.options import settings_for
from comity.model.frontier import FrontierEntry
from comity.rules.sql.seeds import read_query_seed
from comity.run.sql.statement import StatementPlan, StatementRun
from tests.walk.site import Site, Web, tree

LIMIT_S = 60.0


@pytest.fixture
def site() -> Iterator[Site]:
    with Web() as web:
        yield web.site(tree(12))


def admit_all(entries: Sequence[FrontierEntry]) -> Sequence[bool]:
    return [True] * len(entries)


def plan_of(site: Site, folder: Path, most_pages: int) -> StatementPlan:
    settings = settings_for(
        folder / "s.comity.db",
        pages=str(folder / "pages"),
        allow_networks=("127.0.0.0/8",),
        user_agent="TestBot/1.0",
        delay_s=0,
        follow_links=True,
    )
    return StatementPlan(settings, "test", (read_query_seed(site.url("/p1")),), admit_all, most_pages)


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


def test_a_run_that_was_stopped_before_it_began_is_not_complete(site: Site, tmp_path: Path) -> None:
    plan = plan_of(site, tmp_path, most_pages=0)
    assert not run(plan, stops=True, ends=True).is_complete
    assert site.log == []
    assert run(plan, ends=True).is_complete
    assert len(site.pages()) == 12
