"""Cleaning text for storage: markup and unusual blanks are removed, lengths are bounded."""

from __future__ import annotations

import html
import re
from typing import Final

from turbohtml import parse

from comity.extract.jobs.page.places import place_in_title
from comity.model.job import ExtractionMethod, JobFound
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
