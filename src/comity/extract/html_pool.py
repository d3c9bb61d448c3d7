"""Pages read in child processes: body bytes in, an ``HtmlPage`` or the reason why not out.

The parser holds Python's lock from the first byte to the last, and the HTML rules themselves let a small page ask for
an enormous tree. In a child such a page costs its own process time and memory, which are bounded, and never the event
loop's.
"""

import marshal
import os
import re
from collections import Counter
from collections.abc import Callable
from math import inf
from typing import Any, Final

from comity.extract.decode import MAX_BODY_BYTES
from comity.model.dataclass import dataclass
from comity.model.page import HtmlPage, PageLimit
from comity.offload.child import keep_freed_memory
from comity.offload.pool import ChildPool, FailedWork, WorkFailure

_FORMAT: Final = 1
_open_at_once_in_c: Callable[[bytes, bool], float] | None
try:
    from comity.extract._html_growth import FORMAT
    from comity.extract._html_growth import open_at_once as _open_at_once_in_c

    _open_at_once_in_c = _open_at_once_in_c if FORMAT == _FORMAT else None  # compiled from an older source
except ImportError:  # installed where there was no C compiler
    _open_at_once_in_c = None

LIGHT_BYTES: Final = 256 * 1024
LIGHT_TAGS: Final = 1500
LIGHT_PRODUCT: Final = 64_000_000  # of both: the text of a page is looked at once for every element around it
# If text is wanted and no expressions: its reader counts its steps, and leaves heavy pages to a child.
TEXT_BYTES: Final = 512 * 1024
TEXT_TAGS: Final = 6000
# Links and head alone are read in time linear in the page, but for the markup that `_grows_little` looks for.
LINKS_BYTES: Final = 1024 * 1024
LINKS_TAGS: Final = 20_000
# Up to this size not even such markup takes a tenth of a second: checking would cost more than it saves.
_SMALL_BYTES: Final = 64 * 1024
_SMALL_PRODUCT: Final = 24_000_000
# To reopen an element takes about as long as to copy 14 bytes of attributes, at most half as many attributes.
_REOPENED_MOST: Final = 500_000
_BYTES_LIKE_AN_ELEMENT: Final = 14
_ALIKE_MOST: Final = 3  # WHATWG HTML, "push onto the list of active formatting elements": the Noah's Ark clause
_MERGED: Final = (b"html", b"body")
_MERGED_MOST_BYTES: Final = 4096
# Links that are not written as nearly all are, and start tags of formatting elements, of html and of body, with their
# attributes; without the last group these are unusual, too. It may find a few other names, and tags in comments and
# scripts, which is harmless. Nothing in it is tried twice.
_USUAL_LINK: Final = rb"[^<>\"'=]{0,32}+(?:=\"[^\"<>]*+\"[^<>\"'=]{0,32}+){0,12}+>"
_USUAL_LINK_ELEMENTS: Final = 20  # what its attributes cost at most, in elements


def _growing(after_name: bytes) -> re.Pattern[bytes]:
    return re.compile(
        rb"<(?=[abcefhinstuABCEFHINSTU][\s/" + after_name + rb"imotIMOT])(?:[aA][\s/](?!" + _USUAL_LINK + rb")|"
        rb"([bcefhinstuBCEFHINSTU](?:[iI][gG]|[oO][dD][yYeE]|[mM](?:[aA][lL][lL])?|[oO][nN][tT]|[oO][bB][rR]|"
        rb"[tT](?:[mM][lL]|[rR](?:[iI][kK][eE]|[oO][nN][gG]))?)?+)(?=[\s/" + after_name + rb"])"
        rb"((?:\s++[\w:.@-]++(?:=(?:\"[^\"]*+\"|'[^']*+'|[\w:./?#&%;,+-]++))?+)*+)\s*+/?(>)?)"
    )


_GROWING: Final = _growing(b">")
# Without those that have no attributes: of these, however many there are, a few are open at once. They are nearly all.
_GROWING_BY_ATTRIBUTES: Final = _growing(b"")
_FORMATTING_ELEMENTS: Final = 13  # b, big, code, em, font, i, nobr, s, small, strike, strong, tt, u
MAX_SECONDS: Final = 10.0
IDLE_SECONDS: Final = 60.0
WAITING_BYTES: Final = 8 << 20

SECONDS_FOR_ANY_PAGE: Final = 2.0
# The slowest flat page takes a twentieth of this.
SECONDS_PER_MEGABYTE: Final = 2.0
_MOST_CHILDREN: Final = 2  # enough for one event loop, whatever it fetches

Hardship = WorkFailure


@dataclass(frozen=True, slots=True)
class TooHard:
    """A page that was given up."""

    code: Hardship
    reason: str


def is_light(body: bytes, *, only_links: bool = False, only_text: bool = False) -> bool:
    """Whether a page can be read on the event loop, whatever it is made of, without holding it for a tenth of a second.

    With `only_text`, no expressions are wanted, and with `only_links`, not even text: far larger pages are light.
    """
    size = len(body)
    if size > (LINKS_BYTES if only_links else TEXT_BYTES if only_text else LIGHT_BYTES):
        return False
    tags = body.count(b"<")
    if only_links or only_text:
        if tags > (LINKS_TAGS if only_links else TEXT_TAGS):
            return False
    elif tags > LIGHT_TAGS or size * tags > LIGHT_PRODUCT:
        return False
    is_small = size <= _SMALL_BYTES and tags <= LIGHT_TAGS and size * tags <= _SMALL_PRODUCT
    return is_small or _grows_little(body, tags)


def _grows_little(body: bytes, tags: int) -> bool:
    """Whether the tree of a page cannot be much larger than the page.

    The HTML rules have two ways to make more of it. Formatting elements that are left open are opened again in every
    paragraph, with all their attributes ("reconstruct the active formatting elements"); of `a` only one is open at a
    time. And each attribute of a further html or body tag is compared with all that are there.
    """
    if b"\0" in body:  # UTF-16, where tags look different
        return False
    open_at_once = _open_at_once_in_c or _open_at_once
    open_most = open_at_once(body, False)
    if (open_most + _FORMATTING_ELEMENTS * _ALIKE_MOST) * tags <= _REOPENED_MOST:
        return True
    return open_most * tags <= _REOPENED_MOST and open_at_once(body, True) * tags <= _REOPENED_MOST


def _open_at_once(body: bytes, with_plain: bool) -> float:
    """How many formatting elements can be open at once, with their attributes; no number is enough for odd markup.

    `_html_growth.c` gives the same.
    """
    growing = _GROWING if with_plain else _GROWING_BY_ATTRIBUTES
    open_at_once, merged_bytes = float(_USUAL_LINK_ELEMENTS), 0
    for (name, attributes, end), count in Counter(growing.findall(body)).items():
        if not end:
            return inf
        if name.lower() in _MERGED:
            merged_bytes += count * len(attributes)
        else:
            open_at_once += min(count, _ALIKE_MOST) * (1 + len(attributes) / _BYTES_LIKE_AN_ELEMENT)
    return open_at_once if merged_bytes <= _MERGED_MOST_BYTES else inf


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
        self._shares_core = _cores() == 1
        if self._shares_core:
            keep_freed_memory()  # most pages are read in this process
        self._pool = ChildPool(
            "comity.extract.html_worker",
            max_body_bytes=MAX_BODY_BYTES + 1,  # one byte more says that there was more
            most_children=most_children or min(_MOST_CHILDREN, _cores()),
            idle_seconds=idle_seconds,
        )

    @property
    def shares_core(self) -> bool:
        """Whether its children would only take the core of the event loop away."""
        return self._shares_core

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
        with_links: bool = False,
        with_facts: bool = False,
        said: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
    ) -> HtmlPage | TooHard:
        """Read a page as ``read_html`` would; a page that takes too much is given up, without harm to other pages."""
        arguments: dict[str, Any] = {
            "content_type": content_type,
            "agent_token": agent_token,
            "with_images": with_images,
        }
        if with_text or with_markdown:
            arguments |= {"with_text": with_text, "with_markdown": with_markdown, "url": url, "in_child": True}
        if columns:
            arguments |= {"columns": columns, "in_child": True}
        if with_links or with_facts:
            arguments |= {"with_links": with_links, "with_facts": with_facts, "said": said, "url": url}
        seconds = min(self._max_seconds, self._least_seconds + SECONDS_PER_MEGABYTE * len(body) / (1 << 20))
        answer = await self._pool.call(marshal.dumps(arguments), body[: MAX_BODY_BYTES + 1], seconds)
        if isinstance(answer, FailedWork):
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


def _reason(failed: FailedWork, seconds: float) -> str:
    if failed.code is WorkFailure.TOO_SLOW:
        return f"The page could not be read within {seconds:g} seconds."
    if failed.code is WorkFailure.TOO_MUCH_MEMORY:
        return "The page needs more memory than the limit."
    return f"The process that read the page failed: {failed.detail}."


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
