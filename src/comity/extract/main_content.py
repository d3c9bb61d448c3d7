"""The main content of a page as text and Markdown: takes a parsed document, returns the content.

Navigation, page headers and footers, banners, share bars, related links and (where they are not the content) comments
are left out. Three steps: drop what is certainly not content, choose the element that holds the content, drop blocks
of links from it. turbohtml renders the rest. The document is changed, so this comes after everything else that is read
from it.

All that is done in Python grows with the number of elements that have a class, an id or a role, and with the number
of links; reading an element's text is counted and has a limit, so that nested elements do not cost their product.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import lru_cache
from itertools import chain, islice, repeat
from typing import Final, NamedTuple

from turbohtml import Document, Element, Markdown, Node, PlainText, Text

from comity.extract.decode import MAX_BODY_BYTES, decode_body, parse_html
from comity.rules.canonical import resolve_link
from comity.rules.content_type import media_type

MAX_CHARACTERS: Final = 1_000_000
MAX_EXAMINED: Final = 50_000  # elements of a page
MAX_LINKS: Final = 5_000
MAX_REOPENED: Final = 100_000  # elements that the parser reopens in every block (WHATWG HTML, formatting elements)
MAX_REOPENED_ON_THE_LOOP: Final = 4_000  # a light page has fewer tags than half of this
_CANDIDATES_MOST: Final = 200
_LEAST_PROSE: Final = 80
_LAID_OUT: Final = 60  # fewer characters a line than this, and blanks are no longer between words alone
_HEADING_LEVELS: Final = 3
_NOISE_SHARE_MOST: Final = 0.35  # of the page's prose: what has more is its content, whatever it is called
# Characters read to weigh elements, as a multiple of the page's text: ordinary pages need two to six.
_READ_AGAIN_MOST: Final = 24
_READ_ANYWAY: Final = 100_000

_REOPENED: Final = ("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u")
_HTML_TYPES: Final = ("text/html", "application/xhtml+xml")
_NEVER: Final = (
    "script style template svg iframe object embed canvas audio video map button select textarea input datalist dialog "
    "rt rp link meta frame frameset"
)
_NEVER_CONTENT: Final = tuple(_NEVER.split())
_NOISE_TAGS: Final = ("nav", "aside", "footer", "header", "menu", "noscript")
_NOISE_MARKUP: Final = ":is([hidden],[aria-hidden=true],[role],[style])"
_ROLES: Final = "navigation banner contentinfo complementary search dialog alertdialog menu menubar toolbar tablist"
_NOISE_ROLES: Final = frozenset(_ROLES.split())
_HIDING: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_ROOTS: Final = frozenset(("html", "body", "main", "article"))
_PROSE: Final = frozenset(("p", "pre", "h1", "blockquote", "figure", "table", "code", "em", "strong", "a", "span"))
_CHARACTERS_A_NODE: Final = 2_000  # are read in the time that it takes to look at one more node
_WORTH_AN_ACCOUNT: Final = 16_000  # characters
_CLIMBED_MOST: Final = 40
_SHORT: Final = 150
_LONGEST_WORDS: Final = 500
_KINDS_KEPT: Final = 16_384
# Blocks that hold links; the nearest one above a link is weighed.
_LINK_BLOCKS: Final = frozenset(
    ("ul", "ol", "dl", "div", "section", "table", "p", "aside", "details", "figure", "center", "td")
)

# Words of classes and ids, as parts of them (first), and as whole words between blanks, hyphens and underscores.
_NOISE_PARTS: Final = r"""
    breadcrumb cookie consent gdpr newsletter subscri[bp] side-?bar sidenav sharing sharedaddy social related recommend
    shar(?:e|ing)-?(?:bar|button|icon|link|this|tool) read-?next you-?may more-?from also-?like outbrain taboola advert
    sponsor promo(?:box|tion) pop-?up modal overlay masthead navbar navigation paginat tool-?bar skip-?(?:link|to|nav)
    disqus addthis author-?(?:bio|box|info|card) about-?the-?author tag-?(?:list|cloud)
    post-?(?:tags|meta|footer|nav|info) entry-?(?:meta|footer|utility) article-?(?:meta|footer|tags|tools)
    meta-?(?:data|info) sign-?up sr-only
    visually-?hidden screen-?reader off-?screen jump-?to back-?to-?top scroll-?top copyright disclaimer imprint
    impressum feedback rating-?(?:bar|stars) site-?(?:header|footer|nav|info) page-?footer global-?(?:header|footer|nav)
    language-?(?:switch|select) trending most-?(?:read|popular) popular-?(?:posts|articles) latest-?(?:news|posts)
    edit-?section no-?print hatnote catlinks printfooter mw-jump reference-?list print-?only
"""
_NOISE_STARTS: Final = (
    "widget nav menu footer banner header-?(?:top|bar|nav) ads? share tags toc print topbar teaser-?list"
)
_NOISE_ENDS: Final = "nav menu footer ads? adsense shares? tags toc bottom-?bar"
_NOISE_WORDS: Final = "promo pager log-?in top-?stories"
_COMMENT_WORDS: Final = """
    comments? commentlist comment-?(?:list|section|form|respond|thread|area) respond reactions? kommentare?
    commentaires? comentarios
"""
_CONTENT_WORDS: Final = """
    content main article entry post story hentry markdown-body prose rich-?text text inhalt contenido contenu conteudo
"""
_CONTENT_PARTS: Final = (
    "(?:article|post|entry|story|blog|news|main|page|text|body|product|recipe|job|thread|document|md)[-_]?"
    "(?:content|body|text|inner|main|details?|description|article|copy)"
)


def _any_of(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


_NOISE: Final = re.compile(
    rf"{_any_of(_NOISE_PARTS)}|(?:^|\s){_any_of(_NOISE_STARTS)}(?:$|[\s_-])|(?:^|[\s_-]){_any_of(_NOISE_ENDS)}(?:$|\s)|"
    rf"(?:^|[\s_-]){_any_of(_NOISE_WORDS)}(?:$|[\s_-])"
)
_COMMENTS: Final = re.compile(rf"(?:^|[\s_-]){_any_of(_COMMENT_WORDS)}(?:$|[\s_-])|disqus")
_CONTENT: Final = re.compile(rf"{_CONTENT_PARTS}|(?:^|[\s_-]){_any_of(_CONTENT_WORDS)}(?:$|\s)")
_MODIFIER: Final = re.compile(r"--[a-z0-9_-]+")  # of a block, as in card--with-ads
_NOTES: Final = re.compile(r"note|admonition|warning|tip|callout|caution|important|hint|info(?:$|[\s_-])")
_AS_TEXT: Final = PlainText(layout="strict")
_AS_MARKDOWN: Final = Markdown(
    images=Markdown.Images(mode="alt"),
    tables=Markdown.Tables(header="detect", cell_blocks="text"),
    links=Markdown.Links(autolink=False),
)
_TABLES_MOST: Final = 500
_TABLE_PARTS: Final = ("tbody", "thead", "tfoot")
_ROWS_LOOKED_AT: Final = 50
_SAFE_SCHEMES: Final = ("http:", "https:", "mailto:", "tel:")
_HAS_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
# A line end after a blank, or more than two line ends. Both begin with the line end, which is searched for fast.
_UNTIDY: Final = re.compile(r"\n(?:(?<=[^\S\n]\n)|(?=\n\n)\n+)")
_BLANKS_AND_CONTROLS: Final = "".join(map(chr, range(0x21)))


class MainContent(NamedTuple):
    """The requested forms of a page's main content; None for the others."""

    text: str | None = None
    markdown: str | None = None


class PageContent:
    """The main content of a fetched or stored page, extracted on first use and then kept.

    What the crawl has read already comes with it. Plain text is its own content; other types have none.
    """

    __slots__ = ("_body", "_content_type", "_markdown", "_text", "_url")

    def __init__(
        self,
        body: bytes,
        content_type: str | None,
        url: str,
        text: str | None = None,
        markdown: str | None = None,
        *,
        encoding: str | None = None,
    ) -> None:
        """`encoding` is that of the body, where it is known: a stored body is UTF-8, whatever its site said."""
        if encoding is not None:
            content_type = f"{media_type(content_type) or 'text/html'}; charset={encoding}"
        self._body, self._content_type, self._url = body, content_type, url
        self._text, self._markdown = text, markdown

    @property
    def text(self) -> str:
        """As text, with its blocks on lines of their own."""
        if self._text is None:
            self._read()
        return self._text or ""

    @property
    def markdown(self) -> str:
        """As Markdown."""
        if self._markdown is None:
            self._read()
        return self._markdown or ""

    def _read(self) -> None:
        kind, body = media_type(self._content_type), self._body[:MAX_BODY_BYTES]
        if is_html_type(self._content_type) or (not kind and body[:512].lstrip()[:1] == b"<"):
            document = parse_html(body, self._content_type)
            base = document.select_one("base[href]")
            base_url = page_base(self._url, base.attr("href") if base is not None else None)
            read = read_main_content(document, text=True, markdown=True, base_url=base_url)
        elif kind.startswith("text/"):
            plain = decode_body(body, self._content_type)[:MAX_CHARACTERS]
            read = MainContent(plain, plain)
        else:
            read = MainContent("", "")
        self._text = read.text if self._text is None else self._text
        self._markdown = read.markdown if self._markdown is None else self._markdown


class _Kind(Enum):
    """What the class and id of an element suggest."""

    PLAIN = 0
    NOISE = 1
    COMMENTS = 2
    CONTENT = 3


def read_main_content(
    document: Document,
    *,
    text: bool = True,
    markdown: bool = False,
    base_url: str | None = None,
    on_the_loop: bool = False,
) -> MainContent:
    """Read the main content; links in Markdown are resolved against `base_url`. The document is changed.

    On the event loop there is none of a page whose few tags became very many elements: a child process must read it.
    """
    body = _body(document)
    if body is None or _is_inflated(body, MAX_REOPENED_ON_THE_LOOP if on_the_loop else MAX_REOPENED):
        if body is not None and on_the_loop:
            return MainContent()
        return MainContent("" if text else None, "" if markdown else None)
    root = _Finder(body).find()
    tables = _data_tables(root)
    as_markdown = _markdown(root, base_url) if markdown else None
    if not text:
        return MainContent(None, as_markdown)
    for table in tables:
        _write_in_lines(table)
    return MainContent(_tidy(root.to_text(_AS_TEXT)), as_markdown)


@lru_cache(maxsize=_KINDS_KEPT)
def _kind_of(identifier: str | None, classes: str | None) -> _Kind:
    """What class and id say; the pages of a site share most of them."""
    words = _MODIFIER.sub("", f"{identifier or ''} {classes or ''}"[:_LONGEST_WORDS].lower())
    if _COMMENTS.search(words):
        return _Kind.COMMENTS
    if _NOISE.search(words):
        return _Kind.NOISE
    return _Kind.CONTENT if _CONTENT.search(words) else _Kind.PLAIN


class _KindsOfClasses(dict[str | None, _Kind]):
    """What a class says where there is no id. The pages of a site share most classes, so those are kept."""

    def __missing__(self, classes: str | None) -> _Kind:
        kind = _kind_of(None, classes)
        if classes is not None and len(classes) <= _LONGEST_WORDS:
            if len(self) >= _KINDS_KEPT:
                self.clear()
            self[classes] = kind
        return kind


_kinds_of_classes: Final = _KindsOfClasses()


class _Count(NamedTuple):
    """Characters and line ends of an element's text, and of the links in it."""

    length: int
    line_ends: int
    linked: int
    link_line_ends: int


class _Finder:
    """Finds the content of one page."""

    def __init__(self, body: Element) -> None:
        self._body = body
        self._sizes: dict[Element, int] = {}  # of elements whose prose was counted
        self._counts: dict[Element, _Count] = {}  # the same before blanks of layout were left out
        self._removed: list[Node] = []  # from the body since it was counted
        self._left: int | None = None  # prose of the body without noise, once it is needed
        self._marked: list[Element] = []  # by class or id as content
        self._comments: list[Element] = []
        for element in list(body.iter_elements(_NEVER_CONTENT)):
            element.decompose()
        self._may_read = 1
        self._total = self._prose(body)
        self._may_read = _READ_ANYWAY + _READ_AGAIN_MOST * self._sizes[body]
        if self._counts[body].length < _WORTH_AN_ACCOUNT:
            del self._counts[body]  # to read it again costs less than to keep account of it

    def find(self) -> Element:
        """The element that holds the content, without what does not belong to it."""
        self._drop_noise()
        root = self._choose()
        self._drop_comments(root)
        self._drop_link_blocks(root)
        return root

    def _prose(self, element: Element) -> int:
        """How much there is to read in an element, links aside; 0 once the page has been read too often."""
        if self._may_read <= 0:
            return 0
        text = element.text
        links = "".join([link.text for link in element.iter_elements("a")])
        self._may_read -= len(text) + len(links)
        if element is self._body:
            self._removed = []
        line_ends, link_line_ends = text.count("\n"), links.count("\n")
        self._counts[element] = _Count(len(text), line_ends, len(links), link_line_ends)
        self._sizes[element] = size = _size(text, line_ends)
        return size - _size(links, link_line_ends)

    def _prose_within(self, inner: Element, outer: Element) -> int:
        """The prose of an element that has most of another one, which was counted: only what is around it is read."""
        counted = self._counts.get(outer)
        around: list[Node] = self._removed if outer is self._body else []
        if counted is None or self._may_read <= 0:
            return self._prose(inner)
        most = counted.length // _CHARACTERS_A_NODE
        beside = _nodes_around(inner, outer, most - len(around))
        if beside is None:
            return self._prose(inner)
        length, line_ends, linked, link_line_ends = counted
        for node in chain(around, beside):
            text = node.text
            length -= len(text)
            line_ends -= text.count("\n")
            if isinstance(node, Element):
                links = "".join([link.text for link in node.iter_elements("a", include_self=True)])
                linked -= len(links)
                link_line_ends -= links.count("\n")
        self._may_read -= counted.length - length
        if _is_laid_out(length, line_ends) or (linked and _is_laid_out(linked, link_line_ends)):
            return self._prose(inner)  # blanks have to be counted
        self._counts[inner] = _Count(length, line_ends, linked, link_line_ends)
        self._sizes[inner] = length
        return length - linked

    def _length(self, element: Element) -> int:
        """The length of an element's text as written, which costs less; 0 once the page has been read too often."""
        if self._may_read <= 0:
            return 0
        length = len(element.text)
        self._may_read -= length
        return length

    def _drop_noise(self) -> None:
        body = self._body
        for element in [*islice(body.iter_elements(_NOISE_TAGS), MAX_EXAMINED)]:
            tag = element.tag
            if tag == "header" and element.closest("article,main") is not None:
                continue
            if tag == "aside" and _NOTES.search(f"{element.attr('id')} {element.attr('class')}".lower()):
                continue
            self._drop(element)
        for element in body.select(_NOISE_MARKUP)[:MAX_EXAMINED]:
            if element.tag not in _ROOTS and _is_marked_as_noise(element):
                self._drop(element)
        for element, kind in _suggested_kinds(body):
            if kind is _Kind.CONTENT:
                self._marked.append(element)
            elif kind is _Kind.COMMENTS:
                self._comments.append(element)
            elif element.tag not in _ROOTS and (element.tag not in _PROSE or self._length(element) < _SHORT):
                self._drop(element)

    def _drop(self, element: Element) -> None:
        """Drop an element, unless it has much of the page's prose and is therefore content."""
        if self._may_read <= 0:
            return
        length, most = self._length(element), _NOISE_SHARE_MOST * self._total
        if length <= most or self._prose(element) <= most:
            self._remove(element)

    def _remove(self, element: Element) -> None:
        """Take an element out, and note what the body has lost."""
        if self._body not in self._counts:
            element.extract()
            return
        above = list(islice(element.ancestors, _CLIMBED_MOST))
        if self._body not in above:
            if len(above) < _CLIMBED_MOST:
                return  # gone already with an element around it
            self._counts.pop(self._body, None)  # too deep to know
        elif "a" in [each.tag for each in above if isinstance(each, Element)]:
            self._counts.pop(self._body, None)  # since a link loses some of its text
        else:
            self._removed.append(element)
        element.extract()

    def _choose(self) -> Element:
        body = self._body
        for selector in ("[itemprop=articleBody]", "main,[role=main]", "article"):
            chosen, length = self._largest(body.select(selector))
            if chosen is not None and self._is_enough(length, 0.3):
                return self._narrower(chosen, length)
        marked, length = self._largest(self._marked)
        if marked is not None and not self._is_enough(length, 0.45):
            marked = None
        scored = body.main_content()
        if scored is not None and (marked is None or not _is_within(scored, marked)):
            scored = self._widened(scored)
            if marked is None or self._prose(scored) > length:
                return scored
        return self._with_heading(marked) if marked is not None else body

    def _is_enough(self, length: int, share: float) -> bool:
        """Whether a candidate has its share of the page's prose: of all of it, or of what is left without noise."""
        if length < _LEAST_PROSE:
            return False
        if length >= share * self._total:
            return True
        if self._left is None:
            self._left = self._prose(self._body)
        return length >= share * self._left

    def _largest(self, candidates: Sequence[Element]) -> tuple[Element | None, int]:
        """The candidate with most prose, and how much that is; of equal ones the innermost."""
        if len(candidates) == 1 and _is_within(candidates[0], self._body):
            length = self._prose_within(candidates[0], self._body)
            return (candidates[0], length) if length >= 0 else (None, 0)
        best, most = None, 0
        for candidate in candidates[:_CANDIDATES_MOST]:
            length = self._prose(candidate)
            if length >= most and _is_within(candidate, self._body):
                best, most = candidate, length
        return best, most

    def _narrower(self, chosen: Element, length: int) -> Element:
        """The article in a main element, if there is one that has nearly everything, or far more than all others."""
        articles = chosen.select("article,[itemprop=articleBody]")[:_CANDIDATES_MOST]
        if not articles:
            return chosen
        if len(articles) == 1:
            return articles[0] if self._prose_within(articles[0], chosen) > 0.7 * length else chosen
        lengths = [self._length(each) for each in articles]
        best = lengths.index(max(lengths))
        first, second = self._prose(articles[best]), 0
        if len(articles) > 1:
            lengths[best] = -1
            second = self._prose(articles[lengths.index(max(lengths))])
        if first > 0.7 * length or (first > 0.35 * length and first > 4 * second > 0):
            return articles[best]
        return chosen

    def _with_heading(self, chosen: Element) -> Element:
        """The element just around the content that also has the page's heading, if it adds little else."""
        if _has_heading(chosen):
            return chosen
        length = self._prose(chosen)
        for above in islice(chosen.ancestors, _HEADING_LEVELS):
            if not isinstance(above, Element) or above == self._body:
                break
            if _has_heading(above):
                return above if self._prose(above) < 1.5 * length else chosen
        return chosen

    def _widened(self, scored: Element) -> Element:
        """Go up as long as the element above has much more to read."""
        chosen, length = scored, self._prose(scored)
        for above in scored.ancestors:
            if not isinstance(above, Element) or above.tag == "html":
                break
            more = self._prose(above) - length
            if more > 0.25 * length:
                chosen, length = above, length + more
        return chosen

    def _drop_comments(self, root: Element) -> None:
        """Drop comments unless they are most of what there is: then the page is a discussion."""
        length = self._prose(root) if self._comments else 0
        for element in self._comments[:_CANDIDATES_MOST]:
            if not _is_within(root, element) and self._prose(element) < 0.5 * length:
                element.decompose()

    def _drop_link_blocks(self, root: Element) -> None:
        """Drop blocks that are links for the most part, unless the page is such a list."""
        length = self._sizes.get(root) or _size_of(root) or 1
        blocks: dict[Element, int] = {}
        linked = 0
        for link in root.select("a")[:MAX_LINKS]:
            above = link.parent
            size = len(link.text)
            linked += size
            while above is not root and isinstance(above, Element) and above.tag not in _LINK_BLOCKS:
                above = above.parent
            if above is not root and isinstance(above, Element):
                blocks[above] = blocks.get(above, 0) + size
        if linked > 0.5 * length:
            return
        for block, size in blocks.items():
            if self._may_read <= 0:
                return
            text = block.text
            self._may_read -= len(text)
            if size < 0.2 * len(text):  # not even without the blanks of its layout
                continue
            own = _size(text, text.count("\n"))
            if size > 0.67 * own and own < 0.3 * length and not (block.tag == "p" and own > 200):
                block.decompose()


def _suggested_kinds(body: Element) -> list[tuple[Element, _Kind]]:
    """The elements whose class or id suggests something, in document order.

    Each attribute that is read is a call into turbohtml, and most elements have no id: those that do are walked beside.
    """
    elements = body.select("[class],[id]")[:MAX_EXAMINED]
    classes = map(Element.attr, elements, repeat("class"))
    with_id = iter(body.select("[id]"))
    next_with_id = next(with_id, None)
    kinds, plain = _kinds_of_classes, _Kind.PLAIN
    suggested = []
    for element, written in zip(elements, classes, strict=True):
        if element is next_with_id:
            next_with_id = next(with_id, None)
            kind = _kind_of(element.attr("id"), written)
        else:
            kind = kinds[written]
        if kind is not plain:
            suggested.append((element, kind))
    return suggested


def _is_marked_as_noise(element: Element) -> bool:
    if "hidden" in element.attrs or element.attr("aria-hidden") == "true":
        return True
    role = element.attr("role")
    if role is not None and role.strip().lower() in _NOISE_ROLES:
        return True
    style = element.attr("style")
    return style is not None and _HIDING.search(style[:_LONGEST_WORDS]) is not None


def _is_inflated(body: Element, most: int) -> bool:
    """Whether the parser made so many elements of a page, most of them by reopening some, that none has a meaning."""
    return next(islice(body.iter_elements(_REOPENED), most, None), None) is not None


def _nodes_around(inner: Element, outer: Element, most: int) -> list[Node] | None:
    """All that an element has besides one within it; None if that is too much, or a link is around the inner one."""
    around: list[Node] = []
    within: Node = inner
    for above in islice(inner.ancestors, _CLIMBED_MOST):
        if not isinstance(above, Element) or above.tag == "a":
            return None
        children = above.children
        if len(around) + len(children) > most:
            return None
        around.extend([node for node in children if node is not within])
        if above is outer:
            return around
        within = above
    return None


def _has_heading(element: Element) -> bool:
    return next(element.iter_elements("h1"), None) is not None


def _body(document: Document) -> Element | None:
    root = document.root
    if root is None or root.tag != "html":
        return root
    return next((child for child in root.children if isinstance(child, Element) and child.tag == "body"), root)


def _size(text: str, line_ends: int) -> int:
    """The length of a text; where it is laid out as source code is, without the blanks of that."""
    if _is_laid_out(len(text), line_ends):
        return len(text) - line_ends - text.count(" ") - text.count("\t")
    return len(text)


def _is_laid_out(length: int, line_ends: int) -> bool:
    return line_ends * _LAID_OUT >= length


def _size_of(element: Element) -> int:
    text = element.text
    return _size(text, text.count("\n"))


def _is_within(element: Element, other: Element) -> bool:
    return element == other or any(above == other for above in element.ancestors)


def is_html_type(content_type: str | None) -> bool:
    """Whether a content type is HTML's."""
    return media_type(content_type) in _HTML_TYPES


def page_base(url: str | None, base_href: str | None) -> str | None:
    """What links of a page are relative to."""
    if url is None or base_href is None:
        return url
    base = resolve_link(base_href, url)
    return base.url if base is not None else url


def _markdown(root: Element, base_url: str | None) -> str:
    for link in root.select("a[href]"):
        href = (link.attr("href") or "").strip(_BLANKS_AND_CONTROLS)
        if href.startswith("#") or (_HAS_SCHEME.match(href) and not href.lower().startswith(_SAFE_SCHEMES)):
            del link.attrs["href"]
    if base_url is not None:
        root.resolve_links(base_url)
    return _tidy(root.to_markdown(_AS_MARKDOWN))


def _data_tables(root: Element) -> list[Element]:
    """The tables that hold data. All others only place things on the page, and become plain blocks."""
    found = []
    for number, table in enumerate(root.iter_elements("table", include_self=True)):
        if number < _TABLES_MOST and not _is_layout(table):
            found.append(table)
        else:
            for row, cells in _cells(table):
                row.tag = "div"
                for cell in cells:
                    cell.tag = "div"
            table.tag = "div"
    if root.tag in ("td", "th", "tr", "tbody"):
        root.tag = "div"
    return found


def _write_in_lines(table: Element) -> None:
    """Put each row on a line. The renderer would pad every cell to the width of its column, however long that is."""
    for row, cells in list(_cells(table)):
        for number, cell in enumerate(cells):
            cell.tag = "span"
            if number:
                cell.insert_before(Text(" | "))
        row.tag = "span"
        row.insert_after(Element("br"))
    for part in table.children:
        if isinstance(part, Element) and part.tag in _TABLE_PARTS:
            part.tag = "span"
    table.tag = "div"


def _cells(table: Element) -> Iterator[tuple[Element, list[Element]]]:
    """The rows of a table with their cells, without those of tables within it."""
    for part in list(table.children):
        if isinstance(part, Element):
            for row in [part] if part.tag == "tr" else list(part.children) if part.tag in _TABLE_PARTS else []:
                if isinstance(row, Element) and row.tag == "tr":
                    yield row, [cell for cell in row.children if isinstance(cell, Element)]


def _is_layout(table: Element) -> bool:
    """Whether a table only places things: it says so, has a table within, or has one cell a row."""
    if (table.attr("role") or "") in ("presentation", "none") or table.select_one("table") is not None:
        return True
    if table.select_one("th,caption,thead") is not None:
        return False
    if table.select_one("td p, td div, td h2, td ul") is not None:
        return True
    return all(len(cells) <= 1 for _row, cells in islice(_cells(table), _ROWS_LOOKED_AT))


def _tidy(rendered: str) -> str:
    """Remove spaces at line ends, and keep at most one empty line in a row."""
    rendered = rendered[: MAX_CHARACTERS + 1]
    pieces, start = [], 0
    for found in _UNTIDY.finditer(rendered):
        place, end = found.span()
        if end - place == 1:
            return _within_limit(_tidy_lines(rendered))
        pieces.append(rendered[start:place])
        start = end
    pieces.append(rendered[start:])
    return _within_limit("\n\n".join(pieces).strip())


def _tidy_lines(rendered: str) -> str:
    """The same line by line, which takes longer: for the few pages that have spaces at line ends."""
    lines: list[str] = []
    was_empty = True
    for line in rendered.split("\n"):
        line = line.rstrip()
        if line or not was_empty:
            lines.append(line)
        was_empty = not line
    return "\n".join(lines).strip()


def _within_limit(tidied: str) -> str:
    if len(tidied) > MAX_CHARACTERS:
        tidied = tidied[:MAX_CHARACTERS].rpartition("\n")[0] or tidied[:MAX_CHARACTERS]
    return tidied
