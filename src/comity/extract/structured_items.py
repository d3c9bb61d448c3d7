"""Items of microdata and RDFa in the shape of JSON-LD: takes an element, returns its properties, within bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from turbohtml import Element

_MOST_DEPTH: Final = 12
_MOST_REFERENCES: Final = 50
_VALUES: Final = {
    "meta": "content", "a": "href", "area": "href", "link": "href", "img": "src", "time": "datetime", "data": "value",
    "audio": "src", "embed": "src", "iframe": "src", "source": "src", "track": "src", "video": "src", "object": "data",
    "meter": "value",
}  # fmt: skip


def types_of(node: dict[str, object]) -> set[str]:
    """Types of an object, without vocabulary: "http://schema.org/JobPosting" and "schema:JobPosting" are JobPosting."""
    said = node.get("@type", node.get("type"))
    kinds = said if isinstance(said, list) else [said]
    return {kind.replace(":", "/").rstrip("/").rpartition("/")[2] for kind in kinds if isinstance(kind, str)}


def read_item(
    root: Element, names: tuple[str, str, str], room: list[int], by_id: Callable[[str], Element | None] | None = None
) -> dict[str, object]:
    """Read an item and the items in it; depth and number of elements are bounded.

    `by_id` finds the elements that an item of microdata names as further parts of it (`itemref`, WHATWG HTML §5.2.2).
    """
    name_of, scope, kind = names
    top: dict[str, object] = {"@type": (root.attr(kind) or "").split()}
    if root.attr("itemid") or root.attr("resource"):
        top["@id"] = root.attr("itemid") or root.attr("resource")
    followed: set[tuple[Element, Element]] = set()  # an item that names an element around itself gets it once

    def parts_of(item: Element) -> list[Element]:
        parts = [child for child in item.children if isinstance(child, Element)]
        for name in (item.attr("itemref") or "").split()[:_MOST_REFERENCES]:
            named = by_id(name) if by_id is not None else None
            if named is not None and (item, named) not in followed:
                followed.add((item, named))
                parts.append(named)
        return parts

    waiting: list[tuple[Element, dict[str, object], int]] = [(part, top, 0) for part in reversed(parts_of(root))]
    while waiting and room[0] > 0:
        element, owner, depth = waiting.pop()
        room[0] -= 1
        inner = owner
        said = element.attr(name_of)
        is_scope = element.attr(scope) is not None
        if is_scope and not said:
            continue  # an item of its own
        if is_scope and depth < _MOST_DEPTH:
            inner = {"@type": (element.attr(kind) or "").split()}
        if said:
            value: object = inner if is_scope else _value(element)
            for name in said.split()[:4]:
                _add(owner, name.rpartition(":")[2].rpartition("/")[2], value)
        parts = parts_of(element) if is_scope else [each for each in element.children if isinstance(each, Element)]
        waiting.extend((part, inner, depth + is_scope) for part in reversed(parts))
    return top


def _add(owner: dict[str, object], name: str, value: object) -> None:
    if name not in owner:
        owner[name] = value
    else:
        there = owner[name]
        if isinstance(there, list):
            if len(there) < 50:
                there.append(value)
        else:
            owner[name] = [there, value]


def _value(element: Element) -> str:
    for attribute in ("content", _VALUES.get(element.tag, "")):
        if attribute and (said := element.attr(attribute)) is not None:
            return said
    return element.to_text()[:8000] if element.tag not in ("script", "style") else ""
