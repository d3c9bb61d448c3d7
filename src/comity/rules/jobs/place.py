"""Where a job is: takes the page's words for a location, returns city, country and time zone, or None where unclear.

Every part of the text may be a country, a state or a city, often several at once ("Georgia", "CA"). The country is the
one that all parts agree on; if none or more than one remains, there is no result. A wrong country is worse than none.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from comity.rules.jobs.cities import City, cities_called, only_zone_of
from comity.rules.jobs.countries import countries_called, country_of, country_of_code, is_word_and_code
from comity.rules.jobs.words import key

# States of the United States and provinces of Canada and Australia, by name and by letters.

_UNITED_STATES: Final = (
    "AL Alabama|AK Alaska|AZ Arizona|AR Arkansas|CA California|CO Colorado|CT Connecticut|DE Delaware|"
    "DC District of Columbia|FL Florida|GA Georgia|HI Hawaii|ID Idaho|IL Illinois|IN Indiana|IA "
    "Iowa|KS Kansas|KY Kentucky|"
    "LA Louisiana|ME Maine|MD Maryland|MA Massachusetts|MI Michigan|MN Minnesota|MS Mississippi|MO Missouri|MT Montana|"
    "NE Nebraska|NV Nevada|NH New Hampshire|NJ New Jersey|NM New Mexico|NY New York|NC North Carolina|ND North Dakota|"
    "OH Ohio|OK Oklahoma|OR Oregon|PA Pennsylvania|RI Rhode Island|SC South Carolina|SD South "
    "Dakota|TN Tennessee|TX Texas|"
    "UT Utah|VT Vermont|VA Virginia|WA Washington|WV West Virginia|WI Wisconsin|WY Wyoming"
)
# GeoNames numbers these; the letters are what postings write.
_CANADA: Final = (
    "AB 01 Alberta|BC 02 British Columbia|MB 03 Manitoba|NB 04 New Brunswick|NL 05 Newfoundland and "
    "Labrador|NS 07 Nova Scotia|"
    "ON 08 Ontario|PE 09 Prince Edward Island|QC 10 Quebec|SK 11 Saskatchewan|YT 12 Yukon|NT 13 Northwest Territories|"
    "NU 14 Nunavut"
)
_AUSTRALIA: Final = (
    "ACT 01 Australian Capital Territory|NSW 02 New South Wales|NT 03 Northern Territory|QLD 04 Queensland|"
    "SA 05 South Australia|TAS 06 Tasmania|VIC 07 Victoria|WA 08 Western Australia"
)


def _regions() -> tuple[dict[str, tuple[tuple[str, str], ...]], dict[str, tuple[tuple[str, str], ...]]]:
    letters: dict[str, tuple[tuple[str, str], ...]] = {}
    names: dict[str, tuple[tuple[str, str], ...]] = {}
    for entry in _UNITED_STATES.split("|"):
        code, name = entry.split(" ", 1)
        letters[code] = (*letters.get(code, ()), ("US", code))
        names[key(name)] = (*names.get(key(name), ()), ("US", code))
    for country, table in (("CA", _CANADA), ("AU", _AUSTRALIA)):
        for entry in table.split("|"):
            code, region, name = entry.split(" ", 2)
            letters[code] = (*letters.get(code, ()), (country, region))
            names[key(name)] = (*names.get(key(name), ()), (country, region))
    letters["D.C."] = letters["D.C"] = letters["DC"]
    names["washington state"] = names["washington"]
    return letters, names


# (country, region as GeoNames writes it) by letters in capitals, and by folded name.
REGIONS_BY_LETTERS, REGIONS_BY_NAME = _regions()


_LONGEST: Final = 300
_MOST_PARTS: Final = 12
_MOST_WORDS: Final = 24
_CLEAR_TIMES: Final = 6  # how much larger the largest place must be than one of the same name in another country
_CLEAR_TIMES_CAPITAL: Final = 2
_KNOWN_THOUSANDS: Final = 100
_NAMED, _STATE, _CLEAR_CITY, _CODE, _CITY = 16, 8, 6, 5, 1

_SPLIT: Final = re.compile(r"[,;|/()\[\]\n•·،、，；]+|\s[-–—]\s|\s*[–—:]\s*")
_CODE_FIRST: Final = re.compile(r"\s*[A-Z]{2}-(?:[A-Z]{2}-)?[A-Z][a-z]")
_JOINED: Final = re.compile(r"\s(?:or|and|ou|et|o|y|oder|und|e|&|\+|أو|или|и)\s", re.IGNORECASE)
_LABEL: Final = re.compile(
    r"^(?:(?:primary |job |work |main )?locations?|duty stations?|based (?:in|at)|lieu(?: "
    r"d'affectation)?|ubicaci[oó]n|standort|"
    r"city|country|place|office|lugar|sede|local|localiza[cç][aã]o|home[- ]?based(?: in)?|remote(?: "
    r"in| from)?|hybrid(?: in)?|in|"
    r"at|near|flexible|preferably)\b[\s:.\-–]*",
    re.IGNORECASE,
)
_TRAILING: Final = re.compile(
    r"\b(?:with (?:frequent |some |regular )?travel.*|area|city|metropolitan area|country office|"
    r"regional office|head office|office|"
    r"headquarters|hq|region|duty station|remote|hybrid|on-?site|home[- ]based|preferred|only|based)$",
    re.IGNORECASE,
)
_CODES: Final = re.compile(r"[A-Z]{2,3}|D\.C\.?")
_ZIP: Final = re.compile(r"\b\d+(?:-\d+)?\b|\b[A-Z]\d[A-Z] ?\d[A-Z]\d\b")
# Places that postings mean as words: Mobile and Reading are cities, Union and Central too.
_WORDS: Final = (
    "remote mobile field home central union orange various multiple global worldwide anywhere "
    "international reading march of us eu emea apac africa asia europe america office hub campus "
    "university north south east west flexible national bar best to have man spring"
)
_WORDS_NOT_PLACES: Final = frozenset(_WORDS.split())
_CITY_STATES: Final = frozenset({"SG", "MC", "VA", "GI"})
# Cities that postings place in one country or another; without a country beside them they lie in neither.
_CONTESTED: Final = {"Jerusalem": ("IL", "PS")}
_SHORT_NAMES: Final = frozenset({"drc", "rdc", "usa", "uae", "png", "ksa"})
_RIVAL_THOUSANDS: Final = 200


class Place(NamedTuple):
    """What a location means; `zone` is a name for zoneinfo."""

    city: str | None = None
    country_iso: str | None = None
    zone: str | None = None


class _Part(NamedTuple):
    """What one part of a location can stand for: weight by country, regions, cities."""

    weights: dict[str, int]
    regions: tuple[tuple[str, str], ...]
    cities: tuple[City, ...]
    is_firm: bool
    is_code: bool = False
    by_region: frozenset[str] = frozenset()  # countries that only a state or province speaks for


@lru_cache(maxsize=2048)
def locate(location: str, country_text: str = "", source_country: str | None = None) -> Place:
    """Find city, country and zone; `country_text` is the page's own field, `source_country` only breaks ties."""
    location = location[:_LONGEST]
    parts = [part for text in _pieces(location) if (part := _read(text))]
    if not any(part.is_firm for part in parts):
        parts += _scan(location)
    country = country_of(country_text[:_LONGEST]) if country_text else None
    if country is None and country_text and not parts:
        return locate(country_text, "", source_country)
    country = country or _agreed(parts, source_country)
    if country is None:
        return Place()
    city = _city(parts, country)
    return Place(city.name if city else None, country, city.zone if city else only_zone_of(country))


def is_place_code(text: str) -> bool:
    """Whether letters stand for a country or a state, as behind a comma."""
    return bool(_CODES.fullmatch(text)) and (text in REGIONS_BY_LETTERS or country_of_code(text) is not None)


def is_well_known(text: str) -> bool:
    """Whether a name is that of a country or of a large town, and so hardly anything else."""
    part = _read(text[:_LONGEST])
    if part is None or not part.is_firm:
        return False
    return _NAMED in part.weights.values() or any(city.thousands >= _RIVAL_THOUSANDS for city in part.cities)


def is_named_place(text: str) -> bool:
    """Whether a text is the name of a country, a region or a town, and not one of the words that are towns, too."""
    letters = "".join(sign for sign in text if sign.isalpha())
    part = _read(text[:_LONGEST])
    if part is None or key(text) in _WORDS_NOT_PLACES:
        return False
    if letters.isupper() and (len(letters) <= 3 or len(text.split()) == 1):
        # "HR" is Croatia's code, and a department; "BANDO" shouts, and is a town.
        return key(text) in _SHORT_NAMES | {"uk", "us"} or any(
            city.thousands >= _KNOWN_THOUSANDS for city in part.cities
        )
    return part.is_firm or bool(part.regions) or any(city.is_own_name for city in part.cities)


def _pieces(location: str) -> list[str]:
    """The parts of a location; "Trinidad and Tobago" is one, "Kenya and Uganda" are two."""
    pieces: list[str] = []
    if _CODE_FIRST.match(location):  # as applicant systems join them: "US-NY-New York", "KE-Nairobi-HQ"
        location = location.replace("-", " - ")
    for text in _SPLIT.split(location)[:_MOST_PARTS]:
        bare = (text or "").strip()
        if _JOINED.search(bare) and not countries_called(key(bare)):
            pieces += [piece.strip() for piece in _JOINED.split(bare)]
        elif bare:
            pieces.append(bare)
    return pieces[:_MOST_PARTS]


@lru_cache(maxsize=4096)
def _read(text: str) -> _Part | None:
    bare = _ZIP.sub("", text).strip(" .-")
    code = bare if _CODES.fullmatch(bare) else ""
    part = _meaning(key(bare), code)
    # "Mexico City" is a name, "Brussels office" is a name and more.
    for _ in range(3):
        shorter = _TRAILING.sub("", _LABEL.sub("", bare)).strip(" .-:")
        if part or shorter == bare or not shorter:
            break
        bare = shorter
        part = _meaning(key(bare), bare if _CODES.fullmatch(bare) else "")
    return part or _read_state_after_city(bare)


def _meaning(name: str, code: str) -> _Part | None:
    weights: dict[str, int] = {}
    regions = REGIONS_BY_NAME.get(name, ())
    if code:
        regions = (*regions, *REGIONS_BY_LETTERS.get(code, ()))
        country = country_of_code(code)
        if country and not is_word_and_code(code):
            weights[country] = _CODE if len(code) == 2 else _NAMED
    for country in countries_called(name):
        weights[country] = _NAMED
    cities = () if code and weights else cities_called(name)
    if not cities and not weights and not regions:
        return None
    by_region = frozenset(country for country, _ in regions if country not in weights)
    for country, _ in regions:
        weights[country] = max(weights.get(country, 0), _CODE if code else _STATE)
    clear = _clear(cities)
    for city in cities:
        weight = _CLEAR_CITY if city is clear else _CITY
        weights[city.country] = max(weights.get(city.country, 0), weight)
    if cities and cities[0].name in _CONTESTED:
        weights.update(dict.fromkeys(_CONTESTED[cities[0].name], _CLEAR_CITY))
    is_firm = any(weight >= _CODE for weight in weights.values())
    is_firm = is_firm or any(city.thousands >= _KNOWN_THOUSANDS for city in cities)
    is_firm = is_firm and (bool(code) or name not in _WORDS_NOT_PLACES)
    return _Part(weights, regions, cities, is_firm, bool(code) and _NAMED not in weights.values(), by_region)


def _read_state_after_city(text: str) -> _Part | None:
    """ "Washington DC", "New York NY", "Nairobi Kenya": a city and what it lies in, without a comma."""
    words = text.split()
    if not 2 <= len(words) <= 5:
        return None
    for at in range(len(words) - 1, 0, -1):
        first, last = cities_called(key(" ".join(words[:at]))), " ".join(words[at:])
        codes = countries_called(key(last)) or tuple(filter(None, (country_of_code(last),)))
        regions = REGIONS_BY_LETTERS.get(last, ()) or REGIONS_BY_NAME.get(key(last), ())
        inside = tuple(city for city in first if city.country in codes or (city.country, city.region) in regions)
        if inside:
            return _Part({city.country: _CLEAR_CITY for city in inside}, (), inside, True)
    return None


def _scan(location: str) -> list[_Part]:
    """Countries named inside a sentence, where its parts alone mean nothing; the longest names first."""
    words = key(location).split()[:_MOST_WORDS]
    found: list[_Part] = []
    at = 0
    while at < len(words):
        for length in (4, 3, 2, 1):
            name = " ".join(words[at : at + length])
            is_name = (len(name) > 3 or name in _SHORT_NAMES) and name not in _WORDS_NOT_PLACES
            codes = countries_called(name) if is_name else ()
            if codes:
                found.append(_Part(dict.fromkeys(codes, _NAMED), (), (), True))
                at += length - 1
                break
        at += 1
    return found


def _clear(cities: tuple[City, ...]) -> City | None:
    """The place that a name usually means: the largest, if those in other countries are much smaller."""
    if not cities:
        return None
    largest = max(cities, key=lambda city: city.thousands)
    needed = _CLEAR_TIMES_CAPITAL if largest.is_capital else _CLEAR_TIMES
    rivals = [city.thousands for city in cities if city.country != largest.country]
    if largest.thousands < _KNOWN_THOUSANDS and not largest.is_capital and rivals:
        return None
    return largest if all(largest.thousands >= needed * rival for rival in rivals) else None


def _agreed(parts: list[_Part], source_country: str | None) -> str | None:
    """The country that every firm part can lie in; by weight where there are several, else by the source."""
    firm = [part for part in parts if part.is_firm]
    possible = _possible(firm)
    if not possible:  # "Bogotá, D.C., Colombia": letters mean least
        firm = [part for part in firm if not part.is_code]
        possible = _possible(firm)
    if not possible:  # "Santa Cruz, Bolivia": a country by its name, beside cities that cannot be told apart
        firm = [part for part in firm if max(part.weights.values()) >= _CLEAR_CITY]
        possible = _possible(firm) if any(_NAMED in part.weights.values() for part in firm) else set()
    if not possible:
        return None
    scores = sorted(
        ((sum(part.weights.get(country, 0) for part in parts), country) for country in possible), reverse=True
    )
    best, country = scores[0]
    rivals = [rival for score, rival in scores[1:] if score == best]
    if rivals:
        return source_country if source_country in (country, *rivals) else None
    if best < _CODE:  # a few small places of that name: which is meant only the source can say
        return source_country if source_country in possible else (country if len(possible) == 1 else None)
    if len(possible) > 1 and len(firm) == 1:
        return _unless_doubtful(firm[0], country, source_country)
    return country


def _possible(firm: list[_Part]) -> set[str]:
    """Countries that all firm parts can lie in; a state must hold a city that is named beside it."""
    if not firm:
        return set()
    possible = set(firm[0].weights).intersection(*(part.weights for part in firm[1:]))
    for part in firm:
        for country in part.by_region & possible:
            regions = {region for home, region in part.regions if home == country}
            beside = [
                {city.region for city in other.cities if city.country == country}
                for other in firm
                if other is not part and country not in other.by_region and other.weights.get(country) != _NAMED
            ]
            if any(there and not there & regions for there in beside):
                possible.discard(country)
    return possible


def _unless_doubtful(part: _Part, country: str, source_country: str | None) -> str | None:
    """A bare "Georgia" from an organisation in the United States, a bare "CA" or "Victoria": who knows."""
    states = {home for home, _ in part.regions}
    if source_country in states and source_country != country:
        return None
    if states and part.weights[country] == _CODE:
        return country if country == source_country else None
    is_rivalled = any(
        city.country != country and ((city.is_capital and part.by_region) or city.thousands >= _RIVAL_THOUSANDS)
        for city in part.cities
    )
    if is_rivalled and part.weights[country] >= _STATE:
        return country if country == source_country else None
    return country


def _city(parts: list[_Part], country: str) -> City | None:
    """The one city that the parts name in the country; None where they name several."""
    regions = {region for part in parts for home, region in part.regions if home == country and not part.cities}
    found: list[City] = []
    for part in parts:
        if part.weights.get(country) == _NAMED and (len(parts) > 1 or country not in _CITY_STATES):
            continue
        inside = [city for city in part.cities if city.country == country]
        nearer = [city for city in inside if city.region in regions] or inside
        if nearer:
            found.append(max(nearer, key=lambda city: (city.thousands, city.is_own_name)))
    known = [city for city in found if city.thousands >= _KNOWN_THOUSANDS] or found
    if len({city.region for city in known}) > 1:
        return None
    return known[0] if known else None
