"""A site with labels: what it answers, and which faults it has. From Python, or from a folder with `site.json`:

    {"routes": {"/": {"status": 200, "headers": {}, "body": "…", "body_file": "…", "delay_s": 0}},
     "faults": [{"code": "missing_title", "url": "/about"}]}

`{{origin}}` in a body or a header stands for the origin that the site is served at. A site from a folder may instead be
written with an origin of its own (`"origin"`, else that of its sitemap). With `Content-Encoding: gzip` the body is
compressed when it is served. A site whose origin begins with https is served by https, and redirects from http.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.hostile.web import CERTIFICATES, server_context
from tests.walk.site import Answer, Asked, Route, Web

ORIGIN = "{{origin}}"
HTTP_ORIGIN = "{{http_origin}}"
"""The same by http, also where the site is served by https."""
AUTHORITY = CERTIFICATES / "ca.pem"
"""The certificate authority that a client of a site by https must trust."""
_SECURE_CODES = frozenset({"mixed_content", "http_link", "missing_hsts"})
_GZIP = b"\x1f\x8b"
_TLS_HANDSHAKE = b"\x16"
_WRITTEN_ORIGIN = re.compile(r"(?:sitemap:\s*|<loc>\s*)(https?://[^/\s<]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PlainRoute:
    """What a path answers."""

    body: str | bytes = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    drops: bool = False
    """Whether the server hangs up instead."""


class Fault(NamedTuple):
    """A planted fault: the page that it is about, or one of the pages that hold it."""

    code: str
    url: str


@dataclass(frozen=True, slots=True)
class LabelledSite:
    """Routes by path with query, and every fault."""

    name: str
    routes: Mapping[str, PlainRoute]
    faults: tuple[Fault, ...] = ()
    is_secure: bool = False
    start: str = "/"
    written_origin: str = ORIGIN
    """What stands for the origin in bodies and headers."""

    def web_routes(self, origin: str) -> dict[str, Route]:
        """The routes as the test server takes them."""
        return {path: self._answer(route, origin) for path, route in self.routes.items()}

    def labels(self, origin: str) -> set[Fault]:
        """The faults with the addresses that the site is served at."""
        return {Fault(code, self._served(url, origin)) for code, url in self.faults}

    def _served(self, url: str, origin: str) -> str:
        here = self._filled(url, origin)
        return here if "://" in here else origin + ("" if here.startswith("/") else "/") + here

    def _answer(self, route: PlainRoute, origin: str) -> Answer:
        headers = {name: self._filled(value, origin) for name, value in route.headers.items()}
        names = {name.lower(): name for name in headers}
        kind = headers.pop(names["content-type"]) if "content-type" in names else "text/html; charset=utf-8"
        body = route.body
        if (
            isinstance(body, bytes)
            and not body.startswith(_GZIP)
            and ("text" in kind or "xml" in kind or "json" in kind)
        ):
            with suppress(UnicodeDecodeError):
                body = body.decode()
        data = self._filled(body, origin).encode() if isinstance(body, str) else body
        encoding = headers.get(names.get("content-encoding", ""), "")
        if encoding.lower() == "gzip" and not data.startswith(_GZIP):
            data = gzip.compress(data, 6, mtime=0)
        return Answer(route.status, data, kind, headers, after_s=route.delay_s, drops=route.drops)

    def _filled(self, text: str, origin: str) -> str:
        by_http = origin.replace("https:", "http:")
        text = text.replace(ORIGIN, origin).replace(HTTP_ORIGIN, by_http).replace(self.written_origin, origin)
        written = self.written_origin
        return text.replace(written.replace("https:", "http:"), by_http) if written.startswith("https:") else text


def read_folder(folder: Path) -> LabelledSite:
    """A labelled site from its folder."""
    written = json.loads((folder / "site.json").read_text(encoding="utf-8"))
    routes = {path: _read_route(folder, route) for path, route in written["routes"].items()}
    faults = tuple(Fault(each["code"], each["url"]) for each in written.get("faults", ()))
    origin = str(written.get("origin") or _origin_in(routes) or ORIGIN).rstrip("/")
    is_secure = origin.startswith("https:") or any(fault.code in _SECURE_CODES for fault in faults)
    return LabelledSite(folder.name, routes, faults, is_secure, written.get("start", "/"), origin)


def write_folder(site: LabelledSite, folder: Path) -> None:
    """Write a labelled site in the form that `read_folder` reads; its bodies are text."""
    routes: dict[str, Any] = {}
    for path, route in site.routes.items():
        body = route.body.decode() if isinstance(route.body, bytes) else route.body
        routes[path] = {"status": route.status, "headers": dict(route.headers), "body": body, "delay_s": route.delay_s}
        if route.drops:
            routes[path]["drops"] = True
    faults = [fault._asdict() for fault in site.faults]
    origin = "https://site.test" if site.is_secure else "http://site.test"
    text = json.dumps({"origin": origin, "routes": routes, "faults": faults}, indent=1)
    folder.mkdir(parents=True, exist_ok=True)
    text = text.replace(ORIGIN, origin).replace(HTTP_ORIGIN, origin.replace("https:", "http:"))
    (folder / "site.json").write_text(text, encoding="utf-8")


def _read_route(folder: Path, written: Mapping[str, Any]) -> PlainRoute:
    body: str | bytes = written.get("body", "")
    if "body_file" in written:
        body = (folder / written["body_file"]).read_bytes()
    return PlainRoute(
        body,
        int(written.get("status", 200)),
        dict(written.get("headers", {})),
        float(written.get("delay_s", 0.0)),
        bool(written.get("drops", False)),
    )


def _origin_in(routes: Mapping[str, PlainRoute]) -> str | None:
    """The origin that a site was written for, by robots.txt or its sitemap."""
    for path in ("/robots.txt", "/sitemap.xml"):
        body = routes[path].body if path in routes else ""
        found = _WRITTEN_ORIGIN.search(body if isinstance(body, str) else body.decode("utf-8", "replace"))
        if found:
            return found[1]
    return None


@contextmanager
def served(site: LabelledSite, web: Web) -> Iterator[str]:
    """Serve a site on loopback; gives its origin."""
    if not site.is_secure:
        plain = web.site({})
        origin = plain.url("").rstrip("/")
        plain.routes.update(site.web_routes(origin))
        yield origin
        return
    secure = web.site({}, certificate=server_context("good"))
    with _one_port(web, secure.port) as (port, plain_routes):
        origin = f"https://127.0.0.1:{port}"
        secure.routes.update(site.web_routes(origin))
        plain_routes.append(lambda asked: Answer(301, headers={"Location": origin + asked.path}))
        yield origin


@contextmanager
def _one_port(web: Web, secure_port: int) -> Iterator[tuple[int, list[Any]]]:
    """A port that speaks http and https: each connection is passed on by its first byte."""
    plain_routes: list[Any] = []

    def answer(asked: Asked) -> Any:
        return plain_routes[0](asked)

    plain = web.site({"/robots.txt": answer}, fallback=answer)
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    ports: list[int] = []

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        sink.close()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            first = await reader.readexactly(1)
            port = secure_port if first == _TLS_HANDSHAKE else plain.port
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", port)
            to_writer.write(first)
            await asyncio.gather(pump(reader, to_writer), pump(to_reader, writer))

    async def serve() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
        ready.set()
        await server.serve_forever()

    async def end_open_ones() -> None:
        open_ones = asyncio.all_tasks() - {asyncio.current_task()}
        for each in open_ones:
            each.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)

    task = loop.create_task(serve())

    def run() -> None:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        loop.run_until_complete(end_open_ones())

    thread = threading.Thread(target=run, name="one-port", daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield ports[0], plain_routes
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(60)
        loop.close()


def path_of(url: str) -> str:
    """An address without its origin."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
