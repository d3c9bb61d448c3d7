"""PostgreSQL and Valkey on machines of their own, reached by the other machines and, through a socket, by the test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.machines.namespaces import INSIDE, Machine
from tests.servers.postgres import PostgresServer
from tests.servers.process import Identity
from tests.servers.valkey import ValkeyServer

REDIS_PORT = 6379


class PostgresOnMachine(PostgresServer):
    """A private PostgreSQL that listens on its machine's inside address."""

    def __init__(self, machine: Machine, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(fsync=False, settings={"listen_addresses": machine.inside, **(settings or {})})
        self._machine = machine
        with (self._data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {INSIDE}0/24 trust\n")
        who = self._identity
        as_whom = () if who.user is None else (f"--reuid={who.user}", f"--regid={who.group}", "--clear-groups")
        self._identity = Identity(prefix=(*machine.entry, *(("setpriv", *as_whom) if as_whom else ()), *who.prefix))

    def url_for_workers(self, url: str) -> str:
        """A database's URL as other machines spell it."""
        name = url.partition("?")[0].rpartition("/")[2]
        return f"postgresql://postgres@{self._machine.inside}:5432/{name}"


class ValkeyOnMachine(ValkeyServer):
    """A private Valkey that listens on its machine's inside address, and on a socket for the test."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(durable=True)
        self._machine = machine

    def _command(self) -> list[str | Path]:
        where = ["--port", str(REDIS_PORT), "--bind", self._machine.inside, "--protected-mode", "no"]
        keep = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
        socket = ["--unixsocket", str(self._socket), "--unixsocketperm", "700"]
        there = [*self._machine.entry, str(self._program)]
        return [*there, "--dir", self.folder, "--daemonize", "no", *where, *socket, *keep]

    @property
    def url_for_workers(self) -> str:
        """Its URL as other machines spell it."""
        return f"redis://{self._machine.inside}:{REDIS_PORT}/0"
