"""What other processes do in the tests: `python -m tests.database.workers NAME ARGUMENTS`, driven by `Worker`.

A worker says that it is ready, waits for a line, does its work and answers with one line of JSON.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from sqlalchemy import insert, select

from comity.clock import SystemClock
from comity.database.connection import open_database
from comity.database.tables import domains
from comity.leases.leases import Leases, LeaseTerms

REPOSITORY = Path(__file__).resolve().parents[2]
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


def hold(where: str, count: int, lease_s: float) -> None:
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
    print(json.dumps({"holder": leases.holder, "held": told}), flush=True)
    signal.pause()


class Worker:
    """One such process, from the outside."""

    def __init__(self, name: str, *arguments: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.database.workers", name, json.dumps(arguments)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_ready(self) -> None:
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            raise AssertionError(self._process.communicate(timeout=ANSWER_WITHIN_SECONDS)[1])

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def next_line(self) -> Any:
        """What a worker that goes on says meanwhile."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(self._process.communicate(timeout=ANSWER_WITHIN_SECONDS)[1])
        return json.loads(line)

    def answer(self) -> Any:
        """What a worker says at its end; its error, if it had one, fails the test."""
        told, complaint = self._process.communicate(timeout=ANSWER_WITHIN_SECONDS)
        if self._process.returncode != 0:
            raise AssertionError(complaint)
        return json.loads(told)

    def kill(self) -> None:
        """End it with `kill -9`, and wait until the system has taken note."""
        self._process.kill()
        self._process.communicate(timeout=ANSWER_WITHIN_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.kill()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


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


def main() -> None:
    work = {
        function.__name__: function
        for function in (open_new_file, upgrade_shared, claim_all, claim_and_release, take_named, hold)
    }[sys.argv[1]]
    arguments = json.loads(sys.argv[2])
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(work(*arguments)), flush=True)


if __name__ == "__main__":
    main()
