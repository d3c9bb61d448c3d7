"""Read a host's sitemaps: fetch the files one by one under its gate, and queue the pages that they list.

Pages of the same host are visited in the meantime. Each request is stored with the entries of its file, so an
interrupted run continues with the next file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from comity.model.fetch import FailureKind, FetchFailure, FetchLimits, Response
from comity.model.frontier import FoundBy, FrontierEntry, QueuedUrl, UnqueuedCode
from comity.model.gate import Wait, WaitReason
from comity.model.ledger import Purpose
from comity.model.outcome import Refused, Trail
from comity.model.sitemap import (
    MISSES_ENTRIES,
    PageHints,
    SitemapBounds,
    SitemapChunk,
    SitemapEntry,
    SitemapKind,
    SitemapRow,
    SitemapState,
)
from comity.model.wording import counted
from comity.rules.admission import KNOWN, Admitted, admit, of_link
from comity.rules.canonical import WebAddress, resolve_link, resolve_location
from comity.rules.politeness.backoff import retry_delay
from comity.rules.seed_list import SiteHosts
from comity.rules.sitemap_plan import PlannedSitemap, SitemapPlan
from comity.rules.url_secrets import masked_url
from comity.store.sitemap_files import KeptSitemap, SitemapFiles
from comity.walk.crawl.settling import Settling
from comity.walk.request import Exchange, NotStarted
from comity.walk.session.leased_host import MAX_HOST_WAIT_S, UNQUEUED_MOST, LeasedHost
from comity.walk.visit.admit import admit_site_link, record_denial
from comity.walk.visit.context import VisitContext
from comity.walk.visit.visit import REDIRECTS, follow

if TYPE_CHECKING:
    from comity.model.audit import ListedUrl

_PROTOCOL_BYTES: Final = 52_428_800
_SMALL_BYTES: Final = 6_000_000  # most files of 50,000 entries
_LARGE_AT_ONCE: Final = 4  # files of the protocol's largest size in memory at once; other hosts wait
_LARGE_WAIT_S: Final = 0.5
_LARGE_WAITS: Final = 240
_TRIES: Final = 3
_ROUNDS: Final = 3  # rounds of retries for files that could not be fetched
_UNSETTLED_MOST: Final = 2000
_LONGER: Final = 2.0  # times the time-out of a page: a file may be ten times as large
_GIVE_WAY_S: Final = 1.0
_HELD_UP_S: Final = 0.005
_LOOK_LEAST_S: Final = 0.005
_LOOK_MOST_S: Final = 0.25
_DEPTH: Final = 1  # as if the start page linked to it
_UNSAID: Final = (None, None, None)
_GONE: Final = (404, 410)  # a name that was forgotten in robots.txt; it hides no pages


class _Unread(NamedTuple):
    """A file that could not be read, and what is recorded about it."""

    state: SitemapState
    detail: str
    status: int | None = None
    is_too_large: bool = False
    is_worth_a_try: bool = False
    not_before: float | None = None
    is_blocked: bool = False


class SitemapReader:
    """Reads the sitemaps of hosts, each host by a call of its own."""

    def __init__(
        self,
        context: VisitContext,
        settling: Settling,
        bounds: SitemapBounds,
        on_found: Callable[[LeasedHost], None],
        on_listed: Callable[[Sequence[ListedUrl]], None] | None = None,
        kept: SitemapFiles | None = None,
    ) -> None:
        self._on_listed = on_listed
        self._kept = kept
        self._context = context
        self._settling = settling
        self._bounds = bounds
        self._on_found = on_found
        self._large = 0

    async def read(self, host: LeasedHost, origin: str) -> None:
        """Read everything in the plan of a host; robots.txt of the origin has been read."""
        if host.sitemaps is None:
            return  # another task began a moment ago
        earlier, host.sitemaps = host.sitemaps, None
        robots = host.robots.get(origin)
        named = robots.file.sitemaps if robots is not None and robots.file is not None else ()
        plan = SitemapPlan(
            host.name,
            origin,
            named,
            bounds=self._bounds,
            collapse=self._context.scope.collapse_subdomains,
            tracking=self._context.tracking,
            earlier=earlier,
        )
        # A run that is interrupted before the last of them must know that there are more.
        host.unsettled.sitemaps += [_row(each, SitemapState.PLANNED) for each in plan.waiting() if not each.is_guess]
        postponed: list[tuple[PlannedSitemap, float]] = []
        while not host.is_stopped and (planned := plan.next()) is not None:
            begun = host.tally.begun
            not_before = await self._read_one(host, plan, planned)
            if not_before is not None:
                postponed.append((planned, not_before))
            await self._give_way(host, begun)
        for _round in range(_ROUNDS):
            postponed = await self._read_again(host, plan, postponed)
        for planned in plan.left_out():
            self._note(host, planned, SitemapState.REFUSED, detail="more than the limit per host")
        if host.unsettled:
            self._settling.put_news(host)  # no later outcome would carry it

    async def _read_again(
        self, host: LeasedHost, plan: SitemapPlan, postponed: list[tuple[PlannedSitemap, float]]
    ) -> list[tuple[PlannedSitemap, float]]:
        """Try files again that could not be fetched; returns those that still could not."""
        left: list[tuple[PlannedSitemap, float]] = []
        for planned, not_before in postponed:
            wait_s = not_before - self._context.clock()
            if wait_s > MAX_HOST_WAIT_S or host.is_stopped:
                continue  # it stays planned, and is read when the host is leased again
            await self._pause(host, wait_s)
            if not host.is_stopped:
                again = await self._read_one(host, plan, planned)
                left += [(planned, again)] if again is not None else []
        return left

    async def _pause(self, host: LeasedHost, wait_s: float) -> None:
        until = self._context.clock() + wait_s
        while not host.is_stopped:
            left_s = until - self._context.clock()
            if left_s <= 0:
                return
            await asyncio.sleep(min(left_s, _LOOK_MOST_S))

    async def _give_way(self, host: LeasedHost, begun: int) -> None:
        """Let a page go first: otherwise the files would take every start before the pages."""
        clock, next_start_at = self._context.clock, host.gate.next_start_at
        until = max(clock(), min(next_start_at(), clock() + MAX_HOST_WAIT_S)) + _GIVE_WAY_S
        while len(host.work) and host.tally.begun == begun and not host.is_stopped:
            now = clock()
            if now >= until:
                return
            await asyncio.sleep(min(max(next_start_at() - now, _LOOK_LEAST_S), _LOOK_MOST_S))

    async def _read_one(self, host: LeasedHost, plan: SitemapPlan, planned: PlannedSitemap) -> float | None:
        """Fetch a file, a few times if the network or the server fails; returns when to try one that was put off."""
        for attempt in range(1, _TRIES + 1):
            unread = await self._attempt(host, plan, planned)
            if unread is None or not unread.is_worth_a_try or attempt == _TRIES or host.is_stopped:
                break
            await self._pause(host, retry_delay(attempt, host.profile.max_retry_backoff_s))
        if unread is None:
            return None
        if unread.state is SitemapState.PLANNED or (unread.is_worth_a_try and attempt < _TRIES):
            now = self._context.clock()
            not_before = unread.not_before if unread.not_before is not None else now
            if unread.is_blocked and not_before - now > MAX_HOST_WAIT_S:
                host.waits_until = not_before  # the host asked Comity to wait; it is leased again after that
            return not_before
        self._note(host, planned, unread.state, status=unread.status, detail=unread.detail)
        return None

    async def _attempt(self, host: LeasedHost, plan: SitemapPlan, planned: PlannedSitemap) -> _Unread | None:
        """Fetch and read a file once, with a larger limit if it is large; None if it was read."""
        if self._large >= _LARGE_AT_ONCE:
            unread = await self._ask(host, plan, planned, self._limits(_SMALL_BYTES))
            if unread is None or not unread.is_too_large:
                return unread
            if not await self._wait_for_large(host):
                return _Unread(SitemapState.PLANNED, "too many large files were being read at once")
        self._large += 1
        try:
            return await self._ask(host, plan, planned, self._limits(_PROTOCOL_BYTES))
        finally:
            self._large -= 1

    async def _ask(
        self, host: LeasedHost, plan: SitemapPlan, planned: PlannedSitemap, limits: FetchLimits
    ) -> _Unread | None:
        kept = await self._find_kept(planned.address.url)
        if kept is not None:
            await self._read_entries(host, plan, planned, kept)
            return None
        asked_at = self._context.clock()
        found = await self._chain(host, planned, limits)
        if isinstance(found, _Unread):
            return found
        file = KeptSitemap(planned.address.url, found.url, found.status, found.content_type, asked_at, found.body)
        is_sitemap = await self._read_entries(host, plan, planned, file)
        if is_sitemap and self._kept is not None:
            await asyncio.to_thread(self._kept.keep, file)
        return None

    async def _find_kept(self, url: str) -> KeptSitemap | None:
        """What a recent run read there. No request is made; its pages are admitted as always."""
        if self._kept is None:
            return None
        return await asyncio.to_thread(self._kept.find, url, self._context.clock())

    def _limits(self, most_bytes: int) -> FetchLimits:
        limits = self._context.limits
        return replace(
            limits,
            max_body_bytes=most_bytes,
            max_wire_bytes=most_bytes,
            total_timeout_s=_LONGER * limits.total_timeout_s,
        )

    async def _wait_for_large(self, host: LeasedHost) -> bool:
        """Wait until few enough large files are in memory; returns whether that is so."""
        for _turn in range(_LARGE_WAITS):
            if self._large < _LARGE_AT_ONCE or host.is_stopped:
                break
            await asyncio.sleep(_LARGE_WAIT_S)
        return self._large < _LARGE_AT_ONCE and not host.is_stopped

    async def _chain(self, host: LeasedHost, planned: PlannedSitemap, limits: FetchLimits) -> Response | _Unread:
        """One attempt, redirect by redirect."""
        context, address, trail = self._context, planned.address, Trail()
        entry = QueuedUrl(address.url, address.key, 0)
        purpose = Purpose.SITEMAP
        try:
            for _hop in range(context.max_redirects + 1):
                step = await follow(host, entry, address, trail, context, purpose=purpose, limits=limits)
                if not isinstance(step, Exchange):
                    return _not_requested(step)
                trail.requests.append(step.row)
                result = step.result
                if isinstance(result, FetchFailure):
                    return _failed(result)
                location = result.headers.get("location") if result.status in REDIRECTS else None
                if location is None:
                    return result if 200 <= result.status < 300 else _answered(result.status)
                target = resolve_location(location, result.url, collapse=context.scope.collapse_subdomains)
                if target is None:
                    return _Unread(SitemapState.MISSING, f"redirected to {masked_url(location)[:200]!r}", result.status)
                address, purpose = target, Purpose.REDIRECT
            return _Unread(SitemapState.MISSING, f"more than {counted(context.max_redirects, 'redirect')}")
        finally:
            host.unsettled.requests += trail.requests
            host.unsettled.evidence += trail.evidence

    async def _read_entries(
        self, host: LeasedHost, plan: SitemapPlan, planned: PlannedSitemap, file: KeptSitemap
    ) -> bool:
        """Queue the entries of a file, a few hundred at a time, and plan the files that it names.

        Returns whether it is a sitemap and was read to the end.
        """
        kind, entries = SitemapKind.NOT_A_SITEMAP, 0
        nested: list[SitemapEntry] = []
        problems: set[str] = set()
        clock, collapse = self._context.clock, self._context.scope.collapse_subdomains
        began = clock()
        found_at = resolve_link(file.final_url, file.final_url, collapse=collapse) or planned.address
        for chunk in self._chunks(file):
            kind = chunk.kind
            nested += chunk.nested
            problems.update(map(str, chunk.problems))
            entries += len(chunk.entries)
            if self._on_listed is not None and chunk.entries:
                self._on_listed(self._listed(planned.address.url, found_at, chunk.entries))
            # A translation that only the sitemap names is visited too: otherwise an audit could not report it missing.
            translations = (SitemapEntry(url) for entry in chunk.entries for _language, url in entry.alternates)
            listed = chain(chunk.entries, translations)
            self._admit(host, self._accepted(host, plan, planned, found_at, listed), planned.address.key)
            # The other tasks get as much time as this file took; most take next to none.
            spent_s = clock() - began
            await asyncio.sleep(spent_s if spent_s > _HELD_UP_S else 0)
            news = host.unsettled
            if len(news.links) + len(news.evidence) + len(news.hints) > _UNSETTLED_MOST:
                await self._settling.flush(host)
            began = clock()
            if host.is_lost:
                return False  # the next holder of the host reads it again
        if kind is SitemapKind.NOT_A_SITEMAP:
            self._note(host, planned, SitemapState.MISSING, status=file.status, detail="it is not a sitemap")
            return False
        named = plan.read(planned, nested, found_at=found_at)
        host.unsettled.sitemaps += [_row(each, SitemapState.PLANNED) for each in named]
        detail = ", ".join(sorted(problems)) or None
        if incomplete := [MISSES_ENTRIES[problem] for problem in sorted(problems) if problem in MISSES_ENTRIES]:
            self._count_unread(host, planned, " and ".join(incomplete))
        row = _row(planned, SitemapState.READ)._replace(asked_at=file.asked_at)
        host.unsettled.sitemaps.append(row._replace(status=file.status, kind=kind, entries=entries, detail=detail))
        self._settling.put_news(host)
        return True

    def _chunks(self, file: KeptSitemap) -> Iterator[SitemapChunk]:
        """The entries of a file, with their translations if listed URLs are recorded."""
        from comity.extract.sitemap.read import iter_entries  # late: many sites have no sitemap

        with_alternates = self._on_listed is not None
        return iter_entries(file.body, content_type=file.content_type, with_alternates=with_alternates)

    def _listed(self, sitemap: str, found_at: WebAddress, entries: Iterable[SitemapEntry]) -> list[ListedUrl]:
        """What a sitemap lists, as it would be requested."""
        from comity.model.audit import Alternate, ListedUrl  # for audits alone

        found = []
        for entry in entries:
            address = self._address(entry.loc, found_at)
            if address is not None:
                named = ((language, self._address(url, found_at) or url) for language, url in entry.alternates)
                found.append(ListedUrl(address, sitemap, tuple(Alternate(*each, "sitemap") for each in named)))
        return found

    def _address(self, written: str, found_at: WebAddress) -> str | None:
        scope, tracking = self._context.scope, self._context.tracking
        found = resolve_link(written, found_at.url, collapse=scope.collapse_subdomains, tracking=tracking)
        return found.url if found is not None else None

    def _accepted(
        self,
        host: LeasedHost,
        plan: SitemapPlan,
        planned: PlannedSitemap,
        found_at: WebAddress,
        entries: Iterable[SitemapEntry],
    ) -> Iterable[tuple[WebAddress, SitemapEntry]]:
        site = self._context.site
        for entry in entries:
            address = plan.accept(planned, entry, found_at=found_at)
            if address is not None:
                yield address, entry
            elif site is not None and self._is_site_link(host, planned, found_at, entry.loc, site):
                continue
            elif len(host.unqueued) >= UNQUEUED_MOST:
                host.unsettled.unrecorded += 1
            else:
                self._record_unqueued(host, planned, found_at, entry.loc)

    def _is_site_link(
        self, host: LeasedHost, planned: PlannedSitemap, found_at: WebAddress, loc: str, site: SiteHosts
    ) -> bool:
        """Queue an entry that names a page of another host of the same site there; returns whether it is one."""
        context = self._context
        address = resolve_link(loc, found_at.url, collapse=context.scope.collapse_subdomains, tracking=context.tracking)
        if address is None or address.host == host.name or not site.includes(address.host):
            return False
        found = FoundBy.SITEMAP, planned.address.key
        admit_site_link(host, address, _DEPTH, found, context, host.unsettled.evidence)
        return True

    def _record_unqueued(self, host: LeasedHost, planned: PlannedSitemap, found_at: WebAddress, loc: str) -> None:
        """Record an entry of a sitemap that is not queued."""
        context = self._context
        address = resolve_link(loc, found_at.url, collapse=context.scope.collapse_subdomains, tracking=context.tracking)
        if address is not None:
            is_ours = address.host == host.name
            code = UnqueuedCode.SITEMAP_LIMIT if is_ours else UnqueuedCode.OTHER_HOST
            host.note_unqueued(address.url, address.key, code, FoundBy.SITEMAP, planned.address.key)

    def _admit(self, host: LeasedHost, listed: Iterable[tuple[WebAddress, SitemapEntry]], found_on: int) -> None:
        """Admit the pages that a sitemap lists, as links are admitted."""
        context, now, unsettled = self._context, self._context.clock(), host.unsettled
        trap = host.traps.judge if host.traps is not None else None
        rules = context.rules_for(host)
        patterns = rules.judge if rules is not None else None
        terms = of_link(host.name, host.work.is_met, context.takedowns(), host.robots.get, trap, _DEPTH, patterns)
        found: list[FrontierEntry] = []
        for address, entry in listed:
            decision = admit(address, terms)
            if isinstance(decision, Admitted):
                hints = _hints(entry)
                found.append(FrontierEntry(address.url, address.key, _DEPTH, 0, hints, FoundBy.SITEMAP, found_on))
            elif decision is not KNOWN:
                record_denial(host, address, decision, (FoundBy.SITEMAP, found_on), now, unsettled.evidence, _DEPTH)
            elif (hints := _hints(entry)) is not None:  # what a sitemap says of a known page counts too
                unsettled.hints.append((address.key, hints))
        unsettled.links += found
        if unsettled:
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
        detail: str | None = None,
    ) -> None:
        """Record why a file was not read."""
        if host.is_given_directly and planned.is_guess and state is SitemapState.MISSING:
            return  # the next crawl of a direct URL looks for sitemaps again
        if not planned.is_guess and status not in _GONE:
            self._count_unread(host, planned, detail or str(state))
        now = self._context.clock()
        row = _row(planned, state)._replace(status=status, detail=detail, asked_at=now)
        host.unsettled.sitemaps.append(row)
        self._settling.put_news(host)

    def _count_unread(self, host: LeasedHost, planned: PlannedSitemap, why: str) -> None:
        """Count a file whose entries may be unknown: a run that has visited every known URL reports it (§4.8)."""
        host.tally.unread_sitemaps += 1
        if host.tally.unread_sitemap is None:
            host.tally.unread_sitemap = f"{masked_url(planned.address.url)[:200]} ({why})"


def _row(planned: PlannedSitemap, state: SitemapState) -> SitemapRow:
    return SitemapRow(planned.address.url, planned.address.key, planned.depth, planned.is_guess, state)


def _hints(entry: SitemapEntry) -> PageHints | None:
    """What a sitemap says about a page besides its address."""
    return PageHints(*entry[1:4]) if entry[1:4] != _UNSAID else None


def _not_requested(step: object) -> _Unread:
    """No request was made: what may not be fetched is recorded, what could not be fetched now stays planned."""
    if isinstance(step, Refused):
        return _Unread(SitemapState.REFUSED, f"{step.code}: {step.reason}")
    why = step.why if isinstance(step, NotStarted) else None
    not_before = why.until if isinstance(why, Wait) else getattr(step, "not_before", None)
    is_blocked = isinstance(why, Wait) and why.reason is WaitReason.BLOCK
    return _Unread(SitemapState.PLANNED, "put off", not_before=not_before, is_blocked=is_blocked)


def _failed(failure: FetchFailure) -> _Unread:
    if failure.kind.is_ours:
        return _Unread(SitemapState.PLANNED, f"{failure.kind}: {failure.detail}", is_worth_a_try=True)
    is_too_large = failure.kind is FailureKind.TOO_LARGE
    return _Unread(
        SitemapState.FAILED, f"{failure.kind}: {failure.detail}", failure.status, is_too_large, failure.kind.is_network
    )


def _answered(status: int) -> _Unread:
    if status == 429 or status >= 500:
        return _Unread(SitemapState.FAILED, f"the server answered {status}", status, is_worth_a_try=True)
    return _Unread(SitemapState.MISSING, f"the server answered {status}", status)
