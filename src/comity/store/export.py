"""Export pages from one format to another: a reader's rows enter, a new file or folder leaves.

A new file is there whole or not at all. A DuckDB file that exists is added to, and what it has already is passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any, Final
from uuid import UUID

from xxhash import xxh3_128_hexdigest

from comity.model.errors import BadInput, ComityError
from comity.model.expression import ExtractedValues, StoredColumn
from comity.model.page import PageRecord
from comity.store.formats.columns import NAMES
from comity.store.formats.writers import writer_of
from comity.store.parts.manifest import add_joined, note_of, write_finished
from comity.store.parts.part import write_part
from comity.store.reading import PageReader
from comity.store.target import Format, Target, check_way, file_format, read_target

_WAIT_S: Final = 10.0
ROWS_PER_PART: Final = 20_000
_CHARSET: Final = re.compile(r"(charset\s*=\s*)(\"[^\"]*\"|[^\s;]*)", re.IGNORECASE)
_NO_RUN: Final = UUID(int=0)
_ALL: Final = ", ".join(name if name != "crawl_time" else "epoch_us(crawl_time)" for name in NAMES)
_VISIT: Final = ("run_id", "url", "crawl_time")
_IS_THERE: Final = " AND ".join(f"old.{name} IS NOT DISTINCT FROM new.{name}" for name in _VISIT)


def read_export_target(place: str | Path) -> Target:
    """Understand where pages are to be written; only a DuckDB file may exist. A `.parquet` is one file here."""
    path = Path(place).expanduser()
    if _is_one_file(path) and not str(place).endswith(("/", os.sep)):
        target = Target(path, Format.PARQUET, is_one_file=True)
        check_way(path, path.parent)
    else:
        target = read_target(place)
    if target.format is not Format.DUCKDB and (path.is_file() or any(target.spool.glob("part-*"))):
        raise BadInput(f"{path} already exists; name a new one")
    return target


def _is_one_file(path: Path) -> bool:
    return file_format(path.name) is Format.PARQUET and not path.is_dir()


def export(reader: PageReader, target: Target) -> int:
    """Write every page that the reader shows; gives how many."""
    further = reader.further_columns()
    columns = tuple(column for column, _sql in further)
    selected = ", ".join([_ALL, *(sql for _column, sql in further)])
    pages = (_record(row, columns) for row in reader.rows(f"SELECT {selected} FROM pages"))  # noqa: S608  # quoted
    path = target.path
    if target.format is Format.DUCKDB:
        return _into_database(pages, path)
    if target.is_folder and not target.is_one_file:
        return _into_folder(pages, target)
    writer = writer_of(target.format, path, path.name)
    count = write_part(writer, pages)
    if columns and count and target.format.is_lines:
        # JSON has no types, and CSV has JSON: the note beside the file has those of the columns.
        add_joined(path, note_of(path, writer.tally, writer.size, writer.digest)._replace(at=0))
    return count


def _into_folder(pages: Iterator[PageRecord], target: Target) -> int:
    number = written = 0
    folder = target.path
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        number += 1
        path = folder / f"part-export-{number:06d}{target.format}"
        count = write_finished(writer_of(target.format, path, path.name), islice(pages, ROWS_PER_PART))
        if not count:
            return written
        written += count


def _into_database(pages: Iterator[PageRecord], path: Path) -> int:
    """By way of a Parquet file: two databases cannot be joined where one of them is confined."""
    from comity.store.parts.duckdb_table import Busy, OutOfMemory, add_columns, open_to_write

    between = path.with_name(f".{path.name}.export{Format.PARQUET}")
    between.unlink(missing_ok=True)
    try:
        write_part(writer_of(Format.PARQUET, between, between.name), pages)
        with open_to_write(path, monotonic() + _WAIT_S) as connection:
            if not between.exists():
                return 0
            add_columns(connection, between)
            missing = f"FROM read_parquet(?) AS new WHERE NOT EXISTS (FROM pages AS old WHERE {_IS_THERE})"
            (count,) = connection.execute(f"INSERT INTO pages BY NAME {missing}", [str(between)]).fetchone()
            return int(count)
    except Busy:
        raise ComityError(f"{path} is open in another process; try again later") from None
    except OutOfMemory:
        raise ComityError(f"{path}: some pages are too large for a DuckDB table; use Parquet instead") from None
    finally:
        between.unlink(missing_ok=True)


def _record(row: tuple[Any, ...], columns: tuple[StoredColumn, ...]) -> PageRecord:
    values: dict[str, Any] = dict(zip(NAMES, row[: len(NAMES)], strict=True))
    text, binary = values.pop("body"), values.pop("body_bytes")
    body = text.encode() if text is not None else binary
    content_type = values.pop("content_type")
    if text is not None and values["content_hash"] != xxh3_128_hexdigest(body):
        content_type = _in_utf8(content_type)  # it was written in something else, and is not any more
    run_id = values.pop("run_id")
    return PageRecord(
        run_id=UUID(run_id) if run_id else _NO_RUN,
        url_key=0,
        body=body,
        encoding="utf-8" if text is not None else None,
        content_type=content_type,
        crawl_time=values.pop("crawl_time") / 1e6,
        redirect_count=values.pop("redirect_count") or 0,
        columns=ExtractedValues(columns, list(row[len(NAMES) :])) if columns else None,
        **values,
    )


def _in_utf8(content_type: str | None) -> str:
    if content_type is None:
        return "text/plain; charset=utf-8"
    if _CHARSET.search(content_type):
        return _CHARSET.sub(r"\1utf-8", content_type)
    return f"{content_type}; charset=utf-8"
