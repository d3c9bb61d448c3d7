"""Between the values that a source's run speaks of and the rows that keep them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sqlalchemy import Row

from comity.model.job import ListingKind, SourceType
from comity.model.source import KnownPage, ScheduleName, Source, SourceStatus

_FIELDS = tuple(field.name for field in fields(Source))


def source_from(row: Row[Any]) -> Source:
    """Read a source's row."""
    values = {name: getattr(row, name) for name in _FIELDS}
    return Source(
        **values
        | {
            "source_type": SourceType(row.source_type),
            "status": SourceStatus(row.status),
            "schedule": ScheduleName(row.schedule),
        }
    )


def page_from(row: Row[Any]) -> KnownPage:
    """Read the row of a page that was believed."""
    return KnownPage(
        row.number,
        row.url,
        row.final_url,
        row.etag,
        row.last_modified,
        row.next_url,
        ListingKind(row.kind),
        row.found,
    )
