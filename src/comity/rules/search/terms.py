"""The words of a search: takes a query from the public or the fields of a posting, returns folded words.

Folding happens here and not in an engine, so that all engines find the same: case and accents are dropped, ß is ss, ü
is both u and ue, and scripts without blanks between words are split into characters.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import Final
from uuid import UUID

from comity.model.dataclass import dataclass
from comity.model.search import FILTERS, SearchDocument, SearchQuery, SearchSort
from comity.rules.jobs.words import plain

LONGEST_TEXT: Final = 512
MOST_TERMS: Final = 16
MOST_WORDS_OF_A_TERM: Final = 12
SHORTEST_PREFIX: Final = 2
_LONGEST_VALUE: Final = 200
_PART: Final = re.compile(
    r'(?P<minus>(?<!\S)[-\u2212\u2013])?(?:["\u201c\u201d\u201e](?P<phrase>[^"\u201c\u201d\u201e]*)'
    r'(?P<closed>["\u201c\u201d\u201e])?|(?P<word>[^\s"\u201c\u201d\u201e]+))'
)

Run = tuple[str, ...]  # words that follow each other
LONGEST_WORD: Final = 64
_MOST_WORDS: Final = 7000  # of one field, once in each spelling: PostgreSQL counts positions up to 16,383
_WORD: Final = re.compile(r"[^\W_]+")
# Han, Kana, Thai, Lao, Burmese, Khmer.
SIGNS: Final = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_SIGN: Final = re.compile(f"([{SIGNS}\U00020000-\U0003ffff])")
_SPELLED_OUT: Final[dict[int, str]] = {
    ord(letter): spelled
    for letters, spelled in (("äÄ", "ae"), ("öÖøØ", "oe"), ("üÜ", "ue"), ("åÅ", "aa"))
    for letter in letters
}


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for, in each of its spellings; the last word of each may continue if it is a prefix."""

    runs: tuple[Run, ...]
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class SearchTerms:
    """What must occur, and what must not."""

    wanted: tuple[Term, ...] = ()
    unwanted: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """A query as an engine answers it: its values comparable, its sort settled."""

    terms: SearchTerms
    values: tuple[tuple[str, tuple[str, ...]], ...]  # the filters that ask for something, by name
    source_id: tuple[UUID, ...]
    international_eligible: bool | None
    deadline_after: datetime | None
    deadline_before: datetime | None
    since: datetime | None
    open_only: bool
    sort: SearchSort

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of which a posting must have one."""
        return dict(self.values).get("mission_tags", ())


def read_terms(text: str) -> SearchTerms:
    """Parse a query's text; never fails, and returns a bounded number of terms.

    "in quotes" is a phrase, -word must not occur, the last word may be incomplete; every other word must occur.
    """
    wanted: list[Term] = []
    unwanted: list[Term] = []
    last_word: Term | None = None
    for part in _PART.finditer(text[:LONGEST_TEXT]):
        phrase = part["phrase"]
        term = _term(part["word"] if phrase is None else phrase)
        if term is None:
            continue
        is_minus = part["minus"] is not None
        (unwanted if is_minus else wanted).append(term)
        # A quote that was never closed: the user is still typing.
        last_word = term if not is_minus and (phrase is None or part["closed"] is None) else None
        if len(wanted) + len(unwanted) >= MOST_TERMS:
            break
    if last_word is not None and all(len(run[-1]) >= SHORTEST_PREFIX for run in last_word.runs):
        wanted[-1] = Term(last_word.runs, is_prefix=True)
    return SearchTerms(tuple(dict.fromkeys(wanted)), tuple(dict.fromkeys(unwanted)))


def plan_of(query: SearchQuery) -> SearchPlan:
    """Turn a query into a plan: words folded, names and codes as they are indexed."""
    terms = read_terms(query.text)
    values = ((name, _values(name, getattr(query, name))) for name in FILTERS)
    is_by_relevance = query.sort is SearchSort.RELEVANCE
    return SearchPlan(
        terms=terms,
        values=tuple((name, found) for name, found in values if found),
        source_id=tuple(sorted(set(query.source_id))),
        international_eligible=query.international_eligible,
        deadline_after=query.deadline_after,
        deadline_before=query.deadline_before,
        since=query.since,
        open_only=query.open_only,
        sort=SearchSort.NEWEST if is_by_relevance and not terms.wanted else query.sort,
    )


def _term(text: str) -> Term | None:
    runs = (tuple(words[:MOST_WORDS_OF_A_TERM]) for words in spelling_variants(text) if words)
    found = tuple(dict.fromkeys(runs))
    return Term(found) if found else None


def _values(name: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """Values as they are kept; one that cannot be kept anywhere matches nothing, which is no error."""
    if name == "org_name":
        found = (name_key(value[:_LONGEST_VALUE]) for value in given)
    else:
        found = (_code(value[:_LONGEST_VALUE], is_upper=name == "country_iso") for value in given)
    return tuple(dict.fromkeys(found))


def _code(value: str, *, is_upper: bool) -> str:
    shown = value.strip()
    shown = shown.upper() if is_upper else shown.lower()
    return shown if shown.isprintable() and shown.isascii() else "?"


def words_of(text: str) -> list[str]:
    """The folded words of a text, in order."""
    folded = plain(text)
    if not text.isascii():
        # Once more: a letter that stands for another (𝐀 for A) may stand for a capital. Then signs come apart.
        folded = _SIGN.sub(r" \1 ", plain(folded))
    return [word[:LONGEST_WORD] for word in _WORD.findall(folded)[:_MOST_WORDS]]


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
