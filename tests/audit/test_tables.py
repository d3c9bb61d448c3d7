from __future__ import annotations

import csv
from pathlib import Path

import pyarrow.parquet

from comity.model.audit import Finding, FindingCode, FoundOn, RobotsDecision, Severity
from comity.rules.csv_rows import unguarded
from comity.run.audit.tables import write_tables
from tests.audit.memory import SITE, MemoryAudit, failed_page, good_facts, good_page, link

NASTY = (
    '=HYPERLINK("x")',
    "'=already",
    'a "quoted", text',
    "two\nlines",
    "two\r\nlines",
    "",
    " spaced ",
    "ünïcode ☂",
    "\ud800",
)


def audit() -> MemoryAudit:
    pages = [good_page(f"/{n}", facts=good_facts(f"/{n}", titles=(title,))) for n, title in enumerate(NASTY)]
    return MemoryAudit(
        pages_=[*pages, failed_page("/gone")],
        links_=[link("/0", "/1", text=text, rel=("nofollow", "ugc")) for text in NASTY],
        decisions_=[RobotsDecision(f"{SITE}/0", False, "Disallow: /", 3, 1.5, "2026-01-01T00:00:00Z", "low")],
    )


FINDING = Finding(
    FindingCode.BROKEN_LINK,
    Severity.ERROR,
    "Broken links",
    "m",
    "r",
    (FoundOn(f"{SITE}/gone", "404", (f"{SITE}/0", f"{SITE}/1")), FoundOn(f"{SITE}/other")),
)


def test_csv_and_parquet_hold_the_same_rows(tmp_path: Path) -> None:
    written = write_tables(audit(), [FINDING], tmp_path)
    assert [(each.name, each.rows) for each in written] == [
        ("pages", len(NASTY) + 1), ("links", len(NASTY)), ("headers", 8 * len(NASTY)), ("hops", len(NASTY) + 1),
        ("findings", 2), ("decisions", 1),
    ]  # fmt: skip
    for table in written:
        rows = pyarrow.parquet.read_table(table.parquet).to_pylist()
        with Path(table.csv).open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        assert len(rows) == len(lines) == table.rows
        for row, line in zip(rows, lines, strict=True):
            assert list(row) == list(line)
            for name, value in row.items():
                if isinstance(value, str) or value is None:
                    assert (value or "") == unguarded(line[name]), (table.name, name)
    assert len(list(tmp_path.iterdir())) == 12  # nothing half-written is left


def test_values_have_their_types(tmp_path: Path) -> None:
    write_tables(audit(), [FINDING], tmp_path)
    pages = {row["url"]: row for row in pyarrow.parquet.read_table(tmp_path / "pages.parquet").to_pylist()}
    page = pages[f"{SITE}/0"]
    assert page["title"] == NASTY[0]
    assert (page["status"], page["in_sitemap"], page["elapsed_ms"]) == (200, True, 120.0)
    assert page["words"] == 250
    assert len(page["similarity"]) == 16
    assert pages[f"{SITE}/gone"]["title"] is None
    (decision,) = pyarrow.parquet.read_table(tmp_path / "decisions.parquet").to_pylist()
    assert decision == {
        "url": f"{SITE}/0", "allowed": False, "matched_rule": "Disallow: /", "line": 3, "crawl_delay": 1.5,
        "timestamp": "2026-01-01T00:00:00Z", "confidence": "low",
    }  # fmt: skip
    first, second = pyarrow.parquet.read_table(tmp_path / "findings.parquet").to_pylist()
    assert first["pages"] == f"{SITE}/0 {SITE}/1"
    assert (second["detail"], second["pages"]) == (None, None)


def test_an_empty_audit_has_empty_tables(tmp_path: Path) -> None:
    written = write_tables(MemoryAudit(), [], tmp_path / "new" / "folder")
    assert {each.rows for each in written} == {0}
    assert pyarrow.parquet.read_table(written[0].parquet).num_rows == 0


def test_tables_are_replaced(tmp_path: Path) -> None:
    write_tables(audit(), [FINDING], tmp_path)
    write_tables(MemoryAudit(), [], tmp_path)
    assert pyarrow.parquet.read_table(tmp_path / "pages.parquet").num_rows == 0
