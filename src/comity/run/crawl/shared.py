"""What the processes of one run have in common: the pages of its budget, and the hosts it is through with.

Both are plain descriptors that children inherit. Neither has a lock: whoever is killed, in whatever moment, holds up
nobody.
"""

from __future__ import annotations

import fcntl
import os
import struct
import tempfile
import termios
from contextlib import suppress
from typing import Final

_MOST_AT_ONCE: Final = 65_536
_MOST_IN_PIPE: Final = 32_768  # of the 65,536 bytes that a pipe holds: the rest is room for what is put back


class PagesLeft:
    """A pipe with one byte for each page that may still begin: a process takes one, and puts it back if no page came.

    A byte that a killed process had taken is gone; `put_in` replaces it.
    """

    def __init__(self, limit: int) -> None:
        self._to_put_in = limit
        self.descriptor, self.end = os.pipe()
        for descriptor in (self.descriptor, self.end):
            os.set_blocking(descriptor, False)
        self.fill()

    @property
    def is_empty(self) -> bool:
        """Whether every page is taken."""
        return not self._to_put_in and not self._unread()

    def put_in(self, pages: int) -> None:
        """Let more pages begin."""
        self._to_put_in += pages
        self.fill()

    def fill(self) -> None:
        """Put in as much as there is room for, less what may be put back."""
        some = min(self._to_put_in, _MOST_IN_PIPE - self._unread())
        if some > 0:
            with suppress(BlockingIOError):
                self._to_put_in -= os.write(self.end, bytes(some))

    def close(self) -> None:
        """Give the descriptors back."""
        os.close(self.end)
        os.close(self.descriptor)

    def _unread(self) -> int:
        return int(struct.unpack("i", fcntl.ioctl(self.descriptor, termios.FIONREAD, b"\0" * 4))[0])


def take_page(descriptor: int) -> bool:
    """Take one page of the budget; False if there is none just now."""
    try:
        return bool(os.read(descriptor, 1))
    except BlockingIOError:
        return False


def put_page_back(end: int) -> None:
    """Give one page of the budget back: none came."""
    with suppress(BlockingIOError, BrokenPipeError):  # the room for it is never given away
        os.write(end, b"\0")


class HostsLeft:
    """A file to which each process appends the hosts that it gives back, for all to read before they take one.

    A line says who left a host (`+3 example.com`), or that it is to be taken once more (`-3 example.com`).
    """

    def __init__(self, descriptor: int | None = None, *, number: int = 0) -> None:
        self._number = number
        self.descriptor = _nameless_file() if descriptor is None else descriptor
        self._read_to = 0
        self._left: dict[str, int] = {}

    def left(self) -> set[str]:
        """Every host that the run is through with."""
        return set(self._read())

    def left_by(self, number: int) -> list[str]:
        """The hosts that one process left."""
        return [host for host, by in self._read().items() if by == number]

    def leave(self, host: str) -> None:
        """The run is through with a host."""
        self._append("+", host)

    def take_back(self, host: str) -> None:
        """Nobody knows whether the run is through with a host: it is to be looked at again."""
        self._append("-", host)

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.descriptor)

    def _append(self, sign: str, host: str) -> None:
        os.write(self.descriptor, f"{sign}{self._number} {host}\n".encode())

    def _read(self) -> dict[str, int]:
        while piece := os.pread(self.descriptor, _MOST_AT_ONCE, self._read_to):
            whole = piece[: piece.rfind(b"\n") + 1]
            if not whole:
                break
            self._read_to += len(whole)
            for line in whole.decode().splitlines():
                number, _, host = line[1:].partition(" ")
                if line.startswith("+"):
                    self._left[host] = int(number)
                else:
                    self._left.pop(host, None)
        return self._left


def _nameless_file() -> int:
    """A file that is gone with the last process that has it open."""
    descriptor, name = tempfile.mkstemp()
    os.unlink(name)
    # One write is one line, whoever else writes: it goes to where the end is at that moment.
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_APPEND)
    return descriptor
