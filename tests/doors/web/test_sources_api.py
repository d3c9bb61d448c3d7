"""Sources by the API, from adding one to its log, over HTTP to real sites on loopback."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from comity.walk.sources.pages import SourceVisit
from comity.walk.sources.runner import SourceRunner
from tests.doors.web.served import served, until
from tests.walk.site import Answer, Site, Web
from tests.walk.sourcing import jobs, listing


def test_a_source_is_due_when_it_is_added_and_its_run_is_in_the_log(admin: httpx.Client, web: Web) -> None:
    site = web.site({"/careers": listing(jobs(4))})
    added = admin.post(
        "/admin/sources", json={"careers_url": site.url("/careers"), "org_name": "Relief House", "org_type": "un"}
    )
    assert added.status_code == 201
    source = added.json()
    assert (source["status"], source["crawl_frequency_days"]) == ("active", 1)
    assert abs(datetime.fromisoformat(source["next_run_at"]) - datetime.now(UTC)) < timedelta(seconds=10)
    assert _status(admin)["due_count"] == 1
    asked = admin.post("/admin/crawl/run", json={"source_id": source["id"]})
    assert (asked.status_code, asked.json()) == (202, {"source_id": source["id"], "queued": True})
    log = until(lambda: _logs(admin, source["id"]))[0]
    assert (log["status"], log["found"], log["inserted"], log["careers_url"]) == ("ok", 4, 4, site.url("/careers"))
    after = admin.get(f"/admin/sources/{source['id']}").json()
    assert (after["last_crawl_status"], after["last_found"]) == ("ok", 4)
    assert after["next_run_at"] == log["next_run_at"] > source["next_run_at"]
    until(lambda: _status(admin)["locked"] == 0)
    admin.post(f"/admin/sources/{source['id']}/run")
    again = until(lambda: len(_logs(admin, source["id"])) == 2 and _logs(admin, source["id"]))[0]
    assert (again["inserted"], again["updated"]) == (0, 0)


def test_run_due_starts_at_once_and_due_count_falls_meanwhile(admin: httpx.Client, web: Web) -> None:
    quick = [web.site({"/careers": listing(jobs(1))}) for _ in range(4)]
    looked = threading.Event()
    held = web.site({"/careers": Answer(body=listing(jobs(2)), held=looked)})
    for site in (held, *quick):
        _add(admin, site)
    before = _status(admin)
    assert before == {
        "running": False,
        "pool": {"global": 3},
        "due_count": 5,
        "locked": 0,
        "in_flight": 0,
        "queued": 0,
        "scheduler": True,
        "locks": [],
    }
    asked = admin.post("/admin/crawl/run_due")
    assert (asked.status_code, asked.json()) == (202, {"queued": 5})
    assert admin.post("/admin/crawl/run_due").json() == {"queued": 0}  # all of them wait for their turn
    seen = [_status(admin)]
    until(lambda: seen.append(_status(admin)) or (seen[-1]["due_count"] <= 1 and seen[-1]["in_flight"] > 0))
    looked.set()
    assert any(0 < each["in_flight"] <= 3 for each in seen)
    until(lambda: _status(admin)["due_count"] == 0)
    until(lambda: len(_logs(admin)) == 5)
    assert max(each["in_flight"] for each in seen) <= 3
    assert admin.post("/admin/crawl/run_due").json() == {"queued": 0}


def test_a_run_requested_while_the_last_one_finishes_is_not_lost(
    admin: httpx.Client, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = SourceRunner._release

    async def slowly(desk: SourceRunner, visit: SourceVisit) -> None:
        await asyncio.sleep(0.3)  # the log is there, the lock is gone, and the host's lease is about to be
        await release(desk, visit)

    monkeypatch.setattr(SourceRunner, "_release", slowly)
    source = _add(admin, web.site({"/careers": listing(jobs(1))}))
    for runs in (1, 2):
        asked = admin.post(f"/admin/sources/{source}/run")
        assert (asked.status_code, asked.json()["queued"]) == (202, True)
        until(lambda runs=runs: len(_logs(admin, source)) == runs)  # type: ignore[misc]


def test_a_running_source_is_not_run_twice(admin: httpx.Client, web: Web) -> None:
    asked_again = threading.Event()
    site = web.site({"/careers": Answer(body=listing(jobs(2)), held=asked_again)})
    source = _add(admin, site)
    admin.post("/admin/crawl/run", json={"source_id": source})
    until(lambda: _status(admin)["locked"] == 1)
    refused = admin.post(f"/admin/sources/{source}/run")
    asked_again.set()
    assert (refused.status_code, refused.json()["error"]) == (409, "host_busy")
    until(lambda: _logs(admin))
    assert site.pages() == ["/careers"]


@pytest.mark.roomy
def test_a_policy_applies_from_the_next_request(admin: httpx.Client, web: Web) -> None:
    pages: dict[str, Any] = {
        "/careers": listing(jobs(1), following="/2"),
        "/2": listing(jobs(1, start=2), following="/3"),
    }
    site = web.site(pages | {"/3": listing(jobs(1, start=3))})
    shown = admin.get(f"/admin/domain_policies/{site.host}").json()
    assert (shown["is_set"], shown["min_request_interval_ms"], shown["max_pages"]) == (False, 3000, 10)
    body = {"min_request_interval_ms": 400, "max_concurrency": 1, "max_kb_per_page": 512, "allow_js": False}
    changed = admin.post(f"/admin/domain_policies/{site.host}", json=body)
    assert changed.status_code == 200
    binds = {
        "max_concurrency": "crawls, sources, audits and queries",
        "min_request_interval_ms": "crawls, sources, audits and queries",
        "max_pages": "source runs",
        "max_kb_per_page": "crawls, sources, audits and queries",
        "allow_js": "nothing yet",
    }
    assert shown["binds"] == {}, "where no operator set anything, nothing binds"
    assert changed.json() == shown | body | {"is_set": True, "is_page_size_set": True, "binds": binds}
    assert admin.get(f"/admin/domain_policies/http://{site.host}").status_code == 404  # a host is no URL
    source = _add(admin, site)
    admin.post("/admin/crawl/run", json={"source_id": source})
    assert until(lambda: _logs(admin))[0]["found"] == 3
    assert len(site.log) == 4
    assert min(site.gaps()) >= 0.395
    admin.post(f"/admin/domain_policies/{site.host}", json={"max_pages": 1})
    until(lambda: _status(admin)["locked"] == 0)
    admin.post("/admin/crawl/run", json={"source_id": source})
    assert until(lambda: len(_logs(admin)) == 2 and _logs(admin))[0]["pages"] == 1


def test_a_robots_denial_blocks_the_source_and_is_logged(admin: httpx.Client, web: Web) -> None:
    robots = "User-agent: *\nDisallow: /careers\nCrawl-delay: 2\n"
    site = web.site({"/careers": listing(jobs(2))}, robots=robots)
    assert admin.get(f"/admin/robots/{site.host}").json()["error"] == "not_found"
    source = _add(admin, site)
    assert admin.post("/admin/crawl/run_due").json() == {"queued": 1}
    assert until(lambda: _logs(admin, source))[0]["message"] == "robots disallow"
    shown = admin.get(f"/admin/sources/{source}").json()
    assert (shown["status"], shown["last_crawl_message"]) == ("blocked", "robots disallow")
    assert site.pages() == []
    known = admin.get(f"/admin/robots/{site.host}", params={"scheme": "http"}).json()
    assert (known["robots_txt"], known["crawl_delay_ms"], known["disallow"]) == (robots, 2000, ["/careers"])
    assert known["fetched_at"] < known["expires_at"]
    assert admin.get(f"/admin/robots/{site.host}", params={"scheme": "https"}).status_code == 404


def test_the_table_is_filtered_paged_changed_and_emptied(admin: httpx.Client) -> None:
    for number in range(5):
        kind = "un" if number < 2 else "ngo"
        body = {"careers_url": f"https://{number}.example/careers", "org_name": f"Aid {number}", "org_type": kind}
        assert admin.post("/admin/sources", json=body).status_code == 201
    page = admin.get("/admin/sources", params={"limit": 2, "offset": 4}).json()
    assert (page["total"], len(page["sources"]), page["limit"], page["offset"]) == (5, 1, 2, 4)
    assert admin.get("/admin/sources", params={"org_type": "un"}).json()["total"] == 2
    found = admin.get("/admin/sources", params={"search": "aid 3"}).json()["sources"]
    assert [each["org_name"] for each in found] == ["Aid 3"]
    path = f"/admin/sources/{found[0]['id']}"
    assert admin.post("/admin/sources", json=body).json()["error"] == "already_exists"
    taken = admin.patch(path, json={"careers_url": "https://1.example/careers"})
    assert (taken.status_code, taken.json()["error"]) == (409, "already_exists")
    edited = admin.patch(path, json={"org_name": None, "time_window": "22:00-05:00", "crawl_frequency_days": 9}).json()
    assert [note.partition(" is ")[0] for note in edited["notes"]] == ["the time window 22:00-05:00"]
    assert (edited["org_name"], edited["time_window"], edited["crawl_frequency_days"]) == (None, "22:00-05:00", 9)
    for word, status in (("pause", "paused"), ("resume", "active"), ("approve", "active")):
        assert admin.post(f"{path}/{word}").json()["status"] == status
    assert admin.delete(path).json()["status"] == "deleted"
    assert admin.delete(path).status_code == 404
    assert admin.post(f"{path}/run").status_code == admin.get(path).status_code == 404
    assert admin.get("/admin/sources", params={"status": "deleted"}).json()["total"] == 1
    proposed = admin.post("/admin/sources", json={"careers_url": "https://new.example/", "approved": False}).json()
    assert (proposed["status"], proposed["next_run_at"]) == ("paused", None)


def test_the_list_is_filtered_and_sorted_by_the_server(admin: httpx.Client) -> None:
    for number, (name, kind) in enumerate((("Beta", "rss"), ("Alpha", "html"), ("Gamma", "html"))):
        body = {"careers_url": f"https://{number}.example/jobs", "org_name": name, "source_type": kind}
        assert admin.post("/admin/sources", json=body).status_code == 201

    def names(**params: Any) -> list[str]:
        return [each["org_name"] for each in admin.get("/admin/sources", params=params).json()["sources"]]

    assert names(sort="org_name") == ["Alpha", "Beta", "Gamma"]
    assert names(sort="-org_name") == ["Gamma", "Beta", "Alpha"]
    assert names(source_type="html", sort="org_name") == ["Alpha", "Gamma"]
    assert names(last_crawl_status="fail") == []
    assert len(names(sort="-last_crawled_at")) == 3
    assert admin.get("/admin/sources", params={"sort": "parser_hint"}).status_code == 422


def test_several_sources_are_changed_at_once_with_a_report_on_each(admin: httpx.Client, web: Web) -> None:
    site = web.site({"/careers": listing(jobs(2))})
    ids = [_add(admin, site), _add(admin, web.site({"/careers": listing(jobs(1))}))]
    unknown = "00000000-0000-0000-0000-000000000000"
    paused = admin.post("/admin/sources/actions", json={"action": "pause", "ids": [*ids, unknown]}).json()
    assert (paused["done"], [item["is_done"] for item in paused["sources"]]) == (2, [True, True, False])
    assert "no source" in paused["sources"][2]["reason"]
    why = admin.get(f"/admin/sources/{ids[0]}/next_run").json()
    assert (why["next_run_at"], why["is_due"], why["origin"]) == (None, False, "not_active")
    assert admin.get("/admin/crawl/due").json()["sources"] == []
    admin.post("/admin/sources/actions", json={"action": "resume", "ids": ids})
    assert {each["id"] for each in admin.get("/admin/crawl/due").json()["sources"]} == set(ids)
    assert admin.get(f"/admin/sources/{ids[0]}/next_run").json()["origin"] == "first_run"
    assert admin.post("/admin/sources/actions", json={"action": "run", "ids": ids}).json()["done"] == 2
    log = until(lambda: _logs(admin, ids[0]))[0]
    until(lambda: _logs(admin, ids[1]))
    why = admin.get(f"/admin/sources/{ids[0]}/next_run").json()
    assert (why["origin"], why["reason"], why["is_due"]) == ("schedule", log["next_run_reason"], False)
    assert why["planned_at"] == log["ran_at"]
    assert admin.get("/admin/crawl/logs", params={"status": "fail"}).json()["logs"] == []
    assert len(admin.get("/admin/crawl/logs", params={"status": "ok"}).json()["logs"]) == 2
    until(lambda: _status(admin)["locked"] == 0)
    assert admin.post("/admin/sources/actions", json={"action": "delete", "ids": ids}).json()["done"] == 2
    assert admin.get("/admin/sources").json()["total"] == 0


def test_a_hint_is_checked_without_saving_it(admin: httpx.Client) -> None:
    good = admin.post("/admin/sources/check-hint", json={"parser_hint": "greenhouse"}).json()
    assert good == {"is_valid": True, "problem": None}
    bad = admin.post("/admin/sources/check-hint", json={"parser_hint": '{"items": "li"'}).json()
    assert (bad["is_valid"], "not JSON" in bad["problem"]) == (False, True)
    assert admin.post("/admin/sources/check-hint", json={"parser_hint": "  "}).json()["is_valid"] is True


def test_trials_store_nothing(admin: httpx.Client, web: Web) -> None:
    site = web.site({"/careers": Answer(body=listing(jobs(5)), etag='"a"', headers={"X-Secret": "raw"})})
    source = _add(admin, site)
    head = admin.post(f"/admin/sources/{source}/test-fetch")
    assert (head.json()["status"], head.json()["etag"]) == (200, '"a"')
    assert "raw" not in head.text
    found = admin.post(f"/admin/sources/{source}/simulate-extract").json()
    assert (found["kind"], found["found"], len(found["jobs"])) == ("jobs", 5, 3)
    tried = admin.post(f"/admin/sources/{source}/simulate-extract", json={"parser_hint": "{"})
    assert tried.status_code == 422
    assert _logs(admin) == []
    assert _status(admin)["due_count"] == 1
    closed = web.site({"/careers": "x"}, robots="User-agent: *\nDisallow: /\n")
    refused = admin.post(f"/admin/sources/{_add(admin, closed)}/test-fetch")
    assert (refused.status_code, refused.json()["error"]) == (409, "not_fetched")


def test_the_scheduler_starts_and_stops_with_the_application(api_url: str, web: Web) -> None:
    site = web.site({"/careers": listing(jobs(3))})
    slow = web.site({"/careers": Answer(body=listing(jobs(3)), after_s=0.8)})
    with served(api_url, schedules=True, sources_every_minutes=0.005) as running, running.client() as admin:
        assert _status(admin)["running"] is True
        source = _add(admin, site)
        assert until(lambda: _logs(admin, source))[0]["inserted"] == 3
        _add(admin, slow)
        until(lambda: _status(admin)["in_flight"] == 1)
    # What was under way ended by itself, and nothing is held any more.
    with served(api_url) as running, running.client() as admin:
        assert len(_logs(admin)) == 2
        assert (_status(admin)["locked"], _status(admin)["running"]) == (0, False)


def test_two_servers_on_one_state_do_not_run_a_source_twice(api_url: str, web: Web) -> None:
    sites = [web.site({"/careers": Answer(body=listing(jobs(1)), after_s=0.05)}) for _ in range(6)]
    with (
        served(api_url) as one,
        served(api_url) as other,
        one.client() as first,
        other.client() as second,
    ):
        for site in sites:
            _add(first, site)
        queued = [client.post("/admin/crawl/run_due").json()["queued"] for client in (first, second)]
        assert queued[0] == 6
        until(lambda: _status(second)["due_count"] == 0 and _status(first)["in_flight"] == 0)
        until(lambda: _status(first)["locked"] == 0)
        assert len(_logs(first)) == 6
    assert all(site.pages() == ["/careers"] for site in sites)


def _add(admin: httpx.Client, site: Site) -> str:
    answer = admin.post("/admin/sources", json={"careers_url": site.url("/careers")})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def _logs(admin: httpx.Client, source: str | None = None) -> list[dict[str, Any]]:
    params = {"source_id": source} if source is not None else {}
    found: list[dict[str, Any]] = admin.get("/admin/crawl/logs", params=params).json()["logs"]
    return found


def _status(admin: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = admin.get("/admin/crawl/status").json()
    return found


def test_a_list_is_imported_over_http(admin: httpx.Client) -> None:
    table = "url,organisation,country\nhttps://a.example/jobs,A,KE\nhttps://b.example/jobs,B,Atlantis\n"
    as_csv = {"Content-Type": "text/csv; charset=utf-8"}
    refused = admin.post("/admin/sources/import", content=table, headers=as_csv)
    assert (refused.status_code, refused.json()["error"]) == (422, "bad_input")
    assert "1 of 2 rows cannot be used, so nothing was added" in refused.json()["message"]
    assert [each["where"] for each in refused.json()["details"]] == ["row 2.country"]
    assert admin.get("/admin/sources").json()["total"] == 0
    tried = admin.post("/admin/sources/import?dry_run=true", content=table, headers=as_csv).json()
    assert (tried["written"], tried["counts"]) == (False, {"would_add": 1, "refused": 1})
    done = admin.post("/admin/sources/import?skip_bad=true", content=table, headers=as_csv).json()
    assert (done["written"], done["counts"]) == (True, {"added": 1, "refused": 1})
    again = admin.post("/admin/sources/import?update=true", json=[{"url": "https://a.example/jobs", "days": 9}])
    assert again.json()["counts"] == {"updated": 1}
    lines = '{"url": "https://c.example/"}\n{"url": "https://d.example/"}\n'
    proposed = admin.post(
        "/admin/sources/import?approved=false", content=lines, headers={"Content-Type": "application/x-ndjson"}
    )
    assert proposed.json()["counts"] == {"added": 2}
    listed = admin.get("/admin/sources", params={"search": "example"}).json()["sources"]
    assert {each["careers_url"]: each["status"] for each in listed} == {
        "https://a.example/jobs": "active",
        "https://c.example/": "paused",
        "https://d.example/": "paused",
    }


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"url\n" + "Médecins".encode("latin-1"), "text/csv", 422),
        (b"", "text/csv", 422),
        (b"{}", "application/json", 422),
        (b"<a>", "text/html", 415),
        (b"x" * 8_000_001, "text/csv", 413),
    ],
)
def test_a_body_that_is_no_list_is_refused(shared_api: httpx.Client, content: bytes, kind: str, status: int) -> None:
    answer = shared_api.post("/admin/sources/import", content=content, headers={"Content-Type": kind})
    assert answer.status_code == status
