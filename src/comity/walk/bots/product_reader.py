"""Reads the product of a page: bytes in, a `Product` out. A page that may be heavy is read in a child process.

The child has limits of time and memory: a hostile page costs its own job a try, and the others nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from comity.extract.html_pool import is_light
from comity.extract.product import FIELDS, parse_config, read_product
from comity.offload.pool import ChildPool, FailedWork, WorkFailure
from comity.rules.queue.product import FoundIn, Product

MAX_SECONDS: Final = 20.0
MAX_BODY_BYTES: Final = 16 << 20
_MOST_CHILDREN: Final = 2


class UnreadablePage(Exception):
    """A page that takes more than it may."""


def read_here(body: bytes, content_type: str | None, url: str, config: Mapping[str, Any] | None) -> Product:
    """Read a page here; the configuration was checked before."""
    parsed = parse_config(config)
    if isinstance(parsed, str):
        raise ValueError(parsed)
    return read_product(body, content_type, url, parsed)


class ProductReader:
    """Reads products: those of light pages in a thread, all others in a child process."""

    def __init__(self, *, max_seconds: float = MAX_SECONDS) -> None:
        self._max_seconds = max_seconds
        self._pool = ChildPool(
            "comity.walk.bots.product_worker", max_body_bytes=MAX_BODY_BYTES, most_children=_MOST_CHILDREN
        )

    async def read(self, body: bytes, content_type: str | None, url: str, config: Mapping[str, Any] | None) -> Product:
        """Read a page; `UnreadablePage` if that takes too much."""
        fields = {name: config[name] for name in FIELDS if name in config} if config else {}
        # The cost of an XPath expression has no bound.
        if is_light(body) and "xpath" not in json.dumps(fields).lower():
            return await asyncio.to_thread(read_here, body, content_type, url, fields)
        if len(body) > MAX_BODY_BYTES:
            raise UnreadablePage(f"the page is larger than {MAX_BODY_BYTES >> 20} MB")
        arguments = json.dumps([content_type, url, fields])
        answer = await self._pool.call(arguments.encode(), body, self._max_seconds)
        if not isinstance(answer, FailedWork):
            return product_from_json(json.loads(b"".join(answer)))
        if answer.code is WorkFailure.TOO_SLOW:
            raise UnreadablePage(f"reading the page takes more than {self._max_seconds:g} seconds")
        raise UnreadablePage("reading the page needs more memory or time than the limit")

    async def close(self) -> None:
        """End the child processes."""
        await self._pool.close()


def product_from_json(values: Mapping[str, Any]) -> Product:
    """A product from the values of `product_to_json`."""
    price = values["price"]
    return Product(
        values["title"],
        None if price is None else Decimal(price),
        values["currency"],
        values["in_stock"],
        {name: FoundIn(place) for name, place in values["found_in"].items()},
        values["alternatives"],
    )
