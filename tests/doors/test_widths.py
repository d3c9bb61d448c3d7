"""Every table that a command prints fits a window of 60 and of 80 columns, and its key values stay whole."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.doors.command_line import CommandLine
from tests.doors.test_terminals import ANY_CODE, at_terminal
from tests.store.light import nothing, page
from tests.store.samples import store_all
from tests.walk.site import Site, Web
from tests.walk.site import page as web_page

WIDE = "a-rather-long-name.that-does-not-fit.into-a-narrow-window.example"
SOURCE = f"https://{WIDE}/about-us/working-with-us/careers/all-openings?lang=en"
REASON = "the owner asked us by letter and by telephone to leave everything below this path alone, for good"
COMMANDS = [
    ("domains", "list"),
    ("domains", "info", WIDE),
    ("domains", "top"),
    ("domains", "claims"),
    ("domains", "merge", "--dry-run"),
    ("policy", "show", WIDE),
    ("takedown", "list"),
    ("why", f"https://{WIDE}/private/a/rather/long/path/to/a/page.html?with=a&long=query"),
    ("status",),
    ("sources", "list"),
    ("sources", "logs"),
    ("sources", "status"),
    ("search", "--status"),
    ("pages", "list"),
    ("pages", "parts"),
    ("pages", "query", "SELECT url, title, content_type, crawl_time, surt_key, final_url FROM pages"),
    ("db", "current"),
    ("verify-politeness",),
]


def at(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S.%f")


@pytest.fixture
def stocked(with_state: CommandLine) -> CommandLine:
    """A state in which every table has something long in it."""
    comity = with_state
    blocked = {"status": "blocked", "block_reason": REASON, "block_reason_code": "login_required"}
    comity.add_host(WIDE, **blocked, pages_crawled=1_234_567, pages_discovered=7_654_321, last_crawled_at=at(-60))
    held = {"claimed_by": f"{WIDE}:77:5:ff", "claim_expires_at": at(600), "status": "active", "images_stored": 12_345}
    comity.add_host("short.example", **held, pages_crawled=100, next_crawl_after=at(99), last_crawled_at=at(-600))
    comity.add_host(f"www.{WIDE}", status="pending")
    comity.done("policy", "set", WIDE, "--min-request-interval-ms", "604800000", "--allow-js")
    comity.done("takedown", "add", f"{WIDE}/private/everything/below/this/rather/long/path", "--reason", REASON)
    assert (
        comity("sources", "add", SOURCE, "--org-name", "The International Association of Rather Long Names").code == 0
    )
    comity.rows("UPDATE sources SET last_crawl_message = ?, last_crawl_status = 'fail'", REASON)
    comity.rows(
        "INSERT INTO crawl_logs (id, source_id, ran_at, duration_ms, found, inserted, updated, skipped, status, "
        "message) "
        "SELECT id, id, ?, 123456, 1234, 1234, 1234, 1234, 'fail', ? FROM sources",
        at(-60),
        REASON,
    )
    store_all(comity.folder / Path("comity-data/pages"), [page(1, title=REASON), nothing(2)])
    return comity


def letters(text: str) -> str:
    return re.sub(r"[\s─└]", "", ANY_CODE.sub("", text))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_table_fits(stocked: CommandLine, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
    whole = stocked(*command)
    assert whole.out.strip(), whole
    for columns in (60, 80):
        monkeypatch.setenv("COLUMNS", str(columns))
        narrow = stocked(*command)
        assert narrow.code == whole.code
        too_long = [line for line in narrow.lines if len(line) > columns and " " in line]  # a name alone is not broken
        assert too_long == [], f"wider than {columns}"
        if command[0] in ("domains", "sources", "policy", "takedown") and WIDE in whole.out:
            assert WIDE in letters(narrow.out), "the key is whole, if on more than one line"


@pytest.mark.parametrize("columns", [60, 80])
def test_a_terminal_of_that_width_gets_the_same(stocked: CommandLine, columns: int) -> None:
    for command in (("sources", "list"), ("status",)):
        code, text = at_terminal(stocked, *command, columns=columns)
        assert code == 0
        assert max(len(line) for line in ANY_CODE.sub("", text).splitlines()) <= columns, command


@pytest.mark.parametrize("columns", [60, 80])
def test_the_end_of_a_crawl_and_its_explanation_fit(web: Web, with_state: CommandLine, columns: int) -> None:
    site: Site = web.site(
        {"/": web_page("/a", "/private/x"), "/a": web_page()}, robots="User-agent: *\nDisallow: /private\n"
    )
    environment = {"COLUMNS": str(columns), "COMITY_ALLOW_NETWORKS": "127.0.0.0/8"}
    crawled = with_state.finished("crawl", site.url(), "--delay", "0", "--no-sitemaps", environment=environment)
    assert crawled.code == 0, crawled.err
    assert "2 pages" in crawled.out
    explained = with_state.finished("why", site.url("/private/x"), environment=environment)
    checked = with_state.finished("verify-politeness", environment=environment)
    paths = (str(with_state.folder), "comity-data")  # a path is not broken
    for answer in (crawled, explained, checked):
        assert [line for line in answer.lines if len(line) > columns and not any(p in line for p in paths)] == []
