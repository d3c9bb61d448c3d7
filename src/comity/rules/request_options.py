"""Options for requests, and which origins they go to: takes text, returns options with references, not secrets.

    X-Token: env:TOKEN                       a header, for the hosts of the seeds
    https://example.com: X-Token: env:TOKEN  the same, for one origin
    session=file:session.txt                 a cookie; `file:cookies.txt` alone is a Netscape cookie file
    basic me env:PASSWORD                    credentials; or `digest me env:PASSWORD`, `bearer env:TOKEN`
    http://me:env:PASSWORD@proxy:3128        a proxy; `file:proxies.txt` alone is a list, one per line

A value is text, or a reference to a secret: `env:NAME` and `file:PATH`, alone or as the last word. Every option has
one origin (scheme, name and port), and is sent nowhere else. A host without a scheme means https: what is meant for TLS
is never sent without it. `http://example.com` also covers `https://example.com`, the safer way to the same host.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from xxhash import xxh3_64_intdigest

from comity.model.dataclass import dataclass
from comity.model.errors import BadAddress, BadInput
from comity.model.fetch import Proxy
from comity.model.host import Seed
from comity.rules.canonical import address_of_host, canonical_host, web_address

MOST_OPTIONS: Final = 1000
LONGEST_VALUE: Final = 8192
PROXY_SCHEMES: Final = ("http", "https", "socks5", "socks5h")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")  # RFC 9110 §5.6.2
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_COOKIE_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_COOKIE_VALUE: Final = re.compile(r'[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e"]*')  # RFC 6265 §4.1.1, and quotes
_REFERENCE: Final = re.compile(r"(?:(?P<before>[^\s:]+) )?(?P<kind>env|file):(?P<name>.+)")
_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
# A host in front of an option has a scheme, a dot, a port or brackets, so no header name looks like one.
_SCOPE: Final = re.compile(
    r"(?P<scope>https?://[^\s/?#@]+?|\[[0-9A-Fa-f:.]+\](?::\d{1,5})?|[^\s/?#@:]+:\d{1,5}|[^\s/?#@:]*\.[^\s/?#@:]*):\s+"
    r"(?P<rest>\S.*)",
    re.DOTALL,
)
_HEADER: Final = re.compile(r"(?P<name>[^\s:]+)\s*:[ \t]*(?P<value>.*)", re.DOTALL)

_OWN_SETTING: Final = {
    "user-agent": "it is set by COMITY_USER_AGENT",
    "from": "it is set by COMITY_CONTACT",
    "cookie": "use the cookie option, which sends cookies only to their host",
    "cookie2": "use the cookie option, which sends cookies only to their host",
    "proxy-authorization": "put the user name and password into the URL of the proxy",
}
_MESSAGE: Final = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "http2-settings",
        "if-match",
        "if-modified-since",
        "if-none-match",
        "if-range",
        "if-unmodified-since",
        "keep-alive",
        "max-forwards",
        "proxy-connection",
        "range",
        "set-cookie",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# Headers whose values may be stored as plain text. Every other value may be a secret.
PUBLIC_HEADERS: Final = frozenset(
    {
        "accept",
        "accept-language",
        "cache-control",
        "dnt",
        "pragma",
        "priority",
        "referer",
        "sec-gpc",
        "upgrade-insecure-requests",
        "x-requested-with",
    }
)


class Reference(NamedTuple):
    """Where a secret is: in an environment variable or a file."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


class Value(NamedTuple):
    """A text, or a word and a reference: `Bearer env:TOKEN`. Its text may be a secret, so it is not shown."""

    text: str
    reference: Reference | None = None

    def __repr__(self) -> str:
        return f"Value({self.reference or '…'})"


@dataclass(frozen=True, slots=True)
class HeaderOption:
    """A header for one origin, or for every origin of the seeds."""

    origin: str | None
    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class CookieOption:
    """A cookie, or without a name a Netscape cookie file."""

    origin: str | None
    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class AuthOption:
    """Credentials: `basic` or `digest` with a user, or `bearer`."""

    origin: str | None
    scheme: str
    user: Value
    secret: Value


@dataclass(frozen=True, slots=True)
class ProxyOption:
    """A proxy, or without a URL a list of them."""

    url: str
    user: Value | None = None
    password: Value | None = None
    list: Reference | None = None

    @property
    def holds_secret(self) -> bool:
        """Whether it contains a literal password; a user without a password may be a key."""
        if self.password is not None and self.password.reference is not None:
            return False
        return bool((self.password and self.password.text) or (self.user and self.user.reference is None))


def read_value(field: str, text: str) -> Value:
    """Read a value with its reference; raises `BadInput`, without the text (it may be secret), if it cannot be sent."""
    if len(text) > LONGEST_VALUE:
        raise BadInput(field, f"a value is longer than {LONGEST_VALUE:,} characters")
    if _CONTROL.search(text.replace("\t", " ")):
        raise BadInput(field, "a value contains a line break or another control character")
    found = _REFERENCE.fullmatch(text)
    if found is None:
        return Value(text)
    kind, name = found["kind"], found["name"].strip()
    if kind == "env" and not _ENV_NAME.fullmatch(name):
        raise BadInput(field, "write the name of an environment variable after env:, such as env:SITE_TOKEN")
    return Value(found["before"] or "", Reference(kind, name))


def read_header(field: str, text: str) -> HeaderOption:
    """Read `Name: value` or `host: Name: value`."""
    origin, rest = split_scope(text)
    found = _HEADER.fullmatch(rest)
    if found is None and origin is not None:  # the name of a header may have a dot
        origin, found = None, _HEADER.fullmatch(text)
    if found is None or not is_header_name(found["name"]):
        raise BadInput(field, "a header is written as 'Name: value', or for one host as 'example.com: Name: value'")
    name = found["name"]
    reason = refusal_of_header(name)
    if reason is not None:
        raise BadInput(field, reason)
    return HeaderOption(origin, name, read_value(field, found["value"].rstrip(" \t")))


def is_header_name(text: str) -> bool:
    """Whether a text can be the name of a header."""
    return _TOKEN.fullmatch(text) is not None


def refusal_of_header(name: str) -> str | None:
    """Why a header may not be set: it would break the message, or there is a setting for it."""
    lowered = name.lower()
    if lowered in _OWN_SETTING:
        return f"the header {name} may not be set: {_OWN_SETTING[lowered]}"
    if lowered in _MESSAGE or lowered.startswith(("proxy-", "sec-websocket")):
        return f"the header {name} may not be set: Comity sets it itself"
    return None


def read_cookie_option(field: str, text: str) -> CookieOption:
    """Read `name=value`, `host: name=value`, or `file:PATH` for a Netscape cookie file."""
    origin, rest = split_scope(text)
    if rest.startswith("file:"):
        return CookieOption(origin, "", read_value(field, rest))
    name, equals, text = rest.partition("=")
    if not equals or not _COOKIE_NAME.fullmatch(name):
        raise BadInput(field, "a cookie is written as 'name=value'; file:cookies.txt reads a Netscape cookie file")
    value = read_value(field, text)
    if value.reference is None and not _COOKIE_VALUE.fullmatch(value.text):
        raise BadInput(field, f"the value of the cookie {name} contains a character that cookies cannot contain")
    return CookieOption(origin, name, value)


def is_cookie_value(text: str) -> bool:
    """Whether a text can be the value of a cookie."""
    return len(text) <= LONGEST_VALUE and _COOKIE_VALUE.fullmatch(text) is not None


def read_auth(field: str, text: str) -> AuthOption:
    """Read `basic USER env:PASSWORD`, the same with `digest`, or `bearer env:TOKEN`; with a host for one host."""
    origin, rest = split_scope(text)
    scheme, _, rest = rest.strip().partition(" ")
    if scheme.lower() == "bearer" and rest.strip():
        return AuthOption(origin, "bearer", Value(""), read_value(field, rest.strip()))
    if scheme.lower() in ("basic", "digest"):
        user, _, secret = rest.strip().partition(" ")
        read = read_value(field, user)
        if user and secret.strip() and (read.reference is not None or ":" not in user):
            return AuthOption(origin, scheme.lower(), read, read_value(field, secret.strip()))
    raise BadInput(
        field, "credentials are written as 'basic USER env:PASSWORD', 'digest USER env:PASSWORD' or 'bearer env:TOKEN'"
    )


def authorization(scheme: str, user: str, secret: str) -> str:
    """The Authorization header for credentials (RFC 7617, RFC 6750)."""
    if scheme == "bearer":
        return f"Bearer {secret}"
    return "Basic " + b64encode(f"{user}:{secret}".encode()).decode("ascii")


def read_proxy(field: str, text: str) -> ProxyOption:
    """Read the URL of a proxy, with or without user and password; or `file:PATH` or `env:NAME` for a list."""
    text = text.strip()
    if text.startswith(("env:", "file:")):
        return ProxyOption("", list=read_value(field, text).reference)
    wrong = BadInput(field, f"a proxy must be scheme://host:port with one of {', '.join(PROXY_SCHEMES)}")
    if _CONTROL.search(text) or " " in text:
        raise wrong
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in PROXY_SCHEMES or not parts.hostname or parts.path not in ("", "/") or parts.query:
        raise wrong
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    url = f"{parts.scheme}://{host}" + (f":{port}" if port is not None else "")
    user = None if parts.username is None else read_value(field, unquote(parts.username))
    password = None if parts.password is None else read_value(field, unquote(parts.password))
    return ProxyOption(url, user, password)


def split_scope(text: str) -> tuple[str | None, str]:
    """The origin in front of an option, if there is one, and the rest."""
    found = _SCOPE.fullmatch(text)
    if found is None:
        return None, text
    return origin_of_scope(found["scope"]), found["rest"]


def origin_of_scope(text: str) -> str:
    """The origin that a host stands for; without a scheme, https."""
    return web_address(text).origin


def origins_of_seeds(seeds: Iterable[Seed]) -> tuple[str, ...]:
    """The origins of seeds, which receive the options that give no host. A guessed scheme is https."""
    found: dict[str, None] = {}
    for seed in seeds:
        address = web_address(seed.url) if seed.url is not None else address_of_host(seed.host.authority)
        found[address.origin] = None
    return tuple(found)


def origins_reached(origin: str) -> tuple[str, ...]:
    """Where an option for an origin may go: there, and from http to https of the same host on the usual ports."""
    scheme, _, authority = origin.partition("://")
    if scheme == "http" and ":" not in authority.rpartition("]")[2]:
        return origin, f"https://{authority}"
    return (origin,)


def host_of_origin(origin: str, *, collapse: bool = False) -> str | None:
    """The host of an origin, as leases name it."""
    try:
        return canonical_host(origin, collapse=collapse).authority
    except BadAddress:
        return None


def sticky_proxy(proxies: Sequence[Proxy], host: str) -> Proxy | None:
    """The proxy of a host: the same in every process. Adding or removing a proxy moves only its share of the hosts.

    The highest of the hashes of host and proxy wins (rendezvous hashing).
    """

    def rank(proxy: Proxy) -> tuple[int, str]:
        # Some providers have one address, and a user for each of their exits.
        name = proxy.url if proxy.user is None else f"{proxy.url} {proxy.user}"
        return xxh3_64_intdigest(f"{host} {name}".encode()), name

    return max(proxies, key=rank, default=None)


def mask_proxy(text: str) -> str:
    """A proxy's URL for display, without user and password. References are kept."""
    if "@" not in text:
        return text
    scheme, separator, rest = text.partition("://")
    return f"{scheme}{separator}…@{rest.rpartition('@')[2]}" if separator else "…"
