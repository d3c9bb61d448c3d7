"""Fetch what was not queued: a redirect's target, and the requests that a page takes besides its first.

Each is admitted by itself, under the lease of its own host and with a start of its own from that host's gate.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, NamedTuple, Protocol

from comity.model.fetch import FetchFailure, FetchRequest, NotAllowed, Response, Send
from comity.model.frontier import QueuedUrl
from comity.model.ledger import Purpose
from comity.model.outcome import Postponed, Refused, Trail
from comity.model.robots import RobotsVerdict
from comity.rules.admission import ROBOTS_UNKNOWN, Denied, PatternCheck, admit, of_redirect
from comity.rules.canonical import WebAddress, resolve_link
from comity.rules.url_patterns import url_rules
from comity.walk.evidence import robots_evidence
from comity.walk.request import Exchange, NotStarted
from comity.walk.robots.keeper import RobotsPostponed
from comity.walk.robots.record import RobotsInForce
from comity.walk.session.leased_host import LeasedHost
from comity.walk.visit.context import VisitContext
from comity.walk.visit.refusals import busy, denied, postponed

_PARTS_MOST: Final = 200  # requests of one page besides its first


class Granted(NamedTuple):
    """A URL that was not queued and may be fetched, from its host's holder."""

    holder: LeasedHost
    verdict: RobotsVerdict
    robots_version: str | None


class FirstRequest(Protocol):
    """Makes the first request of a page, whose URL is admitted already."""

    def __call__(self, request: FetchRequest, *, send: Send | None = None) -> Awaitable[Exchange | NotStarted]:
        """Make it when its host's gate lets it start."""
        ...


async def grant(
    host: LeasedHost,
    entry: QueuedUrl,
    address: WebAddress,
    trail: Trail,
    context: VisitContext,
    *,
    leads: str,
    as_page: bool = False,
) -> Granted | Refused | Postponed:
    """Decide whether a URL that was not queued may be fetched, and lease its host for it.

    Memory is checked first, so that nothing is leased or read for a URL that is taken down. Patterns apply to pages and
    images, not to sitemaps and to what a page needs.
    """
    holder = host if address.host == host.name else None
    robots = context.robots.known(host, address.origin) if holder is not None else None
    patterns = _patterns(holder, entry, context) if as_page else None
    refused = host.refused if holder else None
    decision = admit(address, of_redirect(context.takedowns(), refused, lambda _origin: robots, patterns))
    if decision is ROBOTS_UNKNOWN:
        holder = holder or await context.host_of(address)
        if holder is None:
            return busy(host, entry, address, trail, context, leads=leads)
        found = await context.robots.in_force(holder, address.origin, context.host_of)
        if holder is not host:  # the requests to a host leased on demand are settled only here
            trail.requests.extend(holder.unsettled.requests)
            holder.unsettled.requests.clear()
        if isinstance(found, RobotsPostponed):
            if holder is not host:
                return busy(host, entry, address, trail, context, leads=leads)
            return postponed(entry, trail, found.why)
        robots = found if isinstance(found, RobotsInForce) else None
        patterns = _patterns(holder, entry, context) if as_page else None
        decision = admit(address, of_redirect(context.takedowns(), holder.refused, lambda _origin: robots, patterns))
    if isinstance(decision, Denied):
        return denied(host, entry, address, decision, trail, context)
    assert holder is not None
    assert robots is not None
    assert decision.verdict is not None
    return Granted(holder, decision.verdict, robots.version)


def _patterns(holder: LeasedHost | None, entry: QueuedUrl, context: VisitContext) -> PatternCheck | None:
    """The patterns for a redirect's target; the target of a seed is fetched for its links, as the seed is."""
    rules = context.rules_for(holder) if holder is not None else url_rules(context.patterns, None)
    if rules is None:
        return None
    return rules.judge_hop if context.is_seed(entry.url, entry.depth) else rules.judge


async def fetch_page(
    host: LeasedHost,
    entry: QueuedUrl,
    request: FetchRequest,
    first: FirstRequest,
    trail: Trail,
    context: VisitContext,
) -> Exchange | NotStarted:
    """Let the fetcher get a page that may take several requests; all of them are added to the trail."""
    fetcher = context.requests.fetcher
    page = _PageRequests(host, entry, first, trail, context)
    result = await fetcher.get_page(request, page.ask)
    asked = page.first
    if asked is None:
        raise RuntimeError("a fetcher must make every request of a page through `ask`")
    if isinstance(asked, NotStarted) or isinstance(result, NotAllowed) or result is asked.result:
        return asked
    return asked._replace(result=result)


class _PageRequests:
    """The requests of one page."""

    __slots__ = ("_begin", "_context", "_entry", "_host", "_parts_left", "_place", "_trail", "first")

    def __init__(
        self, host: LeasedHost, entry: QueuedUrl, first: FirstRequest, trail: Trail, context: VisitContext
    ) -> None:
        self._begin: FirstRequest | None = first
        self._host = host
        self._entry = entry
        self._trail = trail
        self._context = context
        self._place = len(trail.requests)
        self._parts_left = _PARTS_MOST
        self.first: Exchange | NotStarted | None = None

    async def ask(self, request: FetchRequest, send: Send) -> Response | FetchFailure | NotAllowed:
        """Make one request of the page; see `model.fetch.Ask`."""
        begin, self._begin = self._begin, None
        if begin is None:
            return await self._ask_part(request, send)
        self.first = asked = await begin(request, send=send)
        if isinstance(asked, NotStarted):
            return NotAllowed("put_off")
        # Before those of its parts: by the start of the first request the ledger finds the row in `fetches`.
        self._trail.requests.insert(self._place, asked.row)
        return asked.result

    async def _ask_part(self, request: FetchRequest, send: Send) -> Response | FetchFailure | NotAllowed:
        context = self._context
        address = resolve_link(request.url, request.url, collapse=context.scope.collapse_subdomains)
        if address is None:
            return NotAllowed("invalid_url")
        if self._parts_left == 0:
            return NotAllowed("too_many_requests")
        self._parts_left -= 1
        granted = await grant(self._host, self._entry, address, self._trail, context, leads="it needs")
        if not isinstance(granted, Granted):
            return NotAllowed(granted.code)
        self._trail.evidence.append(robots_evidence(self._host, address, granted.verdict, context.clock()))
        asked = await context.requests.ask(
            granted.holder,
            request._replace(url=address.url, limits=granted.holder.fetch_limits(request.limits)),
            Purpose.PART,
            verdict=granted.verdict,
            robots_version=granted.robots_version,
            may_go=lambda: context.takedowns().covering(address) is None,
            send=send,
        )
        if isinstance(asked, NotStarted):
            return NotAllowed("put_off" if asked.why is not None else "taken_down")
        self._trail.requests.append(asked.row)
        return asked.result
