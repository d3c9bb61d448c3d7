"""Live regions: one render for all viewers, only changes are sent, and every stream ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import pytest

from comity.doors.web.console import live
from comity.doors.web.console.live import VIEWS, LiveHub, Unfinished
from comity.doors.web.figures import FigureCache
from comity.doors.web.services import WebServices

SERVICES = cast(WebServices, SimpleNamespace(access=SimpleNamespace(settings=SimpleNamespace(prefix="/admin"))))


class Counter:
    """A view that says what it is told to, and counts how often it is asked."""

    def __init__(self) -> None:
        self.text = "<b>1</b>"
        self.renders = 0

    def __call__(self, _services: WebServices, parameters: Any) -> str:
        self.renders += 1
        if self.text == "fail":
            raise RuntimeError
        return f"{self.text} {dict(parameters)}"


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter]:
    monkeypatch.setattr(live, "EVERY_S", 0.01)
    monkeypatch.setattr(live, "_SHARE", 0)
    monkeypatch.setattr(live, "_SHARE_OF_PROCESSOR", 0)
    counter = Counter()
    VIEWS["counter"] = counter
    yield counter
    del VIEWS["counter"]


async def _yes() -> bool:
    return True


def follow(hub: LiveHub, *keys: str, is_admitted: Callable[[], Any] = _yes, owner: str = "") -> AsyncIterator[bytes]:
    return hub.stream(SERVICES, keys, is_admitted, owner)


async def next_event(stream: AsyncIterator[bytes]) -> bytes:
    async with asyncio.timeout(30):
        async for message in stream:
            if message.startswith(b"event"):
                return message
    raise AssertionError("the stream ended")


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 -- a thread renders
            await asyncio.sleep(0.005)


async def test_viewers_share_one_render_and_get_only_changes(counter: Counter) -> None:
    hub = LiveHub()
    streams = [follow(hub, "counter?x=1") for _ in range(20)]
    for stream in streams:
        assert await next_event(stream) == b"event: 0\ndata: <b>1</b> {'x': '1'}\n\n"
    assert hub.streams == 20
    assert len(hub._channels) == 1
    waiting = [asyncio.ensure_future(next_event(stream)) for stream in streams]
    before = counter.renders
    await until(lambda: counter.renders >= before + 5)
    assert not any(each.done() for each in waiting)
    counter.text = "two\nlines"
    expected = b"event: 0\ndata: two\ndata: lines {'x': '1'}\n\n"
    assert set(await asyncio.gather(*waiting)) == {expected}
    hub.close()
    for stream in streams:
        assert [message async for message in stream if message.startswith(b"event")] == []
    assert hub.streams == 0
    await until(lambda: not hub._channels)


async def test_a_page_that_shows_a_change_is_not_taken_back(counter: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = LiveHub()
    monkeypatch.setattr(live, "EVERY_S", 0.5)
    first = follow(hub, "counter")
    assert await next_event(first) == b"event: 0\ndata: <b>1</b> {}\n\n"
    counter.text = "<b>2</b>"
    hub.expire()  # what the hub has was rendered before the change
    assert await next_event(follow(hub, "counter")) == b"event: 0\ndata: <b>2</b> {}\n\n"
    hub.close()
    await until(lambda: not hub._channels)


async def test_a_view_that_fails_leaves_what_is_shown(counter: Counter) -> None:
    hub = LiveHub()
    stream = follow(hub, "counter")
    assert b"<b>1</b>" in await next_event(stream)
    counter.text = "fail"
    assert await next_event(stream) == b"event: failed\ndata:\n\n"  # its viewers hear of it once
    before = counter.renders
    await until(lambda: counter.renders >= before + 3)
    counter.text = "<b>1</b>"
    assert b"<b>1</b>" in await next_event(stream)  # the same as before, which is no longer old
    counter.text = "well again"
    assert b"well again" in await next_event(stream)
    hub.close()


async def test_a_view_that_fails_from_the_start_is_said_to_fail(counter: Counter) -> None:
    counter.text = "fail"
    hub = LiveHub()
    stream = follow(hub, "counter")
    assert await next_event(stream) == b"event: failed\ndata:\n\n"
    counter.text = "well"
    assert b"well" in await next_event(stream)
    hub.close()


async def test_a_stream_ends_with_the_session(counter: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_S", 0.0)

    async def no() -> bool:
        return False

    hub = LiveHub()
    messages = [message async for message in follow(hub, "counter", is_admitted=no)]
    assert messages[-1] == b"event: ended\ndata:\n\n"
    assert hub.streams == 0


async def test_one_user_leaves_room_for_others(counter: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MAX_STREAMS", 5)
    monkeypatch.setattr(live, "MAX_STREAMS_OF_ONE", 3)
    monkeypatch.setattr(live, "MAX_CHANNELS_OF_ONE", 2)
    hub = LiveHub()
    open_ones = [follow(hub, "counter", owner="user ada") for _ in range(3)]
    for stream in open_ones:
        await next_event(stream)
    assert not hub.has_room("user ada", ["counter"])
    assert [message async for message in follow(hub, "counter", owner="user ada")] == [b"retry: 30000\n\n"]
    assert hub.has_room("user grace", ["counter", "counter?x=1"])
    assert not hub.has_room("user grace", ["counter", "counter?x=1", "counter?x=2"])
    others = [follow(hub, "counter", owner="user grace") for _ in range(2)]
    for stream in others:
        await next_event(stream)
    assert not hub.has_room("user hedy", ["counter"])  # no room at all
    await others[0].aclose()  # type: ignore[attr-defined]
    assert hub.has_room("user hedy", ["counter"])
    hub.close()
    for stream in (*open_ones, others[1]):
        assert [message async for message in stream if message.startswith(b"event")] == []
    assert hub.streams == 0
    assert not hub._followed


async def test_a_view_without_viewers_takes_no_room(counter: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "EVERY_S", 1000.0)  # its rest has not ended when the next stream comes
    monkeypatch.setattr(live, "MAX_REST_S", 1000.0)
    monkeypatch.setattr(live, "MAX_CHANNELS", 2)
    hub = LiveHub()
    stays = follow(hub, "counter", owner="user grace")
    await next_event(stays)
    tasks = []
    for number in range(5):
        stream = follow(hub, "counter", f"counter?x={number}", owner="user ada")
        await next_event(stream)
        tasks.append(hub._channels[f"counter?x={number}"].task)
        await until(lambda: hub.fresh(f"counter?x={number}") is not None)  # noqa: B023 -- awaited here
        await stream.aclose()  # type: ignore[attr-defined]
        assert hub._channels.keys() == {"counter"}
    await asyncio.wait([task for task in tasks if task is not None], timeout=30)
    assert all(task is not None and task.cancelled() for task in tasks)
    await stays.aclose()  # type: ignore[attr-defined]
    assert not hub._channels


async def test_a_view_that_is_left_while_it_is_rendered_ends_after_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads cannot be cancelled; while both are busy, a view that is left is not rendered at all."""
    asked, may_end = list[str](), threading.Event()

    def slow(_services: WebServices, parameters: Any) -> str:
        asked.append(parameters["x"])
        assert may_end.wait(30)
        return "slow"

    monkeypatch.setitem(VIEWS, "slow", slow)
    hub = LiveHub()
    streams = [follow(hub, f"slow?x={number}") for number in range(3)]
    try:
        for stream in streams:
            assert await anext(stream) == b"retry: 5000\n\n"
        await until(lambda: len(asked) == 2)
        for stream in streams:
            await stream.aclose()  # type: ignore[attr-defined]
        assert hub._channels.keys() == {"slow?x=0", "slow?x=1"}
        again = follow(hub, "slow?x=0")
        await anext(again)
    finally:
        may_end.set()
    assert b"slow" in await next_event(again)
    assert hub._channels.keys() - {"slow?x=1"} == {"slow?x=0"}
    await until(lambda: len(hub._channels) == 1)
    await again.aclose()  # type: ignore[attr-defined]
    assert not hub._channels
    assert sorted(asked) == ["0", "1"]


async def test_a_page_takes_only_what_was_rendered_a_moment_ago(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "EVERY_S", 1000.0)
    monkeypatch.setattr(live, "MAX_REST_S", 1000.0)
    hub = LiveHub()
    assert hub.fresh("counter") is None
    stream = follow(hub, "counter")
    await next_event(stream)
    assert hub.fresh("counter") == "<b>1</b> {}"
    hub._channels["counter"].rendered_at -= 2001
    assert hub.fresh("counter") is None
    await stream.aclose()  # type: ignore[attr-defined]


async def test_no_page_begins_with_what_is_old(counter: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser without scripts is sent nothing later, so what lacks figures or a change is not given to it."""
    monkeypatch.setattr(live, "EVERY_S", 1000.0)
    monkeypatch.setattr(live, "MAX_REST_S", 1000.0)
    monkeypatch.setitem(VIEWS, "unfinished", lambda _services, _parameters: Unfinished("counting"))
    hub = LiveHub()
    stream = follow(hub, "counter", "unfinished")
    assert {await next_event(stream), await next_event(stream)} == {
        b"event: 0\ndata: <b>1</b> {}\n\n",
        b"event: 1\ndata: counting\n\n",
    }
    assert hub.fresh("counter") is not None
    assert hub.fresh("unfinished") is None
    hub.expire()
    assert hub.fresh("counter") is None
    await stream.aclose()  # type: ignore[attr-defined]


async def test_a_change_while_a_view_is_rendered_may_not_be_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def slow(_services: WebServices, _parameters: Any) -> str:
        begun.set()
        assert may_end.wait(30)
        return "before the change"

    monkeypatch.setitem(VIEWS, "slow", slow)
    hub = LiveHub()
    stream = follow(hub, "slow")
    await anext(stream)
    await until(begun.is_set)
    hub.expire()
    may_end.set()
    assert b"before the change" in await next_event(stream)
    assert hub.fresh("slow") is None
    await stream.aclose()  # type: ignore[attr-defined]


async def test_a_view_that_lacks_figures_is_rendered_again_soon(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_SHARE", 1e9)  # a finished view would rest for half a minute
    monkeypatch.setitem(
        VIEWS, "counter", lambda *given: counter(*given) if counter.renders else Unfinished(counter(*given))
    )
    hub = LiveHub()
    stream = follow(hub, "counter")
    await next_event(stream)
    counter.text = "counted"
    assert b"counted" in await next_event(stream)
    await until(lambda: hub.fresh("counter") == "counted {}")
    await stream.aclose()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("took_s", "processor_s", "views", "expected"),
    [
        (0.01, 0.01, 1, 2.0),
        (0.3, 0.01, 1, 3.0),
        (0.1, 0.1, 1, 8.0),
        (0.1, 0.1, 3, 24.0),
        (0.1, 0.1, 5, 30.0),
        (9.0, 0.1, 1, 30.0),
    ],
)
def test_views_together_take_a_share_of_a_processor(
    took_s: float, processor_s: float, views: int, expected: float
) -> None:
    assert live.rest_s(took_s, processor_s, views) == pytest.approx(expected)


def test_figures_that_are_quick_are_counted_again_and_slow_ones_behind() -> None:
    now = 1000.0
    kept, counted, done = FigureCache(lambda: now), [], threading.Event()

    def count(took_s: float) -> int:
        nonlocal now
        counted.append(threading.current_thread())
        now += took_s
        if threading.current_thread() is not threading.main_thread():
            done.set()
        return len(counted)

    assert kept.get("quick", lambda: count(0.01)) == 1
    assert kept.get("quick", lambda: count(0.01)) == 1
    now += 3
    assert kept.get("quick", lambda: count(0.01)) == 2
    assert kept.get("slow", lambda: count(0.5)) == 3
    now += 4
    assert kept.get("slow", lambda: count(0.5)) == 3  # forty times as long as it took
    now += 20
    assert kept.get("slow", lambda: count(0.5)) == 3  # counted meanwhile
    assert done.wait(30)
    kept.close()
    assert counted[-1] is not threading.main_thread()
    assert kept.get("slow", lambda: count(0.5)) == 4


def test_a_page_that_does_not_wait_gets_a_figure_when_it_is_counted() -> None:
    now = 0.0
    kept, may_end, counted = FigureCache(lambda: now), threading.Event(), []

    def count() -> int:
        assert may_end.wait(30)
        counted.append(threading.current_thread())
        return len(counted)

    assert kept.known("slow", count, wait_s=0) is None
    assert kept.known("slow", count, wait_s=0) is None  # is being counted, and not begun again
    may_end.set()
    assert kept.known("slow", count, wait_s=30) == 1
    may_end.clear()
    now += 300
    assert kept.known("slow", count, wait_s=0) == 1  # the last one, while it is counted again
    now += 400
    assert kept.known("slow", count, wait_s=0) is None  # too old to be shown
    may_end.set()
    assert kept.known("slow", count, wait_s=30) == 2
    kept.close()
    assert threading.main_thread() not in counted
    now += 100
    assert kept.known("slow", count, wait_s=0) == 2  # a server that ends counts nothing more
    assert len(counted) == 2


def test_a_figure_is_counted_again_after_a_change() -> None:
    """One that takes long is kept for a while, but what a person changed is in the next page."""
    now, counted = 0.0, 0
    kept = FigureCache(lambda: now)

    def count() -> int:
        nonlocal now, counted
        counted += 1
        now += 0.5
        return counted

    def known() -> int | None:
        return kept.known("figure", count, wait_s=30)

    assert known() == 1
    now += 49  # less than a hundred times as long as it took
    assert known() == 1
    now += 2
    assert known() == 2
    assert known() == 2
    now += 0.1
    kept.expire()
    assert known() == 3
    assert known() == 3
    kept.close()


def test_a_figure_that_is_counted_ahead_is_waited_for_and_not_counted_twice() -> None:
    kept, begun, may_end, counted = FigureCache(), threading.Event(), threading.Event(), []

    def count() -> int:
        begun.set()
        assert may_end.wait(30)
        counted.append(threading.current_thread())
        return len(counted)

    kept.ahead("figure", count)
    assert begun.wait(30)
    kept.wait_counted(0.01)  # a server that starts does not wait for long
    assert not counted
    with ThreadPoolExecutor(1) as asking:
        answer = asking.submit(kept.get, "figure", count)
        may_end.set()
        assert answer.result(30) == 1
    kept.wait_counted(30)
    kept.close()
    assert len(counted) == 1


def test_a_slow_figure_is_counted_again_while_it_is_asked_for() -> None:
    now = 0.0
    kept, counted = FigureCache(lambda: now), threading.Semaphore(0)

    def count() -> str:
        nonlocal now
        began, now = now, now + 1
        counted.release()
        return f"counted at {began:g}"

    assert kept.get("slow", count) == "counted at 0"
    assert counted.acquire(timeout=30)
    now = 39
    kept.recount()
    now = 42
    kept.recount()
    assert counted.acquire(timeout=30)
    assert kept.known("slow", count, wait_s=30) == "counted at 42"  # not at 39: it was not old yet
    now = 1_000
    kept.recount()  # no one has asked for ten minutes
    kept.close()
    assert not counted.acquire(blocking=False)


def test_what_goes_wrong_in_the_background_is_reported_and_tried_again() -> None:
    kept = FigureCache(lambda: 0.0)

    def fail() -> int:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        kept.known("figure", fail, wait_s=30)
    assert kept.known("figure", lambda: 7, wait_s=30) == 7
    kept.close()
