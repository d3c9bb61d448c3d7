"""The fetcher: a bounded pool of transfers on one engine; one request in, one answer or failure out.

Behind a proxy, the name in the URL is checked (`rules.address_guard.decide_name`), and the addresses that this machine
finds for it (`dialler.ProxiedNames`).
"""

from __future__ import annotations

import asyncio
import re
import select
from asyncio import get_running_loop
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from threading import get_ident
from time import monotonic
from types import TracebackType
from typing import Any, Final, Protocol, Self

import ada_url
import pycurl

from comity.fetch.dialler import Connections, Dialler, ProxiedNames
from comity.fetch.head import encode_headers, request_headers
from comity.fetch.settings import FetchSettings
from comity.fetch.transfer import Transfer, apply_proxy, apply_settings
from comity.model.fetch import FailureKind, FetchFailure, FetchRequest, OnSent, Response, Waiter, page_of_one_request
from comity.rules.address_guard import decide_name, decide_port, parse_networks

# What the canonical form of nearly every URL looks like; anything else is read again by the WHATWG rules.
_PLAIN_URL: Final = re.compile(r"https?://[a-z0-9._-]+(?::([0-9]{1,5}))?(?:[/?][!-\[\]-~]*)?")
_SCHEME: Final = re.compile(r"[\x00-\x20]*([a-zA-Z][a-zA-Z0-9+.-]*):")
_WEB_SCHEMES: Final = {"http:": 80, "https:": 443}
_EVENTS_AT_ONCE: Final = 256
_IN: Final = pycurl.POLL_IN
_OUT: Final = pycurl.POLL_OUT
_REMOVE: Final = pycurl.POLL_REMOVE
_TIMEOUT: Final = pycurl.SOCKET_TIMEOUT
_HAS_EPOLL = hasattr(select, "epoll")


# What libcurl waits for, as epoll events; empty on systems without epoll.
_EPOLL_MASKS: Final = {
    pycurl.POLL_NONE: 0,
    _IN: getattr(select, "EPOLLIN", 0),
    _OUT: getattr(select, "EPOLLOUT", 0),
    _IN | _OUT: getattr(select, "EPOLLIN", 0) | getattr(select, "EPOLLOUT", 0),
}
_SELECTED: Final = {
    _EPOLL_MASKS[_IN]: pycurl.CSELECT_IN,
    _EPOLL_MASKS[_OUT]: pycurl.CSELECT_OUT,
}
_BOTH: Final = pycurl.CSELECT_IN | pycurl.CSELECT_OUT


class CurlFetcher:
    """Makes each request once: no redirects, no cookies, no retries. Must be closed; belongs to one event loop.

    `now` returns wall time in seconds; durations are measured with another clock.
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
        self._thread = 0  # which that loop runs on
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
        """How many requests are in flight."""
        return len(self._active)

    @property
    def takes_waiters(self) -> bool:
        """Whether requests that name no proxy may be made outside a task: names are looked up for proxies alone."""
        return not self._proxied

    @property
    def open_connections(self) -> int:
        """How many sockets are open, in use or idle."""
        return self._connections.count()

    def get(self, request: FetchRequest, on_sent: OnSent | None = None) -> Coroutine[Any, Any, Response | FetchFailure]:
        """Make one request. Never raises for what a server or a URL does; cancelling ends it at once.

        `on_sent` is called when the connection is open and the request is sent; it must not wait or raise.
        """
        return self.get_for(request, on_sent, None)

    async def get_for(
        self, request: FetchRequest, on_sent: OnSent | None, waiter: Waiter | None
    ) -> Response | FetchFailure:
        """The same for work that is no task: its `waiter` is notified in place of a future. See `takes_waiters`."""
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
        loop = self._loop
        # To ask for the running loop is a system call. On the thread of ours none but ours can run while it does.
        if loop is None or get_ident() != self._thread or not loop.is_running():
            loop = get_running_loop()
        engine = self._engine if loop is self._loop else self._bind(loop)
        transfer = self._free.pop() if self._free and not self._closed else self._make_transfer()
        if transfer is None:
            transfer, waiter = await self._free_transfer(), None  # by now it is a task that waits
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
            if waiter is None:
                waiter = loop.create_future()
            transfer.waiter = waiter
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

    get_page = page_of_one_request

    def poll(self) -> None:
        """Send requests that have just started, and note answers that have come, without waiting for the event loop."""
        if self._engine is not None and not self._closed:
            self._engine.poll()

    def forget_host(self, host: str) -> int:
        """Close the idle connections to a host (`example.com`, `example.com:8080`); returns how many."""
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
        """End a transfer that is still in progress."""
        assert self._engine is not None
        transfer.fault = (kind, detail)
        self._active.discard(transfer)
        self._engine.drop(transfer.easy)
        if not transfer.waiter.done():
            transfer.waiter.set_result((0, ""))

    def _sweep(self) -> None:
        """Check the time limits of every request; one timer for all is far cheaper than four for each."""
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
        """Use the loop of the first request."""
        if self._loop is not None:
            raise RuntimeError("a fetcher belongs to one event loop")
        self._loop = loop
        self._thread = get_ident()
        self._engine = Engine(loop, self._settings, self._on_done, self._connections.note_end)
        return self._engine

    async def _free_transfer(self) -> Transfer | None:
        """A free transfer; waits for one if none may be added; None once closed."""
        assert self._loop is not None
        while not self._closed:
            if self._free:
                return self._free.pop()
            if (made := self._make_transfer()) is not None:
                return made
            waiter = self._loop.create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake_next()  # it was this one's turn
                raise
        return None

    def _make_transfer(self) -> Transfer | None:
        """A new transfer, if another is allowed."""
        if self._closed or len(self._transfers) >= self._settings.max_concurrency:
            return None
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
        """Set the options in which this request differs from the last of its handle; returns what cannot be sent."""
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
        """Parse an unusual URL as a browser would, and check it as far as possible before dialling."""
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
        """Use the addresses of a setting instead of DNS."""
        parsed = ada_url.URL(url)
        addresses = self._settings.resolve.get(parsed.hostname)
        if addresses is not None:
            port = parsed.port or _WEB_SCHEMES[parsed.protocol]
            transfer.easy.setopt(pycurl.RESOLVE, [f"{parsed.hostname}:{port}:{addresses}"])

    def _failure(
        self, request: FetchRequest, kind: FailureKind, detail: str, address: str | None = None
    ) -> FetchFailure:
        return FetchFailure(request.url, kind, detail, self._now(), 0.0, address=address)


class Watcher(Protocol):
    """Watches the sockets that libcurl names."""

    def change(self, wanted: int, descriptor: int, _multi: object, _data: object) -> None:
        """libcurl's socket callback: start or stop waiting for events."""
        ...

    def is_idle(self, descriptor: int) -> bool:
        """Whether libcurl waits for nothing on a socket."""
        ...

    def poll(self) -> None:
        """Handle the events so far at once."""
        ...

    def close(self) -> None:
        """Stop watching."""
        ...


class Engine:
    """A CurlMulti driven by the running loop; calls `on_done(easy, code, message)` for each ended transfer.

    libcurl's event loop inside ours. libcurl says which sockets it waits for and when it wants to be called next. On
    Linux its sockets live in an epoll set of their own, of which asyncio sees one descriptor: a burst of answers is one
    wake-up, and a connection that goes idle between two requests stays registered instead of paying two system calls
    each time. Elsewhere the loop watches every socket itself. Works on uvloop and on the standard loop.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        settings: FetchSettings,
        on_done: Callable[[pycurl.Curl, int, str], None],
        on_idle_event: Callable[[int, bool], None],
    ) -> None:
        self._loop = loop
        self._on_done = on_done
        self._timer: asyncio.TimerHandle | None = None
        self._due = False
        self._closed = False
        self._multi = multi = pycurl.CurlMulti()
        self.watcher: Watcher
        if _HAS_EPOLL:
            self.watcher = _EpollWatcher(loop, multi.socket_action, self._after, on_idle_event)
        else:
            self.watcher = _LoopWatcher(loop, multi.socket_action, self._after)
        multi.setopt(pycurl.M_SOCKETFUNCTION, self.watcher.change)
        # Only recorded: libcurl must not be called from its own callback.
        self._delays: list[int] = []
        multi.setopt(pycurl.M_TIMERFUNCTION, self._delays.append)
        multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_MULTIPLEX)
        multi.setopt(pycurl.M_MAX_TOTAL_CONNECTIONS, settings.max_connections)
        multi.setopt(pycurl.M_MAX_HOST_CONNECTIONS, settings.max_connections_per_host)
        multi.setopt(pycurl.M_MAXCONNECTS, settings.max_connections)
        self._add = multi.add_handle
        self.remove = multi.remove_handle

    def close(self) -> None:
        """Close every connection; the handles must have been removed."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._multi.close()
        self.watcher.close()

    def add(self, easy: pycurl.Curl) -> None:
        """Begin a transfer. libcurl asks to be called at once; all that begin in one turn share that call."""
        self._add(easy)
        if not self._due:
            self._due = True
            self._loop.call_soon(self._on_due)

    def poll(self) -> None:
        """Send new requests and read arrived answers, without waiting for the loop's next turn."""
        if self._due:
            self._on_time()
        self.watcher.poll()

    def _on_due(self) -> None:
        if self._due:
            self._on_time()

    def drop(self, easy: pycurl.Curl) -> None:
        """End a transfer that is still in progress."""
        self.remove(easy)
        if self._delays:  # others may have waited for its connection
            self._set_timer()

    def _on_time(self) -> None:
        self._due = False
        if not self._closed:
            self._multi.socket_action(_TIMEOUT, 0)
            self._after()

    def _after(self) -> None:
        """After a call of libcurl: collect ended transfers, and note when it wants to be called again."""
        self._reap()
        if self._delays:
            self._set_timer()

    def _set_timer(self) -> None:
        delays = self._delays
        delay_ms = delays[-1]
        delays.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if delay_ms >= 0:
            self._timer = self._loop.call_later(delay_ms / 1000, self._on_time)

    def _reap(self) -> None:
        """Report every transfer that has ended."""
        left = 1
        while left:
            left, succeeded, failed = self._multi.info_read()
            for easy in succeeded:
                self._on_done(easy, 0, "")
            for easy, code, message in failed:
                self._on_done(easy, code, message)


class _EpollWatcher:
    """Keeps sockets in a nested epoll set, even while libcurl does not watch them."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        act: Callable[[int, int], Any],
        after: Callable[[], None],
        on_idle_event: Callable[[int, bool], None],
    ) -> None:
        self._loop = loop
        self._act = act
        self._after = after
        self._on_idle_event = on_idle_event
        self._wanted: dict[int, int] = {}
        self._epoll = select.epoll()
        loop.add_reader(self._epoll.fileno(), self._on_events)

    def change(self, wanted: int, descriptor: int, _multi: object, _data: object) -> None:
        if wanted == _REMOVE:
            # Stays registered: the connection usually gets another request soon.
            self._wanted.pop(descriptor, None)
            return
        mask = _EPOLL_MASKS[wanted]
        self._wanted[descriptor] = mask
        try:
            # Only the kernel knows whether this number is still the socket that was registered.
            self._epoll.modify(descriptor, mask)
        except FileNotFoundError:
            self._epoll.register(descriptor, mask)

    def is_idle(self, descriptor: int) -> bool:
        return descriptor not in self._wanted

    def close(self) -> None:
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def poll(self) -> None:
        self._on_events()

    def _on_events(self) -> None:
        act, wanted = self._act, self._wanted
        happened = self._epoll.poll(0, _EVENTS_AT_ONCE)
        if not happened:
            return
        for descriptor, events in happened:
            if descriptor not in wanted:
                self._on_idle(descriptor, events)
                continue
            # An error or hang-up is reported as both: libcurl finds out what happened when it tries.
            act(descriptor, _SELECTED.get(events, _BOTH))
        self._after()

    def _on_idle(self, descriptor: int, events: int) -> None:
        """Something happened on an idle connection: it closed, or sent unrequested data."""
        ended = bool(events & (select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR))
        spoke = bool(events & select.EPOLLIN)
        with suppress(OSError):
            if ended:
                self._epoll.unregister(descriptor)
            else:  # after unrequested data, only the end matters
                self._epoll.modify(descriptor, select.EPOLLRDHUP | (0 if spoke else select.EPOLLIN))
        if ended or spoke:
            self._on_idle_event(descriptor, ended)


class _LoopWatcher:
    """Lets the loop watch each socket: for systems without epoll."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, act: Callable[[int, int], Any], after: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._act = act
        self._after = after
        self._wanted: dict[int, int] = {}

    def change(self, wanted: int, descriptor: int, _multi: object, _data: object) -> None:
        before = self._wanted.pop(descriptor, 0)
        now = 0 if wanted == _REMOVE else wanted
        if now:
            self._wanted[descriptor] = now
        if (before ^ now) & _IN:
            if now & _IN:
                self._loop.add_reader(descriptor, self._on_event, descriptor, pycurl.CSELECT_IN)
            else:
                self._loop.remove_reader(descriptor)
        if (before ^ now) & _OUT:
            if now & _OUT:
                self._loop.add_writer(descriptor, self._on_event, descriptor, pycurl.CSELECT_OUT)
            else:
                self._loop.remove_writer(descriptor)

    def is_idle(self, descriptor: int) -> bool:
        return descriptor not in self._wanted

    def poll(self) -> None:
        """The loop reports events at its next turn."""

    def close(self) -> None:
        for descriptor in list(self._wanted):
            self.change(_REMOVE, descriptor, None, None)

    def _on_event(self, descriptor: int, flags: int) -> None:
        self._act(descriptor, flags)
        self._after()
