"""Structured data of a page: JSON-LD, microdata and RDFa; a tree enters, objects as JSON-LD would have them leave."""

from __future__ import annotations

from typing import Final

from turbohtml import Document, Element

from comity.extract.jobs.lenient_json import read_lenient
from comity.extract.jobs.posting import has_own_address, postings_in, read_posting
from comity.model.job import FoundBy, JobFound

MOST_SCRIPTS: Final = 500
_MOST_DEPTH: Final = 12
_MOST_NODES: Final = 100_000
_SCHEMA: Final = "schema.org"
_VALUES: Final = {
    "meta": "content", "a": "href", "area": "href", "link": "href", "img": "src", "time": "datetime", "data": "value",
}  # fmt: skip


def structured_jobs(document: Document, *, base: str, language: str) -> list[tuple[JobFound, bool]]:
    """Jobs that the page describes for machines, and whether each names its own address; one notation counts."""
    for found_by, objects in (
        (FoundBy.JSON_LD, _json_ld),
        (FoundBy.MICRODATA, _microdata),
        (FoundBy.RDFA, _rdfa),
    ):
        jobs: list[tuple[JobFound, bool]] = []
        for value in objects(document):
            for node in postings_in(value):
                found = read_posting(node, base=base, found_by=found_by, language=language)
                if found is not None:
                    jobs.append((found, has_own_address(node)))
        if jobs:
            return jobs
    return []


def _json_ld(document: Document) -> list[object]:
    values: list[object] = []
    for script in document.select('script[type*="ld+json" i]')[:MOST_SCRIPTS]:
        text = script.text
        if "JobPosting" in text or "&quot;" in text:
            value = read_lenient(text)
            if value is not None:
                values.append(value)
    return values


def _microdata(document: Document) -> list[object]:
    found = document.select('[itemtype*="JobPosting"]')[:5000]
    room = [_MOST_NODES]
    return [
        _item(element, ("itemprop", "itemscope", "itemtype"), room)
        for element in found
        if not _inside(element, "itemtype")
    ]


def _rdfa(document: Document) -> list[object]:
    found = document.select('[typeof*="JobPosting"]')[:5000]
    room = [_MOST_NODES]
    return [
        _item(element, ("property", "typeof", "typeof"), room) for element in found if not _inside(element, "typeof")
    ]


def _inside(element: Element, attribute: str) -> bool:
    """Whether a posting lies within another one, as similar jobs sometimes do."""
    parent = element.parent
    for _ in range(64):
        if not isinstance(parent, Element):
            return False
        if "JobPosting" in (parent.attr(attribute) or ""):
            return True
        parent = parent.parent
    return True


def _item(root: Element, names: tuple[str, str, str], room: list[int]) -> dict[str, object]:
    """Read an item and the items in it; depth and number of elements are bounded."""
    name_of, scope, kind = names
    top: dict[str, object] = {"@type": (root.attr(kind) or "").split()}
    if root.attr("itemid") or root.attr("resource"):
        top["@id"] = root.attr("itemid") or root.attr("resource")
    waiting: list[tuple[Element, dict[str, object], int]] = [
        (child, top, 0) for child in reversed(root.children) if isinstance(child, Element)
    ]
    while waiting and room[0] > 0:
        element, owner, depth = waiting.pop()
        room[0] -= 1
        inner = owner
        said = element.attr(name_of)
        is_scope = element.attr(scope) is not None
        if is_scope and depth < _MOST_DEPTH:
            inner = {"@type": (element.attr(kind) or "").split()}
        if said:
            value: object = inner if is_scope else _value(element)
            for name in said.split()[:4]:
                _add(owner, name.rpartition(":")[2].rpartition("/")[2], value)
        waiting.extend(
            (child, inner, depth + is_scope) for child in reversed(element.children) if isinstance(child, Element)
        )
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
