"""Adding seeds to the state, one by one, in batches, or as a whole list that is checked before any of it is stored."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import IO, BinaryIO, Final
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import hosts, robots, takedowns
from comity.database.connection import Database
from comity.frontier.sql_store import own_frontier
from comity.frontier.store import FrontierChange, FrontierStore
from comity.model.errors import BadInput
from comity.model.frontier import GUESSED_SCHEME_PRIORITY, FoundBy, FrontierEntry
from comity.model.host import CanonicalHost, Seed
from comity.rules.canonical import origin_of, web_address
from comity.rules.priority import HostSignals, PriorityWeights, priority_score
from comity.rules.seed_list import BadLine, read_seed_lines
from comity.rules.takedown import Takedowns


@dataclass(frozen=True, slots=True)
class SeedReport:
    """What became of a list of seeds; `taken_down` names the hosts and URLs that were left out."""

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

    Workers leave the hosts to the run `paused_by`, from the moment at which they are stored.
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

    A host that stands in two batches is counted in both, and is new in the first only.
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
    _lift_cooldowns(connection, {ids[host]: entries for host, entries in urls.items()})
    return SeedReport(len(best), new, sum(queued.values()), tuple(sorted(down)))


def _lift_cooldowns(connection: Connection, named: Mapping[UUID, list[FrontierEntry]]) -> None:
    """A host that did not answer is tried again at once under a scheme or port that was not tried yet."""
    asleep = hosts.asleep_by_origin(connection, named)
    origins = {host_id: {origin_of(entry.url) for entry in named[host_id]} for host_id in asleep}
    tried = robots.known_origins(connection, {origin for each in origins.values() for origin in each})
    hosts.wake(connection, [host_id for host_id, each in origins.items() if each - tried])


def _better(known: Seed | None, seed: Seed) -> Seed:
    """Of two seeds of one host, the one with the better rank."""
    if known is None or known.rank is None:
        return seed
    return seed if seed.rank is not None and seed.rank < known.rank else known


# A seed list may have any length. Its good lines wait in a temporary file, so that memory stays bounded, a pipe is read
# once, and a file that changes meanwhile does no harm; then all of them are stored in one transaction.

BATCH: Final = 20_000
_LONGEST_LINE: Final = 64 * 1024
_BAD_LINES_KEPT: Final = 100
_HELD_IN_MEMORY_BYTES: Final = 8_000_000


@dataclass(frozen=True, slots=True)
class CheckedSeeds:
    """A list that was read to its end: the seeds wait in `_spool`; of its bad lines the first are kept."""

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
        """Give the temporary file back."""
        self._spool.close()


def check_seed_list(
    stream: BinaryIO,
    *,
    name: str,
    collapse: bool = False,
    skip_bad: bool = False,
    on_bytes: Callable[[int], None] | None = None,
) -> CheckedSeeds:
    """Read a list to its end; `BadInput` names the first bad line, unless bad lines are to be passed over."""
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
    """Bounded lines of text; what cannot be a text file is refused at once."""
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
        # A byte that is no UTF-8 becomes a character that no address may have: the line is bad, and named.
        yield line.decode("utf-8", "surrogateescape")


def _written_down(seed: Seed) -> bytes:
    rank = "" if seed.rank is None else str(seed.rank)
    return "\t".join((seed.host.authority, seed.host.parent_domain or "", rank, seed.url or "")).encode() + b"\n"


def _read_back(line: bytes) -> Seed:
    authority, parent, rank, url = line.decode().rstrip("\n").split("\t")
    return Seed(CanonicalHost(authority, parent or None), url or None, int(rank) if rank else None)
