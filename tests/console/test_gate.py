"""Login, roles, CSRF tokens, the record of changes, settings and takedowns, in a real browser."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from comity.clock import SystemClock
from comity.model.console import Role
from comity.operate import console
from comity.operate.console import add_user, list_activity
from tests.console.conftest import OpenPage
from tests.console.looks import check_looks, check_page, faults
from tests.doors.web.served import PASSWORD, PASSWORD_HASH, Served, served

BROWSER = {"Accept": "text/html"}


@pytest.fixture
def kept(migrated_sqlite_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A console with a login: the admin of the settings, and a viewer in the state."""
    monkeypatch.setattr(console, "hash_password", lambda _password: PASSWORD_HASH)
    console.decoy_hash.cache_clear()
    path = tmp_path / "comity.sqlite"
    shutil.copy(migrated_sqlite_file, path)
    with served(f"sqlite:///{path}", env="dev", admin_password_hash=PASSWORD_HASH) as running:
        add_user(running.state.database, SystemClock(), "vera", PASSWORD, Role.VIEWER)
        yield running


def log_in(page: Page, user: str, password: str = PASSWORD) -> None:
    page.get_by_label("User").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def test_a_browser_logs_in_works_and_logs_out(visit: OpenPage, browser: Browser, kept: Served) -> None:
    check_looks(browser, kept.url, "/login")
    page = visit("/takedowns?limit=100", of=kept)
    assert page.url.endswith("/admin/login?next=%2Ftakedowns%3Flimit%3D100")
    log_in(page, "admin", "wrong password")
    expect(page.get_by_text("The user name or the password is wrong.")).to_be_visible()
    assert page.get_by_label("User").input_value() == "admin"
    assert page.get_by_label("Password").input_value() == ""
    log_in(page, "admin")
    assert page.url.endswith("/admin/takedowns?limit=100")
    cookies = {each["name"]: each for each in page.context.cookies()}
    session = cookies["comity_session"]
    assert (session["httpOnly"], session["sameSite"], session["path"]) == (True, "Lax", "/")

    page.get_by_role("link", name="New takedown").click()
    page.get_by_label("Hosts or URLs").fill("not a host at all/")
    page.get_by_role("button", name="Take down").click()
    expect(page.locator("#field-entries-error")).to_be_visible()
    page.get_by_label("Hosts or URLs").fill("example.org\nexample.net/private")
    page.get_by_label("Reason").fill("<b>asked</b>")
    page.get_by_role("button", name="Take down").click()
    expect(page.get_by_text("Taken down: example.org, example.net/private.")).to_be_visible()
    expect(page.get_by_text("<b>asked</b>").first).to_be_visible()
    page.reload()
    expect(page.get_by_text("Taken down:")).to_have_count(0)  # a notice is shown once
    page.get_by_role("row", name="example.org").get_by_role("link", name="Remove").click()
    expect(page.get_by_role("heading", name="Remove the takedown of example.org?")).to_be_visible()
    page.get_by_role("button", name="Remove the takedown").click()
    expect(page.locator("#table-takedowns tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Taken down: example.org.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("example.org may be crawled again.")).to_be_visible()
    expect(page.locator("#table-takedowns tbody tr")).to_have_count(1)

    page.get_by_role("link", name="Activity").click()
    expect(page.locator("#table-activity tbody tr").first).to_contain_text("admin")
    expect(page.locator("#table-activity tbody tr").first).to_contain_text("example.org")
    page.get_by_placeholder("Action").fill("add takedowns")  # as the table shows it
    page.get_by_placeholder("Action").press("Enter")
    expect(page).to_have_url(re.compile("action=add"))
    expect(page.locator("#table-activity tbody tr").first).to_contain_text("add takedowns")
    assert faults(page) == []
    with page.expect_download() as saved:
        page.get_by_role("link", name="CSV").click()
    assert Path(saved.value.path()).read_text().startswith("at,user,role,action,subject,status,address,path")

    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in to Comity")).to_be_visible()
    page.goto(f"{kept.url}/admin/takedowns")
    expect(page).to_have_url(re.compile("/admin/login"))


def test_a_viewer_sees_all_and_has_no_buttons(visit: OpenPage, kept: Served) -> None:
    page = visit("/", of=kept)
    log_in(page, "vera")
    for path in ("/takedowns", "/activity", "/settings", "/components"):
        page.goto(f"{kept.url}/admin{path}")
        assert page.locator("main form[method=post]:visible").count() == 0 or path == "/components"
        check_page(page, axe=False)
    page.goto(f"{kept.url}/admin/takedowns")
    expect(page.get_by_role("link", name="New takedown")).to_have_count(0)
    # A form that the page does not offer is refused before it is filled in; so is what is sent without it.
    page.goto(f"{kept.url}/admin/takedowns/new")
    expect(page.get_by_text("Your role is viewer: only an operator can do this")).to_be_visible()
    page.goto(f"{kept.url}/admin/account")
    page.evaluate("""() => {
        const form = document.querySelector("main form[method=post]");
        form.action = "/admin/takedowns";
        form.submit();
    }""")
    expect(page.get_by_text("Your role is viewer: only an operator can do this")).to_be_visible()
    page.goto(f"{kept.url}/admin/account")
    expect(page.locator("main")).to_contain_text("viewer")
    assert faults(page) == []
    page.get_by_role("button", name="Log out everywhere").click()
    expect(page.get_by_role("heading", name="Log in to Comity")).to_be_visible()
    (denied,) = [each for each in list_activity(kept.state.database) if each.status == 403]
    assert (denied.user, denied.role, denied.path) == ("vera", Role.VIEWER, "/admin/takedowns")


def test_a_forged_form_is_refused_also_without_a_login(visit: OpenPage, own_console: Served) -> None:
    page = visit("/takedowns/new", of=own_console)
    page.get_by_label("Hosts or URLs").fill("example.org")
    page.evaluate("document.querySelectorAll('[name=csrf_token]').forEach(each => { each.value = 'forged'; })")
    page.get_by_role("button", name="Take down").click()
    expect(page.get_by_text("The CSRF token is missing or wrong")).to_be_visible()
    # A page of another site: same machine, another origin.
    page.context.clear_cookies()
    page.goto("about:blank")
    page.set_content(
        f'<form method="post" action="{own_console.url}/admin/takedowns"><input name="entries" value="example.org">'
        "<button>Go</button></form>"
    )
    page.get_by_role("button", name="Go").click()
    expect(page.get_by_text("403")).to_be_visible()
    with own_console.client() as client:
        assert client.get("/admin/takedowns").json()["total"] == 0


def test_empty_lists_in_every_look(browser: Browser, own_console: Served) -> None:
    """`test_every_page` looks at all pages with something on them."""
    for path in ("/takedowns", "/activity", "/"):
        check_looks(browser, own_console.url, path)


def test_settings_can_be_searched(visit: OpenPage, own_console: Served) -> None:
    page = visit("/settings?q=concurrency", of=own_console)
    expect(page.get_by_text("COMITY_CONCURRENCY")).to_be_visible()
    expect(page.get_by_text("COMITY_MEILI_KEY")).to_have_count(0)
    page.goto(f"{own_console.url}/admin/settings?changed=yes")
    expect(page.get_by_text("COMITY_DATABASE_URL")).to_be_visible()
    expect(page.get_by_text("COMITY_MARKDOWN")).to_have_count(0)
    export = page.get_by_role("link", name="CSV").get_attribute("href")
    assert export is not None
    with own_console.client(headers={"Accept": "text/html"}) as client:
        lines = client.get(export).text.splitlines()
    variables = [line.partition(",")[0] for line in lines]
    assert variables[0] == "variable"
    assert "COMITY_DATABASE_URL" in variables
    assert "COMITY_MARKDOWN" not in variables


def test_an_empty_state_says_what_to_do(visit: OpenPage, own_console: Served) -> None:
    page = visit("/", of=own_console)
    expect(page.get_by_role("heading", name="Nothing has been crawled yet")).to_be_visible()
    expect(page.get_by_role("button", name="Load the demonstration")).to_have_count(0)  # this process does not crawl
    with own_console.client() as client:
        refused = client.post("/admin/demonstration")
        assert (refused.status_code, refused.json()["error"]) == (409, "no_worker")


def test_the_login_is_limited_and_leads_nowhere_else(kept: Served) -> None:
    with kept.client(headers=BROWSER) as client:
        form = client.get("/admin/login", params={"next": "//evil.example/"})
        token = form.text.partition('name="csrf_token" value="')[2].partition('"')[0]
        answer = {"csrf_token": token, "user": "admin", "password": PASSWORD}
        for wanted in ("//evil.example/", "https://evil.example/", "/\\evil.example", "/login", "", "x"):
            led = client.post("/admin/login", data=answer | {"next": wanted})
            assert (led.status_code, led.headers["location"]) == (303, "/admin"), wanted
            client.cookies.delete("comity_session")
        again = client.get("/admin/login", headers={"Cookie": f"comity_session={led.cookies['comity_session']}"})
        assert again.status_code == 303  # who is logged in goes on
        for _ in range(5):
            assert client.post("/admin/login", data=answer | {"password": "wrong"}).status_code == 401
        limited = client.post("/admin/login", data=answer)
        assert (limited.status_code, "Too many login attempts" in limited.text) == (429, True)
        assert int(limited.headers["retry-after"]) > 1
        assert PASSWORD not in limited.text
        assert client.post("/admin/login", data=answer | {"csrf_token": ""}).status_code == 403
        fragment = client.get("/admin/takedowns", headers={"HX-Request": "true"})
        assert (fragment.status_code, fragment.headers["hx-redirect"]) == (401, "/admin/login?next=%2Ftakedowns")


def test_another_prefix_moves_the_console_and_the_api(migrated_sqlite_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "comity.sqlite"
    shutil.copy(migrated_sqlite_file, path)
    with served(f"sqlite:///{path}", env="dev", admin_prefix="/comity/console") as running, running.client() as client:
        assert client.get("/", headers=BROWSER).headers["location"] == "/comity/console"
        page = client.get("/comity/console/takedowns", headers=BROWSER)
        assert page.status_code == 200
        assert '"/admin' not in page.text
        assert 'href="/comity/console/takedowns/new"' in page.text
        sheet = page.text.partition('rel="stylesheet" href="')[2].partition('"')[0]
        assert client.get(sheet).headers["content-type"].startswith("text/css")
        assert client.get("/comity/console/takedowns").json()["total"] == 0
        assert {client.get(path).status_code for path in ("/admin", "/admin/takedowns", "/comity/consoles")} == {404}
        assert client.get("/healthz").status_code == 200
        paths = client.get("/openapi.json").json()["paths"]
        assert "/comity/console/takedowns" in paths
        assert not any(each.startswith("/admin") for each in paths)


def test_errors_are_masked_outside_dev(
    migrated_sqlite_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from comity.doors.web.console.pages import takedowns

    path = tmp_path / "comity.sqlite"
    shutil.copy(migrated_sqlite_file, path)

    def fail(*_arguments: object) -> None:
        raise ZeroDivisionError("a secret detail")

    monkeypatch.setattr(takedowns, "page_of_takedowns", fail)
    for env, shown in (("dev", True), ("prod", False)):
        with served(f"sqlite:///{path}", env=env, admin_password_hash=PASSWORD_HASH) as running:
            with running.client(headers=BROWSER) as client:
                token = client.get("/admin/login").text.partition('name="csrf_token" value="')[2].partition('"')[0]
                cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}
                fields = {"csrf_token": token, "user": "admin", "password": PASSWORD}
                begun = client.post("/admin/login", data=fields, headers=cookie)
                assert begun.status_code == 303, begun.text
                name, _, value = begun.headers["set-cookie"].partition(";")[0].partition("=")
                failed = client.get("/admin/takedowns", headers={"Cookie": f"{name}={value}"})
            assert failed.status_code == 500
            assert ("ZeroDivisionError" in failed.text) is shown
            assert "a secret detail" not in failed.text
