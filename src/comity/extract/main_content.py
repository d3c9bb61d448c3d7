"""The main content of a page as text and Markdown: takes a parsed document, returns the content.

Navigation, page headers and footers, banners, share bars, related links and (where they are not the content) comments
are left out. Three steps: drop what is certainly not content, choose the element that holds the content, drop blocks
of links from it. turbohtml renders the rest. The document is changed, so this comes after everything else that is read
from it.

All that is done in Python grows with the number of elements that have a class, an id or a role, and with the number
of links; reading an element's text is counted and has a limit, so that nested elements do not cost their product. Most
questions are how large a share of the page something is. The first paragraphs and what is around the main element
nearly always answer them, so that of most pages the whole text is read once: to render it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple, cast

from turbohtml import Document, Element, Node

from comity.extract.content_rendering import TABLES_MOST, data_tables, is_layout, render_markdown, render_text
from comity.extract.decode import MAX_BODY_BYTES
from comity.rules.canonical import resolve_link
from comity.rules.content_type import media_type

MAX_EXAMINED: Final = 50_000  # elements of a page
MAX_LINKS: Final = 5_000
MAX_REOPENED: Final = 100_000  # elements that the parser reopens in every block (WHATWG HTML, formatting elements)
MAX_REOPENED_ON_THE_LOOP: Final = 4_000  # a light page has fewer tags than half of this
_CANDIDATES_MOST: Final = 200
_LEAST_PROSE: Final = 80
_LAID_OUT: Final = 60  # fewer characters a line than this, and blanks are no longer between words alone
_HEADING_LEVELS: Final = 3
_NOISE_SHARE_MOST: Final = 0.35  # of the page's prose: what has more is its content, whatever it is called
# Characters read to weigh elements, as a multiple of the page's text: ordinary pages need at most six.
_READ_AGAIN_MOST: Final = 24
_READ_AGAIN_ON_THE_LOOP: Final = 6
_READ_ANYWAY: Final = 100_000
_CALL_ON_THE_LOOP: Final = 500  # reading even an empty element takes as long as reading this many characters
_WORDS_ON_THE_LOOP: Final = 60_000  # characters of classes and ids that have to be looked at
_SCORED_ON_THE_LOOP: Final = 100_000  # characters of text: turbohtml reads it once for each level of a deep page
_CLIMB_ON_THE_LOOP: Final = 2_000  # climbing a deep page takes as long as reading this many characters
_PARAGRAPHS_READ: Final = 50
_AROUND_MOST: Final = 100

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
_ARTICLE_BODY: Final = "articleBody"
_NAMED_CONTENT: Final = f"[itemprop={_ARTICLE_BODY}],main,[role=main],article"
_CLASSES: Final = ".//*/@class"
_SELECTED_CLASSES_MOST: Final = 12
_NOT_QUOTED: Final = re.compile(r'["\\\x00-\x1f\x7f]')  # in a string of CSS
_ROOTS: Final = frozenset(("html", "body", "main", "article"))
_PROSE: Final = frozenset(("p", "pre", "h1", "blockquote", "figure", "table", "code", "em", "strong", "a", "span"))
_CLIMBED_MOST: Final = 40
_SHORT: Final = 150
_LONGEST_WORDS: Final = 500
_KINDS_KEPT: Final = 16_384
_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_PERMALINKS: Final = frozenset(("¶", "#", "§", "🔗"))  # of headings, to themselves
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


class MainContent(NamedTuple):
    """The requested forms of a page's main content; None for the others."""

    text: str | None = None
    markdown: str | None = None


class _Kind(IntEnum):
    """What the class and id of an element suggest; `_html_content.h` knows the numbers."""

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

    On the event loop there is none of a page whose few tags became very many elements, or whose elements would have to
    be read too often: a child process must read it.
    """
    body = _body(document)
    if body is None or _is_inflated(body, MAX_REOPENED_ON_THE_LOOP if on_the_loop else MAX_REOPENED):
        if body is not None and on_the_loop:
            return MainContent()
        return MainContent("" if text else None, "" if markdown else None)
    finder = _Finder(body, on_the_loop=on_the_loop)
    root = finder.find()
    if on_the_loop and finder.is_spent:
        return MainContent()
    tables = data_tables(root)
    as_markdown = render_markdown(root, tables, base_url) if markdown else None
    return MainContent(render_text(root, tables) if text else None, as_markdown)


@lru_cache(maxsize=_KINDS_KEPT)
def kind_of(identifier: str | None, classes: str | None) -> _Kind:
    """What class and id say; the pages of a site share most of them."""
    words = _MODIFIER.sub("", f"{identifier or ''} {classes or ''}"[:_LONGEST_WORDS].lower())
    if _COMMENTS.search(words):
        return _Kind.COMMENTS
    if _NOISE.search(words):
        return _Kind.NOISE
    return _Kind.CONTENT if _CONTENT.search(words) else _Kind.PLAIN


class _KindsOfClasses(dict[str | None, _Kind]):
    """What a class says if there is no id. The pages of a site share most classes, so they are cached."""

    def __missing__(self, classes: str | None) -> _Kind:
        kind = kind_of(None, classes)
        if classes is not None and len(classes) <= _LONGEST_WORDS:
            if len(self) >= _KINDS_KEPT:
                self.clear()
            self[classes] = kind
        return kind


kinds_of_classes: Final = _KindsOfClasses()


class _Finder:
    """Finds the content of one page."""

    def __init__(self, body: Element, *, on_the_loop: bool = False) -> None:
        self._body = body
        self._call_cost = _CALL_ON_THE_LOOP if on_the_loop else 0
        self._on_the_loop = on_the_loop
        self._classes: list[str] = []
        self._words_most = _WORDS_ON_THE_LOOP if on_the_loop else MAX_BODY_BYTES
        self._read_again_most = _READ_AGAIN_ON_THE_LOOP if on_the_loop else _READ_AGAIN_MOST
        self._may_read = _READ_ANYWAY  # and more once the whole page was read
        self._sizes: dict[Element, int] = {}  # of elements whose prose was counted
        self._paragraphs: dict[Element, tuple[list[Element], int]] = {}  # yet to be read, and the prose of the others
        self._removed: list[Element] = []
        self._known_total: int | None = None  # prose of the body with what is removed, once it is needed
        self._left: int | None = None  # and without
        self._marked: list[Element] = []  # by class or id as content
        self._comments: list[Element] = []
        for element in list(body.iter_elements(_NEVER_CONTENT)):
            element.decompose()

    @property
    def is_spent(self) -> bool:
        """Whether the page has been read too often."""
        if self._may_read <= 0 and self._known_total is None:
            self._total()
        return self._may_read <= 0

    def find(self) -> Element:
        """The element that holds the content, without what does not belong to it."""
        self._drop_noise()
        if self._on_the_loop and self.is_spent:
            return self._body
        root = self._choose()
        self._drop_comments(root)
        _drop_permalinks(root)
        self._drop_link_blocks(root)
        return root

    def _give_up(self) -> None:
        """Nothing more is read."""
        self._known_total, self._may_read = 0, 0

    def _total(self) -> int:
        """How much prose the page had before anything was removed."""
        if self._known_total is None:
            self._known_total, self._may_read = 0, 1
            length = self._prose(self._body)
            self._may_read = _READ_ANYWAY + self._read_again_most * self._sizes[self._body]
            self._known_total = length + sum(map(self._prose, self._removed))
        return self._known_total

    def _prose(self, element: Element) -> int:
        """How much there is to read in an element, links aside; 0 once the page has been read too often."""
        if self.is_spent:
            return 0
        text = element.text
        links = "".join([link.text for link in element.iter_elements("a")])
        self._may_read -= len(text) + len(links) + self._call_cost
        self._sizes[element] = size = _size(text, text.count("\n"))
        return size - _size(links, links.count("\n"))

    def _has(self, element: Element, prose: float) -> bool:
        """Whether an element certainly has more prose than that, by as many of its first paragraphs as it takes."""
        known = self._paragraphs.get(element)
        if known is None:
            unread, least = list(islice(element.iter_elements("p"), _PARAGRAPHS_READ)), 0
            unread.reverse()
        else:
            unread, least = known
        while unread and least <= prose:
            paragraph = unread.pop()
            if next(paragraph.iter_elements("table"), None) is not None:
                continue  # paragraphs in it would count twice
            text = paragraph.text
            self._may_read -= len(text) + self._call_cost
            least += len(text) - text.count(" ") - text.count("\n") - text.count("\t")
            least -= sum([len(link.text) for link in paragraph.iter_elements("a")])
        self._paragraphs[element] = unread, least
        return least > prose

    def _is_most(self, inner: Element, outer: Element, share: float) -> bool:
        """Whether an element certainly has more than its share of one around it, by what is around it."""
        beside = _nodes_around(inner, outer, _AROUND_MOST)
        if beside is None or self.is_spent:
            return False
        around = 0
        for node in beside:
            around += len(node.text)
            self._may_read -= self._call_cost
        self._may_read -= around
        return self._has(inner, max(_LEAST_PROSE, around * share / (1 - share)))

    def _length(self, element: Element) -> int:
        """The length of an element's text as written, which costs less; 0 once the page has been read too often."""
        if self.is_spent:
            return 0
        length = len(element.text)
        self._may_read -= length + self._call_cost
        return length

    def _drop_noise(self) -> None:
        body = self._body
        for element in [*islice(body.iter_elements(_NOISE_TAGS), MAX_EXAMINED)]:
            tag = element.tag
            if tag == "header":
                self._may_read -= _CLIMB_ON_THE_LOOP if self._on_the_loop else 0
                if self._on_the_loop and self.is_spent:
                    return
                if element.closest("article,main") is not None:
                    continue
            if tag == "aside" and is_note(element.attr("id"), element.attr("class")):
                continue
            self._drop(element)
        for element in body.select(_NOISE_MARKUP)[:MAX_EXAMINED]:
            if element.tag not in _ROOTS and _is_marked_as_noise(element):
                self._drop(element)
        for element, kind in self._suggested_kinds():
            if kind is _Kind.CONTENT:
                self._marked.append(element)
            elif kind is _Kind.COMMENTS:
                self._comments.append(element)
            elif element.tag not in _ROOTS and (element.tag not in _PROSE or self._length(element) < _SHORT):
                self._drop(element)

    def _suggested_kinds(self) -> list[tuple[Element, _Kind]]:
        """The elements whose class or id suggests something, in document order.

        Few do. All classes are read as strings, each is looked at once, and only elements of those that suggest
        something are selected.
        """
        body, kinds, plain = self._body, kinds_of_classes, _Kind.PLAIN
        self._classes = cast("list[str]", body.xpath(_CLASSES))
        different = set(self._classes)
        new = sum([len(each) for each in different if each not in kinds])
        if new >= self._words_most:
            self._give_up()
            return []
        suggesting = [each for each in different if kinds[each] is not plain]
        suggested: list[tuple[Element, _Kind]] = []
        for element in body.select(_with_any_of(suggesting))[:MAX_EXAMINED]:
            named, written = element.attr("id"), element.attr("class")
            if named is None:
                kind = kinds[written]
            else:
                new += len(named) + len(written or "")
                if new >= self._words_most:
                    self._give_up()
                    return suggested
                kind = kind_of(named, written)
            if kind is not plain:
                suggested.append((element, kind))
        return suggested

    def _drop(self, element: Element) -> None:
        """Drop an element, unless it has much of the page's prose and is therefore content."""
        if self.is_spent:
            return
        length = self._length(element)
        if not self._has(self._body, length / _NOISE_SHARE_MOST):
            most = _NOISE_SHARE_MOST * self._total()
            if length > most and self._prose(element) > most:
                return
        element.extract()
        self._removed.append(element)

    def _choose(self) -> Element:
        body = self._body
        named = body.select(_NAMED_CONTENT)
        for is_meant in (_is_article_body, _is_main, _is_article) if named else ():
            candidates = list(filter(is_meant, named))
            if len(candidates) == 1 and self._is_most(candidates[0], body, 0.3):
                return self._narrower(candidates[0])
            chosen, length = self._largest(candidates)
            if chosen is not None and self._is_enough(length, 0.3):
                return self._narrower(chosen)
        marked, length = self._largest(self._marked)
        if marked is not None and not self._is_enough(length, 0.45):
            marked = None
        if self._on_the_loop:
            words = sum(map(len, self._classes))
            if words > self._words_most or self._size_of(body) > _SCORED_ON_THE_LOOP:
                self._give_up()
                return body
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
        if length >= share * self._total():
            return True
        if self._left is None:
            self._left = self._prose(self._body)
        return length >= share * self._left

    def _largest(self, candidates: Sequence[Element]) -> tuple[Element | None, int]:
        """The candidate with most prose, and how much that is; of equal ones the innermost."""
        best, most = None, 0
        for candidate in candidates[:_CANDIDATES_MOST]:
            length = self._prose(candidate)
            if length >= most and _is_within(candidate, self._body):
                best, most = candidate, length
        return best, most

    def _narrower(self, chosen: Element) -> Element:
        """The article in a main element, if there is one that has nearly everything, or far more than all others."""
        articles = chosen.select(f"article,[itemprop={_ARTICLE_BODY}]")[:_CANDIDATES_MOST]
        if not articles:
            return chosen
        if len(articles) == 1 and self._is_most(articles[0], chosen, 0.7):
            return articles[0]
        lengths = [self._length(each) for each in articles]
        best = lengths.index(max(lengths))
        if self._has(chosen, lengths[best] / 0.35):
            return chosen
        length = self._prose(chosen)
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
        linked, blocks = self._link_blocks(root)
        if not self._has(root, linked / 0.5) and linked > 0.5 * self._size_of(root):
            return
        for block, size in blocks.items():
            if self.is_spent:
                return
            text = block.text
            self._may_read -= len(text) + self._call_cost
            if size < 0.2 * len(text):  # not even without the blanks of its layout
                continue
            own = _size(text, text.count("\n"))
            if size <= 0.67 * own or (block.tag == "p" and own > 200):
                continue
            if self._has(root, own / 0.3) or own < 0.3 * self._size_of(root):
                block.decompose()

    def _link_blocks(self, root: Element) -> tuple[int, dict[Element, int]]:
        """How long the texts of all links are together, and those of the links in each block."""
        linked = 0
        blocks: dict[Element, int] = {}
        block_of: dict[Node, Element | None] = {root: None}
        layouts: dict[Node, bool] = {}
        for link in root.select("a")[:MAX_LINKS]:
            size = len(link.text)
            linked += size
            above: Node | None = link.parent
            if above not in block_of:
                above = _note_block(above, block_of, layouts)
            block = block_of[above] if above is not None else None
            if block is not None:
                blocks[block] = blocks.get(block, 0) + size
        return linked, blocks

    def _size_of(self, element: Element) -> int:
        """How much there is to read in an element, with links."""
        if element not in self._sizes:
            self._prose(element)
        return self._sizes.get(element) or 1


def _with_any_of(classes: Sequence[str]) -> str:
    """A selector of elements with an id or with one of these classes, as written; of more elements if it is shorter."""
    if len(classes) > _SELECTED_CLASSES_MOST or _NOT_QUOTED.search("".join(classes)):
        return "[class],[id]"
    return ",".join(["[id]", *[f'[class="{each}"]' for each in classes]])


def is_note(identifier: str | None, classes: str | None) -> bool:
    """Whether class and id make an aside a note on the content, which belongs to it."""
    return _NOTES.search(f"{identifier} {classes}".lower()) is not None


def _is_marked_as_noise(element: Element) -> bool:
    if "hidden" in element.attrs or element.attr("aria-hidden") == "true":
        return True
    role = element.attr("role")
    if role is not None and role.strip().lower() in _NOISE_ROLES:
        return True
    style = element.attr("style")
    return style is not None and _HIDING.search(style[:_LONGEST_WORDS]) is not None


def _is_inflated(body: Element, most: int) -> bool:
    """Whether the parser made too many elements, most of them by reopening some, for any to have a meaning."""
    return next(islice(body.iter_elements(_REOPENED), most, None), None) is not None


def _note_block(node: Node | None, block_of: dict[Node, Element | None], layouts: dict[Node, bool]) -> Node | None:
    """Note the nearest block around a node for it and for what is between; returns where it was found, if anywhere."""
    passed: list[Node] = []
    while node is not None and node not in block_of:
        if isinstance(node, Element) and node.tag in _LINK_BLOCKS and not _is_data_cell(node, layouts):
            block_of[node] = node
            break
        passed.append(node)
        node = node.parent
    block = block_of[node] if node is not None else None
    for each in passed:
        block_of[each] = block
    return node


def _is_data_cell(element: Element, layouts: dict[Node, bool]) -> bool:
    """Whether an element is a cell of a table that holds data: what a row is about is often a link, and no noise."""
    if element.tag != "td":
        return False
    table: Node | None = element
    for _row_part_table in range(3):
        table = table.parent if table is not None else None
        if isinstance(table, Element) and table.tag == "table":
            if table not in layouts:
                layouts[table] = len(layouts) >= TABLES_MOST or is_layout(table)
            return not layouts[table]
    return False


def _nodes_around(inner: Element, outer: Element, most: int) -> list[Node] | None:
    """All that an element has besides one within it; None if that is too much, or the inner one is elsewhere."""
    around: list[Node] = []
    within: Node = inner
    for above in islice(inner.ancestors, _CLIMBED_MOST):
        if not isinstance(above, Element):
            return None
        children = above.children
        if len(around) + len(children) > most:
            return None
        around.extend([node for node in children if node is not within])
        if above is outer:
            return around
        within = above
    return None


def _is_article_body(element: Element) -> bool:
    return element.attr("itemprop") == _ARTICLE_BODY


def _is_main(element: Element) -> bool:
    return element.tag == "main" or element.attr("role") == "main"


def _is_article(element: Element) -> bool:
    return element.tag == "article"


def _has_heading(element: Element) -> bool:
    return next(element.iter_elements("h1"), None) is not None


def _drop_permalinks(root: Element) -> None:
    """Drop the links of headings to themselves; elsewhere such a mark is content."""
    links: list[Element] = []
    nested: set[Element] = set()  # headings in headings, which are read with the outer one: each element is read once
    for heading in root.iter_elements(_HEADINGS):
        if heading not in nested:
            for inner in heading.iter_elements(("a", *_HEADINGS)):
                if inner.tag == "a":
                    links.append(inner)
                else:
                    nested.add(inner)
    for link in links[:MAX_LINKS]:
        if link.text in _PERMALINKS:
            link.decompose()


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
