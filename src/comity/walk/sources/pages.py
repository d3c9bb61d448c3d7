"""Reads the pages of a source: each through its redirects, with retries, under lease, robots.txt and gate.

A source and what is known of its pages go in; a `Reading` comes out. Nothing is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field, replace
from typing import Final, NamedTuple

from comity.extract.html_pool import HtmlPool
from comity.extract.jobs.systems.answers import post_body_for
from comity.model.dataclass import dataclass
from comity.model.fetch import ContentTypeRules, FailureKind, FetchFailure, FetchLimits, FetchRequest, Response
from comity.model.frontier import QueuedUrl
from comity.model.gate import DoorProfile, SlotTimeout, Wait
from comity.model.host import HostPolicy
from comity.model.job import Listing, ListingKind, SourceType
from comity.model.ledger import Purpose
from comity.model.outcome import FetchRow, Postponed, Refused, Trail
from comity.model.run import CrawlScope
from comity.model.source import KnownPage, Obstacle, PageRead, Reading, Source, Trouble
from comity.model.wording import counted
from comity.rules.canonical import WebAddress, resolve_link, resolve_location
from comity.rules.politeness.backoff import is_retryable, retry_delay
from comity.rules.url_secrets import masked_url
from comity.walk.request import Exchange, NotStarted
from comity.walk.session.leased_host import MAX_HOST_WAIT_S, LeasedHost
from comity.walk.session.session import Session
from comity.walk.settle.rows import pages_asked
from comity.walk.visit.context import VisitContext
from comity.walk.visit.visit import REDIRECTS, follow

# Listings are text: no assets, whatever the page refers to.
LISTING_TYPES: Final = ContentTypeRules(
    accept=(
        "text/html",
        "application/xhtml+xml",
        "text/plain",
        "application/xml",
        "text/xml",
        "application/*+xml",
        "application/json",
        "application/*+json",
        "text/json",
        "application/javascript",  # JSON by careless servers
        "text/javascript",
    )
)
_ACCEPT: Final = {
    SourceType.HTML: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.5",
    SourceType.RSS: "application/rss+xml,application/atom+xml,application/xml;q=0.9,text/xml;q=0.9,*/*;q=0.5",
    SourceType.API: "application/json,*/*;q=0.5",
}
BY_SOURCE: Final = "source"
"""`fetches.discovery_type` of a page that a source requested, not a crawl."""
_CAREFUL: Final = HostPolicy("")
MOST_PAGES: Final = 500  # whatever a policy says: a run is bounded in time, too
_TAKES_NO_QUESTION: Final = (404, 405, 501)

ReadListing = Callable[[bytes, str, str | None, Source], Awaitable[Listing]]


class PageAnswer(NamedTuple):
    """The answer for a page, after its redirects."""

    response: Response
    final_url: str


@dataclass(frozen=True, slots=True)
class ReadingTerms:
    """How single pages are read, one at a time and without following their links."""

    profile: DoorProfile
    limits: FetchLimits
    agent: str
    max_redirects: int = 5
    collapse_subdomains: bool = False


@dataclass(slots=True)
class SourceVisit:
    """A run in progress: what it has read, and the hosts that it uses."""

    reading: Reading = field(default_factory=Reading)
    hosts: dict[str, LeasedHost] = field(default_factory=dict)


@dataclass(slots=True)
class _LastRequest:
    """The result of the last request of a chain."""

    result: Response | FetchFailure | None = None


class SourcePages:
    """Reads listings page by page."""

    def __init__(
        self,
        session: Session,
        terms: ReadingTerms,
        read_listing: ReadListing | None,
    ) -> None:
        self._session = session
        self._html_pool = HtmlPool()
        self._context = VisitContext(
            requests=session.requests,
            robots=session.robots_keeper,
            host_of=session.host_for,
            takedowns=session.takedowns,
            clock=session.clock.seconds,
            scope=CrawlScope(follow_links=False, collapse_subdomains=terms.collapse_subdomains),
            tracking=None,
            extract=None,
            html_pool=self._html_pool,
            limits=terms.limits,
            agent=terms.agent,
            max_redirects=terms.max_redirects,
        )
        self._read_listing = read_listing
        self._retry_limit = terms.profile.retry_limit
        self._longest_backoff_s = terms.profile.max_retry_backoff_s

    async def close(self) -> None:
        """End the child processes that read pages."""
        await self._html_pool.close()

    async def read(
        self,
        source: Source,
        known: Sequence[KnownPage],
        visit: SourceVisit,
        *,
        most_pages: int = MOST_PAGES,
        until_found: bool = False,
    ) -> None:
        """Read a listing from its first page to its last, or as far as it may be read, into the visit."""
        reading = visit.reading
        address = resolve_link(source.careers_url, source.careers_url, collapse=self._context.scope.collapse_subdomains)
        if address is None:
            reading.obstacle = Obstacle(Trouble.REFUSED, "careers_url is not an http or https URL")
        by_url = {page.url: page for page in known}
        asked: set[str] = set()
        listed: set[tuple[str, str, str]] = set()
        while address is not None and address.url not in asked:
            await self._session.refresh()  # operators' edits hold from the next request on
            reading.host = reading.host or address.host
            host = await self._host(address, visit)
            if host is None:
                break
            reading.page_limit = min(most_pages, MOST_PAGES, _policy(host).max_pages)
            if len(reading.pages) >= reading.page_limit:
                reading.is_cut = bool(reading.pages)
                if not reading.pages:
                    reading.obstacle = Obstacle(Trouble.NO_PAGES, f"the policy of {host.name} allows no pages")
                break
            asked.add(address.url)
            page = await self._page(host, address, source, by_url.get(address.url), reading)
            if page is None:
                break
            names = {(job.title, job.apply_url, job.location_raw) for job in page.jobs}
            if reading.pages and names and names <= listed:
                break  # the site serves a page that we have, whatever its number
            listed |= names
            reading.pages.append(page)
            if until_found and page.found:
                break
            following = page.next_url
            address = resolve_link(following, page.final_url) if following and reading.obstacle is None else None

    async def head(self, address: WebAddress, visit: SourceVisit) -> PageAnswer | Obstacle:
        """Request only the head of a page."""
        await self._session.refresh()
        visit.reading.host = address.host
        host = await self._host(address, visit)
        if host is None:
            return visit.reading.obstacle or _busy(address.host)
        like = FetchRequest(address.url, method="HEAD", limits=self._limits(host))
        return await self._ask(host, address, like, None, visit.reading)

    async def get(self, address: WebAddress, visit: SourceVisit) -> PageAnswer | Obstacle:
        """Request once a page that is not a listing; only the operator's setting for its host limits its size."""
        await self._session.refresh()
        visit.reading.host = address.host
        host = await self._host(address, visit)
        if host is None:
            return visit.reading.obstacle or _busy(address.host)
        limits = self._context.limits if host.policy is None else self._limits(host)
        accept = (("Accept", _ACCEPT[SourceType.HTML]),)
        like = FetchRequest(address.url, headers=accept, limits=limits, content_types=LISTING_TYPES)
        answer, _ = await self._chain(host, address, like, None, visit.reading)
        return answer

    async def _host(self, address: WebAddress, visit: SourceVisit) -> LeasedHost | None:
        """The leased host of an address; without one the reading says why."""
        covered = self._context.takedowns().covering(address)
        if covered is not None:
            visit.reading.obstacle = Obstacle(Trouble.TAKEN_DOWN, f"taken down: {covered}")
            return None
        host = await self._session.host_for(address)
        if host is None:
            visit.reading.obstacle = _busy(address.host)
        elif host.name not in visit.hosts:
            visit.hosts[host.name] = host
            self._session.held.pin(host)
        elif visit.hosts[host.name] is not host:
            visit.reading.obstacle = _busy(address.host)  # the lease was lost, and another run has leased the host
            return None
        visit.reading.wants_scripts |= host is not None and _policy(host).allow_js
        return host

    async def _page(
        self, host: LeasedHost, address: WebAddress, source: Source, known: KnownPage | None, reading: Reading
    ) -> PageRead | None:
        number = len(reading.pages) + 1
        like = FetchRequest(
            address.url,
            headers=(("Accept", _ACCEPT[source.source_type]),),
            limits=self._limits(host),
            content_types=LISTING_TYPES,
        )
        answer = await self._ask_as_wanted(host, address, like, known, reading)
        if isinstance(answer, Obstacle):
            reading.obstacle = answer
            return None
        response = answer.response
        if response.status == 304 and known is not None:
            return PageRead(
                number,
                address.url,
                answer.final_url,
                304,
                known.kind,
                next_url=known.next_url,
                etag=response.headers.get("etag") or known.etag,
                last_modified=response.headers.get("last-modified") or known.last_modified,
                unchanged=known,
                is_elsewhere=known.kind is ListingKind.NOTHING_FOUND,  # only these are requested conditionally
            )
        if response.status == 304:
            reading.obstacle = Obstacle(
                Trouble.FAILED, "the server answered 304 to an unconditional request", None, 304
            )
            return None
        assert self._read_listing is not None, "a client without one only gets pages"
        listing = await self._read_listing(response.body, answer.final_url, response.content_type, source)
        if listing.is_cut:
            reading.obstacle = Obstacle(Trouble.CUT_OFF, listing.message, None, response.status)
        return PageRead(
            number,
            address.url,
            answer.final_url,
            response.status,
            listing.kind,
            listing.jobs,
            listing.next_url,
            listing.message,
            None if listing.is_cut else response.headers.get("etag"),
            None if listing.is_cut else response.headers.get("last-modified"),
            is_elsewhere=listing.is_elsewhere,
            is_scripted=listing.is_scripted,
        )

    async def _ask_as_wanted(
        self, host: LeasedHost, address: WebAddress, like: FetchRequest, known: KnownPage | None, reading: Reading
    ) -> PageAnswer | Obstacle:
        """Request a page; a system that wants a posted query gets one, and a plain request if it refuses it."""
        question = post_body_for(address.url)
        if question is not None:
            headers = (*like.headers, ("Content-Type", "application/json"))
            posted = like._replace(method="POST", headers=headers, body=question)
            answer = await self._ask(host, address, posted, None, reading)
            if isinstance(answer, PageAnswer) or answer.status not in _TAKES_NO_QUESTION:
                return answer
        return await self._ask(host, address, like, known, reading)

    async def _ask(
        self, host: LeasedHost, address: WebAddress, like: FetchRequest, known: KnownPage | None, reading: Reading
    ) -> PageAnswer | Obstacle:
        """Request a page, and again if the network or the server failed."""
        for attempt in range(self._retry_limit + 1):
            answer, is_worth_a_try = await self._chain(host, address, like, known, reading)
            if isinstance(answer, PageAnswer):
                return answer
            if not is_worth_a_try or attempt == self._retry_limit or host.is_closed:
                break
            await asyncio.sleep(retry_delay(attempt + 1, self._longest_backoff_s))
        return answer

    async def _chain(
        self, host: LeasedHost, address: WebAddress, like: FetchRequest, known: KnownPage | None, reading: Reading
    ) -> tuple[PageAnswer | Obstacle, bool]:
        """One attempt, redirect by redirect; says whether another may succeed."""
        trail, asked = Trail(), _LastRequest()
        answer: PageAnswer | Obstacle | None = None
        try:
            answer, is_worth_a_try = await self._hops(host, address, like, known, trail, asked)
            return answer, is_worth_a_try
        finally:
            reading.requests += host.unsettled.requests + trail.requests  # robots.txt came before
            host.unsettled.requests.clear()
            reading.evidence += trail.evidence
            obstacle = answer if isinstance(answer, Obstacle) else None
            row = source_fetch(host, address, trail, asked.result, obstacle) if answer is not None else None
            if row is not None and like.method != "HEAD":
                reading.fetches.append(row)

    async def _hops(
        self,
        host: LeasedHost,
        address: WebAddress,
        like: FetchRequest,
        known: KnownPage | None,
        trail: Trail,
        asked: _LastRequest,
    ) -> tuple[PageAnswer | Obstacle, bool]:
        context, purpose = self._context, Purpose.PAGE
        entry = QueuedUrl(address.url, address.key, 0)
        for _hop in range(context.max_redirects + 1):
            step = await follow(
                host, entry, address, trail, context, purpose=purpose, like=_conditional(like, address, known)
            )
            if not isinstance(step, Exchange):
                asked.result = None
                return _not_requested(step, address.host), False
            trail.requests.append(step.row)
            asked.result = result = step.result
            if isinstance(result, FetchFailure):
                return _failed(result)
            location = result.headers.get("location") if result.status in REDIRECTS else None
            if location is None:
                if like.method == "HEAD":  # any answer of the site is wanted
                    return PageAnswer(result, result.url), False
                return _answered(result, step.retry_after_s, context.clock())
            target = resolve_location(location, result.url, collapse=context.scope.collapse_subdomains)
            if target is None:
                return Obstacle(
                    Trouble.FAILED, f"redirected to {masked_url(location)[:200]!r}", None, result.status
                ), False
            address, purpose = target, Purpose.REDIRECT
            if like.method == "POST" and result.status not in (307, 308):  # RFC 9110 §15.4
                plain = tuple(pair for pair in like.headers if pair[0] != "Content-Type")
                like = like._replace(method="GET", headers=plain, body=b"")
        return Obstacle(Trouble.FAILED, f"more than {counted(context.max_redirects, 'redirect')}"), False

    def _limits(self, host: LeasedHost) -> FetchLimits:
        """The size of a page is limited by the host's policy, or by the careful default."""
        most = min(_policy(host).max_kb_per_page * 1024, self._context.limits.max_body_bytes)
        limits = self._context.limits
        return replace(limits, max_body_bytes=most, max_wire_bytes=most)


def _policy(host: LeasedHost) -> HostPolicy:
    return host.policy or _CAREFUL


def _conditional(like: FetchRequest, address: WebAddress, known: KnownPage | None) -> FetchRequest:
    """Send validators to the address that they came from."""
    if known is None or address.url != known.final_url:
        return like
    return like._replace(etag=known.etag, last_modified=known.last_modified)


def _busy(host: str) -> Obstacle:
    return Obstacle(Trouble.BUSY, f"{host} is being crawled by another process")


def _not_requested(step: object, host: str) -> Obstacle:
    """Why the host was not requested: never, or not now."""
    if isinstance(step, Refused):
        if step.code in (Trouble.TAKEN_DOWN, Trouble.ROBOTS_DENIED, Trouble.ROBOTS_UNREACHABLE):
            return Obstacle(Trouble(step.code), step.reason)
        return Obstacle(Trouble.REFUSED, step.reason)
    if isinstance(step, Postponed):
        if step.code == Trouble.ROBOTS_UNREACHABLE:
            return Obstacle(Trouble.ROBOTS_UNREACHABLE, "robots.txt could not be read", step.not_before)
        if step.code == "host_busy":
            return _busy(host)
        return _impatient(step.not_before, host)
    why = step.why if isinstance(step, NotStarted) else None
    if isinstance(why, Wait):
        return _impatient(why.until, host)
    if isinstance(why, SlotTimeout):
        return Obstacle(Trouble.ASKED_TO_WAIT, f"no request to {host} could start in time")
    return _busy(host)


def _impatient(until: float | None, host: str) -> Obstacle:
    return Obstacle(Trouble.ASKED_TO_WAIT, f"{host} asked Comity to wait", until)


def _failed(failure: FetchFailure) -> tuple[Obstacle, bool]:
    kind = failure.kind
    words = {
        FailureKind.TOO_LARGE: "the page is larger than max_kb_per_page of the host's policy",
        FailureKind.WRONG_TYPE: "the response is not a page, a feed or JSON",
    }
    said = failure.detail[:300]
    reason = f"{words[kind]} ({said})" if kind in words else f"{kind}: {said}"
    trouble = Trouble.REFUSED if kind.is_refusal else Trouble.BUSY if kind.is_ours else Trouble.FAILED
    return Obstacle(trouble, reason, None, failure.status), kind.is_network


def _answered(response: Response, retry_after_s: float | None, now: float) -> tuple[PageAnswer | Obstacle, bool]:
    status = response.status
    if 200 <= status < 300 or status == 304:
        return PageAnswer(response, response.url), False
    until = now + retry_after_s if retry_after_s is not None else None
    is_soon = retry_after_s is None or retry_after_s <= MAX_HOST_WAIT_S
    trouble = Trouble.ASKED_TO_WAIT if until is not None else Trouble.FAILED
    return Obstacle(trouble, f"the server answered {status}", until, status), is_retryable(status) and is_soon


def source_fetch(
    host: LeasedHost,
    address: WebAddress,
    trail: Trail,
    result: Response | FetchFailure | None,
    obstacle: Obstacle | None,
) -> FetchRow | None:
    """The row in `fetches` of one attempt at a page; None if no request was made."""
    asked = pages_asked(trail)
    if not asked:
        return None
    first, last = asked[0], asked[-1]
    response = result if isinstance(result, Response) else None
    outcome, error = _outcome(result, obstacle)
    return FetchRow(
        host.lease.host_id,
        host.name,
        address.url,
        address.key,
        outcome,
        last.status,
        error,
        first.started_at,
        max(0.0, last.ended_at - first.started_at),
        result.wire_bytes if result is not None else 0,
        0,
        last.url,
        len(asked) - 1,
        response.content_type if response is not None else None,
        discovery_type=BY_SOURCE,
    )


def _outcome(result: Response | FetchFailure | None, obstacle: Obstacle | None) -> tuple[str, str | None]:
    """The word of `fetches.outcome`, and the error with its code in front, as a crawl writes it."""
    if isinstance(result, FetchFailure):
        ending = "refused" if result.kind.is_refusal and result.status is None else "rejected"
        return "failed" if result.kind.is_network else ending, f"{result.kind}: {result.detail}"
    if obstacle is None:
        return "not_modified" if result is not None and result.status == 304 else "fetched", None
    if result is None:
        return "refused", f"{obstacle.trouble}: {obstacle.reason}"
    status = result.status
    if status == 429 or obstacle.until is not None:
        return "rate_limited", f"http_{status}"
    if status >= 500:
        return "failed", f"http_{status}: {obstacle.reason}"
    return ("gone", f"http_{status}") if status >= 400 else ("refused", f"bad_redirect: {obstacle.reason}")
