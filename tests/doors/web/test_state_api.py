"""Hosts, claims, status, seeds, takedowns and decisions over HTTP, with the same JSON as on the command line."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from comity.doors.cli.main import run as run_command
from tests.doors.web.served import Served, served
from tests.servers.waiting import wait_until
from tests.walk.site import Web, page

ROBOTS = "User-agent: *\nDisallow: /private\nCrawl-delay: 1\nSitemap: /map.xml\n"


def answered(response: httpx.Response, status: int = 200) -> Any:
    assert response.status_code == status, response.text
    return response.json()


def by_command(api_url: str, *arguments: str) -> Any:
    """The same on the command line, as JSON."""
    out = io.StringIO()
    before = dict(os.environ)
    os.environ["COMITY_DATABASE_URL"] = api_url
    try:
        with redirect_stdout(out):
            assert run_command([*arguments, "--json"]) == 0
    finally:
        os.environ.clear()
        os.environ.update(before)
    return json.loads(out.getvalue())


def write(api: Served, statement: str, **values: Any) -> None:
    with api.state.database.write() as connection:
        connection.execute(text(statement), values)


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as running:
        yield running


def test_seeds_become_hosts_and_hosts_are_listed_filtered_and_paged(admin: httpx.Client, api_url: str) -> None:
    seeds = [f"host{number}.example" for number in range(5)] + ["https://page.example/begin"]
    added = answered(admin.post("/admin/seeds", json={"seeds": seeds, "source": "friends"}), 201)
    assert added == {"seeds_read": 6, "hosts_given": 6, "hosts_new": 6, "urls_queued": 1, "taken_down": []}
    assert answered(admin.post("/admin/seeds", json={"seeds": seeds}), 201)["hosts_new"] == 0
    listed = answered(admin.get("/admin/hosts", params={"contains": "HOST", "limit": 2}))
    assert (len(listed["hosts"]), listed["is_whole"]) == (2, True)
    rest = answered(admin.get("/admin/hosts", params={"contains": "host", "limit": 200, "after": listed["next"]}))
    assert (len(rest["hosts"]), rest["next"]) == (3, None)
    assert answered(admin.get("/admin/hosts", params={"status": "blocked"}))["hosts"] == []
    everything = answered(admin.get("/admin/hosts"))["hosts"]
    assert everything == by_command(api_url, "domains", "list")


@pytest.mark.parametrize(
    "seeds", [[], ["ftp://host.example/"], ["good.example", "bad host"], ["a\nb.example"], [1], ["x"] * 1001]
)
def test_invalid_seeds_add_nothing(shared_api: httpx.Client, seeds: list[Any]) -> None:
    refused = answered(shared_api.post("/admin/seeds", json={"seeds": seeds}), 422)
    assert refused["error"] in ("bad_input", "bad_address")
    assert answered(shared_api.get("/admin/hosts"))["hosts"] == []


def test_host_details_are_the_same_as_on_the_command_line(admin: httpx.Client, api: Served, api_url: str) -> None:
    answered(admin.post("/admin/seeds", json={"seeds": ["https://page.example/begin"], "source": "friends"}), 201)
    host = answered(admin.get("/admin/hosts/www.Page.example"))
    assert (host["domain"], host["source"], host["frontier_size"]) == ("page.example", "friends", 1)
    assert host["frontier"] == {"queued": 1, "done": 0, "dropped": 0, "too_deep": 0}
    assert host["frontier_updated_at"].endswith("Z")
    assert host["policy"] is None
    answered(admin.post("/admin/domain_policies/page.example", json={"min_request_interval_ms": 9000}))
    host = answered(admin.get("/admin/hosts/page.example"))
    assert host["policy"] == answered(admin.get("/admin/domain_policies/page.example"))
    assert host["policy"] == by_command(api_url, "policy", "show", "page.example")
    assert host == by_command(api_url, "domains", "info", "page.example")
    with api.state.database.read() as connection:
        (row,) = connection.execute(text("SELECT * FROM domains")).mappings()
    assert set(row) <= set(host), "every column is shown"
    assert answered(admin.get("/admin/hosts/unknown.example"), 404)["error"] == "not_found"


def test_claims_and_status_report_leases(admin: httpx.Client, api: Served, api_url: str) -> None:
    """Claims by worker, claims that ran out, hosts that wait."""
    answered(admin.post("/admin/seeds", json={"seeds": ["a.example", "b.example", "c.example"]}), 201)
    leases = api.state.leases()
    (lease,) = leases.take(["a.example"])

    def seeded() -> bool:  # a count that began before, and took long on a busy machine, is given for some seconds
        return sum(each["hosts"] for each in answered(admin.get("/admin/claims"))["statuses"]) == 3

    wait_until(seeded, 60, "counts of all hosts")
    claims = answered(admin.get("/admin/claims"))
    assert [(each["claimed_by"], each["hosts"]) for each in claims["holders"]] == [(lease.holder, 1)]
    assert claims["holders"][0]["earliest_expiry"].endswith("Z")
    assert claims["expired"] == 0
    assert claims["statuses"][0]["hosts"] == 3
    assert claims == by_command(api_url, "domains", "claims")
    status = answered(admin.get("/admin/status"))
    assert status["claims"] == {"held": 1, "stuck": 0, "silent": 0}
    assert [worker["state"] for worker in status["workers"]] == ["working"]
    assert status["at"].endswith("Z")
    told = by_command(api_url, "status")
    assert told.keys() == status.keys()
    assert {key: value for key, value in told.items() if key != "at"} == {
        key: value for key, value in status.items() if key != "at"
    }
    leases.release(lease)


def test_takedowns_are_added_listed_and_removed(admin: httpx.Client, api_url: str) -> None:
    seeds = ["https://page.example/private/a", "https://page.example/open"]
    answered(admin.post("/admin/seeds", json={"seeds": seeds}), 201)
    given = {"entries": ["page.example/private", "other.example"], "reason": "requested by the owner"}
    added = answered(admin.post("/admin/takedowns", json=given), 201)["takedowns"]
    assert [(each["domain_or_url"], each["new"], each["urls_dropped"]) for each in added] == [
        ("page.example/private", True, 1),
        ("other.example", True, 0),
    ]
    listed = answered(admin.get("/admin/takedowns", params={"limit": 1}))
    assert (len(listed["takedowns"]), listed["total"]) == (1, 2)
    everything = answered(admin.get("/admin/takedowns"))["takedowns"]
    assert everything == by_command(api_url, "takedown", "list")
    assert everything[0]["created_at"].endswith("Z")
    assert "taken down" in answered(admin.get("/admin/why", params={"url": seeds[0]}))["decision"]
    assert answered(admin.get("/admin/hosts/page.example"))["frontier"]["dropped"] == 1
    removed = answered(admin.delete("/admin/takedowns", params={"entry": "page.example/private"}))
    assert removed == {"domain_or_url": "page.example/private"}
    frontier = answered(admin.get("/admin/hosts/page.example"))["frontier"]
    assert frontier == {"queued": 2, "done": 0, "dropped": 0, "too_deep": 0}
    assert answered(admin.delete("/admin/takedowns", params={"entry": "page.example/private"}), 404)
    assert answered(admin.delete("/admin/takedowns"), 422)


def test_a_url_is_explained_with_its_evidence_and_its_robots_verdict(
    api_url: str, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = web.site({"/": page("/private/x", "/open"), "/open": page()}, robots=ROBOTS)
    monkeypatch.chdir(tmp_path)  # where a crawl keeps its pages
    with monkeypatch.context() as allowed:
        allowed.setenv("COMITY_ALLOW_NETWORKS", "127.0.0.0/8")
        by_command(api_url, "crawl", site.url(), "--delay", "0", "--max-pages", "2", "--no-sitemaps")
    refused = site.url("/private/x")
    with served(api_url, env="dev") as running, running.client() as local:
        told = answered(local.get("/admin/why", params={"url": refused}))
        assert (told["url"], told["host"]) == (refused, site.host)
        assert "robots" in told["decision"]
        kept = answered(local.get("/admin/evidence", params={"url": refused}))
        assert [each["type"] for each in kept["evidence"]] == ["blocked_by_robots"]
        assert kept["evidence"][0]["created_at"].endswith("Z")
        of_host = answered(local.get("/admin/evidence", params={"host": site.host, "limit": 1}))
        assert (len(of_host["evidence"]), of_host["has_more"]) == (1, True)
        blocked = answered(local.get("/admin/evidence", params={"host": site.host, "type": "blocked_by_robots"}))
        assert {each["url"] for each in blocked["evidence"]} == {refused}
        verdict = answered(local.get("/admin/robots_verdict", params={"url": refused}))
        assert (verdict["verdict"]["allowed"], verdict["verdict"]["rule"]) == (False, "Disallow: /private")
        assert verdict["crawl_delay_s"] == 1
        assert verdict == by_command(api_url, "robots", refused)
        other = answered(local.get("/admin/robots_verdict", params={"url": site.url("/open"), "agent": "OtherBot"}))
        assert (other["agent"], other["verdict"]["allowed"]) == ("OtherBot", True)
        unread = local.get("/admin/robots_verdict", params={"url": "https://never.example/"})
        assert answered(unread, 404)["error"] == "not_found"
        for wrong in ({}, {"url": refused, "host": site.host}, {"host": "a b"}):
            assert local.get("/admin/evidence", params=wrong).status_code == 422


def test_all_these_routes_need_a_login(api: Served) -> None:
    with api.client() as public:
        for path in ("hosts", "hosts/a.example", "claims", "status", "takedowns", "why", "evidence", "robots_verdict"):
            assert public.get(f"/admin/{path}").status_code == 401, path
        for path in ("seeds", "takedowns"):
            assert public.post(f"/admin/{path}", json={}).status_code == 401, path
        assert public.delete("/admin/takedowns?entry=a").status_code == 401
