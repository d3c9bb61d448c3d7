"""The child process that reads heavy pages of sources: a page's arguments and body in, a listing as JSON out."""

from __future__ import annotations

import json
from collections.abc import Iterator

from comity.model.job import SourceType
from comity.offload.child import main
from comity.walk.sources.listing_reader import listing_to_json, read_here


def read(arguments: bytes, body: bytes) -> Iterator[bytes]:
    """Read one page."""
    url, content_type, source_type, hint_text = json.loads(arguments)
    yield json.dumps(listing_to_json(read_here(body, url, content_type, SourceType(source_type), hint_text))).encode()


if __name__ == "__main__":
    main(read)
