"""The normal form of paths and patterns, so that comparing characters decides a match.

Equivalent percent-encodings become equal. Bytes are held as text with one character per byte, because text is searched
faster than bytes; the result is always ASCII.

RFC 9309 §2.2.2 requires bytes outside ASCII to be encoded and encoded unreserved characters to be decoded. Reserved
characters keep the form they came in: RFC 3986 §2.2 lets ``/a%2Fb`` and ``/a/b`` name different things, and the RFC's
own example of encoding ``://`` inside a query cannot be applied to a pattern whose ``*`` hides where the query begins.
What RFC 3986 allows in no URL (space, quotes, controls, ``<>\\^`{|}``) is encoded, as every client does before it
sends. ``*`` and ``$`` are encoded too, because §2.2.3 gives ``%2A`` and ``%24`` as their literal forms, so neither
stands for itself in a normalized text. A ``%`` without two digits stays.
"""

import re
from typing import Final

_UNRESERVED: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_KEPT_RESERVED: Final = ":/?#[]@!&'()+,;="
_NORMAL: Final = _UNRESERVED + _KEPT_RESERVED
_NORMAL_BYTES: Final = _NORMAL.encode()
_HEX: Final = "0123456789ABCDEFabcdef"

# A constant pattern: nothing foreign is ever compiled into it.
_ABNORMAL: Final = re.compile("%[0-9A-Fa-f]{2}|[^%" + re.escape(_NORMAL) + "]")


def _normal_forms() -> dict[str, str]:
    """The normal form of every escape and of every byte that needs one."""
    table = {chr(byte): f"%{byte:02X}" for byte in range(256) if chr(byte) not in _NORMAL}
    for high in _HEX:
        for low in _HEX:
            byte = int(high + low, 16)
            table[f"%{high}{low}"] = chr(byte) if chr(byte) in _UNRESERVED else f"%{byte:02X}"
    return table


_NORMAL_FORMS: Final = _normal_forms()


def is_normalized(text: str) -> bool:
    """Whether normalizing would change nothing; nearly always true, and faster than normalizing."""
    return not text.encode("utf-8", "surrogatepass").translate(None, _NORMAL_BYTES)


def normalize(text: str) -> str:
    """The normal form of a path, or of a part of a pattern without wildcards."""
    return text if is_normalized(text) else _ABNORMAL.sub(lambda match: _NORMAL_FORMS[match[0]], text)


def normalized_target(target: str) -> str:
    """The normalized path and query of an absolute URL, or of a path that begins with a slash."""
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
