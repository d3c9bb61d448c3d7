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
# Enough markup for a snippet of plain text, and a bound for what is parsed per job.
_MARKUP_CHARACTERS: Final = 8_000
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
    text = text[:_MARKUP_CHARACTERS]
    if "&lt;" in text:
        text = html.unescape(text)
    if _MARKUP.search(text):
        text = parse(text, positions=False).to_text()
    return clip(collapse(text), limit)


def job(*, title: str, apply_url: str, found_by: ExtractionMethod, **fields: str) -> JobFound | None:
    """Build a job from raw fields, each bounded; without a title or an address there is none."""
    title = plain(title, MAX_TITLE)
    title = _BADGE.sub("", title) or title
    title = _ORDINAL.sub("", title) or title
    if not title or not apply_url:
        return None
    kept = {
        name: plain(value, MAX_SNIPPET if name == "description_snippet" else MAX_FIELD)
        for name, value in fields.items()
        if value
    }
    if not kept.get("location_raw") and (place := place_in_title(title)):
        kept["location_raw"] = place
    return JobFound(title=title, apply_url=apply_url, found_by=found_by, **kept)
