"""The gazetteer: takes a name, returns the places of that name, the largest first.

The table is built from GeoNames (CC BY 4.0) by tools/build_cities.py and ships with the package. It is loaded on first
use, held as one block of bytes (3.5 MB) and searched by bisection.
"""

from __future__ import annotations

import pkgutil
import zlib
from functools import lru_cache
from typing import Final, NamedTuple

_LONGEST_NAME: Final = 60
_KNOWN_THOUSANDS: Final = 100


class City(NamedTuple):
    """One place of the gazetteer."""

    name: str
    country: str
    region: str
    thousands: int
    zone: str
    is_own_name: bool
    is_capital: bool


@lru_cache(maxsize=8192)
def cities_called(name_key: str) -> tuple[City, ...]:
    """Places with this name, which must be folded by `words.key`; those whose own name it is come first."""
    if len(name_key) < 2 or len(name_key) > _LONGEST_NAME:
        return ()
    zones, _, table = _table()
    wanted = name_key.encode("utf-8", "replace") + b"\t"
    low, high = 0, len(table)
    while low < high:
        start = table.rfind(b"\n", low, (low + high) // 2) + 1 or low
        end = table.find(b"\n", start, high)
        end = high if end < 0 else end
        line = table[start : min(end, start + len(wanted))]
        if line == wanted:
            return _read(table[start + len(wanted) : end].decode(), zones)
        if line < wanted:
            low = end + 1
        else:
            high = start
    return ()


def only_zone_of(country: str) -> str | None:
    """The one time zone of a country; None where it has several, or none that we know."""
    return _table()[1].get(country)


def _read(entries: str, zones: list[str]) -> tuple[City, ...]:
    found = []
    for entry in entries.split("~"):
        name, country, region, thousands, zone, flags = entry.split("|")
        found.append(City(name, country, region, int(thousands), zones[int(zone)], "P" in flags, "C" in flags))
    # "Islamabad" is also an old name of Chattogram, which is never meant.
    if any(city.is_own_name and (city.is_capital or city.thousands >= _KNOWN_THOUSANDS) for city in found):
        found = [city for city in found if city.is_own_name]
    return tuple(sorted(found, key=lambda city: (not city.is_own_name, -city.thousands)))


@lru_cache(maxsize=1)
def _table() -> tuple[list[str], dict[str, str], bytes]:
    packed = pkgutil.get_data("comity.rules.jobs", "cities.bin")
    assert packed is not None, "the package was installed without its gazetteer"
    zones, countries, lines = zlib.decompress(packed).split(b"\n", 2)
    one_time = dict(entry.split("=") for entry in countries.decode().split("|"))
    return zones.decode().split("|"), one_time, lines
