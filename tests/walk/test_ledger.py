"""The ledger of real crawls: complete, also after a kill, a sleep or a cancelled request, and clean for a stranger."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from comity.model.fetch import FetchRequest, page_of_one_request
from comity.model.gate import DOOR_PROFILES, Door, Reservation
from comity.model.ledger import Purpose
from comity.operate.policy import set_policy
from comity.reports.politeness import verify_politeness
from comity.walk.request import Requests
from comity.walk.session.held_hosts import Capacity
from comity.walk.session.leased_host import LeasedHost
from tests.servers.waiting import wait_until
from tests.walk.crawling import Place
from tests.walk.site import Answer, Asked, Web, page, redirect
from tests.walk.sourcing import Office, jobs, listing

SCRIPT = Path(__file__).parents[2] / "docs/verify_ledger.py"
ROBOTS = "User-agent: *\nDisallow: /private\nCrawl-delay: 0.02\n"


def strangers_word(place: Place, *more: object) -> tuple[int, str]:
    """Export the ledger, and have the script check it with nothing of Comity at hand."""
    file = place.folder / "ledger.jsonl"
    assert place.comity("verify-politeness", "--export", file).code == 0
    command = [sys.executable, "-I", "-S", str(SCRIPT), str(file), *map(str, more)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return ran.returncode, ran.stdout + ran.stderr


@pytest.fixture(params=["sqlite", "postgresql"])
def either(request: pytest.FixtureRequest, place: Place) -> Place:
    """A place on each of the two databases."""
    if request.param == "postgresql":
        place.env["COMITY_DATABASE_URL"] = request.getfixturevalue("migrated_postgres_url")
    return place


def busy_once(asked: Asked) -> Answer:
    if asked.count == 1:
        return Answer(429, headers={"Retry-After": "1"})
    return Answer(body=page(title="at last"))


def test_a_crawl_of_every_kind_of_request_is_clean_for_both_checkers(web: Web, either: Place) -> None:
    other = web.site({"/landing": page("/x")}, robots="User-agent: *\nAllow: /index.html\nDisallow: /x\n")
    site = web.site(
        {
            "/": page("/a", "/private/x", "/gone", "/busy", "/moved", "/away", "/broken", body='<img src="/i.png">'),
            "/a": page(),
            "/busy": busy_once,
            "/moved": redirect("/a?moved"),
            "/a?moved": page(),
            "/away": redirect(other.url("/landing")),
            "/broken": Answer(200, type="application/x-nothing-we-take"),
            "/i.png": Answer(body=b"\x89PNG\r\n\x1a\n" + b"\0" * 40, type="image/png"),
        },
        robots=ROBOTS,
    )
    listed = f"<urlset><url><loc>{site.url('/a')}</loc></url></urlset>"
    site.routes["/sitemap.xml"] = Answer(body=listed, type="application/xml")
    either.comity("policy", "set", site.host, "--min-request-interval-ms", 10, "--max-concurrency", 2)
    command = ("crawl", site.url(), "--sitemaps", "--images")
    told = either.comity(*command)
    assert told.code == 0, told.err
    checked = either.comity("verify-politeness", "--json")
    assert checked.json["violations"] == 0, checked.out
    asked = len(site.log) + len(other.log)
    assert checked.json["requests"] >= asked
    assert checked.code == 0
    code, said = strangers_word(either)
    assert (code, "0 problems found" in said) == (0, True), said
    assert f"{checked.json['requests']:,} requests to 2 hosts" in said
    anchor = either.folder / "earlier.jsonl"
    (either.folder / "ledger.jsonl").rename(anchor)
    assert strangers_word(either, "--anchor", anchor)[0] == 0
    assert either.comity("verify-politeness", "--anchor", anchor).code == 0


def test_a_kill_is_accounted_for(web: Web, either: Place) -> None:
    """The request in flight has no row; the ledger says that, where and how many there may be."""

    def slow_once(asked: Asked) -> Answer:
        return Answer(body=page(), after_s=20.0 if asked.count == 1 else 0.0)

    site = web.site({"/": page("/slow", "/a"), "/slow": slow_once, "/a": page()}, robots=ROBOTS)
    command = ("crawl", site.url(), "--delay", "0.05")
    with either.begun(*command) as process:
        wait_until(lambda: "/slow" in site.paths, 60, "the slow page")
        process.kill()
    told = either.comity("verify-politeness", "--json")
    assert (told.code, told.json["violations"]) == (0, 0), told.out
    assert "the host is leased now: requests since" in told.json["found"][0]["remarks"][0]
    assert either.comity_apart(*command).code == 0
    told = either.comity("verify-politeness", "--json")
    assert (told.code, told.json["violations"]) == (0, 0), told.out
    (remark,) = told.json["found"][0]["remarks"]
    assert remark.startswith("a lease ended without a release (its process died or was suspended): at most ")
    most = int(remark.partition("at most ")[2].partition(" ")[0].replace(",", ""))
    assert 1 <= len(site.log) - told.json["requests"] <= most
    people = either.comity("verify-politeness").out
    assert "no violation" in people
    assert "may not be recorded" in people
    code, said = strangers_word(either)
    assert (code, "a lease ended without a release" in said) == (0, True), said


@contextmanager
def asleep(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_process_that_slept_is_no_breach(web: Web, place: Place) -> None:
    """Its lease runs out while a request is under way; another takes the host; the end is noted on waking."""

    sleeps = threading.Event()

    def slow_once(asked: Asked) -> Answer:
        return Answer(429, headers={"Retry-After": "4"}, held=sleeps) if asked.count == 1 else Answer(body=page())

    leaves = ["/a", "/b", "/c"]
    site = web.site({"/": page("/slow", *leaves), "/slow": slow_once} | dict.fromkeys(leaves, page()))

    def is_settled() -> bool:
        return place.state.exists() and bool(place.rows("SELECT 1 FROM politeness_ledger WHERE purpose = 'page'"))

    with place.begun("crawl", site.url(), "--delay", "0.05") as process:
        wait_until(lambda: "/slow" in site.paths, 60, "the slow page")
        wait_until(is_settled, 60, "the page before it to be settled: nobody sleeps with a lock on the file")
        with asleep(process.pid):
            sleeps.set()
            wait_until(lambda: site.of("/slow")[0].ended_at is not None, 60, "the answer")
            place.execute("UPDATE domains SET claim_expires_at = '2020-01-01 00:00:00.000000'")
            assert place.comity("crawl", site.url(), "--delay", "0.05", "--max-pages", 3).code == 0
        process.wait(60)
    rows = place.rows("SELECT lease_token, url, status FROM politeness_ledger WHERE url LIKE '%slow' ORDER BY sequence")
    assert (rows[-1]["status"], len({row["lease_token"] for row in rows})) == (429, 2), rows
    told = place.comity("verify-politeness", "--json")
    assert told.json["violations"] == 0, told.out
    assert strangers_word(place)[0] == 0


class Hanging:
    """A fetcher whose requests go out and never end."""

    get_page = page_of_one_request

    def __init__(self) -> None:
        self.has_begun = asyncio.Event()

    async def get(self, request: FetchRequest, on_sent: Any = None) -> Any:
        self.has_begun.set()
        await asyncio.Event().wait()


async def test_a_request_that_was_cancelled_is_recorded(place: Place) -> None:
    with place.opened() as state:
        with state.database.write() as connection:
            connection.execute(text("INSERT INTO domains (domain) VALUES ('example.com')"))
        (lease,) = state.leases().take(["example.com"])
        profile = DOOR_PROFILES[Door.CRAWL]
        host = LeasedHost(lease, profile, None, clock=state.clock.seconds, chance=lambda: 0.0)
        fetcher = Hanging()
        requests = Requests(fetcher, Capacity(1), state.clock.seconds)  # type: ignore[arg-type]
        slot = host.gate.try_reserve()
        assert isinstance(slot, Reservation)
        sending = asyncio.create_task(requests.send(host, slot, FetchRequest("https://example.com/"), Purpose.PAGE))
        await fetcher.has_begun.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
    (row,) = host.unsettled.requests
    assert (row.url, row.status, row.request_number) == ("https://example.com/", None, 1)
    assert row.started_at == slot.started_at
    assert row.ended_at >= row.started_at


def test_a_robots_txt_that_was_edited_by_hand_is_noted_as_it_is(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a", "/b"), "/a": page(), "/b": page()}, robots=ROBOTS)
    assert place.comity("crawl", site.url(), "--max-pages", 1).code == 0
    place.execute("UPDATE robots_cache SET robots_txt = 'User-agent: *' || char(10) || 'Disallow: /b' || char(10)")
    assert place.comity("crawl", site.url()).code == 0
    assert "/b" not in site.paths
    told = place.comity("verify-politeness", "--json")
    assert told.json["violations"] == 0, told.out
    assert len(place.rows("SELECT * FROM robots_versions")) == 2
    assert len(place.rows("SELECT * FROM ledger_notes WHERE kind = 'robots'")) == 2
    assert strangers_word(place)[0] == 0


def test_a_policy_edited_by_hand_during_a_crawl_is_part_of_the_proof(web: Web, place: Place) -> None:
    edited = False

    def edit(asked: Asked) -> Answer:
        nonlocal edited
        if not edited:
            edited = True
            place.execute(
                "INSERT INTO domain_policies (host, min_request_interval_ms, max_concurrency) VALUES (?, 120, 1)",
                site.host,
            )
        return Answer(body=page())

    leaves = [f"/p{number}" for number in range(40)]
    site = web.site({"/": page("/edit", *leaves), "/edit": edit} | dict.fromkeys(leaves, page()), robots=ROBOTS)
    assert place.comity("crawl", site.url()).code == 0
    history = place.rows("SELECT min_request_interval_ms FROM policy_history WHERE host = ?", site.host)
    assert history == [{"min_request_interval_ms": 120}]
    told = place.comity("verify-politeness", "--json")
    assert told.json["violations"] == 0, told.out
    assert strangers_word(place)[0] == 0


def test_sources_and_tries_write_the_same_ledger(web: Web, bureau: Office) -> None:
    site = web.site({"/jobs": listing(jobs(2))}, robots="User-agent: *\nAllow: /\n")
    set_policy(bureau.database, bureau.state.clock, site.host, min_request_interval_ms=50)
    source = bureau.add(site.url("/jobs"))
    bureau.run(source)
    bureau.do(lambda desk: desk.head(site.url("/jobs")))
    bureau.do(lambda desk: desk.simulate(source))
    (audit,) = verify_politeness(bureau.database)
    assert (audit.violations, audit.requests) == ((), len(site.log))
