"""Cursors of lists: the position after the last row of a page, as text that the client passes back.

A cursor contains only the values by which rows are sorted. It grants nothing, so it is not signed; an altered one is
refused or starts the next page elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from comity.model.errors import BadInput

LONGEST_CURSOR: Final = 3000
_LARGEST: Final = 2**63 - 1


def write_cursor(order: str, *values: object) -> str:
    """A position in a list as text; `order` names the list and its order."""
    document = [order, *map(_plain, values)]
    return base64.urlsafe_b64encode(json.dumps(document, separators=(",", ":")).encode()).decode().rstrip("=")


def read_cursor(text: str, order: str, *kinds: type | None, name: str = "after") -> tuple[Any, ...]:
    """The values of a cursor, each of its kind or None; raises `BadInput` if it is invalid or belongs to another order.

    The kinds are str, int, UUID and datetime; `name` is the parameter's name for the user.
    """
    try:
        if len(text) > LONGEST_CURSOR:
            raise ValueError
        said, *values = json.loads(base64.urlsafe_b64decode((text + "=" * (-len(text) % 4)).encode("ascii")))
        found = tuple(_read(value, kind) for value, kind in zip(values, kinds, strict=True))
    except (ValueError, TypeError, AttributeError, binascii.Error, UnicodeError, RecursionError, OverflowError):
        raise BadInput(name, "is not a cursor of this list") from None
    if said != order:
        raise BadInput(name, "belongs to a list in another order")
    return found


def _plain(value: object) -> object:
    if isinstance(value, UUID):
        return value.hex
    return {"t": value.astimezone(UTC).isoformat()} if isinstance(value, datetime) else value


def _read(value: Any, kind: type | None) -> Any:
    if value is None:
        return None
    if kind is datetime:
        found = datetime.fromisoformat(value["t"])
        if found.tzinfo is None:
            raise ValueError("a time without a zone")
        return found.astimezone(UTC)
    if kind is UUID:
        return UUID(hex=value)
    if kind is int and type(value) is int and abs(value) <= _LARGEST:
        return value
    if kind is str and isinstance(value, str) and "\0" not in value and value.isprintable():
        return value
    raise ValueError("another kind of value")
