"""States of the United States and provinces of Canada and Australia, by name and by letters."""

from __future__ import annotations

from typing import Final

from comity.rules.jobs.words import key

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


def _read() -> tuple[dict[str, tuple[tuple[str, str], ...]], dict[str, tuple[tuple[str, str], ...]]]:
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
REGIONS_BY_LETTERS, REGIONS_BY_NAME = _read()
