"""Queries in the encoding of their page: an address as written enters, the one that a browser would send leaves.

A path is always UTF-8, but what a page of an older encoding writes in a query, its server expects in that encoding
(WHATWG URL §4.4, "query state").
"""

from __future__ import annotations

import codecs
from functools import lru_cache
from typing import Final

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
_ESCAPED: Final = frozenset({*range(0x21), *b"\"#'<>", *range(0x7F, 0x100)})  # the special-query percent-encode set
_NOT_IN_REPERTOIRE: Final = "comity.query"


def query_in(href: str, encoding: str) -> str:
    """Escape what is not ASCII in an address's query by the encoding of the page; all else stays as written."""
    address, hash_mark, fragment = href.partition("#")
    path, mark, query = address.partition("?")
    codec = None if query.isascii() else _codec(encoding)
    if codec is None:
        return href
    octets = codecs.encode(query, codec, _NOT_IN_REPERTOIRE)
    escaped = "".join(f"%{octet:02X}" if octet in _ESCAPED else chr(octet) for octet in octets)
    return f"{path}{mark}{escaped}{hash_mark}{fragment}"


@lru_cache(maxsize=64)
def _codec(encoding: str) -> str | None:
    """The codec for an encoding of the standard; None where queries are UTF-8 all the same."""
    name = encoding.lower()
    if name.startswith(_UNICODE):
        return None
    try:
        return codecs.lookup(_CODECS.get(name, name)).name
    except LookupError:
        return None


def _as_reference(error: UnicodeError) -> tuple[str, int]:
    """What an encoding has no octets for is sent as an escaped character reference."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    return "".join(f"%26%23{ord(character)}%3B" for character in unknown), error.end


codecs.register_error(_NOT_IN_REPERTOIRE, _as_reference)
