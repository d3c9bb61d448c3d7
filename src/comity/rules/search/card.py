"""A posting as the search index stores it: converts a document to a JSON card and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from comity.model.search import SearchDocument

# The whole description is searched, and read from the posting when it is shown.
_NAMES: Final = tuple(field.name for field in fields(SearchDocument) if field.name != "description_text")
_TIMES: Final = ("first_seen_at", "deadline", "posted_at", "closed_at")


def card_of(document: SearchDocument) -> dict[str, Any]:
    """The JSON card of a document; empty values are left out."""
    found: dict[str, Any] = {}
    for name in _NAMES:
        value = getattr(document, name)
        if isinstance(value, datetime):
            value = value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        elif isinstance(value, UUID):
            value = str(value)
        elif isinstance(value, tuple):
            value = list(value)
        if value not in (None, []):
            found[name] = value
    return found


def document_from(card: Mapping[str, Any]) -> SearchDocument:
    """The document of a card; ValueError, KeyError or TypeError if the card is invalid."""
    values = {name: card[name] for name in _NAMES if card.get(name) is not None}
    for name in _TIMES:
        if name in values:
            values[name] = datetime.fromisoformat(values[name])
    source_id = values.get("source_id")
    return SearchDocument(
        **values
        | {
            "id": UUID(values["id"]),
            "source_id": UUID(source_id) if source_id is not None else None,
            "mission_tags": tuple(values.get("mission_tags", ())),
        }
    )
