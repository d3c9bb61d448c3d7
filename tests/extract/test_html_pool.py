"""Large pages read apart: the same answer as here, the loop never held, no process left behind."""

import asyncio
import marshal
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path
from typing import Any

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from comity.extract import html_pool
from comity.extract.decode import MAX_BODY_BYTES
from comity.extract.html import MAX_LINKS, read_html
from comity.extract.html_pool import (
    LIGHT_BYTES,
    LINKS_BYTES,
    LINKS_TAGS,
    TEXT_BYTES,
    TEXT_TAGS,
    Hardship,
    HtmlPool,
    TooHard,
    is_light,
)
from comity.model.page import HtmlPage
from comity.offload.child import REQUEST

MOST_MS = 100
SHORT_TIME, LONG_TIME = {"max_seconds": 0.2}, {"least_seconds": 60.0, "max_seconds": 60.0}
SCHEDULED = Path("/proc/thread-self/schedstat")
LINK = b"<a href=/x>"
FLAT = b"<br>" * (MAX_BODY_BYTES // 4 - 10) + LINK
# Each paragraph opens all the letters' elements anew (HTML, reconstruct the active formatting elements).
REOPENED = b"<p>" + b"".join(b"<b a%d>" % at for at in range(500)) + b"<p>x" * 250_000
# Every attribute is compared with all that came before.
MERGED = b"".join(b"<html a%d>" % at for at in range(25_000))


@asynccontextmanager
async def reader_of(**limits: Any) -> AsyncIterator[HtmlPool]:
    reader = HtmlPool(most_children=1, **limits)
    try:
        yield reader
    finally:
        await reader.close()


async def ask(reader: HtmlPool, body: bytes, content_type: str | None = None) -> HtmlPage | TooHard:
    return await reader.read(body, content_type=content_type, agent_token="comitybot")


def here(body: bytes, content_type: str | None = None, **more: bool) -> HtmlPage:
    return read_html(body, content_type=content_type, agent_token="comitybot", **more)  # type: ignore[arg-type]


async def longest_stall_ms(work: Callable[[], Awaitable[object]]) -> float:
    """How long some work holds the loop; what else the machine does only adds, so the least of a few counts."""
    least = inf
    for _ in range(5):
        least = min(least, await _longest_stall_ms(work()))
        if least < MOST_MS:
            break
    return least


async def _longest_stall_ms(work: Awaitable[object]) -> float:
    """Once, without the time in which this thread could run and no core was free."""
    task = asyncio.ensure_future(work)
    longest, last = 0.0, _running_s()
    while not task.done():
        await asyncio.sleep(0.001)
        now = _running_s()
        longest, last = max(longest, now - last), now
    await task
    return longest * 1000


def _running_s() -> float:
    """A clock that stands still while this thread could run and no core was free (proc(5), schedstat)."""
    waited_ns = int(SCHEDULED.read_text(encoding="ascii").split()[1]) if SCHEDULED.exists() else 0
    return time.perf_counter() - waited_ns / 1e9


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # gone before it was opened, or while it was read
        return False


async def until_busy(pid: int) -> None:
    """Return once a process has computed for some time from now: it reads its page."""
    began = used = _used_ticks(pid)
    for _ in range(12_000):  # a minute
        if used - began >= 3:
            return
        await asyncio.sleep(0.005)
        used = _used_ticks(pid)
    raise AssertionError("it does nothing")


def _used_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def wait_until_gone(pid: int) -> None:
    deadline = time.perf_counter() + 60
    while is_alive(pid):
        assert time.perf_counter() < deadline
        time.sleep(0.005)


PAGES: dict[str, tuple[bytes, str | None]] = {
    "nothing": (b"", None),
    "a head": (
        b"<title> A  b </title><base href=/b/><link rel=canonical href=/c><link rel=next href=/2>"
        b"<meta name=robots content=noindex><meta name=ComityBot content=nofollow><meta http-equiv=refresh "
        b"content='3; url=/r'><input type=password><a rel=nofollow href=/n>n</a><a href=/f>f</a>",
        "text/html",
    ),
    "UTF-8": ("<a href='/ü/日本/😀'>".encode(), "text/html; charset=utf-8"),
    "UTF-16 without a mark": ("<title>Ж</title><a href=/x>".encode("utf-16le"), None),
    "UTF-16 with a mark": ("\ufeff<title>Ж</title><a href=/x>".encode("utf-16be"), "text/html; charset=latin1"),
    "windows-1251": ("<title>Привет</title><a href='/мир'>".encode("cp1251"), "text/html; charset=windows-1251"),
    "Shift_JIS": ("<meta charset=shift_jis><title>日本</title>".encode("shift_jis"), None),
    "undeclared legacy octets": (b"<a href='/\xcf\xf0\xe8\xe2\xe5\xf2'>" * 9, None),
    "a lone surrogate": (b"<a href='&#xd800;/x'><title>&#xdfff;</title>", None),
    "a content type of odd characters": (LINK, "text/html; charset=\ud800"),
    "as many links as are kept": (b"".join(b"<a rel=nofollow href=/%d>" % at for at in range(MAX_LINKS + 1)), None),
    "links as long as they may be": (b"".join(b"<a href='/%4090d'>" % at for at in range(2000)), None),
    "more than is read": (LINK + b"x" * MAX_BODY_BYTES, None),
}


both_loops = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["standard-loop", "uvloop"])


@both_loops
def test_a_page_says_the_same_apart_as_here(run: Callable[..., object]) -> None:
    async def compare() -> None:
        async with reader_of() as reader:
            for name, (body, content_type) in PAGES.items():
                assert await ask(reader, body, content_type) == here(body, content_type), name

    run(compare())


@both_loops
def test_slow_killed_and_cancelled_pages_leave_the_next_alone(run: Callable[..., object]) -> None:
    async def disturb() -> None:
        for disturbance in ("nothing", "kill", "cancel"):
            async with reader_of(**SHORT_TIME if disturbance == "nothing" else LONG_TIME) as reader:
                assert await ask(reader, LINK) == here(LINK)
                asked = asyncio.create_task(ask(reader, MERGED))
                if disturbance != "nothing":
                    await until_busy(reader.pids[0])
                if disturbance == "kill":
                    os.kill(reader.pids[0], signal.SIGKILL)
                elif disturbance == "cancel":
                    asked.cancel()
                (answer,) = await asyncio.gather(asked, return_exceptions=True)
                expected = {"nothing": Hardship.TOO_SLOW, "kill": Hardship.CRASHED, "cancel": None}[disturbance]
                assert getattr(answer, "code", None) == expected
                assert await ask(reader, LINK) == here(LINK)
                (pid,) = reader.pids
            assert not is_alive(pid)

    run(disturb())


HOSTILE = {
    "100,000 nested elements": b"<div>" * 100_000 + LINK,
    "50,000 attributes": b"<p " + b" ".join(b"a%d=%d" % (at, at) for at in range(50_000)) + b">" + LINK,
    "ten flat megabytes": FLAT,
    "a megabyte of entities": b"<p>" + b"&amp;" * 200_000 + LINK,
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_page_is_read_and_does_not_hold_the_loop(name: str) -> None:
    async with reader_of() as reader:
        answers: list[HtmlPage | TooHard] = []

        async def work() -> None:
            answers.append(await ask(reader, HOSTILE[name]))

        assert await longest_stall_ms(work) < MOST_MS
        assert answers[0] == here(HOSTILE[name])


async def test_the_same_ten_megabytes_read_here_would_hold_the_loop() -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        here(FLAT)

    assert await longest_stall_ms(work) > 150


@pytest.mark.parametrize("body", [REOPENED, REOPENED[: 128 * 1024]], ids=["a megabyte", "128 kilobytes"])
async def test_a_page_that_asks_for_too_much_memory_is_given_up_and_the_next_is_read(body: bytes) -> None:
    """With time enough, so that a slow machine does not meet the other bound first."""
    async with reader_of(least_seconds=30.0, max_seconds=30.0) as reader:
        answers: list[HtmlPage | TooHard] = []

        async def work() -> None:
            answers.append(await ask(reader, body))

        assert await longest_stall_ms(work) < MOST_MS
        assert isinstance(answers[0], TooHard)
        assert answers[0].code is Hardship.TOO_MUCH_MEMORY
        assert await ask(reader, LINK) == here(LINK)


async def test_a_page_that_takes_too_long_is_given_up_with_its_process_and_the_next_is_read() -> None:
    async with reader_of(max_seconds=0.1) as reader:
        await ask(reader, LINK)
        (first,) = reader.pids
        answer = await ask(reader, MERGED)
        assert answer == TooHard(Hardship.TOO_SLOW, "The page could not be read within 0.1 seconds.")
        assert await ask(reader, LINK) == here(LINK)
        assert not is_alive(first)


async def test_a_page_has_time_by_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_pool, "SECONDS_PER_MEGABYTE", 0.25)
    async with reader_of(least_seconds=0.0) as reader:
        answer = await ask(reader, MERGED[: 1 << 17])
    assert answer == TooHard(Hardship.TOO_SLOW, "The page could not be read within 0.03125 seconds.")


async def test_a_process_that_is_killed_costs_only_its_page() -> None:
    async with reader_of() as reader:
        await ask(reader, LINK)
        (first,) = reader.pids
        asked = asyncio.create_task(ask(reader, MERGED))
        await until_busy(first)
        os.kill(first, signal.SIGKILL)
        answer = await asked
        assert isinstance(answer, TooHard)
        assert (answer.code, "status -9" in answer.reason) == (Hardship.CRASHED, True)
        assert await ask(reader, LINK) == here(LINK)
        assert reader.pids != [first]


async def test_a_process_that_died_between_pages_is_noticed_and_costs_no_page() -> None:
    async with reader_of() as reader:
        await ask(reader, LINK)
        (first,) = reader.pids
        os.kill(first, signal.SIGKILL)
        await asyncio.to_thread(wait_until_gone, first)
        assert [await ask(reader, FLAT), await ask(reader, LINK)] == [here(FLAT), here(LINK)]
        assert reader.pids != [first]


async def test_a_process_that_cannot_be_started_is_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    async with reader_of() as reader:
        answer = await ask(reader, LINK)
    assert isinstance(answer, TooHard)
    assert answer.code is Hardship.CRASHED


async def test_pages_asked_for_together_each_get_their_own_answer() -> None:
    bodies = [b"<a href=/%d>" % at + b"x" * (at * 3001 % 300_000) for at in range(200)]
    async with reader_of() as reader:
        answers = await asyncio.gather(*(ask(reader, body) for body in bodies))
    assert [answer.links for answer in answers if isinstance(answer, HtmlPage)] == [(f"/{at}",) for at in range(200)]


@pytest.mark.parametrize("moment", ["the process starts", "the body is sent", "the page is read"])
async def test_a_page_that_is_no_longer_wanted_does_not_answer_for_the_next(moment: str) -> None:
    """The page takes many seconds: it is not read before it is cancelled, however slow this process is."""
    body = b"<a href=/old>" + MERGED + b" " * (MAX_BODY_BYTES - 2 * len(MERGED))
    async with reader_of(**LONG_TIME) as reader:
        if moment == "the page is read":
            await ask(reader, LINK)
        asked = asyncio.create_task(ask(reader, body))
        if moment == "the page is read":
            await until_busy(reader.pids[0])
        else:
            await asyncio.sleep(0 if moment == "the process starts" else 0.02)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert await ask(reader, LINK) == here(LINK)


async def test_a_waiting_page_that_is_no_longer_wanted_leaves_the_one_being_read_alone() -> None:
    async with reader_of() as reader:
        first, second = (asyncio.create_task(ask(reader, body)) for body in (FLAT, LINK))
        await asyncio.sleep(0.01)
        second.cancel()
        assert await first == here(FLAT)


async def test_an_idle_process_is_ended_and_another_started_when_needed() -> None:
    async with reader_of(idle_seconds=0.05) as reader:
        await ask(reader, LINK)
        (first,) = reader.pids
        await asyncio.to_thread(wait_until_gone, first)
        assert reader.pids == []
        assert await ask(reader, LINK) == here(LINK)


async def test_a_reader_that_was_never_used_has_no_process_and_can_be_closed_twice() -> None:
    reader = HtmlPool()
    assert reader.pids == []
    await reader.close()
    await reader.close()


async def test_closing_leaves_no_process_and_gives_up_what_is_still_asked_for() -> None:
    reader = HtmlPool(most_children=1, **LONG_TIME)
    await ask(reader, LINK)
    (pid,) = reader.pids
    asked = [asyncio.create_task(ask(reader, body)) for body in (MERGED, LINK)]
    await asyncio.sleep(0.01)
    await reader.close()
    await reader.close()
    assert not is_alive(pid)
    answers = [*await asyncio.gather(*asked), await ask(reader, LINK)]
    assert [isinstance(answer, TooHard) and answer.code for answer in answers] == [Hardship.CRASHED] * 3
    assert reader.pids == []


async def test_closing_while_the_process_starts_leaves_none() -> None:
    reader = HtmlPool()
    asked = asyncio.create_task(ask(reader, LINK))
    await asyncio.sleep(0)
    await reader.close()
    assert isinstance(await asked, TooHard)
    assert reader.pids == []


PARENT = """
import asyncio
from comity.extract.html_pool import HtmlPool
async def main():
    reader = HtmlPool(max_seconds=5, least_seconds=5)
    await reader.read(b"x", content_type=None, agent_token="c")
    print(*reader.pids, flush=True)
    body = b"".join(b"<html a%d>" % at for at in range(BUSY))
    await reader.read(body, content_type=None, agent_token="c")
    await asyncio.sleep(60)
asyncio.run(main())
"""


@pytest.mark.parametrize("busy", [0, 25_000], ids=["idle", "in the midst of a page"])
def test_a_killed_crawler_leaves_no_process(busy: int) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT.replace("BUSY", str(busy))], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_alive(child)
        if busy:
            asyncio.run(until_busy(child))
        parent.kill()
    wait_until_gone(child)


def test_a_process_ends_itself_when_its_page_takes_far_too_long() -> None:
    """No parent is left to end it when the crawler was killed in the midst of a page."""
    arguments = marshal.dumps({"content_type": None, "agent_token": "comitybot"})
    ours, theirs = socket.socketpair()
    with ours, theirs, tempfile.TemporaryFile() as memory:
        memory.write(MERGED)
        memory.flush()
        shared = (theirs.fileno(), memory.fileno())
        command = [sys.executable, "-m", "comity.extract.html_worker", *map(str, shared), str(len(MERGED))]
        with subprocess.Popen(command, pass_fds=shared) as child:
            ours.sendall(REQUEST.pack(len(arguments), 0, len(MERGED), -1.9) + arguments)
            assert child.wait(60) == -signal.SIGPROF


NAMES = [b"%c%c" % (one, two) for one in b"abcdefghijklmnopqrstuvwxyz" for two in b"abcdefghijklmnopqrstuvwxyz"]
PROSE = b"word " * 16


@pytest.mark.parametrize(
    ("once", "again"),
    [
        (b"<p>" + b"".join(b"<b %s>" % name for name in NAMES[:500]), b"<p>x"),
        (b"<p>" + b"".join(b"<b %s>" % name for name in NAMES), b"<p>x"),
        (b"<p><b " + b" ".join(b"a%d" % at for at in range(4_000)) + b">", b"<p>x"),
        (b"<p><b " + b" ".join(b"a%d" % at for at in range(9_000)) + b">", b"<p>x"),
        (b"", b"".join(b"<html a%d>" % at for at in range(1_400))),
        (b"<svg>" + b"<g>" * 700, b"</x>"),
        (b"", b"<br>"),
        (b"", b"<p><b><i>"),
        (b"", b"".join(b"<font a=%d><p></font>" % at for at in range(400))),
        (b"", b"".join(b"<div><b a=%d>" % at for at in range(300)) + b"</div><div>x" * 300),
        (b"", "\u0e01".encode("cp874") * 1000),
    ],
)
def test_what_is_read_on_the_spot_is_small_enough_not_to_hold_up_anybody(once: bytes, again: bytes) -> None:
    """The largest page of each hostile shape that still counts as light."""
    most = len(again) and (LIGHT_BYTES - len(once)) // len(again)
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_light(once + again * middle) else (low, middle - 1)
    body = once + again * low
    assert is_light(body)
    assert len(body) > 4000
    assert min(_timed_ms(body) for _ in range(3)) < 200


@pytest.mark.parametrize(
    ("once", "again"),
    [
        (b"<p>" + b"".join(b"<b %s>" % name for name in NAMES[:20]), b"<p>x"),
        (b"<p>" + b"".join(b"<B\n%s='>'>" % name for name in NAMES[:400]), b"<p>x"),
        (b"<p>" + b"<b><i><u><s><em><tt><big><code><font><nobr><small><strike><strong>" * 3, b"<p>x"),
        (b"<p><b " + b" ".join(NAMES) + b">", b"<p>x"),
        (b"<p><a x='>' " + b" ".join(NAMES) + b">", b"<p>x"),
        (b"<p><a " + b" ".join(b'%s=""' % name + b" a" * 12 for name in NAMES[:12]) + b">", b"<p>x"),
        (b"<math>" * 9_000, b"</html>"),
        (b"", b'<a href="/"><template>'),
        (b"<html " + b" ".join(b"%s%d" % (name, at) for name in NAMES for at in range(10)) + b">", b"<br>"),
    ],
)
def test_links_read_on_the_spot_hold_up_the_loop_no_longer_than_small_pages(once: bytes, again: bytes) -> None:
    """The largest page of each hostile shape that counts as light where only links are read."""
    low, high = 0, LINKS_TAGS + 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_light(once + again * middle, only_links=True) else (low, middle - 1)
    assert min(_timed_ms(once + again * low) for _ in range(2)) < 200


@given(
    pieces=st.lists(
        st.tuples(
            st.sampled_from(["b", "i", "em", "tt", "font", "strong", "small", "nobr", "a", "body", "html", "p", "img"]),
            st.sampled_from(["", " ", "/", " x", ' class="y"', " href='>'", ' a="<b c>"', " =", " d" * 40]),
            st.sampled_from([">", "/>", " />", "", ">text</p>"]),
            st.sampled_from([1, 2, 7, 400]),
        ),
        max_size=12,
    )
)
def test_a_short_look_at_formatting_elements_finds_what_the_whole_look_finds(
    pieces: list[tuple[str, str, str, int]],
) -> None:
    body = "".join(f"<{name}{attributes}{end}" * times for name, attributes, end, times in pieces).encode()
    tags = body.count(b"<")
    whole = html_pool._open_at_once(body, True) * tags <= html_pool._REOPENED_MOST
    assert html_pool._grows_little(body, tags) == (whole or not tags)


@pytest.mark.parametrize(
    ("once", "again"),
    [
        (b"", b"<header>" + PROSE),
        (b"", b"<pre>" + PROSE),
        (b"", b"<article>" + PROSE),
        (b"", b"<div class=post-content>" + PROSE),
        (b"", b"<div class=sidebar>word "),
        (b"<span>" * 500, b"<a href=/x>w</a>"),
        (b"", b"<p class='%s'>w" % (b"com-ment ar-ticle " * 10)),
        (b"", b"".join(b"<p class='%s%d'>w" % (b"com-ment ar-ticle " * 10, at) for at in range(2_000))),
        (b"", b"".join(b"<p id='%s%d'>w" % (b"pos entry- " * 8, at) for at in range(2_000))),
        (b"<main>" * 100 + b"<article>" * 100 + PROSE * 2_000, b"<div class=comments>w <a href=/x>y</a></div>"),
    ],
    ids=lambda part: part[:24].decode(),
)
def test_text_read_on_the_spot_holds_up_the_loop_no_longer_than_links(once: bytes, again: bytes) -> None:
    """The largest page of each hostile shape that counts as light where text is read; most are then left to a child."""
    low, high = 0, TEXT_TAGS + 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_light(once + again * middle, only_text=True) else (low, middle - 1)
    body = once + again * low
    assert min(_timed_ms(body, with_text=True, with_markdown=True) for _ in range(2)) < 200


def test_an_ordinary_page_is_light_where_text_is_read_and_gives_it_on_the_spot() -> None:
    words = b"<p>" + b'some words of an article, and a <a href="/x">link</a> ' * 6 + b"</p>"
    page = b'<title>x</title><nav><a href="/">Home</a></nav><main><h1>Heading</h1>' + words * 300 + b"</main>"
    assert is_light(page, only_text=True)
    assert not is_light(page)
    assert (here(page, with_text=True).text or "").count("some words") == 1_800
    assert not is_light(b"<p>x</p>" * (TEXT_TAGS // 2 + 1), only_text=True)
    assert not is_light(b" " * (TEXT_BYTES + 1), only_text=True)


def test_an_attribute_heavy_page_is_not_light_however_few_tags_it_has() -> None:
    attributes = b" ".join(b"%s%d" % (name, at) for name in NAMES for at in range(10))
    assert not is_light(b"<p><b " + attributes + b">" + b"<p>x" * 1_000)
    assert not is_light(b"<p><html " + attributes + b" " * 65_536 + b">")


def test_ordinary_pages_are_light_where_only_links_are_read() -> None:
    """As many formatting elements as pages have, also with attributes; text and expressions take longer to read."""
    row = b'<div class="c"><a class="t" href="/x/%d">x</a> <b>y</b> <i class="icon">z</i><p>a <em>b</em></p></div>'
    page = b"<html lang=en><body class=home>" + b"".join(row % at for at in range(500)) + b"</body></html>"
    assert is_light(page, only_links=True)
    assert not is_light(page)
    assert not is_light("<p>x</p>".encode("utf-16le") * 9_000, only_links=True)
    assert not is_light(b"<p>x</p>" * (LINKS_TAGS // 2 + 1), only_links=True)
    assert not is_light(b" " * (LINKS_BYTES + 1), only_links=True)


def _timed_ms(body: bytes, **more: bool) -> float:
    """In this thread's processor time: what else runs on the machine does not count."""
    started = time.thread_time()
    here(body, **more)
    return (time.thread_time() - started) * 1000
