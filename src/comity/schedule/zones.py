"""The time zone of an organisation, from the zone database of the system or of the tzdata package.

Takes a zone name and a country, either of which may be missing; returns ZoneFound, with the zone if there is one and
the reason in words. This is not a rule, because the database is read from disk.
"""

from __future__ import annotations

from zoneinfo import ZoneInfo

from comity.model.dataclass import dataclass
from comity.rules.country_zones import zone_of_capital


@dataclass(frozen=True, slots=True)
class ZoneFound:
    """A zone with where it comes from, or none with why not."""

    zone: ZoneInfo | None
    reason: str


def find_zone(name: str | None = None, country: str | None = None) -> ZoneFound:
    """The zone that was named, else that of the country, else none."""
    if name is not None and name.strip():
        zone = load_zone(name.strip())
        if zone is not None:
            return ZoneFound(zone, f"{zone.key}, as set")
        return ZoneFound(None, f"{name.strip()!r} is not a known time zone")
    if country is None or not country.strip():
        return ZoneFound(None, "neither a time zone nor a country is set")
    code = country.strip().upper()
    of_country = zone_of_capital(code)
    if of_country is None:
        return ZoneFound(None, f"no time zone is known for the country {code!r}")
    zone = load_zone(of_country.name)
    if zone is None:
        return ZoneFound(None, f"the time zone {of_country.name} of {code} is not in this system's database")
    which = "the only one" if of_country.is_only else "that of the capital, out of several"
    return ZoneFound(zone, f"{zone.key}, {which} of {code}")


def load_zone(name: str) -> ZoneInfo | None:
    """A zone by its name; None if there is no such zone, or if the name is a folder or leads outside the database."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; not a zone's file or an unsafe name; a folder
        return None
