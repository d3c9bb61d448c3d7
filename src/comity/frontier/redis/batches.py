"""Batches on their way to a frontier outside the database, as the journal stores them.

Changes enter; bytes leave, and are read back as what the scripts take. A long change becomes several batches, none of
which keeps Redis busy for long: together they are one, because the database commits them together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID

from comity.frontier.redis.layout import pack_entry, pack_hinted, pack_keys, pack_put_back, pack_ranked
from comity.frontier.store import HostSettlement
from comity.model.frontier import FrontierEntry

MOST_IN_A_BATCH: Final = 1000
_APPLY, _REQUEUE, _REQUEUE_SOME, _CHANGE_STATE, _MOVE_IN = b"A", b"R", b"Q", b"S", b"M"
_ADD_TOO_DEEP, _LIFT = b"D", b"L"
_LENGTH = Struct(">I")


class Apply(NamedTuple):
    """Links and acknowledgements, as the script `apply` takes them."""

    parts: list[bytes]


class Requeue(NamedTuple):
    """Everything that is done is queued again."""


class RequeueSome(NamedTuple):
    """URLs that are done are queued again, with new priorities."""

    ranked: bytes


class ChangeState(NamedTuple):
    """URLs go from one state to another."""

    before: int
    after: int
    keys: bytes


class MoveIn(NamedTuple):
    """The URLs of another host come here."""

    from_host: UUID


class AddTooDeep(NamedTuple):
    """URLs that lie deeper than is followed are kept."""

    parts: list[bytes]


class Lift(NamedTuple):
    """URLs that were too deep, down to a depth, are queued."""

    max_depth: int


Batch = Apply | Requeue | RequeueSome | ChangeState | MoveIn | AddTooDeep | Lift


def settlement_batches(settlement: HostSettlement) -> Iterator[bytes]:
    """A settlement, of whose links only the addresses are taken; they come first, so that none is ever missed."""
    links, said = iter(settlement.links), iter(settlement.hints)
    done, dropped, back = iter(settlement.done), iter(settlement.dropped), iter(settlement.put_back)
    while True:
        new = list(islice(links, MOST_IN_A_BATCH))
        most = MOST_IN_A_BATCH if len(new) < MOST_IN_A_BATCH else 0
        parts = [
            pack_hinted(islice(said, most)),
            pack_keys(islice(done, most)),
            pack_keys(islice(dropped, most)),
            b"".join(pack_put_back(*each) for each in islice(back, most)),
            *(
                pack_entry(entry.url, entry.key, entry.depth, entry.priority, entry.found_by, entry.found_on)
                for entry in new
            ),
        ]
        if not any(parts):
            return
        yield _APPLY + b"".join(_LENGTH.pack(len(part)) + part for part in parts)


def too_deep_batches(entries: Collection[FrontierEntry]) -> Iterator[bytes]:
    """Keep URLs that lie deeper than is followed."""
    rest = iter(entries)
    while some := list(islice(rest, MOST_IN_A_BATCH)):
        parts = [
            pack_entry(entry.url, entry.key, entry.depth, entry.priority, entry.found_by, entry.found_on)
            for entry in some
        ]
        yield _ADD_TOO_DEEP + b"".join(_LENGTH.pack(len(part)) + part for part in parts)


def lift_batch(max_depth: int) -> bytes:
    """Queue URLs that were too deep."""
    return _LIFT + _LENGTH.pack(max_depth)


def requeue_batch() -> bytes:
    """Queue everything again."""
    return _REQUEUE


def ranked_batches(ranked: Collection[tuple[int, int]]) -> Iterator[bytes]:
    """Queue URLs that are done again."""
    rest = iter(ranked)
    while some := list(islice(rest, MOST_IN_A_BATCH)):
        yield _REQUEUE_SOME + pack_ranked(some)


def state_batches(keys: Collection[int], before: int, after: int) -> Iterator[bytes]:
    """Bring URLs from one state to another."""
    rest = iter(keys)
    while some := list(islice(rest, MOST_IN_A_BATCH)):
        yield _CHANGE_STATE + bytes((before, after)) + pack_keys(some)


def move_batch(from_host: UUID) -> bytes:
    """Take in another host's URLs."""
    return _MOVE_IN + from_host.bytes


def read_batch(payload: bytes) -> Batch:
    """A row of the journal, read back."""
    kind, body = payload[:1], payload[1:]
    if kind == _APPLY:
        return Apply(list(_parts(body)))
    if kind == _REQUEUE:
        return Requeue()
    if kind == _REQUEUE_SOME:
        return RequeueSome(body)
    if kind == _CHANGE_STATE:
        return ChangeState(body[0], body[1], body[2:])
    if kind == _ADD_TOO_DEEP:
        return AddTooDeep(list(_parts(body)))
    if kind == _LIFT:
        return Lift(_LENGTH.unpack(body)[0])
    if kind == _MOVE_IN:
        return MoveIn(UUID(bytes=body))
    raise ValueError(f"a journal row of unknown kind {kind!r}: it was written by a newer Comity")


def _parts(body: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(body):
        (length,) = _LENGTH.unpack_from(body, start)
        start += _LENGTH.size
        yield body[start : start + length]
        start += length
