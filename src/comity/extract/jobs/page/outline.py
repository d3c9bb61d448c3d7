"""The outline of a page: takes its tree, returns flat lists, so that everything else is arithmetic on them.

Elements are numbered in document order, and `ends` says where the descendants of each stop, so "the texts of this card"
is a slice. Navigation, footers, banners and the like are marked once, here. Numbers and depth are bounded.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import field
from typing import Final

from turbohtml import Document, Element, Text

from comity.extract.jobs.addresses import resolve
from comity.extract.jobs.text import collapse
from comity.extract.jobs.words.pages import CHROME_WORDS, STRONG_CHROME_WORDS
from comity.model.dataclass import dataclass

MAX_ELEMENTS: Final = 100_000
MAX_DEPTH: Final = 400
MAX_LINKS: Final = 10_000
_SILENT: Final = frozenset(
    {
        "script",
        "style",
        "noscript",
        "template",
        "svg",
        "head",
        "select",
        "textarea",
        "iframe",
        "object",
        "math",
        "option",
    }
)
_CHROME_TAGS: Final = frozenset({"nav", "footer", "aside", "dialog"})
_CHROME_ROLES: Final = frozenset(
    {
        "navigation",
        "contentinfo",
        "banner",
        "search",
        "dialog",
        "alertdialog",
        "complementary",
        "menu",
        "menubar",
        "tablist",
        "toolbar",
    }
)
_NEVER_CHROME: Final = frozenset({"html", "body", "main", "article", "h1", "table", "tbody", "tr", "td"})
HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_CLICKED_TAGS: Final = frozenset({"tr", "td", "div", "li", "article", "section", "button", "h2", "h3", "h4", "span"})
_LOOKS_LIKE_ADDRESS: Final = re.compile(r"https?://|/|\./|\?|[\w-]+(?:/|\.(?:html?|php|aspx?|jsp|pdf))")
_MAIN_PARTS: Final = frozenset({"main", "article", "section", "li", "td"})


@dataclass(slots=True)
class Link:
    """One link: its element's number, where it leads, and what it says."""

    element: int
    url: str
    text: str


@dataclass(slots=True)
class Outline:
    """Everything about a page's elements, by their numbers."""

    base: str
    tags: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Class and id of each element in lower case."""
    elements: list[Element] = field(default_factory=list)
    chrome: list[bool] = field(default_factory=list)
    hidden: list[bool] = field(default_factory=list)
    text_owners: list[int] = field(default_factory=list)
    """For every text: the number of its element."""
    text_starts: list[int] = field(default_factory=list)
    """For every element: the number of its first text."""
    text_ends: list[int] = field(default_factory=list)
    """For every element: the number of the first text behind it."""
    texts: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    spoken: dict[int, str] = field(default_factory=dict)
    """What icons and cells say of themselves in attributes, by the number of the text that follows."""
    has_weak_chrome: bool = False
    """Whether something counts as furniture only by a name that a list of jobs might have, too."""

    def text_range(self, start: int, end: int) -> range:
        """Numbers of the texts from the beginning of one element to the end of what lies before another."""
        if end == self.ends[start]:
            return range(self.text_starts[start], self.text_ends[start])
        return range(self.text_starts[start], self.text_starts[end] if end < len(self.tags) else len(self.texts))

    def text(self, element: int, limit: int = 2000) -> str:
        """Everything that an element says, in one line."""
        said: list[str] = []
        length = 0
        for index in range(self.text_starts[element], self.text_ends[element]):
            said.append(self.texts[index][: limit + 1000])
            length += len(self.texts[index])
            if length > limit:
                break
        return collapse("".join(said))[:limit]

    def ancestors(self, element: int, most: int = MAX_DEPTH) -> list[int]:
        """The elements around one, nearest first."""
        found: list[int] = []
        parent = self.parents[element]
        while parent >= 0 and len(found) < most:
            found.append(parent)
            parent = self.parents[parent]
        return found


def outline_of(document: Document, base: str, *, is_lenient: bool = False) -> Outline:
    """Walk a page once; what lies deeper or further than the bounds is left out.

    Leniently, only what is furniture beyond doubt counts as such: "related-offers" may be the list itself.
    """
    outline = Outline(base)
    flagged: list[bool] = []
    _walk(document, outline, flagged, is_lenient)
    _mark_chrome(outline, flagged)
    _take_links(outline)
    _mark_menus(outline)
    return outline


_BREAKS: Final = frozenset({"br", "hr"})
_BLOCKS: Final = frozenset(
    (
        *("address", "article", "aside", "blockquote", "button", "caption", "dd", "details", "div", "dl", "dt"),
        *("fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header"),
        *("li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th"),
        *("thead", "tr", "ul"),
    )
)


def _walk(document: Document, outline: Outline, flagged: list[bool], is_lenient: bool) -> None:
    root = document.select_one("body") or document.root
    if root is None:
        return
    tags, ends, texts, owners = outline.tags, outline.ends, outline.texts, outline.text_owners
    # An element enters, or (without a node) the element of the number ends.
    waiting: list[tuple[Element | Text | None, int, int]] = [(root, -1, 0)]
    while waiting:
        node, number, depth = waiting.pop()
        if node is None:
            ends[number] = len(tags)
            if tags[number] in _BLOCKS:
                texts.append("\n")
                owners.append(number)
            outline.text_ends[number] = len(texts)
            continue
        if isinstance(node, Text):
            texts.append(node.data)
            owners.append(number)
            continue
        tag = node.tag
        if tag in _SILENT or len(tags) >= MAX_ELEMENTS or depth > MAX_DEPTH:
            continue
        outline.parents.append(number)
        number = len(tags)
        tags.append(tag)
        ends.append(number + 1)
        outline.elements.append(node)
        outline.text_starts.append(len(texts))
        flagged.append(_take_attributes(outline, tag, node, is_lenient))
        if tag in _BREAKS or tag in _BLOCKS:
            texts.append("\n")
            owners.append(number)
        outline.text_ends.append(len(texts))
        children = node.children
        if children:
            waiting.append((None, number, depth))
            waiting.extend(
                (child, number, depth + 1) for child in reversed(children) if isinstance(child, Element | Text)
            )


_NAMING: Final = ("data-ui", "data-qa", "data-testid", "data-test", "data-automation-id", "data-field", "itemprop")
_SPEAKING: Final = ("data-label", "data-title", "data-th", "data-header", "title", "aria-label", "alt")
_SPEAKING_TAGS: Final = frozenset({"abbr", "i", "img", "svg", "span", "em", "td", "th", "div", "dd", "li", "p"})
_LONGEST_SPOKEN: Final = 50
_HUMPS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _name(node: Element) -> str:
    """What an element is called: class, id and what tests and scripts call it; "dutyStation" is "duty-station"."""
    said = [node.attr("class") or "", node.attr("id") or "", *(node.attr(name) or "" for name in _NAMING)]
    name = " ".join(filter(None, said))[:300]
    return (_HUMPS.sub("-", name) if not name.islower() else name).lower().strip()


def _take_attributes(outline: Outline, tag: str, node: Element, is_lenient: bool) -> bool:
    """Store the names of an element; returns whether they mark it as navigation of the site."""
    if not node.attrs:
        outline.names.append("")
        outline.hidden.append(False)
        return tag in _CHROME_TAGS or tag == "header"
    name = _name(node)
    outline.names.append(name)
    if tag in _SPEAKING_TAGS:
        spoken = next((said for attribute in _SPEAKING if (said := node.attr(attribute))), "")
        if spoken and len(spoken) <= _LONGEST_SPOKEN:
            outline.spoken.setdefault(len(outline.texts), spoken)
    style = node.attr("style") or ""
    outline.hidden.append(
        node.attr("hidden") is not None or ("none" in style and "display:none" in style.replace(" ", "").lower())
    )
    if tag in _NEVER_CHROME:
        return False
    if tag in _CHROME_TAGS or tag == "header" or (node.attr("role") or "").lower() in _CHROME_ROLES:
        return True
    if not name or CHROME_WORDS.search(name) is None:
        return False
    if STRONG_CHROME_WORDS.search(name) is None:
        outline.has_weak_chrome = True
        return not is_lenient
    return True


def _mark_chrome(outline: Outline, flagged: list[bool]) -> None:
    """Furniture is inherited. What holds the page's main part or most of its text is none, whatever it is called."""
    total = len(outline.tags)
    whole = max(1, len(outline.texts))
    mains = [number for number in range(total) if outline.tags[number] in ("main", "h1")]
    inside = [False] * total  # within a main part, where a header is that of an article
    for number in range(total):
        parent = outline.parents[number]
        inherited = parent >= 0 and outline.chrome[parent]
        inside[number] = parent >= 0 and (inside[parent] or outline.tags[parent] in _MAIN_PARTS)
        own = flagged[number]
        if own and not inherited:
            end = outline.ends[number]
            at = bisect_left(mains, number)
            tag = outline.tags[number]
            has_main = at < len(mains) and mains[at] < end and (tag != "header" or outline.tags[mains[at]] == "main")
            is_large = (outline.text_ends[number] - outline.text_starts[number]) * 2 > whole
            is_part = (tag == "header" and inside[number]) or (tag == "footer" and _is_in_item(outline, number))
            if has_main or is_part or (tag not in ("nav", "footer") and is_large):
                own = False
        outline.chrome.append(inherited or own)
        if parent >= 0 and outline.hidden[parent]:
            outline.hidden[number] = True


def _is_in_item(outline: Outline, number: int) -> bool:
    """Whether a footer is that of an article or a member of a list."""
    return any(outline.tags[near] in ("article", "li") for near in outline.ancestors(number, 6))


# What a script does on a click: location.href = '…', window.open('…'), openJob("…").
_CLICK: Final = re.compile(
    r"(?:location(?:\.href)?\s*=|\b(?:open|goto|navigate|redirect|show)\w*\()\s*['\"]([^'\"]{2,1000})['\"]"
)
_CLICKED_NAMES: Final = ("data-href", "data-url", "data-link")


def _clicked(outline: Outline, number: int, element: Element) -> str | None:
    """Where a click on a row or card leads, if there is no link inside it."""
    if outline.tags[number] not in _CLICKED_TAGS:
        return None
    href = next((said for name in _CLICKED_NAMES if (said := element.attr(name))), None)
    if href is None and (script := element.attr("onclick")):
        found = _CLICK.search(script[:2000])
        href = found[1] if found else None
    if not href or not _LOOKS_LIKE_ADDRESS.match(href):
        return None
    inside = range(number + 1, min(outline.ends[number], number + 200))
    return None if any(outline.tags[inner] == "a" for inner in inside) else href


def _take_links(outline: Outline) -> None:
    addresses: dict[str, str] = {}
    for number, tag in enumerate(outline.tags):
        element = outline.elements[number]
        if tag == "a" or tag == "area":
            href = element.attr("href")
        else:
            href = _clicked(outline, number, element) if element.attrs else None
        if not href:
            continue
        if href not in addresses:
            addresses[href] = resolve(href, outline.base)
        text = _visible_text(outline, number)
        text = text or collapse(element.attr("aria-label") or element.attr("title") or "")[:300]
        outline.links.append(Link(number, addresses[href], text))
        if len(outline.links) >= MAX_LINKS:
            return


def _visible_text(outline: Outline, link: int) -> str:
    """What a link shows; words for screen readers only where it shows none."""
    numbers = range(outline.text_starts[link], outline.text_ends[link])[:100]
    shown = "".join(outline.texts[index] for index in numbers if not outline.chrome[outline.text_owners[index]])
    return collapse(shown[:1000])[:400] or outline.text(link, 400)


_ROOT: Final = re.compile(r"^https?://[^/?#]+/?(?:index\.\w{2,5}|home|[a-z]{2}(?:-[a-z]{2})?/?)?$", re.IGNORECASE)
_LEAST_MENU: Final = 3
_MOST_ROOT_LINKS: Final = 30


def _mark_menus(outline: Outline) -> None:
    """Furniture by its shape: nothing but links, one of them to the site's first page, is a menu in any language."""
    places = [link.element for link in outline.links]
    roots = [link.element for link in outline.links if not outline.chrome[link.element] and _ROOT.match(link.url)]
    for element in roots[:_MOST_ROOT_LINKS]:
        menu = -1
        for near in outline.ancestors(element, 8):
            if outline.tags[near] in _NEVER_MENU or not _is_linked_only(outline, near, places):
                break
            if bisect_left(places, outline.ends[near]) - bisect_left(places, near) >= _LEAST_MENU:
                menu = near
        if menu >= 0:
            for number in range(menu, outline.ends[menu]):
                outline.chrome[number] = True


_NEVER_MENU: Final = frozenset({"html", "body", "main", "article", "form"})
_MOST_MENU_TEXTS: Final = 200
_MOST_MENU_ELEMENTS: Final = 2_000


def _is_linked_only(outline: Outline, element: int, places: list[int]) -> bool:
    """Whether next to nothing is said in an element outside its links, and no heading stands in it."""
    begin, stop = outline.text_starts[element], outline.text_ends[element]
    if stop - begin > _MOST_MENU_TEXTS or outline.ends[element] - element > _MOST_MENU_ELEMENTS:
        return False
    if any(outline.tags[number] in HEADINGS for number in range(element, outline.ends[element])):
        return False
    first, last = bisect_left(places, element), bisect_left(places, outline.ends[element])
    linked = {
        index for place in places[first:last] for index in range(outline.text_starts[place], outline.text_ends[place])
    }
    outside = sum(sum(map(str.isalnum, outline.texts[index])) for index in range(begin, stop) if index not in linked)
    return outside <= _LEAST_MENU
