"""Admit: what a page links to and shows becomes frontier entries, or evidence of why not.

`rules.admission` decides. This module has what a host remembers of links, so that a known one costs one look-up, and
what is recorded of those that are not queued. It runs inside the visit, where the page's trap watch and the host's
memory of links are: what leaves as data is a few new entries, not every link of the page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence, Set
from typing import Final

from comity.model.evidence import Evidence
from comity.model.frontier import IMAGE_PRIORITY, FoundBy, FrontierEntry, SiteLink, UnqueuedCode
from comity.model.robots import RobotsVerdict
from comity.model.traps import NO_PAGES, TrapRefusal
from comity.rules.admission import (
    KNOWN,
    Admitted,
    Denied,
    Terms,
    admit,
    of_image,
    of_link,
    of_site_link,
    of_withheld_link,
)
from comity.rules.canonical import (
    WITHOUT_PATH,
    MetLinks,
    WebAddress,
    fresh_links,
    origin_of,
    resolve_link,
    resolve_unmet,
)
from comity.rules.traps.watch import PageWatch
from comity.rules.url_patterns import LeftOut, url_rules
from comity.walk.evidence import (
    is_denial_kept,
    is_left_out_kept,
    is_worth_noting,
    is_worth_storing,
    left_out_evidence,
    robots_evidence,
    taken_down,
    trap_evidence,
)
from comity.walk.session.leased_host import UNQUEUED_MOST, LeasedHost
from comity.walk.visit.context import VisitContext

_NONE: Final[frozenset[str]] = frozenset()
_ORIGINS_REMEMBERED: Final = 4
TRAPPED_MOST: Final = 100_000  # links of a host that are remembered as parts of endless spaces, if links are stored
_BATCH: Final = 500


async def admit_links(
    host: LeasedHost,
    hrefs: Sequence[str],
    page: PageWatch | None,
    *,
    base: str,
    depth: int,
    found_on: int,
    context: VisitContext,
    found_by: FoundBy = FoundBy.LINK,
    without: Set[str] = _NONE,
) -> tuple[list[FrontierEntry], list[Evidence]]:
    """Turn addresses written on the page `found_on`, at `depth - 1`, into entries for the frontier of its host.

    Those in `without` are not followed. Links deeper than the limit are remembered separately: one that is found nearer
    to a seed later is new.
    """
    entries: list[FrontierEntry] = []
    evidence: list[Evidence] = []
    is_too_deep = depth > context.scope.max_depth
    met = _remembered(host.met_too_deep if is_too_deep else host.met, origin_of(base))
    if len(met) > host.links_remembered:
        met.clear()
    # An address that does not depend on the page's path and was met before is known; so are most links of most pages.
    fresh = fresh_links(hrefs, met, without)
    if not fresh:
        return entries, evidence
    is_known = host.work.is_met_too_deep if is_too_deep else host.work.is_met_as_link
    trap = page.judge if page is not None else None
    rules = context.rules_for(host)
    patterns = rules.judge if rules is not None else None
    # An address of another host is recorded once, unless links are counted for each page or queued there.
    noted = host.unqueued if host.skipped is None and context.site is None else None
    for first in range(0, len(fresh), _BATCH):
        if first:
            await asyncio.sleep(0)  # so that a page of ten thousand links does not delay the others
        terms = of_link(host.name, is_known, context.takedowns(), host.robots.get, trap, depth, patterns)
        met_links = host.work.met_links(host.name, noted, is_too_deep=is_too_deep)
        some, found = fresh[first : first + _BATCH], (found_by, found_on)
        _admit(host, some, met_links, terms, base, found, context, entries, evidence)
    return entries, evidence


def admit_images(
    host: LeasedHost, addresses: Sequence[str], *, base: str, depth: int, found_on: int, context: VisitContext
) -> tuple[list[FrontierEntry], list[FrontierEntry], list[Evidence]]:
    """The images of a page that are on its host and may be fetched, those of them not met before, and why not others.

    An image on another host is left there: only the holder of that host may fetch it.
    """
    found: dict[int, FrontierEntry] = {}
    new: list[FrontierEntry] = []
    evidence: list[Evidence] = []
    now, collapse = context.clock(), context.scope.collapse_subdomains
    rules = context.rules_for(host)
    patterns = rules.judge if rules is not None else None
    terms = of_image(host.name, context.takedowns(), host.robots.get, patterns)
    for written in addresses:
        address = resolve_link(written, base, collapse=collapse)
        if address is None or address.key in found:
            continue
        decision = admit(address, terms)
        is_met = address.host == host.name and host.work.is_met_as_image(address.key)
        if isinstance(decision, Admitted):
            entry = found[address.key] = FrontierEntry(
                address.url, address.key, depth, IMAGE_PRIORITY, None, FoundBy.IMAGE, found_on
            )
            if not is_met:
                new.append(entry)
        elif not is_met:
            record_denial(host, address, decision, (FoundBy.IMAGE, found_on), now, evidence, depth)
    return list(found.values()), new, evidence


async def withhold_links(
    host: LeasedHost, hrefs: Collection[str], code: UnqueuedCode, *, base: str, found_on: int, context: VisitContext
) -> None:
    """Note addresses that are written on a page and not followed; one that was met as a link is none of them."""
    origin = origin_of(base)
    withheld = _remembered(host.passed, origin)
    new = set(hrefs) - host.met.get(origin, _NONE) - withheld
    if len(host.unqueued) >= UNQUEUED_MOST:
        host.unsettled.unrecorded += len(new)
        return
    if not new:
        return
    if len(withheld) > host.links_remembered:
        withheld.clear()
    withheld.update(href for href in new if href.startswith(WITHOUT_PATH))
    collapse, tracking = context.scope.collapse_subdomains, context.tracking
    terms = of_withheld_link(host.name, host.work.knows)
    written = list(new)
    met = host.work.noted_links(host.name, host.unqueued if host.skipped is None else None)
    for first in range(0, len(written), _BATCH):
        if first:
            await asyncio.sleep(0)
        for address in resolve_unmet(written[first : first + _BATCH], base, met, collapse=collapse, tracking=tracking):
            if (decision := admit(address, terms)) is KNOWN:
                continue
            why = code if isinstance(decision, Admitted) else UnqueuedCode.OTHER_HOST
            host.note_unqueued(address.url, address.key, why, FoundBy.LINK, found_on)
            if host.skipped is not None:
                host.note_skipped(address.url, str(why), found_on)


def record_denial(
    host: LeasedHost,
    address: WebAddress,
    denied: Denied,
    found: tuple[FoundBy, int],
    now: float,
    evidence: list[Evidence],
    depth: int,
) -> None:
    """Record why a URL that was found is not queued: a note for each, and evidence in full for the first of a kind.

    Images that robots.txt forbids do not count among the pages that it does: by these a run ends as denied.
    """
    why = denied.evidence
    if why is None:
        code = UnqueuedCode.OTHER_HOST
    elif isinstance(why, RobotsVerdict):
        code = UnqueuedCode.ROBOTS
        is_page = found[0] is not FoundBy.IMAGE
        host.tally.refused_by_robots += is_page
        if not is_page or is_denial_kept(host):
            evidence.append(robots_evidence(host, address, why, now))
    elif isinstance(why, TrapRefusal):
        code = UnqueuedCode.TRAP
        host.tally.refused_as_trap += why.code not in NO_PAGES
        if host.trapped is not None and len(host.trapped) < TRAPPED_MOST:
            host.trapped[address.key] = str(code) if why.code not in NO_PAGES else str(why.code)
        if is_worth_storing(why):
            evidence.append(trap_evidence(host, address, why, now))
        if host.skipped is not None and found[1]:
            host.note_skipped(address.url, f"{code}: {why.code}", found[1])
        if is_worth_noting(why):
            host.note_unqueued(address.url, address.key, code, *found)
        return
    elif isinstance(why, LeftOut):
        if host.skipped is not None and found[1]:
            host.note_skipped(address.url, str(UnqueuedCode.LEFT_OUT), found[1])
        host.note_left_out(address, why, found, depth, is_image=found[0] is FoundBy.IMAGE)
        if is_left_out_kept(host):
            evidence.append(left_out_evidence(host, address, why, now))
        return  # its note is the row that brings it back when other patterns are in force
    else:
        code = UnqueuedCode.TAKEDOWN
        evidence.append(taken_down(host, address, str(why), now))
    host.note_unqueued(address.url, address.key, code, *found)
    if host.skipped is not None:
        host.note_skipped(address.url, str(code), found[1])


def _admit(
    host: LeasedHost,
    hrefs: Sequence[str],
    met: MetLinks,
    terms: Terms,
    base: str,
    found: tuple[FoundBy, int],
    context: VisitContext,
    entries: list[FrontierEntry],
    evidence: list[Evidence],
) -> None:
    collapse, tracking, depth = context.scope.collapse_subdomains, context.tracking, terms.depth
    now: float | None = None  # looked up once, and only if a link is refused
    own, site, others = host.name, context.site, []
    for address in resolve_unmet(hrefs, base, met, collapse=collapse, tracking=tracking):
        if address.host != own:  # `admit` asks this first, too; here it is cheaper, and a page may name dozens
            if site is not None and site.includes(address.host):
                admit_site_link(host, address, depth, found, context, evidence)
            else:
                others.append(address)
            continue
        decision = admit(address, terms)
        if isinstance(decision, Admitted):
            entries.append(FrontierEntry(address.url, address.key, depth, 0, None, *found))
        elif decision is not KNOWN:
            if now is None:
                now = context.clock()
            record_denial(host, address, decision, found, now, evidence, depth)
    if others:
        host.note_others(others, *found)


def admit_site_link(
    host: LeasedHost,
    address: WebAddress,
    depth: int,
    found: tuple[FoundBy, int],
    context: VisitContext,
    evidence: list[Evidence],
) -> None:
    """A link to another host of the same site: it is queued there, for the holder of that host to visit."""
    rules = url_rules(context.patterns, None)  # the holder of that host applies its policy
    patterns = rules.judge if rules is not None else None
    decision = admit(address, of_site_link(host.work.is_met, context.takedowns(), depth, patterns))
    if isinstance(decision, Admitted):
        entry = FrontierEntry(address.url, address.key, depth, 0, None, *found)
        host.unsettled.site_links.append(SiteLink(address.host, entry, depth > context.scope.max_depth))
    elif decision is not KNOWN:
        record_denial(host, address, decision, found, context.clock(), evidence, depth)


def _remembered(by_origin: dict[str, set[str]], origin: str) -> set[str]:
    """The links as written that were met from pages of an origin."""
    met = by_origin.get(origin)
    if met is None:
        met = set()
        if len(by_origin) < _ORIGINS_REMEMBERED:  # a page may call any origin its base
            by_origin[origin] = met
    return met
