"""Parsing a search query: takes any text from the public, returns bounded terms.

"in quotes" is a phrase, -word must not occur, the last word may be incomplete; every other word must occur.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from comity.model.search import FILTERS, SearchQuery, SearchSort
from comity.rules.search.fold import name_key, spelling_variants

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


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for, in each of its spellings; the last word of each may go on if it is a prefix."""

    runs: tuple[Run, ...]
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Terms:
    """What must occur, and what must not."""

    wanted: tuple[Term, ...] = ()
    unwanted: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """A query as an engine answers it: its values comparable, its sort settled."""

    terms: Terms
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


def read_terms(text: str) -> Terms:
    """Parse a query's text; never fails, and returns a bounded number of terms."""
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
    return Terms(tuple(dict.fromkeys(wanted)), tuple(dict.fromkeys(unwanted)))


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
