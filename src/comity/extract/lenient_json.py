"""JSON as pages really write it: comments, trailing commas, escaped markup, raw line breaks.

One pass makes the text valid, character class by character class, so the time is linear.
"""

from __future__ import annotations

import html
import json
import re
from typing import Final

MAX_CHARACTERS: Final = 4_000_000
_WRAPPING: Final = re.compile(r"^(?:\s|<!--|-->|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/|<!\[CDATA\[|//\s*\]\]>)+")
_TAIL: Final = ("//]]>", "/*]]>*/", "/* ]]> */", "]]>", "-->", "//")
_MOST_TAILS: Final = 8  # each costs a copy of the text
# A string, a comment, or a comma before a closing bracket. One that does not end reaches to the end of the text, so
# that no other search begins inside it.
_PIECE: Final = re.compile(
    r"\"(?:[^\"\\]++|\\.)*+(?:\"|\Z)|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)"
    r"|,(?=(?:\s++|//[^\n]*+\n|/\*(?:[^*]++|\*(?!/))*+\*/)*+[\]}])",
    re.DOTALL,
)
_RAW_CONTROL: Final = re.compile(r"[\x00-\x1f]")
_BAD_ESCAPE: Final = re.compile(r"\\(?![\"\\/bfnrtu])|\\u(?![0-9a-fA-F]{4})")


def read_lenient(text: str) -> object | None:
    """Read JSON from a script element; None where nothing can be made of it."""
    text = text[:MAX_CHARACTERS].strip().removeprefix("\ufeff")
    text = _WRAPPING.sub("", text, count=1)
    for _ in range(_MOST_TAILS):
        before = len(text)
        text = text.rstrip("; \t\r\n\f")
        for tail in _TAIL:
            text = text.removesuffix(tail)
        if len(text) == before:
            break
    if not text:
        return None
    value = _loads(text)
    if value is None and "&quot;" in text and '"' not in text[:20]:
        text = html.unescape(text)
        value = _loads(text)
    if value is None:
        value = _loads(_PIECE.sub(_repaired, text))
    if value is None:
        value = _first_value(text)
    return value


def _loads(text: str) -> object | None:
    try:
        value: object = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value


def _first_value(text: str) -> object | None:
    """Take a value that is followed by something else, as in two objects without a list around them."""
    values: list[object] = []
    decoder = json.JSONDecoder(strict=False)
    repaired = _PIECE.sub(_repaired, text)
    end = 0
    while end < len(repaired) and len(values) < 100:
        while end < len(repaired) and repaired[end] in " \t\r\n,;":
            end += 1
        try:
            value, end = decoder.raw_decode(repaired, end)
        except (ValueError, RecursionError):
            break
        values.append(value)
    return values or None


def _repaired(found: re.Match[str]) -> str:
    piece = found[0]
    if piece[0] != '"':
        return ""
    if "\\" in piece:
        piece = _BAD_ESCAPE.sub(lambda bad: "\\\\" + bad[0][1:], piece)
    return _RAW_CONTROL.sub(" ", piece) if not piece.isprintable() else piece
