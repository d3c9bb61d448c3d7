"""The request log: a line of JSON for every request, robots.txt and redirects included. Off unless a file is named.

A line is written at once and as a whole, so that several processes can share one file. Secrets in URLs are masked;
headers and bodies are never logged.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from comity.model.errors import BadInput
from comity.model.fetch import FetchFailure
from comity.rules.url_secrets import masked_url

if TYPE_CHECKING:
    from comity.model.fetch import Response
    from comity.model.ledger import LedgerRow

STDERR: Final = "-"
FIELDS: Final = {
    "at": "when the request started, in UTC",
    "host": "the host whose lease the request used",
    "url": "the URL, with secrets masked",
    "purpose": "page, robots, sitemap, redirect, image, …",
    "status": "the HTTP status; null if there was no response",
    "error": "why there is no usable response; null if there is one",
    "ms": "duration of the request in milliseconds",
    "bytes": "bytes received over the network, before decompression",
    "delay_s": "the delay before the request, in seconds",
    "delay_source": "what set that delay: policy, robots, adaptive, door, random or none",
    "retry_after_s": "how long the host asked Comity to wait, in seconds; null if it did not",
    "process": "the process ID",
}


def check_request_log(place: str) -> None:
    """`BadInput` unless lines can be written there. Nothing is created."""
    if place == STDERR:
        return
    path = Path(place).expanduser()
    if path.is_dir():
        raise BadInput(f"{place} is a folder; the request log is a file, such as {place.rstrip('/')}/requests.jsonl")
    if not path.parent.is_dir():
        raise BadInput(f"{place}: the folder {path.parent} does not exist; create it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadInput(f"{place}: no permission to write there; name another file")


class RequestLog:
    """Writes the lines of one process."""

    def __init__(self, place: str) -> None:
        check_request_log(place)
        if place == STDERR:
            self._file = 2
        else:
            self._file = os.open(Path(place).expanduser(), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._is_own = place != STDERR

    def write(self, row: LedgerRow, result: Response | FetchFailure | None) -> None:
        """Write one request; a disk that is full, or a reader that is gone, does not end the crawl."""
        with suppress(OSError):
            os.write(self._file, json.dumps(request_fields(row, result)).encode() + b"\n")

    def __del__(self) -> None:
        if getattr(self, "_is_own", False):
            with suppress(OSError):
                os.close(self._file)


def request_fields(row: LedgerRow, result: Response | FetchFailure | None) -> dict[str, Any]:
    """The values of one line, in their order."""
    started = datetime.fromtimestamp(row.started_at, UTC).isoformat(timespec="milliseconds")
    error = "cancelled" if result is None else str(result.kind) if isinstance(result, FetchFailure) else None
    return {
        "at": started.replace("+00:00", "Z"),
        "host": row.host,
        "url": masked_url(row.url),
        "purpose": str(row.purpose),
        "status": row.status,
        "error": error,
        "ms": round((row.ended_at - row.started_at) * 1000, 1),
        "bytes": result.wire_bytes if result is not None else 0,
        "delay_s": round(row.delay.seconds, 3),
        "delay_source": str(row.delay.source),
        "retry_after_s": row.retry_after_s,
        "process": os.getpid(),
    }
