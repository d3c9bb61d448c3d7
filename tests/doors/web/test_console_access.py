"""Users, sessions, roles, CSRF tokens of forms, and the record of changes, through the JSON API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import httpx
import pytest

from comity.clock import SystemClock
from comity.database import console as console_table
from comity.database.connection import Database
from comity.doors.web.activity import subject_of
from comity.model.console import Activity, Role
from comity.model.errors import AlreadyThere, BadInput, NotFound
from comity.operate import console
from comity.operate.console import (
    ConsoleSessions,
    add_user,
    change_password,
    change_role,
    list_activity,
    list_users,
    newest_activity,
    record_activity,
    remove_user,
)
from comity.settings import read_settings
from tests.doors.web.served import PASSWORD, PASSWORD_HASH, TOKEN_HASH, WITH_TOKEN, Served, served, until

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SOURCE = {"careers_url": "https://example.org/careers"}
CLOCK = SystemClock()


@pytest.fixture(autouse=True)
def _cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested is who gets in, not how long guessing takes."""
    monkeypatch.setattr(console, "hash_password", lambda _password: PASSWORD_HASH)
    console.decoy_hash.cache_clear()


@contextmanager
def logged_in(running: Served, user: str = "admin", password: str = PASSWORD) -> Iterator[tuple[httpx.Client, str]]:
    """A browser with a session, and the session's CSRF token."""
    with running.client() as browser:
        answer = browser.post("/admin/session", json={"user": user, "password": password})
        assert answer.status_code == 201, answer.text
        yield browser, answer.json()["csrf_token"]


@pytest.fixture
def kept(api_url: str) -> Iterator[Served]:
    """Behind a login, with two users in the state."""
    settings: dict[str, Any] = {"admin_password_hash": PASSWORD_HASH, "admin_token_hash": (TOKEN_HASH,)}
    with served(api_url, env="dev", **settings) as running:
        add_user(running.state.database, CLOCK, "Vera", PASSWORD, Role.VIEWER)
        add_user(running.state.database, CLOCK, "otto", PASSWORD, Role.OPERATOR)
        yield running


def test_a_session_survives_a_restart_and_is_known_to_a_second_process(api_url: str) -> None:
    with served(api_url, env="dev", admin_password_hash=PASSWORD_HASH) as first, logged_in(first) as (browser, token):
        cookies = {"comity_session": browser.cookies["comity_session"]}
        with (
            served(api_url, env="dev", admin_password_hash=PASSWORD_HASH) as second,
            second.client(cookies=cookies) as other,
        ):
            assert other.get("/admin/session").json()["csrf_token"] == token
    with served(api_url, env="dev", admin_password_hash=PASSWORD_HASH) as again, again.client(cookies=cookies) as later:
        assert later.post("/admin/sources", json=SOURCE, headers={"X-CSRF-Token": token}).status_code == 201
        with again.state.database.read() as connection:
            stored = str(list(connection.exec_driver_sql("SELECT * FROM console_sessions")))
        assert cookies["comity_session"] not in stored
        assert token not in stored
        assert later.delete("/admin/session", headers={"X-CSRF-Token": token}).status_code == 204
        assert later.get("/admin/session").status_code == 401


def test_another_admin_password_ends_the_sessions_of_the_old_one(sqlite_url: str) -> None:
    with served(sqlite_url, env="dev", admin_password_hash=PASSWORD_HASH) as first, logged_in(first) as (browser, _):
        cookies = {"comity_session": browser.cookies["comity_session"]}
    from argon2 import PasswordHasher

    other = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash("another password")
    with served(sqlite_url, env="dev", admin_password_hash=other) as again, again.client(cookies=cookies) as later:
        assert later.get("/admin/session").status_code == 401


def test_log_out_everywhere_ends_the_sessions_of_this_user_alone(kept: Served) -> None:
    with logged_in(kept, "otto") as (one, token), logged_in(kept, "OTTO ") as (two, _), logged_in(kept) as (admin, _):
        answer = one.delete("/admin/session/all", headers={"X-CSRF-Token": token})
        assert (answer.status_code, answer.json()) == (200, {"ended": 2})
        assert {one.get("/admin/session").status_code, two.get("/admin/session").status_code} == {401}
        assert admin.get("/admin/session").status_code == 200


def test_a_viewer_sees_only_the_host_of_a_webhook(kept: Served) -> None:
    """Many receivers know their callers by a path that only they know."""
    hidden = "T0/B0/x4Kd9"
    with kept.client(headers=WITH_TOKEN) as program:
        body = {"url": f"https://hooks.example/services/{hidden}", "events": ["job.done"]}
        webhook = program.post("/admin/webhooks", json=body).json()["id"]
        program.patch(f"/admin/webhooks/{webhook}", json={"url": f"{body['url']}?a=b"})
        assert hidden in program.get(f"/admin/webhooks/{webhook}").text
        assert hidden in program.get("/admin/webhooks").text
    paths = ("", f"/{webhook}", f"/{webhook}/edit", f"/{webhook}/delete", "?format=csv", "/deliveries")
    with logged_in(kept, "vera") as (viewer, _), logged_in(kept, "otto") as (operator, _):
        assert viewer.get(f"/admin/webhooks/{webhook}").json()["url"] == "https://hooks.example/…"
        for path in paths:
            for accepted in ("application/json", "text/html"):
                answer = viewer.get(f"/admin/webhooks{path}", headers={"Accept": accepted})
                assert hidden not in answer.text, path
        for path in paths[:2]:
            shown = viewer.get(f"/admin/webhooks{path}", headers={"Accept": "text/html"})
            assert "https://hooks.example/…" in shown.text
            assert hidden in operator.get(f"/admin/webhooks{path}", headers={"Accept": "text/html"}).text
        assert hidden not in viewer.get("/admin/activity").text
        assert "url: https://hooks.example/…" in viewer.get("/admin/activity").text


def test_a_user_who_is_removed_or_changed_is_noticed_within_a_second(kept: Served) -> None:
    database = kept.state.database
    with logged_in(kept, "vera") as (browser, token):
        assert browser.get("/admin/session").json()["role"] == "viewer"
        change_role(database, "vera", Role.OPERATOR)
        until(lambda: browser.get("/admin/session").json()["role"] == "operator")
        assert browser.post("/admin/crawl/run_due", headers={"X-CSRF-Token": token}).status_code == 202
        remove_user(database, "vera")
        until(lambda: browser.get("/admin/session").status_code == 401)
    with logged_in(kept, "otto") as (browser, _):
        change_password(database, "otto", "a new password")
        until(lambda: browser.get("/admin/session").status_code == 401)


def test_a_viewer_reads_everything_and_changes_nothing(kept: Served) -> None:
    """Over all routes: every unsafe admin request of a viewer is refused, but for the own session."""
    from tests.doors.web.test_access import ROUTES

    unsafe = [
        (method, entry.path)
        for entry in ROUTES._entries
        for method in sorted(entry.methods - {"GET", "HEAD", "OPTIONS"})
        if entry.path.startswith("/admin") and not (entry.rules.before_login or entry.rules.any_role)
    ]
    assert len(unsafe) > 25
    with logged_in(kept, "vera") as (browser, token):
        assert browser.get("/admin/sources").status_code == 200
        assert browser.get("/admin/activity").status_code == 200
        for method, template in unsafe:
            path = template.replace("{", "").replace("}", "")
            for headers in ({"X-CSRF-Token": token}, {"X-CSRF-Token": token, **FORM}, {}):
                refused = browser.request(method, path, headers=headers)
                assert refused.status_code == 403, (method, path)
                assert "not_operator" in refused.text or "Your role is viewer" in refused.text
        refused = browser.post("/admin/nothing", headers={"X-CSRF-Token": token})
        assert (refused.status_code, refused.json()["error"]) == (403, "not_operator")
        assert browser.delete("/admin/session", headers={"X-CSRF-Token": token}).status_code == 204
    newest = list_activity(kept.state.database, limit=1)[0]
    assert (newest.user, newest.role, newest.action, newest.status) == ("vera", Role.VIEWER, "log_out", 204)
    denied = list_activity(kept.state.database, user="vera", action="add_source", limit=1)[0]
    assert denied.status == 403


def test_a_form_without_its_token_is_refused_also_without_a_login(sqlite_url: str) -> None:
    with served(sqlite_url) as running, running.client() as client:
        assert client.post("/admin/crawl/run_due").status_code == 202  # a program, or curl
        for content in ("", "csrf_token=", "csrf_token=wrong", "a=1&csrf_token=%00"):
            refused = client.post("/admin/crawl/run_due", content=content, headers=FORM)
            assert refused.status_code == 403
            assert "<title>Not allowed" in refused.text  # a form gets a page
        refused = client.post("/admin/crawl/run_due", headers={**FORM, "Content-Length": "0"})
        assert (refused.status_code, "<title>Not allowed" in refused.text) == (403, True)
        # A cookie of the attacker's making, with a token that fits nothing.
        forged = client.post("/admin/crawl/run_due", headers={**FORM, "Cookie": "comity_form=x", "X-CSRF-Token": "x"})
        assert forged.status_code == 403


def test_a_form_needs_the_token_of_its_own_session(kept: Served) -> None:
    with logged_in(kept, "otto") as (browser, token), logged_in(kept) as (_, of_another):
        for sent in ("", "wrong", of_another):
            refused = browser.post("/admin/crawl/run_due", headers={**FORM, "X-CSRF-Token": sent})
            assert (refused.status_code, "<title>Not allowed" in refused.text) == (403, True)
        assert browser.post("/admin/crawl/run_due", headers={**FORM, "X-CSRF-Token": token}).status_code == 303


def test_the_first_user_closes_the_console_and_the_last_one_opens_it(sqlite_url: str) -> None:
    with served(sqlite_url) as running, running.client() as client:
        assert client.get("/admin/session").json()["kind"] == "open"
        add_user(running.state.database, CLOCK, "ada", PASSWORD, Role.OPERATOR)
        until(lambda: client.get("/admin/session").status_code == 401)
        assert client.post("/admin/crawl/run_due").status_code == 401
        with logged_in(running, "ada") as (browser, _):
            assert browser.get("/admin/session").json()["user"] == "ada"
        remove_user(running.state.database, "ada")
        until(lambda: client.get("/admin/session").status_code == 200)


def test_who_did_what_is_recorded_and_no_secret_is(kept: Served) -> None:
    with logged_in(kept, "otto") as (browser, token):
        headers = {"X-CSRF-Token": token}
        assert browser.post("/admin/sources", json=SOURCE, headers=headers).status_code == 201
        assert browser.post("/admin/sources", json={"careers_url": 7}, headers=headers).status_code == 422
        assert browser.post("/admin/sources", json=SOURCE).status_code == 403
        entry = {"entries": ["https://user:hush@example.org/a?token=hush"], "reason": "asked"}
        browser.post("/admin/takedowns", json=entry, headers=headers)
        listed = browser.get("/admin/activity", params={"user": "otto"}).json()
        assert browser.get("/admin/activity", params={"action": "add_source", "limit": 1}).json()["has_more"] is True
    with kept.client() as program:
        assert program.post("/admin/crawl/run_due", headers=WITH_TOKEN).status_code == 202
        for user in ("otto", "my secret password"):
            assert program.post("/admin/session", json={"user": user, "password": "guess"}).status_code == 401
        program.post("/admin/session", json={"user": "otto"})  # not an attempt
        program.get("/admin/sources", headers=WITH_TOKEN)
    found = [(each["action"], each["subject"], each["status"]) for each in listed["activity"]]
    assert found[1:] == [
        ("add_source", "", 403),
        ("add_source", "careers_url: 7", 422),
        ("add_source", "careers_url: https://example.org/careers", 201),
        ("log_in", "", 201),
    ]
    assert found[0][0] == "add_takedowns"
    assert listed["activity"][0] | {"number": 0, "at": ""} == {
        "number": 0, "at": "", "user": "otto", "role": "operator", "by_token": False, "address": "127.0.0.1",
        "action": "add_takedowns", "path": "/admin/takedowns", "subject": found[0][1], "status": found[0][2],
    }  # fmt: skip
    everything = list_activity(kept.state.database, limit=100)
    assert [(each.user, each.by_token, each.action, each.status) for each in everything[:3]] == [
        (None, False, "log_in", 401),
        ("otto", False, "log_in", 401),
        (None, True, "run_due", 202),
    ]
    assert not any("hush" in str(each) or "guess" in str(each) or "secret" in str(each) for each in everything)
    assert [each.number for each in list_activity(kept.state.database, before=everything[2].number, limit=1)] == [
        everything[3].number
    ]
    assert list_activity(kept.state.database, after=everything[1].number, limit=5) == everything[:1]


@pytest.mark.parametrize(
    ("content_type", "query", "body", "subject"),
    [
        (
            "application/json",
            "",
            b'{"url": "https://a.example/?key=1", "secret": "x"}',
            "url: https://a.example/?key=***",
        ),
        ("application/json", "", b'{"action": "run_now", "ids": ["a", "b"]}', "action: run_now; ids: 2 entries"),
        ("application/json", "", b'{"seeds": ["a.example"], "password": "x"}', "seeds: a.example"),
        ("application/json", "", b'{"site": "a.example", "max_pages": 5}', "site: a.example"),
        ("application/json", "", b'{"host": {"deep": 1}, "name": null, "ids": []}', ""),
        ("application/json", "", b"[" * 30_000, ""),
        ("application/json", "", b"[1]", ""),
        ("application/x-www-form-urlencoded", "", b"ids=1&ids=2&csrf_token=t&password=p", "ids: 2 entries"),
        ("application/x-www-form-urlencoded", "", b"urls=one%0D%0Atwo", "urls: 2 lines"),
        ("application/x-www-form-urlencoded", "", b"a&" * 600, ""),
        ("", "entry=example.org&token=x", b"", "entry: example.org"),
        ("text/csv", "", b"a,b\n" * 400, "1,600 bytes"),
        ("application/json", "", b" " * 70_000, "70,000 bytes"),
    ],
)
def test_what_a_change_is_about(content_type: str, query: str, body: bytes, subject: str) -> None:
    assert subject_of(content_type, query, body) == subject


@pytest.mark.parametrize(
    ("content_type", "query", "body", "subject"),
    [
        ("application/json", "", b'{"url": "https://a.example/hush"}', "url: https://a.example/…"),
        ("application/json", "", b'{"url": ["https://a.example/hush"]}', "url: …"),
        ("application/json", "", b'{"url": [["https://a.example/hush"], 2]}', "url: …"),
        ("application/json", "", b'{"url": {"href": "https://a.example/hush"}}', "url: …"),
        ("application/json", "", b'{"url": null, "enabled": false}', "enabled: False"),
        ("application/x-www-form-urlencoded", "", b"url=https://a.example/hush&url=https://b.example/hush", "url: …"),
        ("", "url=https://a.example/hush&url=hush", b"", "url: …"),
    ],
)
def test_a_change_of_a_webhook_shows_only_the_host_of_its_url(
    content_type: str, query: str, body: bytes, subject: str
) -> None:
    assert subject_of(content_type, query, body, hides_paths=True) == subject


def test_the_record_is_bounded_and_takes_any_text(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_table, "_TRIM_EVERY", 5)
    monkeypatch.setattr(console_table, "MAX_ACTIVITIES", 3)
    for number in range(12):
        text = f"\0\ud800{number}" + "x" * 900
        activity = Activity(None, None, False, "::1" * 40, "a" * 300, text, text, 200)
        record_activity(database, CLOCK, activity)
    found = list_activity(database, limit=100)
    assert len(found) <= 3 + 5
    assert newest_activity(database) == found[0].number
    assert len(found[0].subject) == 500


def test_sessions_end_and_are_bounded(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    monkeypatch.setattr(console_table, "MAX_SESSIONS", 3)
    sessions = ConsoleSessions(database, CLOCK, 60.0, PASSWORD_HASH)
    names = []
    for _ in range(5):
        started = sessions.start("admin", PASSWORD_HASH)
        assert started is not None
        names.append(started[0])
    fresh = ConsoleSessions(database, CLOCK, 60.0, PASSWORD_HASH)
    assert [asyncio.run(fresh.get(name)) is not None for name in names] == [False, False, True, True, True]
    with database.write() as connection:
        connection.execute(
            console_table.console_sessions.update().values(expires_at=CLOCK.now() - timedelta(seconds=1))
        )
    later = ConsoleSessions(database, CLOCK, 60.0, PASSWORD_HASH)
    assert asyncio.run(later.get(names[-1])) is None
    assert asyncio.run(later.get("guess")) is None
    assert sessions.start("ghost", PASSWORD_HASH) is None  # removed while the password was checked
    sessions.start("admin", PASSWORD_HASH)
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM console_sessions").scalar() == 1


def test_users_are_kept_by_the_rules(database: Database) -> None:
    added = add_user(database, CLOCK, " Ada ", PASSWORD, Role.VIEWER)
    assert (added.name, added.role, added.last_login_at) == ("ada", Role.VIEWER, None)
    with pytest.raises(AlreadyThere):
        add_user(database, CLOCK, "ADA", PASSWORD, Role.OPERATOR)
    for name in ("", "a b", "x" * 65, "-a", "a\0", "<b>"):
        with pytest.raises(BadInput):
            add_user(database, CLOCK, name, PASSWORD, Role.VIEWER)
    assert [user.name for user in list_users(database)] == ["ada"]
    for act in (lambda: remove_user(database, "bob"), lambda: change_role(database, "bob", Role.VIEWER)):
        with pytest.raises(NotFound):
            act()


def test_settings_say_where_they_come_from_and_show_no_secret(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from comity.run.settings_in_force import _GROUPS, settings_in_force
    from comity.settings import Settings

    monkeypatch.setenv("COMITY_DELAY", "2.5")
    monkeypatch.setenv("COMITY_CONCURRENCY", "9")
    monkeypatch.setenv("AIDJOBS_CONTACT_EMAIL", "ops@example.org")
    secret = {
        "meili_key": "hush", "proxy": "http://u:hush@proxy.example:1", "proxy_user": "hush", "proxy_password": "hush",
        "headers": "example.com: X-A: hush", "cookies": "a=hush", "auth": "basic hush env:X", "login": "/hush.json",
        "admin_password_hash": PASSWORD_HASH, "admin_token_hash": "ab" * 32,
        "database_url": "postgresql://u:hush@db.example/x", "redis_url": "redis://:hush@redis.example/0",
    }  # fmt: skip
    found = settings_in_force(read_settings(concurrency=5, **secret), {"COMITY_DELAY": "", "COMITY_CONCURRENCY": "",
                                                                       "AIDJOBS_CONTACT_EMAIL": ""})  # fmt: skip
    by_name = {each.name: each for each in found}
    assert [each.name for each in found] == list(Settings.model_fields)
    assert set(_GROUPS) <= set(by_name)
    assert (by_name["delay_s"].value, by_name["delay_s"].source) == ("2.5", "environment")
    assert (by_name["concurrency"].value, by_name["concurrency"].source) == ("5", "option")
    assert (by_name["per_host"].value, by_name["per_host"].source) == ("1", "default")
    assert (by_name["contact"].variable, by_name["contact"].source) == ("AIDJOBS_CONTACT_EMAIL", "environment")
    assert not any(word in str(found) for word in ("hush", PASSWORD_HASH, "ab" * 32))
    assert by_name["proxy_password"].is_set
    assert by_name["database_url"].value == "postgresql://***@db.example/x"
    with served(sqlite_url, admin_token_hash=(TOKEN_HASH,)) as running, running.client() as client:
        assert client.get("/admin/settings").status_code == 401
        listed = client.get("/admin/settings", headers=WITH_TOKEN)
        assert TOKEN_HASH not in listed.text
        assert {"name": "admin_token_hash", "is_set": True, "value": None}.items() <= next(
            each for each in listed.json()["settings"] if each["name"] == "admin_token_hash"
        ).items()
