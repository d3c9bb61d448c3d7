"""When the journal may let go of a batch: when Redis has it on disk.

Applied batches enter; those that are safe leave. Nothing here waits: a mark is set behind the batches on a connection
of its own, and later the server is asked on the same connection whether that mark is on disk. With appendfsync always
it is at once. With everysec a grace must pass, too, which is longer than the server lets writes wait: WAITAOF alone
cannot be trusted then, because servers from Redis 7.4 on (until a correction in 2025), and Valkey, answer it too early.
A connection that broke in between proves nothing: the batches are looked for anew, because the server may have come
back without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from comity.clock import Clock
from comity.database.frontier_journal import Mark
from comity.frontier.redis_layout import MARKER, stem_of
from comity.frontier.redis_link import LoneConnection, RedisLink, info_of
from comity.frontier.store import FrontierUnavailable

_PAUSE_S: Final = 0.25  # between marks, so that a busy crawl asks seldom
_MOST_HOSTS: Final = 2000


@dataclass(slots=True)
class _Marked:
    """A mark that was set: when, and what lies before it."""

    at: float
    batches: dict[UUID, Mark]


class Durability:
    """What was applied and is not yet known to be safe."""

    def __init__(self, link: RedisLink, clock: Clock) -> None:
        self._link = link
        self._clock = clock
        self._applied: dict[UUID, Mark] = {}
        self._marked: _Marked | None = None
        self._lone: LoneConnection | None = None
        self._last_at = 0.0

    def note(self, host_id: UUID, mark: Mark) -> None:
        """A batch, and all before it, is in Redis."""
        self._applied[host_id] = mark

    def __bool__(self) -> bool:
        return bool(self._applied or self._marked)

    def confirmed(self) -> tuple[dict[UUID, int], list[UUID]]:
        """Batches that are safe now, by host; and hosts whose batches are gone from Redis. Never waits, never fails."""
        if not self._link.terms.is_durable:
            safe, self._applied = self._applied, {}
            return {host_id: mark.batch for host_id, mark in safe.items()}, []
        try:
            with self._link.clear_errors():
                return self._step()
        except FrontierUnavailable:
            self._break()
            return {}, []

    def _step(self) -> tuple[dict[UUID, int], list[UUID]]:
        now, gone = self._clock.seconds(), list[UUID]()
        if self._marked is None:
            if not self._applied or now - self._last_at < _PAUSE_S:
                return {}, []
            gone = self._set_mark(now)
        marked = self._marked
        if marked is None or not self._is_on_disk(now - marked.at):
            return {}, gone
        self._marked = None
        return {host_id: mark.batch for host_id, mark in marked.batches.items()}, gone

    def _set_mark(self, now: float) -> list[UUID]:
        """Look whether the batches are still there, and write behind them; gives hosts that lost theirs."""
        if self._lone is None:
            self._lone = self._link.lone_connection()
        some = dict(list(self._applied.items())[:_MOST_HOSTS])
        asked = [("HMGET", stem_of(host_id), "epoch", "applied") for host_id in some]
        replies = self._lone.ask([*asked, ("SET", MARKER, repr(now))])
        self._last_at = now
        there: dict[UUID, Mark] = {}
        gone: list[UUID] = []
        for (host_id, mark), (epoch, applied) in zip(some.items(), replies, strict=False):
            del self._applied[host_id]
            if epoch == mark.epoch.encode() and int(applied) >= mark.batch:
                there[host_id] = mark
            else:
                gone.append(host_id)
        if there:
            self._marked = _Marked(now, there)
        return gone

    def _is_on_disk(self, age_s: float) -> bool:
        """Ask on the connection that wrote the mark."""
        assert self._lone is not None
        if age_s < self._link.terms.grace_s and self._policy(self._lone) != b"always":
            return False
        said = info_of(self._lone.ask([("INFO", "persistence")])[0])
        if said.get("aof_last_write_status", "ok") != "ok" or said.get("aof_pending_bio_fsync", "0") != "0":
            return False  # a disk that is full or slow
        replicas = self._link.terms.replicas
        try:
            local, remote = self._lone.ask([("WAITAOF", 1, replicas, 1)])[0]
        except self._link.response_error as error:
            if "unknown command" not in str(error) or replicas:
                raise
            return True  # before Redis 7.2
        return bool(local >= 1 and remote >= replicas)

    def _policy(self, lone: LoneConnection) -> bytes:
        """How the server syncs its log; where it will not say, as servers do by default."""
        try:
            _name, policy = lone.ask([("CONFIG", "GET", "appendfsync")])[0]
        except (self._link.response_error, ValueError):
            return b"everysec"
        return bytes(policy)

    def _break(self) -> None:
        """The connection broke: whatever was marked is to be looked for again."""
        if self._marked is not None:
            self._applied = self._marked.batches | self._applied
            self._marked = None
        if self._lone is not None:
            self._lone.close()
            self._lone = None

    def close(self) -> None:
        """Give back the connection."""
        self._break()
