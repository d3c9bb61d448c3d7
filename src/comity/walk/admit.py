"""Admit: what a page links to becomes frontier entries, or evidence of why not.

Canonical form, scope, takedown, robots and traps are asked in that order, cheapest first; a link that was met on this
host before costs one look-up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from comity.model.evidence import Evidence
from comity.model.frontier import FoundBy, FrontierEntry, UnqueuedCode
from comity.model.traps import NO_PAGES
from comity.rules.canonical import resolve_link
from comity.rules.traps.watch import PageWatch
from comity.walk.evidence import (
    is_denial_kept,
    is_worth_keeping,
    is_worth_noting,
    robots_evidence,
    taken_down,
    trap_evidence,
)
from comity.walk.session.leased_host import UNQUEUED_MOST, LeasedHost
from comity.walk.visit.context import VisitContext

_WITHOUT_PATH = ("/", "http://", "https://")
_ORIGINS_REMEMBERED = 4
_AT_ONCE = 500


async def admit_links(
    host: LeasedHost,
    hrefs: Sequence[str],
    page: PageWatch | None,
    *,
    base: str,
    depth: int,
    found_on: int,
    rooms: VisitContext,
    found_by: FoundBy = FoundBy.LINK,
) -> tuple[list[FrontierEntry], list[Evidence]]:
    """Turn addresses written on the page `found_on`, at `depth - 1`, into entries for the frontier of its host.

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
            some = fresh[first : first + _AT_ONCE]
            _admit(host, some, page, base, depth, (found_by, found_on), rooms, entries, refused)
    return entries, refused


async def pass_over(
    host: LeasedHost, hrefs: Sequence[str], code: UnqueuedCode, *, base: str, found_on: int, rooms: VisitContext
) -> None:
    """Note addresses that are written on a page and not followed; one that was met as a link is none of them."""
    origin = base[: base.index("/", 8)]
    passed = host.passed.get(origin)
    if passed is None:
        passed = set()
        if len(host.passed) < _ORIGINS_REMEMBERED:
            host.passed[origin] = passed
    new = set(hrefs) - host.met.get(origin, set()) - passed
    if len(host.unqueued) >= UNQUEUED_MOST:
        host.unsettled.unrecorded += len(new)
        return
    if len(passed) > host.links_remembered:
        passed.clear()
    passed.update(href for href in new if href.startswith(_WITHOUT_PATH))
    collapse, tracking = rooms.scope.collapse_subdomains, rooms.tracking
    for number, href in enumerate(new):
        if number % _AT_ONCE == _AT_ONCE - 1:
            await asyncio.sleep(0)
        address = resolve_link(href, base, collapse=collapse, tracking=tracking)
        if address is None or (address.host == host.name and host.work.knows(address.key)):
            continue
        why = code if address.host == host.name else UnqueuedCode.OTHER_HOST
        host.note_unqueued(address.url, address.key, why, FoundBy.LINK, found_on)


def _admit(
    host: LeasedHost,
    hrefs: Sequence[str],
    page: PageWatch | None,
    base: str,
    depth: int,
    found: tuple[FoundBy, int],
    rooms: VisitContext,
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
        if address is None:
            continue
        url, key = address.url, address.key
        if address.host != host.name:
            host.note_unqueued(url, key, UnqueuedCode.OTHER_HOST, *found)
            continue
        if is_met(key):
            continue
        covered = takedowns.covering(address)
        if covered is not None:
            refused.append(taken_down(host, address, covered, now))
            host.note_unqueued(url, key, UnqueuedCode.TAKEDOWN, *found)
            continue
        robots = host.robots.get(address.origin)
        # While the file cannot be read nothing is forbidden for good: it is asked about again before the visit.
        verdict = robots.verdict(address.path) if robots is not None and not robots.is_unreachable else None
        if verdict is not None and not verdict.allowed:
            host.tally.refused_by_robots += 1
            if is_denial_kept(host):
                refused.append(robots_evidence(host, address, verdict, now))
            host.note_unqueued(url, key, UnqueuedCode.ROBOTS, *found)
            continue
        trap = page.judge(address.path, depth) if page is not None else None
        if trap is not None:
            host.tally.refused_as_trap += trap.code not in NO_PAGES
            if is_worth_keeping(trap):
                refused.append(trap_evidence(host, address, trap, now))
            if is_worth_noting(trap):
                host.note_unqueued(url, key, UnqueuedCode.TRAP, *found)
            continue
        entries.append(FrontierEntry(url, key, depth, 0, None, *found))
