"""Links of a list that lead to one posting: links enter; one leaves, or one per row where the rows are its places."""

from __future__ import annotations

from typing import Final

from comity.extract.jobs.addresses import posting_key
from comity.extract.jobs.outline import Link, Outline

_CLIMB: Final = 30
_MOST_TEXT: Final = 400


def rows_of(outline: Outline, links: list[Link]) -> list[Link]:
    """One link per posting, or per row where a posting is listed once for each of its places."""
    first: dict[str, Link] = {}
    kept: list[Link] = []
    for link in links:
        before = first.setdefault(posting_key(link.url), link)
        if before is link or (link.text == before.text and _is_other_row(outline, before.element, link.element)):
            kept.append(link)
    return kept


def _is_other_row(outline: Outline, element: int, other: int) -> bool:
    """Whether two links stand in alike elements side by side, each of which says more than its link."""
    path = [element, *outline.ancestors(element, _CLIMB)]
    child_of = {number: path[height] for height, number in enumerate(path[1:])}
    below = other
    for number in outline.ancestors(other, _CLIMB):
        if number in child_of:
            row = child_of[number]
            is_alike = outline.tags[row] == outline.tags[below] and row != element and below != other
            return is_alike and _says_more(outline, row, element) and _says_more(outline, below, other)
        below = number
    return False


def _says_more(outline: Outline, row: int, link: int) -> bool:
    return len(outline.text(row, _MOST_TEXT)) > len(outline.text(link, _MOST_TEXT)) + 1
