"""What readers that are not ours find of pages that were stored."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb
from warcio.archiveiterator import ArchiveIterator

from comity.fetch.inflate import inflate_coded
from comity.model.page import PageRecord
from comity.rules.csv_rows import unguarded
from comity.store.formats.columns import NAMES
from comity.store.pages import PageStore, open_sink, recover
from comity.store.parts.manifest import joined_path

HOLDER = "machine-abc:12:34:cafe"
FOLDER = "pages"
FILES = (
    "pages.jsonl", "pages.jsonl.gz", "pages.csv", "pages.csv.gz", "pages.warc", "pages.warc.gz", "pages.duckdb"
)  # fmt: skip
PLACES = (FOLDER, *FILES)
_TEXTS = "{" + ", ".join(f"{name}: 'VARCHAR'" for name in NAMES) + "}"
Kept = list[tuple[str, bytes | None]]


def store_all(place: Path, records: Sequence[PageRecord], name: str = HOLDER) -> PageStore:
    """Append, commit and keep pages as a crawl does, and end."""
    store = open_sink(place, name)
    for start in range(0, len(records), 100):
        store.keep(store.append(records[start : start + 100]))
    store.close()
    return store


def recovered(place: Path, committed: Callable[[PageRecord], bool | None] | Iterable[str]) -> int:
    """Recover what dead processes left at a place; everybody is dead, and these URLs are committed."""
    if callable(committed):
        judge = committed
    else:
        urls = frozenset(committed)

        def judge(record: PageRecord) -> bool | None:
            return record.url in urls

    folder = open_sink(place, "nobody").folder
    return recover(folder, lambda _holder: True, lambda batch: [judge(record) for record in batch], inflate_coded)


def kept(place: Path) -> Kept:
    """Every page at a place as a reader of its kind finds it: URL and body as content, in the order of URLs."""
    if place.name.endswith(".jsonl") or place.name.endswith(".jsonl.gz"):
        found = [(row["url"], _bytes_of(row["body"], row["body_bytes"])) for row in json_rows(place)]
    elif ".csv" in place.name:
        found = [(row["url"], _bytes_of(row["body"], row["body_bytes"])) for row in csv_rows(place)]
    elif ".warc" in place.name:
        found = warc_pages(place)
    else:
        found = [(row["url"], _bytes_of(row["body"], row["body_bytes"])) for row in sql_rows(place)]
    return sorted(found, key=lambda pair: pair[0])


def json_rows(place: Path) -> list[dict[str, Any]]:
    content = place.read_bytes()
    plain = gzip.decompress(content) if place.name.endswith(".gz") else content
    return [json.loads(line) for line in plain.splitlines()]


def csv_rows(place: Path) -> list[dict[str, Any]]:
    """The rows of a CSV file; an empty cell is None, one in quotes is an empty text."""
    options = "header = true, all_varchar = true, allow_quoted_nulls = false, delim = ',', quote = '\"'"
    options += ", strict_mode = true, max_line_size = 32000000, buffer_size = 64000000"
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"SELECT * FROM read_csv('{place}', auto_detect = false, columns = {_TEXTS}, {options})")
        names = [column[0] for column in connection.description]
        rows = [dict(zip(names, row, strict=True)) for row in connection.fetchall()]
    return [{name: unguarded(text) if text else text for name, text in row.items()} for row in rows]


def sql_rows(place: Path) -> list[dict[str, Any]]:
    """The rows of a folder of parts or of a DuckDB file; times as microseconds."""
    is_file = place.name.endswith(".duckdb")
    source = "pages" if is_file else f"read_parquet('{place}/part-*.parquet')"
    with duckdb.connect(str(place) if is_file else ":memory:", read_only=is_file) as connection:
        connection.execute(f"SELECT * REPLACE (epoch_us(crawl_time) AS crawl_time) FROM {source} ORDER BY url")
        names = [column[0] for column in connection.description]
        return [dict(zip(names, row, strict=True)) for row in connection.fetchall()]


def warc_pages(place: Path) -> Kept:
    found: Kept = []
    with place.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            url = record.rec_headers.get_header("WARC-Target-URI")
            if record.rec_type == "response":
                found.append((url, record.content_stream().read()))
            elif record.rec_type == "metadata" and not record.rec_headers.get_header("WARC-Concurrent-To"):
                found.append((url, None))
    return found


def as_kept(records: Iterable[PageRecord]) -> Kept:
    """What `kept` should find of these pages."""
    return sorted(((record.url, record.body) for record in records), key=lambda pair: pair[0])


def left_over(place: Path) -> list[str]:
    """What lies about beside the place itself: nothing, once everything is where it belongs."""
    return sorted(
        str(path.relative_to(place.parent))
        for path in place.parent.rglob("*")
        if path.is_file() and path != place and not _belongs(place, path)
    )


def _belongs(place: Path, path: Path) -> bool:
    if place.is_dir():
        return path.name.startswith("part-") or path.name.startswith("manifest-")
    return path == joined_path(place)


def _bytes_of(text: str | None, content: str | bytes | None) -> bytes | None:
    if text is not None:
        return text.encode()
    return b64decode(content) if isinstance(content, str) else content
