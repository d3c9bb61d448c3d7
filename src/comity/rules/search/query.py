"""Reading a search: filters, days and cursors, as the user writes them; and facets, the values that postings have.

A filter value that no posting can have is refused: an empty result would claim that there are no such jobs. A cursor is
a position as text that the client passes back. It contains only the values by which hits are sorted. It grants nothing,
so it is not signed; an altered one is refused or starts the next page elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import isfinite
from typing import Any, Final
from uuid import UUID

from comity.model.errors import BadInput
from comity.model.job import CAREER_TYPES, LEVELS, MISSION_TAGS, MODALITIES
from comity.model.search import MOST_FACET_VALUES, FacetCount, SearchPosition, SearchSort
from comity.rules.jobs.countries import country_names, country_of
from comity.rules.suggestions import nearest, one_of

# As the two databases give them.
_YES_OR_NO: Final[dict[Any, str]] = {True: "true", False: "false", "1": "true", "0": "false"}
LONGEST_SEARCH_CURSOR: Final = 400
_AGO: Final = re.compile(r"(\d{1,5}) ?([hdw])", re.IGNORECASE)
_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


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


def write_cursor(position: SearchPosition) -> str:
    """A position as text of letters, digits, - and _."""
    values = [
        str(position.sort),
        position.newest_at.astimezone(UTC).isoformat(),
        position.posting_id.hex,
        position.deadline.astimezone(UTC).isoformat() if position.deadline is not None else None,
        position.rank,
    ]
    while values[-1] is None:
        values.pop()
    return base64.urlsafe_b64encode(json.dumps(values, separators=(",", ":")).encode()).decode().rstrip("=")


def read_cursor(text: str, sort: SearchSort) -> SearchPosition:
    """The position of a cursor; raises `BadInput` if it is invalid or belongs to another order."""
    position = _position(text)
    if position is None:
        raise BadInput("cursor", "must be the `next` of an earlier result")
    if position.sort is not sort:
        raise BadInput("cursor", f"belongs to a result sorted by {position.sort}, not by {sort}")
    return position


def _position(text: str) -> SearchPosition | None:
    if len(text) > LONGEST_SEARCH_CURSOR or not text.isascii():
        return None
    try:
        values: Any = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        sort, newest_at, posting_id, deadline, rank = [*values, None, None][:5]
        found = SearchPosition(
            SearchSort(sort),
            _aware(newest_at),
            UUID(hex=posting_id),
            _aware(deadline) if deadline is not None else None,
            float(rank) if rank is not None else None,
        )
    except (binascii.Error, ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        return None
    has_rank = found.rank is not None and isfinite(found.rank)
    return found if has_rank == (found.sort is SearchSort.RELEVANCE) else None


def _aware(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError("a time without a zone")
    return found.astimezone(UTC)


def read_since(name: str, text: str, now: datetime) -> datetime:
    """The start of a day in UTC (2026-03-31), or the time that long ago: 24h, 7d, 2w."""
    said = text.strip()
    ago = _AGO.fullmatch(said)
    try:
        if ago is not None:
            return now - int(ago[1]) * _UNITS[ago[2].lower()]
        if _DAY.fullmatch(said):
            return datetime.strptime(said, "%Y-%m-%d").replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        pass
    raise BadInput(name, f"must be a date such as 2026-03-31, or an age such as 24h, 7d or 2w, not {text[:40]!r}")
