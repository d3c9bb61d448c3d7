"""Comparable text: takes text as a page has it, returns tidy text to display or folded text to look up."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from html import unescape
from typing import Final

LONGEST_TITLE: Final = 300
LONGEST_LINE: Final = 500
LONGEST_SNIPPET: Final = 4_000
LONGEST_DESCRIPTION: Final = 20_000
_MOST_UNESCAPES: Final = 4  # feeds escape what was escaped before; a hostile page does so without end

_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufe00-\ufe0f]+"
)
# Joiners are seen where scripts and emoji need them: Persian, Sinhala, Hindi, a family; elsewhere they are noise.
_JOINED_SIGNS: Final = "\u0600-\u08ff\u0900-\u109f\u1780-\u18af\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
_NOISE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufe00-\ufe0e]+"
    f"|(?<![{_JOINED_SIGNS}\u200c\u200d])[\u200c\u200d\ufe0f]+|[\u200c\u200d]+(?=\\s|$)"
)
_UNSEEN: Final = re.compile(_INVISIBLE.pattern[:-2] + r"\x00-\x1f\x7f-\x9f]")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_ALIKE: Final[dict[int, str]] = {
    ord(sign): one
    for one, signs in {
        "-": "‐‑‒–—―−﹘﹣－⁃",
        "'": "‘’‚‛′`´ʼʻ＇",
        '"': "“”„‟″«»＂",
    }.items()
    for sign in signs
}
# Accents of Latin, Cyrillic and Greek; vowel signs of Hebrew and Arabic; sound marks of Kana; the Arabic stretch.
_MARKS: Final = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u3099\u309a]+"
)
_NOT_WORD: Final = re.compile(r"[\W_]+")
_FOLDED: Final[dict[int, int | str]] = {
    **_ALIKE,
    **str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९", "0123456789" * 3),
    **{
        ord(sign): one for sign, one in zip("ßøđłıæœðþ", ("ss", "o", "d", "l", "i", "ae", "oe", "d", "th"), strict=True)
    },
}


def tidy(text: str, longest: int = LONGEST_LINE) -> str:
    """Text to show: entities read, control and invisible characters gone, white space single, cut to a limit."""
    if not text:
        return text
    text = text[: longest * 4]
    if text.isascii() and text.isprintable() and "&" not in text and "  " not in text:
        return text[:longest].strip()
    for _ in range(_MOST_UNESCAPES):
        again = unescape(text) if "&" in text else text
        if again == text:
            break
        text = again
    # Surrogates cannot be stored or sent: they are what a broken escape leaves behind.
    text = text.encode("utf-8", "replace").decode()
    return visible(unicodedata.normalize("NFC", text))[:longest].strip()


def tidy_lines(text: str, longest: int = LONGEST_DESCRIPTION) -> str:
    """Text of several lines, each of them tidy; empty ones are left out."""
    lines = (tidy(line, longest) for line in text[: longest * 4].splitlines())
    return "\n".join(filter(None, lines))[:longest].rstrip()


def visible(text: str) -> str:
    """Text without invisible characters, and with one blank for all white space and control characters."""
    if _UNSEEN.search(text):
        text = _CONTROL.sub(" ", _NOISE.sub("", text))
    return " ".join(text.split())


@lru_cache(maxsize=512)
def alike(text: str) -> str:
    """Text to compare: what looks alike is alike (NFKC, case, dashes, quotes, white space, invisible characters)."""
    if text.isascii() and text.isprintable() and "&" not in text and "`" not in text and "  " not in text:
        return text.strip().lower()
    for _ in range(_MOST_UNESCAPES):
        again = unescape(unicodedata.normalize("NFKC", text)).translate(_ALIKE)
        again = _spaced(again).casefold()
        if again == text:
            break
        text = again
    return text


def _spaced(text: str) -> str:
    """Without invisible characters, and with one blank for all white space and control characters."""
    if _UNSEEN.search(text):
        text = _CONTROL.sub(" ", _INVISIBLE.sub("", text))
    return " ".join(text.split())


def plain(text: str) -> str:
    """Lower case without accents and with European digits; punctuation stays."""
    if text.isascii():
        return text.lower()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", bare).translate(_FOLDED)


def key(text: str) -> str:
    """Words only: lower case, no accents, one blank between words."""
    return " ".join(_NOT_WORD.split(plain(text))).strip()
