"""On what terms a job is offered: words of a posting enter, a kind of contract leaves; None if nothing says."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

# Kinds of contract, most telling first: an internship of full working days is an internship.
_CAREERS: Final = tuple(
    (kind, re.compile(rf"(?<!\w)(?:{words})(?!\w)"))
    for kind, words in (
        (
            "internship",
            r"intern|interns|internships?|trainee(?:ship)?s?|stagiaires?|stage|pasant\w+|practicas|"
            r"praktik\w+|estagi\w+|tirocin\w+|"
            r"apprentice\w*|alternance|werkstudent\w*|تدريب|стажиров\w+|实习",
        ),
        (
            "volunteer",
            r"volunteers?|volunteering|voluntary|voluntari\w+|benevol\w*|volontaria\w*|volontari\w*|"
            r"volontaires?|freiwillig\w*|ehrenamt\w*|"
            r"unv|متطوع\w*|تطوع|волонтер\w*|service civique",
        ),
        (
            "fellowship",
            (
                r"fellows?|fellowships?|postdoc\w*|post-doc\w*|phd (?:student|position|candidate)|becas?|bourse|"
                r"borsa|scholarships?|stipendi\w*"
            ),
        ),
        (
            "consultancy",
            r"consultan\w+|contractors?|freelance\w*|independent contractor|consulenza|consulent\w+|"
            r"consultor\w*|beratervertrag|honorar\w*|"
            r"iica|lica|ipsa|npsa|individual contract\w*|terms of reference|request for proposals?|call for proposals?|"
            r"prestataires?|prestation|service contract|استشار\w+|консультант\w*|locum",
        ),
        ("secondment", r"second(?:ment|ed|ee)|detachement|abordnung|junior professional officer|jpo"),
        (
            "temporary",
            r"temporary|temp|temporaire|temporal|temporari\w+|tja|temporary job opening|temporary "
            r"appointment|interim\w*|maternity (?:cover|leave)|"
            r"parental leave cover|short[- ]term|stand-?by|roster|surge|seasonal|casual|per[ _-]?diem|"
            r"vertretung|aushilfe|مؤقت|временн\w+",
        ),
        (
            "fixed-term",
            r"fixed[- _]?term|fta|cdd|determined period|duree determinee|plazo (?:fijo|determinado)|"
            r"befristet\w*|tempo determinato|prazo (?:certo|determinado)|"
            r"termo certo|limited[- ]term|term[- ]limited|definite|time-limited|(?:\d{1,2}|six|twelve|one|"
            r"two|three)[- ](?:month|months|year|years)(?: contract)?",
        ),
        (
            "permanent",
            r"permanent\w*|open[- ]ended|indefinite\w*|cdi|duree indeterminee|indefinid\w+|unbefristet\w*|"
            r"tempo indeterminato|"
            r"efetivo|دائم|постоянн\w+",
        ),
        (
            "part-time",
            (
                r"part[- _]?time|parttime|temps partiel|mi-temps|tiempo parcial|medio tiempo|media jornada|"
                r"teilzeit|tempo parziale|meio periodo|tempo parcial|دوام جزئي|частичн\w+ занятост\w+"
            ),
        ),
        (
            "full-time",
            r"full[- _]?time|fulltime|temps plein|temps complet|tiempo completo|jornada completa|vollzeit|"
            r"tempo pieno|tempo integral|periodo integral|"
            r"دوام كامل|полн\w+ занятост\w+|100 ?%",
        ),
    )
)
# What a description says in passing counts only if it cannot be meant otherwise; the stems spare most of the looking.
_SURE: Final = tuple(
    (kind, stems, re.compile(words))
    for kind, stems, words in (
        ("internship", ("internship",), r"\bthis (?:\w+ )?internship\b|\binternship (?:position|is|offers)\b"),
        ("consultancy", ("consultan",), r"\b(?:this|the) consultancy\b|\bthe consultant (?:will|shall)\b"),
        (
            "fixed-term",
            ("term", "cdd", "plazo", "befristet", "contract"),
            r"\bfixed[- ]term\b|\bcdd\b|duree determinee|plazo fijo|(?<!un)befristet|\b\d{1,2}[- ]months? contract",
        ),
        (
            "permanent",
            ("permanent", "open-ended", "cdi", "unbefristet", "indefinid"),
            r"\bpermanent (?:position|contract|role)|\bopen-ended\b|\bcdi\b|\bunbefristet|contrato indefinido",
        ),
        ("part-time", ("part", "teilzeit", "parcial"), r"\bpart[- ]time\b|\bteilzeit|tiempo parcial|temps partiel"),
        (
            "full-time",
            ("full", "vollzeit", "plein", "completo"),
            r"\bfull[- ]time\b|\bvollzeit|temps plein|tiempo completo",
        ),
    )
)
# Titles of those who look after volunteers or contracts, and stages that are no internship.
_PASSING: Final = re.compile(
    # In hospitals a consultant is a senior doctor.
    r"\bconsultant (?:(?:in )?(?:\w+ )?(?:\w+(?:iatrist|ologist|iatrician|tetrician|aesthetist|anesthetist|surgeon)|"
    r"physician|surgeon|midwife|nurse|medicine|radiographer|psychotherapist))\b|"
    r"\b(?:early|late|first|second|next|final)[- ]stage\b|\bstage manager\b|volunteer(?:s)? "
    r"(?:manage\w*|coordinat\w*|engagement|program\w*|officer)|voluntary (?:sector|return|"
    r"repatriation)|non-?voluntary|consultants? manage\w*|(?:intern|fellow)(?:ship)?s? "
    r"(?:coordinator|manager|programme (?:manager|officer))"
)
_FIELD_ONLY: Final = (
    ("fixed-term", re.compile(r"\bcontract\b")),
    ("permanent", re.compile(r"\bregular\b|\bcontinuing\b")),
    ("full-time", re.compile(r"\bstaff\b")),
)


def career_of(employment: str, title: str, description: str) -> str | None:
    """The kind of contract; folded texts. The page's own field first, then the title, then sure words elsewhere."""
    by_field = _kind(employment) or next((kind for kind, words in _FIELD_ONLY if words.search(employment)), None)
    if by_field in (None, "full-time", "part-time", "fixed-term"):
        # A system says FULL_TIME of whatever takes all day; the title knows better.
        by_title = _kind(_PASSING.sub(" ", title))
        if by_title in ("internship", "volunteer", "fellowship", "consultancy") or (by_title and not by_field):
            return by_title
    if by_field:
        return by_field
    for kind, stems, words in _SURE:
        if any(stem in description for stem in stems) and words.search(description):
            return kind
    return None


@lru_cache(maxsize=1024)
def _kind(text: str) -> str | None:
    for kind, words in _CAREERS:
        if words.search(text):
            return kind
    return None
