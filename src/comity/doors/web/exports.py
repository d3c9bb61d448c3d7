"""Streamed exports: the rows of a listing as CSV, JSON or JSON Lines, as they are read, whatever their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

from fastapi.responses import Response, StreamingResponse

from comity.doors.schemas.base import Schema, csv_cell, exact_json
from comity.rules.csv_rows import csv_line

ExportFormat = Literal["csv", "json", "jsonl"]
_MEDIA_TYPES: Final = {"csv": "text/csv; charset=utf-8", "json": "application/json", "jsonl": "application/x-ndjson"}
EXPORTED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The rows, in the order of the list.",
        "content": {
            "text/csv": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
            "application/x-ndjson": {"schema": {"type": "string"}},
        },
    }
}


class ExactJsonResponse(Response):
    """JSON whose decimals are numbers with the digits that were stored."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Write a schema, or a value made of them."""
        return exact_json(content).encode("utf-8", "replace")


def stream(name: str, kind: ExportFormat, schema: type[Schema], rows: Iterable[object | None]) -> StreamingResponse:
    """Send rows as a file. None between rows sends nothing, but lets the server notice that the client has left."""
    views = (None if row is None else schema.model_validate(row) for row in rows)
    write = {"csv": csv_chunks, "json": _json_chunks, "jsonl": _line_chunks}[kind]
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return StreamingResponse(write(schema, views), media_type=_MEDIA_TYPES[kind], headers=headers)


def csv_chunks(schema: type[Schema], views: Iterable[Schema | None]) -> Iterator[bytes]:
    """Rows as CSV, with the names of the columns in the first line."""
    columns = tuple(schema.model_fields)
    yield csv_line(columns).encode()
    for view in views:
        cells = None if view is None else [csv_cell(getattr(view, name)) for name in columns]
        yield b"" if cells is None else csv_line(cells).encode("utf-8", "replace")


def _json_chunks(_schema: type[Schema], views: Iterable[Schema | None]) -> Iterator[bytes]:
    before = b"[\n"
    for view in views:
        if view is None:
            yield b""
            continue
        yield before + exact_json(view).encode("utf-8", "replace")
        before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"


def _line_chunks(_schema: type[Schema], views: Iterable[Schema | None]) -> Iterator[bytes]:
    for view in views:
        yield b"" if view is None else exact_json(view).encode("utf-8", "replace") + b"\n"
