"""Visit: one URL through takedown, robots, gate, fetch and extraction, hop by hop. A visit writes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from comity.extract.images import read_image
from comity.model.evidence import Evidence, EvidenceType
from comity.model.fetch import ANY_CONTENT_TYPE, FailureKind, FetchFailure, FetchLimits, FetchRequest, Response
from comity.model.frontier import (
    GUESSED_SCHEME_PRIORITY,
    LINKED_IMAGE_PRIORITY,
    FoundBy,
    FrontierEntry,
    QueuedUrl,
    UnqueuedCode,
)
from comity.model.gate import Reservation, SlotTimeout, Wait
from comity.model.ledger import Purpose
from comity.model.outcome import (
    Answered,
    Failed,
    Gone,
    ImageFetched,
    NotModified,
    Outcome,
    Postponed,
    RateLimited,
    Refused,
    Rejected,
    Trail,
)
from comity.model.robots import RobotsVerdict
from comity.model.run import IMAGE_TYPES
from comity.model.traps import NO_PAGES, TrapRefusal
from comity.rules.canonical import WebAddress, resolve_link, resolve_location
from comity.rules.cookies import cookie_field, cookies_after
from comity.rules.first_contact import without_tls
from comity.walk.evidence import is_worth_keeping, robots_evidence, taken_down, trap_evidence
from comity.walk.request import Exchange, NotStarted
from comity.walk.robots.in_force import RobotsInForce
from comity.walk.robots.keeper import NEVER_ASKED, RobotsPostponed, RobotsRefused
from comity.walk.session.leased_host import LeasedHost
from comity.walk.visit.context import VisitContext
from comity.walk.visit.page import read_page, target_of

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_BUSY_FOR_S: Final = 2.0  # the first time that a redirect leads to a host that somebody else holds


class Cleared(NamedTuple):
    """A URL that may be asked for as soon as its host's gate opens."""

    entry: QueuedUrl
    address: WebAddress
    verdict: RobotsVerdict
    robots_version: str | None


@dataclass(frozen=True, slots=True)
class RobotsWanted:
    """robots.txt of this origin must be read before anything else."""

    origin: str


def clear(host: LeasedHost, entry: QueuedUrl, rooms: VisitContext) -> Cleared | RobotsWanted | Refused | Postponed:
    """Ask takedowns and robots.txt about a URL of a host, from memory."""
    address = resolve_link(entry.url, entry.url, collapse=rooms.scope.collapse_subdomains)
    if address is None:
        return Refused(entry, Trail(), "invalid_url", f"{entry.url[:200]} is not a web address", rooms.clock())
    covered = rooms.takedowns().covering(address)
    if covered is not None:
        return _covered(host, entry, address, covered, Trail(), rooms)
    refused = host.refused.get(address.origin)
    if refused is not None:
        return _not_asked(host, entry, address, refused, Trail())
    robots = rooms.robots.known(host, address.origin)
    if robots is None:
        if entry.priority == GUESSED_SCHEME_PRIORITY:
            host.guessed.add(address.origin)
        return RobotsWanted(address.origin)
    if entry.depth == 0 and robots.lacks_tls and (plain := _without_tls(host, entry)) is not None:
        return _turn_to(host, entry, address, plain, robots, rooms)
    verdict = robots.verdict(address.path)
    if not verdict.allowed:
        return _denied(host, entry, address, robots, verdict, Trail(), rooms)
    # A page that was visited before is no step further into an endless space.
    watch = host.traps if entry.seen is None and not entry.is_image else None
    trap = watch.recheck(address.path, entry.depth) if watch is not None else None
    if trap is not None:
        return _trapped(host, entry, address, trap, rooms)
    return Cleared(entry, address, verdict, robots.version)


async def visit(host: LeasedHost, cleared: Cleared, slot: Reservation, rooms: VisitContext) -> Outcome:
    """Take one leased URL to its end, whatever that is; `slot` is the start that its host's gate granted."""
    trail = Trail()
    try:
        return await _take(host, cleared, slot, trail, rooms)
    except BaseException:  # cancelled on its way: what was asked until then is recorded all the same
        host.unsettled.requests += trail.requests
        raise


async def _take(host: LeasedHost, cleared: Cleared, slot: Reservation, trail: Trail, rooms: VisitContext) -> Outcome:
    entry, address = cleared.entry, cleared.address
    trail.evidence.append(robots_evidence(host, address, cleared.verdict, slot.started_at))
    asked: Exchange | NotStarted = await rooms.requests.send(
        host,
        slot,
        _conditional(_request(host, entry, address, rooms), entry, rooms),
        Purpose.PAGE if not entry.is_image else Purpose.IMAGE,
        verdict=cleared.verdict,
        robots_version=cleared.robots_version,
    )
    for hops in range(rooms.max_redirects + 1):
        if isinstance(asked, NotStarted):
            return _postponed(entry, trail, asked.why)
        trail.requests.append(asked.row)
        response = asked.result
        if isinstance(response, FetchFailure):
            return _failure(host, entry, address, response, trail)
        location = response.headers.get("location") if response.status in REDIRECTS else None
        if location is None:
            return await _conclude(host, entry, hops, response, asked.retry_after_s, trail, rooms)
        target = resolve_location(location, response.url, collapse=rooms.scope.collapse_subdomains)
        if target is None:
            return Refused(entry, trail, "bad_redirect", f"redirected to {location[:200]!r}", rooms.clock())
        if hops == rooms.max_redirects:
            break
        if hops == 0:
            _take_cookies(response, trail, rooms)
        address = target
        if address.key != entry.key and not (address.host == host.name and host.work.knows(address.key)):
            code = UnqueuedCode.REDIRECT_TARGET
            host.note_unqueued(address.url, address.key, code, FoundBy.REDIRECT, entry.key)
        step = await follow(host, entry, address, trail, rooms)
        if not isinstance(step, Exchange | NotStarted):
            return step
        asked = step
    return Refused(entry, trail, "too_many_redirects", f"more than {rooms.max_redirects} redirects", rooms.clock())


async def follow(
    host: LeasedHost,
    entry: QueuedUrl,
    address: WebAddress,
    trail: Trail,
    rooms: VisitContext,
    *,
    purpose: Purpose = Purpose.REDIRECT,
    limits: FetchLimits | None = None,
    like: FetchRequest | None = None,
) -> Exchange | NotStarted | Outcome:
    """One more hop, with everything that is asked before it: takedown, lease, robots, gate.

    With limits of its own it takes any type of content; `like` is the whole request, but for its address.
    """
    covered = rooms.takedowns().covering(address)
    if covered is not None:
        return _covered(host, entry, address, covered, trail, rooms)
    holder = host if address.host == host.name else await rooms.host_of(address)
    if holder is None:
        return _busy(host, entry, address, trail, rooms)
    robots = rooms.robots.known(holder, address.origin) or await rooms.robots.in_force(
        holder, address.origin, rooms.host_of
    )
    if holder is not host:  # nobody else settles what a guest was asked
        trail.requests.extend(holder.unsettled.requests)
        holder.unsettled.requests.clear()
    if isinstance(robots, RobotsRefused):
        return _not_asked(host, entry, address, robots.failure, trail)
    if isinstance(robots, RobotsPostponed):
        return _busy(host, entry, address, trail, rooms) if holder is not host else _postponed(entry, trail, robots.why)
    verdict = robots.verdict(address.path)
    if not verdict.allowed:
        return _denied(host, entry, address, robots, verdict, trail, rooms)
    trail.evidence.append(robots_evidence(host, address, verdict, rooms.clock()))
    request = _request(holder, entry, address, rooms)
    if limits is not None:
        request = request._replace(limits=limits, content_types=ANY_CONTENT_TYPE)
    if like is not None:
        request = like._replace(url=address.url)
    if trail.cookies and (field := cookie_field(trail.cookies, address.url, rooms.clock())) is not None:
        request = request._replace(headers=(*request.headers, ("Cookie", field)))
    asked = await rooms.requests.ask(
        holder,
        _conditional(request, entry, rooms),
        purpose,
        verdict=verdict,
        robots_version=robots.version,
        may_go=lambda: rooms.takedowns().covering(address) is None,
    )
    if isinstance(asked, NotStarted):
        if asked.why is None:  # taken down while it waited for its start
            return _covered(host, entry, address, rooms.takedowns().covering(address) or "", trail, rooms)
        if holder is not host:
            return _busy(host, entry, address, trail, rooms)
    elif isinstance(asked.result, Response):
        _take_cookies(asked.result, trail, rooms)
    return asked


def _take_cookies(response: Response, trail: Trail, rooms: VisitContext) -> None:
    """Keep what a redirect sets until the end of this visit: many sites set a cookie and send the visitor back."""
    if response.status in REDIRECTS and "set-cookie" in response.headers:
        said = response.headers.get_all("set-cookie")
        trail.cookies = cookies_after(trail.cookies, response.url, said, rooms.clock())


def _without_tls(host: LeasedHost, entry: QueuedUrl) -> WebAddress | None:
    """Where to look instead of an https address at which nothing speaks TLS.

    Only if https was not asked for, or http was named as well: what was asked for is not replaced by less.
    """
    url = without_tls(entry.url)
    address = resolve_link(url, url) if url is not None else None
    if address is None or not (entry.priority == GUESSED_SCHEME_PRIORITY or host.work.knows(address.key)):
        return None
    return address


def _turn_to(
    host: LeasedHost,
    entry: QueuedUrl,
    address: WebAddress,
    plain: WebAddress,
    robots: RobotsInForce,
    rooms: VisitContext,
) -> Refused:
    """Visit a host by http, because there is no https: the entry is replaced, and the host remembers it that way."""
    trail, now = Trail(), rooms.clock()
    host.without_tls.add(address.origin)
    if host.home == address.origin:
        host.home = plain.origin
    if not host.work.is_met(plain.key):
        found = FrontierEntry(plain.url, plain.key, found_by=FoundBy.SEED)
        host.unsettled.links.append(found)
        host.work.found([found])
    reason = f"there is no https at {address.origin} ({robots.reading.reason}); {plain.url} is visited instead"
    content = {"reason": reason, "instead": plain.url}
    trail.evidence.append(
        Evidence(
            host.lease.host_id, entry.url, entry.key, EvidenceType.NO_HTTPS, content, {"url": entry.url}, "high", now
        )
    )
    return Refused(entry, trail, str(EvidenceType.NO_HTTPS), reason, now)


def _request(holder: LeasedHost, entry: QueuedUrl, address: WebAddress, rooms: VisitContext) -> FetchRequest:
    """What is asked of a host, within the bounds of a page or of an image."""
    if entry.is_image:
        return FetchRequest(address.url, limits=holder.fetch_limits(rooms.image_limits), content_types=IMAGE_TYPES)
    return FetchRequest(address.url, limits=holder.fetch_limits(rooms.limits), content_types=rooms.scope.content_types)


def _conditional(request: FetchRequest, entry: QueuedUrl, rooms: VisitContext) -> FetchRequest:
    """Ask a page that was seen before only for what is new; where it led on, that is asked of the last hop."""
    seen = entry.seen
    if seen is None or seen.final_url != request.url:
        return request
    if rooms.finds_images and not seen.images_read and not entry.is_image:
        return request  # nobody looked for its images yet
    return request._replace(etag=seen.etag, last_modified=seen.last_modified)


def _covered(
    host: LeasedHost, entry: QueuedUrl, address: WebAddress, covered: str, trail: Trail, rooms: VisitContext
) -> Refused:
    now = rooms.clock()
    trail.evidence.append(taken_down(host, address, covered, now))
    return Refused(entry, trail, "taken_down", _there(entry, address, f"taken down: {covered}"), now)


def _there(entry: QueuedUrl, address: WebAddress, reason: str) -> str:
    """A reason, with the address that it is about where a redirect led there."""
    return reason if address.key == entry.key else f"redirected to {address.url[:500]}: {reason}"


def _busy(host: LeasedHost, entry: QueuedUrl, address: WebAddress, trail: Trail, rooms: VisitContext) -> Postponed:
    """Another host cannot be asked now; every time that happens, this one has more patience."""
    host.tally.busy_elsewhere += 1
    wait_s = _BUSY_FOR_S * 2.0 ** min(host.tally.busy_elsewhere - 1, 8)
    now, host_id = rooms.clock(), host.lease.host_id
    content = {"code": "host_busy", "reason": f"it redirects to {address.url[:500]}, whose host another worker holds"}
    trail.evidence.append(
        Evidence(host_id, entry.url, entry.key, EvidenceType.POSTPONED, content, {"url": entry.url}, "high", now)
    )
    return Postponed(entry, trail, "host_busy", now + wait_s)


def _trapped(
    host: LeasedHost, entry: QueuedUrl, address: WebAddress, trap: TrapRefusal, rooms: VisitContext
) -> Refused:
    """More is known of its kind than when the link was let in."""
    trail, now = Trail(), rooms.clock()
    if is_worth_keeping(trap):
        trail.evidence.append(trap_evidence(host, address, trap, now))
    return Refused(entry, trail, "trap" if trap.code not in NO_PAGES else str(trap.code), trap.reason, now)


def _denied(
    host: LeasedHost,
    entry: QueuedUrl,
    address: WebAddress,
    robots: RobotsInForce,
    verdict: RobotsVerdict,
    trail: Trail,
    rooms: VisitContext,
) -> Refused | Postponed:
    now = rooms.clock()
    trail.evidence.append(robots_evidence(host, address, verdict, now))
    if not robots.is_unreachable:
        return Refused(entry, trail, "robots_denied", _there(entry, address, verdict.reason), now)
    if address.host == host.name:
        # Nothing was forbidden: the URL is still to be visited once the file can be read.
        return Postponed(entry, trail, "robots_unreachable", robots.expires_at)
    return Refused(entry, trail, "robots_unreachable", _there(entry, address, verdict.reason), now)


def _postponed(entry: QueuedUrl, trail: Trail, why: Wait | SlotTimeout | None) -> Postponed:
    if isinstance(why, Wait):
        return Postponed(entry, trail, str(why.reason), why.until)
    return Postponed(entry, trail, "slot_timeout")


def _not_asked(host: LeasedHost, entry: QueuedUrl, address: WebAddress, failure: FetchFailure, trail: Trail) -> Refused:
    """We would not ask there, and say why."""
    at, reason = failure.started_at, failure.detail
    content = {"reason": reason, "address": failure.address}
    trail.evidence.append(
        Evidence(
            host.lease.host_id,
            address.url,
            address.key,
            EvidenceType.ADDRESS_REFUSED,
            content,
            {"url": address.url},
            "high",
            at,
        )
    )
    return Refused(entry, trail, str(failure.kind), _there(entry, address, reason), at)


def _failure(host: LeasedHost, entry: QueuedUrl, address: WebAddress, failure: FetchFailure, trail: Trail) -> Outcome:
    """What a request without a usable answer means for the URL."""
    kind = failure.kind
    if kind in NEVER_ASKED:
        return _not_asked(host, entry, address, failure, trail)
    if kind is FailureKind.WRONG_TYPE and entry.is_image and host.work.is_linked_image(entry.key):
        entry = entry._replace(priority=LINKED_IMAGE_PRIORITY)
    # As the ledger has it: each row in `fetches` can be found there by its start.
    at, code, reason = trail.requests[0].started_at, str(kind), failure.detail
    ending = Failed if kind.is_network or kind is FailureKind.CANCELLED else Rejected
    return ending(entry, trail, code, reason, at, failure.elapsed_s, failure.status, failure.wire_bytes)


async def _conclude(
    host: LeasedHost,
    entry: QueuedUrl,
    hops: int,
    response: Response,
    retry_after_s: float | None,
    trail: Trail,
    rooms: VisitContext,
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
        headers=response.headers,
        address=response.address,
    )
    status = response.status
    if status == 429 or (status == 503 and retry_after_s is not None):
        return RateLimited(entry, trail, answer, retry_after_s)
    if status >= 500:
        reason = f"the server answered {status}"
        return Failed(entry, trail, f"http_{status}", reason, answer.at, answer.elapsed_s, status, answer.wire_bytes)
    if 200 <= status < 300 and entry.is_image:
        return _image(entry, response, answer, trail)
    if 200 <= status < 300:
        return await read_page(host, entry, response, answer, trail, rooms)
    if status == 304 and entry.seen is not None and entry.seen.final_url == response.url:
        # RFC 9110 §15.4.5: what the answer does not repeat is as it was.
        seen = entry.seen
        return NotModified(
            entry,
            trail,
            answer._replace(etag=answer.etag or seen.etag, last_modified=answer.last_modified or seen.last_modified),
        )
    if status in (404, 410) and host.traps is not None and not entry.is_image:
        host.traps.missed(target_of(entry.url))
    return Gone(entry, trail, answer)


def _image(entry: QueuedUrl, response: Response, answer: Answered, trail: Trail) -> ImageFetched | Rejected:
    """Look at the first octets of what came: they say what it is, not the server."""
    shape = read_image(response.body)
    if shape is not None:
        return ImageFetched(entry, trail, answer, response.body, shape)
    reason = f"what came as {answer.content_type or 'nothing in particular'} is no image that is known"
    at, elapsed_s, status, wire_bytes = answer.at, answer.elapsed_s, answer.status, answer.wire_bytes
    return Rejected(entry, trail, "not_an_image", reason[:300], at, elapsed_s, status, wire_bytes)
