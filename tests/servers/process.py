"""One server process in one temporary folder: who runs it, how it starts, how it ends.

A command enters; a running server leaves, watched so that it never outlives the tests. Only processes that were
started here are ever signalled.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.servers import watchdog
from tests.servers.waiting import wait_until

READY_WITHIN_SECONDS = 60.0
STOPPED_WITHIN_SECONDS = 60.0
LOG_LINES_SHOWN = 15
# A unix socket's path has 107 bytes (unix(7)); the longest name that we put under a parent folder is shorter than this.
ROOM_FOR_SOCKET_NAME = 45
LONGEST_SOCKET_PATH = 107


class ServerUnavailable(Exception):
    """A server that the tests need cannot be had on this machine; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who runs a server: ourselves if nothing is set, else another user, or ourselves under another user's name."""

    prefix: tuple[str, ...] = ()
    user: int | None = None
    group: int | None = None

    def run(self, command: Sequence[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a short command to its end and keep what it said."""
        return subprocess.run(
            [*self.prefix, *map(str, command)],
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            user=self.user,
            group=self.group,
            extra_groups=None if self.user is None else [],
        )


OURSELVES = Identity()


def _environment() -> dict[str, str]:
    """What a server may know of our environment; neither PG… variables nor a locale of the caller's."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def parent_folders() -> list[Path]:
    """Where temporary folders may be made: writable, and short enough for the path of a socket."""
    wanted = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")]
    return [
        folder
        for folder in dict.fromkeys(wanted)
        if len(os.fsencode(folder)) + ROOM_FOR_SOCKET_NAME <= LONGEST_SOCKET_PATH
        and os.access(folder, os.W_OK | os.X_OK)
    ]


def _watch(folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that removes a folder, and ends what runs in it, when this process is gone."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", watchdog.__file__, str(folder)],
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


class SharedFolder:
    """A temporary folder in which the servers of one test run find what only the first of them had to make."""

    def __init__(self, parent: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="comity-shared-", dir=parent))
        self.folder.chmod(0o755)
        self._watchdog = _watch(self.folder)

    def remove(self) -> None:
        """Take it away; no server uses it any more."""
        assert self._watchdog.stdin is not None
        self._watchdog.stdin.close()
        self._watchdog.wait(STOPPED_WITHIN_SECONDS)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Be the only process in a folder."""
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class ServerProcess:
    """A temporary folder, the server that runs in it, and the watchdog over both."""

    def __init__(self, name: str, parent: Path) -> None:
        self.name = name
        self.folder = Path(tempfile.mkdtemp(prefix=f"comity-{name}-", dir=parent))
        self.log = self.folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog = _watch(self.folder)

    @property
    def pid(self) -> int | None:
        """The server's pid while it runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def pids(self) -> list[int]:
        """The server's pid and those of its children; none if it does not run."""
        return [] if self.pid is None else [self.pid, *watchdog.children_of(self.pid)]

    def launch(self, command: Sequence[str | Path], identity: Identity, is_ready: Callable[[], bool]) -> None:
        """Start the server and return when it answers."""
        if self.pid is not None:
            raise RuntimeError(f"{self.name} runs already")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*identity.prefix, *map(str, command)],
                cwd=self.folder,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=identity.user,
                group=identity.group,
                extra_groups=None if identity.user is None else [],
            )
        self._tell_watchdog(f"watch {self._process.pid}")
        try:
            wait_until(lambda: self.pid is None or is_ready(), READY_WITHIN_SECONDS, f"{self.name} answers")
        except TimeoutError as error:
            self.kill()
            raise ServerUnavailable(f"{error}\n{self.log_tail()}") from error
        if self.pid is None:
            raise ServerUnavailable(f"{self.name} ended while starting:\n{self.log_tail()}")

    def stop(self, by: signal.Signals) -> None:
        """Ask the server to end, wait for it, and use force only if it does not."""
        if self._process is None or self.pid is None:
            return
        children = watchdog.children_of(self._process.pid)
        self._process.send_signal(by)
        try:
            self._process.wait(STOPPED_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._wait_for_children(children)

    def kill(self) -> None:
        """End the server and its children at once, as `kill -9` of all of them would."""
        if self._process is None or self.pid is None:
            return
        pids = watchdog.end_by_force(self._process.pid)
        self._process.wait(STOPPED_WITHIN_SECONDS)
        self._wait_for_children(pids)

    def remove(self) -> None:
        """Take the folder and the watchdog away; the server has been stopped before."""
        watchdog.remove_shared_memory(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._watchdog.poll() is None:
            self._tell_watchdog("done")
        assert self._watchdog.stdin is not None
        self._watchdog.stdin.close()
        self._watchdog.wait(STOPPED_WITHIN_SECONDS)

    def log_tail(self) -> str:
        """The last lines that the server wrote."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-LOG_LINES_SHOWN:])

    def _wait_for_children(self, pids: list[int]) -> None:
        wait_until(lambda: all(map(watchdog.is_gone, pids)), STOPPED_WITHIN_SECONDS, f"{self.name}'s children end")

    def _tell_watchdog(self, line: str) -> None:
        assert self._watchdog.stdin is not None
        self._watchdog.stdin.write(f"{line}\n".encode())
        self._watchdog.stdin.flush()


class PrivateServer(ABC):
    """A server of the tests' own in one process, which may be stopped, killed and started again with its data."""

    _process: ServerProcess

    @property
    def folder(self) -> Path:
        """The temporary folder with data, socket and log."""
        return self._process.folder

    def pids(self) -> list[int]:
        """The pids of the server and its children; none if it does not run."""
        return self._process.pids()

    @abstractmethod
    def start(self) -> None:
        """Start the server and return when it answers."""

    @abstractmethod
    def stop(self) -> None:
        """End the server as an operator would; what is durable stays."""

    def kill(self) -> None:
        """End the server and all its children with `kill -9`; the data stay as the crash left them."""
        self._process.kill()

    def restart(self) -> None:
        """Start again, after a stop if the server still runs."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop the server and remove everything it had."""
        self.stop()
        self._process.remove()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
