"""What other processes do in the tests, each driven by a `Worker`.

A worker says that it is ready, waits for a word, does its work and answers. A server that has imported what workers
need forks them (`tests/servers/forks.py`): they are processes like any other, but do not import it anew.
"""

from __future__ import annotations

import signal
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Self

from sqlalchemy import insert, select

from comity.clock import SystemClock
from comity.database.connection import open_database
from comity.database.tables import domains
from comity.leases.leases import Leases, LeaseTerms
from tests.servers.forks import FORKS

ANSWER_WITHIN_SECONDS = 120


def open_new_file(where: str, name: str) -> str:
    """Open a state that may not exist yet, as every command does, and write to it."""
    from comity.database.schema import current_revision, ensure_current  # Alembic is slow to load

    database = open_database(where)
    ensure_current(database)
    with database.write() as connection:
        connection.execute(insert(domains).values(domain=name))
    with database.read() as connection:
        return str(current_revision(connection))


def upgrade_shared(where: str) -> str | None:
    """Migrate a server."""
    from comity.database.schema import upgrade

    return upgrade(open_database(where))


def claim_all(where: str, batch: int) -> dict[str, Any]:
    """Claim until nothing is left; gives the hosts in the order in which they came, and the tokens."""
    leases = Leases(open_database(where), SystemClock())
    hosts: list[str] = []
    began_s = time.monotonic()
    while claimed := leases.claim(batch):
        hosts += [lease.host for lease in claimed]
        assert all(lease.token == 1 for lease in claimed)
    return {"hosts": hosts, "seconds": time.monotonic() - began_s, "holder": leases.holder}


def claim_and_release(where: str, times: int) -> dict[str, Any]:
    """Take one host and give it back, over and over; gives the tokens it had."""
    leases = Leases(open_database(where), SystemClock())
    tokens: list[int] = []
    while len(tokens) < times:
        for lease in leases.claim(1):
            tokens.append(lease.token)
            leases.release(lease)
    return {"tokens": tokens}


def take_named(where: str, hosts: list[str]) -> list[str]:
    """Take hosts by name; gives those that were had."""
    return [lease.host for lease in Leases(open_database(where), SystemClock()).take(hosts)]


def hold(pipe: Connection, where: str, count: int, lease_s: float) -> None:
    """Claim hosts, tell what is held, and hold it until killed."""
    terms = LeaseTerms(lease_s=lease_s, renew_every_s=lease_s / 2)
    database = open_database(where)
    leases = Leases(database, SystemClock(), terms)
    leases.claim(count)
    with database.read() as connection:
        held = connection.execute(
            select(domains.c.domain, domains.c.lease_token, domains.c.claim_expires_at).where(
                domains.c.claimed_by == leases.holder
            )
        ).all()
    told = [{"host": row.domain, "token": row.lease_token, "ends": row.claim_expires_at.timestamp()} for row in held]
    pipe.send({"holder": leases.holder, "held": told})
    signal.pause()


class Worker:
    """One such process, from the outside."""

    def __init__(self, name: str, *arguments: Any) -> None:
        self._ours, theirs = FORKS.Pipe()
        self._process = FORKS.Process(target=serve, args=(theirs, name, arguments), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def wait_until_ready(self) -> None:
        assert self.next_line() == "ready"

    def go(self) -> None:
        self._ours.send("go")

    def next_line(self) -> Any:
        """What a worker that goes on says meanwhile; its error, if it had one, fails the test."""
        if not self._ours.poll(ANSWER_WITHIN_SECONDS):
            raise AssertionError("the worker says nothing")
        said = self._ours.recv()
        if isinstance(said, Failed):
            raise AssertionError(said.trace)
        return said

    def answer(self) -> Any:
        """What a worker says at its end."""
        said = self.next_line()
        self._process.join(ANSWER_WITHIN_SECONDS)
        assert self._process.exitcode == 0
        return said

    def kill(self) -> None:
        """End it with `kill -9`, and wait until the system has taken note."""
        self._process.kill()
        self._process.join(ANSWER_WITHIN_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.is_alive():
            self.kill()
        self._ours.close()


@dataclass(frozen=True, slots=True)
class Failed:
    """What a worker says instead of its answer where it failed."""

    trace: str


def serve(pipe: Connection, name: str, arguments: Sequence[Any]) -> None:
    """What the process itself does."""
    work = {
        function.__name__: function
        for function in (open_new_file, upgrade_shared, claim_all, claim_and_release, take_named)
    }
    pipe.send("ready")
    pipe.recv()
    try:
        pipe.send(hold(pipe, *arguments) if name == "hold" else work[name](*arguments))
    except Exception:
        pipe.send(Failed(traceback.format_exc()))


def run_together(workers: Sequence[Worker]) -> list[Any]:
    """Let workers begin at one moment, and gather what they say."""
    try:
        for worker in workers:
            worker.wait_until_ready()
        for worker in workers:
            worker.go()
        return [worker.answer() for worker in workers]
    finally:
        for worker in workers:
            worker.__exit__()
