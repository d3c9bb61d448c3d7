"""Visit: one URL through takedown, robots, gate, fetch and extraction, hop by hop. A visit writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from xxhash import xxh3_128_hexdigest

from comity.extract.html import read_html
from comity.model.evidence import Evidence, EvidenceType
from comity.model.fetch import FailureKind, FetchFailure, FetchLimits, FetchRequest, Response
from comity.model.frontier import FrontierEntry, QueuedUrl
from comity.model.gate import Reservation, SlotTimeout, Wait
from comity.model.ledger import Purpose
from comity.model.outcome import (
    Answered,
    Failed,
    Fetched,
    Gone,
    NotModified,
    Outcome,
    Postponed,
    RateLimited,
    Refused,
    Rejected,
    Trail,
)
from comity.model.robots import RobotsVerdict
from comity.model.scope import CrawlScope
from comity.rules.canonical import WebAddress, resolve_link
from comity.rules.directives import read_directives
from comity.rules.login_wall import is_login_wall
from comity.rules.takedown import Takedowns
from comity.walk.admit import admit_links, robots_evidence, taken_down
from comity.walk.leased_host import LeasedHost
from comity.walk.request import Asked, Requests, Unstarted
from comity.walk.robots_in_force import RobotsInForce
from comity.walk.robots_keeper import HostOf, RobotsKeeper, RobotsPostponed

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_BUSY_FOR_S: Final = 5.0  # when a redirect leads to a host that somebody else holds


@dataclass(frozen=True, slots=True)
class VisitRooms:
    """The step rooms that a visit passes through, and the terms under which it does."""

    requests: Requests
    robots: RobotsKeeper
    host_of: HostOf
    takedowns: Callable[[], Takedowns]
    clock: Callable[[], float]
    scope: CrawlScope
    limits: FetchLimits
    agent: str
    max_redirects: int


@dataclass(frozen=True, slots=True)
class Cleared:
    """A URL that may be asked for as soon as its host's gate opens."""

    entry: QueuedUrl
    address: WebAddress
    verdict: RobotsVerdict
    robots_version: str | None


@dataclass(frozen=True, slots=True)
class RobotsWanted:
    """robots.txt of this origin must be read before anything else."""

    origin: str


def clear(host: LeasedHost, entry: QueuedUrl, rooms: VisitRooms) -> Cleared | RobotsWanted | Refused:
    """Ask takedowns and robots.txt about a URL of a host, from memory."""
    address = resolve_link(entry.url, entry.url)
    if address is None:
        return Refused(entry, Trail(), "invalid_url", f"{entry.url[:200]} is not a web address", rooms.clock())
    robots = rooms.robots.known(host, address.origin)
    if robots is None:
        return RobotsWanted(address.origin)
    covered = rooms.takedowns().covering(address)
    if covered is not None:
        now = rooms.clock()
        evidence = [taken_down(host, address, covered, now)]
        return Refused(entry, Trail([], evidence), "taken_down", f"taken down: {covered}", now)
    verdict = robots.verdict(address.path)
    if verdict.allowed:
        return Cleared(entry, address, verdict, robots.version)
    return _denied(host, entry, address, robots, verdict, Trail(), rooms)


async def visit(host: LeasedHost, cleared: Cleared, slot: Reservation, rooms: VisitRooms) -> Outcome:
    """Take one leased URL to its end, whatever that is; `slot` is the start that its host's gate granted."""
    entry, address, trail = cleared.entry, cleared.address, Trail()
    trail.evidence.append(robots_evidence(host, address, cleared.verdict, slot.started_at))
    asked: Asked | Unstarted = await rooms.requests.send(
        host,
        slot,
        FetchRequest(address.url, limits=rooms.limits, content_types=rooms.scope.content_types),
        Purpose.PAGE,
        verdict=cleared.verdict,
        robots_version=cleared.robots_version,
    )
    for hops in range(rooms.max_redirects + 1):
        if isinstance(asked, Unstarted):
            return _postponed(entry, trail, asked.why)
        trail.requests.append(asked.row)
        response = asked.result
        if isinstance(response, FetchFailure):
            return _failure(host, entry, address, response, trail)
        location = response.headers.get("location") if response.status in REDIRECTS else None
        if location is None:
            return _conclude(host, entry, hops, response, asked.retry_after_s, trail, rooms)
        target = resolve_link(location, response.url)
        if target is None:
            return Refused(entry, trail, "bad_redirect", f"redirected to {location[:200]!r}", rooms.clock())
        if hops == rooms.max_redirects:
            break
        address = target
        step = await _follow(host, entry, address, trail, rooms)
        if not isinstance(step, Asked | Unstarted):
            return step
        asked = step
    return Refused(entry, trail, "too_many_redirects", f"more than {rooms.max_redirects} redirects", rooms.clock())


async def _follow(
    host: LeasedHost, entry: QueuedUrl, address: WebAddress, trail: Trail, rooms: VisitRooms
) -> Asked | Unstarted | Outcome:
    """One more hop, with everything that is asked before it: takedown, lease, robots, gate."""
    now = rooms.clock()
    covered = rooms.takedowns().covering(address)
    if covered is not None:
        trail.evidence.append(taken_down(host, address, covered, now))
        return Refused(entry, trail, "taken_down", f"taken down: {covered}", now)
    holder = host if address.host == host.name else await rooms.host_of(address)
    if holder is None:
        return Postponed(entry, trail, "host_busy", now + _BUSY_FOR_S)
    robots = rooms.robots.known(holder, address.origin) or await rooms.robots.in_force(
        holder, address.origin, rooms.host_of
    )
    if isinstance(robots, RobotsPostponed):
        return _postponed(entry, trail, robots.why)
    verdict = robots.verdict(address.path)
    if not verdict.allowed:
        return _denied(host, entry, address, robots, verdict, trail, rooms)
    trail.evidence.append(robots_evidence(host, address, verdict, rooms.clock()))
    request = FetchRequest(address.url, limits=rooms.limits, content_types=rooms.scope.content_types)
    return await rooms.requests.ask(holder, request, Purpose.REDIRECT, verdict=verdict, robots_version=robots.version)


def _denied(
    host: LeasedHost,
    entry: QueuedUrl,
    address: WebAddress,
    robots: RobotsInForce,
    verdict: RobotsVerdict,
    trail: Trail,
    rooms: VisitRooms,
) -> Refused:
    now = rooms.clock()
    trail.evidence.append(robots_evidence(host, address, verdict, now))
    code = "robots_unreachable" if robots.is_unreachable else "robots_denied"
    return Refused(entry, trail, code, verdict.reason, now)


def _postponed(entry: QueuedUrl, trail: Trail, why: Wait | SlotTimeout) -> Postponed:
    if isinstance(why, SlotTimeout):
        return Postponed(entry, trail, "slot_timeout")
    return Postponed(entry, trail, str(why.reason), why.until)


def _failure(host: LeasedHost, entry: QueuedUrl, address: WebAddress, failure: FetchFailure, trail: Trail) -> Outcome:
    """What a request without a usable answer means for the URL."""
    kind = failure.kind
    at, code, reason = failure.started_at, str(kind), failure.detail
    if kind in (FailureKind.ADDRESS_REFUSED, FailureKind.SCHEME_REFUSED, FailureKind.INVALID_URL):
        trail.evidence.append(
            Evidence(
                host.lease.host_id,
                address.url,
                address.key,
                EvidenceType.ADDRESS_REFUSED,
                {"reason": reason, "address": failure.address},
                {"url": address.url},
                "high",
                at,
            )
        )
        return Refused(entry, trail, code, reason, at)
    ending = Failed if kind.is_network or kind is FailureKind.CANCELLED else Rejected
    return ending(entry, trail, code, reason, at, failure.elapsed_s, failure.status, failure.wire_bytes)


def _conclude(
    host: LeasedHost,
    entry: QueuedUrl,
    hops: int,
    response: Response,
    retry_after_s: float | None,
    trail: Trail,
    rooms: VisitRooms,
) -> Outcome:
    """Name what the last answer of the chain means."""
    answer = Answered(
        final_url=response.url,
        redirect_count=hops,
        status=response.status,
        at=trail.requests[0].started_at,
        elapsed_s=response.elapsed_s,
        wire_bytes=response.wire_bytes,
        content_type=response.content_type,
        etag=response.headers.get("etag"),
        last_modified=response.headers.get("last-modified"),
    )
    status = response.status
    if status == 429 or (status == 503 and retry_after_s is not None):
        return RateLimited(entry, trail, answer, retry_after_s)
    if status >= 500:
        reason = f"the server answered {status}"
        return Failed(entry, trail, f"http_{status}", reason, answer.at, answer.elapsed_s, status, answer.wire_bytes)
    if status == 304:
        return NotModified(entry, trail, answer)
    if not 200 <= status < 300:
        return Gone(entry, trail, answer)
    return _read(host, entry, response, answer, trail, rooms)


def _read(
    host: LeasedHost, entry: QueuedUrl, response: Response, answer: Answered, trail: Trail, rooms: VisitRooms
) -> Fetched:
    """Read the page: what it forbids, where it leads, whether it is only a door."""
    body = response.body
    content_hash = xxh3_128_hexdigest(body)
    if not is_html(answer.content_type, body):
        return Fetched(
            entry,
            trail,
            answer,
            body,
            None,
            content_hash,
            None,
            (),
            coded=response.coded_body,
            coding=response.content_encoding or None,
        )
    page = read_html(body, content_type=answer.content_type, agent_token=rooms.agent)
    directives = read_directives(page.meta_robots, response.headers.get_all("x-robots-tag"), rooms.agent)
    links: list[FrontierEntry] = []
    if not (directives.nofollow and rooms.scope.respect_nofollow):
        links, refused = admit_links(
            host,
            page.links,
            base=_base(page.base_href, response.url),
            depth=entry.depth + 1,
            scope=rooms.scope,
            takedowns=rooms.takedowns(),
            now=rooms.clock(),
        )
        trail.evidence.extend(refused)
    for forbidden, kind in ((directives.noindex, EvidenceType.NOINDEX), (directives.nofollow, EvidenceType.NOFOLLOW)):
        if forbidden:
            said = list(directives.evidence)
            trail.evidence.append(
                Evidence(
                    host.lease.host_id,
                    entry.url,
                    entry.key,
                    kind,
                    {"said": said},
                    {"url": entry.url, "finalUrl": response.url},
                    "high",
                    answer.at,
                )
            )
    wall = is_login_wall(
        status=answer.status,
        requested_url=entry.url,
        final_url=response.url,
        has_password_field=page.has_password_field,
        link_count=len(page.links),
        title=page.title,
    )
    return Fetched(
        entry=entry,
        trail=trail,
        answer=answer,
        body=body,
        encoding=page.encoding,
        content_hash=content_hash,
        title=page.title,
        links=tuple(links),
        keep=not directives.noindex,
        is_login_wall=wall,
        coded=response.coded_body,
        coding=response.content_encoding or None,
    )


def is_html(content_type: str | None, body: bytes) -> bool:
    """Whether a body is to be read as HTML; one without a type is looked at."""
    if content_type is None:
        return body[:512].lstrip()[:1] == b"<"
    return content_type.partition(";")[0].strip().lower() in ("text/html", "application/xhtml+xml")


def _base(base_href: str | None, url: str) -> str:
    if base_href is None:
        return url
    base = resolve_link(base_href, url)
    return base.url if base is not None else url
