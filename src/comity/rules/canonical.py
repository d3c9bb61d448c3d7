"""The canonical form of a host and of a URL.

Takes text from a person, a file or a page; returns `CanonicalHost` or `WebAddress`. URLs are parsed by the WHATWG rules
(ada), so that we request exactly what a browser would; then forms that name one page by RFC 3986 §6.2.2 become one.
`query_in` encodes a query in its page's encoding: a path is always UTF-8, but a server of an older encoding expects
queries in that encoding (WHATWG URL §4.4, "query state").

Most links of most pages are plain: they need no parser. `_web_address.c` resolves them where there is a C compiler,
regular expressions elsewhere; both return what the parser returns. Most of these links were seen before and need no
decision: they are dropped there, too (`fresh_links`, `resolve_unmet`).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Collection, Sequence, Set
from functools import lru_cache
from typing import Final, NamedTuple

import ada_url
from xxhash import xxh3_64_intdigest

from comity.model.errors import BadAddress
from comity.model.host import CanonicalHost
from comity.model.named_tuple import fast_new
from comity.rules.public_suffixes import public_suffixes
from comity.rules.tracking import TrackingRules, clean_query

_FORMAT: Final = 2
try:
    from comity.rules import _web_address as _in_c

    # None if it was compiled from an older source.
    _resolve_plain, _fresh = (_in_c.resolve, _in_c.fresh) if _in_c.FORMAT == _FORMAT else (None, None)
except ImportError:  # installed where there was no C compiler
    _resolve_plain = _fresh = None

LONGEST_URL: Final = 8192
_LONGEST_LABEL: Final = 63  # RFC 1035 §2.3.4
_LONGEST_NAME: Final = 253
_WEB_SCHEMES: Final = frozenset({"http:", "https:"})
_WEB_PREFIXES: Final = ("http://", "https://")
_DEFAULT_PORTS: Final = frozenset({"", "80", "443"})
# "javascript:alert(1)" names a scheme; "localhost:8080" names a port.
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*):(?!\d)", re.IGNORECASE)
# Schemes that people paste, and whose addresses may hold an "@".
_OTHER_SCHEMES: Final = frozenset(["acct", "cid", "ftp", "im", "mailto", "mid", "sftp", "sip", "sips", "ssh", "xmpp"])
_END_OF_AUTHORITY: Final = re.compile(r"[/?#\\]")
_LABEL: Final = re.compile(r"(?=.*[a-z0-9])[a-z0-9_-]+")
# RFC 3986 §2.1: "%" and two digits. Only letters, digits and "-._~" mean the same with and without it (§2.3).
_ESCAPE: Final = re.compile("%[0-9A-Fa-f]{2}")
_BARE_PERCENT: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset(map(ord, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"))
# Escapes that `normalize_escapes` changes, or that are not escapes.
_ODD_ESCAPE: Final = re.compile("%(?:(?![0-9A-F]{2})|2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])")
# What the URL parser leaves as it is in a path and in a query (WHATWG URL §1.3), without the dots that begin a segment,
# also escaped ones, and whatever else needs a closer look. Most links of most pages are written so.
_PATH: Final = r"[A-Za-z0-9_~!$&()*+,;=:@/.-]*+(?:%(?!2[eE])[0-9A-Fa-f]{2}[A-Za-z0-9_~!$&()*+,;=:@/.-]*+)*+"
_QUERY: Final = r"(?:\?[A-Za-z0-9_~!$&()*+,;=:@/.?-]*+(?:%[0-9A-Fa-f]{2}[A-Za-z0-9_~!$&()*+,;=:@/.?-]*+)*+)?+"
_PLAIN_PATH: Final = re.compile(rf"/(?!/){_PATH}{_QUERY}")
_PLAIN_RELATIVE: Final = re.compile(rf"(?:\./)?+(?:\.\./)*+[A-Za-z0-9_~-](?![A-Za-z0-9+.-]*:){_PATH}{_QUERY}")
_PLAIN_ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9.:-]+")
# A name that is its own canonical form: no port, no address, no label in another script.
_PLAIN_NAME: Final = re.compile(
    r"https?://((?:(?!xn--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!xn--)[a-z](?:[a-z-]{0,61}[a-z])?)"
)
_UNSEEN: Final = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\u3000\ufeff]")
# The names of the Encoding Standard that Python has under others, or only as a narrower repertoire.
_CODECS: Final = {
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
    "iso-8859-8-i": "iso8859-8",
    "x-mac-cyrillic": "mac-cyrillic",
    "windows-874": "cp874",
}
_UNICODE: Final = "utf"
_HOSTS_REMEMBERED: Final = 8192
# Origins in their canonical form, with their hosts: as they are, and collapsed to their registrable domains.
_Places = dict[str, tuple[str, str]]
_places: Final[tuple[_Places, _Places]] = ({}, {})
_ESCAPED: Final = frozenset({*range(0x21), *b"\"#'<>", *range(0x7F, 0x100)})  # the special-query percent-encode set
_NOT_IN_REPERTOIRE: Final = "comity.query"
# Addresses that mean the same on every page of an origin; `_web_address.c` has the same.
WITHOUT_PATH: Final = ("/", "http://", "https://", "javascript:", "mailto:", "tel:", "data:")


@fast_new
class WebAddress(NamedTuple):
    """A URL in its canonical form, with its most used parts; a tuple, because a page makes many."""

    url: str
    origin: str
    host: str
    path: str
    key: int


_Terms = tuple[
    _Places,
    tuple[frozenset[str], tuple[str, ...], frozenset[str]] | None,
    frozenset[str] | None,
    type[WebAddress],
    Callable[[bytes], int],
]


@fast_new
class MetLinks(NamedTuple):
    """The addresses about which nothing is left to decide, by key."""

    host: str
    known: Set[int]
    """Those of the host that were seen."""
    too_deep: Set[int] | None
    """Those that were seen too deep, if they need not be seen again."""
    counted: Set[int]
    """Of the known, those that are counted each time."""
    noted: Set[int] | None
    """Those of other hosts that were noted, if they need not be noted again."""

    def leave_out(self, address: WebAddress) -> bool:
        """Whether nothing is left to decide about an address."""
        if address.host != self.host:
            return self.noted is not None and address.key in self.noted
        if address.key in self.known:
            return address.key not in self.counted
        return self.too_deep is not None and address.key in self.too_deep


def canonical_host(text: str, *, collapse: bool = False) -> CanonicalHost:
    """The canonical form of a host, an authority or a URL; raise `BadAddress` if it has none.

    The scheme, one `www.`, a default port and a trailing dot are dropped; case and punycode are folded. With
    `collapse`, sub-domains become their registrable domain.
    """
    shown = _without_password(text)
    parsed = _parse(shown, text.strip())
    return _canonical_authority(shown, parsed.hostname, parsed.port, collapse)


def host_in_url(host: str) -> str:
    """A canonical host as a URL must name it: one that still begins with `www.` needs another `www.`."""
    is_www = host.startswith("www.") and canonical_host(host).authority != host
    return f"www.{host}" if is_www else host


def address_of_host(host: str) -> WebAddress:
    """The start page of a canonical host."""
    return web_address(f"https://{host_in_url(host)}/")


def web_address(text: str, *, collapse: bool = False) -> WebAddress:
    """Parse a URL that a user typed; a bare host means its start page. Raise `BadAddress` if it is neither."""
    if text.startswith(_WEB_PREFIXES) and (plain := _join_plain(text, "")) is not None and "%" not in plain:
        path_at = plain.index("/", 8)
        name = _host_of_origin(plain[:path_at], collapse)
        if name is not None and len(plain) <= LONGEST_URL:
            return WebAddress(plain, plain[:path_at], name, plain[path_at:], url_key(plain))
    shown = _without_password(text)
    parsed = _parse(shown, text.strip())
    host = _canonical_authority(shown, parsed.hostname, parsed.port, collapse).authority
    address = _address(parsed, host)
    if len(address.url) > LONGEST_URL:  # escapes made it longer
        raise BadAddress(shown, f"longer than {LONGEST_URL} characters")
    return address


def resolve_link(
    href: str, base: str, *, collapse: bool = False, tracking: TrackingRules | None = None
) -> WebAddress | None:
    """Resolve a link found on a page; None if it is not a web address.

    With `tracking`, parameters that do not identify the page are dropped.
    """
    if _resolve_plain is not None and href.startswith(_WEB_PREFIXES):
        plain = _resolve_plain((href,), None, *_terms(collapse, tracking), None)[0]
        if not isinstance(plain, str):
            return plain
    return _resolve(href, base, collapse, tracking)


def fresh_links(hrefs: Sequence[str], met: set[str], without: Set[str] = frozenset()) -> list[str]:
    """The links of a page that have to be resolved, without fragments.

    Links that were seen in the same form on a page of the same origin are left out; those that mean the same on all of
    its pages count as seen from now on.
    """
    if _fresh is not None:
        return _fresh(hrefs, met, without)
    fresh: list[str] = []
    for href in [href for href in hrefs if href not in met and href not in without]:
        address, mark, _fragment = href.partition("#")
        if mark and (not address or address in met):
            continue  # another place on a known page
        if address.startswith(WITHOUT_PATH):
            met.add(address)
        fresh.append(address)
    return fresh


def resolve_unmet(
    hrefs: Sequence[str], base: str, met: MetLinks, *, collapse: bool = False, tracking: TrackingRules | None = None
) -> list[WebAddress]:
    """Resolve those links of a page that need a decision."""
    unmet = []
    for found in _plain_links(hrefs, base, collapse, tracking, met):
        if not isinstance(found, str):
            unmet.append(found)
        elif (address := _resolve(found, base, collapse, tracking)) is not None and not met.leave_out(address):
            unmet.append(address)
    return unmet


def _plain_links(
    hrefs: Sequence[str], base: str, collapse: bool, tracking: TrackingRules | None, met: MetLinks | None
) -> Collection[WebAddress | str]:
    """The addresses of plain links, and the other links as written; known ones are left out."""
    if _resolve_plain is None:
        return hrefs
    return _resolve_plain(hrefs, base, *_terms(collapse, tracking), met)


def _terms(collapse: bool, tracking: TrackingRules | None) -> _Terms:
    """What is the same for all links of a crawl."""
    names = tracking.names if tracking is not None else None
    # The list is not read for this alone: most links are to hosts that are known.
    is_read = public_suffixes.cache_info().currsize > 0
    suffixes = public_suffixes().rules if is_read and not collapse else None
    return _places[collapse], names, suffixes, WebAddress, xxh3_64_intdigest


def _resolve(href: str, base: str, collapse: bool, tracking: TrackingRules | None) -> WebAddress | None:
    """Resolve any link; remember its host for plain ones."""
    if len(href) > LONGEST_URL:
        return None
    # The fragment is never sent. The parts are cut out of the canonical form: asking the parser for each costs more.
    end = href.find("#")
    url = _join_plain(href if end < 0 else href[:end], base)
    if url is None:
        try:
            url = ada_url.join_url(base, href)
        except ValueError:
            return None
        if not url.startswith(_WEB_PREFIXES):
            return None
        end = url.find("#")
        if end >= 0:
            url = url[:end]
    if len(url) > LONGEST_URL:
        return None
    if "%" in url and _ODD_ESCAPE.search(url) is not None:
        url = normalize_escapes(url)
    if tracking is not None and ("?" in url or ";" in url or "/(" in url):
        cleaned = clean_query(url, tracking)
        if cleaned != url and "%" in cleaned and _ODD_ESCAPE.search(cleaned) is not None:
            # What was dropped had a bare per cent sign, which kept all escapes as they were written.
            cleaned = clean_query(normalize_escapes(cleaned), tracking)
        url = cleaned
    path_at = url.index("/", 8)
    origin = url[:path_at]
    host = _host_of_origin(origin, collapse)
    if host is None:
        return None
    places = _places[collapse]
    if origin not in places and _PLAIN_ORIGIN.fullmatch(origin) is not None:
        if len(places) >= _HOSTS_REMEMBERED:
            places.clear()
        places[origin] = (origin, host)
    return WebAddress(url, origin, host, url[path_at:], url_key(url))


def _join_plain(href: str, base: str) -> str | None:
    """Join an address that needs no parser to a base, in a third of its time; None if it may need one."""
    if href.startswith("/"):
        origin = _plain_base(base)[0]
        if origin is None:
            return None
        if not href.startswith("//"):
            return None if "/." in href or _PLAIN_PATH.fullmatch(href) is None else origin + href
        href = origin[: origin.index("/")] + href
    if href.startswith(_WEB_PREFIXES):
        path_at = href.find("/", 8)
        if path_at < 0 or "/." in href:
            return None
        path = href[path_at:]
        if _PLAIN_PATH.fullmatch(path) is None:
            return None
        origin = _origin_as_written(href[:path_at])
        return origin + path if origin is not None else None
    if _PLAIN_RELATIVE.fullmatch(href) is None:
        return None
    folder = _plain_base(base)[1]
    if folder is None:
        return None
    if href.startswith("./"):
        href = href[2:]
    while href.startswith("../"):
        href = href[3:]
        above = folder.rfind("/", 8, -1)
        folder = folder[: above + 1] if above >= 0 else folder
    return None if "/." in href else folder + href


@lru_cache(maxsize=64)
def _plain_base(base: str) -> tuple[str | None, str | None]:
    """The origin of a base and its URL up to the last slash of the path; None for what only the parser can read."""
    path_at = base.find("/", 8)
    origin = _origin_as_written(base[:path_at]) if path_at >= 0 else None
    if origin is None:
        return None, None
    path = base[path_at:].partition("?")[0]
    if "/." in path or "#" in path or _PLAIN_PATH.fullmatch(path) is None:
        return origin, None
    return origin, origin + path[: path.rindex("/") + 1]


@lru_cache(maxsize=8192)
def _origin_as_written(written: str) -> str | None:
    """The origin that a plain beginning of an address stands for, in its canonical form."""
    if _PLAIN_NAME.fullmatch(written) is not None:
        return written
    if _PLAIN_ORIGIN.fullmatch(written) is None:
        return None
    try:
        return ada_url.URL(written).href.removesuffix("/")
    except ValueError:
        return None


def resolve_location(location: str, base: str, *, collapse: bool = False) -> WebAddress | None:
    """Resolve a Location header as it was received, one character per byte.

    Servers write addresses there in UTF-8; other bytes are escaped one by one, as they were sent.
    """
    if not location.isascii():
        data = location.encode("latin-1", "replace")
        try:
            location = data.decode()
        except UnicodeDecodeError:
            location = "".join(f"%{byte:02X}" if byte > 0x7F else chr(byte) for byte in data)
    return resolve_link(location, base, collapse=collapse)


def origin_of(url: str) -> str:
    """The origin of a canonical URL."""
    return url[: url.index("/", 8)]


def normalize_escapes(url: str) -> str:
    """Normalize escapes: `%7E` becomes `~`, `%c3` becomes `%C3` (RFC 3986 §6.2.2).

    Escapes of all other characters stay: `%2F` and `/` name different pages. A parsed URL no longer has escaped dot
    segments (WHATWG URL §4.4). If a per cent sign is not part of an escape, decoding could make it one: such a URL
    stays as it is.
    """
    if "%" not in url or _BARE_PERCENT.search(url):
        return url
    return _ESCAPE.sub(_normal_escape, url)


def url_key(url: str) -> int:
    """A signed 64-bit key of a canonical URL, as both databases store it."""
    digest: int = xxh3_64_intdigest(url.encode())
    return digest - (1 << 64) if digest >= 1 << 63 else digest


def _normal_escape(escape: re.Match[str]) -> str:
    byte = int(escape[0][1:], 16)
    return chr(byte) if byte in _UNRESERVED else escape[0].upper()


def _address(parsed: ada_url.URL, host: str) -> WebAddress:
    """Drop the fragment, which is never sent, and note the parts."""
    parsed.hash = ""
    url, origin = normalize_escapes(parsed.href), parsed.origin
    return WebAddress(url, origin, host, url.removeprefix(origin), url_key(url))


def _parse(shown: str, text: str) -> ada_url.URL:
    """Parse what a user typed; refuse, with a reason, what a browser would silently repair."""
    if not text:
        raise BadAddress(shown, "empty; give a host such as example.com or a URL such as https://example.com/")
    if _UNSEEN.search(text):
        raise BadAddress(shown, "contains a space or an invisible character")
    if len(text) > LONGEST_URL:
        raise BadAddress(shown, f"longer than {LONGEST_URL} characters")
    if "://" not in text.split("?", 1)[0]:
        scheme = _SCHEME.match(text)
        # "name:password@host" looks like a scheme too.
        if scheme and (scheme[1].lower() in _OTHER_SCHEMES or not _names_a_user(text)):
            if scheme[0].lower() in _WEB_SCHEMES:
                raise BadAddress(shown, f"write {scheme[0].lower()}// before the host")
            raise BadAddress(shown, f"{scheme[1].lower()}: is not a web address; only http and https are crawled")
        text = "https://" + text.removeprefix("//")
    elif not text.lower().startswith(("http://", "https://")):
        raise BadAddress(shown, "only http and https are crawled")
    rest = text.split("://", 1)[1]
    if not rest or rest[0] in "/?#\\":
        raise BadAddress(shown, "there is no host after the scheme")
    if _names_a_user(rest):
        raise BadAddress(shown, "contains a user name or password, which Comity never sends")
    try:
        return ada_url.URL(text)
    except ValueError:
        raise BadAddress(shown, "not a valid host or URL") from None


def _without_password(text: str) -> str:
    """The text for a message. Messages end up in logs, and anything before an @ may be a password."""
    _before, at, after = text.rpartition("@")
    return f"…@{after}" if at else text


def _names_a_user(rest: str) -> bool:
    """Whether the authority at the start of the text has a user part."""
    return "@" in _END_OF_AUTHORITY.split(rest, maxsplit=1)[0]


@lru_cache(maxsize=8192)
def _host_of_origin(origin: str, collapse: bool) -> str | None:
    """The canonical host of an origin that the parser gave; pages name the same few over and over."""
    plain = _PLAIN_NAME.fullmatch(origin) if not collapse else None
    if plain is not None and len(plain[1]) <= _LONGEST_NAME:
        return _without_www(plain[1])
    if "@" in origin:
        return None
    parsed = ada_url.URL(origin)
    try:
        return _canonical_authority(origin, parsed.hostname, parsed.port, collapse).authority
    except BadAddress:
        return None


def _canonical_authority(shown: str, hostname: str, port: str, collapse: bool) -> CanonicalHost:
    """Fold a parsed host name and port into the identity of the host."""
    kept_port = "" if port in _DEFAULT_PORTS else f":{port}"
    if port == "0":
        raise BadAddress(shown, "port 0 cannot be requested")
    name = hostname.removesuffix(".")
    if hostname.startswith("[") or _is_ipv4(name):
        return CanonicalHost(name + kept_port, None)
    _require_dns_name(shown, name)
    name = _without_www(name)
    parent = public_suffixes().registered(name)
    if collapse and parent:
        name = parent
    return CanonicalHost(name + kept_port, parent)


def _without_www(name: str) -> str:
    """A name without its `www.`, once: `www.www.example.com` is the www of another host, `www.example.com`.

    Where `www` is the registered name itself (`www.com`, `www.co.uk`), it stays.
    """
    is_www = name.startswith("www.") and public_suffixes().registered(name[4:]) is not None
    return name[4:] if is_www else name


def _require_dns_name(shown: str, name: str) -> None:
    """Refuse names that cannot be resolved (RFC 1035 §2.3.4, UTS 46)."""
    if not name:
        raise BadAddress(shown, "the host is empty")
    if len(name) > _LONGEST_NAME and all(len(label) <= _LONGEST_LABEL for label in name.split(".")):
        raise BadAddress(shown, f"the host is longer than {_LONGEST_NAME} characters")
    for label in name.split("."):
        if not label:
            raise BadAddress(shown, "the host has an empty label (two dots in a row, or a dot in front)")
        if len(label) > _LONGEST_LABEL:
            raise BadAddress(shown, f"a label of the host is longer than {_LONGEST_LABEL} characters")
        if not _LABEL.fullmatch(label):
            raise BadAddress(shown, f"{label} cannot be part of a host name")
        if label.startswith("xn--") and not _is_valid_punycode(label):
            raise BadAddress(shown, f"{label[:40]} is not valid punycode")


def _is_valid_punycode(label: str) -> bool:
    """Whether an A-label decodes, and encodes back to itself (ada lets ASCII labels through unread)."""
    try:
        unicode_label = label[4:].encode("ascii").decode("punycode")
        if unicode_label.isascii():
            return False
        return bool(ada_url.URL(f"https://{unicode_label}.example/").hostname == f"{label}.example")
    except ValueError:
        return False


def _is_ipv4(name: str) -> bool:
    """Whether ada made an IPv4 address of the host: then its last label is a number, as no TLD is."""
    return name.rpartition(".")[2].isdigit()


def is_public_suffix(name: str) -> bool:
    """Whether the public may register names directly below this one, such as `com` or `co.uk`."""
    return "." not in name or public_suffixes().is_suffix(name.lower())


def has_known_suffix(name: str) -> bool:
    """Whether a name ends in a suffix of the public list, as `index.html` does not."""
    return public_suffixes().ends_in_one(name.lower())


def query_in(href: str, encoding: str) -> str:
    """Escape what is not ASCII in an address's query by the encoding of the page; all else stays as written."""
    address, hash_mark, fragment = href.partition("#")
    path, mark, query = address.partition("?")
    codec = None if query.isascii() else _codec(encoding)
    if codec is None:
        return href
    data = codecs.encode(query, codec, _NOT_IN_REPERTOIRE)
    escaped = "".join(f"%{byte:02X}" if byte in _ESCAPED else chr(byte) for byte in data)
    return f"{path}{mark}{escaped}{hash_mark}{fragment}"


@lru_cache(maxsize=64)
def _codec(encoding: str) -> str | None:
    """The codec for an encoding of the standard; None where queries are UTF-8 anyway."""
    name = encoding.lower()
    if name.startswith(_UNICODE):
        return None
    try:
        return codecs.lookup(_CODECS.get(name, name)).name
    except LookupError:
        return None


def _as_reference(error: UnicodeError) -> tuple[str, int]:
    """A character that the encoding lacks is sent as an escaped character reference."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    return "".join(f"%26%23{ord(character)}%3B" for character in unknown), error.end


codecs.register_error(_NOT_IN_REPERTOIRE, _as_reference)
