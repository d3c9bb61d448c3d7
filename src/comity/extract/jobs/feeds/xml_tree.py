"""XML as feeds really write it: takes text, returns a tree of small nodes, however broken the markup.

Only numeric entities and the named ones of HTML are expanded, wrong end tags close what they can, and depth and number
of nodes are bounded. Every pattern stops at the next `<`, so the time is linear.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

MAX_NODES: Final = 300_000
MAX_DEPTH: Final = 64
_MARKUP: Final = re.compile(
    r"<(?:(!\[CDATA\[)|(!--)|([!?])|(/?)([A-Za-z_][\w.:-]*+)((?>[^<>\"']+|\"[^\"<]*\"|'[^'<]*'|[\"'])*+)>)"
)
_ATTRIBUTE: Final = re.compile(r"([\w:.-]++)\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)')")
# With a semicolon only: "?a=1&copy=2" in a link that was not escaped names no sign.
_REFERENCE: Final = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
# Elements of HTML, as they stand inside titles and descriptions; text goes on without a break around the inline ones.
_INLINE_NAMES: Final = (
    "a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup "
    "tt u var wbr"
)
_BLOCK_NAMES: Final = (
    "address article blockquote body br center dd div dl dt figure h1 h2 h3 h4 h5 h6 hr html img li main ol p pre "
    "section table tbody td th thead tr ul"
)
_INLINE: Final = frozenset(_INLINE_NAMES.split())
_BLOCKS: Final = frozenset(_BLOCK_NAMES.split())
# Words of these vocabularies are about a picture, a recording or a comment, not about the item.
_ASIDE: Final = frozenset({"media", "itunes", "googleplay", "podcast", "thr", "slash", "wfw", "georss", "geo"})


@dataclass(slots=True)
class XmlNode:
    """One element: its name (lower case, no prefix or separators), its prefix, attributes and content in order."""

    name: str
    prefix: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[XmlNode] = field(default_factory=list)
    content: list[str | XmlNode] = field(default_factory=list)
    """Texts and children as they follow each other."""
    is_closed: bool = False
    """Whether it came to its end before the document did."""

    @property
    def text(self) -> str:
        """Everything that is written in markup of HTML; else the element's own text, or all below where it has none."""
        if not self.children:
            return "".join(part for part in self.content if isinstance(part, str))
        if all(child.name in _INLINE or child.name in _BLOCKS for child in self.children):
            return "".join(self._pieces())
        own = self.own_text
        return own or " ".join(filter(None, (node.own_text for node in self.walk())))

    @property
    def own_text(self) -> str:
        """Text that stands directly in the element."""
        return "".join(part for part in self.content if isinstance(part, str)).strip()

    def all(self, *names: str) -> Iterator[XmlNode]:
        """Children of these names."""
        return (child for child in self.children if child.name in names)

    def first(self, *names: str) -> XmlNode | None:
        """The first child of the first of these names that is there."""
        return next(self._nearest(names), None)

    def say(self, *names: str) -> str:
        """What the first of these children that says something says."""
        return next((text for child in self._nearest(names) if (text := _bare_text(child.text))), "")

    def walk(self) -> Iterator[XmlNode]:
        """The element and everything below it, in document order."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def _nearest(self, names: tuple[str, ...]) -> Iterator[XmlNode]:
        """Children by name: of the element's own vocabulary first, of one about pictures and the like last."""
        named = [child for child in self.children if child.name in names]
        if len(named) > 1:
            named.sort(key=lambda child: (child.prefix in _ASIDE, names.index(child.name), child.prefix != self.prefix))
        return iter(named)

    def _pieces(self) -> Iterator[str]:
        """All text in document order, with blanks where a browser would break the line."""
        waiting: list[str | XmlNode] = list(reversed(self.content))
        while waiting:
            part = waiting.pop()
            if isinstance(part, str):
                yield part
            elif part.name in _INLINE:
                waiting.extend(reversed(part.content))
            else:
                waiting.append(" ")
                waiting.extend(reversed(part.content))
                yield " "


def read_xml(text: str) -> XmlNode:
    """Read a document; the root is the outermost element, or an empty one. Warnings of a server may stand before it."""
    top = XmlNode("")
    path = [top]
    end, room = 0, MAX_NODES
    while room:
        found = _MARKUP.search(text, end)
        if found is None:
            break
        if found.start() > end and len(path) > 1:
            path[-1].content.append(_unescaped(text[end : found.start()]))
        end = _special_end(text, found, path[-1])
        if end:
            continue
        end = found.end()
        closing, name, attributes = found[4], found[5], found[6]
        if closing:
            _close(path, name)
            continue
        room -= 1
        if len(path) <= MAX_DEPTH:
            prefix, _, local = name.rpartition(":")
            node = XmlNode(_bare(local), prefix.lower(), _attributes(attributes) if "=" in attributes else {})
            path[-1].children.append(node)
            path[-1].content.append(node)
            if attributes.rstrip().endswith("/"):
                node.is_closed = True
            else:
                path.append(node)
    first = top.children[0] if top.children else top
    return next((child for child in top.children if child.children), first)


def _special_end(text: str, found: re.Match[str], node: XmlNode) -> int:
    """Pass over a comment, declaration or CDATA section; 0 for an element."""
    if found[1]:
        close = text.find("]]>", found.end())
        close = close if close >= 0 else len(text)
        node.content.append(text[found.end() : close])
        return min(close + 3, len(text)) or 1
    if found[2]:
        close = text.find("-->", found.end())
        return close + 3 if close >= 0 else len(text)
    if found[3]:
        close = text.find(">", found.end())
        return close + 1 if close >= 0 else len(text)
    return 0


def _close(path: list[XmlNode], name: str) -> None:
    """Close the nearest open element of a name; an end tag without a start is passed over."""
    local = _bare(name.rpartition(":")[2])
    for depth in range(len(path) - 1, 0, -1):
        if path[depth].name == local:
            for node in path[depth:]:
                node.is_closed = True
            del path[depth:]
            return


def _bare(name: str) -> str:
    """A name in lower case without separators: `expiration_date` and `expirationDate` are one word."""
    return name.lower().replace("_", "").replace("-", "")


def _attributes(text: str) -> dict[str, str]:
    return {
        found[1].lower(): _unescaped(found[2] if found[2] is not None else found[3])
        for found in _ATTRIBUTE.finditer(text)
    }


def _bare_text(text: str) -> str:
    """Text without the marks of a CDATA section that was escaped, or stood in another one."""
    if "<![CDATA[" in text:
        text = text.replace("<![CDATA[", "").replace("]]>", "").rstrip().removesuffix("]]")
    return text.strip()


def _unescaped(text: str) -> str:
    return _REFERENCE.sub(lambda found: html.unescape(found[0]), text) if "&" in text else text
