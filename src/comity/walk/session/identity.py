"""Headers and cookies for the requests to one leased host; the cookie jar lasts as long as the lease."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from math import inf
from secrets import token_hex
from typing import Final, Protocol

from comity.model.dataclass import dataclass
from comity.model.fetch import Cookie, DigestLogin, FetchFailure, FetchRequest, Headers, RequestIdentity, Response
from comity.model.host import HostPolicy
from comity.rules.canonical import origin_of
from comity.rules.cookies import cookie_field, cookies_after
from comity.rules.digest import Challenge, digest_authorization, next_nonce, read_challenges

_RENEWALS_MOST: Final = 20  # further logins in one lease
_IN_VAIN_MOST: Final = 3  # logins without effect: on this host the signs mean something else
LogIn = Callable[[], Awaitable[object]]
IdentityOf = Callable[[str, HostPolicy | None], RequestIdentity | None]
"""What requests to a host carry, by its name and policy; None for nothing beyond the defaults."""


class KeepsCookies(Protocol):
    """Where cookies are stored between leases."""

    def load(self, host: str) -> tuple[Cookie, ...]:
        """The cookies of a host."""
        ...

    def save(self, host: str, cookies: tuple[Cookie, ...]) -> None:
        """Replace the stored cookies of a host."""
        ...


@dataclass(frozen=True, slots=True)
class Identities:
    """The headers and cookies for each host, and where its cookies are stored."""

    identity_of: IdentityOf
    kept: KeepsCookies | None = None


class HostIdentity:
    """Fills requests to a host, and takes the cookies out of its answers.

    Responses of such a host lose their Set-Cookie fields here: the cookies of a logged-in user are secret, and nothing
    after this point (pages, archives, evidence) may store them.
    """

    __slots__ = (
        "_challenges",
        "_in_vain",
        "_loaded",
        "_logging_in",
        "_login_page",
        "_renewals",
        "_renewed_at",
        "_suspects",
        "jar",
        "log_in",
        "terms",
    )

    def __init__(self, terms: RequestIdentity, kept: tuple[Cookie, ...] = ()) -> None:
        self.terms = terms
        self.log_in: LogIn | None = None
        """Logs in once more; set while the host is crawled."""
        self._login_page = terms.login.page.partition("?")[0] if terms.login is not None else None
        self._logging_in = asyncio.Lock()
        self._suspects: set[int] = set()  # keys of URLs that ended a session
        self._renewals = 0
        self._in_vain = 0
        self._renewed_at = -inf
        self._challenges: dict[str, _Answering] = {}  # by origin
        self.jar: tuple[Cookie, ...] = _joined(kept, terms.cookies)
        self._loaded = kept

    def fill(self, request: FetchRequest, now: float) -> FetchRequest:
        """The request with everything that is meant for its origin, and nothing else."""
        terms = self.terms
        own = terms.headers.get(origin_of(request.url), ()) if terms.headers else ()
        if self._challenges and (answering := self._challenges.get(origin_of(request.url))) is not None:
            own = (*own, ("Authorization", answering.header(request)))
        field = cookie_field(self.jar, request.url, now) if self.jar else None
        if field is not None:
            own = (*own, ("Cookie", field))
        if not own and terms.proxy is None:
            return request
        taken = {name.lower() for name, _value in own}
        rest = tuple(pair for pair in request.headers if pair[0].lower() not in taken)
        return request._replace(headers=(*rest, *own), proxy=terms.proxy)

    def received(self, response: Response, now: float) -> Response:
        """Put the cookies of an answer into the jar; give the answer without them."""
        if "set-cookie" not in response.headers.first or not self.terms.is_personal:
            return response
        if self.terms.has_jar:
            said = response.headers.get_all("set-cookie")
            self.jar = cookies_after(self.jar, response.url, said, now, exact=True)
        return response._replace(headers=Headers(pair for pair in response.headers if pair[0] != "set-cookie"))

    def is_challenged(self, sent: FetchRequest, answer: Response | FetchFailure) -> bool:
        """Whether a request has to be made again to answer a challenge for the user name and password (RFC 7616).

        That is the first request to an origin, and later one whose nonce has expired. If the answer to a new nonce is
        refused, the user name or the password is wrong, and it is not tried again.
        """
        if not self.terms.digests:
            return False
        origin = origin_of(sent.url)
        login, known = self.terms.digests.get(origin), self._challenges.get(origin)
        if known is not None and answer.status != 401:
            known.note_success(sent, answer)
        if login is None or answer.status != 401:
            return False
        challenge = read_challenges(answer.headers.get_all("www-authenticate"))
        if challenge is None or (known is not None and known.is_refused(sent, challenge)):
            return False
        if known is None or known.challenge.nonce != challenge.nonce:
            self._challenges[origin] = _Answering(login, challenge)
        return True

    def forget_session(self) -> None:
        """Empty the jar, except for the operator's cookies: its session has ended."""
        self.jar = self.terms.cookies

    def leads_to_login(self, url: str) -> bool:
        """Whether a redirect to a URL means that the session has ended."""
        return self._login_page is not None and url.partition("?")[0] == self._login_page

    @property
    def watches_for_logout(self) -> bool:
        """Whether the answer to a page can still mean that the session has ended."""
        return self.terms.login is not None and self._in_vain < _IN_VAIN_MOST

    def note_login(self, *, was_needed: bool) -> None:
        """Note whether a page that looked as if the session had ended looks different after another login."""
        self._in_vain = 0 if was_needed else self._in_vain + 1

    async def renew(self, key: int, asked_at: float, clock: Callable[[], float]) -> bool:
        """Log in again because of the response to a URL requested at a time; returns whether to request it again.

        A URL that ends a fresh session twice is the logout, or not meant for us: its response is stored unchanged. Such
        a host gets one request at a time, so that the request that ends the session is the first to notice.
        """
        async with self._logging_in:
            if self._renewed_at > asked_at:
                return True  # another visit has done it in the meantime
            if self.log_in is None or self._renewals >= _RENEWALS_MOST:
                return False
            self._renewals += 1
            await self.log_in()
            self._renewed_at = clock()
        is_first = key not in self._suspects
        self._suspects.add(key)
        return is_first

    def use(self, terms: RequestIdentity) -> HostIdentity:
        """The same host with changed options; its jar stays."""
        changed = HostIdentity(terms)
        changed.jar, changed._loaded = _joined(self.jar, terms.cookies), self._loaded
        changed.log_in, changed._suspects, changed._renewals = self.log_in, self._suspects, self._renewals
        if terms.digests == self.terms.digests:
            changed._challenges = self._challenges
        changed._in_vain, changed._renewed_at = self._in_vain, self._renewed_at
        return changed

    @property
    def to_keep(self) -> tuple[Cookie, ...] | None:
        """The cookies to store with the host; None if they are not stored or have not changed."""
        if not self.terms.keeps_cookies or self.jar == self._loaded:
            return None
        own = set(self.terms.cookies)  # the operator manages these
        return tuple(cookie for cookie in self.jar if cookie not in own)


class _Answering:
    """Answers the challenge of one origin, request by request."""

    __slots__ = ("_is_proved", "_login", "_uses", "challenge")

    def __init__(self, login: DigestLogin, challenge: Challenge) -> None:
        self._login = login
        self._uses = 0
        self._is_proved = False  # whether a request with it was accepted
        self.challenge = challenge

    def header(self, request: FetchRequest) -> str:
        """The Authorization header for a request."""
        self._uses += 1
        return digest_authorization(
            self.challenge,
            self._login.user,
            self._login.password,
            method=request.method,
            target=request.url[request.url.index("/", 8) :].partition("#")[0],
            body=request.body or b"",
            cnonce=token_hex(16),
            count=self._uses,
        )

    def note_success(self, sent: FetchRequest, answer: Response | FetchFailure) -> None:
        """Note that a request was not refused; the server may name its next nonce (RFC 7616 §3.5)."""
        if isinstance(answer, Response) and self._is_answered_by(sent):
            self._is_proved = True
            following = next_nonce(answer.headers.get_all("authentication-info"))
            if following is not None:
                self.challenge, self._uses = replace(self.challenge, nonce=following), 0

    def is_refused(self, sent: FetchRequest, challenge: Challenge) -> bool:
        """Whether the credentials were refused, and not only a nonce that has expired."""
        if challenge.is_stale or not self._is_answered_by(sent):
            return False
        return not self._is_proved or challenge.nonce == self.challenge.nonce

    def _is_answered_by(self, sent: FetchRequest) -> bool:
        return any(name == "Authorization" and self.challenge.nonce in value for name, value in sent.headers)


def _joined(first: tuple[Cookie, ...], then: tuple[Cookie, ...]) -> tuple[Cookie, ...]:
    """Merge two lists of cookies; a later one replaces an earlier one of the same name and place."""
    found = {(cookie.name, cookie.domain, cookie.port, cookie.path): cookie for cookie in (*first, *then)}
    return tuple(found.values())
