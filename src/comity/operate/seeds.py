"""Bringing seeds into the state. Seeds flow into the table of hosts; the table decides what is crawled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from comity.clock import Clock
from comity.database import frontier, hosts, takedowns
from comity.database.connection import Database
from comity.model.frontier import FrontierEntry
from comity.model.host import Seed
from comity.rules.canonical import web_address
from comity.rules.priority import HostSignals, PriorityWeights, priority_score
from comity.rules.takedown import Takedowns


@dataclass(frozen=True, slots=True)
class SeedReport:
    """What became of a list of seeds."""

    hosts_given: int
    hosts_new: int
    urls_queued: int
    taken_down: tuple[str, ...]


def add_seeds(
    database: Database,
    clock: Clock,
    seeds: Sequence[Seed],
    *,
    source: str | None = None,
    weights: PriorityWeights | None = None,
) -> SeedReport:
    """Store seeds in one transaction: all of them, or none."""
    now = clock.now()
    chosen_weights = weights or PriorityWeights()

    def first_score(rank: int | None) -> int:
        return priority_score(HostSignals(seed_rank=rank), chosen_weights, now)

    with database.write() as connection:
        refused = Takedowns.of(row.domain_or_url for row in takedowns.entries(connection))
        allowed = {seed.host.authority: seed for seed in seeds if not refused.covering_host(seed.host.authority)}
        new = hosts.add_seeds(connection, allowed.values(), source, first_score)
        by_host: dict[str, list[FrontierEntry]] = {}
        for seed in seeds:
            if seed.url is not None and seed.host.authority in allowed:
                address = web_address(seed.url)
                if refused.covering(address) is None:
                    by_host.setdefault(seed.host.authority, []).append(FrontierEntry(address.url, address.key))
        ids = hosts.ids_of(connection, by_host)
        queued = sum(frontier.add(connection, ids[host], None, entries) for host, entries in by_host.items())
    down = sorted({seed.host.authority for seed in seeds} - allowed.keys())
    return SeedReport(len(allowed), new, queued, tuple(down))
