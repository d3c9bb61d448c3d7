"""The child's side: takes requests one by one, answers them, and ends with the parent.

The end of the socket ends the process, so none outlives the parent that started it. A request is a head (`REQUEST`) and
its arguments; the body is in shared memory at the offset that the head gives. An answer is any number of `PART`
frames and one that ends it. Requests are answered in the order in which they were sent.
"""

from __future__ import annotations

import mmap
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from struct import Struct
from typing import Final

REQUEST: Final = Struct("!IQQd")
"""Length of the arguments, offset and length of the body, seconds of processor time that the work may take."""
FRAME: Final = Struct("!BI")
"""What the frame is, and the length of what follows."""

READY: Final = 0
"""The child has started."""
PART: Final = 1
"""A piece of the answer."""
DONE: Final = 2
"""The last piece, behind the number of bytes that the child holds in memory (`RESIDENT`)."""
OUT_OF_MEMORY: Final = 3
"""The work needs more memory than the child may have."""

RESIDENT: Final = Struct("!Q")
Work = Callable[[bytes, bytes], Iterable[bytes]]
"""Arguments and body in, pieces of the answer out."""

_MAX_ADDRESS_BYTES: Final = 1 << 30
# The parent ends slow work itself; this is for work whose parent died.
_GRACE_SECONDS: Final = 2.0
_NICENESS: Final = 5
_LOOK_EVERY: Final = 16
_LARGE_BYTES: Final = 512 * 1024
_FREED_FIRST_BYTES: Final = 4 * 1024 * 1024


def keep_freed_memory() -> None:
    """Have glibc keep up to 8 MB of freed memory for this process.

    It gives freed memory back at once, until a block of some size was freed: then it keeps up to twice that size. The
    texts of a page are large and short-lived, and each would be zeroed by the system again.
    """
    bytes(_FREED_FIRST_BYTES)


def wall_seconds(seconds: float) -> float:
    """How long work may take by the wall clock if it may take some seconds of CPU time.

    A child has a low priority: on a busy machine it waits for a core several times as long as it computes.
    """
    return max(5 * seconds, seconds + 30.0)


MAX_FRAME_BYTES: Final = 64 << 20


def main(work: Work) -> None:
    """Lower the priority, bound the memory, then serve the parent that is named on the command line."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    os.nice(_NICENESS)
    control_fd, memory_fd, memory_bytes = map(int, sys.argv[1:4])
    with suppress(ValueError, OSError):  # a system without such a limit, or with a lower one
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_ADDRESS_BYTES + memory_bytes,) * 2)
    with (
        suppress(ConnectionError),  # the parent is gone
        socket.socket(fileno=control_fd) as control,
        mmap.mmap(memory_fd, memory_bytes, access=mmap.ACCESS_READ) as memory,
    ):
        os.close(memory_fd)
        serve(control, memory, work)


def serve(control: socket.socket, memory: mmap.mmap, work: Work) -> None:
    """Answer request after request, until the parent closes its end."""
    _send(control, READY)
    memory_use = _MemoryUse()
    with control.makefile("rb") as requests:
        while len(head := requests.read(REQUEST.size)) == REQUEST.size:
            arguments_length, offset, length, seconds = REQUEST.unpack(head)
            # No handler: the signal ends the process even while C code runs.
            # The parent ends work that takes too long; without a parent, this does.
            signal.setitimer(signal.ITIMER_PROF, max(seconds + _GRACE_SECONDS, 0.001))
            arguments = requests.read(arguments_length)
            try:
                _answer(control, work(arguments, memory[offset : offset + length]), memory_use, length)
            except MemoryError:
                _send(control, OUT_OF_MEMORY)
            signal.setitimer(signal.ITIMER_PROF, 0)


def _answer(control: socket.socket, pieces: Iterable[bytes], memory_use: _MemoryUse, length: int) -> None:
    """Send each piece; the last one, which says that it is, may be the only one."""
    last = b""
    for count, piece in enumerate(pieces):
        if count:
            _send(control, PART, last)
        last = piece
    _send(control, DONE, RESIDENT.pack(memory_use.after(length)) + last)


def _send(control: socket.socket, kind: int, payload: bytes = b"") -> None:
    control.sendall(FRAME.pack(kind, len(payload)) + payload)


class _MemoryUse:
    """How much memory this process uses. The check costs a twentieth of reading a page, so it is not always done."""

    def __init__(self) -> None:
        self._requests = 0
        self._bytes = 0

    def after(self, length: int) -> int:
        """The resident bytes after a request with a body of some length; large bodies are always looked at."""
        if length >= _LARGE_BYTES or self._requests % _LOOK_EVERY == 0:
            self._bytes = _resident_bytes()
        self._requests += 1
        return self._bytes


def _resident_bytes() -> int:
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0  # not Linux: the child is not replaced for its size
