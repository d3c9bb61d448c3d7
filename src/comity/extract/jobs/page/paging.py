"""The next page of a listing: takes an outline and its address, returns the next address; same host only."""

from __future__ import annotations

import re
from typing import Final

from turbohtml import Document

from comity.extract.jobs.addresses import host_of, query_of, resolve, same_page, without_fragment
from comity.extract.jobs.page.outline import Link, Outline
from comity.extract.jobs.words.pages import NEXT_WORDS, PREVIOUS_WORDS

_PAGE_PARAMETERS: Final = (
    "page",
    "p",
    "pg",
    "paged",
    "pagenumber",
    "page_no",
    "pageno",
    "currentpage",
    "pagina",
    "seite",
    "jobpage",
    "pagenum",
    "pn",
    "_page",
    "jobs_page",
    "tx_jobs[page]",
)
_OFFSET_PARAMETERS: Final = (
    "offset",
    "start",
    "from",
    "startrow",
    "skip",
    "startindex",
    "first",
    "joboffset",
    "startat",
)
_PAGE_PATH: Final = re.compile(
    r"^(?P<before>.*?)(?:/(?:page|seite|pagina|p)[/-]?(?P<number>\d{1,5}))/?$", re.IGNORECASE
)
_NEXT_NAME: Final = re.compile(r"(?:^|[\s_-])(?:next|nextpage|siguiente|suivante?|weiter)(?=[\s_-]|$)")
_PAGER_NAME: Final = re.compile(
    r"pag(?:er|ing|ination|inate|es|e-numbers)|(?:^|[\s_-])page(?=[\s_-]|$)|wp-pagenavi|nav-links|page-nav|seiten",
    re.IGNORECASE,
)
_DEAD: Final = re.compile(r"(?:^|[\s_-])disabled(?=[\s_-]|$)")
_COUNT: Final = re.compile(r"\s*\(?\d+\)?$")
_LARGEST: Final = 100_000


def next_page(document: Document, outline: Outline, url: str) -> str | None:
    """The next page of a listing, or None on the last one."""
    said = _by_relation(document, outline.base)
    for address in (said, _by_words(outline, url), _by_numbers(outline, url)):
        if address and is_onward(address, url):
            return without_fragment(address)
    return None


def is_onward(address: str, url: str) -> bool:
    """Whether an address may be the next page of another: not the same one, and on the same host."""
    return host_of(address) == host_of(url) and not same_page(address, url)


def _by_relation(document: Document, base: str) -> str:
    for element in document.select("link[rel~=next i],a[rel~=next i]")[:10]:
        # Within an article, "next" is the next article.
        if address := resolve(element.attr("href") or "", base):
            return address
    return ""


def _by_words(outline: Outline, url: str) -> str:
    for link in reversed(outline.links):
        if not link.url:
            continue
        element = outline.elements[link.element]
        name = outline.names[link.element]
        parent = outline.parents[link.element]
        around = name + " " + (outline.names[parent] if parent >= 0 else "")
        if _DEAD.search(around) or element.attr("aria-disabled") == "true":
            continue
        label = (element.attr("aria-label") or element.attr("title") or "").strip()
        said = [_COUNT.sub("", text) for text in (link.text, label) if 0 < len(text) <= 40]
        if any(PREVIOUS_WORDS.search(text) for text in said) and not any("older" in text.lower() for text in said):
            continue
        by_words = any(NEXT_WORDS.fullmatch(text) for text in said)
        if (by_words or _NEXT_NAME.search(around)) and (
            _in_pager(outline, link) or _counts_up(link.url, url) or (by_words and _shares_path(link.url, url))
        ):
            return link.url
    return ""


def _in_pager(outline: Outline, link: Link) -> bool:
    for number in (link.element, *outline.ancestors(link.element, 5)):
        if (
            _PAGER_NAME.search(outline.names[number])
            or "pag" in (outline.elements[number].attr("aria-label") or "").lower()
        ):
            return True
    return False


def _shares_path(address: str, url: str) -> bool:
    return without_fragment(address).partition("?")[0].rstrip("/") == without_fragment(url).partition("?")[0].rstrip(
        "/"
    )


def _counts_up(address: str, url: str) -> bool:
    now, then = _position(url), _position(address)
    return then is not None and then[0] == (now or then)[0] and then[1] > (now[1] if now else 0)


def _by_numbers(outline: Outline, url: str) -> str:
    """Of numbered links the one that stands right behind this page's own number."""
    here = _position(url)
    best: tuple[int, str] | None = None
    for link in outline.links:
        if not link.text.isdigit() or len(link.text) > 5 or not link.url or not is_onward(link.url, url):
            continue
        there = _position(link.url)
        if there is None or (here is not None and there[0] != here[0]):
            continue
        if here is None and not (_in_pager(outline, link) or _shares_path(link.url, url) or there[0].startswith("/")):
            continue
        # Without a number we are on the first page; the number that is shown decides whether counting begins at 0.
        shown = int(link.text)
        if here is None and shown < 2:
            continue
        if (here is None or there[1] > here[1]) and (best is None or there[1] < best[0]):
            best = (there[1], link.url)
    return best[1] if best else ""


def _position(url: str) -> tuple[str, int] | None:
    """Which page an address asks for: what is counted, and how far."""
    for name, value in query_of(url).items():
        bare = name.lower()
        if (bare in _PAGE_PARAMETERS or bare in _OFFSET_PARAMETERS) and value.isdigit() and len(value) < 7:
            return bare, int(value)
    found = _PAGE_PATH.match(url.partition("#")[0].partition("?")[0][:2000])
    if found and int(found["number"]) <= _LARGEST:
        return "/" + found["before"].rstrip("/").rpartition("/")[2], int(found["number"])
    return None
