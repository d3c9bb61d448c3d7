"""The base of every response schema: built from a value, written as JSON, times in ISO 8601 with a Z."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, PlainSerializer, WithJsonSchema

from comity.doors.schemas import iso_time

Instant = Annotated[
    datetime,
    PlainSerializer(iso_time, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-02-05T14:30:00.000Z"]}),
]


class Schema(BaseModel):
    """A noun as JSON, built from any object with the same attributes."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def list_of(cls, values: Iterable[object]) -> list[Self]:
        """Build one document for each value."""
        return [cls.model_validate(value) for value in values]

    def document(self) -> dict[str, Any]:
        """Return the JSON document."""
        return self.model_dump(mode="json", by_alias=True)
