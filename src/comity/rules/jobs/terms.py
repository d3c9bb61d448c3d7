"""Terms of a job: takes words of a posting, returns contract type, work modality and eligibility of foreigners.

Each is None if nothing in the posting says.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from comity.rules.jobs.level import Grade

_NATIONALS: Final = re.compile(
    r"(?<!\w)(?:nationals? only|only nationals|open (?:only )?to (?:\w+ ){0,3}nationals\b|nationals of (?:\w+ "
    r"){1,4}only|national (?:position|post|staff|officer|consultant|"
    r"individual consultant|recruitment|contract|unv|un volunteer|specialist)\b|local (?:position|"
    r"recruit\w*|hire|contract|staff|candidates? only)|locally recruited|"
    r"(?:citizens?|residents?) only|must be (?:a |an )?(?:\w+ ){0,2}(?:citizen|national)|for (?:\w+ "
    r")?nationals\b|no (?:visa )?sponsorship|"
    r"(?:not|unable to|cannot|can not|do not|does not|won't|will not) (?:be able to )?(?:offer|"
    r"provide|sponsor)\w* (?:\w+ ){0,2}(?:visas?|sponsorship|work permits?)|"
    r"visa sponsorship (?:is )?not|(?:must|should) (?:already )?(?:have|hold|possess) (?:the |a |an "
    r")?(?:\w+ )?(?:right|legal right|authori[sz]ation|permission|permit) to work|"
    r"right to work in|authori[sz]ed to work in|legally (?:authori[sz]ed|entitled) to work|"
    r"recrutement local|poste national|personnel national|de nationalite|nationaux uniquement|"
    r"contratacion local|personal nacional|puesto nacional|"
    r"solo nacionales|contratto locale|pessoal nacional|vaga nacional|مواطني|وظيفة وطنية|للمواطنين|местн\w+ персонал)"
)
_OPEN_TO_ALL: Final = re.compile(
    r"(?<!\w)(?:international (?:position|post|staff|consultant|recruitment|contract|unv|un volunteer|"
    r"individual consultant|candidates?)\b|internationally recruited|expat(?:riate)?s?\b|"
    r"all nationalities|any nationality|regardless of nationality|open to (?:international|all) "
    r"(?:candidates|applicants)|"
    r"visa sponsorship (?:is )?(?:available|provided|offered|possible)|(?:offer|provide|will sponsor|"
    r"can sponsor)s? (?:\w+ ){0,2}(?:visa|work permit)|relocation (?:package|support|assistance)|"
    r"poste international|personnel expatrie|recrutement international|personal internacional|puesto "
    r"internacional|contrato internacional|"
    r"toutes les nationalites|todas las nacionalidades|جميع الجنسيات|международн\w+ персонал)"
)

# Looking for these first costs a tenth of the patterns above.
_STEMS: Final = ("national", "nacional", "nationaux", "local", "citizen", "resident", "sponsor", "right to", "work in")
_STEMS_OPEN_TO_ALL: Final = (
    *("internationa", "internaciona", "expat", "nationali", "nacionali", "visa", "permit", "relocation", "open to"),
)


def is_open_to_foreigners(title: str, description: str, employment: str, grade: Grade | None) -> bool | None:
    """True, False or None; words beat the grade, and words that contradict each other say nothing."""
    text = f"{title} | {employment} | {description}"
    is_other = not text.isascii()
    is_national = (is_other or any(stem in text for stem in _STEMS)) and _NATIONALS.search(text) is not None
    # "We cannot offer visa sponsorship" holds "offer visa sponsorship".
    rest = _NATIONALS.sub(" ", text) if is_national else text
    is_international = (is_other or any(stem in rest for stem in _STEMS_OPEN_TO_ALL)) and _OPEN_TO_ALL.search(
        rest
    ) is not None
    if is_national != is_international:
        return is_international
    if is_national:
        return None
    return grade.is_international if grade else None


_HYBRID: Final = (
    r"hybrid\w*|hibrid\w+|ibrid[oa]|partially remote|partly remote|flexible (?:working )?location|teilweise remote|"
    r"гибридн\w+|هجين"
)
_REMOTE: Final = (
    r"remote\w*|home[- ]?based|home office|work from home|wfh|tele-?(?:work\w*|commut\w*)|teletravail|teletrabajo|"
    r"a distance|a distancia|remot[oa]|fernarbeit|homeoffice|удаленн\w+|дистанционн\w+|عن بعد|worldwide|anywhere|"
    r"virtual|远程|在宅"
)
_ONSITE: Final = (
    r"on[- ]?site|in[- ]?office|in[- ]person|office[- ]based|sur site|presentiel\w*|presencial|vor ort|in presenza|"
    r"in sede|حضوري|очно"
)
_FIELD: Final = (
    r"field[- ]?based|field (?:position|office|location|site|work)|in the field(?! of)|non[- ]family|deep field|"
    r"sur le terrain|en terreno|en campo|camp[- ]based|hardship"
)
# Stations that lie far away, and things done from afar, are no work from home.
_NOT_REMOTE: Final = re.compile(
    r"(?:no|not|non)[- ](?:a )?(?:fully )?remote|remote (?:areas?|locations?|field|communit\w+|"
    r"villages?|regions?|sensing|"
    r"sites?|support|management|monitoring|islands?)|not home-?based"
)
_SHORT: Final = tuple(
    (modality, re.compile(rf"(?<!\w)(?:{words})(?!\w)"))
    for modality, words in (("hybrid", _HYBRID), ("remote", _REMOTE), ("onsite", _ONSITE), ("field", _FIELD))
)
# Every ASCII alternative above holds one of these; looking for them is cheaper.
_SHORT_STEMS: Final = (
    *("brid", "remot", "home", "wfh", "tele", "distan", "fern", "where", "wide", "virtual", "site", "offic", "person"),
    *("presen", "ort", "sede", "field", "flexible", "family", "terr", "camp", "hardship"),
)
# A description speaks of hybrid seeds, remote villages and the field of health: there only phrases count.
_LONG: Final = (
    ("hybrid", ("hybrid",), re.compile(r"\bhybrid (?:work\w*|position|role|model|schedule|arrangement|mode)\b")),
    (
        "remote",
        ("remote", "home", "telework", "teletra", "distanc"),
        re.compile(
            r"\b(?:fully|100 ?%|entirely|completely) remote\b|\bremote (?:position|role|job|work|working|contract)\b|"
            r"\bhome-?based\b|\bwork(?:ing)? (?:from home|remotely)\b|\bteleworking\b|\bteletravail\b|\bteletrabajo\b"
        ),
    ),
    (
        "onsite",
        ("site", "office-based"),
        re.compile(r"\b(?:fully |100 ?% )on-?site\b|\bon-?site (?:position|role)\b|\boffice-based\b"),
    ),
    ("field", ("field", "family"), re.compile(r"\bfield-based\b|\bnon-family duty|\bdeep field\b")),
)


def modality_of(workplace: str, location: str, title: str, description: str) -> str | None:
    """Where the work is done, from folded texts; the page's own field comes first, the description last."""
    if workplace and "field" in workplace:
        return "field"
    for text in (workplace, location, title):
        if text and (not text.isascii() or any(stem in text for stem in _SHORT_STEMS)):
            bare = _NOT_REMOTE.sub(" ", text)
            for modality, words in _SHORT:
                if words.search(bare):
                    return modality
    for modality, stems, words in _LONG:
        if any(stem in description for stem in stems) and words.search(description):
            return modality
    return None


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
