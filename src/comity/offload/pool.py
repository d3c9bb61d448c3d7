"""The parent's side: a few child processes that are started when needed and replaced when they fail.

Work that holds the GIL for long, or that a hostile body can make slow, large or fatal, is done in a child process, at
the cost of one copy of the body. A child has a few requests waiting in its socket, so that it is never idle while there
is work, and one wake-up serves several requests.

If a child dies, takes too long or runs out of memory, only the request that it was working on fails; those behind it go
to another child.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import resource
import signal
import socket
import sys
import tempfile
import time
from collections import deque
from contextlib import suppress
from enum import StrEnum
from math import inf
from typing import Final, Protocol

from comity.model.dataclass import dataclass
from comity.offload.child import (
    DONE,
    FRAME,
    MAX_FRAME_BYTES,
    OUT_OF_MEMORY,
    PART,
    READY,
    REQUEST,
    RESIDENT,
    wall_seconds,
)

_START_SECONDS: Final = 30.0
_SOCKET_BYTES: Final = 1 << 20
_STARTS_IN_A_ROW: Final = 3  # after this many children died before their first answer, requests fail
_SLOTS: Final = 4
"""Requests that a child has at a time."""
_RECEIVE_BYTES: Final = 256 * 1024
_KEPT_SLOT_BYTES: Final = 1 << 20  # memory of a slot that stays allocated between requests


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
        """The total size of the bodies of unanswered requests."""

    @property
    def pids(self) -> list[int]:
        """The present child processes."""
        return [child.process.pid for child in self._children]

    async def call(self, arguments: bytes, body: bytes, seconds: float) -> list[bytes] | FailedWork:
        """Do one piece of work in a child; its time starts when the child starts on it."""
        if self._closed:
            return FailedWork(WorkFailure.CRASHED, "the pool is closed")
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

    def prepare(self) -> None:
        """Start a child before the first request; if none comes, it ends like any other."""
        if not self._children and self._starting is None and not self._closed:
            self._starting = asyncio.get_running_loop().create_task(self._start())

    async def close(self) -> None:
        """End the children and wait until they are gone; unanswered requests fail."""
        self._closed = True
        self._give_up("the pool is closed")
        if self._starting is not None:
            await asyncio.wait([self._starting])
        for child in list(self._children):
            self._end(child, FailedWork(WorkFailure.CRASHED, "the pool is closed"))
        self._give_up("the pool is closed")
        if self._endings:
            await asyncio.wait(self._endings)

    def _hand_out(self) -> None:
        """Hand waiting requests to children, the least busy first; start another child if all are busy."""
        while self._waiting:
            child = max(self._children, key=lambda each: len(each.free), default=None)
            if child is None or not child.free:
                break
            child.take(self._waiting.popleft())
        # Another child is worth its memory only if requests wait although every child has its share.
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
            self._end(child, FailedWork(WorkFailure.CRASHED, "the pool is closed"))
        else:
            self._hand_out()
            if child in self._children and not child.outstanding:
                child.idle_after(self._idle_seconds)

    async def _start_child(self) -> ChildHandle:
        if self._endings:
            await asyncio.wait(self._endings)  # never the memory of a child that is ending beside a new one
        memory_fd, size, slots = _shared_memory(self._slot_bytes)
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
                self._end(child, FailedWork(WorkFailure.CRASHED, "it did not start"))
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

    def failed(self, child: ChildHandle, failure: WorkFailure, detail: str) -> None:
        """A child took too long, died or sent garbage: its first request fails, the others go to the next child."""
        if child not in self._children:
            return
        ending = self._end(child, None, keeps_first=True)
        if not child.outstanding:
            self._failed_starts += 1
            if self._failed_starts >= _STARTS_IN_A_ROW:
                self._give_up("processes end before they respond")
        else:
            first = child.outstanding.popleft()
            if failure is WorkFailure.CRASHED:
                ending.add_done_callback(
                    lambda task: first.end(FailedWork(failure, f"status {_status(task)}, {detail}"))
                )
            else:
                first.end(FailedWork(failure, detail))
        self._hand_out()

    def ended_idle(self, child: ChildHandle) -> None:
        """A child had nothing to do for a while."""
        if child in self._children and not child.outstanding:
            self._end(child, None)

    def _end(self, child: ChildHandle, failed: FailedWork | None, *, keeps_first: bool = False) -> asyncio.Task[int]:
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
            self._waiting.popleft().end(FailedWork(WorkFailure.CRASHED, detail))


def _status(task: asyncio.Task[int]) -> int | None:
    return None if task.cancelled() or task.exception() is not None else task.result()


class WorkFailure(StrEnum):
    """Why work was not done."""

    TOO_SLOW = "too_slow"
    TOO_MUCH_MEMORY = "too_much_memory"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class FailedWork:
    """Work that was abandoned, with details for people."""

    code: WorkFailure
    detail: str


class Owner(Protocol):
    """Is notified of what happens to a child."""

    def answered(self, child: ChildHandle, *, resident_bytes: int, is_spent: bool) -> bool:
        """A request was answered; returns whether the child continues."""

    def failed(self, child: ChildHandle, failure: WorkFailure, detail: str) -> None:
        """The child took too long, died or sent garbage."""

    def ended_idle(self, child: ChildHandle) -> None:
        """The child had nothing to do for a while."""


class Request:
    """One piece of work in progress."""

    __slots__ = ("arguments", "body", "future", "pieces", "seconds", "slot")

    def __init__(
        self, arguments: bytes, body: bytes, seconds: float, future: asyncio.Future[list[bytes] | FailedWork]
    ) -> None:
        self.arguments = arguments
        self.body = body
        self.seconds = seconds
        self.future = future
        self.pieces: list[bytes] = []
        self.slot = -1

    def end(self, answer: list[bytes] | FailedWork) -> None:
        """Answer it, unless the answer is no longer wanted."""
        if not self.future.done():
            self.future.set_result(answer)


class ChildHandle:
    """One process, its end of the socket, the memory shared with it, and what it was asked.

    A child answers in order. Its answers, and its end, are reported to its `Owner`.
    """

    def __init__(
        self,
        owner: Owner,
        process: asyncio.subprocess.Process,
        control: socket.socket,
        memory: mmap.mmap,
        slots: int,
    ) -> None:
        self._owner = owner
        self.process = process
        self._control = control
        self._memory = memory
        self._slots = slots
        self._slot_bytes = len(memory) // slots
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[bool] = self._loop.create_future()
        self.free: list[int] = []  # none until it has started
        self.outstanding: deque[Request] = deque()
        self._received = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = inf
        self._gives_up_at = inf
        self._used_before = 0.0
        self._idle: asyncio.TimerHandle | None = None
        self._loop.add_reader(control.fileno(), self._on_readable)

    def take(self, request: Request) -> None:
        """Send a request; the body is copied into memory that the child sees."""
        if len(request.body) > self._slot_bytes:
            request.end(FailedWork(WorkFailure.TOO_MUCH_MEMORY, "its body does not fit into the shared memory"))
            return
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        request.slot = slot = self.free.pop()
        offset = slot * self._slot_bytes
        body = request.body
        self._memory[offset : offset + len(body)] = body
        if not self.outstanding:
            self._start_clock(request)
        self.outstanding.append(request)
        head = REQUEST.pack(len(request.arguments), offset, len(body), request.seconds)
        try:
            # The socket takes all requests that a child can have at a time; one that does not listen is broken.
            sent = self._control.send(head + request.arguments)
        except OSError as error:
            self._loop.call_soon(self._owner.failed, self, WorkFailure.CRASHED, type(error).__name__)
            return
        if sent < len(head) + len(request.arguments):
            self._loop.call_soon(self._owner.failed, self, WorkFailure.CRASHED, "it accepts no more requests")

    def idle_after(self, seconds: float) -> None:
        """End the child unless it gets work within some seconds."""
        if self._idle is None:
            self._idle = self._loop.call_later(seconds, self._owner.ended_idle, self)

    def close(self) -> None:
        """Release the socket and the memory."""
        for timer in (self._timer, self._idle):
            if timer is not None:
                timer.cancel()
        self._loop.remove_reader(self._control.fileno())
        self._control.close()
        self._memory.close()
        if not self.ready.done():
            self.ready.set_result(False)

    def _start_clock(self, request: Request) -> None:
        """Start the time of the first request; one timer is enough, since it checks the deadline when it fires."""
        now = self._loop.time()
        self._used_before = self._used_seconds()
        self._gives_up_at = now + wall_seconds(request.seconds)
        self._deadline = now + request.seconds  # no work can have used up its time before
        if self._timer is None or self._timer.when() > self._deadline:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(self._deadline, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if not self.outstanding:
            return
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._on_timer)
            return
        seconds = self.outstanding[0].seconds
        left = seconds - (self._used_seconds() - self._used_before)
        if left > 0 and self._loop.time() < self._gives_up_at:
            # It waited for a core: on a busy machine, that does not make a page heavy.
            self._deadline = min(self._loop.time() + max(left, 0.01), self._gives_up_at)
            self._timer = self._loop.call_at(self._deadline, self._on_timer)
            return
        self._owner.failed(self, WorkFailure.TOO_SLOW, f"it took more than {seconds:g} seconds")

    def _used_seconds(self) -> float:
        """CPU time of the child so far; wall-clock time if the system does not report it."""
        try:
            return time.clock_gettime((~self.process.pid << 3) | 2)  # clock_getcpuclockid(3) of Linux
        except OSError:  # another system, or it has ended
            return self._loop.time()

    def _on_readable(self) -> None:
        """Take what has arrived, at most one chunk a call, so that large answers do not hold up the loop."""
        try:
            chunk = self._control.recv(_RECEIVE_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._owner.failed(self, WorkFailure.CRASHED, type(error).__name__)
            return
        if not chunk:
            self._owner.failed(self, WorkFailure.CRASHED, "it closed its connection")
            return
        received = self._received
        received += chunk
        start = 0
        while len(received) - start >= FRAME.size:
            kind, length = FRAME.unpack_from(received, start)
            if length > MAX_FRAME_BYTES:
                self._owner.failed(self, WorkFailure.CRASHED, "its response is too long")
                return
            end = start + FRAME.size + length
            if len(received) < end:
                break
            payload = bytes(memoryview(received)[start + FRAME.size : end])
            start = end
            if not self._on_frame(kind, payload):
                return
        if start:
            del received[:start]

    def _on_frame(self, kind: int, payload: bytes) -> bool:
        """Take one frame; False if the child is gone with it."""
        if kind == READY and not self.ready.done():
            self.free = list(range(self._slots))
            self.ready.set_result(True)
            return True
        if not self.outstanding or kind not in (PART, DONE, OUT_OF_MEMORY):
            self._owner.failed(self, WorkFailure.CRASHED, "its response is malformed")
            return False
        request = self.outstanding[0]
        if kind == PART:
            request.pieces.append(payload)
            return True
        self.outstanding.popleft()
        self._release(request)
        if self.outstanding:
            self._start_clock(self.outstanding[0])
        resident_bytes = 0
        if kind == OUT_OF_MEMORY:
            request.end(FailedWork(WorkFailure.TOO_MUCH_MEMORY, "it needs more memory than the limit"))
        else:
            (resident_bytes,) = RESIDENT.unpack_from(payload)
            request.pieces.append(payload[RESIDENT.size :])
            request.end(request.pieces)
        return self._owner.answered(self, resident_bytes=resident_bytes, is_spent=kind == OUT_OF_MEMORY)

    def _release(self, request: Request) -> None:
        """Make a slot free again; the memory of a large body is returned to the system."""
        size = len(request.body)
        if size > _KEPT_SLOT_BYTES and hasattr(mmap, "MADV_REMOVE"):
            self._memory.madvise(mmap.MADV_REMOVE, request.slot * self._slot_bytes, self._slot_bytes)
        self.free.append(request.slot)


def _shared_memory(slot_bytes: int) -> tuple[int, int, int]:
    """A file without a name, in memory where the system can: its descriptor, its size, and how many slots it has.

    Only what is written takes up room. The limit on the size of files (`ulimit -f`) holds for it, too.
    """
    slots, size = _SLOTS, _SLOTS * slot_bytes
    limit, _hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit != resource.RLIM_INFINITY and size > limit:
        slots, size = 1, min(slot_bytes, limit // mmap.PAGESIZE * mmap.PAGESIZE)
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("comity")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return descriptor, size, slots
