"""The columns of a page in every format: a `PageRecord` enters, the values of its row leave."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

from comity.model.page import PageRecord
from comity.store.formats.body_text import as_text


class ColumnKind(Enum):
    """What a column holds; the value is DuckDB's name for it."""

    TEXT = "VARCHAR"
    NUMBER = "INTEGER"
    TIME = "TIMESTAMP WITH TIME ZONE"
    BINARY = "BLOB"


class PageColumn(NamedTuple):
    """A column by its name and kind."""

    name: str
    kind: ColumnKind


COLUMNS: Final = (
    PageColumn("url", ColumnKind.TEXT),
    PageColumn("surt_key", ColumnKind.TEXT),
    PageColumn("http_status", ColumnKind.NUMBER),
    PageColumn("body", ColumnKind.TEXT),
    PageColumn("content_type", ColumnKind.TEXT),
    PageColumn("crawl_time", ColumnKind.TIME),
    PageColumn("error", ColumnKind.TEXT),
    PageColumn("etag", ColumnKind.TEXT),
    PageColumn("last_modified", ColumnKind.TEXT),
    PageColumn("content_hash", ColumnKind.TEXT),
    PageColumn("final_url", ColumnKind.TEXT),
    PageColumn("redirect_count", ColumnKind.NUMBER),
    PageColumn("title", ColumnKind.TEXT),
    PageColumn("body_bytes", ColumnKind.BINARY),  # where the body is not text
    PageColumn("run_id", ColumnKind.TEXT),
    PageColumn("text", ColumnKind.TEXT),  # the main content; of crawls that store it
    PageColumn("markdown", ColumnKind.TEXT),
)
CONTENT: Final = ("text", "markdown")
NAMES: Final = tuple(column.name for column in COLUMNS)
_UTF8: Final = ("utf-8", "utf8")


def microseconds(crawl_time: float) -> int:
    """When a page was crawled, in microseconds since 1970."""
    return round(crawl_time * 1e6)


def valid_unicode(text: str) -> str:
    """Text that every reader takes: half a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def utf8(text: str) -> bytes:
    """The same as bytes."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return valid_unicode(text).encode()


def all_utf8(texts: Sequence[str]) -> list[bytes]:
    """Many texts as bytes."""
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
        return body, None  # most pages: nothing is copied
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
