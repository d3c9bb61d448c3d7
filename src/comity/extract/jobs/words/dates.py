"""Dates and deadlines in running text: takes text, returns the words of a date as the page has them.

What they mean is decided in `rules.jobs.dates`; here it only matters where a date starts and ends, in any script.
"""

from __future__ import annotations

import re
from typing import Final

from comity.extract.jobs.words.patterns import alternatives
from comity.extract.jobs.words.tables.advertisements import UNTIL

# Letters with their marks: `\w` ends at the vowel signs of Hindi, Thai, Burmese …
_NAME: Final = r"[^\s\d\x00-@\[-`{-\xa9\u060c\u061b\u0964\u2010-\u2027\u3000-\u303f\uff00-\uff20年月日년월일]{2,14}"
_NUMBER: Final = r"\d{1,2}(?:st|nd|rd|th|er|ste|de|º|ª|°|\.|ième)?"
_WEEKDAY: Final = r"(?:(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?,?\s+)?(?:(?:le|el|den|il|em|o|the|dem)\s+)?"
_DATE: Final = (
    _WEEKDAY + r"(?:"
    # 2026-11-30, 30.11.2026, 30 / 11 / 2026, 2026. 11. 30., 2026年11月30日, 11月30日, 2026년 11월 30일
    r"\d{1,4}\s?[./-]\s?\d{1,2}\s?[./-]\s?\d{1,4}"
    r"|\d{2,4}\s?[年년]\s*\d{1,2}\s?[月월]\s*\d{1,2}\s?[日일]|\d{1,2}\s?[月월]\s*\d{1,2}\s?[日일]"
    # 2026. november 30., 2026 m. lapkričio 30 d., 2026 жылғы 30 қараша, 2026 წლის 30 ნოემბერი
    rf"|(?:19|20|14|25|[۱၂២๒২])\d{{2,3}}\.?(?:\s*(?:m|g|թ|оны|жылғы|წლის|წ|ခုနှစ်|gada)\.?,?)?\s+"
    rf"(?:{_NAME}\.?\s+\d{{1,2}}(?!\d)(?:\.(?!\w)|\s?d\.|-ig)?|\d{{1,2}}\.?\s+{_NAME})"
    # 30 tháng 11 năm 2026, 30 tháng 11, 2026
    r"|\d{1,2}\s+tháng\s+\d{1,2}(?:,?\s+(?:năm\s+)?\d{4})?"
    # ថ្ងៃទី៣០ ខែវិច្ឆិកា ឆ្នាំ២០២៦
    rf"|\d{{1,2}}\s+ខែ\s?{_NAME}\s+ឆ្នាំ\s?\d{{4}}"
    # 30 พ.ย. 2569
    r"|\d{1,2}\s+[\u0e00-\u0e7f]{1,3}\.[\u0e00-\u0e7f]{1,3}\.\s*(?:พ\.ศ\.\s*)?\d{2,4}"
    # 30 November 2026, 30-Nov-26, 30 de noviembre de 2026, 30 تشرين الثاني 2026, 30 พฤศจิกายน พ.ศ. 2569
    rf"|{_NUMBER}(?:\s+(?:de|of|di|d['’])|\s*[./-])?\s*{_NAME}\.?,?(?:\s+(?:de|del|พ\.ศ\.|năm)|\s*[./-])?\s*(?:\d{{4}}|\d{{2}})(?![\d:])"
    rf"|{_NUMBER}\s+{_NAME}[\s/]+{_NAME}\s+\d{{4}}(?!\d)"
    rf"|{_NUMBER}\s+[^\W\d_]{{3,12}}"
    # November 30, 2026
    rf"|{_NAME}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}(?!\d))"
)
DATE: Final = re.compile(_DATE, re.IGNORECASE)
_DEADLINE_PHRASE: Final = re.compile(
    r"(?:deadline|closing date|clos(?:es|ing)(?: on)?|appl(?:y|ications?)(?: is| are)? (?:by|before|until|close|due)|"
    r"(?:accepted|open|due|no later than) (?:until|by)|no later than|until|expires?(?: on)?|closing for applications?|"
    r"jusqu['’]au|avant le|au plus tard le|date limite|hasta|antes del|fecha límite|cierre|bis(?: zum)?|"
    r"bewerbungsfrist|"
    r"até|prazo|entro(?: il)?|scade(?:nza)?|tot(?: en met)?|vóór|"
    r"(?:reageren|solliciteren|reageer|solliciteer) voor|sluitingsdatum|uiterlijk|до|срок подачи|"
    r"آخر موعد(?: للتقديم)?|قبل|截止(?:日期|时间)?|締切日?|応募締切|" + alternatives(UNTIL) + r")"
    r"\s*(?:[:：–-]|is|est|ist|el|le|il|on|ngày|วันที่)?\s*(" + _DATE + r")",
    re.IGNORECASE,
)
_BACKWARD_WORDS: Final = (
    "まで", "必着", "截止", "前", "까지", "마감", "mennessä", "kadar", "-ig", "तक", "تک", "дейін", "чейин",
    "পর্যন্ত", "এর মধ্যে", "အထိ", "வரை", "දක්වා", "arte", "मध्ये", "-მდე", "gacha", "qədər",
)  # fmt: skip
_BACKWARD_DATE: Final = re.compile(
    r"("
    + _DATE
    + r")\s*(?:\([^()]{1,3}\)\s*)?(?:\d{1,2}:\d{2}\s*)?(?:tarihine |günü |のもの)?(?:"
    + "|".join(_BACKWARD_WORDS).replace("前", "前(?!后)")
    + ")",
    re.IGNORECASE,
)
_LEADING_UP: Final = re.compile(
    r"[,;–-]?\s*(?:bewerbung(?:en)?|applications?|candidatures?|postulaciones|inscrições)\s*$", re.IGNORECASE
)
_UNTIL_FILLED: Final = re.compile(r"\b(?:open )?until (?:the position is )?filled\b", re.IGNORECASE)
_OPEN_ENDED: Final = re.compile(
    r"(?:open )?until (?:filled|further notice)|rolling(?: basis)?|ongoing|as soon as possible|continuous|open",
    re.IGNORECASE,
)


def before_deadline(value: str) -> str:
    """A value without a deadline that follows in the same line: "Freiburg, Bewerbung bis 31.5."."""
    found = _DEADLINE_PHRASE.search(value)
    if found is None:
        return value
    return _LEADING_UP.sub("", value[: found.start()]).strip(" ,;–-(")


def deadline_in(text: str) -> str:
    """The date that a sentence names as the last one."""
    text = text[:1000]
    if not any(map(str.isdecimal, text)):
        is_open = _UNTIL_FILLED.search(text)
        return is_open[0] if is_open else ""
    found = _DEADLINE_PHRASE.search(text)
    if found is None and any(map(text.lower().__contains__, _BACKWARD_WORDS)):
        found = _BACKWARD_DATE.search(text)
    return found[1].strip() if found else ""


def is_open_ended(text: str) -> bool:
    """Whether a deadline says that there is none."""
    return _OPEN_ENDED.match(text.strip()) is not None
