"""The Redis client: bounded connections, a timeout on every call, bounded retries, scripts by their hash.

Commands enter; replies leave, or `FrontierUnavailable`. A script that was cut off is safe to run again: each knows
whether it was run.

A server that takes commands and does not answer (it is suspended, or its disk hangs) costs one time limit, not one for
each command: until it answers a short question, everything else fails at once. Callers wait and try again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from time import monotonic
from typing import Any, Final

from comity.frontier.store import FrontierUnavailable, FrontierUnfit
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput

_NAMES: Final = (
    "add_too_deep",
    "apply",
    "change_state",
    "counts",
    "find",
    "keys",
    "lift",
    "list",
    "look",
    "requeue",
    "requeue_some",
    "states_of",
    "take_in",
    "too_deep_keys",
)
# The server is there but will not take writes, or not now.
_REFUSALS: Final = ("MISCONF", "NOREPLICAS", "BUSY")
_NO_SUCH_DATABASE: Final = "DB index is out of range"
_PIPELINED: Final = 256


@dataclass(frozen=True, slots=True)
class RedisTerms:
    """How Redis is called, and how durable it must be."""

    timeout_s: float = 5.0
    """For one answer. A server that does not answer is not asked again by the link itself."""
    probe_timeout_s: float = 1.0
    """For the answer that shows that a silent server is back."""
    probe_pause_s: float = 1.0
    tries: int = 4
    """How often a connection that was refused or broke is tried."""
    longest_pause_s: float = 1.0
    connections: int = 4
    is_durable: bool = True
    """False for a Redis without append-only file: what it loses is found again by crawling."""
    replicas: int = 0
    """How many replicas must have a batch on disk, too, before the journal drops it."""
    grace_s: float = 3.0
    """How long the journal keeps a batch unless appendfsync is always; everysec may take two seconds."""


class LoneConnection:
    """Commands on one and the same connection, or an error."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._connection.connect()

    def ask(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Send commands together; returns their replies."""
        self._connection.send_packed_command(self._connection.pack_commands(commands))
        return [self._connection.read_response() for _ in commands]

    def close(self) -> None:
        """Hang up."""
        self._connection.disconnect()


class RedisLink:
    """One process's line to one Redis or Valkey."""

    def __init__(self, url: str, terms: RedisTerms | None = None) -> None:
        try:
            import redis
            from redis.backoff import ExponentialBackoff
            from redis.retry import Retry
        except ModuleNotFoundError:
            raise BadInput("a frontier in Redis needs one more package: pip install 'comity[shared]'") from None
        self.terms = terms or RedisTerms()
        self._errors = redis.exceptions
        self.response_error: type[Exception] = redis.ResponseError
        self._absences = (
            redis.ConnectionError,
            redis.TimeoutError,
            redis.ReadOnlyError,
            redis.OutOfMemoryError,
            redis.exceptions.ClusterDownError,
            redis.exceptions.TryAgainError,
            redis.exceptions.AskError,
        )
        # Waiting does not help: it is not Redis, refuses this user, or is one of several servers that share the keys.
        # (The client reports a refused user as a broken connection, so these come first.)
        self._misfits = (
            redis.exceptions.InvalidResponse,
            redis.exceptions.NoPermissionError,
            redis.AuthenticationError,
            redis.exceptions.AuthorizationError,
            redis.exceptions.MovedError,
        )
        # A time limit is not retried: four of them in a row would hold the caller for twenty seconds.
        backoff = ExponentialBackoff(cap=self.terms.longest_pause_s, base=0.05)
        retry = Retry(backoff, self.terms.tries - 1, supported_errors=(redis.ConnectionError,))
        self._silence: str | None = None  # what was said when the server stopped answering
        self._probe_at = 0.0
        try:
            pool = redis.BlockingConnectionPool.from_url(
                url,
                max_connections=self.terms.connections,
                timeout=self.terms.timeout_s,
                retry=retry,
                socket_timeout=self.terms.timeout_s,
                socket_connect_timeout=self.terms.timeout_s,
                protocol=2,
                decode_responses=False,
            )
        except ValueError as error:
            raise BadInput(f"not a Redis URL: {error}") from None
        self._redis = redis.Redis(connection_pool=pool)
        self.location = _without_password(url)
        self._scripts = {name: _script(name) for name in _NAMES}

    def lone_connection(self) -> LoneConnection:
        """A connection that is not shared and never reconnects: its holder sees every break."""
        return LoneConnection(self._redis.connection_pool.make_connection())

    def run(self, name: str, stem: str, *arguments: Any) -> Any:
        """Run one script on one host."""
        text, sha = self._scripts[name]
        with self.clear_errors():
            try:
                return self._redis.evalsha(sha, 1, stem, *arguments)
            except self._errors.NoScriptError:
                return self._redis.eval(text, 1, stem, *arguments)

    def run_many(self, calls: Sequence[tuple[str, str, Sequence[Any]]]) -> list[Any]:
        """Run scripts on several hosts with few round trips; returns their replies in order."""
        with self.clear_errors():
            return [
                reply
                for start in range(0, len(calls), _PIPELINED)
                for reply in self._run_some(calls[start : start + _PIPELINED])
            ]

    def _run_some(self, calls: Sequence[tuple[str, str, Sequence[Any]]]) -> list[Any]:
        for is_first in (True, False):
            pipeline: Any = self._redis.pipeline(transaction=False)
            for name, stem, arguments in calls:
                pipeline.execute_command("EVALSHA", self._scripts[name][1], 1, stem, *arguments)
            replies: list[Any] = pipeline.execute(raise_on_error=False)
            if is_first and any(isinstance(reply, self._errors.NoScriptError) for reply in replies):
                for name in {name for name, _stem, _arguments in calls}:
                    self._redis.script_load(self._scripts[name][0])
                continue
            break
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies

    def command(self, *parts: Any) -> Any:
        """One plain command, which must be safe to repeat."""
        return self.commands([parts])[0]

    def commands(self, commands: Iterable[Sequence[Any]]) -> list[Any]:
        """Plain commands in one round trip; each must be safe to repeat."""
        with self.clear_errors():
            pipeline: Any = self._redis.pipeline(transaction=False)
            for parts in commands:
                pipeline.execute_command(*parts)
            return list(pipeline.execute())

    @contextmanager
    def clear_errors(self) -> Iterator[None]:
        """Turn "cannot reach or use Redis" into one line; other errors of a command are not changed."""
        try:
            self._fail_while_silent()
            yield
        except self._misfits as error:
            raise FrontierUnfit(self._sentence(error)) from error
        except self._errors.TimeoutError as error:
            self._silence = self._sentence(error)
            self._probe_at = monotonic() + self.terms.probe_pause_s
            raise FrontierUnavailable(self._silence) from error
        except self._absences as error:
            raise FrontierUnavailable(self._sentence(error)) from error
        except self.response_error as error:
            if str(error).startswith(_NO_SUCH_DATABASE):
                raise FrontierUnfit(self._sentence(error)) from error
            if str(error).startswith(_REFUSALS):
                raise FrontierUnavailable(self._sentence(error)) from error
            raise

    def _fail_while_silent(self) -> None:
        """Fail at once while the server does not answer; now and then, check whether it does."""
        if self._silence is None:
            return
        if monotonic() < self._probe_at:
            raise FrontierUnavailable(self._silence)
        probe: Any = self._redis.connection_pool.make_connection()
        probe.socket_timeout = probe.socket_connect_timeout = self.terms.probe_timeout_s
        try:
            LoneConnection(probe).ask([("PING",)])
        finally:
            probe.disconnect()
        self._silence = None

    def _sentence(self, error: Exception) -> str:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return f"the frontier at {self.location} cannot be used: {lines[0]}"

    def close(self) -> None:
        """Close every connection."""
        self._redis.close()
        self._redis.connection_pool.disconnect()


def _script(name: str) -> tuple[str, str]:
    folder = files("comity.frontier.redis") / "scripts"
    text = "\n".join((folder / f"{each}.lua").read_text(encoding="utf-8") for each in ("_host", name))
    return text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _without_password(url: str) -> str:
    """A URL without its user and password."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def info_of(reply: Any) -> dict[str, str]:
    """A section of INFO, in the form of the client or the server."""
    if isinstance(reply, dict):
        return {str(name): str(value) for name, value in reply.items()}
    lines = reply.decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)
