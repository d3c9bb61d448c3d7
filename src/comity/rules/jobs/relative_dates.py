"""Dates told by their distance ("in 5 days", "il y a 3 jours", "tomorrow"): words enter, days from today leave."""

from __future__ import annotations

import re
from typing import Final

_LONGEST_DAYS: Final = 400

_TODAY: Final = "today aujourd'hui hoy heute hoje oggi vandaag сегодня اليوم 今天 本日 bugun dzisiaj idag"
_TOMORROW: Final = "tomorrow demain manana morgen amanha domani завтра غدا 明天 明日 yarin jutro imorgon"
_YESTERDAY: Final = "yesterday hier ayer gestern ontem ieri gisteren вчера امس 昨天 昨日 dun wczoraj"
_WORDS: Final = {word: at for at, words in ((0, _TODAY), (1, _TOMORROW), (-1, _YESTERDAY)) for word in words.split()}
_DAY: Final = r"days?|jours?|dias?|tage?n?|giorn[oi]|dag(?:en)?|дн(?:я|еи|ей)|день|يوم|ايام|天|日|gun"
_WEEK: Final = r"weeks?|semaines?|semanas?|wochen?|settiman[ae]|weken|week|недел[яиью]|اسابيع|اسبوع"
_HOUR: Final = r"hours?|hrs?|heures?|horas?|stunden?|or[ae]|uur|uren|час(?:а|ов)?|ساعات|ساعة|minutes?|mins?|seconds?"
_NUMBER: Final = r"(\d{1,3}|an?|one|une?|uno?a?|eine[mnr]?|um|einem)"
_AHEAD: Final = re.compile(
    rf"\b(?:in|within|dans|en|dentro de|em|tra|fra|over|binnen|через|خلال|بعد)\s+(?:the "
    rf"next\s+)?{_NUMBER}\s*(?:({_DAY})|({_WEEK})|({_HOUR}))"
    rf"|\b(\d{{1,3}})\s*(?:({_DAY})|({_WEEK})|({_HOUR}))\s+(?:left|remaining|to go|restants?|"
    rf"restantes|to apply|verbleiben)"
)
_AGO: Final = re.compile(
    rf"(?:il y a|hace|vor|ha|قبل|منذ)\s+{_NUMBER}\s*(?:({_DAY})|({_WEEK})|({_HOUR}))"
    rf"|{_NUMBER}\s*(?:({_DAY})|({_WEEK})|({_HOUR}))\s*(?:ago|fa|geleden|назад|atras|前)"
)
_JUST: Final = re.compile(r"\bjust (?:now|posted)\b|\bnew today\b")


def days_from_today(text: str, *, looks_back: bool) -> int | None:
    """Days between today and the day a folded text tells; None if it tells none.

    "3 weeks ago" and "in 2 weeks" say another day each day they are read, so they say none: a posting must not change
    by itself.
    """
    if _JUST.search(text):
        return 0
    for word in re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text):
        if word in _WORDS:
            return _WORDS[word]
    found = _AGO.search(text)
    if found:
        return _days(found, sign=-1)
    found = _AHEAD.search(text)
    return _days(found, sign=1) if found and not looks_back else None


def _days(found: re.Match[str], *, sign: int) -> int | None:
    at = 1 if found[1] else 5
    count = int(found[at]) if found[at].isdigit() else 1
    days, weeks = found[at + 1], found[at + 2]
    if weeks:
        return None
    total = count if days else count // 24
    return sign * total if total <= _LONGEST_DAYS else None
