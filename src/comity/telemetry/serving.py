"""A small HTTP server for monitoring: a few paths, one answer a connection, everything bounded.

Paths and what answers them enter; nothing that a client sends but the path and what it accepts is looked at.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final, NamedTuple, cast

from comity.model.errors import BadInput

_WRITTEN: Final = re.compile(r"(?:(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):)?(?P<port>[0-9]{1,5})")
_LOOPBACK: Final = "127.0.0.1"


class Address(NamedTuple):
    """Where to listen; port 0 means any free port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_address(text: str) -> Address:
    """`127.0.0.1:9100`, `[::1]:9100`, or a port alone, which is this machine's own; else `ValueError`."""
    found = _WRITTEN.fullmatch(text.strip())
    if found is None or int(found["port"]) > 65_535:
        raise ValueError(f"{text!r} is not an address and a port such as 127.0.0.1:9100")
    return Address((found["host"] or _LOOPBACK).strip("[]"), int(found["port"]))


_HEAD_MOST: Final = 16_384
CLIENT_TIMEOUT_S: Final = 5.0  # for a request to come, and for its answer to be taken
ANSWER_TIMEOUT_S: Final = 15.0  # for an answer to be made
_CONNECTIONS_MOST: Final = 64
_ANSWERS_MOST: Final = 12  # of one path at once, so that slow answers of one leave room for the others
_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
TEXT: Final = "text/plain; charset=utf-8"


class HttpAnswer(NamedTuple):
    """What is answered."""

    status: int
    body: bytes
    media_type: str = TEXT


Answer = Callable[[str], Awaitable[HttpAnswer]]  # takes what the client accepts


@asynccontextmanager
async def serving(address: Address, paths: Mapping[str, Answer]) -> AsyncIterator[Address]:
    """Serve these paths while the block lasts; returns the address. `BadInput` if it is not available."""
    server_side = _Server(paths)
    try:
        server = await asyncio.start_server(server_side.serve, address.host, address.port, limit=_HEAD_MOST)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput(f"cannot listen on {address} for metrics: {reason}") from None
    try:
        host, port = server.sockets[0].getsockname()[:2]
        yield Address(str(host), int(port))
    finally:
        server.close()
        await server_side.close()


class _Server:
    """Answers a limited number of connections at a time. One that sends no request is closed for a newer one."""

    def __init__(self, paths: Mapping[str, Answer]) -> None:
        self._paths = paths
        self._open: set[asyncio.Task[None]] = set()
        self._silent: dict[asyncio.Task[None], None] = {}  # those whose request is not there yet, oldest first
        self._answering: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, one answer."""
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(self._open) >= _CONNECTIONS_MOST and not self._make_room():
                return
            self._open.add(task)
            self._silent[task] = None
            with suppress(TimeoutError, ConnectionError, asyncio.CancelledError):
                await self._converse(reader, writer)
        finally:
            self._open.discard(task)
            self._silent.pop(task, None)
            writer.close()

    def _make_room(self) -> bool:
        """Close the connection that has been silent longest; False if all have sent a request."""
        oldest = next(iter(self._silent), None)
        if oldest is None:
            return False
        del self._silent[oldest]
        self._open.discard(oldest)
        return oldest.cancel()

    async def close(self) -> None:
        """Close all open connections."""
        for task in list(self._open):
            task.cancel()
        if self._open:
            await asyncio.wait(list(self._open), timeout=1.0)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_head = False
        try:
            async with asyncio.timeout(CLIENT_TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
            self._silent.pop(cast("asyncio.Task[None]", asyncio.current_task()), None)
            method, path, accept = _read_head(head)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            page = HttpAnswer(400, b"not a request\n")
        else:
            is_head = method == "HEAD"
            page = await self._page(method, path, accept)
        writer.write(_written(page, is_head))
        async with asyncio.timeout(CLIENT_TIMEOUT_S):
            await writer.drain()

    async def _page(self, method: str, path: str, accept: str) -> HttpAnswer:
        answer = self._paths.get(path)
        if answer is None:
            known = " ".join(self._paths)
            return HttpAnswer(404, f"available paths: {known}\n".encode())
        if method not in ("GET", "HEAD"):
            return HttpAnswer(405, b"only GET and HEAD\n")
        if self._answering[path] >= _ANSWERS_MOST:
            return HttpAnswer(503, b"too many requests at once\n")
        self._answering[path] += 1
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return await answer(accept)
        except TimeoutError:
            return HttpAnswer(503, b"no answer in time\n")
        except Exception as error:  # what goes wrong in a look must not end the work
            return HttpAnswer(500, f"{type(error).__name__}\n".encode())
        finally:
            self._answering[path] -= 1


def _read_head(head: bytes) -> tuple[str, str, str]:
    """The method, the path without its query, and what is accepted."""
    first, *rest = head.decode("latin-1").split("\r\n")
    method, target, version = first.split(" ")
    if not version.startswith("HTTP/1.") or not target.startswith("/"):
        raise ValueError("not HTTP/1")
    pairs = (line.partition(":") for line in rest)
    accept = ",".join(value.strip() for name, _, value in pairs if name.strip().lower() == "accept")
    return method, target.partition("?")[0], accept


def _written(page: HttpAnswer, is_head: bool) -> bytes:
    lines = (
        f"HTTP/1.1 {page.status} {_REASONS[page.status]}",
        f"Content-Type: {page.media_type}",
        f"Content-Length: {len(page.body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    )
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (b"" if is_head else page.body)
