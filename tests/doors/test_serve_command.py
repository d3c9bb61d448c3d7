"""`comity serve` and `comity users` as processes: web, scheduler and worker in one, killed and started again."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.doors.command_line import CommandLine
from tests.doors.web.served import until
from tests.walk.site import Site, Web, page

ENVIRONMENT = {"COMITY_ALLOW_NETWORKS": "127.0.0.0/8", "COMITY_DELAY": "0"}


@contextmanager
def serving(comity: CommandLine, *arguments: str, **environment: str) -> Iterator[tuple[Any, httpx.Client]]:
    """A server on a free port, and a client of it."""
    with comity.started("serve", "--port", "0", *arguments, environment=ENVIRONMENT | environment) as process:
        assert process.stderr is not None
        said = process.stderr.readline().decode()
        port = re.search(r"^The console is at http://127\.0\.0\.1:(\d+)/ ", said)
        assert port is not None, said
        with httpx.Client(base_url=f"http://127.0.0.1:{port[1]}", trust_env=False, timeout=30) as client:
            yield process, client
        if process.poll() is None:
            process.kill()


@pytest.mark.roomy
def test_it_crawls_what_is_added_and_goes_on_after_a_kill(comity: CommandLine) -> None:
    with Web() as web:
        links = [f"/{number}" for number in range(40)]
        site = web.site({"/": page(*links)} | {link: page() for link in links})
        with serving(comity, COMITY_DELAY="0.05") as (process, client):
            assert client.get("/", headers={"Accept": "text/html"}).headers["location"] == "/admin"
            assert client.post("/admin/seeds", json={"seeds": [site.url("/")]}).status_code == 201
            until(lambda: len(site.log) > 8)
            process.send_signal(signal.SIGKILL)
            process.wait(60)
        before = len(site.log)
        assert before < 40
        with serving(comity) as (process, client):
            until(lambda: [each["status"] for each in client.get("/admin/hosts").json()["hosts"]] == ["exhausted"])
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
    assert set(links) <= set(site.pages())
    assert len(site.pages()) <= 41 + 16  # what was in flight is repeated, and nothing else
    assert comity.rows("SELECT claimed_by FROM domains") == [(None,)]


def _fetched(site: Site) -> list[str]:
    return [path for path in site.pages() if "sitemap" not in path]


@pytest.mark.roomy
def test_a_crawl_from_the_console_has_its_hosts_to_itself_and_its_limit_holds(comity: CommandLine) -> None:
    """The worker has no limit: it pauses while the crawl runs, and leaves the rest of it to a person."""
    with Web() as web:
        links = [f"/{number}" for number in range(30)]
        first, second = (web.site({"/": page(*links)} | {link: page() for link in links}) for _ in range(2))
        with serving(comity, COMITY_DELAY="0.02") as (process, client):
            assert client.post("/admin/seeds", json={"seeds": [first.url("/")]}).status_code == 201
            until(lambda: len(first.log) > 4)
            asked = client.post("/admin/crawl/runs", json={"seeds": [second.url("/")], "max_pages": 7})
            path = f"/admin/crawl/runs/{asked.json()['run_id']}"
            ended = until(lambda: (run := client.get(path).json())["status"] != "running" and run)
            assert (ended["pages_crawled"], ended["end_reason"]) == (7, "page_limit"), ended
            until(lambda: set(links) <= set(first.pages()))  # the worker went on
            third = web.site({"/": page()})
            assert client.post("/admin/seeds", json={"seeds": [third.url("/")]}).status_code == 201
            until(lambda: "/" in third.pages())  # the worker takes what it may, and that is not the second site
            assert (ended["hosts"][0]["is_paused"], len(_fetched(second))) == (True, 7)
            again = client.post(f"{path}/resume").json()["run_id"]
            until(lambda: client.get(f"/admin/crawl/runs/{again}").json()["status"] != "running")
            assert len(_fetched(second)) == 14, "continued, with the same limit"
            assert client.post(f"/admin/hosts/{second.host}/resume").status_code == 204
            until(lambda: set(links) <= set(second.pages()))
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
    assert sorted(path for path in first.pages() if path in links) == sorted(links), "no page came twice"


@pytest.mark.roomy
def test_the_demonstration_is_loaded_with_one_click_and_nothing_is_made_elsewhere(comity: CommandLine) -> None:
    with serving(comity, COMITY_ALLOW_NETWORKS="", COMITY_STATE="comity-data/state.db") as (process, client):
        until(lambda: client.get("/admin/demonstration").json()["is_offered"])
        welcome = client.get("/admin", headers={"Accept": "text/html"})
        assert "Load the demonstration" in welcome.text
        token = welcome.text.partition('name="csrf_token" value="')[2].partition('"')[0]
        assert client.post("/admin/demonstration", data={"csrf_token": token}).headers["location"] == "/admin"
        assert client.post("/admin/demonstration").status_code == 409
        until(lambda: sum(each["pages_crawled"] for each in client.get("/admin/hosts").json()["hosts"]) > 20)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    with serving(comity, COMITY_ALLOW_NETWORKS="", COMITY_STATE="comity-data/state.db") as (process, client):
        until(lambda: {each["status"] for each in client.get("/admin/hosts").json()["hosts"]} == {"exhausted"})
        crawled = [each["pages_crawled"] for each in client.get("/admin/hosts").json()["hosts"]]
        assert all(60 <= pages <= 62 for pages in crawled), crawled
        assert client.get("/admin/demonstration").json()["is_offered"] is False
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    made = {each for each in os.listdir(comity.folder) if not each.startswith(".")}
    assert made == {"comity-data"}


def test_parts_can_be_turned_off(comity: CommandLine) -> None:
    answer = comity("serve", "--no-web", "--no-worker", "--no-scheduler")
    assert (answer.code, "nothing is left to serve" in answer.err) == (2, True)
    assert comity("serve", "--state", ":memory:").code == 2
    with socket.create_server(("127.0.0.1", 0)) as taken:
        answer = comity("serve", "--port", str(taken.getsockname()[1]))
    assert (answer.code, "choose another with --port" in answer.err) == (1, True), answer
    with serving(comity, "--no-worker", "--no-scheduler") as (process, client):
        assert client.get("/admin/crawl/status").json()["running"] is False
        assert client.get("/admin/demonstration").json() == {"is_offered": False, "is_loading": False}
        assert "neither worker nor scheduler" in process.stderr.readline().decode()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    with comity.started("serve", "--no-web", environment=ENVIRONMENT) as process:
        assert process.stderr is not None
        assert b"running the crawl worker and the scheduler, without the console" in process.stderr.readline()
        until(lambda: b"worker_started" in process.stderr.readline())
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_users_are_managed_on_the_command_line(comity: CommandLine, tmp_path: Path) -> None:
    added = comity.finished("users", "add", "Ada", "--role", "operator", "--json", given=b"correct horse\n")
    assert (added.code, added.document["name"], added.document["role"]) == (0, "ada", "operator")
    assert "argon2" not in added.out
    for arguments, given, words in (
        (("add", "ada"), b"correct horse\n", "there is already a user ada; `comity users list` lists them"),
        (("add", "bob"), b"short\n", "password: must have 8 to 1,024 characters"),
        (("add", "b b"), b"correct horse\n", "name: must have 1 to 64"),
        (("add", "bob", "--role", "boss"), b"correct horse\n", "--role"),
        (("remove", "bob"), b"", "there is no user bob"),
    ):
        refused = comity.finished("users", *arguments, given=given)
        assert refused.code != 0
        assert words in refused.err, refused.err
    assert comity.finished("users", "role", "ada", "viewer", given=b"").out == "ada is viewer now.\n"
    assert comity.finished("users", "password", "ada", given=b"another password\n").code == 0
    assert "ada" in comity("users", "list").out
    assert comity("users", "remove", "ada", "--json").document == {"removed": "ada"}
    assert "There are no users." in comity("users", "list").out
