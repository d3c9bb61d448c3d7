"""What an audit reads from a page: takes a parsed document, returns its facts and every link with its place.

One walk over the tree collects everything. The number of nodes, of list items and of characters is bounded, so a page
costs at most a fixed time. Addresses are made absolute; those that are no web addresses are left as written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, fields
from typing import Final, NamedTuple

from turbohtml import Document, Element, Namespace, Node, Text
from xxhash import xxh3_128_hexdigest

from comity.extract.structured_items import read_item, types_of
from comity.model.audit import Alternate, Directive, Heading, PageFacts, Resource, StructuredItem
from comity.model.page import PageRegion
from comity.rules.audit.similarity import similarity_of
from comity.rules.audit.structured_data import missing_properties
from comity.rules.canonical import resolve_link

MAX_NODES: Final = 200_000
MAX_LINKS: Final = 10_000
MAX_TEXT_CHARACTERS: Final = 1_000_000
MAX_ANCHOR_CHARACTERS: Final = 200
_LONGEST: Final = 1_000  # characters of a title, a heading, a description
_FEW: Final = 20  # titles, descriptions, canonical addresses, directives
_MANY: Final = 200  # headings, alternates, images, resources
_ITEMS_MOST: Final = 50
_ITEM_ELEMENTS: Final = 5_000
_JSON_MOST: Final = 1_000_000
_SCRIPTS_MOST: Final = 50
_HEADER_MOST: Final = 8_000  # characters of Link fields
_WORDS_MOST: Final = 50_000

_HEADINGS: Final = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_WITHOUT_TEXT: Final = (
    "script style template noscript head title iframe object embed canvas audio video svg math textarea select "
    "datalist meta link base noframes"
)
_NO_TEXT: Final = frozenset(_WITHOUT_TEXT.split())
_WITHIN_A_LINE: Final = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt ruby s samp small "
    "span strike strong sub sup time tt u var wbr"
)
_INLINE: Final = frozenset(_WITHIN_A_LINE.split())
_REGIONS: Final = {
    "header": PageRegion.HEADER,
    "nav": PageRegion.NAV,
    "main": PageRegion.MAIN,
    "aside": PageRegion.ASIDE,
    "footer": PageRegion.FOOTER,
}
_ROLES: Final = {
    "banner": PageRegion.HEADER,
    "navigation": PageRegion.NAV,
    "main": PageRegion.MAIN,
    "complementary": PageRegion.ASIDE,
    "contentinfo": PageRegion.FOOTER,
}
_NOT_CONTENT: Final = (PageRegion.NAV, PageRegion.FOOTER)
_HIDING: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
# Where each element names what it loads (WHATWG HTML; Mixed Content §5).
_LOADS: Final = {
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "script": ("src",),
    "iframe": ("src",),
    "frame": ("src",),
    "embed": ("src",),
    "audio": ("src",),
    "video": ("src", "poster"),
    "track": ("src",),
    "object": ("data",),
    "input": ("src",),
}
_LOADED_LINKS: Final = frozenset({"stylesheet", "icon", "preload", "modulepreload", "apple-touch-icon", "manifest"})
_NAMES_OF_IMAGES: Final = ("aria-label", "aria-labelledby", "title")
_DECORATION: Final = ("presentation", "none")
_POLICY: Final = "content-security-policy"
# A refresh to another page within a second (WHATWG HTML, "refresh"); one of its own page has no address.
_FORWARDING: Final = re.compile(r"\s*[01](?:\.\d*)?\s*[;,]\s*+(?:url\s*=\s*)?+['\"]?\s*[^\s'\"]", re.IGNORECASE)
_ROBOTS: Final = frozenset({"robots", "slurp", "yandex", "baiduspider", "google", "facebookexternalhit"})
_BLANKS: Final = "".join(map(chr, range(0x21)))  # what the URL parser strips from both ends of an address
_LINK_FIELD: Final = re.compile(
    r"<([^<>]{0,4096})>((?:\s*;\s*[\w*!#$&+.^`|~-]+\s*=\s*(?:\"[^\"]{0,1000}\"|[^\",;\s]+))*)"
)
_LINK_PARAMETER: Final = re.compile(r";\s*([\w*!#$&+.^`|~-]+)\s*=\s*(?:\"([^\"]*)\"|([^\",;\s]+))")
# Scripts without spaces between words (Chinese, Japanese, Thai, Lao, Burmese, Khmer); two characters are about a word.
_UNSPACED: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"
)

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_DEFAULTS: Final = {each.name: each.default for each in fields(PageFacts) if each.default is not MISSING}

Address = Callable[[str], str]
"""Trims an address as the reader of the page does; what no server would take is empty."""


class RawLink(NamedTuple):
    """A link as it is written, with its place on the page."""

    href: str
    text: str
    rel: tuple[str, ...]
    region: str


class ReadFacts(NamedTuple):
    """What was read: facts, and links in document order."""

    facts: PageFacts | None
    links: list[RawLink]


class SaidByServer(NamedTuple):
    """Header fields that say what a page could say itself."""

    links: tuple[str, ...] = ()
    """Of Link."""
    robots: tuple[str, ...] = ()
    """Of X-Robots-Tag."""


NOTHING_SAID: Final = SaidByServer()


def facts_to_json(facts: PageFacts) -> str:
    """The facts of a page as one JSON object without defaults: of most pages that is a few hundred bytes."""
    values = {name: getattr(facts, name) for name in _DEFAULTS}
    return _encode({name: value for name, value in values.items() if value != _DEFAULTS[name]})


def read_facts(
    document: Document,
    *,
    url: str,
    base: str,
    address: Address = str.strip,
    said: SaidByServer = NOTHING_SAID,
    only_links: bool = False,
) -> ReadFacts:
    """Read a page. `base` is what its addresses are relative to; `url` is its own."""
    reader = _FactReader(url, base, address)
    reader.walk(document)
    links = [link.raw() for link in reader.links]
    if only_links:
        return ReadFacts(None, links)
    reader.read_headers(said)
    reader.read_items(document)
    return ReadFacts(reader.facts(), links)


class _Link:
    """A link while its text is read."""

    __slots__ = ("alts", "href", "label", "region", "rel", "texts")

    def __init__(self, href: str, element: Element, region: PageRegion) -> None:
        self.href = href
        self.rel = tuple(dict.fromkeys((element.attr("rel") or "").lower().split()[:10]))
        self.region = region
        self.label = element.attr("alt") or element.attr("aria-label") or ""
        self.texts: list[str] = []
        self.alts: list[str] = []

    def raw(self) -> RawLink:
        text = _one_line(self.texts) or _one_line(self.alts) or _one_line([self.label])
        return RawLink(self.href, text[:MAX_ANCHOR_CHARACTERS].rstrip(), self.rel, str(self.region))


class _Place(NamedTuple):
    """Where on the page a node stands."""

    region: PageRegion = PageRegion.BODY
    is_shown: bool = True
    is_content: bool = True
    is_fallback: bool = False
    """Whether it is in noscript: links there are links, pictures and texts are for others."""
    link: _Link | None = None
    heading: list[str] | None = None


class _FactReader:
    """Gathers what the nodes of one page say."""

    def __init__(self, url: str, base: str, address: Address) -> None:
        self._is_secure = url.startswith("https:")
        self._base = base
        self._address = address
        self.links: list[_Link] = []
        self._language: str | None = None
        self._titles: list[str] = []
        self._descriptions: list[str] = []
        self._headings: list[tuple[int, list[str]]] = []
        self._canonicals: list[str] = []
        self._alternates: list[Alternate] = []
        self._directives: list[Directive] = []
        self._structured: list[StructuredItem] = []
        self._images = 0
        self._without_alt: dict[str, None] = {}
        self._insecure: dict[Resource, None] = {}
        self._has_viewport = False
        self._policies: list[str] = []
        self._forwards = False
        self._content: list[str] = []
        self._whole: list[str] = []
        self._characters = 0
        self._scripts: list[str] = []

    def facts(self) -> PageFacts:
        text = _one_line(self._content) or _one_line(self._whole)
        words = text.split()[:_WORDS_MOST]
        count = len(words)
        compared = words
        if not text.isascii() and (unspaced := len(_UNSPACED.findall(text))):
            count += unspaced // 2
            # A paragraph without spaces would be compared as one word, and weigh no more than a word of a menu.
            compared = _UNSPACED.sub(r" \g<0> ", text).split()[:_WORDS_MOST]
        headings = ((level, _one_line(parts)[:_LONGEST]) for level, parts in self._headings)
        return PageFacts(
            language=self._language,
            titles=tuple(self._titles),
            descriptions=tuple(self._descriptions),
            headings=tuple(Heading(level, said) for level, said in headings if said),
            canonicals=tuple(dict.fromkeys(self._canonicals)),
            alternates=tuple(dict.fromkeys(self._alternates)),
            directives=tuple(self._directives),
            structured=tuple(self._structured),
            images=self._images,
            images_without_alt=tuple(self._without_alt),
            insecure_resources=tuple(self._insecure),
            word_count=count,
            text_hash=xxh3_128_hexdigest(text.encode("utf-8", "surrogatepass")) if text else None,
            similarity=similarity_of(compared) if compared else None,
            has_viewport=self._has_viewport,
            policies=tuple(self._policies),
            forwards=self._forwards,
        )

    def read_headers(self, said: SaidByServer) -> None:
        """What the answer's header says of the page (RFC 8288; X-Robots-Tag)."""
        for href, parameters in _link_fields(said.links):
            rel = parameters.get("rel", "").lower().split()
            if "canonical" in rel:
                self._add_canonical(href)
            if "alternate" in rel and "hreflang" in parameters:
                self._add_alternate(parameters["hreflang"], href, "header")
        self._directives += [Directive(value.strip()[:_LONGEST], "header") for value in said.robots[:_FEW]]

    def walk(self, document: Document) -> None:
        """Visit every node once, in document order; a None on the way is a break between two blocks."""
        waiting: list[tuple[Node | None, _Place]] = [(document, _Place())]
        for _node in range(MAX_NODES):
            if not waiting:
                return
            node, place = waiting.pop()
            if node is None:
                self._take_text(" ", place)
            elif isinstance(node, Text):
                self._take_text(node.data, place)
            elif isinstance(node, Element):
                inner = self._take(node, place)
                if inner is not None:
                    is_block = node.tag not in _INLINE
                    if is_block:
                        self._take_text(" ", place)
                        waiting.append((None, place))
                    waiting.extend((child, inner) for child in reversed(node.children))
            elif isinstance(node, Document):
                waiting.extend((child, place) for child in reversed(node.children))

    def _take_text(self, text: str, place: _Place) -> None:
        if place.link is not None:
            place.link.texts.append(text)
        if not place.is_shown:
            return
        if place.heading is not None:
            place.heading.append(text)
        self._characters += len(text)
        if self._characters <= MAX_TEXT_CHARACTERS:
            self._whole.append(text)
            if place.is_content:
                self._content.append(text)

    def _take(self, element: Element, place: _Place) -> _Place | None:
        """Read one element; returns the context of its children, None if they are skipped."""
        tag = element.tag
        if element.namespace is not Namespace.HTML and tag not in ("a", "svg", "math"):
            return place
        if tag in _TAKERS:
            _TAKERS[tag](self, element, place)
        if tag in ("script", "style", "template", "title"):
            return None
        if tag in _LOADS:
            self._note_insecure(tag, [element.attr(name) for name in _LOADS[tag]])
        if tag in ("a", "area") and len(self.links) < MAX_LINKS:
            href = self._address(element.attr("href") or "")
            if href and href[0] != "#":
                link = _Link(href, element, place.region)
                self.links.append(link)
                place = place._replace(link=link)
        elif tag in _HEADINGS and place.is_shown and len(self._headings) < _MANY:
            parts: list[str] = []
            self._headings.append((_HEADINGS[tag], parts))
            place = place._replace(heading=parts)
        return self._inner(element, tag, place)

    def _inner(self, element: Element, tag: str, place: _Place) -> _Place:
        region = _ROLES.get((element.attr("role") or "").strip().lower()) or _REGIONS.get(tag)
        if region is not None and region is not place.region:
            is_content = place.is_content and region not in _NOT_CONTENT
            place = place._replace(region=region, is_content=is_content)
        if tag == "noscript":
            return place._replace(is_shown=False, is_fallback=True)
        if place.is_shown and (tag in _NO_TEXT or _is_hidden(element)):
            return place._replace(is_shown=False)
        return place

    def _take_html(self, element: Element, _place: _Place) -> None:
        said = (element.attr("lang") or element.attr("xml:lang") or "").strip()
        self._language = self._language or said[:100] or None

    def _take_title(self, element: Element, _place: _Place) -> None:
        text = _one_line([element.text])[:_LONGEST]
        if text and len(self._titles) < _FEW:
            self._titles.append(text)

    def _take_meta(self, element: Element, _place: _Place) -> None:
        name = (element.attr("name") or "").strip().lower()
        content = (element.attr("content") or "").strip()
        if name == "description":
            if content and len(self._descriptions) < _FEW:
                self._descriptions.append(_one_line([content])[:_LONGEST])
        elif name == "viewport":
            self._has_viewport = True
        elif content and not name:
            said = (element.attr("http-equiv") or "").strip().lower()
            if said == _POLICY and len(self._policies) < _FEW:
                self._policies.append(content[:_LONGEST])
            elif said == "refresh" and _FORWARDING.match(content):
                self._forwards = True
        elif content and (name in _ROBOTS or name.endswith("bot")) and len(self._directives) < 2 * _FEW:
            self._directives.append(Directive(content[:_LONGEST], f"meta {name[:50]}"))

    def _take_link(self, element: Element, _place: _Place) -> None:
        rel, href = (element.attr("rel") or "").lower().split(), element.attr("href")
        if "canonical" in rel and href is not None:
            self._add_canonical(href)
        if "alternate" in rel and (language := element.attr("hreflang")) is not None:
            self._add_alternate(language, href or "", "link")
        if not _LOADED_LINKS.isdisjoint(rel):
            self._note_insecure("link", [href])

    def _take_image(self, element: Element, place: _Place) -> None:
        if place.is_fallback:
            return
        self._images += 1
        is_decoration = (element.attr("role") or "").lower() in _DECORATION or element.attr("aria-hidden") == "true"
        alt = element.attr("alt")
        if alt is not None and place.link is not None:
            place.link.alts.append(f" {alt} ")
        if alt is not None and place.heading is not None and place.is_shown:
            place.heading.append(f" {alt} ")  # a logo in the main heading is read out and indexed by its alt text
        # A name by ARIA or a title does as well (HTML-AAM), and what is hidden needs none.
        is_named = any((element.attr(name) or "").strip() for name in _NAMES_OF_IMAGES)
        is_unseen = not place.is_shown or _is_hidden(element)
        if "alt" in element.attrs or is_decoration or is_named or is_unseen or len(self._without_alt) >= _MANY:
            return
        written = next((said for name in ("src", "data-src", "srcset") if (said := element.attr(name))), "")
        if not written.lower().startswith("data:"):
            written = self._absolute((written.split() or [""])[0].rstrip(","))
        self._without_alt[written[:100] if written.lower().startswith("data:") else written] = None

    def _take_input(self, element: Element, place: _Place) -> None:
        if (element.attr("type") or "").lower() == "image":  # a button that is a picture needs a name as well
            self._take_image(element, place)

    def _take_script(self, element: Element, _place: _Place) -> None:
        kind = (element.attr("type") or "").partition(";")[0].strip().lower()
        if kind == "application/ld+json" and len(self._scripts) < _SCRIPTS_MOST:
            self._scripts.append(element.text)
        self._note_insecure("script", [element.attr("src")])

    def _add_canonical(self, href: str) -> None:
        address = self._absolute(href)
        if address and len(self._canonicals) < _FEW:
            self._canonicals.append(address)

    def _add_alternate(self, language: str, href: str, source: str) -> None:
        if len(self._alternates) < _MANY:
            self._alternates.append(Alternate(language.strip()[:50], self._absolute(href), source))

    def _absolute(self, href: str) -> str:
        """An address as it would be requested; as written where it is no web address."""
        trimmed = self._address(href)
        found = resolve_link(trimmed, self._base) if trimmed else None
        return found.url if found is not None else trimmed[:_LONGEST]

    def _note_insecure(self, element: str, written: Iterable[str | None]) -> None:
        """Note what is loaded without TLS: on a page with TLS by any way, elsewhere if it is written so."""
        for said in written:
            for href in _addresses_in(said) if said else ():
                is_http = href[:5].lower() == "http:"
                if not is_http and not (self._is_secure and self._base.startswith("http:")):
                    continue
                address = self._absolute(href)
                if address.startswith("http://") and len(self._insecure) < _MANY:
                    self._insecure[Resource(element, address)] = None

    def read_items(self, document: Document) -> None:
        """Read structured data: JSON-LD, microdata and RDFa."""
        for script in self._scripts:
            self._structured += _json_ld(script)
        room = [_ITEM_ELEMENTS]
        for syntax, names, selector in (
            ("microdata", ("itemprop", "itemscope", "itemtype"), "[itemscope][itemtype]:not([itemprop])"),
            ("rdfa", ("property", "typeof", "typeof"), "[typeof]:not([property])"),
        ):
            roots = document.select(selector)[:_ITEMS_MOST]
            by_id = _ids(document).get if roots and syntax == "microdata" else None
            for root in roots:
                if room[0] > 0:
                    self._structured += _items_of([read_item(root, names, room, by_id)], syntax)
        del self._structured[_ITEMS_MOST:]


_TAKERS: Final[dict[str, Callable[[_FactReader, Element, _Place], None]]] = {
    "html": _FactReader._take_html,
    "title": _FactReader._take_title,
    "meta": _FactReader._take_meta,
    "link": _FactReader._take_link,
    "img": _FactReader._take_image,
    "input": _FactReader._take_input,
    "script": _FactReader._take_script,
}


def _ids(document: Document) -> dict[str, Element]:
    """Elements by id, for items of microdata that refer to them; of equal ids the first counts."""
    found: dict[str, Element] = {}
    for element in document.select("[id]")[:_ITEM_ELEMENTS] if document.select_one("[itemref]") is not None else ():
        found.setdefault(element.attr("id") or "", element)
    return found


def _is_hidden(element: Element) -> bool:
    attributes = element.attrs
    if "hidden" in attributes or (element.tag == "dialog" and "open" not in attributes):
        return True
    style = element.attr("style")
    return style is not None and _HIDING.search(style[:_LONGEST]) is not None


def _one_line(parts: Sequence[str]) -> str:
    return " ".join("".join(parts).split())


def _addresses_in(written: str) -> Iterator[str]:
    """The addresses of an attribute; `srcset` has several, each followed by a blank or a comma."""
    for piece in written[: 32 * 1024].split(",") if " " in written.strip() else (written,):
        words = piece.split(None, 1)
        if words:
            yield words[0]


def _link_fields(values: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The targets and parameters of Link fields (RFC 8288 §3)."""
    for value in values[:_FEW]:
        for found in _LINK_FIELD.finditer(value[:_HEADER_MOST]):
            parameters = {name.lower(): quoted or plain for name, quoted, plain in _LINK_PARAMETER.findall(found[2])}
            yield found[1].strip(), parameters


def _json_ld(text: str) -> list[StructuredItem]:
    """The items of one script element, or why it cannot be read."""
    if len(text) > _JSON_MOST:
        return [StructuredItem("", "json-ld", (), f"it is longer than {_JSON_MOST:,} characters")]
    if not text.strip():
        return [StructuredItem("", "json-ld", (), "it is empty")]
    try:
        value = json.loads(text)
    except RecursionError:
        return [StructuredItem("", "json-ld", (), "it is nested too deep")]
    except ValueError as problem:
        return [StructuredItem("", "json-ld", (), f"the JSON does not parse: {problem}"[:200])]
    return list(_items_of(_top_items(value), "json-ld"))


def _top_items(value: object) -> Iterator[dict[str, object]]:
    """The objects of a document: one, those of a list, or those of its graph."""
    waiting, looked_at = [value], 0
    while waiting and looked_at < _ITEM_ELEMENTS:
        looked_at += 1
        each = waiting.pop(0)
        if isinstance(each, list):
            waiting[:0] = each[:_ITEMS_MOST]
        elif isinstance(each, dict):
            if types_of(each):
                yield each
            if "@graph" in each:
                waiting.insert(0, each["@graph"])


def _items_of(nodes: Iterable[dict[str, object]], syntax: str) -> Iterator[StructuredItem]:
    for node in nodes:
        for kind in sorted(types_of(node)):
            if kind:
                yield StructuredItem(kind[:100], syntax, missing_properties(kind, node))
