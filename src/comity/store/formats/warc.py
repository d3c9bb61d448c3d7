"""Parts as WARC 1.1 (ISO 28500:2017), which archives read: pages enter, records leave.

A page with a body is a `response`, with the body as it came off the wire where that was kept. A page without one is a
`metadata` record that says why; one that was reached by redirects has such a record beside its response. The main
content of a page, and what was extracted from it, are `metadata` records in JSON. Every part
begins with a `warcinfo`. Compressed, each record is a gzip member of its own.
"""

from __future__ import annotations

import json
import re
from base64 import b32encode
from hashlib import sha1
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO, Final
from uuid import UUID, uuid5

from isal import isal_zlib

from comity import __version__
from comity.model.page import PageRecord
from comity.store.formats.columns import utf8
from comity.store.formats.json_lines import format_time, further_values
from comity.store.parts.part import PartWriter

_GZIP_LEVEL: Final = 2
_GZIP_WINDOW_BITS: Final = 31
_to_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_OURS: Final = UUID("5b1a3f0e-6f0c-5d1e-9c8e-0f6a2c7d4b11")  # what our record names are made under
_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
# Fields about the connection (RFC 9110 §7.6.1), and those that are true of the stored body only if we write them.
_NOT_KEPT: Final = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
_NOT_IN_A_LINE: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]+")
_NOT_IN_A_URI: Final = re.compile(rb"[^!#-;=?-Z_a-z~\[\]@%]")  # RFC 3986 §2, percent signs as they are
_CONFORMS_TO: Final = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"

Pairs = list[tuple[str, str | None]]


class WarcPart(PartWriter):
    """A part as WARC. `filename` is the file that the part will belong to."""

    def __init__(self, path: Path, filename: str, *, compressed: bool = False) -> None:
        super().__init__(path)
        self._filename = filename
        self._compressed = compressed
        self._info = _name("warcinfo", path.name)

    def _add(self, file: BinaryIO, record: PageRecord) -> None:
        if not self.count:
            self._write(file, _warcinfo(self._info, self._filename, record))
        for written in _records(record, self._info):
            self._write(file, written)

    def _write(self, file: BinaryIO, data: bytes) -> None:
        file.write(isal_zlib.compress(data, _GZIP_LEVEL, _GZIP_WINDOW_BITS) if self._compressed else data)


def _records(page: PageRecord, info: str) -> list[bytes]:
    visit = (str(page.run_id), page.url, str(page.crawl_time))
    common: Pairs = [("WARC-Date", format_time(page)), ("WARC-Warcinfo-ID", info)]
    about: Pairs = [("error", page.error), ("requested-url", page.url)]
    if page.redirect_count:
        about += [("final-url", page.final_url), ("redirect-count", str(page.redirect_count))]
    further = [_extracted_record(page, visit, common)] if page.columns is not None else []
    if page.body is None:
        about += [
            ("http-status", str(page.http_status) if page.http_status is not None else None),
            ("content-type", page.content_type),
            ("etag", page.etag),
            ("last-modified", page.last_modified),
        ]
        name = _name("metadata", *visit)
        return [_fields_record("metadata", name, [*common, ("WARC-Target-URI", _uri(page.url))], about), *further]
    name = _name("response", *visit)
    found = [_response(page, name, common)]
    if page.text is not None or page.markdown is not None:
        found.append(_content(page, name, _name("metadata", "content", *visit), common))
    if page.redirect_count:
        extra: Pairs = [*common, ("WARC-Target-URI", _uri(page.url)), ("WARC-Concurrent-To", name)]
        found.append(_fields_record("metadata", _name("metadata", *visit), extra, about))
    return found + further


def _extracted_record(page: PageRecord, visit: tuple[str, ...], common: Pairs) -> bytes:
    """What was extracted from the page, as one JSON object in a record of its own."""
    assert page.columns is not None
    values = json.dumps(further_values(page.columns), ensure_ascii=False, separators=(",", ":"))
    concerned = _name("metadata" if page.body is None else "response", *visit)
    extra: Pairs = [*common, ("WARC-Target-URI", _uri(page.url)), ("WARC-Concurrent-To", concerned)]
    block = utf8(values)
    extra.append(("WARC-Block-Digest", _digest(block)))
    return _record("metadata", _name("extracted", *visit), extra, "application/json", block)


def _response(page: PageRecord, name: str, common: Pairs) -> bytes:
    """The answer as HTTP/1.1 would have it, whatever version it came by."""
    coding = page.coding if page.coded is not None else None
    payload = page.coded if page.coded is not None else page.body or b""
    status = page.http_status or 200
    head = f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\n".encode()
    head += b"".join(_line(*pair, encoding="latin-1") for pair in _http_fields(page, coding, len(payload))) + b"\r\n"
    extra: Pairs = [
        *common,
        ("WARC-Target-URI", _uri(page.final_url or page.url)),
        ("WARC-IP-Address", page.address),
        ("WARC-Payload-Digest", _digest(payload)),
        ("WARC-Block-Digest", _digest(head, payload)),
    ]
    return _record("response", name, extra, "application/http;msgtype=response", head, payload)


def _content(page: PageRecord, response: str, name: str, common: Pairs) -> bytes:
    """The main content of a page, as JSON: it has lines of its own, which warc-fields cannot hold."""
    values = {"text": page.text, "markdown": page.markdown}
    block = utf8(_to_json({key: value for key, value in values.items() if value is not None}))
    extra: Pairs = [
        *common,
        ("WARC-Target-URI", _uri(page.final_url or page.url)),
        ("WARC-Concurrent-To", response),
        ("WARC-Block-Digest", _digest(block)),
    ]
    return _record("metadata", name, extra, "application/json", block)


def _http_fields(page: PageRecord, coding: str | None, length: int) -> Pairs:
    if page.headers is not None:
        fields: Pairs = [pair for pair in page.headers if pair[0].lower() not in _NOT_KEPT]
    else:
        fields = [("Content-Type", page.content_type), ("ETag", page.etag), ("Last-Modified", page.last_modified)]
    return [*fields, ("Content-Encoding", coding), ("Content-Length", str(length))]


def _warcinfo(name: str, filename: str, first: PageRecord) -> bytes:
    about: Pairs = [
        ("software", f"Comity/{__version__}"),
        ("format", "WARC File Format 1.1"),
        ("conformsTo", _CONFORMS_TO),
        ("isPartOf", str(first.run_id)),
        ("robots", "obey"),
    ]
    return _fields_record("warcinfo", name, [("WARC-Date", format_time(first)), ("WARC-Filename", filename)], about)


def _fields_record(kind: str, name: str, extra: Pairs, about: Pairs) -> bytes:
    block = _lines(about)
    return _record(kind, name, [*extra, ("WARC-Block-Digest", _digest(block))], "application/warc-fields", block)


def _record(kind: str, name: str, extra: Pairs, content_type: str, *block: bytes) -> bytes:
    fields: Pairs = [("WARC-Type", kind), ("WARC-Record-ID", name), *extra, ("Content-Type", content_type)]
    fields.append(("Content-Length", str(sum(map(len, block)))))
    return b"".join((b"WARC/1.1\r\n", _lines(fields), b"\r\n", *block, b"\r\n\r\n"))


def _lines(pairs: Pairs) -> bytes:
    return b"".join(_line(name, value) for name, value in pairs)


def _line(name: str, value: str | None, encoding: str = "utf-8") -> bytes:
    """A named field on its line, if it has a value; what would break out of the line becomes a space."""
    if value is None:
        return b""
    text = f"{name}: {value}"
    try:
        encoded = text.encode(encoding)  # the fields of an answer were read as Latin-1, which loses nothing
    except UnicodeEncodeError:
        encoded = utf8(text)
    return _NOT_IN_A_LINE.sub(b" ", encoded) + b"\r\n"


def _name(*parts: str) -> str:
    """A record's name, the same whenever the same record is written."""
    return f"<{uuid5(_OURS, utf8(' '.join(parts)).decode()).urn}>"


def _uri(url: str) -> str:
    return _NOT_IN_A_URI.sub(lambda found: b"%%%02X" % found[0][0], utf8(url)).decode("ascii")


def _digest(*pieces: bytes) -> str:
    digest = sha1(usedforsecurity=False)  # what web archives compare payloads by
    for piece in pieces:
        digest.update(piece)
    return f"sha1:{b32encode(digest.digest()).decode('ascii')}"
