"""PostgreSQL connections with bounded waits: a hung server is noticed, although its machine still answers.

Keepalives find a machine that vanished. A server that is suspended, or a proxy in front of it that stopped forwarding,
keeps its connections open and sends nothing; libpq would wait forever. So a connection that waits long checks whether
the server still takes new connections, and gives up if it does not.
"""

from __future__ import annotations

from collections.abc import Generator
from threading import Lock
from time import monotonic
from typing import Any, Final

import psycopg
from sqlalchemy import Engine, event

ASK_EVERY_S: Final = 10.0  # of silence
_ANSWER_WITHIN_S: Final = 5
_FAIL_FOR_S: Final = 5.0  # after a server did not answer, new connections to it fail at once
# The server ends a statement after 300 s. An end that never reaches us was lost on the way.
LONGEST_WAIT_S: Final = 330.0
FRESH_FOR_S: Final = 0.25  # after an answer, a connection is used again without a ping
_NO_ANSWER: Final = "the server accepts connections but does not respond"


class ServerSilence:
    """Whether a server responds, as far as one process knows."""

    def __init__(self) -> None:
        self._until = 0.0
        self._lock = Lock()

    def fail_while_silent(self) -> None:
        """Raise at once if the server did not answer recently."""
        if monotonic() < self._until:
            raise psycopg.OperationalError(_NO_ANSWER)

    def answers(self, parameters: dict[str, Any]) -> bool:
        """Check whether the server accepts a new connection; one thread at a time checks."""
        with self._lock:
            if monotonic() < self._until:
                return False
            try:
                psycopg.connect(**(parameters | {"connect_timeout": _ANSWER_WITHIN_S})).close()
            except psycopg.OperationalError:
                self._until = monotonic() + _FAIL_FOR_S
                return False
            return True


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that gives up on a server that does not answer."""

    parameters: dict[str, Any]
    silence: ServerSilence
    longest_wait_s = LONGEST_WAIT_S
    answered_at = float("-inf")

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """Wait as psycopg does, but not forever."""
        answer = super().wait(self._bounded(gen), *arguments, **options)
        self.answered_at = monotonic()
        return answer

    def _bounded(self, gen: Any) -> Generator[Any, Any, Any]:
        began_at = heard_at = monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready:
                    heard_at = monotonic()
                elif monotonic() - heard_at >= ASK_EVERY_S:
                    is_lost = monotonic() - began_at >= self.longest_wait_s
                    if is_lost or not self.silence.answers(self.parameters):
                        gen.close()
                        self.pgconn.finish()
                        raise psycopg.OperationalError(_NO_ANSWER)
                    heard_at = monotonic()
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value


def bound_waits(engine: Engine, *, is_pooled: bool) -> None:
    """Make an engine open such connections. A pooler passes no limit on, so there a statement may take any time."""
    silence = ServerSilence()
    ping = engine.dialect.do_ping

    def ping_unless_fresh(connection: Any) -> bool:
        # A busy server runs thousands of short transactions a second; a ping before each costs as much as a statement.
        is_fresh = not connection.closed and monotonic() - connection.answered_at < FRESH_FOR_S
        return is_fresh or ping(connection)

    engine.dialect.do_ping = ping_unless_fresh  # type: ignore[assignment,method-assign]

    @event.listens_for(engine, "do_connect")
    def _connect(_dialect: Any, _record: Any, arguments: Any, parameters: dict[str, Any]) -> Any:
        silence.fail_while_silent()
        connection = BoundedConnection.connect(*arguments, **parameters)
        connection.parameters = {**parameters, **({"conninfo": arguments[0]} if arguments else {})}
        connection.silence = silence
        if is_pooled:
            connection.longest_wait_s = float("inf")
        return connection
