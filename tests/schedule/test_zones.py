"""From a name or a country to a time zone."""

from __future__ import annotations

import zoneinfo

import pytest

from comity.rules.country_zones import COUNTRY_ZONES, zone_of_capital
from comity.schedule.zones import find_zone


@pytest.mark.parametrize(
    ("name", "country", "key", "words"),
    [
        ("Europe/Paris", None, "Europe/Paris", "as set"),
        (" Europe/Paris ", "US", "Europe/Paris", "as set"),
        (None, "KE", "Africa/Nairobi", "the only one of KE"),
        ("", "ke", "Africa/Nairobi", "the only one of KE"),
        (None, "US", "America/New_York", "of the capital, out of several of US"),
        (None, "CH", "Europe/Zurich", "the only one of CH"),
        (None, "CD", "Africa/Kinshasa", "of the capital"),
        (None, None, None, "neither"),
        ("", " ", None, "neither"),
        (None, "ZZ", None, "'ZZ'"),
        ("Mars/Olympus", "FR", None, "'Mars/Olympus'"),
        ("America", None, None, "not a known time zone"),
        ("../../etc/passwd", None, None, "not a known time zone"),
        ("/etc/passwd", None, None, "not a known time zone"),
        ("zone.tab", None, None, "not a known time zone"),
        ("nul\0", None, None, "not a known time zone"),
    ],
)
def test_a_zone_is_found_by_name_or_country_or_not_at_all(
    name: str | None, country: str | None, key: str | None, words: str
) -> None:
    found = find_zone(name, country)
    assert (found.zone.key if found.zone else None) == key
    assert words in found.reason


def test_every_country_s_zone_is_in_the_database() -> None:
    assert len(COUNTRY_ZONES) > 240
    assert {zone.name for zone in COUNTRY_ZONES.values()} <= zoneinfo.available_timezones()


@pytest.mark.parametrize(
    ("country", "zone"),
    [("AU", "Australia/Sydney"), ("BR", "America/Sao_Paulo"), ("CA", "America/Toronto"), ("RU", "Europe/Moscow")],
)
def test_a_country_of_several_zones_has_that_of_its_capital(country: str, zone: str) -> None:
    found = zone_of_capital(country)
    assert found is not None
    assert (found.name, found.is_only) == (zone, False)
