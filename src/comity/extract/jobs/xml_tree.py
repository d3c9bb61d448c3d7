"""XML as feeds really write it: text in, a tree of small nodes out, whatever the markup.

No entity is expanded but the predefined and numeric ones, wrong end tags close what they can, and depth and number of
nodes are bounded. Every pattern stops at the next `<`, so the time is linear.
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
_END_TAG: Final = re.compile(r"</([\w.:-]{1,100})\s*>")
_ENDING: Final = 4_000  # some systems write a comment behind the end


@dataclass(slots=True)
class XmlNode:
    """One element: its name (lower case, no prefix or separators), its prefix, attributes, children and own text."""

    name: str
    prefix: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[XmlNode] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The element's own text, or that of all below it where it has none."""
        own = "".join(self.texts)
        return own if own.strip() else " ".join(filter(None, (node.own_text for node in self.walk())))

    @property
    def own_text(self) -> str:
        """Text that stands directly in the element."""
        return "".join(self.texts).strip()

    def all(self, *names: str) -> Iterator[XmlNode]:
        """Children of these names."""
        return (child for child in self.children if child.name in names)

    def first(self, *names: str) -> XmlNode | None:
        """The first child of the first of these names that is there."""
        for name in names:
            for child in self.children:
                if child.name == name:
                    return child
        return None

    def say(self, *names: str) -> str:
        """What the first of these children that says something says."""
        for name in names:
            for child in self.children:
                if child.name == name and (text := child.text.strip()):
                    return text
        return ""

    def walk(self) -> Iterator[XmlNode]:
        """The element and everything below it, in document order."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


def read_xml(text: str) -> XmlNode:
    """Read a document; the root is the outermost element, or an empty one."""
    top = XmlNode("")
    path = [top]
    end, room = 0, MAX_NODES
    while room:
        found = _MARKUP.search(text, end)
        if found is None:
            break
        if found.start() > end and len(path) > 1:
            path[-1].texts.append(html.unescape(text[end : found.start()]))
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
            if not attributes.rstrip().endswith("/"):
                path.append(node)
    return top.children[0] if top.children else top


def _special_end(text: str, found: re.Match[str], node: XmlNode) -> int:
    """Pass over a comment, declaration or CDATA section; 0 for an element."""
    if found[1]:
        close = text.find("]]>", found.end())
        close = close if close >= 0 else len(text)
        node.texts.append(text[found.end() : close])
        return min(close + 3, len(text)) or 1
    if found[2]:
        close = text.find("-->", found.end())
        return close + 3 if close >= 0 else len(text)
    if found[3]:
        close = text.find(">", found.end())
        return close + 1 if close >= 0 else len(text)
    return 0


def is_ended(text: str, root: XmlNode) -> bool:
    """Whether the root's end tag is there; a server that falls over in the middle leaves it out."""
    ending = text[-_ENDING:]
    names = (found[1].rpartition(":")[2] for found in _END_TAG.finditer(ending))
    return any(_bare(name) == root.name for name in names) or (not root.children and ending.rstrip().endswith("/>"))


def _close(path: list[XmlNode], name: str) -> None:
    """Close the nearest open element of a name; an end tag without a start is passed over."""
    local = _bare(name.rpartition(":")[2])
    for depth in range(len(path) - 1, 0, -1):
        if path[depth].name == local:
            del path[depth:]
            return


def _bare(name: str) -> str:
    """A name in lower case without separators: `expiration_date` and `expirationDate` are one word."""
    return name.lower().replace("_", "").replace("-", "")


def _attributes(text: str) -> dict[str, str]:
    return {
        found[1].lower(): html.unescape(found[2] if found[2] is not None else found[3])
        for found in _ATTRIBUTE.finditer(text)
    }
