"""Live regions: parts of pages that follow the state, by server-sent events.

A view is a named function of the services and its parameters to a fragment of HTML. Each is rendered in one task of
this process, however many browsers look at it, at most every two seconds, and sent only if it has changed. A view that
costs much is rendered less often: it takes at most a tenth of one thread's time. Fragments are the same for every
viewer, so they hold no actions.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode

import anyio
import anyio.to_thread
from markupsafe import Markup

from comity.doors.web.errors import LOG

if TYPE_CHECKING:
    from comity.doors.web.services import WebServices

EVERY_S: Final = 2.0
HEARTBEAT_S: Final = 15.0
MAX_STREAMS: Final = 200
MAX_VIEWS_OF_A_STREAM: Final = 8
MAX_CHANNELS: Final = 400
_SHARE: Final = 10  # a view rests this many times as long as it took
_TICK_S: Final = 1.0  # how soon a stream notices that the server ends

View = Callable[["WebServices", Mapping[str, str]], str]
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
    version: int = 0
    rendered_at: float = 0.0
    viewers: int = 0
    task: asyncio.Task[None] | None = None
    waiting: set[asyncio.Event] = field(default_factory=set)


class LiveHub:
    """The channels of one process."""

    def __init__(self) -> None:
        self._channels: dict[str, _Channel] = {}
        self._threads = anyio.CapacityLimiter(2)
        self.streams = 0
        self._is_closing = False

    def close(self) -> None:
        """Have every stream end within a second or so; may be called from any thread."""
        self._is_closing = True

    def fresh(self, key: str) -> str | None:
        """What a channel rendered a moment ago, if it did; saves each viewer's page from asking the database again."""
        channel = self._channels.get(key)
        is_fresh = channel is not None and channel.task is not None and not channel.task.done()
        return channel.fragment if channel is not None and is_fresh else None

    async def stream(
        self, services: WebServices, keys: Sequence[str], is_admitted: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[bytes]:
        """Events of some views; each event is named by the number of its view."""
        self.streams += 1
        channels = [self._join(services, key) for key in keys]
        awake = asyncio.Event()
        for channel in channels:
            channel.waiting.add(awake)
        sent = [0] * len(channels)
        loop = asyncio.get_running_loop()
        beat_at = loop.time() + HEARTBEAT_S
        try:
            yield b"retry: 5000\n\n"
            while not self._is_closing:
                awake.clear()
                for number, channel in enumerate(channels):
                    if channel.version != sent[number]:
                        sent[number] = channel.version
                        yield _event(number, channel.fragment or "")
                if loop.time() >= beat_at:
                    if not await is_admitted():
                        yield b"event: ended\ndata:\n\n"
                        return
                    beat_at = loop.time() + HEARTBEAT_S
                    yield b":\n\n"
                with suppress(TimeoutError):
                    async with asyncio.timeout(_TICK_S):
                        await awake.wait()
        finally:
            self.streams -= 1
            for channel in channels:
                channel.waiting.discard(awake)
                channel.viewers -= 1

    def _join(self, services: WebServices, key: str) -> _Channel:
        channel = self._channels.get(key)
        if channel is None:
            channel = self._channels[key] = _Channel()
        channel.viewers += 1
        if channel.task is None or channel.task.done():
            channel.task = asyncio.create_task(self._render(services, key, channel))
        return channel

    @property
    def is_full(self) -> bool:
        """Whether another stream would be too many."""
        return self.streams >= MAX_STREAMS or len(self._channels) >= MAX_CHANNELS

    async def _render(self, services: WebServices, key: str, channel: _Channel) -> None:
        """Render a view again and again while anyone looks at it."""
        from comity.doors.web.console.page import Viewing, viewing

        name, _, query = key.partition("?")
        function, parameters = VIEWS[name], dict(parse_qsl(query, keep_blank_values=True))
        loop = asyncio.get_running_loop()

        def act() -> str:
            with viewing(Viewing(prefix=services.access.settings.prefix, services=services)):
                return function(services, parameters)

        has_failed = False
        while channel.viewers > 0 and not self._is_closing:
            began = loop.time()
            fragment: str | None
            try:
                fragment = await anyio.to_thread.run_sync(act, limiter=self._threads)
                has_failed = False
            except Exception as error:  # whatever a view raises, its viewers keep what they have
                if not has_failed:
                    LOG.warning("the live view %s failed: %s", name, type(error).__name__)
                has_failed, fragment = True, channel.fragment
            if fragment != channel.fragment:
                channel.fragment, channel.version = fragment, channel.version + 1
                for each in channel.waiting:
                    each.set()
            await asyncio.sleep(max(EVERY_S, _SHARE * (loop.time() - began)))
        self._channels.pop(key, None)


def _event(number: int, fragment: str) -> bytes:
    lines = "".join(f"data: {line}\n" for line in fragment.splitlines() or [""])
    return f"event: {number}\n{lines}\n".encode("utf-8", "replace")
