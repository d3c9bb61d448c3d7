"""Lists of a host, its reset and cooldown, stored pages and audits over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.console.seed_hosts import HOSTILE_URL, PLAIN, seed_histories, seed_pages
from tests.doors.web.served import Served, served


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("hosts")
    places = {"pages": str(folder / "pages"), "audits": str(folder / "audits")}
    with served(f"sqlite:///{folder / 'state.db'}", env="dev", **places) as found:
        seed_histories(found.state)
        seed_pages(found.state)
        yield found


@pytest.fixture
def client(running: Served) -> Iterator[httpx.Client]:
    with running.client() as found:
        yield found


def answered(response: httpx.Response, status: int = 200) -> Any:
    assert response.status_code == status, response.text
    return response.json()


def test_the_lists_of_a_host_are_paged(client: httpx.Client) -> None:
    for part, size in (("requests", 19), ("fetches", 30), ("evidence", 30), ("moves", 1), ("urls", 8)):
        found, after = [], None
        for _page in range(30):
            body = answered(
                client.get(
                    f"/admin/hosts/{PLAIN}/{part}", params={"limit": 9, "after": after} if after else {"limit": 9}
                )
            )
            found += body[part]
            after = body["next"]
            if after is None:
                break
        assert len(found) == size, part
    assert answered(client.get(f"/admin/hosts/{PLAIN}/fetches", params={"after": "x"}), 422)["error"] == "bad_input"
    assert answered(client.get("/admin/hosts/unknown.example/moves"), 404)["error"] == "not_found"
    early = [each for each in answered(client.get(f"/admin/hosts/{PLAIN}/requests"))["requests"] if each["is_early"]]
    assert early == []


def test_a_host_cools_down_and_is_reset(client: httpx.Client) -> None:
    host = "observatory-03.example"
    until = answered(client.post(f"/admin/hosts/{host}/cooldown", json={"hours": 24, "reason": "quiet"}))["until"]
    row = answered(client.get(f"/admin/hosts/{host}"))
    assert (row["next_crawl_after"], row["block_reason"]) == (until, "cooldown by an operator: quiet")
    assert answered(client.post(f"/admin/hosts/{host}/cooldown", json={"hours": -1}), 422)["error"] == "bad_input"
    done = answered(client.post(f"/admin/hosts/{host}/reset", json={}))
    assert (done["before"], done["after"]) == ("blocked", "pending")
    assert answered(client.get(f"/admin/hosts/{host}"))["next_crawl_after"] is None
    assert answered(client.post(f"/admin/hosts/{PLAIN}/cooldown", json={"hours": 1}), 409)["error"] == "host_busy"


def test_stored_pages_are_found_shown_and_queried(client: httpx.Client) -> None:
    found = answered(client.get("/admin/pages", params={"text": "lighthouse", "limit": 2}))
    assert (len(found["pages"]), found["is_whole"]) == (2, True)
    rest = answered(client.get("/admin/pages", params={"text": "lighthouse", "after": found["next"]}))
    assert (len(rest["pages"]), rest["next"]) == (3, None)
    shown = answered(client.get("/admin/pages/view", params={"url": HOSTILE_URL}))
    assert "<script>" in shown["source"]
    assert answered(client.get("/admin/pages/view", params={"url": "https://x.example/"}), 404)["error"] == "not_found"
    counted = answered(client.get("/admin/pages/query", params={"sql": "SELECT count(*) AS n FROM pages"}))
    assert (counted["columns"], counted["rows"]) == (["n"], [["32"]])
    refused = client.get("/admin/pages/query", params={"sql": "SELECT * FROM read_text('/etc/passwd')"})
    assert answered(refused, 422)["error"] == "bad_input"


def test_audits_are_named_by_name_alone(client: httpx.Client, running: Served) -> None:
    assert answered(client.get("/admin/audits")) == {"audits": [], "running": [], "limit": 50, "total": 0}
    (Path(running.state.settings.audits) / "half").mkdir(parents=True)
    for name in ("half", "none", "%2e%2e", "%2e%2e%2fhalf", ".hidden"):
        assert client.get(f"/admin/audits/{name}").status_code in (404, 422), name
    query = {"before": "/etc", "after": "~"}
    assert answered(client.get("/admin/audits/compare", params=query), 404)["error"] == "not_found"
    assert answered(client.post("/admin/audits", json={"site": "http://"}), 422)["error"] in (
        "bad_input",
        "bad_address",
    )
