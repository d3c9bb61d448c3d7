"""What every shape has: values of the rooms enter, JSON leaves, and times are ISO 8601 in UTC with a Z."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainSerializer, WithJsonSchema

from comity.doors.shapes.times import spelled_time

Instant = Annotated[
    datetime,
    PlainSerializer(spelled_time, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-02-05T14:30:00.000Z"]}),
]


class Shape(BaseModel):
    """A noun as JSON, read from a value of the rooms."""

    model_config = ConfigDict(from_attributes=True)

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return self.model_dump(mode="json", by_alias=True)
