"""Text folding for search, the same for postings and queries: takes words of any language, returns folded words.

Folding happens here and not in an engine, so that all engines find the same: case and accents are dropped, ß is ss, ü
is both u and ue, and scripts without blanks between words are split into characters.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from comity.model.search import SearchDocument
from comity.rules.jobs.words import plain

LONGEST_WORD: Final = 64
MOST_WORDS: Final = 7000  # of one field, once in each spelling: PostgreSQL counts positions up to 16,383
_WORD: Final = re.compile(r"[^\W_]+")
# Han, Kana, Thai, Lao, Burmese, Khmer.
SIGNS: Final = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_SIGN: Final = re.compile(f"([{SIGNS}\U00020000-\U0003ffff])")
_SPELLED_OUT: Final[dict[int, str]] = {
    ord(letter): spelled
    for letters, spelled in (("äÄ", "ae"), ("öÖøØ", "oe"), ("üÜ", "ue"), ("åÅ", "aa"))
    for letter in letters
}


def words_of(text: str) -> list[str]:
    """The folded words of a text, in order."""
    folded = plain(text)
    if not text.isascii():
        # Once more: a letter that stands for another (𝐀 for A) may stand for a capital. Then signs come apart.
        folded = _SIGN.sub(r" \1 ", plain(folded))
    return [word[:LONGEST_WORD] for word in _WORD.findall(folded)[:MOST_WORDS]]


def spelling_variants(text: str) -> tuple[list[str], ...]:
    """The folded words in each way that people write them: müller is muller, and mueller too."""
    first = words_of(text)
    if text.isascii():
        return (first,)
    second = words_of(text.translate(_SPELLED_OUT))
    return (first,) if second == first else (first, second)


def indexed(text: str) -> str:
    """A field as an engine stores it: every variant in full, so that phrases are found in each."""
    return " ".join(word for words in spelling_variants(text) for word in words)


@lru_cache(maxsize=4096)
def name_key(text: str) -> str:
    """A name as it is compared in a filter."""
    return " ".join(words_of(text))


def fields_of(document: SearchDocument) -> tuple[str, str, str, str]:
    """What of a posting is searched, by weight: the title; who; where and what about; the rest."""
    about = (document.location_raw, document.city or "", *(tag.replace("-", " ") for tag in document.mission_tags))
    return (
        indexed(document.title),
        indexed(document.org_name),
        indexed(" ".join(about)),
        indexed(document.description_text or document.description_snippet),
    )
