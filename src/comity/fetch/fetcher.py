"""The fetcher: a bounded pool of transfers on one engine; one request in, one answer or failure out.

Behind a proxy the target's own spelling is judged (`rules.address_guard.decide_name`), and where the name leads as far
as this machine can tell (`proxied_names`).
"""

from __future__ import annotations

import asyncio
import re
from asyncio import get_running_loop
from collections import deque
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import Final, Self

import ada_url
import pycurl

from comity.fetch.connections import Connections
from comity.fetch.dialler import Dialler, ProxiedNames
from comity.fetch.engine import Engine
from comity.fetch.head import encode_headers, request_headers
from comity.fetch.settings import FetchSettings
from comity.fetch.transfer import Transfer, apply_proxy, apply_settings
from comity.model.fetch import Ask, FailureKind, FetchFailure, FetchRequest, NotAllowed, OnSent, Response
from comity.rules.address_guard import decide_name, decide_port, parse_networks

# What the canonical form of nearly every URL looks like; anything else is read again by the WHATWG rules.
_PLAIN_URL: Final = re.compile(r"https?://[a-z0-9._-]+(?::([0-9]{1,5}))?(?:[/?][!-\[\]-~]*)?")
_SCHEME: Final = re.compile(r"[\x00-\x20]*([a-zA-Z][a-zA-Z0-9+.-]*):")
_WEB_SCHEMES: Final = {"http:": 80, "https:": 443}


class CurlFetcher:
    """Asks politely once: no redirect, no cookie, no second try. Must be closed; lives on one event loop.

    `now` gives wall time in seconds; durations are measured apart from it.
    """

    def __init__(self, settings: FetchSettings, now: Callable[[], float]) -> None:
        self._settings = settings
        self._now = now
        self._proxied = settings.proxy is not None
        self._allowed_networks = parse_networks(settings.allowed_networks)
        self._names = ProxiedNames(self._allowed_networks)
        self._default_headers = settings.default_headers()
        self._default_lines = encode_headers(self._default_headers)
        self._transfers: list[Transfer] = []
        self._free: list[Transfer] = []
        self._active: set[Transfer] = set()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._connections = Connections()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._engine: Engine | None = None
        self._sweeper: asyncio.TimerHandle | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def in_flight(self) -> int:
        """How many requests are on their way."""
        return len(self._active)

    @property
    def open_connections(self) -> int:
        """How many sockets are open, in use or kept."""
        return self._connections.count()

    async def get(self, request: FetchRequest, on_sent: OnSent | None = None) -> Response | FetchFailure:
        """Make one request. Never raises for what a server or a URL does; cancelling ends it at once.

        `on_sent` is called when the way to the host is open and the request goes out; it must not wait or raise.
        """
        url = request.url
        proxied = self._proxied or request.proxy is not None
        plain = _PLAIN_URL.fullmatch(url)
        if plain is None or proxied or not (plain[1] is None or decide_port(int(plain[1])).allowed):
            read = self._read_url(request, proxied=proxied)
            if isinstance(read, FetchFailure):
                return read
            url = read
        if proxied:
            verdict = await self._names.refusal(ada_url.URL(url).hostname)
            if verdict is not None:
                return self._failure(request, FailureKind.ADDRESS_REFUSED, verdict.reason, verdict.address)
        loop = get_running_loop()
        engine = self._engine if loop is self._loop else self._bind(loop)
        transfer = self._free.pop() if self._free and not self._closed else await self._free_transfer()
        if transfer is None:
            return self._failure(request, FailureKind.CANCELLED, "the fetcher is closed")
        assert engine is not None
        try:
            wants = (request.method, request.headers, request.etag, request.last_modified, request.body, request.proxy)
            if wants != transfer.wants:
                problem = self._prepare(transfer, request)
                if problem is not None:
                    return self._failure(request, FailureKind.INVALID_HEADER, problem)
                transfer.wants = wants
            if self._settings.resolve:
                self._override_dns(transfer, url)
            transfer.begin(request, url, self._now())
            transfer.on_sent = on_sent
            transfer.waiter = waiter = loop.create_future()
            self._active.add(transfer)
            engine.add(transfer.easy)
            if self._sweeper is None:
                self._sweep()
            code, message = await waiter
            return transfer.result(code, message)
        finally:
            if transfer in self._active:  # cancelled
                self._active.discard(transfer)
                engine.drop(transfer.easy)
            self._free.append(transfer)
            if self._waiting:
                self._wake_next()

    async def get_page(self, request: FetchRequest, ask: Ask) -> Response | FetchFailure | NotAllowed:
        """Get a page, which takes one request."""
        return await ask(request, self.get)

    def poll(self) -> None:
        """Send requests that have just started, and note answers that have come, without waiting for the event loop."""
        if self._engine is not None and not self._closed:
            self._engine.poll()

    def forget_host(self, host: str) -> int:
        """Close the kept connections to a host (`example.com`, `example.com:8080`); give their number."""
        if self._engine is None or self._closed:
            return 0
        return self._connections.shut(host, self._engine.watcher.is_idle)

    def close(self) -> None:
        """End what is in flight as cancelled and close every connection; may be called again."""
        if self._closed:
            return
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        for transfer in tuple(self._active):
            self._end(transfer, FailureKind.CANCELLED, "the fetcher was closed")
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        if self._engine is not None:
            self._engine.close()
        for transfer in self._transfers:
            transfer.close()
        self._free.clear()

    def _on_done(self, easy: pycurl.Curl, code: int, message: str) -> None:
        transfer: Transfer = easy.transfer
        assert self._engine is not None
        transfer.note_end()
        self._engine.remove(easy)
        if transfer.stale:
            transfer.begin_again()
            self._engine.add(easy)
            return
        self._active.discard(transfer)
        if not transfer.waiter.done():
            transfer.waiter.set_result((code, message))

    def _end(self, transfer: Transfer, kind: FailureKind, detail: str) -> None:
        """End a transfer that is still on its way."""
        assert self._engine is not None
        transfer.fault = (kind, detail)
        self._active.discard(transfer)
        self._engine.drop(transfer.easy)
        if not transfer.waiter.done():
            transfer.waiter.set_result((0, ""))

    def _sweep(self) -> None:
        """Look at every request's clock; one timer for all is far cheaper than four for each."""
        assert self._loop is not None
        self._sweeper = None
        now = monotonic()
        for transfer in tuple(self._active):
            overdue = transfer.overdue(now)
            if overdue is not None:
                self._end(transfer, *overdue)
        if self._active:
            self._sweeper = self._loop.call_later(self._settings.timer_tick_s, self._sweep)

    def _bind(self, loop: asyncio.AbstractEventLoop) -> Engine:
        """Settle on the loop of the first request."""
        if self._loop is not None:
            raise RuntimeError("a fetcher lives on one event loop")
        self._loop = loop
        self._engine = Engine(loop, self._settings, self._on_done, self._connections.note_end)
        return self._engine

    async def _free_transfer(self) -> Transfer | None:
        """A free transfer: a new one, or one that is waited for; None once closed."""
        assert self._loop is not None
        while not self._closed:
            if self._free:
                return self._free.pop()
            if len(self._transfers) < self._settings.max_concurrency:
                return self._new_transfer()
            waiter = self._loop.create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake_next()  # it was this one's turn
                raise
        return None

    def _new_transfer(self) -> Transfer:
        dialler = Dialler(self._allowed_networks, self._connections, proxied=self._proxied)
        transfer = Transfer(dialler, max_error_body_bytes=self._settings.max_error_body_bytes)
        apply_settings(transfer.easy, self._settings, self._default_lines)
        self._transfers.append(transfer)
        return transfer

    def _wake_next(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _prepare(self, transfer: Transfer, request: FetchRequest) -> str | None:
        """Set the options in which this request differs from the handle's last; say what cannot be sent."""
        lines = request_headers(self._default_headers, request)
        if isinstance(lines, str):
            return lines
        easy = transfer.easy
        easy.setopt(pycurl.HTTPHEADER, lines)
        if request.method == "HEAD":
            easy.setopt(pycurl.HTTPGET, 1)  # a handle that posted would post the body again
        easy.setopt(pycurl.NOBODY, 1 if request.method == "HEAD" else 0)
        if request.method == "GET":
            easy.setopt(pycurl.HTTPGET, 1)
        elif request.method == "POST":
            easy.setopt(pycurl.POSTFIELDS, request.body)
        if request.proxy != transfer.wants[-1]:
            apply_proxy(easy, request.proxy or self._settings.proxy)
            transfer.use_proxy(is_used=self._proxied or request.proxy is not None)
        return None

    def _read_url(self, request: FetchRequest, *, proxied: bool) -> str | FetchFailure:
        """Read an unusual URL as a browser would and judge what can be seen of it before dialling."""
        scheme = _SCHEME.match(request.url)
        if scheme is None or scheme[1].lower() not in ("http", "https"):
            kind = FailureKind.INVALID_URL if scheme is None else FailureKind.SCHEME_REFUSED
            return self._failure(request, kind, "only absolute http and https URLs are fetched")
        try:
            parsed = ada_url.URL(request.url)
        except ValueError:
            return self._failure(request, FailureKind.INVALID_URL, "not a URL")
        if parsed.username or parsed.password:
            return self._failure(request, FailureKind.INVALID_URL, "a user name or password is never sent")
        verdict = decide_port(int(parsed.port or _WEB_SCHEMES[parsed.protocol]))
        if verdict.allowed and proxied:
            verdict = decide_name(parsed.hostname, self._allowed_networks)
        if not verdict.allowed:
            return self._failure(request, FailureKind.ADDRESS_REFUSED, verdict.reason, verdict.address)
        parsed.hash = ""
        return str(parsed.href)

    def _override_dns(self, transfer: Transfer, url: str) -> None:
        """Answer for DNS where a setting says so."""
        parsed = ada_url.URL(url)
        addresses = self._settings.resolve.get(parsed.hostname)
        if addresses is not None:
            port = parsed.port or _WEB_SCHEMES[parsed.protocol]
            transfer.easy.setopt(pycurl.RESOLVE, [f"{parsed.hostname}:{port}:{addresses}"])

    def _failure(
        self, request: FetchRequest, kind: FailureKind, detail: str, address: str | None = None
    ) -> FetchFailure:
        return FetchFailure(request.url, kind, detail, self._now(), 0.0, address=address)
