"""Jobs by CSS selectors: takes a tree and the selectors of its fields, returns jobs. For hints and known systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from turbohtml import Document, Element

from comity.extract.expressions import Evaluator
from comity.extract.jobs.addresses import resolve
from comity.extract.jobs.json_api.mapping import FIELD_NAMES
from comity.extract.jobs.text import job
from comity.extract.jobs.words.pages import BADGE_CLASS
from comity.model.expression import Expression
from comity.model.job import ExtractionMethod, JobFound
from comity.model.parser_hint import HintField, Selector, SelectorHint

MOST_ITEMS: Final = 5_000
_LONGEST: Final = 8_000


def selected_jobs(
    document: Document, hint: SelectorHint, *, base: str, url: str, found_by: ExtractionMethod
) -> list[JobFound]:
    """Read every element that the hint calls an item; one without a title is passed over."""
    jobs: list[JobFound] = []
    evaluator = Evaluator(document)
    for item in document.select(hint.item)[:MOST_ITEMS]:
        said = {field: _first(item, selectors, evaluator) for field, selectors in hint.fields}
        address = resolve(said.pop(HintField.URL, "") or _own_link(item), base)
        found = job(
            title=said.pop(HintField.TITLE, ""),
            apply_url=address or url,
            found_by=found_by,
            **_named(said),
        )
        if found is not None:
            jobs.append(found)
    return jobs


def _named(said: Mapping[HintField, str]) -> dict[str, str]:
    return {FIELD_NAMES[field]: text for field, text in said.items()}


def _own_link(item: Element) -> str:
    """The item's own address where the hint names none: itself, or its first link."""
    if item.tag == "a":
        return item.attr("href") or ""
    link = item.select_one("a[href]")
    return (link.attr("href") or "") if link is not None else ""


def _first(item: Element, selectors: tuple[Selector | Expression, ...], evaluator: Evaluator) -> str:
    for selector in selectors:
        if isinstance(selector, Expression):
            if found := evaluator.text(selector, item):
                return found
            continue
        element = item.select_one(selector.css) if selector.css else item
        if element is not None:
            said = element.attr(selector.attribute) if selector.attribute else _text_of(element)
            if said and said.strip():
                return said.strip()
    return ""


def _text_of(element: Element) -> str:
    """What an element says, without a mark such as "New" that stands in an element of its own at its end."""
    text = element.to_text()[:_LONGEST].strip()
    for badge in element.select("[class]")[:20]:
        mark = badge.to_text().strip()
        if mark and BADGE_CLASS.search((badge.attr("class") or "").lower()) and text.endswith(mark) and text != mark:
            text = text[: -len(mark)].strip()
    return text.strip(" /|·—–-")


def selected_next(document: Document, hint: SelectorHint, base: str) -> str:
    """The next page, where the hint says how it is found."""
    for selector in hint.next:
        if isinstance(selector, Expression):
            if address := resolve(Evaluator(document).text(selector), base):
                return address
            continue
        element = document.select_one(selector.css) if selector.css else None
        if element is not None and (address := resolve(element.attr(selector.attribute or "href") or "", base)):
            return address
    return ""
