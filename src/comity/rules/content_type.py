"""Whether a body is worth reading: takes a Content-Type header and the wanted types, returns a verdict."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from comity.model.dataclass import dataclass
from comity.model.fetch import ContentTypeRules

_PART = r"[A-Za-z0-9!#$&^_.+-]*\*?[A-Za-z0-9!#$&^_.+-]*"
_MAJOR_TYPES = frozenset(
    (
        "*",
        "application",
        "audio",
        "example",
        "font",
        "haptics",
        "image",
        "message",
        "model",
        "multipart",
        "text",
        "video",
    )
)
_PATTERN = re.compile(rf"(?=[^/])(?:{_PART})(?:/(?=.)(?:{_PART}))?")  # RFC 6838 §4.2
_REMEMBERED_CHARACTERS: Final = 256


@dataclass(frozen=True, slots=True)
class ContentTypeVerdict:
    """Accepted or refused, and by which pattern."""

    accepted: bool
    reason: str


def media_type(content_type: str | None) -> str:
    """The bare `type/subtype` in lower case, without parameters, or empty."""
    if not content_type:
        return ""
    return _remembered(content_type) if len(content_type) <= _REMEMBERED_CHARACTERS else _media_type(content_type)


def _media_type(content_type: str) -> str:
    # Several values joined by a comma are malformed; the last is what browsers take (WHATWG MIME Sniffing).
    bare = content_type.split(";", 1)[0].rpartition(",")[2].strip().lower()
    return bare if "/" in bare else ""


_remembered: Final = lru_cache(maxsize=256)(_media_type)  # most pages of a site say the same


def pattern_matches(pattern: str, kind: str) -> bool:
    """Whether `text/html`, `text/*`, `*/xml`, `application/*+xml` or `*/*` covers a media type."""
    wanted_major, slash, wanted_minor = pattern.strip().lower().partition("/")
    if not slash:  # a bare `*` or `text`
        wanted_minor = "*"
    major, _, minor = kind.partition("/")
    return _part_matches(wanted_major, major) and _part_matches(wanted_minor, minor)


def is_pattern(text: str) -> bool:
    """Whether a text can be a pattern of media types: one slash at most, in plain characters, one `*` in each part."""
    bare = text.strip()
    return _PATTERN.fullmatch(bare) is not None and ("/" in bare or bare.lower() in _MAJOR_TYPES)


@lru_cache(maxsize=1024)
def judge(content_type: str | None, rules: ContentTypeRules) -> ContentTypeVerdict:
    """Decide by the accept list first, then by the reject list, which wins."""
    kind = media_type(content_type)
    if not kind:
        return ContentTypeVerdict(rules.accept_missing, "no content type given")
    accepted_by = "no accept list"
    if rules.accept:
        found = next((pattern for pattern in rules.accept if pattern_matches(pattern, kind)), None)
        if found is None:
            return ContentTypeVerdict(False, f"{kind} is not accepted")
        accepted_by = f"{kind} is accepted by {found}"
    refused_by = next((pattern for pattern in rules.reject if pattern_matches(pattern, kind)), None)
    if refused_by is not None:
        return ContentTypeVerdict(False, f"{kind} is rejected by {refused_by}")
    return ContentTypeVerdict(True, accepted_by)


def _part_matches(wanted: str, part: str) -> bool:
    """One `*` anywhere in the pattern stands for any run of characters."""
    before, star, after = wanted.partition("*")
    if not star:
        return wanted == part
    return len(part) >= len(before) + len(after) and part.startswith(before) and part.endswith(after)
