"""Time zones as postings write them: takes the words around a time, returns a tzinfo, or None if they name none."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from comity.rules.jobs.cities import cities_called
from comity.rules.jobs.place import locate
from comity.rules.jobs.words import key

_OFFSET: Final = re.compile(
    r"\b(?:utc|gmt)\s*([+\-−])\s*(\d{1,2})(?::?(\d{2}))?\b|(?:(?<=:\d\d)|(?<=\.\d{3}))\s*([+-])(\d{2}):?(\d{2})\b",
    re.IGNORECASE,
)
_IANA: Final = re.compile(
    r"\b(?:Africa|America|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?"
)
_LETTERS: Final = re.compile(r"\b[A-Z]{2,5}\b")
# Most dates name no zone; one look tells.
_HINT: Final = re.compile(r"[A-Z]{2}|[+(/]|\d\s*-\d\d:|\d[Zz]|[Tt]ime|TIME|heure|[Hh]ora|\bora\b|[Zz]eit|tijd|utc|gmt")
_ZULU: Final = re.compile(r"\d(?:Z|z)\b")
# Summer and winter letters are used all year: "23:59 CET" in July means the clock on the wall, so both name a place.
_ZONES_BY_LETTERS: Final = {
    **dict.fromkeys(("UTC", "GMT", "UCT"), "UTC"),
    **dict.fromkeys(("CET", "CEST", "MEZ", "MESZ", "HNEC"), "Europe/Brussels"),
    **dict.fromkeys(("EET", "EEST"), "Europe/Helsinki"),
    **dict.fromkeys(("WET", "WEST"), "Europe/Lisbon"),
    **dict.fromkeys(("MSK",), "Europe/Moscow"),
    **dict.fromkeys(("TRT",), "Europe/Istanbul"),
    **dict.fromkeys(("EST", "EDT", "ET"), "America/New_York"),
    **dict.fromkeys(("CDT", "CT"), "America/Chicago"),
    **dict.fromkeys(("MDT", "MT"), "America/Denver"),
    **dict.fromkeys(("PST", "PDT", "PT"), "America/Los_Angeles"),
    **dict.fromkeys(("EAT",), "Africa/Nairobi"),
    **dict.fromkeys(("CAT",), "Africa/Maputo"),
    **dict.fromkeys(("WAT",), "Africa/Lagos"),
    **dict.fromkeys(("SAST",), "Africa/Johannesburg"),
    **dict.fromkeys(("PKT",), "Asia/Karachi"),
    **dict.fromkeys(("NPT",), "Asia/Kathmandu"),
    **dict.fromkeys(("AFT",), "Asia/Kabul"),
    **dict.fromkeys(("ICT",), "Asia/Bangkok"),
    **dict.fromkeys(("WIB",), "Asia/Jakarta"),
    **dict.fromkeys(("SGT",), "Asia/Singapore"),
    **dict.fromkeys(("HKT",), "Asia/Hong_Kong"),
    **dict.fromkeys(("PHT",), "Asia/Manila"),
    **dict.fromkeys(("JST",), "Asia/Tokyo"),
    **dict.fromkeys(("KST",), "Asia/Seoul"),
    **dict.fromkeys(("AEST", "AEDT"), "Australia/Sydney"),
    **dict.fromkeys(("AWST",), "Australia/Perth"),
    **dict.fromkeys(("NZST", "NZDT"), "Pacific/Auckland"),
    **dict.fromkeys(("BRT",), "America/Sao_Paulo"),
    **dict.fromkeys(("COT",), "America/Bogota"),
    **dict.fromkeys(("PET",), "America/Lima"),
}
# Letters that mean different times in different countries; elsewhere they say nothing, save a first choice under "".
_SHARED_LETTERS: Final = {
    "IST": {
        "IN": "Asia/Kolkata",
        "IL": "Asia/Jerusalem",
        "PS": "Asia/Jerusalem",
        "IE": "Europe/Dublin",
        "LK": "Asia/Colombo",
    },
    "BST": {"BD": "Asia/Dhaka", "": "Europe/London"},
    "CST": {
        "CN": "Asia/Shanghai",
        "TW": "Asia/Taipei",
        "CU": "America/Havana",
        "CR": "America/Costa_Rica",
        "": "America/Chicago",
    },
    "GST": {"": "Asia/Dubai"},
    "MST": {"MY": "Asia/Kuala_Lumpur", "MM": "Asia/Yangon", "": "America/Denver"},
    "AST": {
        **dict.fromkeys(("SA", "IQ", "KW", "QA", "BH", "YE"), "Asia/Riyadh"),
        **dict.fromkeys(("CA", "PR", "BB", "TT"), "America/Halifax"),
    },
}
_NAMED: Final = (
    ("central european", "Europe/Brussels"),
    ("eastern european", "Europe/Helsinki"),
    ("east africa", "Africa/Nairobi"),
    ("central africa", "Africa/Maputo"),
    ("west africa", "Africa/Lagos"),
    ("south africa", "Africa/Johannesburg"),
    ("eastern time", "America/New_York"),
    ("eastern standard", "America/New_York"),
    ("eastern daylight", "America/New_York"),
    ("us eastern", "America/New_York"),
    ("pacific time", "America/Los_Angeles"),
    ("greenwich", "UTC"),
    ("universal time", "UTC"),
    ("indian standard", "Asia/Kolkata"),
)
_PLACE: Final = re.compile(
    r"\b([A-Z][\w.'’-]+(?: [A-Z][\w.'’-]+){0,2})(?:'s)? (?:local )?(?:time|Time|TIME|Ortszeit|Zeit)\b"
    r"|\b(?:heure|hora|ora|tijd|horario|horário|time in|heures)\s+(?:locale |local )?(?:de |di |d'|van |in |du |à )?"
    r"([A-Z][\w.'’-]+(?: [A-Z][\w.'’-]+)?)"
)
_BRACKETS: Final = re.compile(r"\(([^()]{3,40})\)")


@lru_cache(maxsize=1024)
def zone_named(name: str | None) -> tzinfo | None:
    """The zone of that name; None if the machine has no such zone."""
    if not name:
        return None
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        return None


@lru_cache(maxsize=1024)
def zone_in(text: str, country: str | None) -> tzinfo | None:
    """The zone that a short text names by offset, letters, city or in words; `country` decides shared letters."""
    if not _HINT.search(text):
        return None
    if _ZULU.search(text):
        return UTC
    offset = _OFFSET.search(text)
    if offset:
        sign, hours, minutes = (offset[1], offset[2], offset[3]) if offset[1] else (offset[4], offset[5], offset[6])
        shift = timedelta(hours=int(hours), minutes=int(minutes or 0))
        if shift <= timedelta(hours=14):
            return timezone(shift if sign == "+" else -shift)
    place = _IANA.search(text)
    if place and (named := zone_named(place[0])):
        return named
    for match in _LETTERS.finditer(text):
        letters = match[0]
        shared = _SHARED_LETTERS.get(letters, {})
        name = _ZONES_BY_LETTERS.get(letters) or shared.get(country or "") or shared.get("")
        if name:
            return zone_named(name)
    lowered = text.lower()
    for words, name in _NAMED:
        if words in lowered:
            return zone_named(name)
    return _zone_of_place(text)


def _zone_of_place(text: str) -> tzinfo | None:
    """ "(New York)", "Geneva time", "heure de Paris"."""
    names = [match[1] or match[2] for match in _PLACE.finditer(text)] + _BRACKETS.findall(text)
    for name in names:
        for candidate in (name.strip(), name.split(" ")[-1]):
            if len(candidate) > 2 and (cities_called(key(candidate)) or len(candidate) > 3):
                zone = zone_named(locate(candidate).zone)
                if zone:
                    return zone
    return None
