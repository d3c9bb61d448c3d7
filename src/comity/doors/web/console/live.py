"""Live regions: parts of pages that follow the state, by server-sent events.

A view is a named function of the services and its parameters to a fragment of HTML. Each is rendered in one task of
this process, however many browsers look at it, at most every two seconds, and sent only if it has changed. Views that
cost much are rendered less often, down to every 30 seconds: all of them together are to take an eightieth of one
processor, because a crawl in the same process needs the rest. Fragments are the same for every viewer, so they hold no
actions. A page begins with what was rendered a moment ago, unless that lacks figures (`Unfinished`) or something was
changed since: a browser without scripts is sent nothing later.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode

import anyio
import anyio.to_thread
from markupsafe import Markup

from comity.doors.web.errors import LOG
from comity.model.dataclass import dataclass

if TYPE_CHECKING:
    from comity.doors.web.services import WebServices

EVERY_S: Final = 2.0
MAX_REST_S: Final = 30.0
HEARTBEAT_S: Final = 15.0
MAX_STREAMS: Final = 200
MAX_STREAMS_OF_ONE: Final = 60  # of one user, or without a login of this machine
MAX_VIEWS_OF_A_STREAM: Final = 8
MAX_CHANNELS: Final = 400
MAX_CHANNELS_OF_ONE: Final = 100
_RENDERED_AT_ONCE: Final = 2
_SHARE: Final = 10  # a view rests this many times as long as it took
_SHARE_OF_PROCESSOR: Final = 80  # and, multiplied by the number of views, as the processor time that it took
_FAILED: Final = b"event: failed\ndata:\n\n"

View = Callable[["WebServices", Mapping[str, str]], str]


class Unfinished(str):
    """A fragment that lacks figures which are being counted: rendered again soon, and not given to other pages."""

    __slots__ = ()


VIEWS: Final[dict[str, View]] = {}


def view(name: str) -> Callable[[View], View]:
    """Register a view. It may block: it runs in a thread."""

    def register(function: View) -> View:
        assert VIEWS.setdefault(name, function) is function, f"two views are called {name}"
        return function

    return register


def region(name: str, **parameters: object) -> Markup:
    """The region of a view in a page: what it shows now, and where the script finds what it shows next."""
    from comity.doors.web.console.page import current_services

    services = current_services()
    key = f"{name}?{urlencode(sorted(parameters.items()))}" if parameters else name
    fragment = services.live.fresh(key)
    if fragment is None:
        fragment = VIEWS[name](services, {each: str(value) for each, value in parameters.items()})
    return Markup('<div class="live" data-live="{}">{}</div>').format(key, Markup(fragment))  # noqa: S704 -- a view's


@dataclass(slots=True)
class _Channel:
    """One view with its parameters: its last fragment, who waits for the next, and the task that renders it."""

    fragment: str | None = None
    data: bytes = b""
    """The fragment as the lines of an event, made once for all viewers; empty if the view failed."""
    version: int = 0
    begun_at: float = -math.inf
    """When the rendering of the fragment started: what was changed later is not in it."""
    rendered_at: float = -math.inf
    is_rendering: bool = False
    task: asyncio.Task[None] | None = None
    waiting: set[asyncio.Event] = field(default_factory=set)

    def show(self, fragment: str) -> None:
        """Send the fragment to all who wait, unless they have it."""
        if fragment != self.fragment or not self.data:
            self.fragment = fragment
            self._send(_data(fragment))

    def fail(self) -> None:
        """Tell all who wait that what they have is old."""
        if self.data or not self.version:
            self._send(b"")

    def _send(self, data: bytes) -> None:
        self.data, self.version = data, self.version + 1
        for each in self.waiting:
            each.set()


class LiveHub:
    """The channels of one process."""

    def __init__(self) -> None:
        self._channels: dict[str, _Channel] = {}
        self._threads = anyio.CapacityLimiter(_RENDERED_AT_ONCE)
        self._turns = asyncio.Semaphore(_RENDERED_AT_ONCE)
        self._awake: set[asyncio.Event] = set()
        self._followed: dict[str, Counter[str]] = {}  # by owner: how many of its streams follow each channel
        self._streams_of: Counter[str] = Counter()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closing = False
        self._changed_at = -math.inf

    @property
    def streams(self) -> int:
        """How many are open."""
        return self._streams_of.total()

    def close(self) -> None:
        """Have every stream end; may be called from any thread."""
        self._is_closing = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended, and the streams with it
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for each in self._awake:
            each.set()

    def fresh(self, key: str) -> str | None:
        """What a channel rendered a moment ago, if it did; saves each viewer's page from asking the database again."""
        channel = self._channels.get(key)
        if channel is None or isinstance(channel.fragment, Unfinished) or channel.begun_at <= self._changed_at:
            return None
        return channel.fragment if time.monotonic() - channel.rendered_at <= 2 * EVERY_S else None

    def expire(self) -> None:
        """Something was changed: what was rendered before is not fresh any more. May be called from any thread."""
        self._changed_at = time.monotonic()

    def has_room(self, owner: str, keys: Sequence[str]) -> bool:
        """Whether another stream may be opened: there is room for it, and its owner has not too many."""
        followed = self._followed.get(owner, Counter())
        return (
            self.streams < MAX_STREAMS
            and self._streams_of[owner] < MAX_STREAMS_OF_ONE
            and len(self._channels.keys() | set(keys)) <= MAX_CHANNELS
            and len(followed.keys() | set(keys)) <= MAX_CHANNELS_OF_ONE
        )

    async def stream(
        self, services: WebServices, keys: Sequence[str], is_admitted: Callable[[], Awaitable[bool]], owner: str = ""
    ) -> AsyncIterator[bytes]:
        """Events of some views; each event is named by the number of its view."""
        if not self.has_room(owner, keys):  # others came between the check of the request and its answer
            yield b"retry: 30000\n\n"
            return
        loop = self._loop = asyncio.get_running_loop()
        since = self._changed_at  # the page shows what was changed until now; an older fragment would take it back
        awake = asyncio.Event()
        channels = self._join(services, owner, keys, awake)
        sent = [0] * len(channels)
        beat_at = loop.time() + HEARTBEAT_S
        try:
            yield b"retry: 5000\n\n"
            while not self._is_closing:
                awake.clear()
                for number, channel in enumerate(channels):
                    if channel.version != sent[number] and (channel.begun_at > since or not channel.data):
                        sent[number] = channel.version
                        yield b"event: %d\n%b\n" % (number, channel.data) if channel.data else _FAILED
                if loop.time() >= beat_at:
                    if not await is_admitted():
                        yield b"event: ended\ndata:\n\n"
                        return
                    beat_at = loop.time() + HEARTBEAT_S
                    yield b":\n\n"
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(beat_at):
                        await awake.wait()
        finally:
            self._leave(owner, keys, awake)

    def _join(self, services: WebServices, owner: str, keys: Sequence[str], awake: asyncio.Event) -> list[_Channel]:
        self._awake.add(awake)
        self._streams_of[owner] += 1
        self._followed.setdefault(owner, Counter()).update(keys)
        found = []
        for key in keys:
            channel = self._channels.setdefault(key, _Channel())
            channel.waiting.add(awake)
            if channel.task is None or channel.task.done():
                channel.task = asyncio.create_task(self._render(services, key, channel))
            found.append(channel)
        return found

    def _leave(self, owner: str, keys: Sequence[str], awake: asyncio.Event) -> None:
        self._awake.discard(awake)
        self._streams_of -= Counter([owner])
        left = self._followed[owner] = self._followed[owner] - Counter(keys)
        if not left:
            del self._followed[owner]
        for key in keys:
            channel = self._channels.get(key)
            if channel is None:
                continue
            channel.waiting.discard(awake)
            if not channel.waiting and not channel.is_rendering:  # a thread cannot be cancelled; it ends by itself
                if channel.task is not None:
                    channel.task.cancel()
                del self._channels[key]

    async def _render(self, services: WebServices, key: str, channel: _Channel) -> None:
        """Render a view again and again while anyone looks at it."""
        from comity.doors.web.console.page import Viewing, viewing

        name, _, query = key.partition("?")
        function, parameters = VIEWS[name], dict(parse_qsl(query, keep_blank_values=True))
        loop = asyncio.get_running_loop()

        def act() -> tuple[str, float]:
            began = time.thread_time()
            with viewing(Viewing(prefix=services.access.settings.prefix, services=services)):
                return function(services, parameters), time.thread_time() - began

        while channel.waiting and not self._is_closing:
            began, processor_s = loop.time(), 0.0
            try:
                async with self._turns:
                    channel.is_rendering, begun_at = True, time.monotonic()
                    try:
                        fragment, processor_s = await anyio.to_thread.run_sync(act, limiter=self._threads)
                    finally:
                        channel.is_rendering = False
                channel.begun_at, channel.rendered_at = begun_at, time.monotonic()
                channel.show(fragment)
            except Exception as error:  # whatever a view raises, its viewers keep what they have
                if channel.data or not channel.version:
                    LOG.warning("the live view %s failed: %s", name, type(error).__name__)
                channel.fail()
            if channel.waiting:
                rest = rest_s(loop.time() - began, processor_s, len(self._channels))
                await asyncio.sleep(EVERY_S if isinstance(channel.fragment, Unfinished) else rest)
        if self._channels.get(key) is channel:
            del self._channels[key]


def rest_s(took_s: float, processor_s: float, views: int) -> float:
    """Seconds to wait before rendering again.

    They come from the time and processor time of the last rendering and the number of views.
    """
    return max(EVERY_S, min(MAX_REST_S, max(_SHARE * took_s, _SHARE_OF_PROCESSOR * views * processor_s)))


def _data(fragment: str) -> bytes:
    return "".join(f"data: {line}\n" for line in fragment.splitlines() or [""]).encode("utf-8", "replace")
