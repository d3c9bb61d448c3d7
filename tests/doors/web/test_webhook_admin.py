"""/admin/webhooks over HTTP, events of real submits, and the receiver of docs/bots.md."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from comity.rules.queue.webhook import signature
from tests.documents import blocks
from tests.doors.web.bots_page import PAGE
from tests.doors.web.queueing import Queue, queue_on
from tests.doors.web.served import PASSWORD_HASH, TOKEN_HASH, Served, served
from tests.receiver import is_authentic
from tests.servers.waiting import wait_until
from tests.walk.site import Answer, Web

SECRET = "a secret of the receiver"


@pytest.fixture
def queue(api: Served) -> Iterator[Queue]:
    with queue_on(api) as found:
        yield found


def test_a_webhook_from_adding_to_deleting(queue: Queue) -> None:
    admin = queue.admin
    added = admin.post("/admin/webhooks", json={"url": "https://hook.example/a", "events": ["job.done", "stock.back"]})
    assert added.status_code == 201
    document = added.json()
    assert document["secret"].startswith("whsec_")
    where = f"/admin/webhooks/{document['id']}"
    shown = admin.get(where).json()
    assert shown == {name: value for name, value in document.items() if name != "secret"}
    own = admin.post("/admin/webhooks", json={"url": "https://b.example/", "events": ["job.failed"], "secret": SECRET})
    assert own.json()["secret"] is None
    edited = admin.patch(where, json={"events": ["price.changed"], "note": "mine", "secret": SECRET}).json()
    assert (edited["events"], edited["note"], edited["enabled"]) == (["price.changed"], "mine", True)
    assert admin.patch(where, json={"note": None}).json()["note"] is None
    assert admin.post(f"{where}/disable").json()["disabled_reason"] == "disabled by an operator"
    assert [each["id"] for each in admin.get("/admin/webhooks?enabled=false").json()["webhooks"]] == [document["id"]]
    assert admin.post(f"{where}/enable").json()["disabled_reason"] is None
    assert admin.post(f"{where}/new-secret").json()["secret"] != document["secret"]
    exports = [admin.get("/admin/webhooks/export", params={"format": each}) for each in ("csv", "json", "jsonl")]
    assert [each["url"] for each in exports[1].json()] == ["https://hook.example/a", "https://b.example/"]
    everything = admin.get("/admin/webhooks").text + admin.get(where).text + "".join(each.text for each in exports)
    assert SECRET not in everything
    assert "secret" not in everything
    assert admin.delete(where).json()["url"] == "https://hook.example/a"
    assert admin.get(where).status_code == 404
    assert admin.get(f"/admin/webhooks/deliveries/{uuid4()}").status_code == 404
    assert admin.post(f"/admin/webhooks/deliveries/{uuid4()}/resend").status_code == 404


REFUSED: list[dict[str, object]] = [
    {"url": "https://hook.example/"},
    {"url": "https://hook.example/", "events": []},
    {"url": "https://hook.example/", "events": ["job.gone"]},
    {"url": "https://hook.example/", "events": ["job.done"], "secret": "short"},
    {"url": "https://hook.example/", "events": ["job.done"], "other": 1},
    {"url": "https://user:password@hook.example/", "events": ["job.done"]},
    {"url": "ftp://hook.example/", "events": ["job.done"]},
    {"url": "http://10.0.0.1/", "events": ["job.done"]},
    {"url": "http://[::1]/", "events": ["job.done"]},
    {"url": "http://hook.example:22/", "events": ["job.done"]},
]


def test_what_cannot_be_called_is_refused(queue: Queue) -> None:
    statuses = [queue.admin.post("/admin/webhooks", json=body).status_code for body in REFUSED]
    assert statuses == [422] * len(REFUSED)
    assert queue.admin.get("/admin/webhooks").json() == {"webhooks": []}


def test_only_operators_reach_webhooks(queue: Queue) -> None:
    assert queue.bot.get("/admin/webhooks").status_code == 401
    assert queue.bot.get("/admin/webhooks/deliveries").status_code == 401


def test_a_test_calls_the_receiver_at_once(queue: Queue) -> None:
    with Web() as web:
        site = web.site({"/": Answer(200), "/broken": Answer(503)})
        body = {"url": site.url("/"), "events": ["job.done"], "secret": SECRET, "enabled": False}
        webhook_id = queue.admin.post("/admin/webhooks", json=body).json()["id"]
        sent = queue.admin.post(f"/admin/webhooks/{webhook_id}/test").json()
        assert (sent["status"], sent["event"], sent["last_status"], sent["is_test"]) == ("delivered", "test", 200, True)
        (seen,) = site.log
        headers = httpx.Headers(dict(seen.headers))
        timestamp = int(headers["x-comity-timestamp"])
        assert is_authentic(SECRET, timestamp, seen.body, headers["x-comity-signature"], timestamp)
        queue.admin.patch(f"/admin/webhooks/{webhook_id}", json={"url": site.url("/broken")})
        failed = queue.admin.post(f"/admin/webhooks/{webhook_id}/test").json()
    assert (failed["status"], failed["last_error"]) == ("failed", "the receiver answered 503")
    listed = queue.admin.get("/admin/webhooks/deliveries", params={"webhook_id": webhook_id, "limit": 1}).json()
    assert [each["id"] for each in listed["deliveries"]] == [failed["id"]]
    rest = queue.admin.get("/admin/webhooks/deliveries", params={"cursor": listed["next_cursor"]}).json()
    assert [each["id"] for each in rest["deliveries"]] == [sent["id"]]
    assert rest["next_cursor"] is None
    assert queue.admin.get("/admin/webhooks/deliveries?status=failed&event=test").json()["deliveries"][0] == failed
    assert queue.admin.get(f"/admin/webhooks/deliveries/{sent['id']}").json() == sent
    exported = queue.admin.get("/admin/webhooks/deliveries/export?format=json&status=failed").json()
    assert [each["id"] for each in exported] == [failed["id"]]
    assert len(queue.admin.get("/admin/webhooks/deliveries/export").text.splitlines()) == 3
    assert queue.admin.post(f"/admin/webhooks/{uuid4()}/test").status_code == 404


@contextmanager
def receiver(folder: Path, secret: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The receiver of the page, as a process of its own."""
    programs = blocks(PAGE.read_text(encoding="utf-8"), "python")
    (program,) = (each for each in programs if each.startswith("# receiver.py\n"))
    file = folder / "receiver.py"
    file.write_text(program, encoding="utf-8")
    command = [sys.executable, str(file), "0"]
    environment = {**os.environ, "WEBHOOK_SECRET": secret}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().split()[-1]
            yield f"http://127.0.0.1:{port}/", process
        finally:
            process.kill()


def test_the_receiver_of_the_page_gets_the_events_of_a_submit(api_url: str, tmp_path: Path) -> None:
    """The scheduler of `comity web` sends them; the receiver refuses what is forged or old."""
    options: dict[str, Any] = {"env": "prod", "admin_password_hash": PASSWORD_HASH, "admin_token_hash": (TOKEN_HASH,)}
    with (
        served(api_url, schedules=True, **options) as running,
        queue_on(running) as queue,
        receiver(tmp_path, SECRET) as (url, process),
    ):
        body = {"url": url, "events": ["job.done", "price.changed"], "secret": SECRET}
        assert queue.admin.post("/admin/webhooks", json=body).status_code == 201
        (job,) = queue.pulled(1)
        assert queue.submit(job["job_id"], price="19.90", currency="EUR").status_code == 200
        assert process.stdout is not None
        assert process.stdout.readline() == f"job.done {job['url']} 19.90\n"
        wait_until(lambda: _statuses(queue) == ["delivered"], 30, "the delivery")
        document = b'{"id":"1","event":"job.done","data":{}}'
        statuses = []
        for secret, age_s in ((SECRET, 0), (SECRET, 400), (SECRET + "x", 0)):
            timestamp = int(running.state.clock.seconds()) - age_s
            signed = {
                "X-Comity-Timestamp": str(timestamp),
                "X-Comity-Signature": signature(secret, timestamp, document),
            }
            statuses.append(httpx.post(url, content=document, headers=signed, trust_env=False).status_code)
        assert statuses == [204, 401, 401]


def _statuses(queue: Queue) -> list[str]:
    return [each["status"] for each in queue.admin.get("/admin/webhooks/deliveries").json()["deliveries"]]
