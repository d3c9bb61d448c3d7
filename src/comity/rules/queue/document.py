"""JSON objects from outside: whether both databases can store one, within limits of size and depth."""

from __future__ import annotations

import json
import math
from typing import Any, Final

MOST_DEPTH: Final = 32


def document_problem(document: Any, most_bytes: int) -> str | None:
    """Why an object cannot be stored; None if it can. PostgreSQL stores neither NUL nor half of a surrogate pair."""
    if not isinstance(document, dict):
        return "must be a JSON object"
    waiting: list[tuple[Any, int]] = [(document, 1)]
    while waiting:
        each, depth = waiting.pop()
        if depth > MOST_DEPTH:
            return f"is nested more than {MOST_DEPTH} levels deep"
        if isinstance(each, dict):
            waiting += ((part, depth) for part in each)
            waiting += ((part, depth + 1) for part in each.values())
        elif isinstance(each, list):
            waiting += ((part, depth + 1) for part in each)
        elif isinstance(each, str):
            if not _is_storable(each):
                return "must not contain a NUL character or half of a surrogate pair"
        elif isinstance(each, float) and not math.isfinite(each):
            return "has a number that is too large"
    if len(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()) > most_bytes:
        return f"is larger than {most_bytes // 1024} KiB"
    return None


def _is_storable(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
