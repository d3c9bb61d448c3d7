"""libcurl's event loop inside ours: easy handles enter, a callback gets their results.

libcurl says which sockets it waits for and when it wants to be called next. On Linux its sockets live in an epoll
set of their own, of which asyncio sees one descriptor: a burst of answers is one wake-up, and a connection that
goes idle between two requests stays registered instead of paying two system calls each time. Elsewhere the loop
watches every socket itself. Works on uvloop and on the standard loop.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol

import pycurl

from comity.fetch.settings import FetchSettings

_EVENTS_AT_ONCE: Final = 256
_IN: Final = pycurl.POLL_IN
_OUT: Final = pycurl.POLL_OUT
_REMOVE: Final = pycurl.POLL_REMOVE
_TIMEOUT: Final = pycurl.SOCKET_TIMEOUT
_HAS_EPOLL = hasattr(select, "epoll")


# What libcurl wants, in epoll's words; nothing is asked for on systems without it.
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


class Watcher(Protocol):
    """Watches the sockets that libcurl names."""

    def change(self, wanted: int, descriptor: int, _multi: object, _data: object) -> None:
        """libcurl's socket callback: wait for this, or no longer."""
        ...

    def is_idle(self, descriptor: int) -> bool:
        """Whether libcurl waits for nothing on a socket."""
        ...

    def poll(self) -> None:
        """Handle at once what has happened meanwhile."""
        ...

    def close(self) -> None:
        """Watch nothing more."""
        ...


class Engine:
    """A CurlMulti driven by the running loop; calls `on_done(easy, code, message)` for each ended transfer."""

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
        # Only noted, without code of ours: libcurl must not be entered from its own callback anyway.
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
        """Begin a transfer. libcurl asks at once to be called; all that begin in one turn share that call."""
        self._add(easy)
        if not self._due:
            self._due = True
            self._loop.call_soon(self._on_due)

    def poll(self) -> None:
        """Let go what has begun and take in what has come, without waiting for the loop's next turn."""
        if self._due:
            self._on_time()
        self.watcher.poll()

    def _on_due(self) -> None:
        if self._due:
            self._on_time()

    def drop(self, easy: pycurl.Curl) -> None:
        """End a transfer that is still on its way."""
        self.remove(easy)
        if self._delays:  # others may have waited for its connection
            self._set_timer()

    def _on_time(self) -> None:
        self._due = False
        if not self._closed:
            self._multi.socket_action(_TIMEOUT, 0)
            self._after()

    def _after(self) -> None:
        """libcurl has been called: hear what has ended, and when it wants to be called again."""
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
        """Tell of every transfer that has ended."""
        left = 1
        while left:
            left, succeeded, failed = self._multi.info_read()
            for easy in succeeded:
                self._on_done(easy, 0, "")
            for easy, code, message in failed:
                self._on_done(easy, code, message)


class _EpollWatcher:
    """Keeps sockets in a nested epoll set, also while libcurl does not care for them."""

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
            # Left registered: most often the connection's next request is near.
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
            # An error or hang-up is handed on as both: trying tells libcurl what happened.
            act(descriptor, _SELECTED.get(events, _BOTH))
        self._after()

    def _on_idle(self, descriptor: int, events: int) -> None:
        """Something happened on a kept connection: it closed, or sent unrequested data."""
        ended = bool(events & (select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR))
        spoke = bool(events & select.EPOLLIN)
        with suppress(OSError):
            if ended:
                self._epoll.unregister(descriptor)
            else:  # after words, only the end is of interest
                self._epoll.modify(descriptor, select.EPOLLRDHUP | (0 if spoke else select.EPOLLIN))
        if ended or spoke:
            self._on_idle_event(descriptor, ended)


class _LoopWatcher:
    """Has the loop watch each socket: for systems without epoll."""

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
        """The loop tells what has happened, at its next turn."""

    def close(self) -> None:
        for descriptor in list(self._wanted):
            self.change(_REMOVE, descriptor, None, None)

    def _on_event(self, descriptor: int, flags: int) -> None:
        self._act(descriptor, flags)
        self._after()
