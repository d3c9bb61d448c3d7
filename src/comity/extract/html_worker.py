"""The child process that reads pages: the arguments of ``read_html`` and a body in, the fields of an ``HtmlPage`` out.

Links go out in batches, so that a page with very many of them does not hold up the parent at once.
"""

import marshal
from collections.abc import Iterator
from typing import Final

from comity.extract.html import read_html
from comity.offload.child import keep_freed_memory, main

LINKS_IN_PIECE: Final = 500
_IN_BATCHES: Final = ("links", "nofollow")


def read(arguments: bytes, body: bytes) -> Iterator[bytes]:
    """Read a page; the last piece is everything but the links of the pieces before."""
    page = read_html(body, **marshal.loads(arguments))  # noqa: S302 - our own parent's
    links, nofollow = page.links, page.nofollow
    last = len(links) - 1 - (len(links) - 1) % LINKS_IN_PIECE if links else 0
    for start in range(0, last, LINKS_IN_PIECE):
        batch = links[start : start + LINKS_IN_PIECE]
        yield marshal.dumps((batch, [href for href in batch if href in nofollow]))
    batch = links[last:]
    rest = {name: value for name, value in page._asdict().items() if name not in _IN_BATCHES}
    rest["limits"] = [limit.value for limit in page.limits]
    yield marshal.dumps((batch, [href for href in batch if href in nofollow], rest))


if __name__ == "__main__":
    keep_freed_memory()
    main(read)
