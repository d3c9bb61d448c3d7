"""Crawls that the server runs, by the API: start, follow, stop, continue; and runs of other processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from comity.database import runs as runs_table
from comity.run.crawl import service
from comity.upkeep.wake_hosts import go_deeper
from tests.doors.web.served import Served, served, until
from tests.walk.site import Answer, Site, Web

pytestmark = pytest.mark.usefixtures("forked_children")


@pytest.fixture
def running(sqlite_url: str, tmp_path: Path) -> Iterator[Served]:
    with served(sqlite_url, pages=str(tmp_path / "pages"), delay_s=0.0) as found:
        yield found


@pytest.fixture
def admin(running: Served) -> Iterator[httpx.Client]:
    with running.client() as client:
        yield client


def _site(web: Web, pages: int, **last: Any) -> Site:
    """A start page that links to so many others."""
    links = "".join(f'<a href="/{number}">{number}</a>' for number in range(pages))
    found: dict[str, Any] = {"/": f"<title>Start</title>{links}"}
    found |= {f"/{number}": f"<title>Page {number}</title>" for number in range(pages)}
    return web.site(found | last)


def test_a_crawl_is_started_followed_and_ends_with_its_reason(admin: httpx.Client, web: Web) -> None:
    held = threading.Event()
    site = _site(web, 5, **{"/4": Answer(body="<title>Last</title>", held=held)})
    asked = admin.post("/admin/crawl/runs", json={"seeds": [site.url("/")], "max_pages": 100, "text": True})
    assert asked.status_code == 202, asked.text
    path = f"/admin/crawl/runs/{asked.json()['run_id']}"
    shown = admin.get(path).json()
    assert (shown["status"], shown["seeds"], shown["door"]) == ("running", [site.url("/")], "crawl")
    under_way = until(lambda: _with_pages(admin, path, 5))
    assert (under_way["can_stop"], under_way["progress"]["hosts_active"]) == (True, 1)
    held.set()
    ended = until(lambda: _ended(admin, path))
    assert (ended["status"], ended["end_reason"], ended["pages_crawled"]) == ("finished", "nothing_left", 6)
    assert (ended["progress"], ended["ending"]) == (None, "nothing left to visit")
    assert [(host["host"], host["status"]) for host in ended["hosts"]] == [(site.host, "exhausted")]
    assert ended["settings"]["text"] is True
    assert "admin_token_hash" not in ended["settings"]
    listed = admin.get("/admin/crawl/runs", params={"door": "crawl", "limit": 1}).json()
    assert ([run["id"] for run in listed["runs"]], listed["next"]) == ([ended["id"]], None)


def test_a_stopped_crawl_continues_exactly_where_it_stopped(admin: httpx.Client, running: Served, web: Web) -> None:
    held = threading.Event()
    site = _site(web, 6, **{"/2": Answer(body="<title>Slow</title>", held=held)})
    first = admin.post("/admin/crawl/runs", json={"seeds": [site.url("/")]}).json()["run_id"]
    until(lambda: _with_pages(admin, f"/admin/crawl/runs/{first}", 3))
    asked = admin.post(f"/admin/crawl/runs/{first}/stop")
    assert (asked.status_code, asked.json()["can_stop"]) == (202, False)
    assert asked.json()["stop_requested_at"] is not None
    assert admin.post(f"/admin/crawl/runs/{first}/resume").json()["error"] == "host_busy"
    held.set()
    ended = until(lambda: _ended(admin, f"/admin/crawl/runs/{first}"))
    assert (ended["status"], ended["end_reason"]) == ("stopped", "stopped")
    assert running.state.leases().claim(10) == [], "a worker does not go on with what a person stopped"
    assert admin.post(f"/admin/crawl/runs/{first}/stop").json()["error"] == "host_busy"
    second = admin.post(f"/admin/crawl/runs/{first}/resume").json()["run_id"]
    again = until(lambda: _ended(admin, f"/admin/crawl/runs/{second}"))
    assert (again["status"], again["pages_crawled"]) == ("finished", 7 - ended["pages_crawled"])
    visited = sorted(path for path in site.pages() if "sitemap" not in path)
    assert visited == sorted(["/", *(f"/{number}" for number in range(6))]), "no page came twice"


def test_the_rest_behind_a_limit_waits_for_a_person(api_url: str, tmp_path: Path, web: Web) -> None:
    """On both databases: a worker's claim finds nothing, neither of the queue nor of what was too deep or left out."""
    site = _site(web, 6)
    with served(api_url, pages=str(tmp_path / "pages"), delay_s=0.0) as server, server.client() as admin:
        state = server.state
        body = {"seeds": [site.url("/")], "max_pages": 3}
        run = admin.post("/admin/crawl/runs", json=body).json()["run_id"]
        ended = until(lambda: _ended(admin, f"/admin/crawl/runs/{run}"))
        assert (ended["end_reason"], ended["hosts"][0]["is_paused"]) == ("page_limit", True)
        assert state.leases().claim(10) == []
        assert not state.leases().has_candidate()
        run = admin.post("/admin/crawl/runs", json=body | {"max_depth": 0, "max_pages": 9}).json()["run_id"]
        assert until(lambda: _ended(admin, f"/admin/crawl/runs/{run}"))["status"] == "finished"
        assert go_deeper(state.database, state.clock, state.frontier, 50) == 0
        assert admin.post(f"/admin/hosts/{site.host}/resume").status_code == 204
        assert admin.post("/admin/hosts/unknown.example/resume").status_code == 404
        assert admin.get(f"/admin/hosts/{site.host}").json()["paused_by_run"] is None
        (lease,) = state.leases().take([site.host])
        assert lease.host == site.host


def test_a_limited_crawl_that_finished_a_host_gives_it_back_to_workers(admin: httpx.Client, web: Web) -> None:
    for limit, is_paused in (({"exclude": ["/9"]}, True), ({"max_pages": 50}, False)):
        site = _site(web, 2)
        run = admin.post("/admin/crawl/runs", json={"seeds": [site.url("/")]} | limit).json()["run_id"]
        ended = until(lambda path=f"/admin/crawl/runs/{run}": _ended(admin, path))
        assert (ended["end_reason"], ended["pages_crawled"]) == ("nothing_left", 3)
        path, wanted = f"/admin/hosts/{site.host}", run if is_paused else None
        until(lambda path=path, wanted=wanted: admin.get(path).json()["paused_by_run"] == wanted)


def test_a_host_that_a_limited_crawl_of_a_site_finds_is_left_alone(sqlite_url: str, tmp_path: Path, web: Web) -> None:
    other = _site(web, 2)
    first = web.site({"/": f'<title>Start</title><a href="{other.url("/")}">Other</a>'})
    settings = {"pages": str(tmp_path / "pages"), "delay_s": 0.0, "site_hosts": (first.host, other.host)}
    with served(sqlite_url, **settings) as server, server.client() as admin:
        body = {"seeds": [first.url("/")], "max_pages": 1}
        run = admin.post("/admin/crawl/runs", json=body).json()["run_id"]
        assert until(lambda: _ended(admin, f"/admin/crawl/runs/{run}"))["pages_crawled"] == 1
        assert admin.get(f"/admin/hosts/{other.host}").json()["paused_by_run"] == run
        assert server.state.leases().claim(10) == []


def test_a_stop_is_kept_also_where_the_end_of_the_crawl_fails(
    admin: httpx.Client, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts that are found after the stop are paused, too: here, the pauses that the stop wrote are gone."""
    held = threading.Event()
    site = _site(web, 6, **{"/2": Answer(body="<title>Slow</title>", held=held)})
    run = admin.post("/admin/crawl/runs", json={"seeds": [site.url("/")]}).json()["run_id"]
    until(lambda: _with_pages(admin, f"/admin/crawl/runs/{run}", 3))
    monkeypatch.setattr(service, "finish_sites", lambda *_: 1 / 0)
    admin.post(f"/admin/crawl/runs/{run}/stop")
    assert admin.post(f"/admin/hosts/{site.host}/resume").status_code == 204
    held.set()
    until(lambda: _ended(admin, f"/admin/crawl/runs/{run}"))
    until(lambda: admin.get(f"/admin/hosts/{site.host}").json()["paused_by_run"] == run)


def test_stopping_the_server_stops_its_crawls_and_says_so(sqlite_url: str, tmp_path: Path, web: Web) -> None:
    site = _site(web, 400)  # twenty seconds of work
    with served(sqlite_url, pages=str(tmp_path / "pages"), delay_s=0.05) as server, server.client() as admin:
        run = admin.post("/admin/crawl/runs", json={"seeds": [site.url("/")]}).json()["run_id"]
        until(lambda: _with_pages(admin, f"/admin/crawl/runs/{run}", 2))
    with served(sqlite_url, pages=str(tmp_path / "pages")) as server, server.client() as admin:
        ended = admin.get(f"/admin/crawl/runs/{run}").json()
    assert (ended["status"], ended["ending"]) == ("stopped", "the server was stopped")


def test_a_run_of_a_server_that_was_killed_is_ended_by_the_next(sqlite_url: str, tmp_path: Path) -> None:
    run_id = uuid4()
    with served(sqlite_url, pages=str(tmp_path / "pages")) as server:
        # A process of this machine that is gone: its number is taken by another, which started at another time.
        holder = server.state.leases().holder.rsplit(":", 2)[0] + ":1:dead"
        with server.state.database.write() as connection:
            runs_table.begin(connection, run_id, door="crawl", holder=holder, settings={}, now=server.state.clock.now())
    with served(sqlite_url, pages=str(tmp_path / "pages")) as server, server.client() as admin:
        ended = admin.get(f"/admin/crawl/runs/{run_id}").json()
    assert (ended["status"], ended["end_reason"]) == ("failed", "died")


def test_crawls_are_bounded_in_number_and_bad_ones_are_refused(
    admin: httpx.Client, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = admin.post("/admin/crawl/runs", json={"seeds": ["https://"]})
    assert (bad.status_code, bad.json()["error"]) == (422, "bad_address")
    pattern = admin.post("/admin/crawl/runs", json={"seeds": ["a.example"], "include": ["re:("]})
    assert (pattern.status_code, pattern.json()["error"]) == (422, "bad_input")
    elsewhere = admin.post("/admin/crawl/runs", json={"seeds": ["a.example"], "pages": "/etc/pages"})
    assert elsewhere.status_code == 422
    assert admin.get("/admin/crawl/runs").json() == {"runs": [], "next": None}
    monkeypatch.setattr(service, "MOST_AT_ONCE", 1)
    held = threading.Event()
    site = web.site({"/": Answer(body="<title>One</title>", held=held)})
    first = admin.post("/admin/crawl/runs", json={"seeds": [site.url("/")]})
    second = admin.post("/admin/crawl/runs", json={"seeds": [site.url("/")]})
    held.set()
    assert (second.status_code, second.json()["error"]) == (429, "too_many_runs")
    until(lambda: _ended(admin, f"/admin/crawl/runs/{first.json()['run_id']}"))


def test_runs_are_listed_by_door_and_status_and_paged(admin: httpx.Client, running: Served) -> None:
    with running.state.database.write() as connection:
        for number in range(7):
            run_id, door = uuid4(), "crawl" if number < 5 else "audit"
            now = running.state.clock.now()
            runs_table.begin(connection, run_id, door=door, holder="other:1:1:a", settings={}, now=now)
            if number % 2:
                runs_table.end(connection, run_id, status="finished", reason="page_limit", detail="enough", now=now)
    found: list[str] = []
    cursor: str | None = None
    for _ in range(4):
        page = admin.get("/admin/crawl/runs", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        found += [run["id"] for run in page["runs"]]
        cursor = page["next"]
    assert (len(found), len(set(found)), cursor) == (7, 7, None)
    counts = [
        len(admin.get("/admin/crawl/runs", params=params).json()["runs"])
        for params in ({"door": "audit"}, {"status": "finished"}, {"door": "crawl", "status": "running"})
    ]
    assert counts == [2, 3, 3]
    assert admin.get("/admin/crawl/runs", params={"cursor": "nonsense"}).status_code == 422
    whole = admin.get("/admin/crawl/runs", params={"status": "running"}).json()["runs"][0]
    assert whole["can_stop"] is False
    stopped = admin.post(f"/admin/crawl/runs/{whole['id']}/stop")
    assert (stopped.status_code, stopped.json()["error"]) == (409, "host_busy")
    assert admin.get(f"/admin/crawl/runs/{uuid4()}").status_code == 404


def _with_pages(admin: httpx.Client, path: str, pages: int) -> Any:
    shown = admin.get(path).json()
    return shown if (shown["progress"] or {}).get("pages", 0) >= pages else None


def _ended(admin: httpx.Client, path: str) -> Any:
    shown = admin.get(path).json()
    return shown if shown["status"] != "running" else None
