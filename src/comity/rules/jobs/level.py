"""How senior a job is: takes title, grade field and kind of organisation; returns a level, or None if nothing says."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from comity.rules.jobs.words import plain

# Grades of the United Nations and related organisations. P and D are international posts; NO and G are for nationals
# or local recruits (ICSC, common system of salaries).

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


# What the title must hold, most telling first; folded words in several languages.
_LEVELS: Final = (
    (
        "intern",
        r"interns?|internships?|trainee(?:ship)?s?|stagiaires?|stage|stages|pasant[ei]s?|pasantias?|"
        r"practicante|practicas|becari[oa]|"
        r"praktikant\w*|praktikum|estagi\w*|tirocin\w*|stagista|stagair[e]?|apprentice\w*|alternance|"
        r"alternant\w?|متدرب\w*|تدريب|стажер\w*|"
        r"стажиров\w*|werkstudent\w*|实习\w*|インターン\w*",
    ),
    (
        "junior",
        r"(?:personal|executive|administrative|management) (?:assistant|secretary)|assistant to|"
        r"director'?s assistant|secretary to|"
        r"assistant(?:e)? (?:administrativ\w+|de direction|executive)|assistente executiv\w|asistente ejecutiv\w",
    ),
    (
        "executive",
        r"chief executive|executive director|director(?:a)? ejecutiv[oa]|diretor(?:a)? executiv[oa]|"
        r"direct(?:eur|rice) executi(?:f|ve)|"
        r"direct(?:eur|rice) general\w*|director(?:a)? general|diretor(?:a)? geral|general director|"
        r"ceo|cfo|coo|cto|cio|cmo|chro|chief (?:[a-z]+ ){1,3}officer|secretary[- ]general|managing "
        r"director|geschaftsfuhr\w+|"
        r"vorstand\w*|(?<!vice[ -])president|executive secretary|amministratore delegato|генеральный директор|المدير "
        r"التنفيذي|مدير تنفيذي|المدير العام",
    ),
    (
        "director",
        r"directors?|directeurs?|directrice|directora|diretor(?:a)?|direttor\w+|direktor\w*|vice[- "
        r"]president|country representative|[se]?vp|"
        r"resident representative|chief of party|head of (?:mission|delegation|office)|chef(?:fe)? de "
        r"mission|deputy representative|"
        r"директор\w*|bereichsleit\w+",
    ),
    (
        "lead",
        r"(?:team |technical |cluster |sector |project |programme |program )?leads?|leaders?|managers?|"
        r"heads?|head of|chief|supervisors?|"
        r"projektmanage\w*|gestionnaires?|responsables?|chef(?:fe)?|gerentes?|gestor(?:a)?|jef[ea]|encargad[oa]|"
        r"leiter\w*|"
        r"leitung|teamleit\w*|coordenador chefe|"
        r"responsabile|capo|manager\w*|менеджер\w*|руководител\w*|начальник\w*|مدير\w*|رئيس",
    ),
    (
        "senior",
        r"(?:associate|full) professor|"
        r"seniors?|sr|principal|experienced|experts?|expert[ae]|experto|advisers?|advisors?|"
        r"conseill(?:er|ere)\w*|asesor\w*|"
        r"berater\w*|specialiste principal\w*|senior\w*|старши\w+|эксперт\w*|كبير|خبير\w*|مستشار\w*",
    ),
    # Steps of an academic career, whose names are those of helpers elsewhere.
    ("mid", r"assistant professor|research (?:associate|fellow)s?|post-?doc\w*|post-?doctoral \w+"),
    (
        "junior",
        r"juniors?|jr|graduates?|entry[- ]level|assistants?|assistante\w?|asistentes?|assistentes?|"
        r"assistent\w*|associates?|auxilia\w+|"
        r"clerks?|receptionists?|drivers?|chauffeurs?|conductor(?:a)?|cleaners?|guards?|helpers?|aides?|"
        r"ayudante|hilfskraft|jovem|"
        r"secretar\w+|enumerators?|enqueteu\w+|storekeepers?|помощник\w*|ассистент\w*|مساعد\w*|سائق",
    ),
    (
        "mid",
        r"officers?|specialists?|coordinators?|analysts?|charge\S{0,4} (?:de|d'|du|des)\b|coordina\w+|"
        r"coordenador\w*|koordinator\w*|"
        r"oficial\w*|especialistas?|specialistes?|tecnic[oa]|analist\w*|analystes?|referent\w*|engineers?|"
        r"ingenieur\w*|nurses?|doctors?|midwi\w+|"
        r"accountants?|comptables?|technicians?|researchers?|lecturers?|editors?|developers?|"
        r"координатор\w*|специалист\w*|منسق\w*|"
        r"مسؤول\w*|اخصائي\w*|mid[- ](?:level|career)",
    ),
)
_TITLES: Final = tuple((level, re.compile(rf"(?<!\w)(?:{words})(?!\w)")) for level, words in _LEVELS)
_SENIOR_HELPER: Final = re.compile(r"\b(?:senior|sr|principal)\b.{0,40}\b(?:assistant|associate|clerk|secretary)")
_DEPUTY: Final = re.compile(
    r"\b(?:assistant|associate|deputy|senior|regional|country)\s+(?:\w+\s+)?(?:director|representative)\b"
)
# "Lead" and "chief" are also parts of words that mean no rank.
_NO_RANK: Final = re.compile(
    r"\b(?:internal|international|lead (?:poisoning|exposure|generation)|state of the art|stage manager)\b|\bm/f\b"
)
_FIELDS: Final = (
    ("executive", re.compile(r"executive|c-?level|chief")),
    ("director", re.compile(r"director|vp\b")),
    ("lead", re.compile(r"lead|manag|supervis|head")),
    ("intern", re.compile(r"intern(?:ship)?\b|student|stagiaire|trainee")),
    ("junior", re.compile(r"entry|junior|graduate|associate|assistant|early|debutant|berufseinsteiger|0-2")),
    ("senior", re.compile(r"senior|expert|principal|confirme")),
    ("mid", re.compile(r"mid|intermediate|experienced|professional|confirmed|berufserfahren")),
)


def level_of(title: str, level_text: str, employment: str, org_type: str | None) -> str | None:
    """A level, by grade first, then by the page's own field for it, then by the words of the title."""
    grade = grade_in(level_text, org_type, is_field=True) if level_text else None
    grade = grade or grade_in(title, org_type)
    if grade and grade.level:
        return grade.level
    folded = _NO_RANK.sub(" ", plain(title))
    intern, words = _TITLES[0]
    if words.search(folded):
        return intern
    if level_text:
        field = plain(level_text)
        for level, said in _FIELDS:
            if said.search(field):
                return level
    if "intern" in employment.lower().replace("international", "").replace("internal", ""):
        return "intern"
    return _by_title(folded)


def _by_title(folded: str) -> str | None:
    is_deputy = _DEPUTY.search(folded) is not None
    if not is_deputy and _SENIOR_HELPER.search(folded):
        return "mid"
    if is_deputy and "assistant to" not in folded:
        return "director"
    for level, words in _TITLES[1:]:
        if words.search(folded):
            return level
    return None
