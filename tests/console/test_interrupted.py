"""A session that ends while a person fills in a form, and other haste: nothing that was entered is lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from comity.clock import SystemClock
from comity.model.console import Role
from comity.operate import console
from comity.operate.console import add_user
from comity.reports.sources import list_sources
from tests.console.conftest import OpenPage
from tests.console.looks import faults
from tests.doors.web.served import PASSWORD, PASSWORD_HASH, Served, served, until

HINT = '{"items": "jobs",\n "title": "name <b>&amp;", "url": "link"}'
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def kept(migrated_sqlite_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A console with a login: the admin of the settings, and a viewer."""
    monkeypatch.setattr(console, "hash_password", lambda _password: PASSWORD_HASH)
    console.decoy_hash.cache_clear()
    path = tmp_path / "comity.sqlite"
    shutil.copy(migrated_sqlite_file, path)
    with served(f"sqlite:///{path}", env="dev", admin_password_hash=PASSWORD_HASH) as running:
        add_user(running.state.database, SystemClock(), "vera", PASSWORD, Role.VIEWER)
        yield running


def log_in(page: Page, user: str = "admin") -> None:
    page.get_by_label("User").fill(user)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def end_sessions(kept: Served, page: Page) -> None:
    """End them on the server, as time does; the browser keeps its cookie."""
    sessions = kept.server.config.app.state.services.sessions  # type: ignore[union-attr]
    sessions.end_all("admin")
    until(lambda: page.request.get(f"{kept.url}/admin/session").status == 401)


def fill_in(page: Page) -> None:
    page.get_by_label("Careers page").fill("https://example.org/careers")
    page.get_by_label("Organisation", exact=False).first.fill("Médecins <b>du</b> Littoral")
    page.get_by_label("Parser hint").fill(HINT)
    page.get_by_label("Run it at once").uncheck()


def test_a_form_whose_session_ended_is_sent_after_the_login(visit: OpenPage, kept: Served) -> None:
    page = visit("/sources/new", of=kept)
    log_in(page)
    fill_in(page)
    end_sessions(kept, page)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("Your session has ended. What you entered is kept")).to_be_visible()
    assert faults(page) == []
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("The user name or the password is wrong.")).to_be_visible()
    log_in(page)
    expect(page.get_by_role("heading", name="Send what you entered?")).to_be_visible()
    expect(page.locator("main")).to_contain_text("Médecins <b>du</b> Littoral")
    assert list_sources(kept.state.database)[1] == 0
    assert faults(page) == []
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Added: paused until it is resumed.")).to_be_visible()
    (source,), _ = list_sources(kept.state.database)
    assert (source.org_name, source.careers_url) == ("Médecins <b>du</b> Littoral", "https://example.org/careers")
    assert json.loads(source.parser_hint or "") == json.loads(HINT)


def test_a_form_that_is_older_than_the_session_is_sent_after_a_question(visit: OpenPage, kept: Served) -> None:
    """In two tabs: in one of them a person logs out and in again, the other has a form of the earlier session."""
    page = visit("/sources/new", of=kept)
    log_in(page)
    fill_in(page)
    other = page.context.new_page()
    other.goto(f"{kept.url}/admin/account")
    other.get_by_role("button", name="Log out", exact=True).last.click()
    log_in(other)
    expect(other.get_by_role("heading", name="Dashboard")).to_be_visible()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("the page is older than your session")).to_be_visible()
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Added: paused until it is resumed.")).to_be_visible()


def test_a_check_while_typing_does_not_leave_the_form(visit: OpenPage, kept: Served) -> None:
    page = visit("/sources/new", of=kept)
    log_in(page)
    fill_in(page)
    end_sessions(kept, page)
    with page.expect_response("**/sources/check-hint") as checked:
        page.get_by_label("Parser hint").press_sequentially(" ")
    assert checked.value.status == 401
    assert page.get_by_label("Careers page").input_value() == "https://example.org/careers"
    assert page.url.endswith("/sources/new")


def test_a_filter_leads_through_the_login_and_back(kept: Served) -> None:
    with kept.client() as client:
        filtered = client.get("/admin/takedowns?q=a", headers={"HX-Request": "true"})
        assert filtered.headers["hx-redirect"] == "/admin/login?next=%2Ftakedowns%3Fq%3Da"


def test_what_other_sites_send_is_not_kept(kept: Served) -> None:
    body = "entries=example.org&csrf_token=x"
    own = {"Origin": kept.url, "Sec-Fetch-Site": "same-origin"}
    with kept.client(headers=FORM) as client:
        for headers in ({}, {"Sec-Fetch-Site": "none"}):  # no browser says where it comes from
            answer = client.post("/admin/takedowns", content=body, headers=headers)
            assert (answer.status_code, answer.headers["location"]) == (303, "/admin/login")
        for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"}):
            answer = client.post("/admin/takedowns", content=body, headers=headers)
            assert (answer.status_code, "example.org" in answer.text) == (403, False)
        asked = client.post("/admin/takedowns", content=body, headers=own)
        assert (asked.status_code, "example.org" in asked.text) == (401, True)
        # Neither a logout nor the login itself is sent again, and nothing that is too large is read.
        for path in ("/admin/logout", "/admin/account/logout"):
            assert client.post(path, content="", headers=own).status_code == 303
        assert "unsent" not in client.post("/admin/login", content="user=a", headers=own).text
        large = client.post("/admin/takedowns", content="entries=" + "a" * 300_000, headers=own)
        assert large.status_code == 303
        assert client.post("/admin/takedowns", content=b"entries=%ff", headers=own).status_code == 303
        assert client.post("/admin/sources", content="a=1&" * 3000, headers=own).status_code == 303


def test_what_is_carried_through_the_login_leads_nowhere_else(kept: Served) -> None:
    for unsent in (
        '["//evil.example/", []]',
        '["https://evil.example/", []]',
        '["/\\\\evil.example", []]',
        '["/login", []]',
        '["javascript:alert(1)", []]',
        '["/sources", 1]',
        '["/sources", [["a"]]]',
        "[1, []]",
        "{}",
        "[" * 5000,
        "",
    ):
        with kept.client(headers={"Accept": "text/html"}) as client:
            token = client.get("/admin/login").text.partition('name="csrf_token" value="')[2].partition('"')[0]
            fields = {"csrf_token": token, "user": "admin", "password": PASSWORD, "unsent": unsent}
            answer = client.post("/admin/login", data=fields)
            assert (answer.status_code, answer.headers.get("location")) == (303, "/admin"), unsent


def test_secrets_are_sent_but_not_shown(kept: Served) -> None:
    with kept.client() as client:
        own = {**FORM, "Origin": kept.url}
        page = client.post("/admin/webhooks", content="url=https%3A%2F%2Fh.example&secret=hunter2", headers=own).text
        token = page.partition('name="csrf_token" value="')[2].partition('"')[0]
        unsent = '["/webhooks", [["url", "https://h.example"], ["secret", "hunter2"]]]'
        fields = {"csrf_token": token, "user": "admin", "password": PASSWORD, "unsent": unsent}
        asked = client.post("/admin/login", data=fields)
        assert asked.status_code == 200
        assert asked.text.count("hunter2") == 1
        assert 'name="secret" value="hunter2"' in asked.text
        assert client.get("/admin/session").json()["user"] == "admin"


def test_a_second_click_sends_nothing_twice(visit: OpenPage, own_console: Served) -> None:
    page = visit("/takedowns/new", of=own_console)
    page.get_by_label("Hosts or URLs").fill("example.org")
    sent = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.evaluate("""() => {
        const button = document.querySelector("main form[method=post] button");
        button.click();
        setTimeout(() => { button.click(); button.click(); }, 5);
    }""")
    expect(page.get_by_text("Taken down: example.org.")).to_be_visible()
    assert len(sent) == 1
    page.go_back()
    page.get_by_label("Hosts or URLs").fill("example.org")
    page.get_by_role("button", name="Take down").click()
    expect(page.locator("#table-takedowns tbody tr")).to_have_count(1)
