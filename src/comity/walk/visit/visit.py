"""Visit: one URL through admission, gate, fetch and extraction, redirect by redirect. A visit writes nothing."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import Final, NamedTuple

from comity.extract.forms import shows_logged_out
from comity.extract.html_pool import is_light
from comity.extract.images import read_image
from comity.model.dataclass import dataclass
from comity.model.evidence import Evidence, EvidenceType
from comity.model.fetch import (
    ANY_CONTENT_TYPE,
    FailureKind,
    FetchFailure,
    FetchLimits,
    FetchRequest,
    Response,
    Waiter,
)
from comity.model.frontier import (
    GUESSED_SCHEME_PRIORITY,
    IMAGE_PRIORITY,
    LINKED_IMAGE_PRIORITY,
    FoundBy,
    FrontierEntry,
    QueuedUrl,
    UnqueuedCode,
)
from comity.model.gate import Reservation
from comity.model.ledger import Purpose
from comity.model.named_tuple import fast_new
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
    VisitDetails,
)
from comity.model.robots import RobotsVerdict
from comity.model.run import IMAGE_TYPES
from comity.model.wording import counted
from comity.rules.admission import ROBOTS_UNKNOWN, Admitted, DenialCode, Denied, PatternCheck, admit, of_fetch
from comity.rules.canonical import WebAddress, resolve_link, resolve_location
from comity.rules.cookies import cookie_field, cookies_after
from comity.rules.expressions.printing import has_columns
from comity.rules.responses import without_tls
from comity.rules.url_secrets import masked_url
from comity.walk.evidence import robots_evidence, robots_evidence_of
from comity.walk.request import Exchange, NotStarted
from comity.walk.robots.keeper import NEVER_ASKED
from comity.walk.robots.record import RobotsInForce
from comity.walk.session.identity import HostIdentity
from comity.walk.session.leased_host import LeasedHost
from comity.walk.visit.columns import note_answer
from comity.walk.visit.context import VisitContext
from comity.walk.visit.fetch_page import Granted, fetch_page, grant
from comity.walk.visit.page import in_a_task, is_html, read_page, target_of
from comity.walk.visit.refusals import busy, denied, not_requested, not_started, unsent

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


@fast_new
class Cleared(NamedTuple):
    """A URL that may be fetched as soon as its host's gate opens."""

    entry: QueuedUrl
    address: WebAddress
    verdict: RobotsVerdict
    robots_version: str | None
    is_image: bool


@dataclass(frozen=True, slots=True)
class RobotsWanted:
    """robots.txt of this origin must be read before anything else."""

    origin: str


def clear(host: LeasedHost, entry: QueuedUrl, context: VisitContext) -> Cleared | RobotsWanted | Refused | Postponed:
    """Decide again, from memory, whether a queued URL of a host may be fetched."""
    address = resolve_link(entry.url, entry.url, collapse=context.scope.collapse_subdomains)
    if address is None:
        return Refused(entry, Trail(), "invalid_url", f"{entry.url[:200]} is not a web address", context.clock())
    origin, is_image = address.origin, entry.priority <= IMAGE_PRIORITY
    robots = context.robots.known(host, origin)
    # A page that was visited before does not lead further into an endless space.
    watch = host.traps if entry.seen is None and not is_image else None
    trap = watch.recheck if watch is not None else None
    patterns: PatternCheck | None = None
    if (rules := context.rules_for(host)) is not None:
        patterns = rules.judge_seed if context.is_seed(entry.url, entry.depth) else rules.judge
    robots_of = host.robots.get if robots is not None else _unknown
    decision = admit(address, of_fetch(context.takedowns(), host.refused, robots_of, trap, entry.depth, patterns))
    if decision is ROBOTS_UNKNOWN:
        if entry.priority == GUESSED_SCHEME_PRIORITY:
            host.guessed.add(origin)
        return RobotsWanted(origin)
    if entry.depth == 0 and robots is not None and robots.lacks_tls and _is_about_robots(decision):
        plain = _without_tls(host, entry)
        if plain is not None:
            return _visit_by_http(host, entry, address, plain, robots, context)
    if isinstance(decision, Denied):
        return denied(host, entry, address, decision, Trail(), context)
    assert robots is not None
    assert decision.verdict is not None
    return Cleared(entry, address, decision.verdict, robots.version, is_image)


def _unknown(_origin: str) -> None:
    """The robots.txt of an origin of which none is in force."""


async def visit(
    host: LeasedHost, cleared: Cleared, slot: Reservation, context: VisitContext, waiter: Waiter | None = None
) -> Outcome:
    """Visit one URL of a leased host; `slot` is the start that the host's gate granted.

    A visit that is not a task has a `waiter` for its first request.
    """
    if waiter is not None and host.identity is not None:  # put in force just now, perhaps with a proxy
        await in_a_task()
        waiter = None
    entry, address = cleared.entry, cleared.address
    trail = Trail(VisitDetails() if context.keeps_details else None)
    try:
        trail.evidence.append(robots_evidence_of(host.lease.host_id, address, cleared.verdict, slot.started_at))
        asked = await _first_request(host, cleared, slot, trail, context, waiter)
        for hops in range(context.max_redirects + 1):
            if isinstance(asked, NotStarted):
                return not_started(host, entry, trail, asked.why, context)
            if host.identity is not None and host.identity.watches_for_logout:
                step = await _with_session(host, entry, address, asked, trail, context)
                if not isinstance(step, Exchange):
                    return step
                asked = step
            response = asked.result
            if trail.details is not None:
                note_answer(trail.details, response)
            if isinstance(response, FetchFailure):
                return _failure(host, entry, address, response, trail, context)
            location = response.headers.get("location") if response.status in REDIRECTS else None
            if location is None:
                answer = _answered(response, hops, trail)
                if 200 <= response.status < 300 and not cleared.is_image:
                    return await read_page(host, entry, response, answer, trail, context)
                return _conclude(host, entry, response, answer, asked.retry_after_s, trail)
            target = resolve_location(location, response.url, collapse=context.scope.collapse_subdomains)
            if target is None:
                shown = masked_url(location)[:200]
                return Refused(entry, trail, "bad_redirect", f"redirected to {shown!r}", context.clock())
            if hops == context.max_redirects:
                break
            followed = await _redirected(host, entry, response, target, hops, trail, context)
            if not isinstance(followed, Exchange | NotStarted):
                return followed
            asked, address = followed, target
    except BaseException:  # cancelled: the requests made so far are still recorded
        host.unsettled.requests += trail.requests
        raise
    reason = f"more than {counted(context.max_redirects, 'redirect')}"
    return Refused(entry, trail, "too_many_redirects", reason, context.clock())


def _first_request(
    host: LeasedHost,
    cleared: Cleared,
    slot: Reservation,
    trail: Trail,
    context: VisitContext,
    waiter: Waiter | None,
) -> Awaitable[Exchange | NotStarted]:
    """Request the queued URL itself, with the start that was granted for it; the requests join the trail."""
    entry, address, verdict, version, is_image = cleared
    request = _request(host, address, context, is_image=is_image)
    if entry.seen is not None:
        request = _conditional(request, entry, context)
    requests, purpose = context.requests, Purpose.IMAGE if is_image else Purpose.PAGE

    def may_go() -> bool:
        return context.takedowns().covering(address) is None

    if requests.takes_one_for_page or is_image:
        rows = trail.requests
        return requests.send(
            host,
            slot,
            request,
            purpose,
            verdict=verdict,
            robots_version=version,
            may_go=may_go,
            rows=rows,
            send=requests.sender_for(waiter) if waiter is not None else None,
        )
    send = partial(requests.send, host, slot, purpose=purpose, verdict=verdict, robots_version=version, may_go=may_go)
    return fetch_page(host, entry, request, send, trail, context)


async def _redirected(
    host: LeasedHost,
    entry: QueuedUrl,
    response: Response,
    target: WebAddress,
    hops: int,
    trail: Trail,
    context: VisitContext,
) -> Exchange | NotStarted | Outcome:
    """Follow one redirect."""
    if (
        host.identity is not None
        and host.identity.leads_to_login(target.url)
        and await host.identity.renew(entry.key, trail.requests[0].started_at, context.clock)
    ):
        return Postponed(entry, trail, "logged_out", context.clock())
    if hops == 0:
        _take_cookies(response, trail, context)
    if target.key != entry.key and not (target.host == host.name and host.work.knows(target.key)):
        code = UnqueuedCode.REDIRECT_TARGET
        host.note_unqueued(target.url, target.key, code, FoundBy.REDIRECT, entry.key)
    return await follow(host, entry, target, trail, context, as_page=True)


async def _with_session(
    host: LeasedHost, entry: QueuedUrl, address: WebAddress, asked: Exchange, trail: Trail, context: VisitContext
) -> Exchange | Outcome:
    """The answer to a page; if the session had ended, the answer that the page gives after another login.

    Many sites redirect to the login page, which is seen elsewhere. Others refuse the page, or serve the login form
    in its place. If the page is answered in the same way after the login, that is its answer.
    """
    identity = host.identity
    assert identity is not None
    if entry.is_image or not _looks_logged_out(identity, asked.result):
        return asked
    if not await identity.renew(entry.key, trail.requests[0].started_at, context.clock):
        return asked
    if host.is_stopped:
        return Postponed(entry, trail, "logged_out", context.clock())
    again = await follow(host, entry, address, trail, context, purpose=Purpose.PAGE, as_page=True)
    if isinstance(again, NotStarted):
        return not_started(host, entry, trail, again.why, context)
    if isinstance(again, Exchange):
        identity.note_login(was_needed=not _looks_logged_out(identity, again.result))
    return again


def _looks_logged_out(identity: HostIdentity, answer: Response | FetchFailure) -> bool:
    """Whether the answer to a page may mean that the session has ended."""
    login = identity.terms.login
    if login is None or identity.leads_to_login(answer.url):
        return False
    if answer.status in login.ended_statuses:
        return True
    if not isinstance(answer, Response) or answer.status >= 300 or not is_html(answer.content_type, answer.body):
        return False
    may_parse = is_light(answer.body)
    return shows_logged_out(answer.body, answer.content_type, answer.url, login, may_parse=may_parse)


async def follow(
    host: LeasedHost,
    entry: QueuedUrl,
    address: WebAddress,
    trail: Trail,
    context: VisitContext,
    *,
    purpose: Purpose = Purpose.REDIRECT,
    limits: FetchLimits | None = None,
    like: FetchRequest | None = None,
    as_page: bool = False,
) -> Exchange | NotStarted | Outcome:
    """Fetch a URL that was not queued: admission, lease, gate, request.

    With `limits` any type of content is accepted; `like` is the whole request, except its address. Fetched as a page,
    its requests are in the trail; otherwise the caller puts the one request there.
    """
    granted = await grant(host, entry, address, trail, context, leads="it redirects to", as_page=as_page)
    if not isinstance(granted, Granted):
        return granted
    holder, verdict = granted.holder, granted.verdict
    trail.evidence.append(robots_evidence(host, address, verdict, context.clock()))
    request = _request(holder, address, context, is_image=entry.is_image)
    if limits is not None:
        request = request._replace(limits=limits, content_types=ANY_CONTENT_TYPE)
    if like is not None:
        request = like._replace(url=address.url)
    if trail.cookies and (field := cookie_field(trail.cookies, address.url, context.clock())) is not None:
        request = request._replace(headers=(*request.headers, ("Cookie", field)))
    request = _conditional(request, entry, context)
    ask = partial(
        context.requests.ask,
        holder,
        purpose=purpose,
        verdict=verdict,
        robots_version=granted.robots_version,
        may_go=lambda: context.takedowns().covering(address) is None,
    )
    if as_page and not entry.is_image and not context.requests.takes_one_for_page:
        asked = await fetch_page(host, entry, request, ask, trail, context)
    else:
        asked = await ask(request, rows=trail.requests if as_page else None)
    if isinstance(asked, NotStarted):
        if asked.why is None:  # taken down while it waited for its start
            covered = context.takedowns().covering(address) or ""
            return denied(host, entry, address, Denied(DenialCode.TAKEN_DOWN, covered), trail, context)
        if holder is not host:
            return busy(host, entry, address, trail, context, leads="it redirects to")
    elif isinstance(asked.result, Response):
        _take_cookies(asked.result, trail, context)
    return asked


def _take_cookies(response: Response, trail: Trail, context: VisitContext) -> None:
    """Keep cookies that a redirect sets until the end of this visit: many sites set one and send the visitor back."""
    if response.status in REDIRECTS and "set-cookie" in response.headers:
        said = response.headers.get_all("set-cookie")
        trail.cookies = cookies_after(trail.cookies, response.url, said, context.clock())


def _is_about_robots(decision: Admitted | Denied) -> bool:
    """Whether admission reached robots.txt: a URL that is taken down is not tried at another address."""
    return isinstance(decision, Admitted) or isinstance(decision.evidence, RobotsVerdict)


def _without_tls(host: LeasedHost, entry: QueuedUrl) -> WebAddress | None:
    """The http address to visit instead of an https address where nothing speaks TLS.

    Only if https was not requested explicitly, or http was named as well: a request for https is never downgraded.
    """
    url = without_tls(entry.url)
    address = resolve_link(url, url) if url is not None else None
    if address is None or not (entry.priority == GUESSED_SCHEME_PRIORITY or host.work.knows(address.key)):
        return None
    return address


def _visit_by_http(
    host: LeasedHost,
    entry: QueuedUrl,
    address: WebAddress,
    plain: WebAddress,
    robots: RobotsInForce,
    context: VisitContext,
) -> Refused:
    """Visit a host by http because there is no https: replace the entry, and remember it for the host."""
    trail, now = Trail(), context.clock()
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


def _request(holder: LeasedHost, address: WebAddress, context: VisitContext, *, is_image: bool) -> FetchRequest:
    """The request for a page or an image, with its limits."""
    if is_image:
        return FetchRequest(address.url, limits=holder.fetch_limits(context.image_limits), content_types=IMAGE_TYPES)
    return FetchRequest(
        address.url, limits=holder.fetch_limits(context.limits), content_types=context.scope.content_types
    )


def _conditional(request: FetchRequest, entry: QueuedUrl, context: VisitContext) -> FetchRequest:
    """Make the request for a known page conditional; of a redirect chain only the last hop."""
    seen = entry.seen
    if seen is None or seen.final_url != request.url:
        return request
    if context.finds_images and not seen.images_read and not entry.is_image:
        return request  # its images were not looked for yet
    if context.columns_key and not entry.is_image and not has_columns(seen.columns_key, context.columns_key):
        return request  # an answer without a body would leave its new columns empty
    return request._replace(etag=seen.etag, last_modified=seen.last_modified)


def _failure(
    host: LeasedHost,
    entry: QueuedUrl,
    address: WebAddress,
    failure: FetchFailure,
    trail: Trail,
    context: VisitContext,
) -> Outcome:
    """The outcome of a request without a usable answer."""
    kind = failure.kind
    if kind.is_ours and address.host == host.name:  # the URL stays queued: nothing is known about it
        return unsent(host, entry, failure, trail, context)
    if kind in NEVER_ASKED:
        return not_requested(host, entry, address, failure, trail)
    if kind is FailureKind.WRONG_TYPE and entry.is_image and host.work.is_linked_image(entry.key):
        entry = entry._replace(priority=LINKED_IMAGE_PRIORITY)
    # As in the ledger: a row of `fetches` is found there by its start.
    at, code, reason = trail.requests[0].started_at, str(kind), failure.detail
    ending = Failed if kind.is_network or kind is FailureKind.CANCELLED else Rejected
    return ending(entry, trail, code, reason, at, failure.elapsed_s, failure.status, failure.wire_bytes)


def _answered(response: Response, hops: int, trail: Trail) -> Answered:
    """What is stored of the last answer of a redirect chain, whatever it means."""
    headers = response.headers
    fields = headers.first
    return Answered(
        response.url,
        hops,
        response.status,
        trail.requests[0].started_at,
        response.elapsed_s,
        response.wire_bytes,
        fields.get("content-type"),
        fields.get("etag"),
        fields.get("last-modified"),
        headers,
        response.address,
    )


def _conclude(
    host: LeasedHost,
    entry: QueuedUrl,
    response: Response,
    answer: Answered,
    retry_after_s: float | None,
    trail: Trail,
) -> Outcome:
    """The outcome of an answer that is not a page."""
    status = answer.status
    if status == 429 or (status == 503 and retry_after_s is not None):
        return RateLimited(entry, trail, answer, retry_after_s)
    if status >= 500:
        reason = f"the server answered {status}"
        return Failed(entry, trail, f"http_{status}", reason, answer.at, answer.elapsed_s, status, answer.wire_bytes)
    if 200 <= status < 300 and entry.is_image:
        return _image(entry, response, answer, trail)
    if status == 304 and entry.seen is not None and entry.seen.final_url == response.url:
        # RFC 9110 §15.4.5: fields that the answer does not repeat are unchanged.
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
    """Read the type of an image from its first bytes, not from what the server says."""
    shape = read_image(response.body)
    if shape is not None:
        return ImageFetched(entry, trail, answer, response.body, shape)
    reason = f"the response of type {answer.content_type or 'unknown'} is not a known image format"
    at, elapsed_s, status, wire_bytes = answer.at, answer.elapsed_s, answer.status, answer.wire_bytes
    return Rejected(entry, trail, "not_an_image", reason[:300], at, elapsed_s, status, wire_bytes)
