"""Bringing seeds into the state. Seeds flow into the table of hosts; the table decides what is crawled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import hosts, robots, takedowns
from comity.database.connection import Database
from comity.frontier.sql_store import own_frontier
from comity.frontier.store import FrontierChange, FrontierStore
from comity.model.frontier import GUESSED_SCHEME_PRIORITY, FoundBy, FrontierEntry
from comity.model.host import Seed
from comity.rules.canonical import origin_of, web_address
from comity.rules.priority import HostSignals, PriorityWeights, priority_score
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
) -> SeedReport:
    """Store seeds in one transaction: all of them, or none. URLs go to the frontier, by default the database's own."""
    return add_seed_batches(database, clock, [seeds], source=source, weights=weights, frontier=frontier)


def add_seed_batches(
    database: Database,
    clock: Clock,
    batches: Iterable[Sequence[Seed]],
    *,
    source: str | None = None,
    weights: PriorityWeights | None = None,
    frontier: FrontierStore | None = None,
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
            report += _add_batch(change, batch, refused, source, first_score, now)
    return report


def _add_batch(
    change: FrontierChange,
    seeds: Sequence[Seed],
    refused: Takedowns,
    source: str | None,
    first_score: Callable[[int | None], int],
    now: datetime,
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
    new = hosts.add_seeds(connection, best.values(), source, first_score)
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
