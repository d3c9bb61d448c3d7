"""The tables of an audit, for spreadsheets and data frames: pages, links, findings and the like, as CSV and Parquet.

Rows are written one by one, so a table of any length takes the same memory. A table is complete or does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from comity.model.audit import AuditData, AuditedPage, Finding, PageFacts
from comity.model.expression import ColumnType, StoredColumn, TypeName
from comity.rules.csv_rows import CsvValue, csv_line
from comity.store.formats.columns import utf8
from comity.store.formats.parquet import ParquetTable

_MOST_JOINED: Final = 20

Cells = Sequence[CsvValue]


_TEXT, _NUMBER, _LARGE = ColumnType(), ColumnType(TypeName.INTEGER), ColumnType(TypeName.BIGINT)
_DECIMAL, _FLAG = ColumnType(TypeName.DOUBLE), ColumnType(TypeName.BOOLEAN)


def _column(name: str, kind: ColumnType = _TEXT) -> StoredColumn:
    return StoredColumn(name, kind)


class WrittenTable(NamedTuple):
    """One table, and where it is."""

    name: str
    rows: int
    csv: str
    parquet: str


class _Table(NamedTuple):
    name: str
    columns: tuple[StoredColumn, ...]
    rows: Callable[[], Iterator[Cells]]


def write_tables(data: AuditData, findings: Sequence[Finding], folder: Path) -> list[WrittenTable]:
    """Write every table into a folder, each as CSV and Parquet; what has the same name there is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_write(table, folder) for table in _tables(data, findings)]


def _tables(data: AuditData, findings: Sequence[Finding]) -> tuple[_Table, ...]:
    return (
        _Table("pages", _PAGES, lambda: (_page_cells(page) for page in data.pages())),
        _Table("links", _LINKS, lambda: _link_rows(data)),
        _Table("headers", _HEADERS, lambda: _header_rows(data)),
        _Table("hops", _HOPS, lambda: _hop_rows(data)),
        _Table("findings", _FINDINGS, lambda: _finding_rows(findings)),
        _Table("decisions", _DECISIONS, lambda: (tuple(each) for each in data.decisions())),
    )


_PAGES: Final = (
    _column("url"),
    _column("status", _NUMBER),
    _column("error"),
    _column("depth", _NUMBER),
    _column("final_url"),
    _column("redirects", _NUMBER),
    _column("content_type"),
    _column("in_sitemap", _FLAG),
    _column("first_byte_ms", _DECIMAL),
    _column("elapsed_ms", _DECIMAL),
    _column("wire_bytes", _LARGE),
    _column("body_bytes", _LARGE),
    _column("language"),
    _column("title"),
    _column("description"),
    _column("h1"),
    _column("canonical"),
    _column("robots"),
    _column("words", _NUMBER),
    _column("images", _NUMBER),
    _column("images_without_alt", _NUMBER),
    _column("structured_data"),
    _column("hreflang"),
    _column("content_hash"),
    _column("text_hash"),
    _column("similarity"),
)
_LINKS: Final = tuple(map(_column, ("page", "url", "text", "rel", "region", "outcome")))
_HEADERS: Final = tuple(map(_column, ("page", "name", "value")))
_HOPS: Final = (
    _column("page"),
    _column("number", _NUMBER),
    _column("url"),
    _column("status", _NUMBER),
    _column("location"),
    _column("first_byte_ms", _DECIMAL),
    _column("elapsed_ms", _DECIMAL),
)
_FINDINGS: Final = tuple(map(_column, ("code", "severity", "title", "url", "detail", "pages")))
_DECISIONS: Final = (
    _column("url"),
    _column("allowed", _FLAG),
    _column("matched_rule"),
    _column("line", _NUMBER),
    _column("crawl_delay", _DECIMAL),
    _column("timestamp"),
    _column("confidence"),
)


def _page_cells(page: AuditedPage) -> Cells:
    return (
        page.url,
        page.status,
        page.error,
        page.depth,
        page.final_url,
        max(len(page.hops) - 1, 0),
        page.content_type,
        page.in_sitemap,
        page.first_byte_ms,
        page.elapsed_ms,
        page.wire_bytes,
        page.body_bytes,
        *(_fact_cells(page.facts) if page.facts is not None else [None] * 11),
        *(page.content_hash, page.facts.text_hash if page.facts is not None else None),
        f"{page.facts.similarity:016x}" if page.facts is not None and page.facts.similarity is not None else None,
    )


def _fact_cells(facts: PageFacts) -> Cells:
    """What the HTML says; of several, all are written, one after another."""
    return (
        facts.language,
        _joined(facts.titles),
        _joined(facts.descriptions),
        _joined([heading.text for heading in facts.headings if heading.level == 1]),
        _joined(facts.canonicals),
        _joined([f"{each.source}: {each.text}" for each in facts.directives]),
        facts.word_count,
        facts.images,
        len(facts.images_without_alt),
        _joined(list(dict.fromkeys(item.type for item in facts.structured))),
        _joined([f"{each.language} {each.url}" for each in facts.alternates]),
    )


def _joined(texts: Sequence[str]) -> str | None:
    return " | ".join(texts[:_MOST_JOINED]) if texts else None


def _link_rows(data: AuditData) -> Iterator[Cells]:
    for page, link in data.links():
        yield page, link.url, link.text, " ".join(link.rel) or None, str(link.region), link.outcome


def _header_rows(data: AuditData) -> Iterator[Cells]:
    """The header fields of each last answer."""
    for page in data.pages():
        for name, value in page.headers:
            yield page.url, name, value


def _hop_rows(data: AuditData) -> Iterator[Cells]:
    """The requests of each visit: redirects, then the last answer."""
    for page in data.pages():
        for number, hop in enumerate(page.hops, 1):
            yield page.url, number, hop.url, hop.status, hop.location, hop.first_byte_ms, hop.elapsed_ms


def _finding_rows(findings: Iterable[Finding]) -> Iterator[Cells]:
    for finding in findings:
        for page in finding.pages:
            held = " ".join(page.sources) or None
            yield str(finding.code), str(finding.severity), finding.title, page.url, page.detail or None, held


def _write(table: _Table, folder: Path) -> WrittenTable:
    csv, parquet = folder / f"{table.name}.csv", folder / f"{table.name}.parquet"
    partial_csv, partial_parquet = (path.with_name(f".{path.name}.partial") for path in (csv, parquet))
    rows = 0
    try:
        with (
            partial_csv.open("wb") as file,
            ParquetTable(partial_parquet, table.columns) as parquet_table,
        ):
            file.write(utf8(csv_line([column.name for column in table.columns])))
            for cells in table.rows():
                line = utf8(csv_line(cells))
                file.write(line)
                parquet_table.add(cells, len(line))
                rows += 1
        partial_csv.replace(csv)
        partial_parquet.replace(parquet)
    finally:
        partial_csv.unlink(missing_ok=True)
        partial_parquet.unlink(missing_ok=True)
    return WrittenTable(table.name, rows, str(csv), str(parquet))
