"""One spelling for every path and pattern, so that comparing octets decides a match.

A path or pattern enters as it was written; the same octets with equivalent percent-encodings made equal leave.
Octets are held as text with one character for each, because text is searched faster than bytes are; what leaves is
always ASCII.

RFC 9309 §2.2.2 asks for octets outside ASCII to be encoded and for encoded unreserved octets to be decoded.
Reserved octets keep the form they came in: RFC 3986 §2.2 lets ``/a%2Fb`` and ``/a/b`` name different things,
and the RFC's own example of encoding ``://`` inside a query cannot be applied to a pattern whose ``*`` hides
where the query begins. What RFC 3986 allows in no URL (space, quotes, controls, ``<>\\^`{|}``) is encoded, as every
client does before it sends. ``*`` and ``$`` are encoded too, because §2.2.3 gives ``%2A`` and ``%24`` as their
literal forms; thus neither stands for itself once a text has been through here. A ``%`` without two digits stays.
"""

import re
from typing import Final

_UNRESERVED: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_KEPT_RESERVED: Final = ":/?#[]@!&'()+,;="
_SETTLED: Final = _UNRESERVED + _KEPT_RESERVED
_SETTLED_BYTES: Final = _SETTLED.encode()
_HEX: Final = "0123456789ABCDEFabcdef"

# A constant pattern: nothing foreign is ever compiled into it.
_UNSETTLED: Final = re.compile("%[0-9A-Fa-f]{2}|[^%" + re.escape(_SETTLED) + "]")


def _spellings() -> dict[str, str]:
    """List the settled spelling of every escape and of every octet that needs one."""
    table = {chr(octet): f"%{octet:02X}" for octet in range(256) if chr(octet) not in _SETTLED}
    for high in _HEX:
        for low in _HEX:
            octet = int(high + low, 16)
            table[f"%{high}{low}"] = chr(octet) if chr(octet) in _UNRESERVED else f"%{octet:02X}"
    return table


_SPELLING: Final = _spellings()


def is_normalized(octets: str) -> bool:
    """Tell whether settling would change nothing; nearly always true, and quicker than settling."""
    return not octets.encode("utf-8", "surrogatepass").translate(None, _SETTLED_BYTES)


def normalize(octets: str) -> str:
    """Spell a path, or a stretch of a pattern that holds no wildcard, in its one comparable form."""
    return octets if is_normalized(octets) else _UNSETTLED.sub(lambda match: _SPELLING[match[0]], octets)


def normalized_target(target: str) -> str:
    """Give the settled path and query of an absolute URL, or of a path that begins with a slash."""
    if target[:1] != "/":
        target = _path_and_query(target)
    if "#" in target:
        target = target.partition("#")[0]
    if is_normalized(target):
        return target
    # A lone surrogate cannot come from a parsed URL, but a verdict must not raise on it either.
    return normalize(target.encode("utf-8", "surrogatepass").decode("latin-1"))


def _path_and_query(url: str) -> str:
    """Drop scheme and authority; a URL without a path has the path ``/``."""
    url = url.partition("#")[0]
    scheme_end = url.find("://")
    # A "://" behind the first slash or question mark belongs to the path or query.
    start = scheme_end + 3 if scheme_end >= 0 and not {"/", "?"} & set(url[:scheme_end]) else 0
    ends = [end for end in (url.find("/", start), url.find("?", start)) if end >= 0]
    if not ends:
        return "/"
    rest = url[min(ends) :]
    return rest if rest[0] == "/" else "/" + rest
