"""A body as text, the way a browser would read it: bytes and the declared type enter, text or None leaves.

WHATWG Encoding: a byte order mark wins over everything that was declared, and is not part of the text; a label means
what browsers mean by it, which is often more than the codec of the same name in Python.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import Final

_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?\s*([a-z0-9_.:-]+)", re.IGNORECASE | re.ASCII)
_XML_ENCODING: Final = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_.:-]{1,40})[\"']")
_BINARY: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")  # WHATWG MIME Sniffing §3: binary data bytes
_LOOKED_AT: Final = 1024
# Encodings whose name in Python stands for less than what pages mean by it, or does not exist there.
_CODECS: Final = {
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
    "iso-8859-8-i": "iso8859_8",
    "x-user-defined": "latin-1",
}
_UNREADABLE: Final = "replacement"  # encodings that browsers will not read, since they hide markup


def as_text(body: bytes, content_type: str | None, encoding: str | None) -> str | None:
    """The body as text; None where it is not text. `encoding` is what a page was found to be written in."""
    for mark, name in _MARKS:
        if body.startswith(mark) and (encoding is not None or _may_be_text(content_type)):
            return body[len(mark) :].decode(name, "replace")
    if encoding is not None:
        return _decoded(body, encoding)
    media = _media(content_type)
    if media is None:
        return _if_it_looks_like_text(body)
    if not _is_text(media):
        return None
    declared = _CHARSET.search(content_type or "")
    if declared is not None:
        return _decoded(body, declared[1])
    inside = _XML_ENCODING.match(body[:_LOOKED_AT]) if media.endswith("xml") else None
    return _decoded(body, inside[1].decode()) if inside is not None else _decoded(body, None)


def _decoded(body: bytes, label: str | None) -> str:
    """Decode by a label; without one that is known, UTF-8 if it is that, and otherwise what old pages are in."""
    codec = _codec(label) if label is not None else None
    if codec is not None:
        return body.decode(codec, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


@lru_cache(maxsize=256)
def _codec(label: str) -> str | None:
    """Python's name for what a label means on the web; None for a label that means nothing there."""
    from turbohtml import parse  # slow to import, and nearly all pages are UTF-8

    try:
        name = (parse(b"", encoding=label).encoding or "").lower()
    except LookupError:
        return None
    if name == _UNREADABLE:
        return None
    return _CODECS.get(name, name)


def _if_it_looks_like_text(body: bytes) -> str | None:
    """The type is not declared: text only if it is UTF-8 without control characters."""
    if _BINARY.search(body):
        return None
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _media(content_type: str | None) -> str | None:
    return (content_type or "").partition(";")[0].strip().lower() or None


def _may_be_text(content_type: str | None) -> bool:
    media = _media(content_type)
    return media is None or _is_text(media)


def _is_text(media: str) -> bool:
    return media.startswith("text/") or media.endswith(("xml", "json"))
