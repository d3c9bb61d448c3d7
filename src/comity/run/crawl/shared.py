"""What the processes of one crawl share: its page budget, and the list of hosts it has finished.

Both are open files that children inherit. Neither has a lock, so a process that is killed at any moment blocks no
other.
"""

from __future__ import annotations

import fcntl
import os
import struct
import tempfile
import termios
from contextlib import suppress
from typing import Final

_READ_BYTES: Final = 65_536
_MOST_IN_PIPE: Final = 32_768  # of the 65,536 bytes that a pipe holds: the rest is for pages that are returned


class PageBudget:
    """A pipe with one byte for each page that may still begin: a process takes one, and returns it if no page came.

    A byte that a killed process had taken is lost; `add` replaces it.
    """

    def __init__(self, limit: int) -> None:
        self._not_in_pipe = limit
        self.descriptor, self.end = os.pipe()
        for descriptor in (self.descriptor, self.end):
            os.set_blocking(descriptor, False)
        self.fill()

    @property
    def is_empty(self) -> bool:
        """Whether every page is taken."""
        return not self._not_in_pipe and not self._unread()

    def add(self, pages: int) -> None:
        """Let more pages begin."""
        self._not_in_pipe += pages
        self.fill()

    def fill(self) -> None:
        """Fill the pipe, but leave space for pages that are returned."""
        some = min(self._not_in_pipe, _MOST_IN_PIPE - self._unread())
        if some > 0:
            with suppress(BlockingIOError):
                self._not_in_pipe -= os.write(self.end, bytes(some))

    def close(self) -> None:
        """Close the pipe."""
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


def return_page(end: int) -> None:
    """Return one page to the budget: none came."""
    with suppress(BlockingIOError, BrokenPipeError):  # `fill` leaves space for it
        os.write(end, b"\0")


class FinishedHosts:
    """A file to which each process appends the hosts that it has finished, for all to read before they lease one.

    A line says which process finished a host (`+3 example.com`), or that it must be leased again (`-3 example.com`).
    """

    def __init__(self, descriptor: int | None = None, *, number: int = 0) -> None:
        self._number = number
        self.descriptor = _unnamed_file() if descriptor is None else descriptor
        self._read_to = 0
        self._finished: dict[str, int] = {}

    def all(self) -> set[str]:
        """Every host that the crawl has finished."""
        return set(self._read())

    def by(self, number: int) -> list[str]:
        """The hosts that one process finished."""
        return [host for host, by in self._read().items() if by == number]

    def add(self, host: str) -> None:
        """Note that the crawl has finished a host."""
        self._append("+", host)

    def remove(self, host: str) -> None:
        """Note that a host may be unfinished after all: it must be leased again."""
        self._append("-", host)

    def close(self) -> None:
        """Close the file."""
        os.close(self.descriptor)

    def _append(self, sign: str, host: str) -> None:
        os.write(self.descriptor, f"{sign}{self._number} {host}\n".encode())

    def _read(self) -> dict[str, int]:
        while piece := os.pread(self.descriptor, _READ_BYTES, self._read_to):
            whole = piece[: piece.rfind(b"\n") + 1]
            if not whole:
                break
            self._read_to += len(whole)
            for line in whole.decode().splitlines():
                number, _, host = line[1:].partition(" ")
                if line.startswith("+"):
                    self._finished[host] = int(number)
                else:
                    self._finished.pop(host, None)
        return self._finished


def _unnamed_file() -> int:
    """A file that disappears with the last process that has it open."""
    descriptor, name = tempfile.mkstemp()
    os.unlink(name)
    # With O_APPEND, a write of one process cannot split a line of another.
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_APPEND)
    return descriptor
