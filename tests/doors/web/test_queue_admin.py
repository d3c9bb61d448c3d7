"""The crawl service for operators over HTTP: filters, sorting, paging by key, bulk actions, import and export."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.doors.web.queueing import Queue, execute, queue_on
from tests.doors.web.served import Served, until


@pytest.fixture
def queue(api: Served) -> Iterator[Queue]:
    with queue_on(api) as made:
        yield made


def listed(queue: Queue, noun: str = "policies", **query: Any) -> list[dict[str, Any]]:
    answer = queue.admin.get(f"/admin/crawl_{noun}", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()[noun]
    return found


def counted(queue: Queue, path: str, **jobs: int) -> dict[str, Any]:
    """Figures with these numbers of jobs; a machine on which a count takes long may give older ones at first."""

    def are_new() -> dict[str, Any] | None:
        found: dict[str, Any] = queue.admin.get(path).json()
        return found if jobs.items() <= found["jobs"].items() else None

    figures: dict[str, Any] = until(are_new, 180)
    return figures


def act(queue: Queue, noun: str, action: str, *ids: str, **more: Any) -> dict[str, Any]:
    answer = queue.admin.post(f"/admin/crawl_{noun}/actions", json={"action": action, "ids": list(ids), **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_pages_follow_each_other_in_any_order(queue: Queue) -> None:
    rows = [{"url": f"https://s{number}.example/{number % 3}", "priority": number % 4} for number in range(11)]
    assert queue.admin.post("/admin/crawl_policies/import", json=rows).status_code == 200
    for sort in ("url", "-url", "priority", "-priority", "next_run_at", "-created_at"):
        seen: list[str] = []
        cursor: str | None = None
        for _ in range(10):
            page = queue.admin.get(
                "/admin/crawl_policies", params={"sort": sort, "limit": 3} | ({"cursor": cursor} if cursor else {})
            ).json()
            seen += [each["url"] for each in page["policies"]]
            if (cursor := page["next_cursor"]) is None:
                break
        assert sorted(seen) == sorted(row["url"] for row in rows), sort
        assert seen == [each["url"] for each in listed(queue, sort=sort, limit=200)], sort
    for bad in ("x", "e30", "W10", "WyJ1cmwiXQ"):
        assert queue.admin.get("/admin/crawl_policies", params={"cursor": bad}).status_code == 422
    assert queue.admin.get("/admin/crawl_policies", params={"sort": "secret"}).status_code == 422


def test_policies_are_added_changed_filtered_and_deleted(queue: Queue) -> None:
    first = queue.policy("HTTPS://Shop.example:443/a#x", priority=9, crawl_config={"css": ".p"})
    queue.policy("https://other.example/b", enabled=False, schedule="adaptive")
    assert [each["url"] for each in listed(queue, domain="shop.example")] == ["https://shop.example/a"]
    assert [each["url"] for each in listed(queue, enabled=False)] == ["https://other.example/b"]
    assert [each["url"] for each in listed(queue, search="SHOP")] == ["https://shop.example/a"]
    assert [each["url"] for each in listed(queue, due=True)] == ["https://shop.example/a"]
    assert listed(queue, priority=3) == []
    assert queue.admin.post("/admin/crawl_policies", json={"url": "https://shop.example/a"}).status_code == 409
    for bad in ({"url": "ftp://x.example/"}, {"url": "https://x.example/", "priority": 1001}, {"url": "https://a b/"}):
        assert queue.admin.post("/admin/crawl_policies", json=bad).status_code == 422, bad
    path = f"/admin/crawl_policies/{first}"
    changed = queue.admin.patch(path, json={"priority": 3, "crawl_config": None}).json()
    assert (changed["priority"], changed["crawl_config"]) == (3, None)
    assert queue.admin.patch(path, json={"priority": None}).status_code == 422
    assert queue.admin.patch(path, json={"url": "https://other.example/b"}).status_code == 409
    assert queue.admin.delete(path).json()["changed"] == 1
    assert queue.admin.get(path).status_code == queue.admin.delete(path).status_code == 404


def test_policies_are_found_by_when_they_were_made_and_run_next(queue: Queue) -> None:
    for name, next_run_at in (("a", "2030-01-01"), ("b", "2030-02-01"), ("c", None)):
        queue.policy(f"https://{name}.example/")
        time = "NULL" if next_run_at is None else f"'{next_run_at} 00:00:00.000000'"
        execute(queue.state, f"UPDATE crawl_policies SET next_run_at = {time} WHERE url = 'https://{name}.example/'")

    def found(**query: str) -> list[str]:
        return sorted(policy["url"][8] for policy in listed(queue, **query))

    assert found(next_run_after="2030-01-01T00:00:00Z") == ["a", "b"]
    assert found(next_run_before="2030-02-01T00:00:00Z") == ["a"]
    assert found(next_run_after="2030-01-15", next_run_before="2030-03-01") == ["b"]
    assert found(created_before="2020-01-01") == []
    assert found(created_after="2020-01-01", created_before="2100-01-01") == ["a", "b", "c"]
    exported = queue.admin.get(
        "/admin/crawl_policies/export", params={"next_run_before": "2030-02-01", "format": "json"}
    )
    assert [policy["url"] for policy in exported.json()] == ["https://a.example/"]


def test_bulk_actions_report_on_each(queue: Queue) -> None:
    first, second = (job["job_id"] for job in queue.pulled(2))
    queue.submit(first)
    report = act(queue, "jobs", "reset_lock", first, second, "00000000-0000-4000-8000-000000000000")
    assert (report["changed"], report["unchanged"]) == (1, 2)
    reasons = [item["reason"] for item in report["items"]]
    assert reasons == ["it is done, not locked", None, "there is no such job"]
    assert queue.refusal(queue.submit(second))[1] in ("job_not_locked", "lock_expired"), "the bot lost it"
    assert act(queue, "jobs", "mark_pending", second)["items"][0]["reason"] == "it is pending already"
    assert act(queue, "jobs", "mark_expired", second)["changed"] == 1
    assert act(queue, "jobs", "mark_pending", second, reason="again")["changed"] == 1
    moves = queue.admin.get(f"/admin/crawl_jobs/{second}").json()["moves"]
    assert (moves[-1]["actor"], moves[-1]["reason"]) == ("operator", "again")
    ids = [each["id"] for each in listed(queue)]
    assert act(queue, "policies", "disable", *ids)["changed"] == 2
    assert listed(queue, "jobs", status="pending") == [], "a job that no bot holds is dropped"
    assert act(queue, "policies", "run_now", *ids)["changed"] == 0
    assert act(queue, "policies", "enable", *ids)["changed"] == 2
    assert len(listed(queue, due=True)) == 1, "the run whose job was dropped is not lost"
    assert act(queue, "policies", "run_now", *ids)["changed"] == 2
    assert len(listed(queue, due=True)) == 2


def test_a_policy_that_is_being_crawled_cannot_be_run_now(queue: Queue) -> None:
    queue.pulled()
    [policy] = listed(queue)
    assert act(queue, "policies", "run_now", policy["id"])["items"][0]["reason"] == "a bot is crawling it now"


def test_a_lock_that_is_reset_gives_the_host_back(queue: Queue) -> None:
    [job] = queue.pulled()
    stats = counted(queue, "/admin/crawl_jobs/stats", locked=1)
    assert stats["hosts"][0]["claimed_by"] == "bot:shop-1"
    glance = counted(queue, "/admin/queue", locked=1)
    assert (len(glance["hours"]), glance["failed_24h"]) == (24, 0)
    act(queue, "jobs", "reset_lock", job["job_id"])
    counted(queue, "/admin/queue", locked=0)
    after = counted(queue, "/admin/crawl_jobs/stats", locked=0, pending=1)
    assert after["hosts"][0]["claimed_by"] is None
    assert after["bots"][0]["jobs_pulled"] == 1


def test_a_list_is_imported_whole_or_not_at_all(queue: Queue) -> None:
    text = 'url,frequency_hours,crawl_config\nhttps://a.example/,6,"{""a"": 1}"\nnot a url,6,\nhttps://b.example/,x,\n'
    headers = {"Content-Type": "text/csv"}
    refused = queue.admin.post("/admin/crawl_policies/import", content=text, headers=headers)
    assert refused.status_code == 422
    assert [each["where"] for each in refused.json()["details"]] == ["row 2.url", "row 3.frequency_hours"]
    assert listed(queue) == []
    skipped = queue.admin.post("/admin/crawl_policies/import?skip_bad=true", content=text, headers=headers).json()
    assert skipped["counts"] == {"added": 1, "refused": 2}
    [policy] = listed(queue)
    assert (policy["frequency_hours"], policy["crawl_config"]) == (6, {"a": 1})
    body = [{"url": "https://a.example/", "priority": 7}]
    same = queue.admin.post("/admin/crawl_policies/import", json=body).json()
    assert same["rows"][0]["reason"] == "priority differs"
    dry = queue.admin.post("/admin/crawl_policies/import?update=true&dry_run=true", json=body).json()
    assert (dry["is_written"], dry["rows"][0]["result"]) == (False, "would_update")
    updated = queue.admin.post("/admin/crawl_policies/import?update=true", json=body).json()
    assert updated["counts"] == {"updated": 1}


def test_exports_are_streamed_in_every_format_and_can_be_imported(queue: Queue) -> None:
    [job] = queue.pulled(crawl_config={"a": 'ü, "q"'})
    queue.submit(job["job_id"], price="1234.5", currency="EUR", title="=cmd()", parsed_data={"n": 0.1})
    for noun in ("policies", "jobs", "results"):
        path = f"/admin/crawl_{noun}/export"
        rows = json.loads(queue.admin.get(path, params={"format": "json"}).text)
        lines = [json.loads(line) for line in queue.admin.get(path, params={"format": "jsonl"}).text.splitlines()]
        table = queue.admin.get(path, params={"format": "csv"})
        cells = list(csv.DictReader(io.StringIO(table.text, newline="")))
        assert rows == lines
        assert [row["id"] for row in cells] == [row["id"] for row in rows]
        assert table.headers["content-type"].startswith("text/csv")
    assert cells[0]["price"] == "1234.50", "as a price is written, on both databases"
    assert cells[0]["title"] == "'=cmd()", "no spreadsheet runs it"
    policies = queue.admin.get("/admin/crawl_policies/export", params={"format": "csv"}).content
    again = queue.admin.post("/admin/crawl_policies/import", content=policies, headers={"Content-Type": "text/csv"})
    assert again.json()["counts"] == {"already_there": 1}, again.text
    history = queue.admin.get(f"/admin/crawl_policies/{listed(queue)[0]['id']}/prices").json()["prices"]
    assert [(point["currency"], float(point["price"])) for point in history] == [("EUR", 1234.5)]
    assert listed(queue, "results", currency="eur", bot_id="shop-1")
    assert listed(queue, "results", currency="USD") == []
