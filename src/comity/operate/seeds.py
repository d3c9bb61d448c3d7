"""Adding seeds to the state: one by one, in batches, as a whole list that is checked first, or from Redis.

Other programs fill a set, sorted set or list in Redis with hosts or URLs. A batch is read, committed and only then
removed from Redis: if the process dies in between, the batch is read again, which changes nothing. Members that cannot
be used stay. In a sorted set, the score of a member is its rank, 1 being the best.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from itertools import chain, islice
from typing import IO, Any, BinaryIO, Final
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import hosts, robots, takedowns
from comity.database.connection import Database
from comity.frontier.sql_store import own_frontier
from comity.frontier.store import FrontierChange, FrontierStore
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, StateUnavailable
from comity.model.frontier import GUESSED_SCHEME_PRIORITY, FoundBy, FrontierEntry
from comity.model.host import BlockReason, CanonicalHost, Seed
from comity.rules.canonical import origin_of, web_address
from comity.rules.endings import ORIGIN_REASONS
from comity.rules.priority import HostSignals, PriorityWeights, priority_score
from comity.rules.seed_list import BadLine, read_seed_lines
from comity.rules.takedown import Takedowns

_SET_BATCH: Final = 1000
_TIMEOUT_S: Final = 10.0
_LONGEST_MEMBER: Final = 64 * 1024
_BAD_KEPT: Final = 100
_NO_SEED: Final = "neither a host nor a URL"
_LARGEST_RANK: Final = 2**31 - 1  # of the column `domains.seed_rank`

_Ranked = tuple[bytes, int | None]


@dataclass(frozen=True, slots=True)
class SeedReport:
    """The result of adding a list of seeds; `taken_down` names the hosts and URLs that were left out."""

    hosts_given: int = 0
    hosts_new: int = 0
    urls_queued: int = 0
    taken_down: tuple[str, ...] = ()

    def __add__(self, other: SeedReport) -> SeedReport:
        return SeedReport(
            self.hosts_given + other.hosts_given,
            self.hosts_new + other.hosts_new,
            self.urls_queued + other.urls_queued,
            self.taken_down + other.taken_down,
        )


def add_seeds(
    database: Database,
    clock: Clock,
    seeds: Sequence[Seed],
    *,
    source: str | None = None,
    weights: PriorityWeights | None = None,
    frontier: FrontierStore | None = None,
    paused_by: UUID | None = None,
) -> SeedReport:
    """Store seeds in one transaction: all of them, or none. URLs go to the frontier, by default the database's own.

    From then on, workers leave the hosts to the run `paused_by`.
    """
    return add_seed_batches(
        database, clock, [seeds], source=source, weights=weights, frontier=frontier, paused_by=paused_by
    )


def add_seed_batches(
    database: Database,
    clock: Clock,
    batches: Iterable[Sequence[Seed]],
    *,
    source: str | None = None,
    weights: PriorityWeights | None = None,
    frontier: FrontierStore | None = None,
    paused_by: UUID | None = None,
) -> SeedReport:
    """The same for a list that is too long to hold in memory; still one transaction.

    A host in two batches is counted in both, but is new only in the first.
    """
    now = clock.now()
    chosen_weights = weights or PriorityWeights()

    def first_score(rank: int | None) -> int:
        return priority_score(HostSignals(seed_rank=rank), chosen_weights, now)

    report = SeedReport()
    with (frontier or own_frontier(database)).change() as change:
        refused = Takedowns.of(row.domain_or_url for row in takedowns.entries(change.connection))
        for batch in batches:
            report += _add_batch(change, batch, refused, source, first_score, now, paused_by)
    return report


def _add_batch(
    change: FrontierChange,
    seeds: Sequence[Seed],
    refused: Takedowns,
    source: str | None,
    first_score: Callable[[int | None], int],
    now: datetime,
    paused_by: UUID | None,
) -> SeedReport:
    best: dict[str, Seed] = {}
    urls: dict[str, list[FrontierEntry]] = {}
    down: set[str] = set()
    for seed in seeds:
        host = seed.host.authority
        if refused.covering_host(host) is not None:
            down.add(host)
            continue
        best[host] = _better(best.get(host), seed)
        if seed.url is None:
            continue
        address = web_address(seed.url)
        if refused.covering(address) is None:
            priority = GUESSED_SCHEME_PRIORITY if seed.is_scheme_guessed else 0
            entry = FrontierEntry(address.url, address.key, 0, priority, found_by=FoundBy.SEED)
            urls.setdefault(host, []).append(entry)
        else:
            down.add(address.url)
    connection = change.connection
    if paused_by is not None:
        hosts.pause_for_workers(connection, best, paused_by)
    new = hosts.add_seeds(connection, best.values(), source, first_score, paused_by)
    ids = hosts.ids_of(connection, urls)
    change.foresee({ids[host]: entries for host, entries in urls.items()})
    queued = {ids[host]: change.add(ids[host], None, entries) for host, entries in urls.items()}
    hosts.add_discovered(connection, queued, now)
    _lift_cooldowns(connection, {ids[host]: entries for host, entries in urls.items()}, queued)
    return SeedReport(len(best), new, sum(queued.values()), tuple(sorted(down)))


def _lift_cooldowns(connection: Connection, named: Mapping[UUID, list[FrontierEntry]], new: Mapping[UUID, int]) -> None:
    """Try a host that did not respond again at once, if this scheme or port has not been tried yet.

    A host whose robots.txt forbade every URL so far is tried again for a new URL: robots.txt decides about it.
    """
    unasked = [host_id for host_id, count in new.items() if count]
    hosts.wake(connection, hosts.asleep(connection, unasked, {BlockReason.ROBOTS_DENIED}))
    asleep = hosts.asleep(connection, named, ORIGIN_REASONS)
    origins = {host_id: {origin_of(entry.url) for entry in named[host_id]} for host_id in asleep}
    tried = robots.known_origins(connection, {origin for each in origins.values() for origin in each})
    hosts.wake(connection, [host_id for host_id, each in origins.items() if each - tried])


def _better(known: Seed | None, seed: Seed) -> Seed:
    """Of two seeds of one host, the one with the better rank."""
    if known is None or known.rank is None:
        return seed
    return seed if seed.rank is not None and seed.rank < known.rank else known


# A seed list may have any length. Its good lines are kept in a temporary file, then stored in one transaction: memory
# stays bounded, a pipe is read once, and a file that changes in the meantime does no harm.

BATCH: Final = 20_000
_LONGEST_LINE: Final = 64 * 1024
_BAD_LINES_KEPT: Final = 100
_HELD_IN_MEMORY_BYTES: Final = 8_000_000


@dataclass(frozen=True, slots=True)
class CheckedSeeds:
    """A list that was read to the end: its seeds are in `_spool`, and its first bad lines are kept."""

    count: int
    bad_count: int
    bad_lines: tuple[BadLine, ...]
    _spool: IO[bytes]

    def batches(self, size: int = BATCH) -> Iterator[list[Seed]]:
        """The seeds again, a bounded number at a time."""
        self._spool.seek(0)
        lines = iter(self._spool)
        while batch := [_read_back(line) for line in islice(lines, size)]:
            yield batch

    def close(self) -> None:
        """Delete the temporary file."""
        self._spool.close()


def check_seed_list(
    stream: BinaryIO,
    *,
    name: str,
    collapse: bool = False,
    skip_bad: bool = False,
    on_bytes: Callable[[int], None] | None = None,
) -> CheckedSeeds:
    """Read a list to the end; raises `BadInput` with the first bad line, unless bad lines are to be skipped."""
    spool: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_HELD_IN_MEMORY_BYTES)  # noqa: SIM115  # lives on in the result
    try:
        return _check(_lines(stream, name, on_bytes), spool, name, collapse, skip_bad)
    except BaseException:
        spool.close()
        raise


def _check(lines: Iterator[str], spool: IO[bytes], name: str, collapse: bool, skip_bad: bool) -> CheckedSeeds:
    count, bad_count = 0, 0
    bad_lines: list[BadLine] = []
    for seed in read_seed_lines(lines, collapse=collapse):
        if isinstance(seed, Seed):
            spool.write(_written_down(seed))
            count += 1
            continue
        if not skip_bad:
            raise BadInput(f"{name}, line {seed.number}: {seed.reason}")
        bad_count += 1
        if len(bad_lines) < _BAD_LINES_KEPT:
            bad_lines.append(seed)
    return CheckedSeeds(count, bad_count, tuple(bad_lines), spool)


def store_seeds(
    database: Database,
    clock: Clock,
    checked: CheckedSeeds,
    *,
    source: str | None = None,
    weights: PriorityWeights | None = None,
    on_stored: Callable[[int], None] | None = None,
    frontier: FrontierStore | None = None,
) -> SeedReport:
    """Store a list that was checked, in one transaction: all of it, or nothing."""

    def batches() -> Iterator[list[Seed]]:
        stored = 0
        for batch in checked.batches():
            yield batch
            stored += len(batch)
            if on_stored is not None:
                on_stored(stored)

    return add_seed_batches(database, clock, batches(), source=source, weights=weights, frontier=frontier)


def _lines(stream: BinaryIO, name: str, on_bytes: Callable[[int], None] | None) -> Iterator[str]:
    """Lines of bounded length; a file that cannot be text is refused at once."""
    number, position = 0, 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        position += len(line)
        if b"\0" in line:
            raise BadInput(
                f"{name}, line {number}: not a text file; a seed list is plain text, one host or URL per line"
            )
        if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
            raise BadInput(f"{name}, line {number}: longer than {_LONGEST_LINE} bytes; is this a seed list?")
        if on_bytes is not None and number % BATCH == 0:
            on_bytes(position)
        # A byte that is not UTF-8 becomes a character that no address may contain, so the line is reported as bad.
        yield line.decode("utf-8", "surrogateescape")


def _written_down(seed: Seed) -> bytes:
    rank = "" if seed.rank is None else str(seed.rank)
    return "\t".join((seed.host.authority, seed.host.parent_domain or "", rank, seed.url or "")).encode() + b"\n"


def _read_back(line: bytes) -> Seed:
    authority, parent, rank, url = line.decode().rstrip("\n").split("\t")
    return Seed(CanonicalHost(authority, parent or None), url or None, int(rank) if rank else None)


@dataclass(frozen=True, slots=True)
class SetReport:
    """What was done with a set. Members that cannot be used stay in it; the first of them are listed."""

    taken: int
    report: SeedReport
    bad_count: int = 0
    bad_members: tuple[tuple[str, str], ...] = ()


class _Kind(StrEnum):
    """The types of a key with seeds, as the command TYPE names them."""

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
                protocol=2,  # with RESP2, a server that wants a password says so, instead of rejecting the protocol
                decode_responses=False,
            )
        except ValueError as error:
            raise BadInput(f"not a Redis URL: {error}") from None

    def __len__(self) -> int:
        with self._clear_errors():
            return int(getattr(self._redis, _COUNT[self._kind()])(self.key))

    def batches(self) -> Iterator[list[_Ranked]]:
        """Every member that is in the set throughout the scan, with its rank, about a thousand at a time."""
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
            for first in range(0, len(members), _SET_BATCH):  # a small set is returned as a whole, whatever COUNT says
                ranks = dict(members[first : first + _SET_BATCH])
                yield [(member, _rank_of(score)) for member, score in ranks.items()]

    def _list_batches(self) -> Iterator[list[_Ranked]]:
        """The same for a list: stored members leave it at the front, and the rest is read once."""
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
        """The type of the key, read once; a key that does not exist counts as an empty set."""
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
        """Close the connection."""
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
    """Store every member of a set and remove it there.

    `BadInput` names the first member that cannot be used, unless such members are skipped; batches before it stay
    stored.
    """
    taken, bad_count, report = 0, 0, SeedReport()
    bad: list[tuple[str, str]] = []
    for members in seeds.batches():
        good: list[tuple[bytes, Seed]] = []
        for member, rank in members:
            seed = _read_member(member, rank, collapse)
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


def _read_member(member: bytes, rank: int | None, collapse: bool) -> Seed | BadLine:
    """One member; a rank inside it (`rank,host`) takes precedence over the score."""
    if len(member) > _LONGEST_MEMBER or b"\n" in member:
        return BadLine(1, _NO_SEED)
    lines = read_seed_lines([member.decode("utf-8", "surrogateescape")], collapse=collapse)
    seed = next(chain(lines, [BadLine(1, _NO_SEED)]))
    return replace(seed, rank=rank) if isinstance(seed, Seed) and seed.rank is None else seed


def _printable(member: bytes) -> str:
    text = member[:100].decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
