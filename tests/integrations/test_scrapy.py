"""The middleware in a real Scrapy process, against a real server and real sites on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from comity.database.tables import politeness_ledger
from comity.reports.politeness import verify_politeness
from tests.doors.web.served import Served
from tests.integrations.conftest import DELAY_S
from tests.walk.site import Answer, Site, Web, page

ROBOTS = "User-agent: *\nDisallow: /private\n"
SPIDER = Path(__file__).with_name("spider.py")


def crawl(folder: Path, *urls: str, **settings: Any) -> tuple[list[str], dict[str, Any]]:
    """Run the spider to its end; gives what it wrote of each URL, and its statistics."""
    done = subprocess.run(
        [sys.executable, str(SPIDER), str(folder), json.dumps(settings), *urls],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    stats: dict[str, Any] = json.loads((folder / "stats.json").read_text())
    return sorted((folder / "answers").read_text().splitlines()), stats


def sites(web: Web, count: int, **routes: Any) -> list[Site]:
    pages = {f"/{number}": page() for number in range(4)} | routes
    return [web.site(pages, robots=ROBOTS) for _ in range(count)]


@pytest.mark.roomy
def test_a_spider_with_two_settings_is_polite(server: Served, web: Web, tmp_path: Path) -> None:
    found = sites(web, 3)
    urls = [site.url(f"/{number}") for site in found for number in range(4)]
    denied = [site.url("/private/x") for site in found]
    lines, stats = crawl(tmp_path, *urls, *denied, COMITY_URL=server.url)
    assert [line for line in lines if line.startswith("200")] == sorted(f"200 {url}" for url in urls)
    assert sum("Disallow: /private" in line for line in lines) == len(denied)
    assert (stats["comity/granted"], stats["comity/denied"], stats["comity/denied/robots_denied"]) == (12, 3, 3)
    for site in found:
        assert min(site.gaps()) >= DELAY_S, site.gaps()
        assert len(site.gaps()) == 4, "robots.txt and four pages"
    audits = list(verify_politeness(server.state.database))
    assert [audit.violations for audit in audits] == [()] * 3
    assert [(audit.requests, audit.remarks) for audit in audits] == [(5, ())] * 3, "each answer was reported"


@pytest.mark.roomy
def test_a_refusal_and_a_failure_are_reported(server: Served, web: Web, tmp_path: Path) -> None:
    asked_to_wait = web.site({"/": Answer(status=429, headers={"Retry-After": "120"})}, robots=ROBOTS)
    hangs_up = web.site({"/": Answer(drops=True)}, robots=ROBOTS)
    lines, _stats = crawl(tmp_path, asked_to_wait.url(), hangs_up.url(), COMITY_URL=server.url)
    assert lines[0] == f"429 {asked_to_wait.url()}"
    assert lines[1].startswith("dropped ")
    audits = list(verify_politeness(server.state.database))
    assert [(audit.requests, audit.violations, audit.remarks) for audit in audits] == [(2, (), ())] * 2
    with server.state.database.read() as connection:
        statement = select(politeness_ledger).where(politeness_ledger.c.purpose == "grant")
        rows = {row.status: row for row in connection.execute(statement)}
    assert set(rows) == {429, None}
    assert rows[429].retry_after_s == 120.0
    assert rows[429].blocked_until is not None


@pytest.mark.roomy
def test_without_a_right_key_nothing_is_requested(server: Served, web: Web, tmp_path: Path) -> None:
    (site,) = sites(web, 1)
    lines, stats = crawl(tmp_path, site.url("/1"), COMITY_URL=server.url, COMITY_CLIENT_ID="not a name")
    assert lines[0].startswith("dropped client_id")
    assert site.paths == []
    assert stats["comity/refused"] == 1
