"""The tables of an audit, for spreadsheets and data frames: pages, links, findings and decisions, as CSV and Parquet.

Rows are written one by one as CSV, and DuckDB makes the Parquet file of that under a limit of memory; so a table of any
length takes the same. A table is there whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from comity.model.audit import AuditData, AuditedPage, Finding, PageFacts
from comity.rules.csv_rows import HAS_GUARD, CsvValue, csv_line

_MEMORY_LIMIT: Final = "32MB"
_LONGEST_LINE: Final = 1_000_000
_BUFFER_BYTES: Final = 4_000_000
_MOST_JOINED: Final = 20

Cells = Sequence[CsvValue]


class _Column(NamedTuple):
    name: str
    type: str = "VARCHAR"


class WrittenTable(NamedTuple):
    """One table, and where it is."""

    name: str
    rows: int
    csv: str
    parquet: str


class _Table(NamedTuple):
    name: str
    columns: tuple[_Column, ...]
    rows: Callable[[], Iterator[Cells]]


def write_tables(data: AuditData, findings: Sequence[Finding], folder: Path) -> list[WrittenTable]:
    """Write every table into a folder, each as CSV and Parquet; what has the same name there is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_write(table, folder) for table in _tables(data, findings)]


def _tables(data: AuditData, findings: Sequence[Finding]) -> tuple[_Table, ...]:
    return (
        _Table("pages", _PAGES, lambda: (_page_cells(page) for page in data.pages())),
        _Table("links", _LINKS, lambda: _link_rows(data)),
        _Table("findings", _FINDINGS, lambda: _finding_rows(findings)),
        _Table("decisions", _DECISIONS, lambda: (tuple(each) for each in data.decisions())),
    )


_PAGES: Final = (
    _Column("url"),
    _Column("status", "INTEGER"),
    _Column("error"),
    _Column("depth", "INTEGER"),
    _Column("final_url"),
    _Column("redirects", "INTEGER"),
    _Column("content_type"),
    _Column("in_sitemap", "BOOLEAN"),
    _Column("first_byte_ms", "DOUBLE"),
    _Column("elapsed_ms", "DOUBLE"),
    _Column("wire_bytes", "BIGINT"),
    _Column("body_bytes", "BIGINT"),
    _Column("language"),
    _Column("title"),
    _Column("description"),
    _Column("h1"),
    _Column("canonical"),
    _Column("robots"),
    _Column("words", "INTEGER"),
    _Column("images", "INTEGER"),
    _Column("images_without_alt", "INTEGER"),
    _Column("structured_data"),
    _Column("hreflang"),
    _Column("content_hash"),
    _Column("text_hash"),
    _Column("similarity"),
)
_LINKS: Final = tuple(map(_Column, ("page", "url", "text", "rel", "region", "outcome")))
_FINDINGS: Final = tuple(map(_Column, ("code", "severity", "title", "url", "detail", "pages")))
_DECISIONS: Final = (
    _Column("url"),
    _Column("allowed", "BOOLEAN"),
    _Column("matched_rule"),
    _Column("line", "INTEGER"),
    _Column("crawl_delay", "DOUBLE"),
    _Column("timestamp"),
    _Column("confidence"),
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
        with partial_csv.open("w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(csv_line([column.name for column in table.columns]))
            for cells in table.rows():
                file.write(csv_line(cells))
                rows += 1
        _to_parquet(table.columns, partial_csv, partial_parquet)
        partial_csv.replace(csv)
        partial_parquet.replace(parquet)
    finally:
        partial_csv.unlink(missing_ok=True)
        partial_parquet.unlink(missing_ok=True)
    return WrittenTable(table.name, rows, str(csv), str(parquet))


def _to_parquet(columns: Sequence[_Column], csv: Path, parquet: Path) -> None:
    """The same rows with their types, and without the apostrophes that guard spreadsheets."""
    import duckdb  # it is large, and only this needs it

    types = ", ".join(f"'{column.name}': '{column.type}'" for column in columns)
    options = (
        "header = true, auto_detect = false, delim = ',', quote = '\"', escape = '\"', new_line = '\\r\\n', "
        f"nullstr = '', allow_quoted_nulls = false, parallel = false, "
        f"max_line_size = {_LONGEST_LINE}, buffer_size = {_BUFFER_BYTES}"
    )
    values = ", ".join(_unguarded(name) if kind == "VARCHAR" else f'"{name}"' for name, kind in columns)
    source = f"read_csv({_quoted(str(csv.absolute()))}, columns = {{{types}}}, {options})"
    settings: dict[str, Any] = {"memory_limit": _MEMORY_LIMIT, "threads": 1, "preserve_insertion_order": True}
    with duckdb.connect(config=settings) as connection:
        connection.execute(
            f"COPY (SELECT {values} FROM {source}) "  # noqa: S608  # names are our own, paths are quoted
            f"TO {_quoted(str(parquet.absolute()))} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480)"
        )


def _unguarded(name: str) -> str:
    """As `rules.csv_rows.unguarded`."""
    is_guarded = f'regexp_matches("{name}", {_quoted(HAS_GUARD)})'
    return f'CASE WHEN {is_guarded} THEN substr("{name}", 2) ELSE "{name}" END AS "{name}"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
