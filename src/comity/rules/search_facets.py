"""Facets: how often each value was met enters, the most frequent values in order leave."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from comity.model.search import MOST_FACET_VALUES, FacetCount

# As the two databases give them.
_YES_OR_NO: Final[dict[Any, str]] = {True: "true", False: "false", "1": "true", "0": "false"}


def counted(name: str, counts: Counter[Any]) -> tuple[FacetCount, ...]:
    """The values of one facet, the most frequent first; where nothing is known is not counted."""
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
