"""Who is admitted to admin routes: this machine in dev, otherwise a session or a token, and no page of another site."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from comity.doors.web.access import Access, AccessSettings, RequestHead, is_loopback
from comity.doors.web.application import ROUTERS
from comity.doors.web.audiences import RouteTable
from comity.doors.web.errors import ApiError
from comity.doors.web.logins import FAILURE_WINDOW_S, MAX_FAILURES, LoginThrottle, wait_after
from comity.doors.web.routes import session
from comity.operate.console import LoginAttempt, login_attempts
from comity.upkeep.sweep_queue import QueueSweeper
from tests.doors.web.served import PASSWORD, PASSWORD_HASH, TOKEN, TOKEN_HASH, WITH_TOKEN, Served, served, until

NOW = 1_800_000_000.0
OPEN = AccessSettings(is_dev=True)
CLOSED = AccessSettings(is_dev=False)
KEPT = AccessSettings(is_dev=False, token_hashes=(TOKEN_HASH,))


def _head(path: str = "/admin/sources", method: str = "GET", client: str = "127.0.0.1", **headers: str) -> RequestHead:
    named = {name.replace("_", "-"): value for name, value in ({"host": "localhost:8000"} | headers).items()}
    return RequestHead(method, path, client, named)


def _all_routes() -> RouteTable:
    app = FastAPI(openapi_url=None)
    for router in ROUTERS:
        app.include_router(router)
    return RouteTable(app.routes)


ROUTES = _all_routes()


def _verdict(settings: AccessSettings, head: RequestHead) -> str:
    rules = ROUTES.match(head.method, head.path).rules
    try:
        asyncio.run(Access(settings).admit(head, rules, NOW))
    except ApiError as error:
        return error.code
    return "in"


@pytest.mark.parametrize(
    ("settings", "head", "verdict"),
    [
        (OPEN, _head(), "in"),
        (OPEN, _head(host="[::1]:8000", client="::1"), "in"),
        (OPEN, _head(host="127.0.0.5", client="::ffff:127.0.0.1"), "in"),
        (OPEN, _head(client="192.0.2.7"), "admin_closed"),
        (OPEN, _head(client=""), "admin_closed"),
        (OPEN, _head(x_forwarded_for="127.0.0.1"), "admin_closed"),
        (OPEN, _head(forwarded="for=127.0.0.1"), "admin_closed"),
        (OPEN, _head(x_real_ip="127.0.0.1"), "admin_closed"),
        (OPEN, _head(via="1.1 proxy"), "admin_closed"),
        # DNS rebinding: a name of the attacker's leads here.
        (OPEN, _head(host="rebound.example:8000"), "host_not_allowed"),
        (OPEN, _head(host=""), "host_not_allowed"),
        (OPEN, _head(host="localhost.evil.example"), "host_not_allowed"),
        (OPEN, _head(host="127.0.0.1.evil.example"), "host_not_allowed"),
        (OPEN, _head("/search", host="rebound.example"), "host_not_allowed"),
        (OPEN, _head("/healthz", host="10.1.2.3"), "in"),
        # Another site's page sends a form here.
        (OPEN, _head(method="POST", origin="https://evil.example"), "csrf"),
        (OPEN, _head(method="POST", origin="null"), "csrf"),
        (OPEN, _head(method="POST", origin="http://["), "csrf"),
        (OPEN, _head(method="POST", origin="http://localhost:9000"), "csrf"),
        (OPEN, _head(method="DELETE", sec_fetch_site="cross-site"), "csrf"),
        (OPEN, _head(method="PATCH", sec_fetch_site="same-site"), "csrf"),
        (OPEN, _head(method="POST", origin="http://localhost:8000", sec_fetch_site="same-origin"), "in"),
        # Another site's page loads a picture from here, which is a query; its links lead here.
        (OPEN, _head("/admin/pages/query", sec_fetch_site="cross-site", sec_fetch_mode="no-cors"), "csrf"),
        (OPEN, _head("/admin/pages/query", sec_fetch_site="same-site", sec_fetch_mode="cors"), "csrf"),
        (OPEN, _head(sec_fetch_site="cross-site", sec_fetch_mode="navigate"), "in"),
        (OPEN, _head(sec_fetch_site="same-origin", sec_fetch_mode="cors"), "in"),
        (OPEN, _head(method="POST"), "in"),
        (CLOSED, _head(), "admin_closed"),
        (CLOSED, _head("/admin"), "admin_closed"),
        (CLOSED, _head("/admin/session", method="POST"), "admin_closed"),
        (CLOSED, _head("/administrate"), "in"),
        (CLOSED, _head("/search", client="192.0.2.7", host="jobs.example"), "in"),
        (KEPT, _head(), "unauthorized"),
        (KEPT, _head(authorization=f"Bearer {TOKEN}", client="192.0.2.7", host="jobs.example"), "in"),
        (KEPT, _head(authorization=f"bearer  {TOKEN} "), "in"),
        (KEPT, _head(authorization=f"Bearer {TOKEN}x"), "unauthorized"),
        (KEPT, _head(authorization=f"Bearer {TOKEN_HASH}"), "unauthorized"),
        (KEPT, _head(authorization="Bearer "), "unauthorized"),
        (KEPT, _head(authorization=f"Basic {TOKEN}"), "unauthorized"),
        (KEPT, _head(method="POST", authorization=f"Bearer {TOKEN}", origin="https://any.example"), "in"),
        (KEPT, _head(cookie="__Host-comity_session=guess; comity_session=guess"), "unauthorized"),
        (AccessSettings(is_dev=True, token_hashes=(TOKEN_HASH,)), _head(), "unauthorized"),
        (
            AccessSettings(is_dev=False, allowed_hosts=("Jobs.example",)),
            _head("/search", host="jobs.example:443"),
            "in",
        ),
        (AccessSettings(is_dev=False, allowed_hosts=("jobs.example",)), _head("/search"), "host_not_allowed"),
    ],
)
def test_who_is_admitted(settings: AccessSettings, head: RequestHead, verdict: str) -> None:
    assert _verdict(settings, head) == verdict


@pytest.mark.parametrize(
    ("name", "expected"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("::", False), ("db.example", False)],
)
def test_a_loopback_address_means_dev(name: str, expected: bool) -> None:
    assert is_loopback(name) is expected


def test_five_wrong_passwords_block_an_address_for_a_while() -> None:
    throttle = LoginThrottle()
    for number in range(MAX_FAILURES):
        assert throttle.wait_s("2001:db8::1", NOW + number) == 0
        throttle.note_failure(f"2001:db8::{number:x}", NOW + number)  # one customer has many such addresses
    assert throttle.wait_s("2001:db8::99", NOW + 10) == pytest.approx(FAILURE_WINDOW_S - 10)
    assert throttle.wait_s("2001:db8:1::1", NOW + 10) == 0
    assert throttle.wait_s("2001:db8::1", NOW + FAILURE_WINDOW_S) == 0
    for number in range(20_000):
        throttle.note_failure(f"10.0.{number // 256}.{number % 256}", NOW)
    assert len(throttle._failures) == 10_000
    throttle.note_failure("192.0.2.1", NOW)
    throttle.forgive("192.0.2.1")
    assert throttle.wait_s("192.0.2.1", NOW) == 0


@pytest.fixture
def kept(sqlite_url: str) -> Iterator[Served]:
    """Behind a login, as in production; cookies are not asked to be secure, because there is no TLS on loopback."""
    with served(sqlite_url, env="dev", admin_password_hash=PASSWORD_HASH, admin_token_hash=(TOKEN_HASH,)) as running:
        yield running


def test_a_session_from_login_to_logout(kept: Served) -> None:
    with kept.client() as browser:
        assert browser.get("/admin/sources").status_code == 401
        answer = browser.post("/admin/session", json={"password": PASSWORD})
        assert answer.status_code == 201
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("comity_session=")
        assert {"httponly", "samesite=lax", "path=/", "max-age=43200"} <= set(cookie.lower().split("; "))
        token = answer.json()["csrf_token"]
        assert browser.get("/admin/session").json() == answer.json() | {"kind": "session"}
        assert browser.get("/admin/sources").status_code == 200
        new = {"careers_url": "https://example.org/careers"}
        for headers in ({}, {"X-CSRF-Token": "wrong"}, {"X-CSRF-Token": ""}):
            refused = browser.post("/admin/sources", json=new, headers=headers)
            assert (refused.status_code, refused.json()["error"]) == (403, "csrf")
        forged = {"X-CSRF-Token": token, "Origin": "https://evil.example"}
        assert browser.post("/admin/sources", json=new, headers=forged).status_code == 403
        assert browser.post("/admin/sources", json=new, headers={"X-CSRF-Token": token}).status_code == 201
        stolen = browser.cookies["comity_session"]
        with kept.client(headers={"Cookie": f"a b[]=\x01?; ;=; comity_session={stolen}"}) as cluttered:
            assert cluttered.get("/admin/sources").status_code == 200  # with the other cookies of this host
        assert browser.delete("/admin/session").status_code == 403
        gone = browser.delete("/admin/session", headers={"X-CSRF-Token": token})
        assert (gone.status_code, gone.content) == (204, b"")
    with kept.client(headers={"Cookie": f"comity_session={stolen}"}) as thief:
        assert thief.get("/admin/sources").status_code == 401


def test_a_second_login_ends_the_first_session_of_that_browser(kept: Served) -> None:
    with kept.client() as browser:
        browser.post("/admin/session", json={"password": PASSWORD})
        first = browser.cookies["comity_session"]
        assert browser.post("/admin/session", json={"password": PASSWORD}).status_code == 201
        assert browser.cookies["comity_session"] != first
    with kept.client(cookies={"comity_session": first}) as old:
        assert old.get("/admin/session").status_code == 401


def test_guessing_passwords_is_slowed_down(kept: Served) -> None:
    with kept.client() as guesser:
        for number in range(MAX_FAILURES):
            refused = guesser.post("/admin/session", json={"password": f"guess {number}"})
            assert (refused.status_code, refused.json()["message"]) == (401, "the user name or the password is wrong")
        stopped = guesser.post("/admin/session", json={"password": PASSWORD})
        assert (stopped.status_code, stopped.json()["error"]) == (429, "too_many_attempts")
        assert 1 <= int(stopped.headers["retry-after"]) <= FAILURE_WINDOW_S + 1
        assert guesser.get("/admin/session", headers=WITH_TOKEN).json()["kind"] == "token"


def test_attempts_during_the_look_at_the_record_count(kept: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """One attempt reads the record before five others are in it, and checks its password after them."""
    is_reading, may_go_on = threading.Event(), threading.Event()

    def read_slowly(*arguments: Any) -> list[LoginAttempt]:
        found = login_attempts(*arguments)
        if not is_reading.is_set():
            is_reading.set()
            assert may_go_on.wait(60)
        return found

    monkeypatch.setattr(session, "login_attempts", read_slowly)
    with kept.client() as first, kept.client() as others, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(first.post, "/admin/session", json={"password": PASSWORD})
        try:
            assert is_reading.wait(60)
            for number in range(MAX_FAILURES):
                assert others.post("/admin/session", json={"password": f"guess {number}"}).status_code == 401
        finally:
            may_go_on.set()
        stopped = waiting.result(60)
    assert (stopped.status_code, stopped.json()["error"]) == (429, "too_many_attempts")


def test_every_process_of_a_state_counts_wrong_passwords(api_url: str) -> None:
    configured = {"env": "dev", "admin_password_hash": PASSWORD_HASH}
    with served(api_url, **configured) as one, served(api_url, **configured) as other:
        with one.client() as guesser:
            guesser.post("/admin/session", json={"password": "a wrong one, before"})
            assert guesser.post("/admin/session", json={"password": PASSWORD}).status_code == 201
            for number in range(MAX_FAILURES):
                assert guesser.post("/admin/session", json={"password": f"guess {number}"}).status_code == 401
        with other.client() as guesser:
            stopped = guesser.post("/admin/session", json={"password": PASSWORD})
        assert (stopped.status_code, stopped.json()["error"]) == (429, "too_many_attempts")
        assert 1 <= int(stopped.headers["retry-after"]) <= FAILURE_WINDOW_S + 1


def test_a_correct_password_and_the_end_of_the_window_forgive_wrong_ones() -> None:
    wrong = [LoginAttempt("192.0.2.1", is_correct=False, age_s=float(age)) for age in range(10, 10 + MAX_FAILURES)]
    correct = LoginAttempt("192.0.2.1", is_correct=True, age_s=9.0)
    assert wait_after(wrong, "192.0.2.1") == FAILURE_WINDOW_S - (9 + MAX_FAILURES)
    assert wait_after(wrong, "192.0.2.2") == 0
    assert wait_after(wrong[:-1], "192.0.2.1") == 0
    assert wait_after([correct, *wrong], "192.0.2.1") == 0
    assert wait_after([*wrong[:-1], correct, wrong[-1]], "192.0.2.1") == 0
    others = [LoginAttempt(f"2001:db8::{number}", is_correct=False, age_s=1.0) for number in range(MAX_FAILURES)]
    assert wait_after([*others, *wrong], "2001:db8::99") == FAILURE_WINDOW_S - 1


def test_outside_dev_the_cookie_is_only_for_this_host_over_tls(sqlite_url: str) -> None:
    with served(sqlite_url, env="prod", admin_password_hash=PASSWORD_HASH) as running, running.client() as browser:
        cookie = browser.post("/admin/session", json={"password": PASSWORD}).headers["set-cookie"]
    assert cookie.startswith("__Host-comity_session=")
    assert {"secure", "path=/", "httponly", "samesite=lax"} <= set(cookie.lower().split("; "))
    assert "domain" not in cookie.lower()


def test_outside_dev_admin_routes_are_closed_without_a_login(sqlite_url: str) -> None:
    with served(sqlite_url, env="prod") as running, running.client() as client:
        for method, path in (("GET", "/admin/sources"), ("POST", "/admin/crawl/run_due"), ("GET", "/admin/nothing")):
            answer = client.request(method, path)
            assert (answer.status_code, answer.json()["error"]) == (403, "admin_closed")
        assert client.post("/admin/session", json={"password": "x"}).status_code == 403
        assert client.get("/healthz").status_code == 200


def test_in_dev_this_machine_needs_no_login(sqlite_url: str) -> None:
    with served(sqlite_url) as running, running.client() as client:
        assert client.get("/admin/session").json() == {
            "kind": "open",
            "user": None,
            "role": "operator",
            "csrf_token": None,
            "expires_at": None,
        }
        assert client.post("/admin/crawl/run_due").json() == {"queued": 0}
        rebound = client.get("/admin/sources", headers={"Host": "rebound.example"})
        assert (rebound.status_code, rebound.json()["error"]) == (403, "host_not_allowed")
        assert client.post("/admin/crawl/run_due", headers={"Origin": "https://evil.example"}).status_code == 403
        login = client.post("/admin/session", json={"password": "whatever"})
        assert (login.status_code, login.json()["error"]) == (403, "login_not_configured")


def test_a_trusted_proxy_passes_on_the_client_and_the_scheme(sqlite_url: str) -> None:
    settings: dict[str, Any] = {"env": "prod", "admin_password_hash": PASSWORD_HASH}
    through = {"X-Forwarded-For": "192.0.2.9", "X-Forwarded-Proto": "https", "Host": "jobs.example"}
    with served(sqlite_url, trusted_proxies="127.0.0.1", **settings) as running, running.client() as proxy:
        answer = proxy.get("/healthz", headers=through)
        assert "max-age" in answer.headers["strict-transport-security"]
        origin = through | {"Origin": "https://jobs.example"}
        for number in range(MAX_FAILURES):
            proxy.post("/admin/session", json={"password": f"guess {number}"}, headers=origin)
        assert proxy.post("/admin/session", json={"password": PASSWORD}, headers=origin).status_code == 429
        other = origin | {"X-Forwarded-For": "192.0.2.10"}
        assert proxy.post("/admin/session", json={"password": PASSWORD}, headers=other).status_code == 201


def test_every_response_has_the_security_headers(kept: Served) -> None:
    with kept.client() as client:
        answers: list[httpx.Response] = [
            client.get("/healthz"),
            client.get("/nothing"),
            client.get("/admin/sources"),
            client.post("/admin/sources", content=b"x" * 300_000, headers=WITH_TOKEN),
        ]
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers


def test_health_and_metrics_show_a_loop_that_failed(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The upkeep of the queue fails at every pass: it is logged, counted and shown, and starts again."""

    def fail(_sweeper: QueueSweeper) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(QueueSweeper, "sweep", fail)
    with served(sqlite_url) as running, running.client() as client:
        health = until(lambda: (found := client.get("/healthz")).json()["failing"] and found)
        assert (health.status_code, health.json()) == (200, {"status": "ok", "failing": ["upkeep of the queue"]})
        assert until(lambda: client.get("/readyz").json()["failing"]) == ["upkeep of the queue"]
        counted = re.compile(r'^comity_web_loop_faults_total\{loop="upkeep of the queue"\} [2-9]', re.MULTILINE)
        until(lambda: counted.search(client.get("/admin/metrics").text))
