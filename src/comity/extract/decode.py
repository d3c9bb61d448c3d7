"""The encoding of a body, by one set of rules for every format: takes bytes and a content type, returns codec or text.

In order: a byte order mark, UTF-16 without one, the charset of the header, the XML declaration, UTF-8 (WHATWG Encoding
§6.1, RFC 7303 §3). Labels mean what browsers take them for: many name a smaller encoding than the one that is meant
(WHATWG Encoding §4.2), so a page that calls itself ISO-8859-1 is Windows-1252, with its dashes and curly quotes.
HTML also has `<meta>`, and older pages name no encoding at all: turbohtml reads the one and guesses the other.
robots.txt is always UTF-8 (RFC 9309 §2.2) and is not decoded here.
"""

from __future__ import annotations

import codecs
import re
from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from turbohtml import Document

MAX_BODY_BYTES: Final = 10 * 1024 * 1024
# Guessing an undeclared legacy encoding takes ten times as long as parsing; above this size it is not worth it.
MAX_DETECTED_BYTES: Final = 512 * 1024
_LONGEST_HEADER: Final = 256
_PROLOG_BYTES: Final = 512
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?\s*([a-z0-9_.:-]+)", re.IGNORECASE | re.ASCII)
_XML_ENCODING: Final = re.compile(rb"\s*<\?xml[^<>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_.:-]{1,40})", re.ASCII)
_DECLARED_BYTES: Final = 1024  # WHATWG HTML, "determining the character encoding"
_TAG: Final = re.compile(rb"<meta(?=[\t\n\f\r /])|</?[a-z][^\t\n\f\r >]*+")
# A name and perhaps a value: behind a quote, or without one.
_ATTRIBUTE: Final = re.compile(
    rb"""[\t\n\f\r /]*+([^\t\n\f\r />][^\t\n\f\r />=]*+)"""
    rb"""(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:(["'])((?:(?!\2).)*+)(\2)?|([^\t\n\f\r >"'][^\t\n\f\r >]*+)|))?""",
    re.DOTALL,
)
_CONTENT_CHARSET: Final = re.compile(
    rb"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r ;"'][^\t\n\f\r ;]*)|)"""
)
_ASCII_BLANKS: Final = b"\t\n\f\r "
_UTF_8_LABELS: Final = frozenset({"utf-8", "utf8", "unicode-1-1-utf-8"})  # the usual ones of WHATWG Encoding §4.2
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like the next one
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
)
_UTF16_LE: Final = re.compile(rb"[\x01-\x7f]\x00[\x01-\x7f]\x00")
_UTF16_BE: Final = re.compile(rb"\x00[\x01-\x7f]\x00[\x01-\x7f]")
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
# Other encodings that Python knows are not used on the web, or (UTF-16) not for a body that begins in ASCII.
_OF_THE_WEB: Final = re.compile(
    r"utf-8|cp(?:866|874|932|949|125\d)|iso8859-\d\d?|koi8-[ru]|mac[-_](?:roman|cyrillic)|gb18030|big5hkscs|euc_jp|"
    r"iso2022_jp"
)
# Bytes that are no UTF-8, as Windows-1252 has them; they come out of the decoder as lone surrogates.
_STRAY: Final = {0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(0x80, 0x100)}


def charset_of(content_type: str | None) -> str | None:
    """The charset label of a Content-Type header."""
    return _charset(content_type[:_LONGEST_HEADER]) if content_type else None


@lru_cache(maxsize=1024)
def _charset(content_type: str) -> str | None:
    found = _CHARSET.search(content_type)
    return found[1] if found else None


def byte_order_mark(body: bytes) -> tuple[str, int] | None:
    """The codec that a byte order mark names, and the length of the mark, or None."""
    return next(((codec, len(mark)) for mark, codec in _MARKS if body.startswith(mark)), None)


def utf16_without_mark(body: bytes) -> str | None:
    """Recognise UTF-16 by the zero byte beside each of two ASCII characters: no other encoding begins so."""
    if _UTF16_LE.match(body):
        return "utf-16le"
    return "utf-16be" if _UTF16_BE.match(body) else None


class Utf8(Enum):
    """How an HTML page says that it is in UTF-8."""

    SURE = auto()  # by its mark or its header
    TENTATIVE = auto()  # by a declaration that may stand in the text of a script or title: the first real meta decides


def says_utf_8(body: bytes, content_type: str | None) -> Utf8 | None:
    """Whether an HTML page says that it is in UTF-8; None if it names another encoding or none, or that is unclear."""
    if body.startswith(codecs.BOM_UTF8):
        return Utf8.SURE
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    label = charset_of(content_type)
    if label is not None:
        return Utf8.SURE if label.lower() in _UTF_8_LABELS else None
    if utf16_without_mark(body) is not None:
        return None
    return Utf8.TENTATIVE if _declares_utf_8(body[:_DECLARED_BYTES].lower()) else None


def _declares_utf_8(start: bytes) -> bool:
    """Whether the first meta that names an encoding names UTF-8 (WHATWG HTML §13.2.3.2, in lower case).

    Metas with labels that are unknown here count as another encoding: then the parser decides.
    """
    at = 0
    while (at := start.find(b"<", at)) >= 0:
        if start.startswith(b"<!--", at):
            end = start.find(b"-->", at + 2)
            at = end + 3 if end >= 0 else len(start)
        elif (tag := _TAG.match(start, at)) is not None:
            attributes, at = _attributes(start, tag.end())
            if tag[0] == b"<meta" and (said := _said_encoding(attributes)) is not None:
                return said.strip(_ASCII_BLANKS) in (b"utf-8", b"utf8") and at < len(start)
        elif start[at + 1 : at + 2] in (b"!", b"/", b"?"):
            end = start.find(b">", at)
            at = end + 1 if end >= 0 else len(start)
        else:
            at += 1
    return False


def _attributes(start: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """The attributes of a tag, and where they end; that is the end of the bytes if the tag does not end in them."""
    attributes: dict[bytes, bytes] = {}
    while (found := _ATTRIBUTE.match(start, at)) is not None:
        at = found.end()
        attributes.setdefault(found[1], found[3] or found[5] or b"")
        if found[2] and found[4] is None:  # a quote that is not closed
            return attributes, len(start)
    end = start.find(b">", at)  # before it are only blanks and slashes
    return attributes, end if end >= 0 else len(start)


def _said_encoding(attributes: dict[bytes, bytes]) -> bytes | None:
    """The label in the attributes of a meta, if they name an encoding."""
    charset = attributes.get(b"charset")
    if charset is not None:
        return charset
    content = attributes.get(b"content")
    if content is None or attributes.get(b"http-equiv") != b"content-type":
        return None
    found = _CONTENT_CHARSET.search(content)
    return next((label for label in found.groups() if label is not None), b"") if found is not None else None


def encoding_of(body: bytes, content_type: str | None) -> tuple[str, int]:
    """The codec of a body that is not HTML, and how many bytes its byte order mark takes."""
    if (marked := byte_order_mark(body)) is not None:
        return marked
    if (wide := utf16_without_mark(body)) is not None:
        return wide, 0
    declared = _XML_ENCODING.match(body[:_PROLOG_BYTES])
    for label in (charset_of(content_type), declared[1].decode("ascii") if declared else None):
        if label is not None and (codec := codec_of(label)) is not None:
            return codec, 0
    return "utf-8", 0


def parse_html(body: bytes, content_type: str | None) -> Document:
    """The tree of an HTML page; its encoding follows the WHATWG rules: mark, header, declaration, bytes."""
    from turbohtml import parse  # late: see html.py

    for label in (charset_of(content_type) or utf16_without_mark(body), None):
        try:
            return parse(
                body,
                encoding=label,
                detect_encoding=len(body) <= MAX_DETECTED_BYTES,
                positions=False,
                allow_declarative_shadow_roots=False,  # their links then stay in the tree
            )
        except LookupError:  # an unknown charset counts as none
            continue
    raise AssertionError("without a label there is nothing to look up")


def codec_of(label: str) -> str | None:
    """The codec that a label means on the web; None if it names none that a body in ASCII-compatible bytes can have."""
    name = label.strip().lower()
    if name in _LABELS:
        return _LABELS[name]
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    codec = _LARGER.get(found.name, found.name)
    return codec if _OF_THE_WEB.fullmatch(codec) else None


def decode_body(body: bytes, content_type: str | None) -> str:
    """Decode JSON or XML; bytes that do not fit are read as Windows-1252 or replaced, and never raise."""
    body = body[:MAX_BODY_BYTES]
    codec, mark_bytes = encoding_of(body, content_type)
    if mark_bytes or codec.startswith("utf-16"):
        return body[mark_bytes:].decode(codec, "replace").lstrip("\ufeff")
    return decode(body, codec)


def decode(body: bytes, codec: str) -> str:
    """Decode a body; UTF-8 under a western label is still UTF-8, and bytes that are not are Windows-1252."""
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
