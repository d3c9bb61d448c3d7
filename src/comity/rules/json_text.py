"""Any value as JSON text, for what a user's extractor returns: takes the value, returns text or None."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Set
from dataclasses import asdict, is_dataclass
from typing import Any, Final

MAX_CHARACTERS: Final = 16_000_000
_DEEPEST: Final = 100
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def json_text(value: object) -> str | None:
    """The value as JSON; what JSON does not know becomes text. None if it is too long, or cannot be written."""
    try:
        text = _encode(value)
    except (TypeError, ValueError, RecursionError):
        try:
            text = _encode(_plain(value, 0))
        except Exception:  # a value may be of any class, and its text is that class's own code
            return None
    return text if len(text) <= MAX_CHARACTERS else None


def _plain(value: Any, depth: int) -> Any:
    """A value in the types of JSON."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth > _DEEPEST:
        raise ValueError("the value is nested too deep, or contains itself")
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | Set):
        return [_plain(inner, depth + 1) for inner in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value), depth + 1)
    return value.decode("utf-8", "replace") if isinstance(value, bytes | bytearray) else str(value)
