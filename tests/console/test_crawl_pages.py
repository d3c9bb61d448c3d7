"""Crawls from the console: started by a form, followed live, stopped, and continued."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from comity.database import runs
from comity.doors.web.console.pages.crawl import setting_in_words
from tests.console.conftest import OpenPage
from tests.console.looks import check_page
from tests.doors.web.served import Served, served
from tests.walk.site import Answer, Web


@pytest.fixture
def web() -> Iterator[Web]:
    """Sites on loopback."""
    with Web() as found:
        yield found


@pytest.fixture
def crawling(migrated_sqlite_file: Path, tmp_path: Path) -> Iterator[Served]:
    """A console whose crawls store their pages in a folder of the test."""
    path = tmp_path / "comity.sqlite"
    shutil.copy(migrated_sqlite_file, path)
    with served(f"sqlite:///{path}", env="dev", pages=str(tmp_path / "pages"), delay_s=0.0) as running:
        yield running


def test_a_crawl_is_started_followed_stopped_and_continued(visit: OpenPage, crawling: Served, web: Web) -> None:
    released = threading.Event()
    links = "".join(f'<a href="/{number}">{number}</a>' for number in range(6))
    pages: dict[str, Any] = {f"/{number}": f"<title>Page {number}</title>" for number in range(6)}
    site = web.site({**pages, "/": f"<title>Start</title>{links}", "/3": Answer(body="<p>slow", held=released)})
    page = visit("/crawl/runs", of=crawling)
    expect(page.get_by_role("heading", name="No crawl yet")).to_be_visible()
    check_page(page)
    page.get_by_role("main").get_by_role("link", name="Start a crawl").click()
    page.get_by_label("Where to start").fill(site.url("/"))
    page.get_by_label("Maximum pages").fill("100")
    page.get_by_label("Store the main content as text").check()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("status").first).to_contain_text("Started.")
    value = page.locator(".tile").filter(has_text="Pages").locator(".tile-value")
    expect(value).to_have_text("4", timeout=60_000)
    expect(page.locator(".live")).to_contain_text(site.host)
    check_page(page)
    first = page.url
    page.reload()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(page.get_by_role("status").first).to_contain_text("Stopping")
    released.set()
    expect(page.locator(".live")).to_contain_text("stopped by the operator", timeout=60_000)
    page.get_by_role("button", name="Continue").click()  # the page was loaded again at the end, and has it now
    expect(page).not_to_have_url(first)
    expect(page.locator(".live")).to_contain_text("nothing left to visit", timeout=60_000)
    page.goto(f"{crawling.url}/admin/crawl/runs")
    expect(page.locator("#table-runs tbody tr")).to_have_count(2)
    check_page(page)
    visited = sorted(path for path in site.pages() if "sitemap" not in path)
    assert visited == sorted(["/", *pages]), "no page came twice"


def test_a_crawl_that_cannot_be_started_says_why_at_the_field(visit: OpenPage, crawling: Served) -> None:
    page = visit("/crawl/runs/new", of=crawling, scripts=False)
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#field-seeds-error")).to_be_visible()
    page.get_by_label("Where to start").fill("https://a.example/")
    page.get_by_label("Only these URLs").fill("re:(")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#field-include-error")).to_be_visible()
    assert page.get_by_label("Where to start").input_value() == "https://a.example/", "what was entered is kept"


def test_runs_of_all_commands_can_be_listed(visit: OpenPage, own_console: Served) -> None:
    state, now = own_console.state, own_console.state.clock.now()
    with state.database.write() as connection:
        for door in ("crawl", "sources"):
            settings = state.recorded_settings
            runs.begin(connection, uuid4(), door=door, holder="elsewhere:1:1:a", settings=settings, now=now)
    page = visit("/crawl/runs", of=own_console)
    command = page.locator("#filter-runs-door")
    expect(command.locator("option:checked")).to_have_text("Command: crawl")
    expect(page.get_by_role("link", name="Clear")).to_have_count(0)  # nothing was chosen
    command.select_option("all")
    expect(page).to_have_url(re.compile(r"/crawl/runs\?door=all$"))
    expect(page.locator("#table-runs tbody")).to_contain_text("sources")
    page.get_by_role("link", name="Clear").click()
    expect(page).to_have_url(re.compile(r"/crawl/runs\??$"))
    expect(page.locator("#table-runs tbody")).not_to_contain_text("sources")
    page.go_back()
    expect(page.locator("#filter-runs-door")).to_have_value("all")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("follow_links", False, ("follow links", "off")),
        ("images", True, ("images", "on")),
        ("max_pages", 0, ("max pages", "0")),
        ("max_pages", 12000, ("max pages", "12,000")),
        ("max_minutes", None, ("max minutes", "none")),
        ("delay_s", 0.5, ("delay", "0.5 s")),
        ("delay_s", None, ("delay", "none")),
        ("allow_networks", ["127.0.0.0/8", "::1"], ("allow networks", "127.0.0.0/8, ::1")),
    ],
)
def test_a_recorded_setting_is_said_in_words(name: str, value: object, said: tuple[str, str]) -> None:
    assert setting_in_words(name, value) == said


def test_a_run_names_what_was_turned_off(visit: OpenPage, own_console: Served) -> None:
    state, run_id = own_console.state, uuid4()
    settings = state.recorded_settings | {"seeds": ["https://example.org/"], "follow_links": False, "max_depth": 0}
    with state.database.write() as connection:
        now = state.clock.now()
        runs.begin(connection, run_id, door="crawl", holder="elsewhere:1:1:a", settings=settings, now=now)
    page = visit(f"/crawl/runs/{run_id}", of=own_console)
    shown = page.locator(".panel", has=page.get_by_role("heading", name="Settings"))
    assert shown.locator("dl").inner_text().split("\n") == ["follow links", "off", "max depth", "0"]
