"""Grades of the United Nations and their kin: a title or a grade field enters, what the grade says leaves.

P and D are international posts, NO and G are for nationals or local recruits (ICSC, common system of salaries).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

_GRADES: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?P<usg>USG|ASG|DSG)"
    r"|(?P<letter>[PDGL])\s?(?P<joint>-?)\s?(?P<number>[1-7])"
    r"|GS\s?-?\s?(?P<general>[1-7])"
    r"|NO\s?-?\s?(?P<officer>[A-E1-5])|NO(?P<tight>[A-E])"
    r"|(?P<agreement>IICA|LICA|IPSA|NPSA)\s?-?\s?(?P<step>\d{1,2})"
    r"|(?P<bare>IICA|LICA|IPSA|NPSA)"
    r"|FS\s?-?\s?(?P<field>[1-7])"
    r"|SB\s?-?\s?(?P<service>[1-5])"
    r"|(?P<volunteer>UNV|UN Volunteers?|UN Youth Volunteers?)"
    r")(?![A-Za-z0-9])"
)
_PROFESSIONAL: Final = {1: "junior", 2: "junior", 3: "mid", 4: "senior", 5: "lead", 6: "director", 7: "director"}
_GENERAL: Final = {1: "junior", 2: "junior", 3: "junior", 4: "junior", 5: "mid", 6: "mid", 7: "senior"}
_FIELD: Final = {1: "junior", 2: "junior", 3: "junior", 4: "junior", 5: "mid", 6: "senior", 7: "lead"}
_OFFICERS: Final = "ABCDE"
_UNITED_NATIONS: Final = frozenset({"un", "igo", "mdb"})


class Grade(NamedTuple):
    """What a grade says; None where it says nothing."""

    level: str | None
    is_international: bool | None


@lru_cache(maxsize=4096)
def grade_in(text: str, org_type: str | None, *, is_field: bool = False) -> Grade | None:
    """The first grade in a text; "P3" without its hyphen counts only in a field for grades or from the UN."""
    is_trusted = is_field or (org_type or "").lower() in _UNITED_NATIONS
    for match in _GRADES.finditer(text):
        if match["letter"] and not match["joint"] and not is_trusted:
            continue
        return _meaning(match)
    return None


def _meaning(match: re.Match[str]) -> Grade:
    if match["usg"]:
        return Grade("executive", True)
    if match["letter"]:
        number = int(match["number"])
        if match["letter"] == "G":
            return Grade(_GENERAL[number], False)
        if match["letter"] == "D":
            return Grade("director", True)
        return Grade(_PROFESSIONAL[number], True)
    if match["general"]:
        return Grade(_GENERAL[int(match["general"])], False)
    officer = match["officer"] or match["tight"]
    if officer:
        number = int(officer) if officer.isdigit() else _OFFICERS.index(officer) + 1
        return Grade(_PROFESSIONAL[number], False)
    if match["agreement"] or match["bare"]:
        return _agreement(match["agreement"] or match["bare"], int(match["step"] or 0))
    if match["field"]:
        return Grade(_FIELD[int(match["field"])], True)
    if match["service"]:
        return Grade({1: "junior", 2: "junior", 3: "mid", 4: "mid", 5: "senior"}[int(match["service"])], False)
    return Grade("junior" if "Youth" in match["volunteer"] else None, None)


def _agreement(kind: str, step: int) -> Grade:
    """Contracts of UNOPS (IICA, LICA) and UNDP (IPSA, NPSA), by the grades that they are measured against."""
    is_international = kind[0] == "I"
    if kind == "IICA":
        return Grade({1: "junior", 2: "mid", 3: "senior", 4: "lead"}.get(step), is_international)
    if kind in ("LICA", "NPSA") and 1 <= step <= 7:
        return Grade(_GENERAL[step], is_international)
    return Grade(_PROFESSIONAL.get(step - 7) if step > 7 else None, is_international)
