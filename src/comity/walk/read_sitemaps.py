"""Reading a host's sitemaps: files asked for one by one under its gate, their pages into the frontier.

It goes on beside the visits of the same host. What was asked for is remembered with its entries, so that a run that is
cut off goes on with the next file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from comity.extract.sitemap import iter_entries
from comity.model.fetch import FailureKind, FetchFailure, FetchLimits, Response
from comity.model.frontier import FrontierEntry, QueuedUrl
from comity.model.ledger import Purpose
from comity.model.outcome import Refused, Trail
from comity.model.sitemap import PageHints, SitemapBounds, SitemapEntry, SitemapKind, SitemapRow, SitemapState
from comity.rules.backoff import retry_delay
from comity.rules.canonical import WebAddress, resolve_link
from comity.rules.sitemap_plan import PlannedSitemap, SitemapPlan
from comity.walk.decisions import is_worth_keeping, robots_evidence, taken_down, trap_evidence
from comity.walk.leased_host import LeasedHost
from comity.walk.request import Asked, Unstarted
from comity.walk.settling import Settling
from comity.walk.visit import REDIRECTS, follow
from comity.walk.visit_rooms import VisitRooms

SITEMAPS_FRESH_FOR_S: Final = 24 * 3600.0  # after this the whole plan is made anew
_PROTOCOL_BYTES: Final = 52_428_800
_SMALL_BYTES: Final = 2_000_000
_LARGE_AT_ONCE: Final = 4  # files of the protocol's size are held in memory; the rest of the hosts wait for room
_ROOM_WAIT_S: Final = 0.5
_ROOM_WAITS: Final = 240
_TRIES: Final = 3
_UNSETTLED_MOST: Final = 2000
_LIMITS: Final = FetchLimits(max_body_bytes=_PROTOCOL_BYTES, max_wire_bytes=_PROTOCOL_BYTES, total_timeout_s=120.0)
_DEPTH: Final = 1  # as if the start page linked to it


class _Unread(NamedTuple):
    """A file that gave nothing, and what is noted of it."""

    state: SitemapState
    detail: str
    status: int | None = None
    is_too_large: bool = False
    is_worth_a_try: bool = False


class SitemapReader:
    """Reads the sitemaps of one host after the other, each when its host asks for it."""

    def __init__(
        self, rooms: VisitRooms, settling: Settling, bounds: SitemapBounds, on_found: Callable[[LeasedHost], None]
    ) -> None:
        self._rooms = rooms
        self._settling = settling
        self._bounds = bounds
        self._on_found = on_found
        self._large = 0

    async def read(self, host: LeasedHost, origin: str) -> None:
        """Read everything that the plan of a host names; robots.txt of the origin is in force."""
        robots = host.robots.get(origin)
        named = robots.file.sitemaps if robots is not None and robots.file is not None else ()
        scope = self._rooms.scope
        plan = SitemapPlan(
            host.name,
            origin,
            named,
            bounds=self._bounds,
            collapse=scope.collapse_subdomains,
            tracking=self._rooms.tracking,
            earlier=host.sitemaps or (),
        )
        host.sitemaps = None
        while not host.is_stopped:
            planned = plan.next()
            if planned is None:
                return
            found = await self._obtain(host, planned)
            if isinstance(found, Response):
                await self._take(host, plan, planned, found)
            elif found.state is not SitemapState.PLANNED:
                self._note(host, planned, found.state, status=found.status, detail=found.detail)

    async def _obtain(self, host: LeasedHost, planned: PlannedSitemap) -> Response | _Unread:
        """Ask for a file, a few times if the way or the server fails, and with more room if it is large."""
        small = replace(_LIMITS, max_body_bytes=_SMALL_BYTES, max_wire_bytes=_SMALL_BYTES)
        for attempt in range(1, _TRIES + 1):
            found: Response | _Unread = _Unread(SitemapState.PLANNED, "there was no room for it")
            if self._large >= _LARGE_AT_ONCE:
                found = await self._chain(host, planned, small)
                if isinstance(found, Response) or not found.is_too_large:
                    if isinstance(found, Response) or not found.is_worth_a_try:
                        return found
                elif not await self._room(host):
                    return found
            if self._large < _LARGE_AT_ONCE:
                self._large += 1
                try:
                    found = await self._chain(host, planned, _LIMITS)
                finally:
                    self._large -= 1
            if isinstance(found, Response) or not found.is_worth_a_try or attempt == _TRIES or host.is_stopped:
                break
            await asyncio.sleep(retry_delay(attempt))
        return found

    async def _room(self, host: LeasedHost) -> bool:
        """Wait until few enough large files are held; gives whether there is room."""
        for _turn in range(_ROOM_WAITS):
            if self._large < _LARGE_AT_ONCE or host.is_stopped:
                break
            await asyncio.sleep(_ROOM_WAIT_S)
        return self._large < _LARGE_AT_ONCE and not host.is_stopped

    async def _chain(self, host: LeasedHost, planned: PlannedSitemap, limits: FetchLimits) -> Response | _Unread:
        """One attempt, redirect by redirect."""
        rooms, address, trail = self._rooms, planned.address, Trail()
        entry = QueuedUrl(address.url, address.key, 0)
        purpose = Purpose.SITEMAP
        try:
            for _hop in range(rooms.max_redirects + 1):
                step = await follow(host, entry, address, trail, rooms, purpose=purpose, limits=limits)
                if not isinstance(step, Asked):
                    return _not_asked(step)
                trail.requests.append(step.row)
                result = step.result
                if isinstance(result, FetchFailure):
                    return _failed(result)
                location = result.headers.get("location") if result.status in REDIRECTS else None
                if location is None:
                    return result if 200 <= result.status < 300 else _answered(result.status)
                target = resolve_link(location, result.url, collapse=rooms.scope.collapse_subdomains)
                if target is None:
                    return _Unread(SitemapState.MISSING, f"redirected to {location[:200]!r}", result.status)
                address, purpose = target, Purpose.REDIRECT
            return _Unread(SitemapState.MISSING, f"more than {rooms.max_redirects} redirects")
        finally:
            host.unsettled.requests += trail.requests
            host.unsettled.evidence += trail.evidence

    async def _take(self, host: LeasedHost, plan: SitemapPlan, planned: PlannedSitemap, response: Response) -> None:
        """Bring the entries of a file to the frontier, a few hundred at a time, and plan what it names."""
        kind, entries = SitemapKind.NOT_A_SITEMAP, 0
        nested: list[SitemapEntry] = []
        problems: set[str] = set()
        for chunk in iter_entries(response.body, content_type=response.content_type):
            kind = chunk.kind
            nested += chunk.nested
            problems.update(map(str, chunk.problems))
            entries += len(chunk.entries)
            self._admit(host, self._accepted(plan, planned, chunk.entries))
            await asyncio.sleep(0)
            if len(host.unsettled.links) > _UNSETTLED_MOST:
                await self._settling.flush(host)
            if host.is_stopped:
                return  # it is not noted as read, and will be read again
        if kind is SitemapKind.NOT_A_SITEMAP:
            self._note(host, planned, SitemapState.MISSING, status=response.status, detail="it is not a sitemap")
            return
        named = plan.read(planned, nested)
        host.unsettled.sitemaps += [_row(each, SitemapState.PLANNED) for each in named]
        detail = ", ".join(sorted(problems)) or None
        self._note(host, planned, SitemapState.READ, status=response.status, kind=kind, entries=entries, detail=detail)

    def _accepted(
        self, plan: SitemapPlan, planned: PlannedSitemap, entries: Iterable[SitemapEntry]
    ) -> Iterable[tuple[WebAddress, SitemapEntry]]:
        for entry in entries:
            address = plan.accept(planned, entry)
            if address is not None:
                yield address, entry

    def _admit(self, host: LeasedHost, listed: Iterable[tuple[WebAddress, SitemapEntry]]) -> None:
        """Ask of each page what is asked of a link."""
        rooms, now = self._rooms, self._rooms.clock()
        takedowns, links, evidence = rooms.takedowns(), host.unsettled.links, host.unsettled.evidence
        found: list[FrontierEntry] = []
        for address, entry in listed:
            hints = PageHints(entry.lastmod, entry.changefreq, entry.priority) if any(entry[1:]) else None
            if host.work.is_met(address.key):
                if hints is not None:  # what is said of a known page is kept too
                    links.append(FrontierEntry(address.url, address.key, _DEPTH, 0, hints))
                continue
            covered = takedowns.covering(address)
            robots = host.robots.get(address.origin)
            verdict = robots.verdict(address.path) if robots is not None else None
            if covered is not None:
                evidence.append(taken_down(host, address, covered, now))
            elif verdict is not None and not verdict.allowed:
                host.tally.refused_by_robots += 1
                evidence.append(robots_evidence(host, address, verdict, now))
            elif host.traps is not None and (trap := host.traps.judge(address.path, _DEPTH)) is not None:
                host.tally.refused_as_trap += 1
                if is_worth_keeping(trap):
                    evidence.append(trap_evidence(host, address, trap, now))
            else:
                found.append(FrontierEntry(address.url, address.key, _DEPTH, 0, hints))
        links += found
        if links or evidence:
            self._settling.put_news(host)
        if found:
            host.work.found(found)
            self._on_found(host)

    def _note(
        self,
        host: LeasedHost,
        planned: PlannedSitemap,
        state: SitemapState,
        *,
        status: int | None = None,
        kind: SitemapKind | None = None,
        entries: int = 0,
        detail: str | None = None,
    ) -> None:
        """Remember how a file came out; it is settled with everything that it said."""
        now = self._rooms.clock()
        row = _row(planned, state)._replace(status=status, kind=kind, entries=entries, detail=detail, asked_at=now)
        host.unsettled.sitemaps.append(row)
        self._settling.put_news(host)


def _row(planned: PlannedSitemap, state: SitemapState) -> SitemapRow:
    return SitemapRow(planned.address.url, planned.address.key, planned.depth, planned.is_guess, state)


def _not_asked(step: object) -> _Unread:
    """The host was not asked: what we will not ask is noted, what could not be asked now stays planned."""
    if isinstance(step, Refused):
        return _Unread(SitemapState.REFUSED, f"{step.code}: {step.reason}")
    why = str(step.why) if isinstance(step, Unstarted) else getattr(step, "code", "")
    return _Unread(SitemapState.PLANNED, f"put off: {why}"[:200])


def _failed(failure: FetchFailure) -> _Unread:
    is_too_large = failure.kind is FailureKind.TOO_LARGE
    return _Unread(
        SitemapState.FAILED, f"{failure.kind}: {failure.detail}", failure.status, is_too_large, failure.kind.is_network
    )


def _answered(status: int) -> _Unread:
    if status == 429 or status >= 500:
        return _Unread(SitemapState.FAILED, f"the server answered {status}", status, is_worth_a_try=True)
    return _Unread(SitemapState.MISSING, f"the server answered {status}", status)
