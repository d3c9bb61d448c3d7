"""Whether somebody from abroad may apply: folded words and the grade enter; True, False, or None if nothing says."""

from __future__ import annotations

import re
from typing import Final

from comity.rules.jobs.grades import Grade

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
_ANYBODY: Final = re.compile(
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
_STEMS_ANYBODY: Final = (
    *("internationa", "internaciona", "expat", "nationali", "nacionali", "visa", "permit", "relocation", "open to"),
)


def is_open_to_foreigners(title: str, description: str, employment: str, grade: Grade | None) -> bool | None:
    """True, False or None; words beat the grade, and words that contradict each other say nothing."""
    text = f"{title} | {employment} | {description}"
    is_other = not text.isascii()
    is_national = (is_other or any(stem in text for stem in _STEMS)) and _NATIONALS.search(text) is not None
    # "We cannot offer visa sponsorship" holds "offer visa sponsorship".
    rest = _NATIONALS.sub(" ", text) if is_national else text
    is_international = (is_other or any(stem in rest for stem in _STEMS_ANYBODY)) and _ANYBODY.search(rest) is not None
    if is_national != is_international:
        return is_international
    if is_national:
        return None
    return grade.is_international if grade else None
