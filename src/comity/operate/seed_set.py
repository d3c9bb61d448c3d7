"""Seeds from a set in Redis: what other programs put there flows into the table of hosts.

Members enter, a host or URL each; those that are stored leave the set. A batch is read, committed, and only then taken
out: whoever dies in between reads it once more, which changes nothing. Members that cannot be used stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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

BATCH: Final = 1000
_TIMEOUT_S: Final = 10.0
_LONGEST_MEMBER: Final = 64 * 1024
_BAD_KEPT: Final = 100
_NO_SEED: Final = "neither a host nor a URL"


@dataclass(frozen=True, slots=True)
class SetReport:
    """What became of a set; of the members that could not be used and stay in it, the first are shown."""

    taken: int
    report: SeedReport
    bad_count: int = 0
    bad_members: tuple[tuple[str, str], ...] = ()


class SeedSet:
    """A set of seeds in Redis or Valkey."""

    def __init__(self, url: str, key: str) -> None:
        try:
            import redis
        except ModuleNotFoundError:
            raise BadInput("seeds in Redis need one more package: pip install 'comity[shared]'") from None
        self._errors = redis.RedisError
        self._response_error = redis.ResponseError
        self.key = key
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
            return int(self._redis.scard(self.key))

    def batches(self) -> Iterator[list[bytes]]:
        """Every member that is there from the beginning to the end, about a thousand at a time."""
        cursor, is_first = 0, True
        while cursor or is_first:
            with self._clear_errors():
                cursor, members = self._redis.sscan(self.key, cursor, count=BATCH)
            is_first = False
            for first in range(0, len(members), BATCH):  # a small set comes all at once, however it was asked for
                yield list(dict.fromkeys(members[first : first + BATCH]))

    def remove(self, members: Sequence[bytes]) -> None:
        """Take members out that are stored."""
        with self._clear_errors():
            self._redis.srem(self.key, *members)

    def close(self) -> None:
        """Hang up."""
        self._redis.close()

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except self._response_error as error:
            if str(error).startswith("WRONGTYPE"):
                raise BadInput(
                    f"{self.key} is no set; seeds are members of one (SADD {self.key} example.com)"
                ) from None
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
        good: dict[bytes, Seed] = {}
        for member in members:
            seed = _read(member, collapse)
            if isinstance(seed, Seed):
                good[member] = seed
                continue
            if not skip_bad:
                raise BadInput(f"{seeds.key}: {_shown(member)}: {seed.reason}; nothing was taken out with it")
            bad_count += 1
            bad += [(_shown(member), seed.reason)] if len(bad) < _BAD_KEPT else []
        if good:
            report += add_seeds(database, clock, list(good.values()), source=source, weights=weights, frontier=frontier)
            seeds.remove(list(good))
            taken += len(good)
        if on_stored is not None:
            on_stored(taken)
    return SetReport(taken, report, bad_count, tuple(bad))


def _read(member: bytes, collapse: bool) -> Seed | BadLine:
    if len(member) > _LONGEST_MEMBER or b"\n" in member:
        return BadLine(1, _NO_SEED)
    lines = read_seed_lines([member.decode("utf-8", "surrogateescape")], collapse=collapse)
    return next(chain(lines, [BadLine(1, _NO_SEED)]))


def _shown(member: bytes) -> str:
    text = member[:100].decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
