"""Response and request headers: raw lines enter, parsed fields leave, and the reverse."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from comity.model.fetch import FetchRequest, Headers
from comity.rules.politeness.backoff import parse_http_date

_FORMAT: Final = 2
_Head = tuple[str, int, Headers]
_plain_in_c: Callable[[list[bytes], int, int], tuple[str, int, dict[str, str]] | None] | None
try:
    from comity.fetch import _head as _in_c

    _plain_in_c = _in_c.plain_head if _in_c.FORMAT == _FORMAT else None  # compiled from an older source
except ImportError:  # installed where there was no C compiler
    _plain_in_c = None

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 §5.6.2
_UNSENDABLE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# Fields that frame or route a message are set by the client itself.
_FRAMING: Final = frozenset({"connection", "content-length", "expect", "host", "te", "transfer-encoding", "upgrade"})
_LONGEST_NUMBER: Final = 100  # digits
_BLANKS: Final = frozenset({" ", "\t"})


class HeaderFlood(Exception):
    """A head that is longer than allowed; carries its length."""


def read_head(lines: list[bytes], lines_most: int, bytes_most: int) -> _Head | None:
    """Version, status and fields of the answer itself, None if its head is not complete; `HeaderFlood` if it is long.

    Most heads are plain, and `_head.c` reads these; it leaves all others to the functions below.
    """
    if _plain_in_c is not None and (plain := _plain_in_c(lines, lines_most, bytes_most)) is not None:
        return plain[0], plain[1], Headers.unique(plain[2])
    size = sum(map(len, lines))
    if len(lines) > lines_most or size > bytes_most:
        raise HeaderFlood(f"{len(lines)} header lines, {size} bytes")
    head = final_head(lines)
    return (*parse_status_line(head[0]), parse_fields(head)) if head is not None else None


@lru_cache(maxsize=256)
def parse_status_line(line: bytes) -> tuple[str, int]:
    """`HTTP/1.1 200 OK` as ("1.1", 200); status 0 if it cannot be read."""
    version, _, rest = line.partition(b" ")
    code = rest.strip()[:3]
    return version[5:].decode("latin-1").strip(), int(code) if len(code) == 3 and code.isdigit() else 0


def final_head(lines: list[bytes]) -> list[bytes] | None:
    """The lines of the answer's own head, None if it is not complete; interim answers (RFC 9110 §15.2) before it and
    trailers after it are dropped."""
    start = 0
    while True:
        try:
            end = lines.index(b"\r\n", start)
        except ValueError:
            # A bare line feed ends a line too (RFC 9112 §2.2).
            end = lines.index(b"\n", start) if b"\n" in lines[start:] else -1
        if end < 0:
            return None
        if parse_status_line(lines[start])[1] >= 200:
            return lines[start:end]
        start = end + 1


def parse_fields(head: list[bytes]) -> Headers:
    """Read the fields after the status line, one line each; unusual ones are read by the slower parser."""
    lines = head[1:]
    fields = dict(filter(None, map(_field_of, lines)))
    return Headers.unique(fields) if len(fields) == len(lines) else _parse_fields_slowly(lines)


def _plain_field(line: bytes) -> tuple[str, str] | None:
    """Name and value of an ordinary line; None of any other."""
    # Its only line feed and its only carriage return end it. Bytes are found by `find` faster than by `in`.
    end = len(line) - 2
    if not line.endswith(b"\r\n") or line.find(b"\r") != end or line.find(b"\n") <= end:
        return None
    if line.startswith((b" ", b"\t")):
        return None
    name, _, value = line[:-2].decode("latin-1").partition(":")
    return name.lower(), value.strip()


# Most lines of a server are the same in every answer.
_field_of: Final = lru_cache(maxsize=256)(_plain_field)


def _parse_fields_slowly(lines: list[bytes]) -> Headers:
    """Repeated fields, bare line feeds, and folded lines, which continue the value before (RFC 9112 §5.2)."""
    pairs: list[tuple[str, str]] = []
    for line in lines:
        text = line.decode("latin-1")
        name, colon, value = text.partition(":")
        if text[:1] in _BLANKS:
            if pairs:
                last, before = pairs.pop()
                pairs.append((last, f"{before} {text.strip()}"))
        elif colon:
            pairs.append((name.lower(), value.strip()))
    return Headers(pairs)


def content_length(headers: Headers) -> int | None:
    """The announced length; None if there is none, -1 if several disagree or one is no number (RFC 9112 §6.3)."""
    value = headers.first.get("content-length")
    if value is None:
        return None
    if headers.repeats or not value.isdigit():
        values = {part.strip() for value in headers.get_all("content-length") for part in value.split(",")}
        if len(values) > 1:
            return -1
        (value,) = values
    return int(value) if value.isascii() and value.isdigit() and len(value) <= _LONGEST_NUMBER else -1


@lru_cache(maxsize=256)
def parse_date(text: str, year_seen_from: float) -> float | None:
    """The Date field as UNIX time. Remembered, because a busy second sees many answers with one date."""
    return parse_http_date(text, year_seen_from)


def encode_headers(pairs: tuple[tuple[str, str], ...]) -> list[bytes]:
    """Header lines as libcurl takes them; a field without value is written with a semicolon there."""
    return [f"{name}: {value}".encode("latin-1") if value else f"{name};".encode("latin-1") for name, value in pairs]


def request_headers(defaults: tuple[tuple[str, str], ...], request: FetchRequest) -> list[bytes] | str:
    """The lines for a request with fields of its own, or what is wrong with them."""
    for name, value in request.headers:
        if not _TOKEN.fullmatch(name) or name.lower() in _FRAMING:
            return f"the header name {name[:40]!r} may not be set"
        if not _sendable(value):
            return f"the value of {name} contains a character that cannot be sent"
    own = list(request.headers)
    # Stored validators came from a server; one that cannot be sent back is ignored.
    for name, validator in (("If-None-Match", request.etag), ("If-Modified-Since", request.last_modified)):
        if validator and _sendable(validator):
            own.append((name, validator))
    replaced = {name.lower() for name, _ in own}
    kept = tuple(pair for pair in defaults if pair[0].lower() not in replaced)
    return encode_headers((*kept, *own))


def _sendable(value: str) -> bool:
    """Whether a value can stand in one header line: Latin-1, no control character but tab."""
    if _UNSENDABLE.search(value):
        return False
    return all(ord(character) < 256 for character in value)
