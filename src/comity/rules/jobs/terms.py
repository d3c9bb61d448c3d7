"""On what terms, and from where: words of a posting enter; kind of contract and place of work leave, or None."""

from __future__ import annotations

import re
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
_SURE: Final = re.compile(
    r"(?P<fixed>fixed[- ]term|\bcdd\b|duree determinee|plazo fijo|befristet|\d{1,2}[- ]months? "
    r"contract)|(?P<perm>permanent (?:position|contract|role)|open-ended|\bcdi\b|unbefristet)|"
    r"(?P<part>part[- ]time)|(?P<full>full[- ]time|vollzeit|temps plein|tiempo completo)|"
    r"(?P<cons>consultancy|consultant will)|(?P<intern>internship|this stage\b)"
)
_SURE_KINDS: Final = {
    "fixed": "fixed-term",
    "perm": "permanent",
    "part": "part-time",
    "full": "full-time",
    "cons": "consultancy",
    "intern": "internship",
}
# Titles of those who look after volunteers or contracts, and stages that are no internship.
_PASSING: Final = re.compile(
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
_HYBRID: Final = re.compile(
    r"(?<!\w)(?:hybrid\w*|hibrid\w+|ibrid\w+|partially remote|partly remote|flexible (?:working "
    r")?location|teilweise remote|гибридн\w+|هجين)(?!\w)"
)
_NOT_REMOTE: Final = re.compile(
    r"(?:no|not|non)[- ](?:a )?(?:fully )?remote|remote (?:areas?|locations?|field|communit\w+|"
    r"villages?|regions?|sensing|site|support|management|monitoring|islands?)|not home-?based"
)
_REMOTE: Final = re.compile(
    r"(?<!\w)(?:remote\w*|home[- ]?based|home office|work from home|wfh|tele-?(?:work\w*|commut\w*)|"
    r"teletravail|teletrabajo|a distance|a distancia|"
    r"remoto|remota|da remoto|fernarbeit|homeoffice|домашн\w+|удаленн\w+|удаленно|дистанционн\w+|عن "
    r"بعد|worldwide|anywhere|virtual|远程|在宅)(?!\w)"
)
_FIELD: Final = re.compile(
    r"(?<!\w)(?:field[- ]?based|field (?:position|office|location|site|work)|in the field|non[- "
    r"]family|deep field|sur le terrain|en terreno|en campo|camp[- ]based|hardship)(?!\w)"
)
_ONSITE: Final = re.compile(
    r"(?<!\w)(?:on[- ]?site|onsite|in[- ]?office|in[- ]person|office[- ]based|sur site|presentiel\w*|"
    r"presencial|vor ort|in presenza|in sede|حضوري|очно)(?!\w)"
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
    found = _SURE.search(description)
    return _SURE_KINDS[found.lastgroup] if found and found.lastgroup else None


def _kind(text: str) -> str | None:
    for kind, words in _CAREERS:
        if words.search(text):
            return kind
    return None


def modality_of(workplace: str, location: str, title: str, description: str) -> str | None:
    """Where the work is done; folded texts. The page's own field comes first, the description last."""
    for text in (workplace, location, title, description):
        if not text:
            continue
        if _HYBRID.search(text):
            return "hybrid"
        if _REMOTE.search(_NOT_REMOTE.sub(" ", text)):
            return "remote"
        if _ONSITE.search(text):
            return "onsite"
        if _FIELD.search(text) or (text is workplace and "field" in text):
            return "field"
    return None
