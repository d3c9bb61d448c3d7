"""Items of a list compared column by column: the same position holds the same kind of value in each item.

A little-known town stands where other items have well-known towns; a department stands where no item has a town. This
holds in any language.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from comity.extract.jobs.page.candidates import Item
from comity.extract.jobs.page.fields import GUESSED, SPLIT
from comity.extract.jobs.page.outline import Outline
from comity.extract.jobs.page.places import is_known_place, may_be_known
from comity.extract.jobs.text import collapse
from comity.extract.jobs.words.dates import DATE
from comity.extract.jobs.words.labels import labelled, meaning_of
from comity.extract.jobs.words.pages import EMPLOYMENT
from comity.extract.jobs.words.titles import is_generic

_MOST_ITEMS: Final = 500
_MOST_TEXTS: Final = 60
_LONGEST: Final = 60
_LEAST_VOTES: Final = 2
_LEAST_SHARE: Final = 0.3
_LEAST_UNKNOWN: Final = 3
Column = tuple[str, int]


def settle_places(outline: Outline, items: list[Item], fields: list[dict[str, str]]) -> None:
    """Fill in places from the column in which others have theirs, and drop guesses from a column without any."""
    if len(items) < 2:
        for said in fields:
            said.pop(GUESSED, None)
        return
    cells = [_cells(outline, item) for item in items[:_MOST_ITEMS]]
    votes: Counter[Column] = Counter()
    sure: Counter[Column] = Counter()
    filled: Counter[Column] = Counter()
    for texts, said in zip(cells, fields, strict=False):
        for place, text in texts.items():
            filled[place] += 1
            if is_known_place(text):
                sure[place] += 1
            if text == said.get("location_raw") and GUESSED not in said:
                votes[place] += 1
    column = _best(votes, sure, filled, len(cells))
    for texts, said in zip(cells, fields, strict=False):
        is_guess = said.pop(GUESSED, None) is not None
        named = said.get("location_raw", "")
        if column is not None and (not named or is_guess) and (text := texts.get(column, "")) and _may_be_place(text):
            said["location_raw"] = text
        elif is_guess and column is None and len(cells) >= _LEAST_UNKNOWN and may_be_known(named):
            del said["location_raw"]
    for said in fields[_MOST_ITEMS:]:
        said.pop(GUESSED, None)


def _best(votes: Counter[Column], sure: Counter[Column], filled: Counter[Column], size: int) -> Column | None:
    """The column in which places stand: by those that were recognised, else by well-known places."""
    for counter in (votes, sure):
        ranked = sorted(counter, key=lambda column: (-counter[column], -filled[column]))
        if ranked and counter[ranked[0]] >= max(_LEAST_VOTES, _LEAST_SHARE * size):
            return ranked[0]
    return None


def _may_be_place(text: str) -> bool:
    return (
        2 <= len(text) <= _LONGEST
        and labelled(text) is None
        and meaning_of(text) is None
        and not DATE.search(text)
        and not EMPLOYMENT.search(text)
        and not is_generic(text)
        and any(map(str.isalpha, text))
    )


def _cells(outline: Outline, item: Item) -> dict[Column, str]:
    """Texts of an item by where they stand: the elements around each, and its part of a line with separators."""
    cells: dict[Column, str] = {}
    counts: Counter[str] = Counter()
    for index in outline.text_range(item.start, item.end)[:_MOST_TEXTS]:
        text = outline.texts[index]
        owner = outline.text_owners[index]
        if text == "\n" or index in item.title_texts or outline.chrome[owner] or not (line := collapse(text[:300])):
            continue
        around = [owner, *(near for near in outline.ancestors(owner, 6) if near >= item.start)]
        path = ">".join(f"{outline.tags[near]}.{outline.names[near][:40]}" for near in around)
        counts[path] += 1
        for part, said in enumerate(SPLIT.split(line)[:8]):
            bare = said.strip(" ,;:–—-|")
            bare = bare[1:-1] if bare[:1] == "(" and bare[-1:] == ")" else bare
            if bare:
                cells[(f"{path} {counts[path]}", part)] = bare
    return cells
