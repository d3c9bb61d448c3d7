"""Headers, cookies, credentials, proxy and login for the requests to one host.

Values are plain here, because they are about to be sent. They live in memory only, and no `repr` shows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from comity.model.fetch import Cookie, Proxy

Pairs = tuple[tuple[str, str], ...]
LOGGED_OUT_STATUSES: Final = frozenset({401, 403, 419, 440})
"""Statuses that pages have for a client whose session has ended; the last two are those of Laravel and IIS."""


@dataclass(frozen=True, slots=True)
class LoginCheck:
    """How to check that a login worked, on the page that it led to. All conditions that are set must hold."""

    selector: str | None = None
    text: str | None = None
    url: str | None = None
    """The path, or the whole URL, where the login leads."""


@dataclass(frozen=True, slots=True)
class FormLogin:
    """A form that is filled in and sent before the first page of a host is visited."""

    page: str
    """The URL of the page with the form."""
    fields: Pairs = field(repr=False)
    check: LoginCheck
    form: str | None = None
    """A CSS selector, where the form cannot be recognized by its fields."""
    ended: LoginCheck | None = None
    """How to recognize a page that is served because the session has ended, besides what every site does."""
    ended_statuses: frozenset[int] = LOGGED_OUT_STATUSES


@dataclass(frozen=True, slots=True)
class DigestLogin:
    """A user name and a password that are sent only as a digest of a server's challenge (RFC 7616)."""

    user: str = field(repr=False)
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class RequestIdentity:
    """What goes to one host. Headers go to exactly the origins they are for (scheme, name and port)."""

    headers: Mapping[str, Pairs] = field(default_factory=dict, repr=False)
    cookies: tuple[Cookie, ...] = ()
    proxy: Proxy | None = None
    login: FormLogin | None = None
    has_jar: bool = False
    """Whether cookies that the host sets are sent back for the length of the lease."""
    keeps_cookies: bool = False
    """Whether the jar is kept with the host between leases."""
    digests: Mapping[str, DigestLogin] = field(default_factory=dict)
    """By origin, as headers are."""
    problem: str | None = None
    """Why the host cannot be requested: a secret or file that it needs cannot be read. Then nothing is sent."""

    @property
    def is_personal(self) -> bool:
        """Whether answers may hold secrets of ours, such as the cookie of a session."""
        return bool(self.headers or self.cookies or self.login or self.has_jar or self.digests)

    @property
    def needs_a_step(self) -> bool:
        """Whether there is a step before the first visit: a login, or a report that the host cannot be requested."""
        return self.login is not None or self.problem is not None
