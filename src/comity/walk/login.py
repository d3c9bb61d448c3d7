"""Log in to a host before its first page is visited: the page with the form, the form itself, and where it leads.

These are requests like any other: admitted by robots.txt and takedowns, started by the host's gate, with rows in the
ledger. They stay on the host; cookies that it sets go into the jar of its lease. None of it is stored.
"""

from __future__ import annotations

import asyncio
from typing import Final

from comity.extract.forms import FilledForm, fill_form, passes
from comity.model.dataclass import dataclass
from comity.model.fetch import FailureKind, FetchFailure, FetchRequest, FormLogin, Response
from comity.model.frontier import QueuedUrl
from comity.model.gate import Wait, WaitReason
from comity.model.ledger import Purpose
from comity.model.outcome import Postponed, Refused, Trail
from comity.model.run import EndReason
from comity.model.wording import counted
from comity.rules.canonical import WebAddress, resolve_link, resolve_location
from comity.rules.politeness.backoff import retry_delay
from comity.rules.request_options import origins_reached
from comity.rules.url_secrets import masked_url
from comity.walk.evidence import robots_evidence
from comity.walk.request import NotStarted
from comity.walk.session.leased_host import LeasedHost
from comity.walk.visit.context import VisitContext
from comity.walk.visit.fetch_page import Granted, grant
from comity.walk.visit.visit import REDIRECTS

_TRIES: Final = 3
_AS_POST: Final = frozenset({307, 308})  # RFC 9110 §15.4.8: the method stays


@dataclass(frozen=True, slots=True)
class LoginFailed:
    """A login that did not work; `may_work_later` if the network or the server failed."""

    reason: str
    may_work_later: bool = False


@dataclass(frozen=True, slots=True)
class LoginPutOff:
    """A login that could not be tried now: the host asked Comity to wait, or its lease is over."""

    until: float | None


LoginProblem = LoginFailed | LoginPutOff


async def log_in(host: LeasedHost, context: VisitContext) -> LoginProblem | None:
    """Log in to a host, a few times if the network or the server fails; None once it worked."""
    identity = host.identity
    login = identity.terms.login if identity is not None else None
    if identity is None or login is None:
        return None
    problem: LoginProblem | None = None
    for attempt in range(1, _TRIES + 1):
        trail = Trail()
        try:
            problem = await _attempt(host, login, trail, context, may_be_in=bool(identity.jar))
        finally:
            host.unsettled.requests += trail.requests
            host.unsettled.evidence += trail.evidence
        if not isinstance(problem, LoginFailed) or not problem.may_work_later or host.is_closed:
            break
        if attempt < _TRIES:
            await asyncio.sleep(retry_delay(attempt, host.profile.max_retry_backoff_s))
    return problem


async def log_in_again(host: LeasedHost, context: VisitContext) -> None:
    """Log in again to a host whose session has ended; if the login no longer works, the host is released."""
    assert host.identity is not None
    host.identity.forget_session()
    problem = await log_in(host, context)
    if isinstance(problem, LoginFailed) and host.stopped_by is None:
        host.stopped_by = (EndReason.LOGIN_FAILED, problem.reason)
    if problem is not None and not host.is_stopped:
        host.drain()


async def _attempt(
    host: LeasedHost, login: FormLogin, trail: Trail, context: VisitContext, *, may_be_in: bool
) -> LoginProblem | None:
    address = resolve_link(login.page, login.page, collapse=context.scope.collapse_subdomains)
    assert address is not None
    page = await _follow(host, login, address, None, trail, context)
    if not isinstance(page, Response):
        return page
    if page.status >= 400:
        return _refused(page, "the login page")
    if may_be_in and passes(login.check, page.body, page.content_type, page.url):
        return None  # by the stored cookies
    form = fill_form(page.body, page.content_type, page.url, login)
    if isinstance(form, str):
        return LoginFailed(form)
    answer = await _follow(host, login, form.address, form, trail, context)
    if not isinstance(answer, Response):
        return answer
    if answer.status >= 400:
        return _refused(answer, "the login form")
    if not passes(login.check, answer.body, answer.content_type, answer.url):
        return LoginFailed(
            f"the login led to {masked_url(answer.url)}, which does not pass the check; check the values of the fields"
        )
    return None


async def _follow(
    host: LeasedHost,
    login: FormLogin,
    address: WebAddress,
    form: FilledForm | None,
    trail: Trail,
    context: VisitContext,
) -> Response | LoginProblem:
    """Make a request of the login, redirect by redirect; none leaves the host."""
    allowed = origins_reached(login.page[: login.page.index("/", 8)])
    for _hop in range(context.max_redirects + 1):
        if address.origin not in allowed:
            return LoginFailed(f"the login leads to {address.origin}; it must stay at {allowed[0]}")
        if address.origin != allowed[0]:
            allowed = (address.origin,)  # from here on only https
        asked = await _ask(host, address, form, trail, context)
        if not isinstance(asked, Response):
            return asked
        location = asked.headers.get("location") if asked.status in REDIRECTS else None
        if location is None:
            return asked
        target = resolve_location(location, asked.url, collapse=context.scope.collapse_subdomains)
        if target is None:
            return LoginFailed("the login redirects to a URL that is not http or https")
        form = form if asked.status in _AS_POST else None
        address = target
    return LoginFailed(f"the login needs more than {counted(context.max_redirects, 'redirect')}")


async def _ask(
    host: LeasedHost, address: WebAddress, form: FilledForm | None, trail: Trail, context: VisitContext
) -> Response | LoginProblem:
    """Make one request: admission, gate, ledger."""
    entry = QueuedUrl(address.url, address.key, 0)
    granted = await grant(host, entry, address, trail, context, leads="the login leads to")
    if isinstance(granted, Refused):
        return LoginFailed(f"{masked_url(address.url)} may not be requested: {granted.reason}")
    if isinstance(granted, Postponed):
        if host.stopped_by is not None:
            return LoginFailed(host.stopped_by[1])
        return LoginFailed("robots.txt could not be read", may_work_later=True)
    assert isinstance(granted, Granted)
    trail.evidence.append(robots_evidence(host, _masked(address), granted.verdict, context.clock()))
    request = FetchRequest(address.url, limits=host.fetch_limits(context.limits))
    if form is not None:
        request = request._replace(method="POST", body=form.body, headers=(("Content-Type", form.content_type),))
    asked = await context.requests.ask(
        host,
        request,
        Purpose.LOGIN,
        verdict=granted.verdict,
        robots_version=granted.robots_version,
        may_go=lambda: context.takedowns().covering(address) is None,
    )
    if isinstance(asked, NotStarted):
        is_block = isinstance(asked.why, Wait) and asked.why.reason is WaitReason.BLOCK
        return LoginPutOff(asked.why.until if is_block and isinstance(asked.why, Wait) else None)
    trail.requests.append(asked.row._replace(url=masked_url(asked.row.url)))
    if isinstance(asked.result, FetchFailure):
        failure = asked.result
        if failure.kind.is_ours:
            host.note_our_failure(failure.kind, failure.detail)
        may_work_later = failure.kind.is_network and failure.kind is not FailureKind.CREDENTIALS_MISSING
        return LoginFailed(f"{masked_url(address.url)} could not be fetched: {failure.detail}", may_work_later)
    return asked.result


def _refused(response: Response, what: str) -> LoginFailed:
    return LoginFailed(f"{what} was answered with {response.status}", response.status == 429 or response.status >= 500)


def _masked(address: WebAddress) -> WebAddress:
    """An address for records: single sign-on puts tickets into the URLs of its redirects (`?ticket=…`)."""
    return address._replace(url=masked_url(address.url))
