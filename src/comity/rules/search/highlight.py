"""Highlighting: takes a posting's text and the terms of a query, returns marked pieces.

It is the same for every engine: what is marked does not depend on which engine found it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from comity.model.search import Marked, Piece, SearchDocument, SearchHit
from comity.rules.search.terms import SIGNS, Run, SearchTerms, spelling_variants

SNIPPET_LENGTH: Final = 220
_BEFORE: Final = 60  # how much of a description stands before what matched
_LONGEST: Final = 20_000
_ELLIPSIS: Final = "…"
# A word with the accents that follow its letters; a sign of a script without blanks is one by itself.
_WORD: Final = re.compile(
    f"[{SIGNS}\U00020000-\U0003ffff]|(?:(?![{SIGNS}\U00020000-\U0003ffff])[^\\W_][\u0300-\u036f]*)+"
)

Span = tuple[int, int]


def hit_of(document: SearchDocument, terms: SearchTerms) -> SearchHit:
    """A posting that was found, with the matches marked in it."""
    marker = Marker(terms)
    return SearchHit(
        posting=document,
        title=marker.marked(document.title),
        org_name=marker.marked(document.org_name),
        location=marker.marked(document.location_raw),
        snippet=marker.snippet(document.description_snippet),
    )


class Marker:
    """Marks the terms of one query in any number of texts."""

    def __init__(self, terms: SearchTerms) -> None:
        self._by_first: dict[str, list[Run]] = {}
        self._prefixes: list[Run] = []
        for term in terms.wanted:
            for run in term.runs:
                if term.is_prefix:
                    self._prefixes.append(run)
                self._by_first.setdefault(run[0], []).append(run)

    def marked(self, text: str) -> Marked:
        """The whole text."""
        return _pieces(text, 0, len(text), list(self._spans(text[:_LONGEST])))

    def snippet(self, text: str, length: int = SNIPPET_LENGTH) -> Marked:
        """A part of the text around the first match, or its beginning."""
        spans = list(self._spans(text[:_LONGEST]))
        start = max(0, spans[0][0] - _BEFORE) if spans and spans[0][1] > length else 0
        end = min(len(text), start + length)
        if start:
            start = _word_begins(text, start, spans[0][0])
        if end < len(text):
            blank = text.rfind(" ", start + length // 2, end)
            end = blank if blank > 0 else end
        found = _pieces(text, start, end, spans)
        before = (Piece(_ELLIPSIS),) if start else ()
        after = (Piece(_ELLIPSIS),) if end < len(text) else ()
        return (*before, *found, *after)

    def _spans(self, text: str) -> Iterator[Span]:
        """Where something matches, in order and apart from each other."""
        if not self._by_first or not text:
            return
        spans = [match.span() for match in _WORD.finditer(text)]
        words = [_readings(text[start:end]) for start, end in spans]
        index = 0
        while index < len(words):
            length = self._length_at(words, index)
            if length:
                yield spans[index][0], spans[index + length - 1][1]
            index += max(1, length)

    def _length_at(self, words: list[tuple[str, ...]], index: int) -> int:
        """How many words from here on match; 0 for none."""
        longest = 0
        for reading in words[index]:
            for run in self._by_first.get(reading, ()):
                if len(run) > longest and _follows(words, index, run, is_prefix=False):
                    longest = len(run)
        for run in self._prefixes:
            if len(run) > longest and _follows(words, index, run, is_prefix=True):
                longest = len(run)
        return longest


def _readings(word: str) -> tuple[str, ...]:
    """One word of a text as it is compared: folded, in each variant."""
    if word.isascii():
        return (word.lower(),)
    return tuple("".join(words) for words in spelling_variants(word))


def _follows(words: list[tuple[str, ...]], index: int, run: Run, *, is_prefix: bool) -> bool:
    if index + len(run) > len(words):
        return False
    *firsts, last = run
    if any(wanted not in words[index + offset] for offset, wanted in enumerate(firsts)):
        return False
    readings = words[index + len(firsts)]
    return any(reading.startswith(last) for reading in readings) if is_prefix else last in readings


def _word_begins(text: str, start: int, before: int) -> int:
    blank = text.find(" ", start, before)
    return blank + 1 if blank >= 0 else start


def _pieces(text: str, start: int, end: int, spans: list[Span]) -> Marked:
    pieces: list[Piece] = []
    at = start
    for first, last in spans:
        if first < at or first >= end:
            continue
        if first > at:
            pieces.append(Piece(text[at:first]))
        at = min(last, end)
        pieces.append(Piece(text[first:at], is_match=True))
    if at < end:
        pieces.append(Piece(text[at:end]))
    return tuple(pieces)
