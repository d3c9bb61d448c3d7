"""Cookies of one host (RFC 6265 §5): takes Set-Cookie headers, returns the Cookie header of a later request.

Sites that set a cookie and redirect back would otherwise redirect forever. Without a jar nothing outlives the visit.
The rules are narrower than a browser's: a cookie never leaves its host, whatever domain it names, and one that came by
https never goes out by http. `www.example.com` and `example.com` are one host, so a cookie for `example.com` is for
both, and for no other name below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

import ada_url

from comity.model.fetch import Cookie
from comity.rules.canonical import is_public_suffix
from comity.rules.politeness.backoff import parse_http_date

MOST_COOKIES: Final = 50
_LONGEST_COOKIE: Final = 4096  # RFC 6265 §6.1: name, value and attributes together
_LONGEST_HEADER: Final = 8192
_MOST_LINES: Final = 100
_UNSENDABLE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_MAX_AGE: Final = re.compile(r"-?[0-9]+", re.ASCII)
_LAST_CENTURY: Final = re.compile(r"(-[A-Za-z]{3}-)([7-9][0-9])(?![0-9])", re.ASCII)
_USUAL_PORTS: Final = frozenset({"", "80", "443"})
_BLANKS: Final = " \t"


class _Origin(NamedTuple):
    """The parts of an address that decide about cookies."""

    is_secure: bool
    host: str
    port: str
    path: str


def cookies_after(
    cookies: tuple[Cookie, ...], url: str, lines: Iterable[str], now: float, *, exact: bool = False
) -> tuple[Cookie, ...]:
    """The cookies of a visit after an answer from `url` with these Set-Cookie fields.

    With `exact`, each cookie is only for the name that set it. A jar needs that: a cookie set after a login is a
    secret.
    """
    place = _place(url)
    kept = {(cookie.name, cookie.domain, cookie.port, cookie.path): cookie for cookie in cookies}
    for _number, line in zip(range(_MOST_LINES), lines, strict=False):
        cookie = read_cookie(line, place, now)
        if cookie is None:
            continue
        if exact:
            cookie = cookie._replace(domain=place.host, is_host_only=True)
        key = (cookie.name, cookie.domain, cookie.port, cookie.path)
        kept.pop(key, None)
        if cookie.expires_at is None or cookie.expires_at > now:
            kept[key] = cookie
    return tuple(kept.values())[-MOST_COOKIES:]


def cookie_field(cookies: Iterable[Cookie], url: str, now: float) -> str | None:
    """The Cookie field for a request to `url`; None if no cookie applies (RFC 6265 §5.4)."""
    place = _place(url)
    fitting = [cookie for cookie in cookies if _fits(cookie, place, now)]
    fitting.sort(key=lambda cookie: -len(cookie.path))  # longer paths first; of equals, the older first
    text = "; ".join(f"{cookie.name}={cookie.value}" for cookie in fitting)
    return text if text and len(text) <= _LONGEST_HEADER else None


def read_cookie(line: str, place: _Origin, now: float) -> Cookie | None:
    """Read one Set-Cookie field; None if its cookie must not be kept (RFC 6265 §5.2, §5.3)."""
    if len(line) > _LONGEST_COOKIE or _UNSENDABLE.search(line):
        return None
    pair, *rest = line.split(";")
    name, equals, value = (part.strip(_BLANKS) for part in pair.partition("="))
    if not equals or not name:
        return None
    attributes = {}
    for item in rest:
        key, _equals, text = item.partition("=")
        attributes[key.strip(_BLANKS).lower()] = text.strip(_BLANKS)  # the last of a kind counts
    scope = _domain(attributes.get("domain", ""), place)
    if scope is None:
        return None
    domain, is_host_only = scope
    path = attributes.get("path", "")
    if not path.startswith("/"):
        path = _default_path(place.path)
    is_secure = "secure" in attributes
    if is_secure and not place.is_secure:
        return None  # an attacker on an http connection must not set cookies for https
    if not _keeps_its_prefix(name, is_secure, is_host_only, attributes.get("path")):
        return None
    return Cookie(name, value, domain, is_host_only, place.port, path, place.is_secure, _expires_at(attributes, now))


def own_cookie(origin: str, name: str, value: str) -> Cookie:
    """A cookie that an operator sets for one origin; for all of its paths."""
    place = _place(f"{origin}/")
    return Cookie(name, value, place.host, True, place.port, "/", place.is_secure)


def read_cookie_file(text: str, origin: str, now: float) -> tuple[tuple[Cookie, ...], int]:
    """The cookies of a Netscape cookie file that are for an origin, and how many lines cannot be read.

    A line has seven fields, separated by tabs: domain, whether for its subdomains too, path, whether for https only,
    expiry (0: with the session), name, value. A cookie for a domain above the origin's host becomes one for that host.
    """
    place = _place(f"{origin}/")
    found: dict[tuple[str, str], Cookie] = {}
    unread = 0
    for line in text.splitlines():
        line = line.removeprefix("#HttpOnly_")
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 7 or not fields[5] or _UNSENDABLE.search(line.replace("\t", "")):
            unread += 1
            continue
        domain, is_for_all, path, is_secure, expires, name, value = fields
        domain = domain.removeprefix(".").lower()
        is_for_host = domain == place.host or (is_for_all.upper() == "TRUE" and _is_below(place.host, domain))
        if not is_for_host or (is_secure.upper() == "TRUE" and not place.is_secure):
            continue
        try:
            expires_at = float(expires) or None
        except ValueError:
            unread += 1
            continue
        if expires_at is None or expires_at > now:
            path = path if path.startswith("/") else "/"
            cookie = Cookie(name, value, place.host, True, place.port, path, place.is_secure, expires_at)
            found[name, path] = cookie
    return tuple(found.values())[-MOST_COOKIES:], unread


def _domain(said: str, place: _Origin) -> tuple[str, bool] | None:
    """The domain of a cookie, and whether it is for that host alone; None if the host may not set it."""
    domain = said.removeprefix(".").lower()
    if not domain or domain == place.host:
        return place.host, not domain or is_public_suffix(domain)
    if is_public_suffix(domain) or not _is_below(place.host, domain):
        return None
    # A domain above the host would share the cookie with other hosts.
    return (domain, False) if place.host == f"www.{domain}" else (place.host, True)


def _keeps_its_prefix(name: str, is_secure: bool, is_host_only: bool, path: str | None) -> bool:
    """Whether a cookie keeps the promise of its name prefix (RFC 6265bis §4.1.3)."""
    lowered = name.lower()
    if lowered.startswith("__host-"):
        return is_secure and is_host_only and path == "/"
    return is_secure or not lowered.startswith("__secure-")


def _expires_at(attributes: dict[str, str], now: float) -> float | None:
    """When a cookie expires. Max-Age takes precedence over Expires; unreadable values are ignored."""
    age = attributes.get("max-age")
    if age is not None and _MAX_AGE.fullmatch(age):
        return now + max(-1.0, float(age[:12]))
    if "expires" not in attributes:
        return None
    # RFC 6265 §5.1.1: the years 70 to 99 are those of the last century; that is how cookies are deleted.
    return parse_http_date(_LAST_CENTURY.sub(r"\g<1>19\g<2>", attributes["expires"]), now)


def _fits(cookie: Cookie, place: _Origin, now: float) -> bool:
    if cookie.port != place.port or (cookie.is_secure and not place.is_secure):
        return False
    if cookie.expires_at is not None and cookie.expires_at <= now:
        return False
    if cookie.domain != place.host and (cookie.is_host_only or place.host != f"www.{cookie.domain}"):
        return False
    path = cookie.path
    return place.path == path or (place.path.startswith(path) and (path.endswith("/") or place.path[len(path)] == "/"))


def _is_below(host: str, domain: str) -> bool:
    """Whether a host name lies below a domain; an address lies below nothing (RFC 6265 §5.1.3)."""
    return host.endswith(f".{domain}") and not host.rpartition(".")[2].isdigit() and not host.startswith("[")


def _default_path(path: str) -> str:
    """The folder of the page that set the cookie (RFC 6265 §5.1.4)."""
    folder = path.rpartition("/")[0]
    return folder or "/"


def _place(url: str) -> _Origin:
    parsed = ada_url.URL(url)
    port = "" if parsed.port in _USUAL_PORTS else parsed.port
    return _Origin(parsed.protocol == "https:", parsed.hostname, port, parsed.pathname)
