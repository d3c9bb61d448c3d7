"""One posting in several places: boards list it once per place under one address; takes places, returns one line.

A place that says less than another ("Nairobi" beside "Nairobi, Kenya") is the same place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from comity.model.job import JobFound
from comity.rules.jobs.identity import untracked
from comity.rules.jobs.words import alike

SEPARATOR: Final = "; "
MOST_PLACES: Final = 20
_LONGEST: Final = 300


def joined_places(places: Iterable[str]) -> str:
    """Places in one line, each once, as many as a field holds."""
    kept: dict[frozenset[str], str] = {}
    for place in (part.strip() for said in places for part in said.split(";")):
        words = _words(place)
        if not words or any(words <= known for known in kept):
            continue
        for less in [known for known in kept if known < words]:
            del kept[less]
        if len(kept) >= MOST_PLACES or sum(map(len, kept.values())) + 2 * len(kept) + len(place) > _LONGEST:
            break
        kept[words] = place
    return SEPARATOR.join(kept.values())


def is_elsewhere(place: str, other: str) -> bool:
    """Whether two lines name places and none in common."""
    here, there = ([_words(part) for part in said.split(";")] for said in (place, other))
    return (
        any(here) and any(there) and not any(one <= two or two <= one for one in here for two in there if one and two)
    )


def are_same_places(places: str, other: str) -> bool:
    """Whether two lines name the same places in any order."""
    here, there = ({_words(part) for part in said.split(";")} for said in (places, other))
    return here == there


def joined(one: JobFound, other: JobFound) -> JobFound:
    """One posting in the places of both."""
    return replace(
        one,
        location_raw=joined_places((one.location_raw, other.location_raw)),
        country_raw=joined_places((one.country_raw, other.country_raw)),
    )


def joined_over_pages(pages: Sequence[tuple[str, Sequence[JobFound]]]) -> list[list[JobFound]]:
    """Join the places of postings that pages of one listing share; each page comes with its own address.

    Jobs without an address of their own have a page's; only their places tell them apart, so those stay.
    """
    own = {untracked(url.partition("#")[0]).rstrip("/?") for url, _ in pages}
    whole: dict[tuple[str, str, str], JobFound] = {}
    if len(pages) > 1:
        for _, jobs in pages:
            for found in jobs:
                key = _key(found)
                whole[key] = joined(whole[key], found) if key in whole else found
    listed: list[list[JobFound]] = []
    for _, jobs in pages:
        listed.append(
            [
                found
                if untracked(found.apply_url).rstrip("/?") in own or (one := whole.get(_key(found))) is None
                else replace(found, location_raw=one.location_raw, country_raw=one.country_raw)
                for found in jobs
            ]
        )
    return listed


def _key(found: JobFound) -> tuple[str, str, str]:
    return untracked(found.apply_url), alike(found.title), found.reference


def _words(place: str) -> frozenset[str]:
    return frozenset(filter(None, (part.strip() for part in alike(place).split(","))))
