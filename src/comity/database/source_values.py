"""Between the values that a source's run speaks of and the rows that keep them."""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import Row

from comity.model.job import ListingKind, SourceType
from comity.model.source import KnownPage, ScheduleName, Source, SourceStatus

_FIELDS: Final = tuple(field.name for field in fields(Source))
_KINDS: Final[dict[str, type[StrEnum]]] = {
    "source_type": SourceType,
    "status": SourceStatus,
    "schedule": ScheduleName,
}


def source_from(row: Row[Any]) -> Source:
    """Read a source's row; where an older table has nothing, or a word that nobody knows, the default stands in."""
    values = {name: value for name in _FIELDS if (value := getattr(row, name)) is not None}
    for name, kind in _KINDS.items():
        if values.get(name) not in set(kind):
            values.pop(name, None)
        else:
            values[name] = kind(values[name])
    return Source(**values | {"crawl_frequency_days": row.crawl_frequency_days})


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
