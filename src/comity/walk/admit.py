"""Admit: what a page links to becomes frontier entries, or evidence of why not.

Canonical form, scope, takedown, robots and traps are asked in that order, cheapest first; a link that was met on this
host before costs one look-up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from comity.model.evidence import Evidence
from comity.model.frontier import FrontierEntry
from comity.model.traps import TrapCode
from comity.rules.canonical import resolve_link
from comity.rules.traps import PageWatch
from comity.walk.decisions import is_worth_keeping, robots_evidence, taken_down, trap_evidence
from comity.walk.leased_host import LeasedHost
from comity.walk.visit_rooms import VisitRooms

_WITHOUT_PATH = ("/", "http://", "https://")
_ORIGINS_REMEMBERED = 4
_AT_ONCE = 500


async def admit_links(
    host: LeasedHost, hrefs: Sequence[str], page: PageWatch | None, *, base: str, depth: int, rooms: VisitRooms
) -> tuple[list[FrontierEntry], list[Evidence]]:
    """Turn addresses written on a page at `depth - 1` into entries for the frontier of the same host.

    Links that lie deeper than is followed are remembered apart: one that is found nearer to a seed later is new.
    """
    entries: list[FrontierEntry] = []
    refused: list[Evidence] = []
    origin = base[: base.index("/", 8)]
    remembered = host.met if depth <= rooms.scope.max_depth else host.met_too_deep
    met = remembered.get(origin)
    if met is None:
        met = set()
        if len(remembered) < _ORIGINS_REMEMBERED:  # a page may call any origin its base
            remembered[origin] = met
    if len(met) > host.links_remembered:
        met.clear()
    # What does not depend on the page's own path and was met before needs no second look; most links of most pages.
    new = set(hrefs) - met
    if new:
        fresh = [href for href in hrefs if href in new]
        met.update(href for href in fresh if href.startswith(_WITHOUT_PATH))
        for first in range(0, len(fresh), _AT_ONCE):
            if first:
                await asyncio.sleep(0)  # a page of ten thousand links holds nobody up
            _admit(host, fresh[first : first + _AT_ONCE], page, base, depth, rooms, entries, refused)
    return entries, refused


def _admit(
    host: LeasedHost,
    hrefs: Sequence[str],
    page: PageWatch | None,
    base: str,
    depth: int,
    rooms: VisitRooms,
    entries: list[FrontierEntry],
    refused: list[Evidence],
) -> None:
    collapse, tracking, takedowns, now = (
        rooms.scope.collapse_subdomains,
        rooms.tracking,
        rooms.takedowns(),
        rooms.clock(),
    )
    is_met = host.work.is_met_as_link if depth <= rooms.scope.max_depth else host.work.is_met_too_deep
    for href in hrefs:
        address = resolve_link(href, base, collapse=collapse, tracking=tracking)
        if address is None or address.host != host.name or is_met(address.key):
            continue
        covered = takedowns.covering(address)
        if covered is not None:
            refused.append(taken_down(host, address, covered, now))
            continue
        robots = host.robots.get(address.origin)
        # While the file cannot be read nothing is forbidden for good: it is asked about again before the visit.
        verdict = robots.verdict(address.path) if robots is not None and not robots.is_unreachable else None
        if verdict is not None and not verdict.allowed:
            host.tally.refused_by_robots += 1
            refused.append(robots_evidence(host, address, verdict, now))
            continue
        trap = page.judge(address.path, depth) if page is not None else None
        if trap is not None:
            host.tally.refused_as_trap += trap.code is not TrapCode.PERMUTED_QUERY  # which is no page of its own
            if is_worth_keeping(trap):
                refused.append(trap_evidence(host, address, trap, now))
            continue
        entries.append(FrontierEntry(address.url, address.key, depth))
