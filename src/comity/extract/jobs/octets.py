"""A body made readable: octets and a content type enter, text or a tree leaves, in the encoding that the body names."""

from __future__ import annotations

import codecs
import json
import re
from enum import Enum
from typing import Final

from turbohtml import Document, parse

from comity.extract.jobs.encoding_labels import codec_of, decoded

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


def text_of(body: bytes, content_type: str | None) -> str:
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
            return decoded(body, codec)
    return decoded(body, "utf-8")


def tree_of(body: bytes, content_type: str | None) -> Document:
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


def kind_of(body: bytes, content_type: str | None) -> BodyKind:
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


def json_of(text: str) -> object | None:
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
