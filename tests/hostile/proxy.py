"""Proxies on loopback: HTTP (plain or over TLS) and SOCKS5, with or without a password, and a log of what was asked."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from tests.hostile.web import server_context


class LoopbackProxy:
    """Passes everything on to one place, whatever was asked for, and notes what that was.

    With `names`, what is asked for there (`site.test:443`) goes to a place of its own.
    """

    def __init__(
        self,
        target: tuple[str, int],
        kind: str = "http",
        login: tuple[str, str] | None = None,
        certificate: str | None = None,
        names: Mapping[str, tuple[str, int]] | None = None,
    ) -> None:
        self.target = target
        self.names = names or {}
        self.kind = kind
        self.login = login
        self.certificate = certificate
        self.port = 0
        self.asked: list[str] = []
        self.logins: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="loopback-proxy", daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        scheme = "https" if self.certificate else self.kind
        return f"{scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> LoopbackProxy:
        self._thread.start()
        if not self._ready.wait(60):
            raise RuntimeError("the proxy did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(60)

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        context = server_context(self.certificate) if self.certificate else None
        server = await asyncio.start_server(self._on_connection, "127.0.0.1", 0, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await (self._socks5 if self.kind.startswith("socks5") else self._http)(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
        self.asked.append(f"{method} {target}")
        if self.login is not None:
            wanted = b"Proxy-Authorization: Basic " + base64.b64encode(":".join(self.login).encode())
            if wanted not in head:
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
                return
            self.logins.append(self.login[0])
        upstream_reader, upstream = await asyncio.open_connection(*self.target)
        if method == "CONNECT":
            # With a media type of its own, which must not be taken for the answer's.
            writer.write(b"HTTP/1.1 200 Connection established\r\nContent-Type: image/png\r\n\r\n")
        else:
            parts = urlsplit(target)
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            upstream.write(head.replace(target.encode(), path.encode(), 1))
        await self._pump_both(reader, writer, upstream_reader, upstream)

    async def _socks5(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, count = await reader.readexactly(2)
        await reader.readexactly(count)
        writer.write(b"\x05\x02" if self.login else b"\x05\x00")
        if self.login:
            _, length = await reader.readexactly(2)
            user = (await reader.readexactly(length)).decode()
            (length,) = await reader.readexactly(1)
            password = (await reader.readexactly(length)).decode()
            self.logins.append(user)
            if (user, password) != self.login:
                writer.write(b"\x01\x01")
                await writer.drain()
                return
            writer.write(b"\x01\x00")
        _, _, _, kind = await reader.readexactly(4)
        if kind == 3:
            (length,) = await reader.readexactly(1)
            name = (await reader.readexactly(length)).decode()
        else:
            name = ".".join(map(str, await reader.readexactly(4 if kind == 1 else 16)))
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.asked.append(f"{name}:{port}")
        target = self.names.get(f"{name}:{port}", self.target)
        upstream_reader, upstream = await asyncio.open_connection(*target)
        writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        await self._pump_both(reader, writer, upstream_reader, upstream)

    async def _pump_both(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream_reader: asyncio.StreamReader,
        upstream: asyncio.StreamWriter,
    ) -> None:
        try:
            await asyncio.gather(_pump(reader, upstream), _pump(upstream_reader, writer))
        finally:
            upstream.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    with suppress(OSError, NotImplementedError):
        writer.write_eof()
