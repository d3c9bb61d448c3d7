"""A machine that is cut off in the middle of a transaction does not keep its rows locked.

Its leases run out, but nobody can take over a host while its row is locked. The server waits for the next statement,
or for the receipt of an answer; in both cases it must notice that nobody is there.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg
import pytest

from tests.machines.namespaces import Machine, Networks, can_be_made
from tests.machines.servers import PostgresOnMachine
from tests.servers.postgres import conninfo
from tests.servers.waiting import wait_until

BEGINS_WITHIN_S = 60.0
FREED_WITHIN_S = 60.0  # half a minute, and room for a busy machine
LOCK = """
import sys
from sqlalchemy import text
from comity.database.connection import open_database

with open_database(sys.argv[1]).write() as connection:
    for statement in sys.argv[2:]:
        connection.execute(text(statement))
    sys.stdin.read()
"""
GATE = "SELECT pg_advisory_xact_lock(1)"


def test_rows_locked_by_a_machine_that_vanished_are_free_within_a_minute() -> None:
    if not can_be_made():
        pytest.fail("this proof makes network namespaces: run it as root, with iproute2 and util-linux installed")
    with ExitStack() as stack:
        networks = stack.enter_context(Networks())
        database, worker = networks.machine("database", "inside"), networks.machine("worker", "inside")
        postgres = stack.enter_context(PostgresOnMachine(database))
        url = postgres.create_database()
        here = stack.enter_context(psycopg.connect(conninfo(url), autocommit=True))
        here.execute("CREATE TABLE hosts (name text)")
        here.execute("INSERT INTO hosts VALUES ('answered'), ('unanswered')")

        def idle_and_waiting() -> tuple[int, int]:
            """How many transactions of the worker are idle, and how many wait for a lock, at one moment."""
            idle, waiting = "state = 'idle in transaction'", "wait_event_type = 'Lock'"
            asked = f"SELECT count(*) FILTER (WHERE {idle}), count(*) FILTER (WHERE {waiting}) FROM pg_stat_activity "
            return here.execute(f"{asked} WHERE client_addr = '{worker.inside}'").fetchall()[0]  # type: ignore[call-overload,no-any-return]

        def free() -> set[str]:
            return {name for (name,) in here.execute("SELECT name FROM hosts FOR UPDATE SKIP LOCKED").fetchall()}

        there = postgres.url_for_workers(url)
        with psycopg.connect(conninfo(url)) as gate:
            gate.execute(GATE)
            stack.enter_context(_transaction(worker, there, "UPDATE hosts SET name = name WHERE name = 'answered'"))
            stack.enter_context(
                _transaction(worker, there, "UPDATE hosts SET name = name WHERE name <> 'answered'", GATE)
            )

            def are_in_the_middle() -> bool:
                # A transaction is idle before its first statement, too: locked rows show that both have run theirs.
                return free() == set() and idle_and_waiting() == (1, 1)

            wait_until(are_in_the_middle, BEGINS_WITHIN_S, "both are in the middle")
            worker.cut("inside")
        wait_until(lambda: idle_and_waiting() == (2, 0), BEGINS_WITHIN_S, "the second is answered, and nobody hears it")
        assert free() == set()
        wait_until(lambda: free() == {"answered", "unanswered"}, FREED_WITHIN_S, "both rows are free")


@contextmanager
def _transaction(machine: Machine, url: str, *statements: str) -> Iterator[None]:
    """A process on a machine that begins a transaction, and does not end it."""
    command = [*machine.entry, sys.executable, "-c", LOCK, url, *statements]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()
