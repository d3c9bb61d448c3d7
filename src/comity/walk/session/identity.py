"""Headers and cookies for the requests to one leased host; the cookie jar lasts as long as the lease."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import inf
from typing import Final, Protocol

from comity.model.fetch import Cookie, FetchRequest, Headers, Response
from comity.model.host import HostPolicy
from comity.model.request_identity import RequestIdentity
from comity.rules.canonical import origin_of
from comity.rules.cookies import cookie_field, cookies_after

_RENEWALS_MOST: Final = 20  # logins in one lease after the first
_IN_VAIN_MOST: Final = 3  # logins that changed nothing: the signs mean something else on this host
LogIn = Callable[[], Awaitable[object]]
IdentityOf = Callable[[str, HostPolicy | None], RequestIdentity | None]
"""What requests to a host carry, by its name and policy; None for nothing besides the usual."""


class KeepsCookies(Protocol):
    """Where cookies are kept between leases."""

    def load(self, host: str) -> tuple[Cookie, ...]:
        """The cookies of a host."""
        ...

    def save(self, host: str, cookies: tuple[Cookie, ...]) -> None:
        """Keep the cookies of a host instead of those before."""
        ...


@dataclass(frozen=True, slots=True)
class Identities:
    """The headers and cookies for each host, and where its cookies are kept."""

    identity_of: IdentityOf
    kept: KeepsCookies | None = None


class HostIdentity:
    """Fills requests to a host, and takes the cookies out of its answers.

    Answers of such a host lose their Set-Cookie fields here: what a site gives to someone who is logged in is a secret,
    and nothing behind this point (pages, archives, evidence) may store it.
    """

    __slots__ = (
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
        self.jar: tuple[Cookie, ...] = _joined(kept, terms.cookies)
        self._loaded = kept

    def fill(self, request: FetchRequest, now: float) -> FetchRequest:
        """The request with everything that is meant for its origin, and nothing else."""
        terms = self.terms
        own = terms.headers.get(origin_of(request.url), ()) if terms.headers else ()
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

    def forget_session(self) -> None:
        """Empty the jar, but for what the operator put there: its session has ended."""
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
        """Log in once more because of the answer to a URL, asked for at a time; say whether to ask for it again.

        A URL that ends a fresh session twice is the logout, or is not for us: it is taken as it is. Such a host gets
        one request at a time, so that the one that ends its session is the first to notice.
        """
        async with self._logging_in:
            if self._renewed_at > asked_at:
                return True  # another visit has done it meanwhile
            if self.log_in is None or self._renewals >= _RENEWALS_MOST:
                return False
            self._renewals += 1
            await self.log_in()
            self._renewed_at = clock()
        is_first = key not in self._suspects
        self._suspects.add(key)
        return is_first

    def use(self, terms: RequestIdentity) -> HostIdentity:
        """The same host under changed terms; its jar stays."""
        changed = HostIdentity(terms)
        changed.jar, changed._loaded = _joined(self.jar, terms.cookies), self._loaded
        changed.log_in, changed._suspects, changed._renewals = self.log_in, self._suspects, self._renewals
        changed._in_vain, changed._renewed_at = self._in_vain, self._renewed_at
        return changed

    @property
    def to_keep(self) -> tuple[Cookie, ...] | None:
        """The cookies to keep with the host; None if they are not kept, or as they were."""
        if not self.terms.keeps_cookies or self.jar == self._loaded:
            return None
        own = set(self.terms.cookies)  # the operator keeps these
        return tuple(cookie for cookie in self.jar if cookie not in own)


def _joined(first: tuple[Cookie, ...], then: tuple[Cookie, ...]) -> tuple[Cookie, ...]:
    """Two lists of cookies; of two with one name and place, the later counts."""
    found = {(cookie.name, cookie.domain, cookie.port, cookie.path): cookie for cookie in (*first, *then)}
    return tuple(found.values())
