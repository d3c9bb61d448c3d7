"""The columns `text` and `markdown`: in every format, after a crash, in exports, and for crawls without them."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from warcio.archiveiterator import ArchiveIterator

from comity.model.page import PageRecord
from comity.store.export import export, read_export_target
from comity.store.reading import find_sources, open_reader
from comity.store.segment import SegmentWriter
from tests.store.light import compressed, nothing, page
from tests.store.samples import FOLDER, PLACES, json_rows, recovered, sql_rows, store_all

TEXT, MARKDOWN = "Title\n\nOne | two\n* three", "# Title\n\n| One | two |\n"
READABLE = (FOLDER, "pages.duckdb", "pages.jsonl", "pages.jsonl.gz")
PAGES = [
    page(0),
    page(1, text=TEXT, markdown=MARKDOWN),
    compressed(page(2, text="", markdown=None)),
    page(3, text=None, markdown="日本語 \ud83d"),
    nothing(4),
]
CONTENT = [(None, None), (TEXT, MARKDOWN), ("", None), (None, "日本語 \ufffd"), (None, None)]


def content_at(place: Path) -> list[tuple[str | None, str | None]]:
    if "warc" in place.name:
        return warc_content(place)
    if "csv" in place.name:
        with open_reader(find_sources(place)) as reader:
            return list(reader.rows("SELECT text, markdown FROM pages ORDER BY url"))
    rows = json_rows(place) if "jsonl" in place.name else sql_rows(place)
    return [(row["text"], row["markdown"]) for row in sorted(rows, key=lambda row: row["url"])]


def warc_content(path: Path) -> list[tuple[str | None, str | None]]:
    """What the JSON beside each response says; a page without such a record has no content."""
    found: dict[str, tuple[str | None, str | None]] = {}
    responses: dict[str, str] = {}
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            fields, kind = record.rec_headers, record.rec_type
            url = fields.get_header("WARC-Target-URI")
            if kind == "response":
                responses[fields.get_header("WARC-Record-ID")] = url
            if kind == "metadata" and fields.get_header("Content-Type") == "application/json":
                assert responses[fields.get_header("WARC-Concurrent-To")] == url
                values = json.loads(record.content_stream().read())
                found[url] = values.get("text"), values.get("markdown")
    return [found.get(record.url, (None, None)) for record in PAGES]


@pytest.mark.parametrize("place", PLACES)
def test_every_format_has_the_content(tmp_path: Path, place: str) -> None:
    store_all(tmp_path / place, PAGES)
    assert content_at(tmp_path / place) == CONTENT


@pytest.mark.parametrize("place", PLACES)
def test_a_crash_does_not_lose_the_content(tmp_path: Path, place: str) -> None:
    from comity.store.pages import open_sink

    store = open_sink(tmp_path / place, "machine:1:1:dead")
    folder = store.folder
    assert folder is not None
    segment = SegmentWriter(folder / "segment-machine-1-1-dead-000001.open")
    segment.append(PAGES)
    segment.leave()
    assert recovered(tmp_path / place, {record.url for record in PAGES}) == len(PAGES)
    assert content_at(tmp_path / place) == CONTENT


@pytest.mark.parametrize("source", READABLE)
@pytest.mark.parametrize("target", ["out.duckdb", "out.jsonl", "out.parquet", "out.warc"])
def test_exports_have_the_content(tmp_path: Path, source: str, target: str) -> None:
    store_all(tmp_path / source, PAGES)
    with open_reader(find_sources(tmp_path / source)) as reader:
        assert export(reader, read_export_target(tmp_path / target)) == len(PAGES)
    if target == "out.parquet":
        rows = duckdb.sql(f"SELECT text, markdown FROM '{tmp_path / target}' ORDER BY url").fetchall()
        assert rows == CONTENT
    else:
        assert content_at(tmp_path / target) == CONTENT


def test_large_content_does_not_wait_in_memory(tmp_path: Path) -> None:
    """Row groups end by the bytes of all large columns together."""
    large: list[PageRecord] = [
        page(number, text=f"{number} " * 200_000, markdown=f"{number}-" * 300_000) for number in range(60)
    ]
    store_all(tmp_path / FOLDER, large)
    groups = duckdb.sql(
        f"SELECT count(DISTINCT row_group_id) FROM parquet_metadata('{tmp_path / FOLDER}/part-*.parquet')"
    ).fetchall()
    assert groups[0][0] >= 2
    assert content_at(tmp_path / FOLDER) == sorted(
        ((record.text, record.markdown) for record in large),
        key=lambda pair: str(pair[0].split()[0]),  # type: ignore[union-attr]
    )


def test_parts_with_and_without_content_are_read_together(tmp_path: Path) -> None:
    store_all(tmp_path / FOLDER, [page(1)], "machine:1:1:aaaa")
    store_all(tmp_path / FOLDER, [page(2, text=TEXT)], "machine:2:2:bbbb")
    with open_reader(find_sources(tmp_path / FOLDER)) as reader:
        assert list(reader.rows("SELECT text, markdown FROM pages ORDER BY url")) == [(None, None), (TEXT, None)]
