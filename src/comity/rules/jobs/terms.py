"""Terms of a job: takes words of a posting, returns contract type, modality, seniority, eligibility of foreigners.

Each is None if nothing in the posting says.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from comity.rules.jobs.words import plain

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
_FIELD_LEVELS: Final = {1: "junior", 2: "junior", 3: "junior", 4: "junior", 5: "mid", 6: "senior", 7: "lead"}
_OFFICERS: Final = "ABCDE"
_UNITED_NATIONS: Final = frozenset({"un", "igo", "mdb"})


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
# Stations that lie far away, and things done from afar, are not work from home.
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
        return Grade(_FIELD_LEVELS[int(match["field"])], True)
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
