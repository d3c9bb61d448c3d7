"""The process in which one heavy page of a source is read: words and body enter, one JSON document leaves."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from contextlib import suppress
from typing import Final

from comity.model.job import SourceType
from comity.walk.listing_reader import listing_told, read_here

_MAX_ADDRESS_BYTES: Final = 1 << 30
_GRACE_SECONDS: Final = 2.0  # whoever asked ends us sooner, unless it died
_NICENESS: Final = 5


def main() -> None:
    """Take a low rank and bounds on time and memory, then read the page."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.nice(_NICENESS)
    with suppress(ValueError, OSError):  # a system that knows no such bound, or has a lower one
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_ADDRESS_BYTES, _MAX_ADDRESS_BYTES))
    words, _, body = sys.stdin.buffer.read().partition(b"\n")
    url, content_type, source_type, hint_text, seconds = json.loads(words)
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE_SECONDS)
    listing = read_here(body, url, content_type, SourceType(source_type), hint_text)
    sys.stdout.buffer.write(json.dumps(listing_told(listing)).encode())


if __name__ == "__main__":
    main()
