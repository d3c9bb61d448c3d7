"""Deadlines and posting dates: takes the page's words, returns a time in UTC, or None if they name no certain day.

A deadline without an hour is the last second of its day where the job is; a posting date is the first. Of several
dates, the last is the deadline and the first is the posting date. A time zone counts as the posting writes it.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from comity.rules.jobs.cities import cities_called
from comity.rules.jobs.months import day_of, month_called
from comity.rules.jobs.place import locate
from comity.rules.jobs.words import key, plain

# Relative dates: "in 5 days", "il y a 3 jours", "tomorrow".

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
_OFFSET: Final = re.compile(
    r"\b(?:utc|gmt)\s*([+\-−])\s*(\d{1,2})(?::?(\d{2}))?\b|(?:(?<=:\d\d)|(?<=\.\d{3}))\s*([+-])(\d{2}):?(\d{2})\b",
    re.IGNORECASE,
)
_IANA: Final = re.compile(
    r"\b(?:Africa|America|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?"
)
_ABBREVIATION: Final = re.compile(r"\b[A-Z]{2,5}\b")
# Most dates name no zone; one look tells.
_HINT: Final = re.compile(r"[A-Z]{2}|[+(/]|\d\s*-\d\d:|\d[Zz]|[Tt]ime|TIME|heure|[Hh]ora|\bora\b|[Zz]eit|tijd|utc|gmt")
_ZULU: Final = re.compile(r"\d(?:Z|z)\b")
# Summer and winter letters are used all year: "23:59 CET" in July means the clock on the wall, so both name a place.
_ZONES_BY_LETTERS: Final = {
    **dict.fromkeys(("UTC", "GMT", "UCT"), "UTC"),
    **dict.fromkeys(("CET", "CEST", "MEZ", "MESZ", "HNEC"), "Europe/Brussels"),
    **dict.fromkeys(("EET", "EEST"), "Europe/Helsinki"),
    **dict.fromkeys(("WET", "WEST"), "Europe/Lisbon"),
    **dict.fromkeys(("MSK",), "Europe/Moscow"),
    **dict.fromkeys(("TRT",), "Europe/Istanbul"),
    **dict.fromkeys(("EST", "EDT", "ET"), "America/New_York"),
    **dict.fromkeys(("CDT", "CT"), "America/Chicago"),
    **dict.fromkeys(("MDT", "MT"), "America/Denver"),
    **dict.fromkeys(("PST", "PDT", "PT"), "America/Los_Angeles"),
    **dict.fromkeys(("EAT",), "Africa/Nairobi"),
    **dict.fromkeys(("CAT",), "Africa/Maputo"),
    **dict.fromkeys(("WAT",), "Africa/Lagos"),
    **dict.fromkeys(("SAST",), "Africa/Johannesburg"),
    **dict.fromkeys(("PKT",), "Asia/Karachi"),
    **dict.fromkeys(("NPT",), "Asia/Kathmandu"),
    **dict.fromkeys(("AFT",), "Asia/Kabul"),
    **dict.fromkeys(("ICT",), "Asia/Bangkok"),
    **dict.fromkeys(("WIB",), "Asia/Jakarta"),
    **dict.fromkeys(("SGT",), "Asia/Singapore"),
    **dict.fromkeys(("HKT",), "Asia/Hong_Kong"),
    **dict.fromkeys(("PHT",), "Asia/Manila"),
    **dict.fromkeys(("JST",), "Asia/Tokyo"),
    **dict.fromkeys(("KST",), "Asia/Seoul"),
    **dict.fromkeys(("AEST", "AEDT"), "Australia/Sydney"),
    **dict.fromkeys(("AWST",), "Australia/Perth"),
    **dict.fromkeys(("NZST", "NZDT"), "Pacific/Auckland"),
    **dict.fromkeys(("BRT",), "America/Sao_Paulo"),
    **dict.fromkeys(("COT",), "America/Bogota"),
    **dict.fromkeys(("PET",), "America/Lima"),
}
# Letters that mean different times in different countries; elsewhere they say nothing, save a first choice under "".
_SHARED_LETTERS: Final = {
    "IST": {
        "IN": "Asia/Kolkata",
        "IL": "Asia/Jerusalem",
        "PS": "Asia/Jerusalem",
        "IE": "Europe/Dublin",
        "LK": "Asia/Colombo",
    },
    "BST": {"BD": "Asia/Dhaka", "": "Europe/London"},
    "CST": {
        "CN": "Asia/Shanghai",
        "TW": "Asia/Taipei",
        "CU": "America/Havana",
        "CR": "America/Costa_Rica",
        "": "America/Chicago",
    },
    "GST": {"": "Asia/Dubai"},
    "MST": {"MY": "Asia/Kuala_Lumpur", "MM": "Asia/Yangon", "": "America/Denver"},
    "AST": {
        **dict.fromkeys(("SA", "IQ", "KW", "QA", "BH", "YE"), "Asia/Riyadh"),
        **dict.fromkeys(("CA", "PR", "BB", "TT"), "America/Halifax"),
    },
}
_NAMED: Final = (
    ("central european", "Europe/Brussels"),
    ("eastern european", "Europe/Helsinki"),
    ("east africa", "Africa/Nairobi"),
    ("central africa", "Africa/Maputo"),
    ("west africa", "Africa/Lagos"),
    ("south africa", "Africa/Johannesburg"),
    ("eastern time", "America/New_York"),
    ("eastern standard", "America/New_York"),
    ("eastern daylight", "America/New_York"),
    ("us eastern", "America/New_York"),
    ("pacific time", "America/Los_Angeles"),
    ("greenwich", "UTC"),
    ("universal time", "UTC"),
    ("indian standard", "Asia/Kolkata"),
)
_PLACE: Final = re.compile(
    r"\b([A-Z][\w.'’-]+(?: [A-Z][\w.'’-]+){0,2})(?:'s)? (?:local )?(?:time|Time|TIME|Ortszeit|Zeit)\b"
    r"|\b(?:heure|hora|ora|tijd|horario|horário|time in|heures)\s+(?:locale |local )?(?:de |di |d'|van |in |du |à )?"
    r"([A-Z][\w.'’-]+(?: [A-Z][\w.'’-]+)?)"
)
_BRACKETS: Final = re.compile(r"\(([^()]{3,40})\)")


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
        return _counted_days(found, sign=-1)
    found = _AHEAD.search(text)
    return _counted_days(found, sign=1) if found and not looks_back else None


def _counted_days(found: re.Match[str], *, sign: int) -> int | None:
    at = 1 if found[1] else 5
    count = int(found[at]) if found[at].isdigit() else 1
    days, weeks = found[at + 1], found[at + 2]
    if weeks:
        return None
    total = count if days else count // 24
    return sign * total if total <= _LONGEST_DAYS else None


_LONGEST: Final = 200
_LONGEST_GUESS: Final = 40  # what the slow parser may see
_FURTHEST: Final = timedelta(days=3 * 366)
# "15 November" on the 16th was yesterday: as the same day of the next year, it would look open for a year.
_LISTED_AFTER_DAYS: Final = 60
_END_OF_DAY: Final = time(23, 59, 59)
# Day and month change places there; everywhere else the day is first, unless that cannot be.
_MONTH_FIRST: Final = frozenset({"US", "PH", "FM", "PW", "MH", "PR", "GU", "VI", "AS", "MP"})
# What the slow parser may take a text for, by its letters: each language that it tries costs milliseconds.
_GUESSED_LANGUAGES: Final = (
    (re.compile("[\u0370-\u03ff]"), ["el"]),
    (re.compile("[\u0590-\u05ff]"), ["he"]),
    (re.compile("[\u0900-\u097f]"), ["hi"]),
    (re.compile("[\u0980-\u09ff]"), ["bn"]),
    (re.compile("[\u0e00-\u0e7f]"), ["th"]),
    (re.compile("[\u10a0-\u10ff]"), ["ka"]),
    (re.compile("[\u0530-\u058f]"), ["hy"]),
    (re.compile("[\u0600-\u06ff]"), ["fa", "ar"]),
    (re.compile("[\u0400-\u04ff]"), ["bg", "sr", "uk"]),
    (re.compile("[a-zA-Z]"), ["vi", "fi", "hu"]),
)
# A day, a year not far away and a word: less is no date that it could tell us for certain.
_GUESSABLE: Final = re.compile(r"(?=.*(?<!\d)\d{1,2}(?!\d))(?=.*(?<!\d)20\d\d(?!\d)).*[^\W\d_].*[^\W\d_]", re.DOTALL)
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_ISO_BASIC: Final = re.compile(r"\d{8}T\d{4}(?:\d\d)?(?:Z|[+-]\d{4})?")
_EPOCH: Final = re.compile(r"(?:/Date\()?(1\d{9})(?:\d{3})?(?:(?:[+-]\d{4})?\)/)?")  # also as .NET writes it
_COMPACT: Final = re.compile(r"(20\d\d)(0[1-9]|1[0-2])([0-3]\d)")
_NUMERIC: Final = re.compile(
    # 2026-12-31, 2026/12/31, 2026年12月31日
    r"(?<!\d)(?P<y1>\d{4})\s?[-/.年년]\s?(?P<m1>\d{1,2})\s?[-/.月월]\s?(?P<d1>\d{1,2})(?!\d)"
    # 31/12/2026, 12-31-26, 31.12.2026
    r"|(?<![\d.:])(?P<a2>\d{1,2})\s?(?P<sep>[./-])\s?(?P<b2>\d{1,2})\s?(?P=sep)\s?(?P<y2>\d{4}|\d{2})(?![\d:])"
    # 12月31日, and 31.12. as Germans write it
    r"|(?<!\d)(?P<m3>\d{1,2})\s?[月월]\s?(?P<d3>\d{1,2})\s?[日일]"
    r"|(?<![\d.:])(?P<d4>\d{1,2})\.\s?(?P<m4>\d{1,2})\.(?!\s?\d)"
)
# Letters with their marks: `\w` ends at the vowel signs of Hindi, Thai, Burmese …
_LETTERS: Final = re.compile(
    r"[^\s\d\x00-@\[-`{-\xa9\u060c\u061b\u0964\u2010-\u2027\u3000-\u303f]{2,}(?: (?:الثاني|الاول|fomhair))?"
)
_THAI_DOT: Final = re.compile(r"(?<=[\u0e00-\u0e7f])\.(?=[\u0e00-\u0e7f])")
_VIETNAMESE: Final = re.compile(r"(\d{1,2}) thang (\d{1,2})(?:,? (?:nam )?(\d{4}))?")
_ORDINAL: Final = r"(?:st|nd|rd|th|er|eme|[oa°.])?"
# 31 [December], 1er [mars], 31 de [diciembre], 31-[Dec], 2026 [December]
_OF_THE_YEAR: Final = r"(?:\.|\s*(?:m|g|gada|оны|жылғы|жылгы|წლის|წ|թ|ခုနှစ်|ko)\b\.?,?|\s*ခုနှစ်၊?)"
_BEFORE_MONTH: Final = re.compile(
    rf"(?:(?<!\d)(?P<early>\d{{4}}){_OF_THE_YEAR}?\s+)?"
    rf"(?<![\d:])(?:(?P<day>\d{{1,2}}){_ORDINAL}|(?P<year>\d{{4}}){_OF_THE_YEAR}?)"
    r"(?:\s*-\s*|/|\s+|)(?:(?:of|de|d'|the|di|من)\s*)?$"
)
# A year of two digits (RFC 822 §5) stands before the hour or ends the date; other numbers there are something else.
_YEAR_AFTER: Final = re.compile(
    r"(?:\.?/[^\W\d_]+)?[\s.,/-]*(?:(?:de|del|do|of|عام|سنة|nam|พ\.?ศ\.?|ค\.?ศ\.?|ឆ្នាំ)\s*)?"
    r"(\d{4}(?!\d)|'\d{2}(?!\d)|(?<=[-/])\d{2}(?![\d:])"
    r"|(?<=\s)\d{2}(?=\s*$|\s+\d{1,2}:\d{2}|\s*[,;()]|\s+-\s))"
)
# [December] 31, 2026; [December] 1-31, 2026
_AFTER_MONTH: Final = re.compile(
    rf"\.?,?\s*(?:the )?(\d{{1,2}}){_ORDINAL}(?![\d:])(?:\s*(?:-|to|and|"
    rf"&)\s*(\d{{1,2}}){_ORDINAL}(?![\d:]))?"
    r"(?:[\s,]+(?:ቀን\s+)?(\d{4}(?!\d)|\d\d(?=\s+\d{1,2}:\d\d)))?"
)
_LONGEST_BEFORE_MONTH: Final = 26
_TIMES: Final = re.compile(
    r"(?<![\d+\-:.])(\d{1,2})(?:[:.h]|h\s|點|点|时|時)(\d{2})(?::\d\d)?(?![\d])\s*(?:hrs?|h\b|uhr)?\s*([ap])?\.?m?\b"
    r"|(?<![\d+\-:.])(\d{1,2})\s*(?:([ap])\.?\s?m\b|h\b|uhr\b|heures?\b|horas?\b|hrs\b)|\b(noon|"
    r"midday|mittag|midi|mediodia)\b"
)
_OPEN: Final = re.compile(
    r"\b(?:until filled|till filled|open[- ]ended|ongoing|on-going|rolling|continuous(?:ly)?|no "
    r"deadline|not specified|n/?a|asap|"
    r"as soon as possible|des que possible|jusqu'a pourvoi|hasta cubrir|bis zur besetzung|ate "
    r"preenchimento|permanent(?:e|ly)?)\b"
)
_REVIEWED: Final = re.compile(r"\b(?:review|reviewed|priority|screening|first consideration|examen|revision)\b")


class _Found(NamedTuple):
    day: date
    has_year: bool


def deadline_of(
    text: str, *, now: datetime, zone: tzinfo | None, country: str | None, order_country: str | None, language: str = ""
) -> datetime | None:
    """The last moment to apply, in UTC; zone and country are the job's, `order_country` says how dates are written."""
    return _moment(text, now, zone, country, order_country, language, looks_back=False)


def posted_of(
    text: str, *, now: datetime, zone: tzinfo | None, country: str | None, order_country: str | None, language: str = ""
) -> datetime | None:
    """When a job was posted, in UTC; a day that is still to come is no such date."""
    found = _moment(text, now, zone, country, order_country, language, looks_back=True)
    return found if found is not None and found <= now + timedelta(days=2) else None


def _moment(
    text: str,
    now: datetime,
    zone: tzinfo | None,
    country: str | None,
    order_country: str | None,
    language: str,
    *,
    looks_back: bool,
) -> datetime | None:
    text = text[:_LONGEST].strip()
    if not text:
        return None
    exact = _exact(text, zone, looks_back)
    if exact is None:
        folded = _THAI_DOT.sub("", plain(text))
        named = _zone_in(text, country)
        here = named or zone or UTC
        today = now.astimezone(here).date()
        found, rest = _days(folded, today, order_country, language, looks_back)
        if (not found or _REVIEWED.search(folded)) and _OPEN.search(folded):
            return None
        day = _chosen(found, looks_back)
        if day is None:
            distance = days_from_today(folded, looks_back=looks_back)
            day = today + timedelta(days=distance) if distance is not None else _guess(text, today)
        if day is None:
            return None
        exact = _at(day, _hour(rest), here, looks_back)
    if exact is None or abs(exact - now) > _FURTHEST:
        return None
    return exact.replace(microsecond=0)


def _exact(text: str, zone: tzinfo | None, looks_back: bool) -> datetime | None:
    """What machines write: ISO 8601 and seconds since 1970."""
    if _ISO.fullmatch(text) or _ISO_BASIC.fullmatch(text):
        try:
            read = datetime.fromisoformat(text)
        except ValueError:
            return None
        if read.tzinfo is not None:
            return _utc(read)
        # Midnight without a zone is how systems print a bare day.
        hour = None if read.time() == time(0) else read.time()
        return _at(read.date(), hour, zone or UTC, looks_back)
    if epoch := _EPOCH.fullmatch(text):
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(epoch[1]))
    compact = _COMPACT.fullmatch(text)
    if compact:
        day = day_of(int(compact[1]), int(compact[2]), int(compact[3]))
        return _at(day, None, zone or UTC, looks_back) if day else None
    return None


def _days(
    folded: str, today: date, order_country: str | None, language: str, looks_back: bool
) -> tuple[list[_Found], str]:
    """All days that a folded text names, and the text without them."""
    found: list[_Found] = []
    rest = folded
    for match in _NUMERIC.finditer(folded):
        read = _numeric(match, today, order_country, looks_back)
        if read is not None:
            found.append(read)
            rest = _blanked(rest, match.start(), match.end())
    if spoken := _VIETNAMESE.search(rest):
        read = (
            _found(day_of(int(spoken[3]), int(spoken[2]), int(spoken[1])))
            if spoken[3]
            else _without_year(int(spoken[2]), int(spoken[1]), today, looks_back)
        )
        if read is not None:
            found.append(read)
            rest = _blanked(rest, spoken.start(), spoken.end())
    for word in _LETTERS.finditer(rest):
        month = month_called(word[0], language)
        if month is None:
            continue
        start, end, year, day = _around(rest, word)
        read = None
        if day and year:
            read = _found(day_of(year, month, day))
        elif day:
            read = _without_year(month, day, today, looks_back)
        if read is not None:
            found.append(read)
            rest = _blanked(rest, start, end)
    return found, rest


def _around(text: str, month: re.Match[str]) -> tuple[int, int, int | None, int | None]:
    """Where a date with a month in letters begins and ends, its year and its day."""
    first = max(0, month.start() - _LONGEST_BEFORE_MONTH)
    before = _BEFORE_MONTH.search(text[first : month.start()])
    if before and before["day"]:
        year = _YEAR_AFTER.match(text, month.end())
        end = year.end() if year else month.end()
        said = _year(year[1]) if year else int(before["early"]) if before["early"] else None
        return first + before.start(), end, said, int(before["day"])
    after = _AFTER_MONTH.match(text, month.end())
    if not after:
        return month.start(), month.end(), None, None
    year_text = after[3] or (before["year"] if before else None)
    return month.start(), after.end(), _year(year_text) if year_text else None, int(after[2] or after[1])


def _blanked(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


def _numeric(match: re.Match[str], today: date, order_country: str | None, looks_back: bool) -> _Found | None:
    if match["y1"]:
        return _found(day_of(int(match["y1"]), int(match["m1"]), int(match["d1"])))
    if match["y2"]:
        first, second, year = int(match["a2"]), int(match["b2"]), _year(match["y2"])
        is_month_first = order_country in _MONTH_FIRST and match["sep"] != "."
        if (is_month_first and first <= 12) or second > 12:
            first, second = second, first
        return _found(day_of(year, second, first))
    return _without_year(int(match["m3"] or match["m4"]), int(match["d3"] or match["d4"]), today, looks_back)


def _without_year(month: int, day: int, today: date, looks_back: bool) -> _Found | None:
    """The next such day, or the last one for a date in the past; a job is often listed after its last day, too."""
    earliest = today - timedelta(days=_LISTED_AFTER_DAYS)
    for year in (today.year - 1, today.year, today.year + 1):
        read = day_of(year, month, day)
        if read and (today - timedelta(days=366) < read <= today if looks_back else read >= earliest):
            return _Found(read, has_year=False)
    return None


def _chosen(found: list[_Found], looks_back: bool) -> date | None:
    """Of several days the last, or the first for dates in the past; those with a year first ("1 Nov - 5 Dec 2026")."""
    days = [entry.day for entry in found if entry.has_year] or [entry.day for entry in found]
    if not days:
        return None
    return min(days) if looks_back else max(days)


def _hour(rest: str) -> time | None:
    """The hour that stands beside a date; midnight means the end of that day."""
    match = _TIMES.search(rest)
    if not match:
        return None
    if match[6]:
        return time(12)
    hour, minute = int(match[1] or match[4]), int(match[2] or 0)
    half = match[3] or match[5]
    if half == "p" and hour < 12:
        hour += 12
    elif half == "a" and hour == 12:
        hour = 0
    if hour > 23 or minute > 59 or (hour == 0 and minute == 0):
        return None
    return time(hour, minute)


def _at(day: date, hour: time | None, zone: tzinfo, looks_back: bool) -> datetime | None:
    return _utc(datetime.combine(day, hour or (time(0) if looks_back else _END_OF_DAY), zone))


def _utc(moment: datetime) -> datetime | None:
    try:
        return moment.astimezone(UTC)
    except (OverflowError, ValueError):  # year 1 and year 9999 lie at the edge of what a datetime holds
        return None


def _year(text: str) -> int:
    digits = text.lstrip("'")
    return int(digits) if len(digits) == 4 else 2000 + int(digits)


def _found(day: date | None) -> _Found | None:
    return _Found(day, has_year=True) if day else None


@lru_cache(maxsize=2048)
def _guess(text: str, today: date) -> date | None:
    """The last resort: dateparser, slow to load and to run, only for short texts that may hold a whole date."""
    if len(text) > _LONGEST_GUESS or not _GUESSABLE.search(text):
        return None
    languages = next((names for letters, names in _GUESSED_LANGUAGES if letters.search(text)), None)
    if languages is None:
        return None
    import dateparser

    try:
        found = dateparser.parse(
            text,
            languages=languages,
            settings={
                "RELATIVE_BASE": datetime.combine(today, time(12)),
                "PREFER_DATES_FROM": "future",
                "DATE_ORDER": "DMY",
                "STRICT_PARSING": True,
                "PARSERS": ["absolute-time"],
                "RETURN_AS_TIMEZONE_AWARE": False,
            },
        )
    except Exception:
        return None
    return found.date() if found else None


@lru_cache(maxsize=1024)
def zone_named(name: str | None) -> tzinfo | None:
    """The zone of that name; None if the machine has no such zone."""
    if not name:
        return None
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        return None


@lru_cache(maxsize=1024)
def _zone_in(text: str, country: str | None) -> tzinfo | None:
    """The zone that a short text names by offset, letters, city or in words; `country` decides shared letters."""
    if not _HINT.search(text):
        return None
    if _ZULU.search(text):
        return UTC
    offset = _OFFSET.search(text)
    if offset:
        sign, hours, minutes = (offset[1], offset[2], offset[3]) if offset[1] else (offset[4], offset[5], offset[6])
        shift = timedelta(hours=int(hours), minutes=int(minutes or 0))
        if shift <= timedelta(hours=14):
            return timezone(shift if sign == "+" else -shift)
    place = _IANA.search(text)
    if place and (named := zone_named(place[0])):
        return named
    for match in _ABBREVIATION.finditer(text):
        letters = match[0]
        shared = _SHARED_LETTERS.get(letters, {})
        name = _ZONES_BY_LETTERS.get(letters) or shared.get(country or "") or shared.get("")
        if name:
            return zone_named(name)
    lowered = text.lower()
    for words, name in _NAMED:
        if words in lowered:
            return zone_named(name)
    return _zone_of_place(text)


def _zone_of_place(text: str) -> tzinfo | None:
    """ "(New York)", "Geneva time", "heure de Paris"."""
    names = [match[1] or match[2] for match in _PLACE.finditer(text)] + _BRACKETS.findall(text)
    for name in names:
        for candidate in (name.strip(), name.split(" ")[-1]):
            if len(candidate) > 2 and (cities_called(key(candidate)) or len(candidate) > 3):
                zone = zone_named(locate(candidate).zone)
                if zone:
                    return zone
    return None
