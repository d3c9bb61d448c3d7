"""Compiling word tables: takes entries by language, returns one compiled pattern or set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from comity.rules.jobs.words import plain

# Scripts that put no blanks between words, or write vowels as marks, so that a word has no edge that `re` knows.
_JOINED: Final = re.compile(
    "[\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1200-\u137f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_SYNTAX: Final = re.compile(r"[\\()\[\]{}?*+.^$]")
_ARROWS: Final = re.compile(
    r"(?:[\s›»→>+…:!.]|\(?\b(?:pdf|docx?|odt|xlsx?)\b[^()]{0,20}\)?)+$|^[\s«‹←<]+|\u200c|\u200d", re.IGNORECASE
)


def alternatives(table: Mapping[str, str], *, is_whole: bool = False) -> str:
    """Every entry of a table as one group; entries begin at a word's edge, and end at one if they are whole words."""
    apart: dict[str, None] = {}
    joined: dict[str, None] = {}
    for entries in table.values():
        for entry in _split(entries):
            (joined if _JOINED.search(entry) else apart)[entry] = None
    edge = r"(?!\w)" if is_whole else ""
    groups = [rf"(?<!\w)(?:{'|'.join(apart)}){edge}"] if apart else []
    return "|".join([*groups, *joined])


def words_and_pattern(table: Mapping[str, str]) -> tuple[frozenset[str], re.Pattern[str]]:
    """Entries that are plain words, folded for comparison, and one pattern of those that are more."""
    words: set[str] = set()
    patterns: dict[str, None] = {}
    for entries in table.values():
        for entry in _split(entries):
            if _SYNTAX.search(entry):
                patterns[entry] = None
            else:
                words.add(folded(entry))
    return frozenset(words), re.compile("|".join(patterns) or r"(?!)", re.IGNORECASE)


def folded(text: str) -> str:
    """A link's words without case, accents and arrows."""
    return plain(_ARROWS.sub("", text)).strip()


def _split(entries: str) -> list[str]:
    """Entries apart at their bars, but not at those inside brackets."""
    found: list[str] = []
    depth, start = 0, 0
    for index, sign in enumerate(entries):
        depth += (sign in "([") - (sign in ")]")
        if sign == "|" and depth == 0:
            found.append(entries[start:index])
            start = index + 1
    return [entry for entry in (*found, entries[start:]) if entry]
