"""Pull, submit, heartbeat and release over HTTP: S3's bodies, envelope, codes and statuses, on both databases."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from comity.doors.web import figures
from tests.doors.web.queueing import Queue, queue_on
from tests.doors.web.served import TOKEN_HASH, Served, served, until

SECOND = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
MILLISECOND = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
S3_JOB = {"job_id", "url", "priority", "max_retries", "timeout_seconds", "retry_count", "locked_until"}
BEYOND_S3 = {"not_before", "start_by", "delay_seconds", "domain", "crawl_config"}


@pytest.fixture
def queue(api: Served) -> Iterator[Queue]:
    with queue_on(api) as made:
        yield made


@pytest.fixture
def one(sqlite_url: str) -> Iterator[Queue]:
    """On one database, where what is tested does not reach it."""
    settings: dict[str, Any] = {"env": "prod", "admin_token_hash": (TOKEN_HASH,), "max_raw_html_bytes": 20_000}
    with served(sqlite_url, **settings) as running, queue_on(running) as made:
        yield made


@pytest.fixture(scope="module")
def refusing(migrated_sqlite_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    """The same for many requests that are refused before anything is read."""
    path = tmp_path_factory.mktemp("refusing") / "comity.sqlite"
    shutil.copy(migrated_sqlite_file, path)
    with served(f"sqlite:///{path}", env="prod", admin_token_hash=(TOKEN_HASH,)) as running, queue_on(running) as made:
        yield made


def test_a_pull_has_the_body_of_s3_and_a_window_for_each_job(queue: Queue) -> None:
    queue.jobs(2, priority=10, crawl_config={"price": ".price"})
    data = queue.pull()
    assert (data["count"], data["skipped"], data["skipped_by_reason"]) == (2, 0, {})
    for job in data["jobs"]:
        assert set(job) == S3_JOB | BEYOND_S3
        assert (job["priority"], job["max_retries"], job["timeout_seconds"], job["retry_count"]) == (10, 3, 600, 0)
        assert SECOND.fullmatch(job["locked_until"])
        assert MILLISECOND.fullmatch(job["not_before"])
        assert data["server_time"] <= job["not_before"] < job["start_by"]
        assert job["crawl_config"] == {"price": ".price"}
        assert job["url"] == f"https://{job['domain']}/p"
    assert queue.pull()["jobs"] == [], "what one pull handed out, another does not"


def test_a_pull_is_bounded_and_can_name_a_host(queue: Queue) -> None:
    queue.jobs(3)
    assert [job["domain"] for job in queue.pull(domain="WWW.shop2.example.")["jobs"]] == ["shop2.example"]
    assert queue.pull(1)["count"] == 1
    without_slash = queue.bot.post("/api/crawl/pull", json={"bot_id": "shop-1"})
    assert without_slash.json()["data"]["count"] == 1


def test_a_result_is_answered_with_the_digits_that_came(queue: Queue) -> None:
    [job] = queue.pulled()
    content = (
        f'{{"bot_id": "shop-1", "job_id": "{job["job_id"]}", "success": true, "price": 99.10, "currency": "usd",'
        ' "title": "Product", "in_stock": true, "parsed_data": {"a": [1.5, "ü"]}, "raw_html": "<p>ü</p>"}'
    )
    headers = {"Content-Type": "application/json"}
    answer = queue.bot.post("/api/crawl/submit/", content=content.encode(), headers=headers)
    assert answer.status_code == 200
    data = answer.json()["data"]
    assert (data["status"], data["currency"], data["job_id"]) == ("done", "USD", job["job_id"])
    assert '"price":99.10' in answer.text
    assert SECOND.fullmatch(data["policy_next_run"])
    again = queue.bot.post("/api/crawl/submit", content=content.encode(), headers=headers)
    assert again.json() == answer.json(), "the same answer, without the slash too"
    assert '"price":99.10' in again.text
    other = queue.submit(job["job_id"], price=1, currency="EUR")
    assert queue.refusal(other) == (400, "job_not_locked")
    result = queue.admin.get(f"/admin/crawl_results/{data['result_id']}")
    assert '"price":99.1' in result.text
    assert result.json()["parsed_data"] == {"a": [1.5, "ü"]}
    page = queue.admin.get(f"/admin/crawl_results/{job['job_id']}/raw_html")
    assert page.text == "<p>ü</p>"
    assert page.headers["content-type"] == "text/plain; charset=utf-8"
    assert page.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize(
    ("sent", "answered"),
    [("0.1", "0.1"), ("12345678901234.5678", "12345678901234.5678"), ('"19.90"', "19.90"), ("7", "7"), ("1e2", "100")],
)
def test_prices_are_exact(one: Queue, sent: str, answered: str) -> None:
    [job] = one.pulled()
    content = f'{{"bot_id":"shop-1","job_id":"{job["job_id"]}","success":true,"price":{sent},"currency":"USD"}}'
    answer = one.bot.post("/api/crawl/submit/", content=content, headers={"Content-Type": "application/json"})
    assert f'"price":{answered},' in answer.text


def test_failures_are_retried_and_then_final(queue: Queue) -> None:
    [job] = queue.pulled(max_retries=1)
    answer = queue.submit(job["job_id"], False, error_msg="Timeout: page did not load").json()["data"]
    assert (answer["status"], answer["retry_count"], answer["max_retries"]) == ("pending", 1, 1)
    assert answer["message"]
    assert queue.pull()["jobs"] == [], "not before its back-off"
    details = queue.admin.get(f"/admin/crawl_jobs/{job['job_id']}").json()
    assert details["not_before"] is not None
    [policy] = queue.admin.get("/admin/crawl_policies").json()["policies"]
    queue.admin.post("/admin/crawl_policies/actions", json={"action": "run_now", "ids": [policy["id"]]})
    queue.admin.post(
        "/admin/crawl_jobs/actions", json={"action": "mark_expired", "ids": [job["job_id"]], "reason": "a test"}
    )
    [again] = _pulled_soon(queue)
    final = queue.submit(again["job_id"], False, error_msg="again").json()["data"]
    assert final["status"] == "failed"
    moves = queue.admin.get(f"/admin/crawl_jobs/{job['job_id']}").json()["moves"]
    assert [move["after"] for move in moves] == ["locked", "pending", "expired", "locked", "failed"]
    assert (moves[2]["actor"], moves[2]["reason"]) == ("operator", "a test")


def _pulled_soon(queue: Queue) -> list[dict[str, Any]]:
    """Pull until the host may be asked again."""
    from tests.doors.web.served import until

    found: list[dict[str, Any]] = until(lambda: queue.pull()["jobs"])
    return found


def test_every_code_of_s3(queue: Queue) -> None:
    first, second, third = queue.pulled(3)
    key = queue.admin.post("/admin/bots", json={"bot_id": "shop-2"}).json()["key"]
    with queue.served.client(headers={"X-API-Key": key}) as other:

        def ask(name: str, **body: Any) -> tuple[int, str]:
            return queue.refusal(other.post(f"/api/crawl/{name}/", json={"bot_id": "shop-2", **body}))

        # not_assigned: another bot holds the job, or the key is another's
        assert ask("submit", job_id=first["job_id"], success=True) == (403, "not_assigned")
        assert queue.refusal(queue.bot.post("/api/crawl/pull/", json={"bot_id": "shop-2"})) == (403, "not_assigned")
        # job_already_locked
        for name in ("heartbeat", "release"):
            assert ask(name, job_ids=[first["job_id"]]) == (400, "job_already_locked")
            assert ask(name, job_ids=[str(uuid4())]) == (404, "job_not_found")
        # job_not_found
        assert ask("submit", job_id=str(uuid4()), success=True) == (404, "job_not_found")
        # job_not_locked
        released = queue.bot.post("/api/crawl/release/", json={"bot_id": "shop-1", "job_ids": [second["job_id"]]})
        assert released.json()["data"] == {"released": [second["job_id"]], "lost": []}
        assert ask("submit", job_id=second["job_id"], success=True) == (400, "job_not_locked")
        assert ask("heartbeat", job_ids=[second["job_id"]]) == (400, "job_not_locked")
    # lock_expired, with S3's details; what was submitted is kept
    queue.let_lock_run_out(third["job_id"])
    late = queue.submit(third["job_id"], price="5", currency="USD", raw_html="<p>late</p>")
    assert queue.refusal(late) == (400, "lock_expired")
    assert {"job_id", "locked_at", "lock_ttl", "current_time"} <= late.json()["details"].keys()
    assert SECOND.fullmatch(late.json()["details"]["locked_at"])
    [figures] = queue.admin.get("/admin/crawl_results/late").json()["late"]
    assert (figures["job_id"], figures["bot_id"]) == (third["job_id"], "shop-1")
    shown = queue.admin.get(f"/admin/crawl_results/late/{figures['id']}").json()
    assert shown["content"]["currency"] == "USD"
    assert queue.admin.get(f"/admin/crawl_results/late/{figures['id']}/raw_html").text == "<p>late</p>"
    # validation_error
    assert queue.refusal(queue.submit("not-an-id")) == (400, "validation_error")


def test_a_url_that_was_taken_down_meanwhile_is_answered_451_and_not_stored(queue: Queue) -> None:
    [job] = queue.pulled()
    assert queue.admin.post("/admin/takedowns", json={"entries": [job["domain"]]}).status_code == 201
    body = {"bot_id": "shop-1", "job_id": job["job_id"], "success": True, "title": "A lamp"}
    for path in ("/api/crawl/submit/", "/api/crawl/submit"):
        answer = queue.bot.post(path, json=body)
        assert (answer.status_code, answer.json()["error"]) == (451, "taken_down")
        assert answer.json()["details"] == {"job_id": job["job_id"], "takedown": job["domain"]}
    assert queue.admin.get("/admin/crawl_results").json()["results"] == []
    shown = queue.admin.get(f"/admin/crawl_jobs/{job['job_id']}").json()
    assert (shown["status"], shown["error_msg"]) == ("failed", f"taken down: {job['domain']}")


def test_internal_error_is_masked_in_the_same_envelope(one: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    from comity.walk.bots.pull import Puller

    async def fail(*_arguments: object) -> Any:
        raise RuntimeError("a secret")

    monkeypatch.setattr(Puller, "pull", fail)
    answer = one.bot.post("/api/crawl/pull/", json={"bot_id": "shop-1"})
    assert one.refusal(answer) == (500, "internal_error")
    assert "secret" not in answer.text
    assert 'comity_queue_errors_total{error="internal_error"} 1.0' in one.admin.get("/admin/metrics").text


INVALID: list[tuple[str, dict[str, Any], str]] = [
    ("pull", {"max_jobs": 0}, "max_jobs"),
    ("pull", {"max_jobs": 101}, "max_jobs"),
    ("pull", {"max_jobs": "3"}, "max_jobs"),
    ("pull", {"max_jobs": True}, "max_jobs"),
    ("pull", {"domain": "not a host"}, "domain"),
    ("pull", {"domain": "a\0.example"}, "domain"),
    ("pull", {"max_job": 3}, "max_job"),
    ("submit", {"success": "yes"}, "success"),
    ("submit", {"success": False}, "error_msg"),
    ("submit", {"success": True, "error_msg": "but"}, "error_msg"),
    ("submit", {"success": True, "price": -1}, "price"),
    ("submit", {"success": True, "price": "much"}, "price"),
    ("submit", {"success": True, "price": 0.12345}, "price"),
    ("submit", {"success": True, "price": 1e15}, "price"),
    ("submit", {"success": True, "price": "NaN"}, "price"),
    ("submit", {"success": True, "price": True}, "price"),
    ("submit", {"success": True, "currency": "ZZZ"}, "currency"),
    ("submit", {"success": True, "parsed_data": []}, "parsed_data"),
    ("submit", {"success": True, "parsed_data": {"a": "\0"}}, "parsed_data"),
    ("submit", {"success": True, "parsed_data": {"a": "x" * 300_000}}, "parsed_data"),
    ("submit", {"success": True, "http_status": 99}, "http_status"),
    ("submit", {"success": True, "retry_after": -1}, "retry_after"),
    ("submit", {"success": True, "started_at": "soon"}, "started_at"),
    ("submit", {"success": True, "titel": "x"}, "titel"),
    ("submit", {"success": True, "raw_html": "x" * 20_001}, "raw_html"),
    ("heartbeat", {"job_ids": []}, "job_ids"),
    ("heartbeat", {"job_ids": ["x"]}, "job_ids.0"),
    ("release", {}, "job_ids"),
]


def test_what_is_not_valid_is_refused_with_the_field(one: Queue) -> None:
    job_id = str(uuid4())
    for name, body, field in INVALID:
        identity = {"job_id": job_id} if name == "submit" else {}
        answer = one.bot.post(f"/api/crawl/{name}/", json={"bot_id": "shop-1", **identity, **body})
        assert one.refusal(answer) == (400, "validation_error"), (body, answer.text)
        assert field in answer.json()["details"], answer.text


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("pull", {"max_jobs": 0}, "max_jobs: must be at least 1"),
        ("pull", {"max_jobs": 1.5}, "max_jobs: must be a whole number"),
        ("pull", {"domain": "x" * 301}, "domain: must have at most 300 characters"),
        (
            "pull",
            {"bot_id": "a b"},
            "bot_id: must have 1 to 100 letters, digits and . _ : @ -, and start with a letter or digit",
        ),
        ("pull", {"maxjobs": 5}, "maxjobs: is not a known field; did you mean max_jobs?"),
        ("submit", {"job_id": str(uuid4()), "success": False}, "error_msg: is required for a failure"),
        (
            "submit",
            {"job_id": str(uuid4()), "success": True, "error_msg": "x"},
            "error_msg: is for failures: send success=false with it",
        ),
        ("heartbeat", {"job_id": "x"}, "job_ids.0: must be a UUID"),
        ("submit", {}, "job_id: is required"),
        ("submit", {"job_id": 7, "success": True}, "job_id: must be a UUID"),
        ("submit", {"job_id": "7", "success": "yes"}, "job_id: must be a UUID"),
        ("heartbeat", {"job_ids": []}, "job_ids: must have at least 1 item"),
        ("release", {"job_ids": "x"}, "job_ids: must be a list"),
    ],
)
def test_a_refusal_says_what_a_field_must_be(refusing: Queue, name: str, body: dict[str, Any], message: str) -> None:
    answer = refusing.bot.post(f"/api/crawl/{name}/", json={"bot_id": "shop-1", **body})
    assert answer.json()["message"] == message
    field, _, problem = message.partition(": ")
    assert answer.json()["details"][field] == problem


def deep(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


def test_malformed_bodies_stay_in_the_envelope(one: Queue) -> None:
    def send(content: bytes | str, content_type: str = "application/json", path: str = "pull/") -> httpx.Response:
        return one.bot.post(f"/api/crawl/{path}", content=content, headers={"Content-Type": content_type})

    huge = f'{{"bot_id":"shop-1","job_id":"{uuid4()}","success":true,"parsed_data":{deep(40)}}}'
    bad = (b"{", b"[]", b"null", b'"x"', b"\xff", b"{}", b'{"bot_id": NaN}', b"[" * 1000)
    for content in bad:
        assert one.refusal(send(content)) == (400, "validation_error"), content
    assert one.refusal(send(huge, path="submit/")) == (400, "validation_error")
    assert one.refusal(send("{}", "text/plain")) == (415, "unsupported_media_type")
    assert one.refusal(send(b"{" + b" " * 20_000 + b"}")) == (413, "too_large")
    assert one.refusal(send(b"{" + b" " * 1_100_000 + b"}", path="submit/")) == (413, "too_large")
    assert one.refusal(one.bot.post("/api/crawl/pull/?max_jobs=3", json={"bot_id": "shop-1"})) == (
        400,
        "validation_error",
    )
    assert one.refusal(one.bot.get("/api/crawl/pull/")) == (405, "method_not_allowed")
    assert one.refusal(one.bot.post("/api/crawl/nothing/", json={})) == (404, "not_found")


def test_an_unknown_field_is_ignored_and_a_long_title_is_cut(one: Queue) -> None:
    [job] = one.pulled()
    body = {"bot_id": "shop-1", "job_id": job["job_id"], "success": True, "in_stock": None}
    body |= {"title": "t" * 600, "weather": "fine", "raw_html": "\ud800"}
    headers = {"Content-Type": "application/json"}
    answer = one.bot.post("/api/crawl/submit/", content=json.dumps(body), headers=headers)
    assert answer.status_code == 200, answer.text
    result = one.admin.get(f"/admin/crawl_results/{job['job_id']}").json()
    assert result["title"] == "t" * 500


def test_a_heartbeat_keeps_what_the_bot_holds(queue: Queue) -> None:
    [job] = queue.pulled()
    unknown = str(uuid4())
    body = {"bot_id": "shop-1", "job_ids": [job["job_id"], unknown, job["job_id"]]}
    data = queue.bot.post("/api/crawl/heartbeat/", json=body).json()["data"]
    assert [each["job_id"] for each in data["kept"]] == [job["job_id"]]
    assert data["kept"][0]["locked_until"] >= job["locked_until"]
    assert data["lost"] == [unknown]
    released = queue.bot.post("/api/crawl/release", json={**body, "reason": "tired"}).json()["data"]
    assert (released["released"], released["lost"]) == ([job["job_id"]], [unknown])
    moves = queue.admin.get(f"/admin/crawl_jobs/{job['job_id']}").json()["moves"]
    assert "tired" in moves[-1]["reason"]


def test_one_job_can_be_named_as_in_a_submit(one: Queue) -> None:
    [job] = one.pulled()
    body = {"bot_id": "shop-1", "job_id": job["job_id"]}
    figures = one.bot.post("/api/crawl/heartbeat/", json=body).json()["data"]["kept"]
    assert [each["job_id"] for each in figures] == [job["job_id"]]
    assert one.bot.post("/api/crawl/release/", json=body).json()["data"]["released"] == [job["job_id"]]


def test_a_bot_learns_that_its_own_limit_keeps_jobs_from_it(queue: Queue) -> None:
    """An empty pull means that nothing waits; a bot that may have no more must not believe that."""

    def limited(**limits: Any) -> tuple[int, str | None]:
        assert queue.admin.patch("/admin/bots/shop-1", json=limits).status_code == 200
        data = queue.pull()
        assert (data["skipped"], data["retry_after_seconds"] is None) == (0, data["count"] > 0)
        return data["count"], data["limited_by"]

    queue.jobs(3)
    assert limited(max_jobs_in_hand=1) == (1, None)
    assert limited(max_jobs_in_hand=1) == (0, "max_jobs_in_hand")
    assert limited(max_jobs_in_hand=None, max_jobs_per_minute=1) == (0, "max_jobs_per_minute")
    queue.admin.post("/admin/bots/shop-1/quarantine", json={"minutes": 5})
    assert limited(max_jobs_per_minute=None) == (0, "quarantine")
    queue.admin.post("/admin/bots/shop-1/resume")
    assert limited(max_jobs_per_minute=None) == (2, None)
    assert limited(max_jobs_per_minute=None) == (0, None)


def test_a_pull_hands_out_a_job_whose_lock_ran_out(queue: Queue) -> None:
    """S3: a lock whose TTL is exceeded can be taken; the sweeper, which comes every ten seconds, is not waited for."""
    [job] = queue.pulled()
    assert queue.pull()["jobs"] == []
    queue.let_lock_run_out(job["job_id"])
    key = queue.admin.post("/admin/bots", json={"bot_id": "shop-2"}).json()["key"]
    with queue.served.client(headers={"X-API-Key": key}) as other:
        [again] = other.post("/api/crawl/pull/", json={"bot_id": "shop-2"}).json()["data"]["jobs"]
        assert (again["job_id"], again["retry_count"]) == (job["job_id"], 0)
        assert queue.refusal(queue.submit(job["job_id"], price=1)) == (400, "lock_expired")
        done = other.post("/api/crawl/submit/", json={"bot_id": "shop-2", "job_id": job["job_id"], "success": True})
    assert done.json()["data"]["status"] == "done"
    moves = queue.admin.get(f"/admin/crawl_jobs/{job['job_id']}").json()["moves"]
    assert [move["after"] for move in moves] == ["locked", "expired", "locked", "done"]


def test_metrics_count_pulls_submits_and_jobs(one: Queue) -> None:
    [job] = one.pulled()
    one.submit(job["job_id"])
    one.pull()
    one.submit("x")
    # On a slow machine the rows may have been counted a moment ago.
    until(lambda: 'comity_queue_jobs{status="done"} 1.0' in one.admin.get("/admin/metrics").text)
    text = one.admin.get("/admin/metrics").text
    for line in (
        'comity_queue_pulls_total{outcome="jobs"} 1.0',
        'comity_queue_pulls_total{outcome="empty"} 1.0',
        "comity_queue_jobs_handed_total 1.0",
        'comity_queue_submits_total{status="done"} 1.0',
        'comity_queue_errors_total{error="validation_error"} 1.0',
    ):
        assert line in text, text


def test_metrics_count_the_rows_of_a_large_state_seldom(one: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if counting took long: a second scrape shows the same figures, and does not count again."""
    monkeypatch.setattr(figures, "_QUICK_S", -1.0)
    monkeypatch.setattr(figures, "_SHARE", 1e9)
    stats = one.admin.get("/admin/crawl_jobs/stats").json()
    counted = 'comity_queue_jobs{status="pending"}'
    first, second = (one.admin.get("/admin/metrics").text for _ in range(2))
    assert one.pulled()
    third = one.admin.get("/admin/metrics").text
    shown = [[line for line in text.splitlines() if line.startswith(counted)] for text in (first, second, third)]
    assert shown[0] == shown[1] == shown[2]
    assert "comity_queue_jobs_handed_total 1.0" in third
    assert one.admin.get("/admin/crawl_jobs/stats").json() == stats


def test_the_oldest_job_grows_older_while_figures_are_kept(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    queue.jobs(1)
    oldest = re.compile(r"^comity_queue_oldest_pending_seconds (\S+)$", re.MULTILINE)

    def scraped() -> float:
        found = oldest.search(queue.admin.get("/admin/metrics").text)
        assert found is not None
        return float(found[1])

    until(lambda: scraped() > 0 and queue.admin.get("/admin/crawl_jobs/stats").json()["jobs"]["pending"] == 1)
    monkeypatch.setattr(figures, "_QUICK_S", -1.0)
    monkeypatch.setattr(figures, "_SHARE", 1e9)
    before, stats = scraped(), queue.admin.get("/admin/crawl_jobs/stats").json()
    until(lambda: scraped() > before)
    later = queue.admin.get("/admin/crawl_jobs/stats").json()
    assert later["oldest_pending_seconds"] > stats["oldest_pending_seconds"]
    assert later | {"oldest_pending_seconds": stats["oldest_pending_seconds"]} == stats  # counted once
