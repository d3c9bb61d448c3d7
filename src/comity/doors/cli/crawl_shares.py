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
from typing import Final

_MOST_AT_ONCE: Final = 65_536


class PagesLeft:
    """A pipe with one octet for each page that may still begin; at its end, the budget is spent."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._to_put_in = limit
        self.descriptor, self._end = os.pipe()
        os.set_blocking(self._end, False)
        self._is_open = True
        self.fill()

    @property
    def begun(self) -> int:
        """How many pages all processes together have begun."""
        unread = struct.unpack("i", fcntl.ioctl(self.descriptor, termios.FIONREAD, b"\0" * 4))[0]
        return self._limit - self._to_put_in - int(unread)

    def fill(self) -> None:
        """Put in as much as there is room for; whoever finds the pipe empty meanwhile waits."""
        while self._to_put_in:
            try:
                self._to_put_in -= os.write(self._end, bytes(min(self._to_put_in, _MOST_AT_ONCE)))
            except BlockingIOError:
                return
        self._close_end()

    def close(self) -> None:
        """Give the descriptors back."""
        self._close_end()
        os.close(self.descriptor)

    def _close_end(self) -> None:
        if self._is_open:
            self._is_open = False
            os.close(self._end)


def begin_page(descriptor: int) -> bool:
    """Take one page of the budget; False if there are no more."""
    return bool(os.read(descriptor, 1))


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
