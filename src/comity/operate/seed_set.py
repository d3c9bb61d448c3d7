"""Seeds from Redis: members of a set, sorted set or list that other programs fill are added as hosts.

Members enter, a host or URL each; those that are stored are removed from Redis. A batch is read, committed and only
then removed: a process that dies in between reads it once more, which changes nothing. Members that cannot be used
stay. The score of a member of a sorted set is its rank, 1 being the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from typing import Any, Final

from comity.clock import Clock
from comity.database.connection import Database
from comity.frontier.store import FrontierStore
from comity.model.errors import BadInput, StateUnavailable
from comity.model.host import Seed
from comity.operate.seeds import SeedReport, add_seeds
from comity.rules.priority import PriorityWeights
from comity.rules.seed_list import BadLine, read_seed_lines

_SET_BATCH: Final = 1000
_TIMEOUT_S: Final = 10.0
_LONGEST_MEMBER: Final = 64 * 1024
_BAD_KEPT: Final = 100
_NO_SEED: Final = "neither a host nor a URL"
_LARGEST_RANK: Final = 2**31 - 1  # of the column `domains.seed_rank`

_Ranked = tuple[bytes, int | None]


@dataclass(frozen=True, slots=True)
class SetReport:
    """What became of a set; of the members that could not be used and stay in it, the first are shown."""

    taken: int
    report: SeedReport
    bad_count: int = 0
    bad_members: tuple[tuple[str, str], ...] = ()


class _Kind(StrEnum):
    """What a key with seeds may hold, as TYPE names it."""

    SET = "set"
    SORTED_SET = "zset"
    LIST = "list"


_COUNT: Final = {_Kind.SET: "scard", _Kind.SORTED_SET: "zcard", _Kind.LIST: "llen"}
_WRONG_KIND: Final = (
    "{key} in Redis holds {article} {kind}; put seeds into a set (SADD {key} example.com), a sorted set with the rank "
    "as score (ZADD {key} 1 example.com) or a list (RPUSH {key} example.com)"
)


class SeedSet:
    """A set, sorted set or list of seeds in Redis or Valkey."""

    def __init__(self, url: str, key: str) -> None:
        try:
            import redis
        except ModuleNotFoundError:
            raise BadInput("seeds in Redis need one more package: pip install 'comity[shared]'") from None
        self._errors = redis.RedisError
        self._response_error = redis.ResponseError
        self.key = key
        self._known_kind: _Kind | None = None
        self._removed = 0
        try:
            self._redis: Any = redis.Redis.from_url(
                url,
                socket_timeout=_TIMEOUT_S,
                socket_connect_timeout=_TIMEOUT_S,
                protocol=2,  # a server that wants a password then says so, instead of talking about protocols
                decode_responses=False,
            )
        except ValueError as error:
            raise BadInput(f"not a Redis URL: {error}") from None

    def __len__(self) -> int:
        with self._clear_errors():
            return int(getattr(self._redis, _COUNT[self._kind()])(self.key))

    def batches(self) -> Iterator[list[_Ranked]]:
        """Every member that is there from the beginning to the end with its rank, about a thousand at a time."""
        kind = self._kind()
        if kind is _Kind.LIST:
            yield from self._list_batches()
            return
        scan = self._redis.zscan if kind is _Kind.SORTED_SET else self._redis.sscan
        cursor, is_first = 0, True
        while cursor or is_first:
            with self._clear_errors():
                cursor, found = scan(self.key, cursor, count=_SET_BATCH)
            is_first = False
            members = found if kind is _Kind.SORTED_SET else [(member, None) for member in found]
            for first in range(0, len(members), _SET_BATCH):  # a small set comes all at once, however it was asked for
                ranks = dict(members[first : first + _SET_BATCH])
                yield [(member, _rank_of(score)) for member, score in ranks.items()]

    def _list_batches(self) -> Iterator[list[_Ranked]]:
        """The same from a list, whose stored members leave it at the front; what stays there is read once."""
        left, stayed = len(self), 0
        while left > 0:
            with self._clear_errors():
                found = self._redis.lrange(self.key, stayed, stayed + min(_SET_BATCH, left) - 1)
            if not found:
                return
            left -= len(found)
            self._removed = 0
            yield [(member, None) for member in found]
            stayed += len(found) - self._removed

    def remove(self, members: Sequence[bytes]) -> None:
        """Remove members that are stored; of a list, one occurrence of each."""
        with self._clear_errors():
            match self._kind():
                case _Kind.SORTED_SET:
                    self._redis.zrem(self.key, *members)
                case _Kind.LIST:
                    with self._redis.pipeline(transaction=False) as pipeline:
                        for member in members:
                            pipeline.lrem(self.key, 1, member)
                        self._removed = sum(pipeline.execute())
                case _:
                    self._redis.srem(self.key, *members)

    def _kind(self) -> _Kind:
        """What the key holds, asked once; a key that does not exist counts as an empty set."""
        if self._known_kind is None:
            with self._clear_errors():
                name = bytes(self._redis.type(self.key)).decode()
            if name == "none":
                return _Kind.SET
            try:
                self._known_kind = _Kind(name)
            except ValueError:
                raise BadInput(_WRONG_KIND.format(key=self.key, article="a", kind=name)) from None
        return self._known_kind

    def close(self) -> None:
        """Hang up."""
        self._redis.close()

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except self._response_error as error:
            if str(error).startswith("WRONGTYPE"):
                raise BadInput(_WRONG_KIND.format(key=self.key, article="another", kind="kind of value now")) from None
            raise StateUnavailable(f"the seeds in Redis cannot be read: {error}") from error
        except self._errors as error:
            raise StateUnavailable(f"the seeds in Redis cannot be read: {error}") from error


def load_seed_set(
    database: Database,
    clock: Clock,
    seeds: SeedSet,
    *,
    source: str | None = None,
    collapse: bool = False,
    skip_bad: bool = False,
    weights: PriorityWeights | None = None,
    frontier: FrontierStore | None = None,
    on_stored: Callable[[int], None] | None = None,
) -> SetReport:
    """Store every member of a set and take it out; `BadInput` names the first that cannot be used, unless passed over.

    What was stored before that is stored.
    """
    taken, bad_count, report = 0, 0, SeedReport()
    bad: list[tuple[str, str]] = []
    for members in seeds.batches():
        good: list[tuple[bytes, Seed]] = []
        for member, rank in members:
            seed = _read(member, rank, collapse)
            if isinstance(seed, Seed):
                good.append((member, seed))
                continue
            if not skip_bad:
                raise BadInput(f"{seeds.key}: {_printable(member)}: {seed.reason}; nothing was removed from Redis")
            bad_count += 1
            bad += [(_printable(member), seed.reason)] if len(bad) < _BAD_KEPT else []
        if good:
            report += add_seeds(
                database, clock, [seed for _, seed in good], source=source, weights=weights, frontier=frontier
            )
            seeds.remove([member for member, _ in good])
            taken += len(good)
        if on_stored is not None:
            on_stored(taken)
    return SetReport(taken, report, bad_count, tuple(bad))


def _rank_of(score: float | None) -> int | None:
    """The rank that a score in a sorted set means; None for a score that is no rank, such as 0."""
    return int(score) if score is not None and 1 <= score <= _LARGEST_RANK else None


def _read(member: bytes, rank: int | None, collapse: bool) -> Seed | BadLine:
    """One member; a rank written into it as `rank,host` wins over the score."""
    if len(member) > _LONGEST_MEMBER or b"\n" in member:
        return BadLine(1, _NO_SEED)
    lines = read_seed_lines([member.decode("utf-8", "surrogateescape")], collapse=collapse)
    seed = next(chain(lines, [BadLine(1, _NO_SEED)]))
    return replace(seed, rank=rank) if isinstance(seed, Seed) and seed.rank is None else seed


def _printable(member: bytes) -> str:
    text = member[:100].decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
