"""The demonstration web: three small sites that this machine serves itself.

One site asks for a longer crawl delay; all answer 429 once, forbid some pages in robots.txt, and have broken links.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Final

from comity.model.dataclass import dataclass

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

PAGES_PER_SITE: Final = 60
_LONGEST_HEAD: Final = 65_536
SITES: Final = (
    ("The Lighthouse Library", "Crawl-delay: 0.15"),
    ("Orchard & Sons", "Disallow: /cellar/"),
    ("A Museum of Small Machines", "Allow: /archive/open/\nDisallow: /archive/"),
)


@dataclass(slots=True)
class DemoSite:
    """One site: its title, its rule in robots.txt, and the requests it received."""

    title: str
    rule: str
    port: int = 0
    requests: int = 0
    visits: dict[str, int] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}/"

    def answer(self, path: str) -> tuple[int, str, str, str]:
        """Status, content type, extra header and body for a path."""
        self.requests += 1
        self.visits[path] = self.visits.get(path, 0) + 1
        if path == "/robots.txt":
            return 200, "text/plain", "", f"User-agent: *\nDisallow: /private/\n{self.rule}\n"
        if path == "/page/7" and self.visits[path] == 1:
            return 429, "text/plain", "Retry-After: 1\r\n", "One moment, please.\n"
        number = 0 if path == "/" else _number(path)
        if number is None or number >= PAGES_PER_SITE:
            return 404, "text/html", "", "<title>Not here</title><h1>Not here</h1>"
        return 200, "text/html; charset=utf-8", "", self._page(number)

    def _page(self, number: int) -> str:
        near = [2 * number + 1, 2 * number + 2, max(0, number - 1)]
        links = "".join(f'<li><a href="/page/{n}">Room {n}</a></li>' for n in near if n < PAGES_PER_SITE)
        extra = '<a href="/private/diary">the diary</a> <a href="/lost">a lost page</a>'
        prose = f"<p>Room {number} of {self.title}. " + "There is much to see and little to touch. " * 40 + "</p>"
        return (
            f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{self.title}: room {number}</title></head>"
            f"<body><h1>{self.title}</h1>{prose}<ul>{links}</ul><footer>{extra}</footer></body></html>"
        )


def _number(path: str) -> int | None:
    tail = path.removeprefix("/page/")
    return int(tail) if tail != path and tail.isascii() and tail.isdigit() else None


@contextmanager
def demo_web(ports: Sequence[int] = ()) -> Iterator[list[DemoSite]]:
    """Serve the three sites on 127.0.0.1 until the block ends: on free ports, or on these.

    `OSError` if one of them is taken.
    """
    import asyncio  # slow to import, and --help does not need it

    sites = [DemoSite(title, rule) for title, rule in SITES]
    ready, loop = threading.Event(), asyncio.new_event_loop()
    failures: list[OSError] = []

    async def serve() -> None:
        try:
            for site, port in zip(sites, ports or [0] * len(sites), strict=True):
                server = await asyncio.start_server(_handler(site), "127.0.0.1", port, limit=_LONGEST_HEAD)
                site.port = server.sockets[0].getsockname()[1]
        except OSError as error:
            failures.append(error)
        ready.set()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(serve())
        loop.run_forever()

    thread = threading.Thread(target=run, name="comity-demo-web", daemon=True)
    thread.start()
    ready.wait(10)
    try:
        if failures:
            raise failures[0]
        yield sites
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)


def _handler(site: DemoSite) -> Callable[[StreamReader, StreamWriter], Awaitable[None]]:
    from asyncio import IncompleteReadError, LimitOverrunError

    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode("latin-1")
                status, content_type, extra, body = site.answer(path)
                encoded = body.encode()
                writer.write(
                    f"HTTP/1.1 {status} OK\r\nContent-Type: {content_type}\r\n{extra}"
                    f"Content-Length: {len(encoded)}\r\n\r\n".encode()
                    + encoded
                )
                await writer.drain()
        except (IncompleteReadError, LimitOverrunError, ConnectionError, IndexError):
            pass
        finally:
            writer.close()

    return handle
