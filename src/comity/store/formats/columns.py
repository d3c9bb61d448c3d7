"""The columns that a page has in every kind of store: a `PageRecord` enters, the values of its row leave."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

from comity.model.page_record import PageRecord
from comity.store.formats.body_text import as_text


class Kind(Enum):
    """What a column holds; the value is DuckDB's name for it."""

    TEXT = "VARCHAR"
    NUMBER = "INTEGER"
    TIME = "TIMESTAMP WITH TIME ZONE"
    OCTETS = "BLOB"


class Column(NamedTuple):
    """A column by its name and kind."""

    name: str
    kind: Kind


COLUMNS: Final = (
    Column("url", Kind.TEXT),
    Column("surt_key", Kind.TEXT),
    Column("http_status", Kind.NUMBER),
    Column("body", Kind.TEXT),
    Column("content_type", Kind.TEXT),
    Column("crawl_time", Kind.TIME),
    Column("error", Kind.TEXT),
    Column("etag", Kind.TEXT),
    Column("last_modified", Kind.TEXT),
    Column("content_hash", Kind.TEXT),
    Column("final_url", Kind.TEXT),
    Column("redirect_count", Kind.NUMBER),
    Column("title", Kind.TEXT),
    Column("body_bytes", Kind.OCTETS),  # where the body is not text
    Column("run_id", Kind.TEXT),
)
NAMES: Final = tuple(column.name for column in COLUMNS)
_UTF8: Final = ("utf-8", "utf8")


def microseconds(crawl_time: float) -> int:
    """When a page was crawled, in microseconds since 1970."""
    return round(crawl_time * 1e6)


def sound(text: str) -> str:
    """Text that every reader takes: half a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def utf8(text: str) -> bytes:
    """The same as octets."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return sound(text).encode()


def all_utf8(texts: Sequence[str]) -> list[bytes]:
    """Many texts as octets."""
    try:
        return list(map(str.encode, texts))
    except UnicodeEncodeError:
        return list(map(utf8, texts))


def body_as_text(record: PageRecord) -> str | None:
    """The body as text; None where there is none, or where it is not text."""
    return as_text(record.body, record.content_type, record.encoding) if record.body is not None else None


def body_as_columns(record: PageRecord) -> tuple[bytes | None, bytes | None]:
    """The values of `body` (as UTF-8) and `body_bytes`, of which at most one is there."""
    body = record.body
    if body is None:
        return None, None
    if record.encoding is not None and record.encoding.lower() in _UTF8 and _is_utf8(body):
        return body, None  # most pages: nothing is made anew
    text = body_as_text(record)
    return (utf8(text), None) if text is not None else (None, body)


def _is_utf8(body: bytes) -> bool:
    """Whether a body is UTF-8 as it stands; a mark at its beginning is not part of the text."""
    if body.isascii():
        return True
    if body.startswith(codecs.BOM_UTF8):
        return False
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
