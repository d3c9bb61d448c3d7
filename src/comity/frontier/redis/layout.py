"""One host's frontier as bytes in Redis and in the journal: names of keys, URLs, and batches of changes.

Every key of a host carries its id as hash tag, so that a cluster keeps them together, and the version of this layout. A
long change becomes several batches, none of which keeps Redis busy for long: together they are one, because the
database commits them together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from struct import Struct
from typing import Any, Final, NamedTuple
from uuid import UUID

from comity.frontier.store import FoundUrl, HostSettlement
from comity.model.frontier import FrontierEntry
from comity.model.sitemap import ChangeFrequency, PageHints

LAYOUT: Final = "comity2"
MARKER: Final = f"{LAYOUT}:marker"
DEEP: Final = b"3"  # the state of a URL that is too deep
UNKNOWN: Final = b"-"  # the state of a URL that a host never had, as `states_of.lua` has it
NEW: Final = UNKNOWN + DEEP  # states in which a link that is found is to be queued
PER_LIST: Final = 64  # as `_host.lua` has it
_HEAD = Struct(">qiiBq")
HEAD_BYTES: Final = _HEAD.size  # before the URL, as `_host.lua` has it
_PUT_BACK = Struct(">qdH")
_KEPT = Struct(">BHd")
_HINTS = Struct(">dBd")
_KEY = Struct(">q")
_RANKED = Struct(">qi")
_FREQUENCIES: Final = tuple(ChangeFrequency)
_MOST_IN_A_BATCH: Final = 1000
_APPLY, _REQUEUE, _REQUEUE_SOME, _CHANGE_STATE, _MOVE_IN = b"A", b"R", b"Q", b"S", b"M"
_ADD_TOO_DEEP, _LIFT = b"D", b"L"
_LENGTH = Struct(">I")


def stem_of(host_id: UUID) -> str:
    """What every key of a host begins with."""
    return f"{LAYOUT}:{{{host_id.hex}}}"


def data_keys(stem: str, epoch: str, known: int, buckets: int) -> Iterable[str]:
    """Every key that one life of a host's frontier may have, but for the stem itself."""
    data = f"{stem}:{epoch}"
    yield from (f"{data}:{name}" for name in "qldthx")
    yield from (f"{data}:e:{number}" for number in range(buckets))
    yield from (f"{data}:u:{number}" for number in range(known // PER_LIST + 1))


def pack_keys(keys: Iterable[int]) -> bytes:
    """Keys of URLs, eight bytes each."""
    return b"".join(map(_KEY.pack, keys))


def pack_ranked(ranked: Iterable[tuple[int, int]]) -> bytes:
    """Keys of URLs, each with a priority, twelve bytes together."""
    return b"".join(_RANKED.pack(key, priority) for key, priority in ranked)


def unpack_keys(packed: bytes) -> list[int]:
    """The same, read back."""
    return [key for (key,) in _KEY.iter_unpack(packed)]


def pack_entry(url: str, key: int, depth: int, priority: int, found_by: int = 0, found_on: int = 0) -> bytes:
    """A URL as the scripts take it."""
    return _HEAD.pack(key, depth, priority, found_by, found_on) + url.encode()


def pack_put_back(key: int, until: float, tries: int) -> bytes:
    """A URL that stays queued until a time, which is stored to the microsecond, as in the database."""
    return _PUT_BACK.pack(key, datetime.fromtimestamp(until, UTC).timestamp(), tries)


def pack_hints(hints: PageHints) -> bytes:
    """What a sitemap says, in 17 bytes."""
    lastmod = math.nan if hints.lastmod is None else hints.lastmod.timestamp()
    frequency = 255 if hints.changefreq is None else _FREQUENCIES.index(hints.changefreq)
    return _HINTS.pack(lastmod, frequency, math.nan if hints.priority is None else hints.priority)


def pack_hinted(hinted: Iterable[tuple[int, PageHints]]) -> bytes:
    """Hints, each behind the key of its URL."""
    return b"".join(_KEY.pack(key) + pack_hints(hints) for key, hints in hinted)


def pack_kept(state: int, attempts: int, not_before: float | None) -> bytes:
    """State, tries and wait of a URL that is taken in as it is."""
    return _KEPT.pack(state, attempts, not_before or 0.0)


def unpack_hints(packed: bytes) -> PageHints | None:
    """Read packed hints; None if there are none."""
    if not packed:
        return None
    lastmod, frequency, priority = _HINTS.unpack(packed)
    return PageHints(
        None if math.isnan(lastmod) else datetime.fromtimestamp(lastmod, UTC),
        None if frequency == 255 else _FREQUENCIES[frequency],
        None if math.isnan(priority) else priority,
    )


def unpack_element(element: bytes, origin: bytes) -> tuple[str, int, int, int]:
    """URL, key, depth and priority of a stored URL; those of the host's usual origin are stored without it."""
    key, depth, priority, _found_by, _found_on = _HEAD.unpack_from(element)
    start = origin if element[HEAD_BYTES] == 0 else b""
    return (start + element[HEAD_BYTES + 1 :]).decode(), key, depth, priority


def unpack_found(origin: bytes, fields: Sequence[Any]) -> FoundUrl:
    """Everything about one URL: element, state, tries, time and hints, as `find` and `list` give them."""
    element, state, tries, at, hints = fields
    url, key, depth, priority = unpack_element(element, origin)
    not_before = instant_of(at)
    _key, _depth, _priority, found_by, found_on = _HEAD.unpack_from(element)
    return FoundUrl(
        url, key, depth, priority, int(state), int(tries), not_before, unpack_hints(hints), found_by, found_on
    )


def instant_of(score: bytes | float) -> datetime | None:
    """A time in a sorted set; none if it is empty."""
    return None if score == b"" else datetime.fromtimestamp(float(score), UTC)


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
    """URLs deeper than the limit are stored."""

    parts: list[bytes]


class Lift(NamedTuple):
    """URLs that were too deep, down to a depth, are queued."""

    max_depth: int


_Batch = Apply | Requeue | RequeueSome | ChangeState | MoveIn | AddTooDeep | Lift


def settlement_batches(settlement: HostSettlement) -> Iterator[bytes]:
    """A settlement, of whose links only the addresses are taken; they come first, so that none is ever missed."""
    links, said = iter(settlement.links), iter(settlement.hints)
    done, dropped, back = iter(settlement.done), iter(settlement.dropped), iter(settlement.put_back)
    while True:
        new = list(islice(links, _MOST_IN_A_BATCH))
        most = _MOST_IN_A_BATCH if len(new) < _MOST_IN_A_BATCH else 0
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
    """Store URLs deeper than the limit."""
    rest = iter(entries)
    while some := list(islice(rest, _MOST_IN_A_BATCH)):
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
    while some := list(islice(rest, _MOST_IN_A_BATCH)):
        yield _REQUEUE_SOME + pack_ranked(some)


def state_batches(keys: Collection[int], before: int, after: int) -> Iterator[bytes]:
    """Bring URLs from one state to another."""
    rest = iter(keys)
    while some := list(islice(rest, _MOST_IN_A_BATCH)):
        yield _CHANGE_STATE + bytes((before, after)) + pack_keys(some)


def move_batch(from_host: UUID) -> bytes:
    """Take in another host's URLs."""
    return _MOVE_IN + from_host.bytes


def read_batch(payload: bytes) -> _Batch:
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
