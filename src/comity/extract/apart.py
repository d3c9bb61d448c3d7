"""Large pages read in a process apart: body bytes in, an ``HtmlPage`` or the reason why not out.

The parser holds Python's lock from the first octet to the last, and the HTML rules themselves let a small page ask for
enormous trees. Apart, such a page costs its own process time and memory, which are bounded, and never the event
loop's. Pages are read one at a time, in the order of asking; a body that waits its turn is not copied.
"""

import asyncio
import marshal
import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import compress
from typing import Any, Final

from comity.extract.apart_worker import FRAME, OUT_OF_MEMORY, REQUEST
from comity.model.page import HtmlPage, PageLimit

# What a page can cost at worst goes with the product of its tags and its size: elements that are reopened in every
# paragraph, attributes that are copied each time (WHATWG HTML, "reconstruct the active formatting elements"). Within
# these bounds the worst page found holds its reader for less than a tenth of a second.
LIGHT_BYTES: Final = 256 * 1024
LIGHT_TAGS: Final = 1500
LIGHT_PRODUCT: Final = 64_000_000
MAX_SECONDS: Final = 10.0
IDLE_SECONDS: Final = 60.0
WAITING_BYTES: Final = 64 << 20

SECONDS_FOR_ANY_PAGE: Final = 2.0
# The slowest flat page takes a twentieth of this.
_SECONDS_PER_MEGABYTE: Final = 2.0
_START_SECONDS: Final = 30.0
_MAX_RESIDENT_BYTES: Final = 200 << 20
_SLICE_BYTES: Final = 256 * 1024
_MAX_FRAME_BYTES: Final = 64 << 20
# A child that went away, or whose words make no sense.
_FAILURES: Final = (OSError, EOFError, ValueError, TypeError, AttributeError, LookupError)
_COMMAND: Final = ("-P", "-m", "comity.extract.apart_worker")


class Hardship(StrEnum):
    """Why a page could not be read."""

    TOO_SLOW = "too_slow"
    TOO_MUCH_MEMORY = "too_much_memory"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class TooHard:
    """A page that was given up."""

    code: Hardship
    reason: str


def is_light(body: bytes) -> bool:
    """Whether a page can be read on the spot, whatever it is made of."""
    size = len(body)
    if size > LIGHT_BYTES:
        return False
    tags = body.count(b"<")
    return tags <= LIGHT_TAGS and tags * size <= LIGHT_PRODUCT


class ApartReader:
    """Reads pages in one child process, which starts when first needed and ends when nothing was asked for a while."""

    def __init__(
        self,
        *,
        max_seconds: float = MAX_SECONDS,
        least_seconds: float = SECONDS_FOR_ANY_PAGE,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._least_seconds = least_seconds
        self._max_seconds = max_seconds
        self._idle_seconds = idle_seconds
        self._turn = asyncio.Lock()
        self._child: asyncio.subprocess.Process | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._endings: set[asyncio.Task[int]] = set()
        self._closed = False
        self._waiting_bytes = 0

    @property
    def is_behind(self) -> bool:
        """Whether so much waits to be read that whoever brings it should wait, too."""
        return self._waiting_bytes > WAITING_BYTES

    @property
    def pid(self) -> int | None:
        """The child process, while there is one."""
        return self._child.pid if self._child is not None else None

    async def read(
        self, body: bytes, *, content_type: str | None, agent_token: str, with_images: bool = False
    ) -> HtmlPage | TooHard:
        """Read a page as ``read_html`` would; a page that takes too much is given up, and costs no other page."""
        self._waiting_bytes += len(body)
        try:
            words = {"content_type": content_type, "agent_token": agent_token, "with_images": with_images}
            return await self._read_in_turn(body, marshal.dumps(words))
        finally:
            self._waiting_bytes -= len(body)

    async def _read_in_turn(self, body: bytes, words: bytes) -> HtmlPage | TooHard:
        async with self._turn:
            if self._idle is not None:
                self._idle.cancel()
            try:
                answer = await self._read(body, words)
            except BaseException:
                self._end_child()  # somewhere in the midst of an answer
                raise
            if self._child is not None:
                self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self._end_child)
            return answer

    async def close(self) -> None:
        """End the child, and wait until it is gone; pages still asked for are given up."""
        self._closed = True
        self._end_child()
        async with self._turn:  # a child that was starting just now
            self._end_child()
        await self._wait_for_endings()

    async def _read(self, body: bytes, words: bytes) -> HtmlPage | TooHard:
        if self._closed:
            return TooHard(Hardship.CRASHED, "The reader of large pages is closed.")
        seconds = min(self._max_seconds, self._least_seconds + _SECONDS_PER_MEGABYTE * len(body) / (1 << 20))
        try:
            child = self._child or await self._start_child()
            async with asyncio.timeout(seconds):
                await _ask(child, words, body, seconds)
                page, resident_bytes = await _answer(child)
        except TimeoutError:
            self._end_child()
            return TooHard(Hardship.TOO_SLOW, f"The page could not be read within {seconds:g} seconds.")
        except _FAILURES as failure:
            status = await asyncio.shield(ending) if (ending := self._end_child()) else None
            reason = f"The process that read the page failed: status {status}, {type(failure).__name__}."
            return TooHard(Hardship.CRASHED, reason)
        if page is None or resident_bytes > _MAX_RESIDENT_BYTES:
            self._end_child()  # gives the memory back
        return page or TooHard(Hardship.TOO_MUCH_MEMORY, "The page asks for more memory than a page may have.")

    async def _start_child(self) -> asyncio.subprocess.Process:
        await self._wait_for_endings()  # never the memory of two
        pipe = asyncio.subprocess.PIPE
        self._child = child = await asyncio.create_subprocess_exec(
            sys.executable,
            *_COMMAND,
            stdin=pipe,
            stdout=pipe,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for us: we end the child when its page is done
            limit=_SLICE_BYTES,
        )
        try:
            async with asyncio.timeout(_START_SECONDS):
                await _frame(child)
        except TimeoutError as error:
            raise ChildProcessError from error
        if self._closed:
            raise ChildProcessError
        return child

    def _end_child(self) -> asyncio.Task[int] | None:
        """Kill the child, if there is one; the task answers its status when it is gone."""
        if self._idle is not None:
            self._idle.cancel()
        child, self._child = self._child, None
        if child is None:
            return None
        if child.returncode is None:
            with suppress(ProcessLookupError):
                # Not by the child's own method: that would take its status away from whoever waits for it.
                os.kill(child.pid, signal.SIGKILL)
        ending = asyncio.get_running_loop().create_task(_gone(child))
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)
        return ending

    async def _wait_for_endings(self) -> None:
        if self._endings:
            await asyncio.wait(self._endings)


async def _ask(child: asyncio.subprocess.Process, words: bytes, body: bytes, seconds: float) -> None:
    requests = child.stdin
    assert requests is not None
    requests.write(REQUEST.pack(len(words), len(body), seconds) + words)
    view = memoryview(body)
    for start in range(0, len(body), _SLICE_BYTES):
        requests.write(view[start : start + _SLICE_BYTES])
        await requests.drain()


async def _answer(child: asyncio.subprocess.Process) -> tuple[HtmlPage | None, int]:
    """Gather the frames of one answer: a page and what the child holds in memory, or no page for lack of it."""
    links: list[str] = []
    nofollow: set[str] = set()
    while isinstance(frame := await _frame(child), tuple):
        batch, marks = frame
        links += batch
        nofollow.update(compress(batch, marks))
        await asyncio.sleep(0)  # frames that came together must not hold the loop together
    if frame == OUT_OF_MEMORY:
        return None, 0
    resident_bytes = frame.pop("resident_bytes")
    frame["limits"] = frozenset(map(PageLimit, frame["limits"]))
    return HtmlPage(links=tuple(links), nofollow=frozenset(nofollow), **frame), resident_bytes


async def _frame(child: asyncio.subprocess.Process) -> Any:
    answers = child.stdout
    assert answers is not None
    (length,) = FRAME.unpack(await answers.readexactly(FRAME.size))
    if length > _MAX_FRAME_BYTES:
        raise ValueError(length)
    return marshal.loads(await answers.readexactly(length))  # noqa: S302 - our own child's; plain values


async def _gone(child: asyncio.subprocess.Process) -> int:
    """Wait until a killed child has left nothing behind: process, pipes."""
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.close()
    with suppress(OSError):
        while await child.stdout.read(_SLICE_BYTES):
            pass
    return await child.wait()
