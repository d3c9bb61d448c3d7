"""Invalid requests: each gets an error response, and none is an internal error."""

from __future__ import annotations

import json
import socket
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from comity.database import schema
from comity.database.connection import open_database
from tests.doors.web.served import TOKEN_HASH, WITH_TOKEN, Served, served
from tests.servers.postgres import PostgresDatabases

URL = "https://example.org/careers"
DEEP = b"[" * 100_000
JSON = {"Content-Type": "application/json"}


def refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The body of an error response with this status and code."""
    body: dict[str, Any] = answer.json()
    assert (answer.status_code, body["error"]) == (status, code), answer.text
    assert list(body) == ["error", "message", "details"]
    assert "Traceback" not in answer.text
    return body


def test_invalid_bodies_are_refused(admin: httpx.Client) -> None:
    for content in (b"{", b"\xff\xfe", b"nonsense", DEEP, b'{"a":' * 50_000, b"1" * 5000, b"\0", b'"\xed\xa0\x80"'):
        refused(admin.post("/admin/sources", content=content, headers=JSON), 422, "bad_input")
    for content in (b"[]", b"null", b"3", b'"text"', b"{}", b"NaN"):
        details = refused(admin.post("/admin/sources", content=content, headers=JSON), 422, "bad_input")["details"]
        assert details[0]["where"].startswith("body")
    refused(admin.post("/admin/sources"), 422, "bad_input")
    for kind in ("text/plain", "multipart/form-data; boundary=x", ""):
        answer = admin.post("/admin/sources", content=b'{"careers_url": "x"}', headers={"Content-Type": kind})
        refused(answer, 415, "unsupported_media_type")
    refused(admin.post("/admin/sources", content=b" " * 300_000, headers=JSON), 413, "too_large")
    refused(admin.post("/admin/sources", content=iter([b" " * 100_000] * 4), headers=JSON), 413, "too_large")
    assert admin.get("/admin/sources").json()["total"] == 0


@pytest.mark.parametrize(
    "body",
    [
        {"careers_url": "https://example.org/\0"},
        {"careers_url": "https://" + "a" * 3000},
        {"careers_url": "https://example.org/\ud800"},
        {"careers_url": "ftp://example.org/"},
        {"careers_url": "http://"},
        {"careers_url": "http://[::1"},
        {"careers_url": 7},
        {"careers_url": URL, "org_name": "a\0b"},
        {"careers_url": URL, "org_name": "\udfff"},
        {"careers_url": URL, "org_name": "x" * 301},
        {"careers_url": URL, "parser_hint": "{\0}"},
        {"careers_url": URL, "parser_hint": "x" * 20_001},
        {"careers_url": URL, "crawl_frequency_days": 2**63},
        {"careers_url": URL, "crawl_frequency_days": -1},
        {"careers_url": URL, "crawl_frequency_days": True},
        {"careers_url": URL, "crawl_frequency_days": "3"},
        {"careers_url": URL, "crawl_frequency_days": 1e308},
        {"careers_url": URL, "importance": float("nan")},
        {"careers_url": URL, "importance": float("inf")},
        {"careers_url": URL, "time_window": "25:00-99:00"},
        {"careers_url": URL, "time_zone": "../../etc/passwd"},
        {"careers_url": URL, "country": "K\0"},
        {"careers_url": URL, "source_type": "pdf"},
        {"careers_url": URL, "status": "deleted"},
        {"careers_url": URL, "\ud800": 1},
        {"careers_url": URL, "id": "0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f"},
    ],
    ids=lambda body: json.dumps(body)[:60],
)
def test_an_invalid_source_is_refused(shared_api: httpx.Client, body: dict[str, Any]) -> None:
    answer = shared_api.post("/admin/sources", content=json.dumps(body), headers=JSON)
    assert answer.json()["error"] in ("bad_input", "bad_address"), answer.text
    assert answer.status_code == 422


def _migrated(url: str) -> str:
    database = open_database(url)
    schema.upgrade(database)
    database.close()
    return url


@pytest.mark.parametrize(
    ("path", "statuses"),
    [
        ("/admin/sources?limit=9223372036854775808", {422}),
        ("/admin/sources?limit=0", {422}),
        ("/admin/sources?limit=-1", {422}),
        ("/admin/sources?limit=1e3", {422}),
        ("/admin/sources?limit=" + "9" * 5000, {422}),
        ("/admin/sources?offset=9223372036854775807", {422}),
        ("/admin/sources?search=%00", {422}),
        ("/admin/sources?search=" + "x" * 301, {422}),
        ("/admin/sources?search=%25%5F%5C'\"", {200}),
        ("/admin/sources?search=%ff%fe", {200}),
        ("/admin/sources?org_type=a%00b", {422}),
        ("/admin/sources?status=asleep", {422}),
        ("/admin/sources?stauts=paused", {422}),
        ("/admin/sources?limit=1&limit=2", {422}),
        ("/admin/sources/1", {422}),
        ("/admin/sources/" + "0" * 3000, {422}),
        ("/admin/sources/00000000-0000-0000-0000-000000000000", {404}),
        ("/admin/crawl/logs?limit=201", {422}),
        ("/admin/crawl/logs?source_id=x", {422}),
        ("/admin/evidence?host=a.example&type=hearsay", {422}),
        ("/admin/crawl/logs?source_id=00000000-0000-0000-0000-000000000000", {404}),
        ("/admin/robots/%00", {422}),
        ("/admin/robots/exa mple", {422}),
        ("/admin/robots/..%2f..", {404, 422}),
        ("/admin/robots/" + "a" * 301, {422}),
        ("/admin/robots/unknown.example", {404}),
        ("/admin/domain_policies/%F0%9F%98%80", {200, 422}),
        ("/admin/domain_policies/unknown.example:99999", {422}),
        ("/admin/domain_policies/localhost%0d%0aX: y", {422}),
        ("/admin/../admin/sources", {200, 404}),
        ("//admin/sources", {404}),
        ("/docs/x", {404}),
    ],
    ids=lambda value: str(value)[:50],
)
def test_odd_paths_and_queries_get_an_error_response(shared_api: httpx.Client, path: str, statuses: set[int]) -> None:
    answer = shared_api.get(path)
    assert answer.status_code in statuses, answer.text
    assert answer.headers["content-type"] == "application/json"


def test_limits_of_a_policy_are_checked(shared_api: httpx.Client) -> None:
    for body in (
        {},
        {"max_pages": 2**63},
        {"max_concurrency": 0},
        {"min_request_interval_ms": -1},
        {"allow_js": 1},
        {"max_kb_per_page": None},
        {"max_pages": 1.5},
        {"host": "other.example"},
    ):
        refused(shared_api.post("/admin/domain_policies/example.org", json=body), 422, "bad_input")
    assert shared_api.get("/admin/domain_policies/example.org").json()["is_set"] is False


def test_a_405_names_the_methods_of_the_path(shared_api: httpx.Client) -> None:
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        answer = shared_api.request(method, "/admin/sources")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")
    # Not those of `/admin/crawl_policies/{policy_id}`, which the path fits, too.
    assert shared_api.options("/admin/crawl_policies/actions").headers["allow"] == "POST"
    assert shared_api.options("/admin/webhooks/deliveries").headers["allow"] == "GET, HEAD"
    refused(shared_api.post("/healthz"), 405, "method_not_allowed")


def test_head_answers_like_get_without_the_body(shared_api: httpx.Client) -> None:
    for path in ("/healthz", "/readyz", "/search?q=water", "/admin/crawl/status"):
        head, whole = shared_api.head(path), shared_api.get(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == str(len(whole.content))
    assert shared_api.head("/admin/crawl/run_due").status_code == 405
    assert shared_api.get("/healthz").json() == {"status": "ok", "failing": []}  # the connection is still in step


def test_the_length_of_a_password_is_limited(api: Served) -> None:
    with api.client() as client:
        for password in ("", "x" * 1025, 7, None, "\ud800"):
            content = json.dumps({"password": password})
            answer = client.post("/admin/session", content=content, headers=JSON)
            refused(answer, 422, "bad_input")
            assert "xxx" not in answer.text  # the value is not repeated


def test_an_incomplete_request_does_not_harm_the_server(api: Served, admin: httpx.Client) -> None:
    head = b"POST /admin/sources HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    head += f"Authorization: {WITH_TOKEN['Authorization']}\r\n".encode()
    for rest in (b"Content-Length: 100\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b"Host: y\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", api.port), timeout=60) as torn:
            torn.sendall(head + rest)
    assert admin.get("/healthz").status_code == 200


def test_malformed_http_gets_an_error_response(shared_api: httpx.Client) -> None:
    port = shared_api.base_url.port
    assert port is not None
    for line in (b"Transfer-Encoding: then\r\n", b"Content-Length: -5\r\n", b"\x16\x03\x01\r\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as odd:
            odd.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + line + b"\r\n")
            answer = b"".join(iter(lambda odd=odd: odd.recv(65_536), b""))  # type: ignore[misc]
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400")
        assert b"content-type: application/json" in head
        assert b"x-content-type-options: nosniff" in head
        assert json.loads(body)["error"] == "bad_request"


def test_the_size_of_a_head_is_limited(shared_api: httpx.Client) -> None:
    port = shared_api.base_url.port
    assert port is not None
    for headers in (b"X: " + b"a" * 1_000_000 + b"\r\n", b"X: a\r\n" * 200_000):
        answer = b""
        with socket.create_connection(("127.0.0.1", port), timeout=60) as endless, suppress(ConnectionError):
            endless.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + headers)
            answer = endless.recv(1000)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
    assert shared_api.get("/healthz").status_code == 200


def test_an_unavailable_state_is_a_503_without_details(
    api_url: str, tmp_path: Path, postgres_server: PostgresDatabases
) -> None:
    is_shared = api_url.startswith("postgresql")
    url = _migrated(postgres_server.create_database()) if is_shared else api_url
    with (
        served(url, env="prod", admin_token_hash=(TOKEN_HASH,)) as running,
        running.client(headers=WITH_TOKEN) as admin,
    ):
        assert admin.get("/readyz").json() == {"status": "ready", "failing": []}
        running.state.database.close()
        if is_shared:
            postgres_server.drop_database(url)
        else:
            for file in tmp_path.glob("comity.sqlite*"):
                file.write_bytes(b"this is no database" * 1000)
        for path in ("/readyz", "/admin/sources", "/admin/crawl/status"):
            answer = admin.get(path)
            told = refused(answer, 503, "state_unavailable")
            assert told["message"] == "temporarily unavailable; try again later"
        assert admin.get("/healthz").json() == {"status": "ok", "failing": []}


@pytest.mark.parametrize(("env", "message"), [("prod", "internal error"), ("dev", "unexpected ValueError")])
def test_an_unexpected_error_is_a_500_without_details(sqlite_url: str, env: str, message: str) -> None:
    kept = served(sqlite_url, env=env, admin_token_hash=(TOKEN_HASH,))
    with kept as running, running.client(headers=WITH_TOKEN) as admin:
        source = admin.post("/admin/sources", json={"careers_url": URL}).json()["id"]
        by_hand = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))
        with by_hand:
            by_hand.execute("UPDATE sources SET created_at = 'secret-value'")  # no code of ours could write that
        by_hand.close()
        answer = admin.get(f"/admin/sources/{source}")
        assert refused(answer, 500, "internal")["message"] == message
        assert "secret" not in answer.text
        assert admin.get("/healthz").status_code == 200
