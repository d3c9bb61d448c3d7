"""The child process that reads heavy product pages: a page's arguments and body in, a product as JSON out."""

from __future__ import annotations

import json
from collections.abc import Iterator

from comity.extract.product import product_to_json
from comity.offload.child import main
from comity.walk.bots.product_reader import read_here


def read(arguments: bytes, body: bytes) -> Iterator[bytes]:
    """Read one page."""
    content_type, url, config = json.loads(arguments)
    yield json.dumps(product_to_json(read_here(body, content_type, url, config))).encode()


if __name__ == "__main__":
    main(read)
