"""Pages read in child processes: body bytes in, an ``HtmlPage`` or the reason why not out.

The parser holds Python's lock from the first byte to the last, and the HTML rules themselves let a small page ask for
an enormous tree. In a child such a page costs its own process time and memory, which are bounded, and never the event
loop's.
"""

import marshal
import os
from dataclasses import dataclass
from typing import Final

from comity.extract.decode import MAX_BODY_BYTES
from comity.model.page import HtmlPage, PageLimit
from comity.offload.child_handle import Failed, Failure
from comity.offload.pool import ChildPool

# What a page can cost at worst grows with the product of its tags and its size: elements that are reopened in every
# paragraph, attributes that are copied each time (WHATWG HTML, "reconstruct the active formatting elements"). Within
# these bounds the worst page found holds its reader for less than a tenth of a second.
LIGHT_BYTES: Final = 256 * 1024
LIGHT_TAGS: Final = 1500
LIGHT_PRODUCT: Final = 64_000_000
MAX_SECONDS: Final = 10.0
IDLE_SECONDS: Final = 60.0
WAITING_BYTES: Final = 8 << 20

SECONDS_FOR_ANY_PAGE: Final = 2.0
# The slowest flat page takes a twentieth of this.
_SECONDS_PER_MEGABYTE: Final = 2.0
_FRONT_BYTES: Final = 48 * 1024
_MOST_CHILDREN: Final = 2  # they keep up with one event loop, whatever it fetches

Hardship = Failure


@dataclass(frozen=True, slots=True)
class TooHard:
    """A page that was given up."""

    code: Hardship
    reason: str


def is_light(body: bytes) -> bool:
    """Whether a page can be read on the event loop, whatever it is made of."""
    size = len(body)
    if size > LIGHT_BYTES:
        return False
    most_tags = min(LIGHT_TAGS, LIGHT_PRODUCT // max(size, 1))
    # To count them costs as much as to copy the page several times, and most pages with too many have them in front.
    front = body.count(b"<", 0, _FRONT_BYTES)
    return front <= most_tags and front + body.count(b"<", _FRONT_BYTES) <= most_tags


class HtmlPool:
    """Reads pages in child processes, which start when first needed and end when they were idle for a while."""

    def __init__(
        self,
        *,
        max_seconds: float = MAX_SECONDS,
        least_seconds: float = SECONDS_FOR_ANY_PAGE,
        idle_seconds: float = IDLE_SECONDS,
        most_children: int | None = None,
    ) -> None:
        self._least_seconds = least_seconds
        self._max_seconds = max_seconds
        self._pool = ChildPool(
            "comity.extract.html_worker",
            max_body_bytes=MAX_BODY_BYTES + 1,  # one byte more says that there was more
            most_children=most_children or min(_MOST_CHILDREN, _cores()),
            idle_seconds=idle_seconds,
        )

    @property
    def is_behind(self) -> bool:
        """Whether so much waits to be read that fetching should wait, too."""
        return self._pool.held_bytes > WAITING_BYTES

    @property
    def pids(self) -> list[int]:
        """The child processes there are."""
        return self._pool.pids

    async def read(
        self,
        body: bytes,
        *,
        content_type: str | None,
        agent_token: str,
        with_images: bool = False,
        with_text: bool = False,
        with_markdown: bool = False,
        url: str | None = None,
        columns: str = "",
    ) -> HtmlPage | TooHard:
        """Read a page as ``read_html`` would; a page that takes too much is given up, and costs no other page."""
        arguments = {"content_type": content_type, "agent_token": agent_token, "with_images": with_images}
        if with_text or with_markdown:
            arguments |= {"with_text": with_text, "with_markdown": with_markdown, "url": url, "in_child": True}
        if columns:
            arguments |= {"columns": columns, "in_child": True}
        seconds = min(self._max_seconds, self._least_seconds + _SECONDS_PER_MEGABYTE * len(body) / (1 << 20))
        answer = await self._pool.call(marshal.dumps(arguments), body[: MAX_BODY_BYTES + 1], seconds)
        if isinstance(answer, Failed):
            return TooHard(answer.code, _reason(answer, seconds))
        return _page(answer)

    async def close(self) -> None:
        """End the children and wait until they are gone; pages that are not read yet are given up."""
        await self._pool.close()


def _page(pieces: list[bytes]) -> HtmlPage:
    *batches, (links, nofollow, rest) = [marshal.loads(piece) for piece in pieces]  # noqa: S302 - our own child's
    rest["limits"] = frozenset(map(PageLimit, rest["limits"]))
    if batches:
        links = tuple(href for batch, _nofollow in batches for href in batch) + links
        nofollow = [href for _batch, marked in batches for href in marked] + nofollow
    return HtmlPage(links=links, nofollow=frozenset(nofollow), **rest)


def _reason(failed: Failed, seconds: float) -> str:
    if failed.code is Failure.TOO_SLOW:
        return f"The page could not be read within {seconds:g} seconds."
    if failed.code is Failure.TOO_MUCH_MEMORY:
        return "The page needs more memory than the limit."
    return f"The process that read the page failed: {failed.detail}."


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
