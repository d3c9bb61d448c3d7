"""A body made readable: octets and a content type enter, text or a tree leaves, in the encoding that the body names."""

from __future__ import annotations

import codecs
import json
import re
from enum import Enum
from typing import Final

from turbohtml import Document, parse

_LARGER: Final = {
    codec: larger
    for larger, codecs_within in {
        "cp1252": ("ascii", "iso8859-1"),
        "cp1254": ("iso8859-9",),
        "cp874": ("iso8859-11", "tis-620"),
        "gb18030": ("gb2312", "gbk", "hz"),
        "cp932": ("shift_jis",),
        "cp949": ("euc_kr",),
        "big5hkscs": ("big5", "cp950"),
    }.items()
    for codec in codecs_within
}
# Labels that Python does not know, or takes for something else.
_LABELS: Final = {
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "ms_kanji": "cp932",
    "ks_c_5601-1987": "cp949",
    "ks_c_5601-1989": "cp949",
    "windows-949": "cp949",
    "korean": "cp949",
    "x-gbk": "gb18030",
    "gb_2312-80": "gb18030",
    "chinese": "gb18030",
    "x-x-big5": "big5hkscs",
    "cn-big5": "big5hkscs",
    "windows-874": "cp874",
    "dos-874": "cp874",
    "x-cp1250": "cp1250",
    "x-cp1251": "cp1251",
    "x-cp1252": "cp1252",
    "ansi_x3.4-1968": "cp1252",
    "x-mac-roman": "mac_roman",
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "unicode-1-1-utf-8": "utf-8",
    "x-unicode20utf8": "utf-8",
    "unicode11utf8": "utf-8",
    "utf8mb4": "utf-8",
    "iso-8859-8-i": "iso8859-8",
    "iso-8859-8-e": "iso8859-8",
    "logical": "iso8859-8",
}
# What else Python can decode is no encoding of the web, or (UTF-16) none of a body that begins in ASCII.
_OF_THE_WEB: Final = re.compile(
    r"utf-8|cp(?:866|874|932|949|125\d)|iso8859-\d\d?|koi8-[ru]|mac[-_](?:roman|cyrillic)|gb18030|big5hkscs|euc_jp|"
    r"iso2022_jp"
)
# Bytes that are no UTF-8, as Windows-1252 has them; they come out of the decoder as lone surrogates.
_STRAY: Final = {0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(0x80, 0x100)}


def codec_of(label: str) -> str | None:
    """The codec that a label means on the web; None if it names none that can be what it stands on."""
    name = label.strip().lower()
    if name in _LABELS:
        return _LABELS[name]
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    codec = _LARGER.get(found.name, found.name)
    return codec if _OF_THE_WEB.fullmatch(codec) else None


def decode(body: bytes, codec: str) -> str:
    """Decode a body; UTF-8 under a western name is UTF-8, for nothing else looks like it, and its strays are read."""
    if codec == "cp1252" and not body.isascii():
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            return body.decode("cp1252", "replace")
    if codec == "utf-8":
        text = body.decode("utf-8", "surrogateescape")
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.translate(_STRAY)
        return text
    return body.decode(codec, "replace")


MAX_BODY_BYTES: Final = 10 * 1024 * 1024
MAX_DETECTED_BYTES: Final = 512 * 1024
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?\s*([a-z0-9_.:-]+)", re.IGNORECASE | re.ASCII)
_XML_ENCODING: Final = re.compile(rb"^\s*<\?xml[^>]{0,200}encoding\s*=\s*[\"']([A-Za-z0-9_.:-]+)", re.ASCII)
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like the next one
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
)
# UTF-16 without a mark: whatever begins a document is ASCII, so every other byte is zero.
_WIDE: Final = (
    (re.compile(rb"(?:[<{\[\s]\x00){1}[\x01-\x7f]\x00"), "utf-16-le"),
    (re.compile(rb"(?:\x00[<{\[\s]){1}\x00[\x01-\x7f]"), "utf-16-be"),
)
_FEED_ROOT: Final = re.compile(r"<(?:\?xml|rss|feed|rdf:RDF|workzag-jobs|source|jobs|channel)\b", re.IGNORECASE)
# The root of a feed, behind declarations and comments; servers call feeds text/html as well.
_FEED_FIRST: Final = re.compile(
    r"(?:\s++|<\?[^>]*+>|<!--(?:[^-]++|-(?!->))*+-->|<!DOCTYPE(?!\s+html)[^>\[]*+(?:\[[^\]]*+\]\s*+)?>)*+"
    r"<(?:[A-Za-z][\w.-]*+:)?(?:rss|feed|rdf|workzag-jobs)(?=[\s>/])",
    re.IGNORECASE,
)
_HTML_ROOT: Final = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_CALLBACK: Final = re.compile(r"^[\w$.]{1,80}\(\s*(?=[\[{])")


class BodyKind(Enum):
    """What a body is written in."""

    JSON = "json"
    XML = "xml"
    HTML = "html"
    UNREADABLE = "unreadable"


def charset_of(content_type: str | None) -> str | None:
    """The charset that the header names."""
    found = _CHARSET.search((content_type or "")[:256])
    return found[1] if found else None


def decode_body(body: bytes, content_type: str | None) -> str:
    """Decode JSON or XML; what does not fit the encoding is read as Windows-1252 or replaced, and never an error."""
    body = body[:MAX_BODY_BYTES]
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace").lstrip("\ufeff")
    for start, encoding in _WIDE:
        if start.match(body):
            return body.decode(encoding, "replace")
    declared = _XML_ENCODING.match(body[:512])
    for label in (charset_of(content_type), declared[1].decode("ascii") if declared else None):
        if label is not None and (codec := codec_of(label)):
            return decode(body, codec)
    return decode(body, "utf-8")


def parse_page(body: bytes, content_type: str | None) -> Document:
    """Build the tree of a page; the encoding follows the WHATWG rules."""
    body = body[:MAX_BODY_BYTES]
    for label in (charset_of(content_type), None):
        try:
            return parse(
                body,
                encoding=label,
                detect_encoding=len(body) <= MAX_DETECTED_BYTES,
                positions=False,
                allow_declarative_shadow_roots=False,
            )
        except LookupError:
            continue
    return parse(b"", positions=False)


def body_kind(body: bytes, content_type: str | None) -> BodyKind:
    """Tell by its beginning what a body is; the header decides only where the body does not."""
    start = body[:4096]
    for mark, encoding in _MARKS:
        if start.startswith(mark):
            text = start[len(mark) :].decode(encoding, "replace")
            break
    else:
        if start[:5] in (b"%PDF-", b"PK\x03\x04\x14") or start[:2] == b"\x1f\x8b" or start[:4] == b"\x89PNG":
            return BodyKind.UNREADABLE
        text = start.replace(b"\x00", b"").decode("utf-8", "replace")
    text = text.lstrip("\ufeff \t\r\n\f\v")
    header = (content_type or "").lower()
    if not text:
        return BodyKind.UNREADABLE
    if _FEED_FIRST.match(text):
        return BodyKind.XML
    if text[0] in "[{" or text.startswith((")]}'", "while(1)", "for(;;)")) or _CALLBACK.match(text):
        return BodyKind.JSON
    if "html" in header and not text.startswith("<?xml"):
        return BodyKind.HTML
    if _HTML_ROOT.search(text[:1024]):
        return BodyKind.HTML
    if _FEED_ROOT.search(text[:2048]) or "xml" in header:
        return BodyKind.XML
    return BodyKind.JSON if "json" in header and text[0] in '"-0123456789tfn' else BodyKind.HTML


def parse_json(text: str) -> object | None:
    """Read a JSON answer, also behind the usual guards and callbacks; None if it is none."""
    text = text.strip().removeprefix("\ufeff")
    for guard in (")]}',", ")]}'", "while(1);", "for(;;);"):
        text = text.removeprefix(guard)
    if callback := _CALLBACK.match(text):
        text = text[callback.end() :].rstrip().rstrip(";").rstrip().removesuffix(")")
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
