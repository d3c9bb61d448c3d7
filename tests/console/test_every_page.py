"""What must hold of every page, which its route names: looks, keyboard, scripts off, roles; and of every write."""

from __future__ import annotations

import csv
import io
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser

from comity.clock import SystemClock
from comity.model.console import Role
from comity.operate import console
from comity.operate.console import add_user
from tests.console.conftest import folders
from tests.console.looks import PHONE, WIDE, check_long_values, check_page, open_page
from tests.console.page_paths import page_paths, page_routes, routes_without_path, seed_audits
from tests.console.seeding import seed
from tests.doors.web.served import PASSWORD, PASSWORD_HASH, Served, served

BROWSER = {"Accept": "text/html"}
PARTS = 6
# A viewer may do these: they read, or end the viewer's own session.
_TABLES_TOO_WIDE = """[...document.querySelectorAll('.table-block .table-scroll')]
    .filter(each => each.scrollWidth > each.clientWidth).map(each => each.getAttribute('aria-label'))"""
_HARMLESS = ("/account", "/components", "/login")


@pytest.fixture(scope="module")
def audited(console: Served) -> Served:
    """The console with demonstration data, and two audits."""
    seed_audits(console)
    return console


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite_file: Path) -> Iterator[Served]:
    """A console with demonstration data and a login, a viewer and an operator."""
    folder = tmp_path_factory.mktemp("guarded")
    shutil.copy(migrated_sqlite_file, folder / "comity.sqlite")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(console, "hash_password", lambda _password: PASSWORD_HASH)
        console.decoy_hash.cache_clear()
        place = f"sqlite:///{folder / 'comity.sqlite'}"
        with served(place, env="dev", admin_password_hash=PASSWORD_HASH, **folders(folder)) as running:
            seed(running.state)
            for name, role in (("vera", Role.VIEWER), ("otto", Role.OPERATOR)):
                add_user(running.state.database, SystemClock(), name, PASSWORD, role)
            yield running


def log_in(client: httpx.Client, user: str) -> str:
    """Log in; gives the token of the session's forms."""
    token = _token(client.get("/admin/login").text)
    fields = {"csrf_token": token, "user": user, "password": PASSWORD}
    assert client.post("/admin/login", data=fields).status_code == 303
    return _token(client.get("/admin/account").text)


def _token(page: str) -> str:
    return page.partition('name="csrf_token" value="')[2].partition('"')[0]


def test_every_route_of_a_page_has_a_path_to_look_at(audited: Served) -> None:
    assert routes_without_path(page_paths(audited.state)) == []


@pytest.mark.parametrize("part", range(PARTS))
def test_every_page_is_accessible_in_every_look(browser: Browser, audited: Served, part: int) -> None:
    """One load for each page: light, dark and phone differ by the stylesheet alone."""
    paths = page_paths(audited.state)[part::PARTS]
    with open_page(browser, audited.url, paths[0]) as page:
        for path in paths:
            page.set_viewport_size(WIDE)  # type: ignore[arg-type]
            page.emulate_media(color_scheme="light")
            page.goto(f"{audited.url}/admin{path if path != '/' else ''}")
            check_page(page)
            page.emulate_media(color_scheme="dark")
            check_page(page)
            page.set_viewport_size(PHONE)  # type: ignore[arg-type]
            check_page(page)
            assert page.evaluate(_TABLES_TOO_WIDE) == [], f"{path}: a table is wider than a phone"
            check_long_values(page)


def test_every_table_has_filters_and_orders_in_its_address(audited: Served) -> None:
    """A page of a table offers filters, an order and CSV; each order is that of CSV, and its reverse reverses it."""
    tables = 0
    with audited.client(headers=BROWSER) as client:
        for path in page_paths(audited.state):
            bare = path.partition("?")[0]
            text = client.get(f"/admin{path if path != '/' else ''}").text
            if '<form class="filters"' not in text or bare in _OWN_LISTS:
                continue
            tables += 1
            controls = text.partition('<form class="filters"')[2].partition("</form>")[0]
            assert re.search(r"<select name|<input type=\"(search|text)", controls), f"{path} has no filter"
            assert "format=csv" in controls, path
            orders = {each.removeprefix("-") for each in re.findall(r"[?;&]sort=(-?\w+)", text)}
            assert orders or bare in _ONE_ORDER or bare.endswith(_ONE_ORDER), f"{path} has no order"
            for order in sorted(orders):
                up, down = (_csv_column(client, path, way + order, order) for way in ("", "-"))
                assert up == down[::-1], (path, order)
                assert up == sorted(up, key=_as_number), (path, order)
    assert tables > 15


# Postings, settings and SQL have lists of their own.
_OWN_LISTS = ("/postings", "/settings", "/pages/query", "/components")
# Stored pages are in parts, the newest first; queued URLs are in the order of their turn.
_ONE_ORDER = ("/pages", "/urls")


def _csv_column(client: httpx.Client, path: str, sort: str, name: str) -> list[str]:
    """The values of a column, without those of rows that have none, which are last in any order."""
    joint = "&" if "?" in path else "?"
    answer = client.get(f"/admin{path}{joint}sort={sort}&format=csv")
    assert answer.headers["content-type"].startswith("text/csv"), path
    return [row[name].lower() for row in csv.DictReader(io.StringIO(answer.text)) if row[name]]


def _as_number(text: str) -> tuple[float, str]:
    try:
        return float(text), ""
    except ValueError:
        return 0.0, text


def test_every_page_can_be_read_without_scripts(audited: Served) -> None:
    """What a page says is in its HTML: only live regions and the zone of times need a script."""
    with audited.client(headers=BROWSER) as client:
        for path in page_paths(audited.state):
            answer = client.get(f"/admin{path if path != '/' else ''}")
            assert answer.status_code == 200, path
            assert re.search(r"<h1>.*?\S.*?</h1>", answer.text, re.DOTALL), path
            content = answer.text.partition("<main")[2].partition("</main>")[0]
            assert len(re.sub(r"<[^>]+>|\s", "", content)) > 20, f"{path} is empty without scripts"
            assert not re.search(r'<script(?! src="/admin/assets/)|\son[a-z]+="| style="', answer.text), path


def test_every_answer_has_a_strict_policy(audited: Served) -> None:
    """Pages, JSON, CSV, reports, downloads, live figures, assets and errors: none may run or load what is not ours."""
    audit = next(each for each in page_paths(audited.state) if re.match(r"/audits/(?!compare)", each))
    others = (
        f"{audit}/report",
        "/live?view=dashboard",
        "/metrics",
        "/nowhere",
        "/crawl_jobs/nothing",
        "/hosts/x.example",
    )
    kinds = set()
    with audited.client() as client:
        sheet = client.get("/admin", headers=BROWSER).text.partition('rel="stylesheet" href="')[2].partition('"')[0]
        prefixed = [f"/admin{path if path != '/' else ''}" for path in (*page_paths(audited.state), *others)]
        for path in [*prefixed, sheet, "/", "/docs", "/openapi.json", "/healthz", "/search", "/nowhere"]:
            joint = "&" if "?" in path else "?"
            for address, accept in (
                (path, "text/html"),
                (path, "application/json"),
                (f"{path}{joint}format=csv", "text/html"),
            ):
                with client.stream("GET", address, headers={"Accept": accept}) as answer:
                    policy = answer.headers["content-security-policy"]
                    kinds.add((answer.status_code // 100, answer.headers.get("content-type", "").partition(";")[0]))
                    assert re.match(r"(sandbox [a-z -]+; )?default-src 'none'; ", policy), (address, policy)
                    assert not re.search(r"unsafe|\*|https?:", policy), (address, policy)
                    assert "base-uri 'none'" in policy, address
                    assert answer.headers["x-content-type-options"] == "nosniff", address
                    assert answer.headers["x-frame-options"] == "DENY", address
                    if answer.headers.get("content-type", "").startswith("text/csv"):
                        assert answer.headers["content-disposition"].startswith("attachment"), address
    types = {"text/html", "application/json", "text/csv", "text/event-stream", "text/css", "text/plain"}
    assert {2: types} == {2: types & {kind for status, kind in kinds if status == 2}}
    assert {"text/html", "application/json"} <= {kind for status, kind in kinds if status == 4}


def test_a_viewer_sees_every_page_without_anything_that_writes(guarded: Served) -> None:
    with guarded.client(headers=BROWSER) as client:
        log_in(client, "vera")
        for path in page_paths(guarded.state):
            if path.startswith(_HARMLESS):
                continue
            answer = client.get(f"/admin{path if path != '/' else ''}")
            content = answer.text.partition("<main")[2].partition("</main>")[0]
            actions = answer.text.partition('<div class="actions">')[2].partition("</header>")[0]
            if answer.status_code == 403:  # a form, or a question before a write
                assert "only an operator can do this" in answer.text, path
                continue
            assert answer.status_code == 200, path
            assert 'method="post"' not in content + actions, path


def test_every_write_is_refused_to_a_viewer_and_not_to_an_operator(guarded: Served) -> None:
    known = page_paths(guarded.state)
    with guarded.client(headers=BROWSER) as viewer, guarded.client(headers=BROWSER) as operator:
        tokens = log_in(viewer, "vera"), log_in(operator, "otto")
        routes = [route for route in page_routes("POST") if not route.startswith((*_HARMLESS, "/logout"))]
        assert len(routes) > 40
        for route in routes:
            path = _some_path(route, known)
            refused = viewer.post(f"/admin{path}", data={"csrf_token": tokens[0]})
            assert refused.status_code == 403, route
            assert "only an operator can do this" in refused.text, route
            forged = operator.post(f"/admin{path}", data={"csrf_token": "forged"})
            assert (forged.status_code, "CSRF" in forged.text) == (403, True), route
        # The operator's own forms are admitted: what they lack is told at their fields, or they are done.
        for route in routes:
            if "{" not in route and route != "/crawl/run_due":  # which would ask hosts that are elsewhere
                answer = operator.post(f"/admin{route}", data={"csrf_token": tokens[1]})
                assert answer.status_code in (200, 303, 404, 409, 422), (route, answer.status_code)


def _some_path(route: str, known: list[str]) -> str:
    """A path of a route whose parameter is that of a page that exists."""
    if "{" not in route:
        return route
    start = route.partition("{")[0]
    pattern = re.compile(re.escape(start) + r"[^/?]{8,}")
    name = next((path for path in known if pattern.match(path)), start + "unknown")
    return re.sub(r"\{[^}]+\}", name.removeprefix(start).partition("/")[0].partition("?")[0], route, count=1)
