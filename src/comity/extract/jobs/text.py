"""Short texts of a posting: cleaned for storage, with bounded lengths; and whether a text is a place."""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import Final

from turbohtml import parse

from comity.extract.jobs.words.pages import EMPLOYMENT, WORKPLACE
from comity.extract.jobs.words.titles import is_generic, is_job_title, is_navigation
from comity.model.job import ExtractionMethod, JobFound
from comity.rules.jobs.place import is_named_place, is_place_code, is_well_known
from comity.rules.jobs.words import visible

MAX_TITLE: Final = 300
MAX_FIELD: Final = 300
MAX_SNIPPET: Final = 500
MAX_DESCRIPTION: Final = 20_000
# Enough markup for a field of plain text, and for a whole description: bounds for what is parsed per job.
_MARKUP_CHARACTERS: Final = 8_000
_DESCRIPTION_MARKUP_CHARACTERS: Final = 60_000
_MARKUP: Final = re.compile(r"<[a-zA-Z!/]|&(?:[a-zA-Z]+|#\d+|#[xX][0-9a-fA-F]+);")
# Marks of a listing, there today and gone tomorrow: "Water Officer NEW!".
_BADGE: Final = re.compile(
    r"(?:\s*[-–|:([]\s*|\s+)(?<!['’]s )(?:new|neu|nouveau|nuev[oa]|novo|nuovo|urgent|featured)\s*!*[)\]]?$"
    r"|^(?:new|urgent|featured)\s*[!:]+\s*",
    re.IGNORECASE,
)

# The place in a list, which changes as jobs come and go: "01 Project manager", "3. Nurse".
_ORDINAL: Final = re.compile(r"^(?:0\d|\d{1,2}[.)])\s+(?=[^\W\d_])")
_NOT_PLACE: Final = re.compile(
    r"[:€$£%@]|\b(?:and|und|et|y|posted|salary|grade|team|department|months?|years?|hours?|days?|weeks?|contract|"
    r"ago|with|for|you|we|our)\b|\d{4}",
    re.I,
)
_EASTERN: Final = re.compile(
    r"[省市区県府都道町]$|^(?:北京|上海|广州|深圳|香港|台北|東京|大阪|京都|名古屋|福岡|オンライン)"
)
_LINKING: Final = frozenset(
    (
        *("a", "al", "am", "an", "and", "auf", "da", "das", "de", "del", "den", "der", "des", "di", "do", "du", "e"),
        *("el", "en", "et", "im", "in", "la", "las", "le", "les", "los", "of", "on", "or", "ou", "sur", "the", "u"),
        *("und", "upon", "y"),
    )
)
_LONGEST: Final = 70
_MOST_PARTS: Final = 4
_MOST_WORDS: Final = 5
_APART: Final = re.compile(r"\s*[,;/|،、]\s*|\s[-–—]\s")
_BRACKETS: Final = re.compile(r"\s*\(([^()]{2,40})\)")
_OPEN: Final = re.compile(
    r"(?:global|worldwide|multiple(?: locations| duty stations)?|various(?: locations)?|several locations|any location|"
    r"bundesweit|deutschlandweit|nationwide|plusieurs lieux|varias sedes|field(?:-based)?|europe|africa|asia|"
    r"latin america|middle east|west africa|east africa|southern africa|central africa|MENA|EMEA|APAC|EU)",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"[A-Z]{2,3}")
_BEHIND_TITLE: Final = re.compile(r",\s+|\s[-–—|]\s|\s[-–—](?=[^\s\d])|\s?\(|\s+in\s+")
_LONGEST_TITLE: Final = 200
_OTHER_SCRIPT: Final = re.compile("[\u0370-\u1fff\u3040-\ud7ff]")
# Words by which organisations are known, whatever country stands behind them.
_ORGANISATION: Final = re.compile(
    r"\b(?:foundation|trust|university|college|school|ministry|council|agency|fund|programme|program|committee|institute|"
    r"association|ngo|ltd|inc|llc|plc|gmbh|e\.? ?v|society|centre|center|red cross|red crescent|hospital|clinic|"
    r"department|group|network|alliance|union|bank|organi[sz]ation|mission|commission|secretariat|federation|consortium|company|"
    r"corporation|authority|bureau|initiative|project|partners?|services|solutions|international|children|relief|"
    r"rescue|aid|"
    r"oxfam|unicef|undp|unhcr|unops|wfp|fao|unesco|ifrc|icrc|iom|msf|nrc|drc|irc|acted|care|caritas|mercy corps|plan|"
    r"world vision|goal|tearfund|solidar\w+|médecins|medecins|action|handicap|terre des|save the|fondation|ministère|"
    r"université|école|comité|organisation|réseau|agence|institut|centre|fonds|fundaci[oó]n|universidad|ministerio|instituto|"
    r"asociaci[oó]n|consejo|agencia|comit[eé]|organizaci[oó]n|stiftung|universität|hochschule|verein|ministerium|verband|"
    r"gesellschaft|fundação|universidade|associação|fondazione|università|associazione|stichting|universiteit|vereniging|"
    r"fundacja|uniwersytet|stowarzyszenie|nadace|univerzita|fondacija|univerzitet|alapítvány|egyetem|fundația|universitatea|"
    r"vakfı|derneği|üniversitesi|säätiö|yliopisto|stiftelsen?|universitetet|yayasan|universitas)(?!\w)",
    re.IGNORECASE,
)


def collapse(text: str) -> str:
    """Turn all blanks into plain ones and remove invisible characters."""
    return visible(text)


def clip(text: str, limit: int) -> str:
    """Shorten at a word where one ends near the limit."""
    if len(text) <= limit:
        return text
    cut = text.rfind(" ", limit - 40, limit)
    return text[: cut if cut > 0 else limit - 1].rstrip(" ,;:–-") + "…"


def plain(text: str, limit: int = MAX_FIELD) -> str:
    """Text of a field that may hold markup, once or twice escaped."""
    return clip(collapse(_without_markup(text[:_MARKUP_CHARACTERS])), limit)


def description(text: str) -> str:
    """The text of a description that may hold markup: a line for each paragraph or item."""
    lines = map(collapse, _without_markup(text[:_DESCRIPTION_MARKUP_CHARACTERS]).splitlines())
    return clip("\n".join(filter(None, lines)), MAX_DESCRIPTION)


def _without_markup(text: str) -> str:
    if "&lt;" in text:
        text = html.unescape(text)
    return parse(text, positions=False).to_text() if _MARKUP.search(text) else text


def job(*, title: str, apply_url: str, found_by: ExtractionMethod, **fields: str) -> JobFound | None:
    """Build a job from raw fields, each bounded; without a title or an address there is none."""
    title = plain(title, MAX_TITLE)
    title = _BADGE.sub("", title) or title
    title = _ORDINAL.sub("", title) or title
    if not title or not apply_url:
        return None
    said = fields.pop("description_snippet", "")
    kept = {name: plain(value) for name, value in fields.items() if value}
    if said:
        kept["description_text"] = description(said)
        kept["description_snippet"] = clip(kept["description_text"].replace("\n", " "), MAX_SNIPPET)
    if not kept.get("location_raw") and (place := place_in_title(title)):
        kept["location_raw"] = place
    return JobFound(title=title, apply_url=apply_url, found_by=found_by, **kept)


def is_name(text: str) -> bool:
    """Whether a text is written like names: words that begin with a capital, and those that link them."""
    words = [word for word in re.split(r"[\s(),/'’–-]+", text) if word]
    return bool(words) and not any(word[0].islower() and word not in _LINKING for word in words)


def is_place(text: str) -> bool:
    """Whether a short text on its own names a place, or says that the place does not matter.

    Not every town is known: countries, words and shapes like "City, Country" decide.
    """
    if not 2 <= len(text) <= _LONGEST or _NOT_PLACE.search(text):
        return False
    if is_generic(text) or is_navigation(text) or is_job_title(text):
        return False
    if is_known_place(text) or _EASTERN.search(text):
        return True
    if WORKPLACE.search(text):
        return len(text) <= 50
    return False


@lru_cache(maxsize=8192)
def is_known_place(text: str) -> bool:
    """Whether a text is the name of a country, a region or a town, or several of them; organisations are none.

    "Lwala, Kenya" is a place, though few know Lwala; "Save the Children Kenya" and "Oxfam, Kenya" are not.
    """
    if not 2 <= len(text) <= _LONGEST or _ORGANISATION.search(text) or EMPLOYMENT.search(text):
        return False
    bare = _BRACKETS.sub("", text)
    if bare != text and bare.strip() and is_known_place(bare):
        return True
    parts = [part.strip() for part in _APART.split(_BRACKETS.sub(r", \1", text)) if part.strip()]
    if not 1 <= len(parts) <= _MOST_PARTS or not all(
        len(part.split()) <= _MOST_WORDS and is_name(part) for part in parts
    ):
        return False
    known = [is_named_place(part) for part in parts]
    if len(parts) == 1:
        return known[0] or _OPEN.fullmatch(text) is not None
    return known[-1] or is_place_code(parts[-1]) or (known[0] and _CODE.fullmatch(parts[-1]) is not None)


def may_be_known(text: str) -> bool:
    """Whether the gazetteer knows places in the script of a text, so that not being in it says something."""
    return not _OTHER_SCRIPT.search(text)


def place_in_title(title: str) -> str:
    """The place at the end of a title: "Water Officer - Nairobi, Kenya", "Driver (Juba)"; empty where there is none."""
    for found in _BEHIND_TITLE.finditer(title[:_LONGEST_TITLE]):
        said = title[found.end() :].strip()
        said = said[:-1].strip() if found[0].endswith("(") and said.endswith(")") else said
        if is_known_place(said) and not is_job_title(said) and ("," in said or is_well_known(said)):
            return said
    return ""
