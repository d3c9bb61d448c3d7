"""Search filters and facets: takes the user's words or value counts, returns values that postings can have.

A filter value that no posting can have is refused: an empty result would claim that there are no such jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from comity.model.errors import BadInput
from comity.model.job import CAREER_TYPES, LEVELS, MISSION_TAGS, MODALITIES
from comity.model.search import MOST_FACET_VALUES, FacetCount
from comity.rules.jobs.countries import country_names, country_of
from comity.rules.suggestions import nearest, one_of

# As the two databases give them.
_YES_OR_NO: Final[dict[Any, str]] = {True: "true", False: "false", "1": "true", "0": "false"}


def facet_counts(name: str, counts: Counter[Any]) -> tuple[FacetCount, ...]:
    """The values of one facet, the most frequent first; unknown values are not counted."""
    if name == "mission_tags":
        counts = _by_tag(counts)
    elif name == "international_eligible":
        counts = Counter({_YES_OR_NO[value]: count for value, count in counts.items() if value in _YES_OR_NO})
    found = ((value, count) for value, count in counts.items() if value)
    ordered = sorted(found, key=lambda each: (-each[1], each[0]))[:MOST_FACET_VALUES]
    return tuple(FacetCount(value, count) for value, count in ordered)


def _by_tag(counts: Counter[Any]) -> Counter[Any]:
    """Each tag, out of how often each set of tags was met."""
    found: Counter[Any] = Counter()
    for tags, count in counts.items():
        for tag in (tags or "").strip("|").split("|"):
            found[tag] += count
    return found


_WORDS: Final[Mapping[str, Collection[str]]] = {
    "level_norm": LEVELS,
    "work_modality": MODALITIES,
    "career_type": CAREER_TYPES,
    "mission_tags": MISSION_TAGS,
}


def checked_filter(column: str, values: Iterable[str], name: str | None = None) -> tuple[str, ...]:
    """The values of one filter as the index writes them; `BadInput` calls the filter by `name`."""
    called = name or column
    if column in _WORDS:
        return tuple(one_of(called, value, _WORDS[column]) for value in values)
    if column == "country_iso":
        return tuple(_country(called, value) for value in values)
    if column == "language":
        return tuple(_language(called, value) for value in values)
    return tuple(values)


def _country(name: str, value: str) -> str:
    """A country by its code of two or three letters or by its name, in any of the languages that are known."""
    found = country_of(value)
    if found is not None:
        return found
    meant = nearest(value, country_names())
    remedy = f"did you mean {meant}?" if meant is not None else "write its two letters, such as KE, or its name"
    raise BadInput(name, f"{value[:40]!r} is not a country; {remedy}")


def _language(name: str, value: str) -> str:
    """A language by its code of two letters, or by its English name."""
    known = _languages()
    found = known.get(value.strip().casefold().partition("-")[0])
    if found is not None:
        return found
    meant = nearest(value, [each for each in known if len(each) > 2])
    remedy = f"did you mean {meant.capitalize()}?" if meant is not None else "write its two letters, such as en"
    raise BadInput(name, f"{value[:40]!r} is not a language; {remedy}")


@lru_cache(maxsize=1)
def _languages() -> dict[str, str]:
    """Codes of two letters by code and by English name."""
    import pycountry

    found: dict[str, str] = {}
    for language in pycountry.languages:
        code = getattr(language, "alpha_2", None)
        if code is not None:
            for name in (code, language.alpha_3, *language.name.replace("(", ";").replace(")", "").split(";")):
                found.setdefault(name.strip().casefold(), code)
    return found
