"""Who may ask for what: decided from a request's head alone, before anything of it is read.

Without a login the admin is for this machine only, and only in dev. With one, every admin route needs a session or a
token. A page that somebody's browser shows must not be able to use either (CSRF, DNS rebinding).
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import cookie_parser

from comity.doors.web.refusals import Refused
from comity.doors.web.sessions import Session, Sessions, is_token

CSRF_HEADER: Final = "x-csrf-token"
SESSION_PATH: Final = "/admin/session"
_ALWAYS_OPEN: Final = frozenset({"/healthz", "/readyz"})  # asked for by address, and they tell nothing
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# A proxy in front makes everybody look like this machine.
_FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class AccessTerms:
    """How the admin is kept."""

    is_dev: bool
    password_hash: str | None = None
    token_hashes: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    session_s: float = 12 * 3600.0

    @property
    def has_login(self) -> bool:
        """Whether somebody can log in."""
        return self.password_hash is not None or bool(self.token_hashes)

    @property
    def cookie_name(self) -> str:
        """The session's cookie; the prefix has browsers refuse it from anywhere but this very host (RFC 6265bis)."""
        return "comity_session" if self.is_dev else "__Host-comity_session"


@dataclass(frozen=True, slots=True)
class Asking:
    """The head of a request: header names in lower case."""

    method: str
    path: str
    client: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Admitted:
    """Somebody who may ask; `session` if they logged in, with the name it goes by."""

    session: Session | None = None
    session_name: str | None = None


class Access:
    """The door itself."""

    def __init__(self, terms: AccessTerms) -> None:
        self.terms = terms
        self.sessions = Sessions(terms.session_s)
        self._hosts = frozenset(name.lower() for name in terms.allowed_hosts)

    def admit(self, asking: Asking, now: float) -> Admitted:
        """Let somebody in, or raise `Refused`."""
        if asking.path in _ALWAYS_OPEN:
            return Admitted()
        self._check_host(asking)
        if asking.path != "/admin" and not asking.path.startswith("/admin/"):
            return Admitted()
        if not self.terms.has_login:
            self._check_this_machine(asking)
            _check_origin(asking)
            return Admitted()
        scheme, _, token = asking.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":  # no browser sends that by itself
            if is_token(token.strip(), self.terms.token_hashes):
                return Admitted()
            raise _unauthorized("the token is not known")
        _check_origin(asking)
        return self._admit_session(asking, now)

    def _admit_session(self, asking: Asking, now: float) -> Admitted:
        name = cookie_parser(asking.headers.get("cookie", "")).get(self.terms.cookie_name)
        session = self.sessions.get(name, now) if name else None
        if asking.path == SESSION_PATH and asking.method == "POST":
            return Admitted(session, name)
        if session is None:
            raise _unauthorized("log in first")
        if asking.method not in _SAFE:
            given = asking.headers.get(CSRF_HEADER, "")
            if not hmac.compare_digest(given.encode("utf-8", "replace"), session.csrf_token.encode()):
                raise Refused(403, "csrf", "the X-CSRF-Token header does not have the token of the session")
        return Admitted(session, name)

    def _check_host(self, asking: Asking) -> None:
        name = _name_of(asking.headers.get("host", ""))
        if self._hosts:
            if name in self._hosts:
                return
        elif self.terms.has_login or not self.terms.is_dev or _is_this_machine(name):
            return
        raise Refused(403, "host_not_allowed", "this server does not go by that name; see COMITY_ALLOWED_HOSTS")

    def _check_this_machine(self, asking: Asking) -> None:
        if not self.terms.is_dev:
            raise Refused(403, "admin_closed", "the admin is closed: no login is configured")
        is_forwarded = any(name in asking.headers for name in _FORWARDED)
        if is_forwarded or not _is_this_machine(asking.client):
            raise Refused(403, "admin_closed", "without a login the admin is for this machine only")


def is_loopback(name: str) -> bool:
    """Whether a host name or address is this machine's own."""
    return _is_this_machine(_name_of(name))


def _check_origin(asking: Asking) -> None:
    """Refuse what another site's page sends; browsers say where from, other programs say nothing."""
    if asking.method in _SAFE:
        return
    came_from = asking.headers.get("sec-fetch-site")
    if came_from not in (None, "same-origin", "none"):
        raise Refused(403, "csrf", "another site's page may not ask for that")
    origin = asking.headers.get("origin")
    if origin is not None:
        try:
            parts = urlsplit(origin)
        except ValueError:
            parts = urlsplit("")
        if not parts.netloc or not _is_same(parts.scheme, parts.netloc, asking.headers.get("host", "")):
            raise Refused(403, "csrf", "another site's page may not ask for that")


def _is_same(scheme: str, one: str, other: str) -> bool:
    port = {"http": ":80", "https": ":443"}.get(scheme, "")
    return bool(other) and one.lower().removesuffix(port) == other.lower().removesuffix(port)


def _unauthorized(message: str) -> Refused:
    return Refused(401, "unauthorized", message, {"WWW-Authenticate": 'Bearer realm="comity"'})


def _name_of(host: str) -> str:
    """The name in a Host header, without its port."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() and ":" not in name else host


def _is_this_machine(name: str) -> bool:
    if name in _THIS_MACHINE:
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback
