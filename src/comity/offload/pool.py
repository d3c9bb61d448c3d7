"""The parent's side: a few child processes that are started when needed and replaced when they fail.

Work that holds Python's lock for long, or that a hostile body can make slow, large or fatal, is done in a child, which
costs the event loop one copy of the body. A child has a few requests waiting in its socket, so that it is never idle
while there is work, and a wake-up serves several requests.

Only the request that a child was working on when it died, took too long or ran out of memory fails; those behind it go
to another child.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import signal
import socket
import sys
from collections import deque
from contextlib import suppress
from typing import Final

from comity.offload.child_handle import ChildHandle, Failed, Failure, Request, shared_memory

_START_SECONDS: Final = 30.0
_SOCKET_BYTES: Final = 1 << 20
_STARTS_IN_A_ROW: Final = 3  # children that may die before their first answer, until requests fail


class ChildPool:
    """Runs a module in child processes; the module calls `comity.offload.child.main` with what it does."""

    def __init__(
        self,
        module: str,
        *,
        max_body_bytes: int,
        most_children: int = 1,
        idle_seconds: float = 60.0,
        max_resident_bytes: int = 200 << 20,
    ) -> None:
        self._module = module
        self._slot_bytes = -(-max_body_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
        self._most_children = most_children
        self._idle_seconds = idle_seconds
        self._max_resident_bytes = max_resident_bytes
        self._waiting: deque[Request] = deque()
        self._children: list[ChildHandle] = []
        self._endings: set[asyncio.Task[int]] = set()
        self._starting: asyncio.Task[None] | None = None
        self._failed_starts = 0
        self._closed = False
        self.held_bytes = 0
        """Bodies of all requests that are not answered yet."""

    @property
    def pids(self) -> list[int]:
        """The child processes there are."""
        return [child.process.pid for child in self._children]

    async def call(self, arguments: bytes, body: bytes, seconds: float) -> list[bytes] | Failed:
        """Have one piece of work done; its time begins when the child does."""
        if self._closed:
            return Failed(Failure.CRASHED, "the pool is closed")
        request = Request(arguments, body, seconds, asyncio.get_running_loop().create_future())
        self.held_bytes += len(body)
        try:
            self._waiting.append(request)
            self._hand_out()
            return await request.future
        finally:
            self.held_bytes -= len(body)
            if request.slot < 0:  # not handed out: cancelled, or the pool is closed
                with suppress(ValueError):
                    self._waiting.remove(request)

    async def close(self) -> None:
        """End the children and wait until they are gone; requests that are not answered fail."""
        self._closed = True
        self._give_up("the pool is closed")
        if self._starting is not None:
            await asyncio.wait([self._starting])
        for child in list(self._children):
            self._end(child, Failed(Failure.CRASHED, "the pool is closed"))
        self._give_up("the pool is closed")
        if self._endings:
            await asyncio.wait(self._endings)

    def _hand_out(self) -> None:
        """Give waiting requests to children, the least busy first; start one more child where all are busy."""
        while self._waiting:
            child = max(self._children, key=lambda each: len(each.free), default=None)
            if child is None or not child.free:
                break
            child.take(self._waiting.popleft())
        # A child more is worth its memory only if requests wait although every child has its share.
        if self._waiting and self._starting is None and not self._closed and len(self._children) < self._most_children:
            self._starting = asyncio.get_running_loop().create_task(self._start())

    async def _start(self) -> None:
        problem = ""
        try:
            child = await self._start_child()
        except (OSError, TimeoutError) as error:
            problem = f"no process could be started: {type(error).__name__}"
            self._failed_starts += 1
        finally:
            self._starting = None
        if problem and self._failed_starts >= _STARTS_IN_A_ROW:
            self._give_up(problem)
        elif problem:
            self._hand_out()  # which tries again
        elif self._closed:
            self._end(child, Failed(Failure.CRASHED, "the pool is closed"))
        else:
            self._hand_out()

    async def _start_child(self) -> ChildHandle:
        if self._endings:
            await asyncio.wait(self._endings)  # never the memory of a child that is ending beside a new one
        memory_fd, size, slots = shared_memory(self._slot_bytes)
        ours, theirs = socket.socketpair()
        try:
            ours.setblocking(False)
            for end in (ours, theirs):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BYTES)
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-P", "-m", self._module, str(theirs.fileno()), str(memory_fd), str(size)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the parent, which ends the child in order
                pass_fds=(theirs.fileno(), memory_fd),
            )
            child = ChildHandle(self, process, ours, mmap.mmap(memory_fd, size), slots)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
            os.close(memory_fd)
        self._children.append(child)
        try:
            async with asyncio.timeout(_START_SECONDS):
                if not await child.ready:
                    raise ChildProcessError
        except BaseException:
            if child in self._children:
                self._end(child, Failed(Failure.CRASHED, "it did not start"))
            raise
        return child

    def answered(self, child: ChildHandle, *, resident_bytes: int, is_spent: bool) -> bool:
        """A child has answered a request, and has room for another."""
        self._failed_starts = 0
        if is_spent or resident_bytes > self._max_resident_bytes:
            self._end(child, None)  # gives the memory back
        self._hand_out()
        goes_on = child in self._children
        if goes_on and not child.outstanding:
            child.idle_after(self._idle_seconds)
        return goes_on

    def failed(self, child: ChildHandle, failure: Failure, detail: str) -> None:
        """A child took too long, died or made no sense: its first request fails, the others go to the next child."""
        if child not in self._children:
            return
        ending = self._end(child, None, keeps_first=True)
        if not child.outstanding:
            self._failed_starts += 1
            if self._failed_starts >= _STARTS_IN_A_ROW:
                self._give_up("processes end before they respond")
        else:
            first = child.outstanding.popleft()
            if failure is Failure.CRASHED:
                ending.add_done_callback(lambda task: first.end(Failed(failure, f"status {_status(task)}, {detail}")))
            else:
                first.end(Failed(failure, detail))
        self._hand_out()

    def ended_idle(self, child: ChildHandle) -> None:
        """A child had nothing to do for a while."""
        if child in self._children and not child.outstanding:
            self._end(child, None)

    def _end(self, child: ChildHandle, failed: Failed | None, *, keeps_first: bool = False) -> asyncio.Task[int]:
        """Kill a child; its requests fail, or wait for another child."""
        if child in self._children:
            self._children.remove(child)
        child.close()
        rest = list(child.outstanding)[1:] if keeps_first else list(child.outstanding)
        for request in reversed(rest):
            request.slot = -1
            request.pieces.clear()
            if failed is not None:
                request.end(failed)
            elif not request.future.done():
                self._waiting.appendleft(request)
        for _ in rest:
            child.outstanding.pop()
        if child.process.returncode is None:
            with suppress(ProcessLookupError):
                # Not by the process object's own method: it would take the status away from those who wait for it.
                os.kill(child.process.pid, signal.SIGKILL)
        ending = asyncio.get_running_loop().create_task(child.process.wait())
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)
        return ending

    def _give_up(self, detail: str) -> None:
        while self._waiting:
            self._waiting.popleft().end(Failed(Failure.CRASHED, detail))


def _status(task: asyncio.Task[int]) -> int | None:
    return None if task.cancelled() or task.exception() is not None else task.result()
