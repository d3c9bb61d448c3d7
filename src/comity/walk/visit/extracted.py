"""The further columns of a page: those of expressions, and what a user's own extractor returned."""

from __future__ import annotations

from typing import Any, Final

from comity.extract.expressions.evaluate import columns_of
from comity.model.expression import ColumnType, StoredColumn, TypeName
from comity.model.page import Extraction, HtmlPage
from comity.rules.json_text import json_text
from comity.walk.visit.context import VisitContext

DATA_COLUMN: Final = StoredColumn("data", ColumnType(TypeName.JSON))


def stored_columns(columns: str, *, has_extractor: bool) -> tuple[StoredColumn, ...]:
    """The columns that pages of a run have besides those of every page."""
    found = tuple(StoredColumn(column.name, column.type) for column in columns_of(columns)) if columns else ()
    return (*found, DATA_COLUMN) if has_extractor else found


def extracted_values(page: HtmlPage | None, extraction: Extraction, context: VisitContext) -> tuple[list[Any], int]:
    """The values of these columns for one page, and how many could not be converted."""
    values: list[Any] = []
    unconverted = 0
    if context.columns:
        if page is not None and page.extracted is not None:
            values, unconverted = page.extracted
        else:
            values = [None] * len(columns_of(context.columns))
            unconverted = len(values) if page is not None else 0
    if context.extract is not None:
        text = json_text(extraction.data) if extraction.data is not None else None
        unconverted += text is None and extraction.data is not None
        values = [*values, text]
    return values, unconverted
