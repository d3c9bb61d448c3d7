"""A browser gets a page and a program gets JSON, by what each says that it accepts."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from comity import __version__
from comity.doors.web.console.live import VIEWS
from comity.doors.web.requests import prefers_html, wants_page
from tests.doors.web.served import PASSWORD_HASH, TOKEN_HASH, WITH_TOKEN, Served, served

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (BROWSER, True),
        ("text/html", True),
        ("TEXT/HTML ; q=1", True),
        ("text/*", True),
        ("text/html, application/json;q=0.9", True),
        ("text/html;q=0.5, application/json", False),
        ("text/html, application/json", False),
        ("application/json, text/html", False),
        ("*/*", False),
        ("", False),
        ("application/json", False),
        ("text/html;q=0", False),
        ("text/html;q=0, */*", False),
        ("text/html;q=nonsense, application/json;q=0.1", False),
        ("text/html;level=1;q=0.4, application/*;q=0.3", True),
        ("text/event-stream", False),
        ("text/html" + ",text/plain" * 5000, True),
        (",;;=,,q=1;", False),
    ],
)
def test_html_is_preferred(accept: str, expected: bool) -> None:
    assert prefers_html(accept) is expected


@pytest.mark.parametrize(
    ("method", "headers", "expected"),
    [
        ("GET", {"accept": BROWSER}, True),
        ("HEAD", {"accept": BROWSER}, True),
        ("GET", {"accept": "*/*", "hx-request": "true"}, True),
        ("POST", {"content-type": "application/x-www-form-urlencoded"}, True),
        ("POST", {"content-type": "Application/X-WWW-Form-Urlencoded; charset=utf-8", "accept": "*/*"}, True),
        ("POST", {"content-type": "application/json", "accept": BROWSER}, False),
        ("POST", {"accept": BROWSER}, False),
        ("DELETE", {"accept": BROWSER}, False),
        ("PATCH", {"content-type": "application/x-www-form-urlencoded"}, False),
    ],
)
def test_a_request_wants_a_page(method: str, headers: dict[str, str], expected: bool) -> None:
    assert wants_page(method, headers) is expected


@pytest.fixture
def dev(sqlite_url: str) -> Iterator[Served]:
    with served(sqlite_url, env="dev") as running:
        yield running


def kind(response: httpx.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0]


def test_one_path_serves_a_page_and_json(dev: Served) -> None:
    with dev.client() as client:
        page = client.get("/admin/components", headers={"Accept": BROWSER})
        assert (page.status_code, kind(page)) == (200, "text/html")
        assert page.headers["vary"] == "Accept, HX-Request"
        assert "'unsafe-inline'" not in page.headers["content-security-policy"]
        assert client.head("/admin/components", headers={"Accept": BROWSER}).status_code == 200
        # There is no such JSON route, and a program is not shown the page.
        json = client.get("/admin/components")
        assert (json.status_code, json.json()["error"]) == (404, "not_found")
        for path in ("/admin/crawl", "/admin/crawl/status", "/admin/sources", "/admin/takedowns"):
            page, json = client.get(path, headers={"Accept": BROWSER}), client.get(path)
            assert (page.status_code, kind(page)) == (200, "text/html"), path
            assert (json.status_code, kind(json)) == (200, "application/json"), path
            assert page.headers["vary"] == json.headers["vary"] == "Accept, HX-Request", path
        assert client.get("/admin/crawl").json() == client.get("/admin/crawl/status").json()
        assert "vary" not in client.get("/healthz").headers
        # What has no page answers JSON to a browser, too.
        assert kind(client.get("/admin/session", headers={"Accept": BROWSER})) == "application/json"
        assert client.get("/", headers={"Accept": BROWSER}).headers["location"] == "/admin"


def test_a_program_finds_its_way(sqlite_url: str) -> None:
    with served(sqlite_url, env="dev", admin_prefix="/console") as running, running.client() as client:
        links = client.get("/").json()["links"]
        assert (links["admin"], links["search"]) == ("/console", "/search")
        operations = client.get(links["admin"]).json()["links"]
        assert operations["list_hosts"] == "/console/hosts"
        assert all(client.get(path).status_code != 404 for path in links.values())
        assert not any("{" in path for path in operations.values())


def test_a_slash_at_the_end_changes_nothing(sqlite_url: str) -> None:
    with served(sqlite_url, env="dev") as running, running.client() as client:
        for path in ("/admin", "/admin/hosts", "/docs"):
            assert client.get(f"{path}/").status_code == 200, path
            page = client.get(f"{path}/", headers={"Accept": BROWSER})
            assert (page.status_code, kind(page)) == (200, "text/html"), path
        assert client.get("/admin/hosts/?limit=3").json()["limit"] == 3
        assert client.get("/admin/nothing/").status_code == 404
        assert client.get("/admin/hosts//").status_code == 404
        assert client.delete("/admin/hosts/").status_code == 405
    with served(sqlite_url, env="prod", admin_token_hash=(TOKEN_HASH,)) as running, running.client() as client:
        assert client.get("/admin/hosts/").status_code == 401


def test_error_pages_show_strangers_nothing_of_the_console(sqlite_url: str) -> None:
    closed = served(sqlite_url, env="prod", admin_token_hash=(TOKEN_HASH,))
    with closed as running, running.client(headers={"Accept": BROWSER}) as client:
        refused = client.get("/nonsense")
        known = client.get("/admin/nonsense", headers=WITH_TOKEN)
        wrong = client.get("/admin/nonsense", headers={"Authorization": "Bearer wrong"})
        login = client.get("/admin/login")
    assert (refused.status_code, known.status_code) == (404, 404)
    for page in (refused, wrong, login):
        assert f"Comity {__version__}" not in page.text
        assert "/admin/hosts" not in page.text
        assert "nav-link" not in page.text
        assert 'id="keys"' not in page.text
    assert f"Comity {__version__}" in known.text
    assert "nav-link" in known.text


def test_a_form_goes_to_the_page_and_json_to_the_api(dev: Served) -> None:
    with dev.client(headers={"Accept": BROWSER}) as client:
        token = csrf_token(client)
        wrong = client.post("/admin/components", data={"name": "", "address": "<b>", "csrf_token": token})
        assert wrong.status_code == 422
        assert "Enter a name." in wrong.text
        assert 'value="&lt;b&gt;"' in wrong.text
        right = client.post("/admin/components", data={"name": "Æon", "csrf_token": token})
        assert (right.status_code, right.headers["location"]) == (303, "/admin/components")
        assert "Æon would have been saved." in client.get(right.headers["location"]).text
        assert "would have been saved" not in client.get(right.headers["location"]).text
        refused = client.post("/admin/components", json={"name": "x"})
        assert refused.status_code == 404  # the page takes no JSON, and the API has no such route


def csrf_token(client: httpx.Client) -> str:
    """The token of the forms, as a browser would send it back."""
    return client.get("/admin/components").text.partition('name="csrf_token" value="')[2].partition('"')[0]


@pytest.mark.parametrize(
    ("accept", "expected"),
    [(BROWSER, "text/html"), ("*/*", "application/json"), ("application/json", "application/json")],
)
def test_errors_follow_the_same_rule(dev: Served, accept: str, expected: str) -> None:
    with dev.client(headers={"Accept": accept}) as client:
        unknown = client.get("/admin/hosts/nowhere.example")
        assert (unknown.status_code, kind(unknown)) == (404, expected)
        assert "nowhere.example" in unknown.text
        assert client.get("/admin/nonsense").status_code == 404
        assert kind(client.get("/admin/nonsense")) == expected
        assert kind(client.get("/nonsense")) == expected
        assert kind(client.post("/api/crawl/pull", json={})) == "application/json"
        assert kind(client.get("/search", params={"limit": "x"})) == "application/json"


def test_pages_of_an_unknown_browser_need_a_login(sqlite_url: str) -> None:
    closed = served(sqlite_url, env="prod", admin_password_hash=PASSWORD_HASH, admin_token_hash=(TOKEN_HASH,))
    with closed as running, running.client(headers={"Accept": BROWSER}) as client:
        for path in ("/admin", "/admin/components", "/admin/live?view=dashboard", "/admin/nonsense"):
            assert client.get(path).status_code in (303, 401), path
        css = client.get(f"/admin/assets/{'0' * 16}/console.css")
        assert (css.status_code, kind(css)) == (200, "text/css")


def test_assets_are_kept_for_a_year_under_their_digest(dev: Served) -> None:
    with dev.client(headers={"Accept": BROWSER}) as client:
        page = client.get("/admin/components").text
        address = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
        assert client.get(address).headers["cache-control"] == "public, max-age=31536000, immutable"
        assert client.get("/admin/assets/old/console.css").headers["cache-control"] == "no-store"
        assert client.get("/admin/assets/old/page.py").status_code == 404


@pytest.mark.parametrize("env", ["dev", "prod"])
def test_an_unexpected_error_is_a_page_that_tells_strangers_nothing(
    sqlite_url: str, env: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError("the password is hunter2")

    monkeypatch.setitem(VIEWS, "dashboard", fail)
    open_to_tokens = served(sqlite_url, env=env, admin_token_hash=(TOKEN_HASH,))
    with open_to_tokens as running, running.client(headers={"Accept": BROWSER} | WITH_TOKEN) as client:
        page = client.get("/admin")
    assert (page.status_code, kind(page)) == (500, "text/html")
    assert "hunter2" not in page.text
    assert ("RuntimeError" in page.text) is (env == "dev")
