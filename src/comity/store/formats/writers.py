"""The part writer for each format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from comity.store.parts.part import PartWriter
from comity.store.target import Format, Target


def part_writer(target: Target, segment: Path, keeps_gzip: Callable[[], bool] | None = None) -> PartWriter:
    """A writer for the part that a segment becomes; `keeps_gzip` is that of `ParquetPart`."""
    part = target.part_of(segment)
    name = part.name if target.is_folder else target.path.name
    return writer_of(target.format, part, name, joined_to=None if target.is_folder else target, keeps_gzip=keeps_gzip)


def writer_of(
    kind: Format,
    path: Path,
    filename: str,
    *,
    joined_to: Target | None = None,
    keeps_gzip: Callable[[], bool] | None = None,
) -> PartWriter:
    """A writer of one kind; `filename` is what the file will be called in the end. Only what is needed is imported."""
    if kind.is_csv:
        from comity.store.formats.csv_pages import CsvPart

        return CsvPart(path, compressed=kind is Format.CSV_GZ, joined_to=joined_to)
    if kind in (Format.JSONL, Format.JSONL_GZ):
        from comity.store.formats.json_lines import LinesPart

        return LinesPart(path, compressed=kind is Format.JSONL_GZ)
    if kind.is_archive:
        from comity.store.formats.warc import WarcPart

        return WarcPart(path, filename, compressed=kind is Format.WARC_GZ)
    from comity.store.formats.parquet import ParquetPart

    return ParquetPart(path, keeps_gzip)
