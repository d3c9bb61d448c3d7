"""Reading HTML for a crawler: takes body bytes, returns one ``HtmlPage``, whatever the markup.

Links and head of most pages need no tree: `scan_html` reads them from the tokens, if it was compiled
(`_html_scan.c`), and the text of those that name their content (`_html_text.c`). For all else, and for markup that only
a tree explains, turbohtml builds the tree that the WHATWG rules require. All take time linear in the body. Everything
taken from a page has a limit, and a page that exceeds one says so in ``limits``.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from html.entities import html5
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from comity.extract.decode import MAX_BODY_BYTES, Utf8, parse_html, says_utf_8
from comity.model.page import HtmlPage, PageLimit
from comity.rules.canonical import query_in
from comity.rules.user_agent import agent_token as own_token

# The parser, and what reads more of a page than links and head, are imported where they are used: most crawls need them
# late or not at all.
if TYPE_CHECKING:
    from turbohtml import Document, Element

    from comity.extract._html_scan import Scanned

_FORMAT: Final = 3
_scan: Callable[[bytes, int, bytes, Callable[[str], str | None], int, int, bool], Scanned | None] | None
try:
    from comity.extract._html_scan import FORMAT
    from comity.extract._html_scan import scan as _scan

    _scan = _scan if FORMAT == _FORMAT else None  # compiled from an older source
except ImportError:  # installed where there was no C compiler
    _scan = None
_TEXT_FORMAT: Final = 1
_main_text: Callable[..., str | None] | None
_may_name_content: Callable[[bytes], bool] | None
try:
    from comity.extract._html_text import FORMAT as _FOUND_TEXT_FORMAT
    from comity.extract._html_text import main_text as _main_text
    from comity.extract._html_text import may_name_content as _may_name_content

    _main_text = _main_text if _FOUND_TEXT_FORMAT == _TEXT_FORMAT else None
except ImportError:
    _main_text = _may_name_content = None

MAX_ELEMENTS: Final = 100_000
MAX_LINKS: Final = 10_000
MAX_HREF_CHARACTERS: Final = 4096
MAX_META_ROBOTS: Final = 64
MAX_IMAGES: Final = 500
MAX_FRAMES: Final = 100
MAX_TITLE_CHARACTERS: Final = 1000
_READ: Final = ("a", "area", "base", "link", "meta", "title", "input", "frame")
_IMAGES: Final = ("img", "source", "meta")
_IMAGE_SOURCES: Final = ("src", "data-src", "data-original", "data-lazy-src")  # the last three by scripts that wait
_IMAGE_META: Final = frozenset({"og:image", "og:image:url", "og:image:secure_url", "twitter:image"})
_NEXT: Final = "link[rel],a[rel],area[rel]"
_OTHER_LINKS: Final = frozenset({"stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "apple-touch-icon"})
# What the URL parser strips from both ends of an address.
_HREF_BLANKS: Final = "".join(map(chr, range(0x21)))
_UTF_8: Final = "UTF-8"
# WHATWG HTML, shared declarative refresh steps: a time, a separator, perhaps "url=", perhaps a quote.
_REFRESH: Final = re.compile(r"\s*[0-9.]+\s*[;,\s]\s*(?:url\s*=\s*)?(?P<quote>[\"']?)(?P<href>.*)", re.I | re.S)
MAX_SRCSET_CHARACTERS: Final = 32 * 1024
MAX_SRCSET_CANDIDATES: Final = 100
_BLANKS: Final = " \t\n\f\r"
_by_place = itemgetter(0)
_NO_LIMITS: Final[frozenset[PageLimit]] = frozenset()


def read_html(
    body: bytes,
    *,
    content_type: str | None,
    agent_token: str,
    with_images: bool = False,
    with_text: bool = False,
    with_markdown: bool = False,
    url: str | None = None,
    columns: str = "",
    in_child: bool = False,
    with_links: bool = False,
    with_facts: bool = False,
    said: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
    scanned: HtmlPage | None = None,
) -> HtmlPage:
    """Read a page's links, head and forms; robots meta elements count for everyone or for the agent's token.

    With text or Markdown, also its main content; links in Markdown are absolute if the page's `url` is named.
    With links, also where on the page each is; with facts, what audits store, and what the fields Link and X-Robots-Tag
    `said`. `columns` are expressions to evaluate. In a child process both may take more time: what takes too much
    elsewhere is None. If only text is missing, `scanned` has everything else.
    """
    document = parse_html(body[:MAX_BODY_BYTES], content_type)
    if scanned is not None:
        from comity.extract.main_content import read_main_content

        return scanned._replace(text=read_main_content(document, on_the_loop=not in_child).text)
    encoding = document.encoding or _UTF_8
    reader = _Reader(own_token(agent_token), None if encoding == _UTF_8 else encoding)
    if len(body) > MAX_BODY_BYTES:
        reader.limits.add(PageLimit.BODY_BYTES)
    reader.read(document)
    images = image_addresses(document) if with_images else ()
    extracted = None
    if columns:
        from comity.extract.expressions import extract_columns

        extracted = extract_columns(document, columns, on_the_loop=not in_child)
    facts, page_links = None, None
    alternates: tuple[str, ...] = ()
    if with_links or with_facts:
        facts, page_links, alternates = _read_facts(document, reader, url or "", said, with_links, with_facts)
    content: tuple[str | None, str | None] = (None, None)
    if with_text or with_markdown:  # last, since it changes the document
        at = (url, reader.base_href)
        content = _read_content(document, at, with_text, with_markdown, on_the_loop=not in_child)
    return HtmlPage(
        title=reader.title,
        base_href=reader.base_href,
        links=tuple(reader.links),
        nofollow=reader.nofollow.intersection(reader.links),
        canonical_href=reader.canonical_href,
        next_href=reader.next_href,
        meta_robots=tuple(reader.meta_robots),
        refresh_href=reader.refresh_href,
        has_password_field=reader.has_password_field,
        encoding=encoding,
        limits=frozenset(reader.limits),
        text=content[0],
        markdown=content[1],
        images=images,
        frames=tuple(reader.frames),
        extracted=extracted,
        facts=facts,
        page_links=page_links,
        alternates=alternates,
    )


def _read_content(
    document: Document, at: tuple[str | None, str | None], with_text: bool, with_markdown: bool, *, on_the_loop: bool
) -> tuple[str | None, str | None]:
    """The main content as text and as Markdown, of a page `at` an address with a base; changes the document."""
    from comity.extract.main_content import page_base, read_main_content

    base_url = page_base(*at)
    content = read_main_content(
        document, text=with_text, markdown=with_markdown, base_url=base_url, on_the_loop=on_the_loop
    )
    return content.text, content.markdown


def scan_html(body: bytes, *, content_type: str | None, agent_token: str, with_text: bool = False) -> HtmlPage | None:
    """Read a page's links, head and forms as `read_html` does, without a tree; None if that takes one.

    With text, also the main content of a page that names it: None if it does not, and a page without text if only that
    takes a tree. This is quick enough for the event loop, whatever the page: less than a tenth of a second for the
    largest.
    """
    if _scan is None or len(body) > MAX_BODY_BYTES or (utf_8 := says_utf_8(body, content_type)) is None:
        return None
    if with_text and (_main_text is None or _may_name_content is None or not _may_name_content(body)):
        return None
    token = own_token(agent_token)
    start = len(BOM_UTF8) if body.startswith(BOM_UTF8) else 0
    found = _scan(body, start, token.encode(), _attribute_text, MAX_ELEMENTS, MAX_ELEMENTS, utf_8 is Utf8.TENTATIVE)
    if found is None:
        return None
    text = None
    if with_text and _main_text is not None:
        from comity.extract.main_content import is_note, kind_of, kinds_of_classes

        text = _main_text(body, start, html5, _attribute_text, kinds_of_classes, kind_of, is_note)
    reader = _Reader(token, None)
    reader.read_scanned(found)
    return HtmlPage(
        reader.title,
        reader.base_href,
        tuple(reader.links),
        reader.nofollow,
        reader.canonical_href,
        reader.next_href,
        tuple(reader.meta_robots),
        reader.refresh_href,
        reader.has_password_field,
        _UTF_8,
        frozenset(reader.limits) if reader.limits else _NO_LIMITS,
        text,
    )


def _attribute_text(written: str) -> str | None:
    """The text of an attribute with unusual character references; None if it cannot be written by itself."""
    from turbohtml import parse

    quote = '"' if '"' not in written else "'"
    if quote in written:
        return None
    return next(parse(f"<a href={quote}{written}{quote}>", positions=False).iter_elements(("a",))).attr("href")


def _title_text(written: str) -> str:
    """The text of a title with character references."""
    from turbohtml import parse

    return next(parse(f"<title>{written}</title>", positions=False).iter_elements(("title",))).text


def _read_facts(
    document: Document,
    reader: _Reader,
    url: str,
    said: tuple[tuple[str, ...], tuple[str, ...]],
    with_links: bool,
    with_facts: bool,
) -> tuple[str | None, list[tuple[str, str, tuple[str, ...], str]] | None, tuple[str, ...]]:
    """What audits store of a page as JSON, with its links and translations, in a form that a process can send."""
    from comity.extract.main_content import page_base
    from comity.extract.page_facts import SaidByServer, facts_to_json, read_facts

    base = page_base(url, reader.base_href) or ""
    found = read_facts(
        document, url=url, base=base, address=reader.address, said=SaidByServer(*said), only_links=not with_facts
    )
    links = [(href, text, rel, region) for href, text, rel, region in found.links] if with_links else None
    if found.facts is None:
        return None, links, ()
    return facts_to_json(found.facts), links, tuple(dict.fromkeys(each.url for each in found.facts.alternates))


def image_addresses(document: Document) -> tuple[str, ...]:
    """Where a page's pictures are, as written, in document order, each address once."""
    found: dict[str, None] = {}
    for element in islice(document.iter_elements(_IMAGES), MAX_ELEMENTS):
        tag = element.tag
        if tag == "meta":
            said = (element.attr("property") or element.attr("name") or "").strip().lower()
            candidates = [element.attr("content")] if said in _IMAGE_META else []
        else:
            sets = [element.attr(name) for name in ("srcset", "data-srcset")]
            candidates = [largest_candidate(each) for each in sets if each]
            if tag == "img":
                candidates = [*(element.attr(name) for name in _IMAGE_SOURCES), *candidates]
        for candidate in candidates:
            address = (candidate or "").strip(_HREF_BLANKS)
            if address and len(address) <= MAX_HREF_CHARACTERS and not address[:5].lower().startswith("data:"):
                found[address] = None
        if len(found) >= MAX_IMAGES:
            break
    return tuple(islice(found, MAX_IMAGES))


class _Reader:
    """Gathers what the elements of one page say."""

    __slots__ = (
        "_agent_token",
        "_is_trimmed",
        "_older_encoding",
        "base_href",
        "canonical_href",
        "frames",
        "has_next_link",
        "has_password_field",
        "limits",
        "links",
        "meta_robots",
        "next_href",
        "nofollow",
        "refresh_href",
        "title",
    )

    def __init__(self, agent_token: str, older_encoding: str | None) -> None:
        self._agent_token = agent_token
        self._older_encoding = older_encoding
        self._is_trimmed = False  # whether all addresses are written as `_address` gives them
        self.title: str | None = None
        self.base_href: str | None = None
        self.links: Collection[str] = ()
        self.nofollow: frozenset[str] = frozenset()
        self.canonical_href: str | None = None
        self.next_href: str | None = None
        self.meta_robots: list[str] = []
        self.refresh_href: str | None = None
        self.frames: dict[str, None] = {}
        self.has_next_link = False
        self.has_password_field = False
        self.limits: set[PageLimit] = set()

    def read(self, document: Document) -> None:
        """Take every address and what else the page says, in one walk of the tree, which is what costs."""
        from turbohtml import Element

        hrefs: list[str] = []
        nofollowed: list[str] = []
        room = MAX_ELEMENTS
        for element in document.iter_elements(_READ):
            tag = element.tag
            if tag == "a" or tag == "area":
                href = element.attr("href")
                if href is not None:
                    hrefs.append(href)
                    rel = element.attr("rel")
                    if rel:
                        self._take_rel(rel.lower(), href, nofollowed)
            elif room:
                room -= 1
                if tag == "meta":
                    # The content of noscript is for browsers without scripts, not for the page as it is meant.
                    is_aside = isinstance(element.parent, Element) and element.parent.tag == "noscript"
                    said, content = element.attr("name"), element.attr("content") or ""
                    self._take_meta(said, element.attr("http-equiv"), content, is_aside=is_aside)
                elif tag == "link":
                    self._take_link((element.attr("rel") or "").lower(), element.attr("href") or "")
                else:
                    self._take(tag, element)
            else:
                self.limits.add(PageLimit.ELEMENTS)
        if len(hrefs) > MAX_ELEMENTS:
            self.limits.add(PageLimit.ELEMENTS)
            del hrefs[MAX_ELEMENTS:]
        self._take_hrefs(hrefs)
        if self.has_next_link:
            elements = document.select(_NEXT)
            self.next_href = self._first_next((each.attr("rel"), each.attr("href")) for each in elements)
        if nofollowed:
            self.nofollow = frozenset(self._only_nofollowed(nofollowed, hrefs))

    def read_scanned(self, found: Scanned) -> None:
        """Take what was read without a tree; it is in document order, too."""
        hrefs, nofollow, self._is_trimmed, rels, base, titles, metas, links, self.has_password_field = found
        if base is not None:
            self.base_href = self._address(base)
        for title in titles:
            if self.title is None:
                self._take_title(_title_text(title) if "&" in title else title)
        for name, http_equiv, content in metas:
            self._take_meta(name, http_equiv, content or "", is_aside=False)
        for rel, href, _place in links:
            self._take_link(rel.lower(), href or "")
        if isinstance(hrefs, tuple):
            self.links, self.nofollow = hrefs, nofollow or self.nofollow
        else:
            self._read_scanned_links(hrefs, rels, links)

    def _read_scanned_links(
        self, hrefs: list[str], rels: list[tuple[int, str]], links: list[tuple[str, str | None, int]]
    ) -> None:
        """Read links that need a closer look."""
        nofollowed: list[str] = []
        nexts: list[tuple[float, str, str | None]] = [(place, rel, href) for rel, href, place in links]
        for place, rel in rels:
            said = rel.lower()
            self._take_rel(said, hrefs[place], nofollowed)
            nexts.append((place + 0.5, said, hrefs[place]))  # after the links that stand before it
        if self._is_trimmed:
            self._keep(dict.fromkeys([href for href in hrefs if href and href[0] != "#"]))
        else:
            self._take_hrefs(hrefs)
        if self.has_next_link:
            self.next_href = self._first_next((rel, href) for _place, rel, href in sorted(nexts, key=_by_place))
        if nofollowed:
            self.nofollow = frozenset(self._only_nofollowed(nofollowed, hrefs)).intersection(self.links)

    def _only_nofollowed(self, nofollowed: list[str], hrefs: list[str]) -> Iterator[str]:
        """Those addresses that are linked with nofollow every time: one that is once linked without may be followed."""
        said = set(nofollowed)
        addresses = hrefs if self._is_trimmed else map(self._address, hrefs)
        linked = [address for address in addresses if address in said]
        if len(linked) == len(said) == len(nofollowed):  # each is linked once
            return iter(said)
        times_linked, times_said = Counter(linked), Counter(nofollowed)
        return (href for href, times in times_said.items() if times == times_linked[href])

    def _take_hrefs(self, hrefs: list[str]) -> None:
        """Keep each address once, in document order; anchors lead to this very page."""
        links: dict[str, None] = dict.fromkeys(hrefs)
        # Most addresses are well as they are, and to look at each of them again is what costs.
        written = f"|{'|'.join(links)}|"
        is_long = len(written) > MAX_HREF_CHARACTERS and max(map(len, links)) > MAX_HREF_CHARACTERS
        is_older = self._older_encoding is not None and not written.isascii()
        self._is_trimmed = not (is_long or is_older or " " in written or "||" in written or not written.isprintable())
        if not self._is_trimmed:
            trimmed = map(self._address, links)
            links = dict.fromkeys(href for href in trimmed if href and href[0] != "#")
        elif "|#" in written:
            links = dict.fromkeys([href for href in links if href[0] != "#"])
        self._keep(links)

    def _keep(self, links: dict[str, None]) -> None:
        self.links = links
        if len(links) > MAX_LINKS:
            self.limits.add(PageLimit.LINKS)
            self.links = dict.fromkeys(islice(links, MAX_LINKS))

    def _take_rel(self, rel: str, href: str, nofollowed: list[str]) -> None:
        """Read the attributes of a link that describe its target."""
        if "nofollow" not in rel and "next" not in rel:
            return
        words, href = rel.split(), self._address(href)
        if not href:
            return
        if "nofollow" in words:
            nofollowed.append(href)
        if "next" in words and href[0] != "#":
            self.has_next_link = True

    def _first_next(self, elements: Iterable[tuple[str | None, str | None]]) -> str | None:
        """Of the elements that name the next page, by rel and href, the first in the document counts."""
        for rel, said in elements:
            href = self._address(said or "")
            if href and href[0] != "#" and "next" in (rel or "").lower().split():
                return href
        return None

    def _take(self, tag: str, element: Element) -> None:
        """Read an element of the head, or a form field; of its kind the first counts."""
        from turbohtml import Namespace

        if tag == "input":
            if not self.has_password_field:
                self.has_password_field = (element.attr("type") or "").strip().lower() == "password"
        elif tag == "base":
            if self.base_href is None and (href := element.attr("href")) is not None:
                self.base_href = self._address(href)
        elif tag == "frame":
            href = self._address(element.attr("src") or "")
            if href and href[0] != "#" and len(self.frames) < MAX_FRAMES:
                self.frames[href] = None
        elif self.title is None and element.namespace is Namespace.HTML:
            self._take_title(element.text)

    def _take_title(self, text: str) -> None:
        self.title = " ".join(text.split())[:MAX_TITLE_CHARACTERS] or None

    def _take_link(self, said: str, href: str) -> None:
        if said in _OTHER_LINKS:
            return
        rel = said.split()
        if self.canonical_href is None and "canonical" in rel:
            self.canonical_href = self._address(href) or None
        if self.next_href is None and "next" in rel:
            self.next_href = self._address(href) or None

    def _take_meta(self, said: str | None, http_equiv: str | None, content: str, *, is_aside: bool) -> None:
        name = said.strip().lower() if said else ""
        if name and (name == "robots" or name == self._agent_token):
            if len(self.meta_robots) < MAX_META_ROBOTS:
                self.meta_robots.append(content)
            else:
                self.limits.add(PageLimit.META_ROBOTS)
        elif self.refresh_href is None and http_equiv is not None and http_equiv.strip().lower() == "refresh":
            self.refresh_href = None if is_aside else self._refresh_address(content[: 2 * MAX_HREF_CHARACTERS])

    def _refresh_address(self, content: str) -> str | None:
        found = _REFRESH.match(content)
        if found is None:
            return None
        href, quote = found["href"], found["quote"]
        return self._address(href.partition(quote)[0] if quote else href) or None

    def _address(self, href: str) -> str:
        """Trim an address, with its query in the page's encoding; one that no server would accept counts as none."""
        href = href.strip(_HREF_BLANKS)
        if len(href) > MAX_HREF_CHARACTERS:
            self.limits.add(PageLimit.HREF_CHARACTERS)
            return ""
        if self._older_encoding is not None and not href.isascii():
            return query_in(href, self._older_encoding)
        return href

    address = _address


def largest_candidate(srcset: str) -> str | None:
    """The widest candidate of a ``srcset`` (WHATWG HTML), or the densest if none names its width."""
    text, place = srcset[:MAX_SRCSET_CHARACTERS], 0
    best: tuple[float, float] | None = None
    chosen: str | None = None
    for _candidate in range(MAX_SRCSET_CANDIDATES):
        while place < len(text) and text[place] in _BLANKS + ",":
            place += 1
        start = place
        while place < len(text) and text[place] not in _BLANKS:
            place += 1
        address = text[start:place]
        if not address:
            break
        descriptor = ""
        if address.endswith(","):
            address = address.rstrip(",")
        else:
            end = _descriptor_end(text, place)
            descriptor, place = text[place:end].strip(_BLANKS), end
        size = _size(descriptor)
        if address and (best is None or size > best):
            best, chosen = size, address
    return chosen


def _descriptor_end(text: str, place: int) -> int:
    """The next comma that is not between parentheses."""
    is_inside = False
    while place < len(text) and (is_inside or text[place] != ","):
        is_inside = text[place] == "(" or (is_inside and text[place] != ")")
        place += 1
    return place


def _size(descriptor: str) -> tuple[float, float]:
    """Width and density; an unreadable descriptor means the image as it is."""
    width, density = 0.0, 1.0
    for word in descriptor.split()[:4]:
        number = word[:-1]
        if (
            word[-1:] in ("w", "x")
            and len(number) <= 12
            and number.replace(".", "", 1).isdecimal()
            and number.isascii()
        ):
            if word[-1] == "w":
                width = float(number)
            else:
                density = float(number)
    return width, density
