"""Access by audience: a route without a declaration does not start, and each router has its own limits."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI, Request, WebSocket
from starlette.responses import PlainTextResponse
from starlette.routing import Host, Mount, Route, WebSocketRoute
from starlette.routing import Router as StarletteRouter

from comity.assemble import open_state
from comity.clock import SystemClock
from comity.doors.web import application
from comity.doors.web.access import Access, AccessSettings
from comity.doors.web.application import ROUTERS, build_application
from comity.doors.web.audiences import (
    LARGE_BODY_BYTES,
    SMALL_BODY_BYTES,
    Audience,
    AudienceError,
    Router,
    RouterRules,
    RouteTable,
    rules_of,
)
from comity.doors.web.errors import register_error_handlers
from comity.doors.web.middleware import protect
from comity.doors.web.server import build_server
from comity.settings import read_settings
from tests.doors.web.served import TOKEN_HASH, WITH_TOKEN

PUBLIC = {"/", "/admin/assets/{digest}/{name}", "/healthz", "/readyz", "/docs", "/openapi.json", "/search"}


def bare_app(**options: Any) -> FastAPI:
    return FastAPI(openapi_url=None, **options)


async def page(request: Request) -> PlainTextResponse:
    return PlainTextResponse("reached")


async def socket(websocket: WebSocket) -> None:
    await websocket.accept()


def undeclared_router() -> APIRouter:
    router = APIRouter()
    router.add_api_route("/open", page)
    return router


def undeclared_inside_a_declared_one(app: FastAPI) -> None:
    outer = Router(Audience.ADMIN, prefix="/admin")
    outer.include_router(undeclared_router())
    app.include_router(outer)


def undeclared_two_levels_down(app: FastAPI) -> None:
    middle = APIRouter(prefix="/middle")
    middle.include_router(undeclared_router())
    outer = APIRouter(prefix="/outer")
    outer.include_router(middle)
    app.include_router(outer)


def declared_beside_undeclared(app: FastAPI) -> None:
    declared = Router(Audience.PUBLIC)
    declared.add_api_route("/declared", page)
    both = APIRouter()
    both.include_router(declared)
    both.include_router(undeclared_router())
    app.include_router(both)


def plain_route_on_a_declared_router(app: FastAPI) -> None:
    router = Router(Audience.PUBLIC)
    router.add_route("/plain", page)
    app.include_router(router)


def websocket_on_a_declared_router(app: FastAPI) -> None:
    router = Router(Audience.PUBLIC)
    router.add_api_websocket_route("/live", socket)
    app.include_router(router)


def mount_inside_a_router(app: FastAPI) -> None:
    router = Router(Audience.PUBLIC)
    router.mount("/files", StarletteRouter([Route("/x", page)]))
    app.include_router(router)


UNDECLARED: list[tuple[Callable[[FastAPI], Any], str]] = [
    (lambda app: app.include_router(undeclared_router()), "'/open'"),
    (lambda app: app.include_router(undeclared_router(), prefix="/admin"), "'/admin/open'"),
    (undeclared_inside_a_declared_one, "'/open'"),
    (undeclared_two_levels_down, "'/outer/middle/open'"),
    (declared_beside_undeclared, "'/open'"),
    (plain_route_on_a_declared_router, "'/plain'"),
    (websocket_on_a_declared_router, "'/live'"),
    (mount_inside_a_router, "'/files'"),
    (lambda app: app.add_api_route("/direct", page), "'/direct'"),
    (lambda app: app.add_route("/plain", page), "'/plain'"),
    (lambda app: app.add_api_websocket_route("/live", socket), "'/live'"),
    (lambda app: app.router.routes.append(WebSocketRoute("/live", socket)), "'/live'"),
    (lambda app: app.mount("/files", bare_app()), "'/files'"),
    (lambda app: app.router.routes.append(Mount("/files", routes=[Route("/x", page)])), "'/files'"),
    (lambda app: app.router.routes.append(Host("other.example", app=bare_app())), "'other.example'"),
]


def start(add: Callable[[FastAPI], Any]) -> None:
    app = bare_app()
    add(app)
    protect(app, Access(AccessSettings(is_dev=False)), SystemClock())


@pytest.mark.parametrize(("add", "named"), UNDECLARED, ids=range(len(UNDECLARED)))
def test_an_application_with_an_undeclared_route_does_not_start(add: Callable[[FastAPI], Any], named: str) -> None:
    with pytest.raises(AudienceError) as caught:
        start(add)
    assert f"{named} has no audience: put it on a comity.doors.web.audiences.Router" in str(caught.value)
    assert "public, admin or bot" in str(caught.value)


@pytest.mark.parametrize("options", [{}, {"docs_url": None}, {"docs_url": None, "redoc_url": None}])
def test_the_pages_of_the_framework_have_no_audience(options: dict[str, Any]) -> None:
    with pytest.raises(AudienceError, match=r"'/openapi.json' has no audience"):
        protect(FastAPI(**options), Access(AccessSettings(is_dev=False)), SystemClock())


def test_a_router_has_one_of_the_three_audiences() -> None:
    with pytest.raises(TypeError):
        Router()  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="everyone"):
        Router("everyone")  # type: ignore[arg-type]
    assert Router(Audience.BOT).rules == RouterRules(Audience.BOT, SMALL_BODY_BYTES, ("application/json",))


@pytest.mark.parametrize(("outer", "inner"), [("admin", "public"), ("public", "admin"), ("admin", "bot")])
def test_a_router_cannot_include_one_for_another_audience(outer: str, inner: str) -> None:
    included = Router(Audience(inner))
    included.add_api_route("/x", page)
    between = APIRouter()
    between.include_router(included)
    for each in (included, between):
        with pytest.raises(AudienceError, match=f"a router for {outer} cannot include /x, which is for {inner}"):
            Router(Audience(outer)).include_router(each)


@pytest.mark.parametrize("options", [{"any_host": True}, {"before_login": True}])
def test_a_bot_router_has_no_exceptions(options: dict[str, Any]) -> None:
    with pytest.raises(AudienceError, match="any_host is for public routers"):
        Router(Audience.BOT, **options)


@pytest.mark.parametrize("is_plain_route", [False, True])
def test_the_server_does_not_start_with_an_undeclared_router(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, is_plain_route: bool
) -> None:
    added: APIRouter = undeclared_router()
    if is_plain_route:
        added = Router(Audience.PUBLIC)
        added.add_route("/open", page)
    monkeypatch.setattr(application, "ROUTERS", (*ROUTERS, added))
    with (
        open_state(read_settings(database_url=sqlite_url)) as state,
        pytest.raises(AudienceError, match=r"'/open' has no audience"),
    ):
        build_server(state, "127.0.0.1", schedules=False)


def test_the_public_routes_are_these_and_no_others(sqlite_url: str) -> None:
    by_audience: dict[Audience, set[str]] = {}
    for router in ROUTERS:
        paths = {route.path for route in router.routes if isinstance(route, Route)}
        by_audience.setdefault(rules_of(router).audience, set()).update(paths)
    assert by_audience[Audience.PUBLIC] == PUBLIC
    assert all(path == "/admin" or path.startswith("/admin/") for path in by_audience[Audience.ADMIN])
    names = ("crawl/pull", "crawl/submit", "crawl/heartbeat", "crawl/release")
    names += ("politeness/grant", "politeness/report", "politeness/release")
    assert by_audience[Audience.BOT] == {f"/api/{name}{slash}" for name in names for slash in ("", "/")}
    with open_state(read_settings(database_url=sqlite_url)) as state:
        built = build_application(state, AccessSettings(is_dev=False), schedules=False)
    operations = [each for path in built.openapi()["paths"].values() for each in path.values()]
    assert {each["x-audience"] for each in operations} == {"public", "admin", "bot"}


def test_the_api_page_states_the_audiences_and_limits() -> None:
    text = (Path(__file__).parents[3] / "docs" / "web-api.md").read_text(encoding="utf-8")
    section = text[text.index("## Audiences and limits") : text.index("## Who is admitted")]
    rows = {line.split(" | ")[0].strip("| "): line for line in section.splitlines() if line.startswith("| ")}
    assert set(Audience) <= set(rows)
    assert all(f"`{path}`" in rows["public"] for path in PUBLIC)
    assert f"{SMALL_BODY_BYTES // 1024} KiB" in section
    api = [router for router in ROUTERS if not rules_of(router).serves_pages]
    large = [router for router in api if rules_of(router).max_body_bytes == LARGE_BODY_BYTES]
    paths = {
        "/".join(route.path.split("/")[:3]) for router in large for route in router.routes if isinstance(route, Route)
    }
    listed = section[section.index("Bodies of") : section.index(f"{LARGE_BODY_BYTES // 1024} KiB")]
    assert {"/".join(path.split("/")[:3]) for path in re.findall(r"`(.*?)`", listed)} == paths
    ids, urls = 65_536, 524_288
    limits = {rules_of(router).max_body_bytes for router in ROUTERS}
    assert limits == {SMALL_BODY_BYTES, LARGE_BODY_BYTES, 8_000_000, ids, urls}
    assert "`/admin/sources/import` and `/admin/crawl_policies/import` 8 MB" in section


# A small application for each of the following tests: one route for each audience, with different limits.


class OneKey:
    """Knows one bot."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def bot_of(self, key: str) -> str | None:
        self.asked.append(key)
        return "bot-7" if key == "secret" else None

    def was_valid(self, key: str) -> bool:
        return False


def guarded_app(access: Access) -> FastAPI:
    app = bare_app()
    register_error_handlers(app, is_dev=False)

    async def echo(request: Request) -> dict[str, Any]:
        return {"bytes": len(await request.body()), "bot": request.state.caller.bot}

    for router, path in (
        (Router(Audience.PUBLIC), "/public"),
        (Router(Audience.ADMIN, max_body_bytes=LARGE_BODY_BYTES), "/admin/x"),
        (Router(Audience.BOT, max_body_bytes=100, content_types=("text/csv", "application/json")), "/api/pull/"),
    ):
        router.add_api_route(path, echo, methods=["POST"])
        app.include_router(router)
    protect(app, access, SystemClock())
    return app


def call(app: FastAPI, method: str, path: str, **options: Any) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://jobs.example") as client:
            return await client.request(method, path, **options)

    return asyncio.run(send())


CLOSED = AccessSettings(is_dev=False, token_hashes=(TOKEN_HASH,))


def test_bot_routes_are_closed_until_something_knows_the_keys() -> None:
    app = guarded_app(Access(CLOSED))
    for headers in ({}, {"X-API-Key": "secret"}, {"X-API-Key": ""}, WITH_TOKEN):
        refused = call(app, "POST", "/api/pull/", headers=headers)
        assert (refused.status_code, refused.json()["error"]) == (401, "unauthorized")
        assert refused.headers["www-authenticate"] == 'ApiKey realm="comity"'
    for path in ("/api/", "/api/other", "/api"):  # strangers do not learn which paths exist
        assert call(app, "GET", path).status_code == 401


def test_a_bot_is_admitted_by_its_key_and_to_bot_routes_only() -> None:
    keys = OneKey()
    app = guarded_app(Access(CLOSED, keys))
    admitted = call(app, "POST", "/api/pull/", headers={"X-API-Key": "secret"})
    assert (admitted.status_code, admitted.json()) == (200, {"bytes": 0, "bot": "bot-7"})
    assert call(app, "POST", "/api/pull/", headers={"X-API-Key": "guess"}).status_code == 401
    assert call(app, "POST", "/api/pull/", headers={"X-API-Key": "x" * 201}).status_code == 401
    assert keys.asked == ["secret", "guess"], "an endless key is not looked up"
    assert call(app, "POST", "/admin/x", headers={"X-API-Key": "secret"}).status_code == 401
    assert call(app, "POST", "/admin/x", headers=WITH_TOKEN).status_code == 200
    assert call(app, "POST", "/api/other", headers={"X-API-Key": "secret"}).status_code == 404
    wrong = call(app, "PUT", "/api/pull/", headers={"X-API-Key": "secret"})
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert call(app, "POST", "/public").json() == {"bytes": 0, "bot": None}


@pytest.mark.parametrize(
    ("path", "size", "content_type", "status"),
    [
        ("/public", SMALL_BODY_BYTES, "application/json", 200),
        ("/public", SMALL_BODY_BYTES + 1, "application/json", 413),
        ("/public", 1, "application/json; charset=utf-8", 200),
        ("/public", 1, "APPLICATION/JSON", 200),
        ("/public", 1, "text/csv", 415),
        ("/public", 1, "", 415),
        ("/public", 0, "text/csv", 200),
        ("/public", 0, "", 200),
        ("/admin/x", LARGE_BODY_BYTES, "application/json", 200),
        ("/admin/x", LARGE_BODY_BYTES + 1, "application/json", 413),
        ("/admin/x", 1, "text/csv", 415),
        ("/api/pull/", 100, "text/csv", 200),
        ("/api/pull/", 100, "application/json", 200),
        ("/api/pull/", 101, "text/csv", 413),
        ("/api/pull/", 1, "application/xml", 415),
    ],
)
@pytest.mark.parametrize("is_chunked", [False, True])
def test_each_router_has_its_own_body_limit_and_types(
    path: str, size: int, content_type: str, status: int, is_chunked: bool
) -> None:
    app = guarded_app(Access(CLOSED, OneKey()))
    headers = {"X-API-Key": "secret", **WITH_TOKEN} | ({"Content-Type": content_type} if content_type else {})
    content: Any = b"x" * size
    if is_chunked:

        async def chunks() -> Any:
            yield b""
            for start in range(0, size, 50_000):
                yield b"x" * min(50_000, size - start)

        content = chunks()
        if size == 0 and content_type:
            status = 415  # a chunked body of a wrong type is refused unread, and so is not known to be empty
    answer = call(app, "POST", path, content=content, headers=headers)
    assert answer.status_code == status, answer.text
    if status == 200:
        assert answer.json()["bytes"] == size
    else:
        envelope = ["success"] if path.startswith("/api/") else []
        assert list(answer.json()) == [*envelope, "error", "message", "details"]
        assert answer.json()["error"] == {413: "too_large", 415: "unsupported_media_type"}[status]
        assert answer.headers["connection"] == "close"


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/public", {"content-length": "999999", "content-type": "application/json"}, 413),
        ("/public", {"content-length": "10", "content-type": "text/plain"}, 415),
        ("/public", {"transfer-encoding": "chunked", "content-type": "text/plain"}, 415),
        ("/public", {"content-length": "10"}, 415),
        ("/api/pull/", {"content-length": "10", "content-type": "text/csv"}, 401),
        ("/admin/x", {"content-length": "10", "content-type": "application/json"}, 401),
        ("/nothing", {"content-length": "10", "content-type": "application/json"}, 404),
    ],
)
def test_a_request_is_refused_by_its_head_before_the_body_is_read(
    path: str, headers: dict[str, str], status: int
) -> None:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        raise AssertionError("the body was read")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "root_path": "",
        "query_string": b"",
        "scheme": "http",
        "client": ("192.0.2.1", 1),
        "headers": [(name.encode(), value.encode()) for name, value in ({"host": "jobs.example"} | headers).items()],
    }
    asyncio.run(guarded_app(Access(CLOSED))(scope, receive, send))
    assert sent[0]["status"] == status


def test_a_route_that_is_added_later_is_not_reachable(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("reached")
    app = guarded_app(Access(AccessSettings(is_dev=False)))
    app.include_router(undeclared_router())
    app.add_route("/late", page, methods=["GET", "POST"])
    app.add_route("/public", page, methods=["GET"])
    app.mount("/files", StarletteRouter([Route("/x", page)]))
    app.frontend("/", directory=tmp_path)  # files, which the framework does not list among its routes
    for path, status in (("/open", 404), ("/late", 404), ("/files/x", 404), ("/index.html", 404), ("/public", 405)):
        answer = call(app, "GET", path)
        assert (answer.status_code, "reached" in answer.text) == (status, False)


def test_no_websocket_is_accepted() -> None:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/public", "headers": [], "query_string": b""}
    asyncio.run(guarded_app(Access(AccessSettings(is_dev=True)))(scope, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_where_only_the_method_is_wrong_the_strictest_rules_of_the_path_apply() -> None:
    app = bare_app()
    login = Router(Audience.ADMIN, before_login=True)
    login.add_api_route("/both", page, methods=["POST"])
    admin = Router(Audience.ADMIN)
    admin.add_api_route("/both", page, methods=["GET"])
    public = Router(Audience.PUBLIC)
    public.add_api_route("/both", page, methods=["PATCH"])
    for router in (public, login, admin):
        app.include_router(router)
    table = RouteTable(app.routes)
    assert table.match("PATCH", "/both").rules == public.rules
    assert table.match("POST", "/both").rules == login.rules
    wrong = table.match("PUT", "/both")
    assert (wrong.rules, wrong.methods) == (admin.rules, {"GET", "PATCH", "POST"})
