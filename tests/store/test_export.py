"""Pages taken from one kind of store to another."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from comity.model.errors import BadInput, Remedy, RemedyCode
from comity.model.page import PageRecord
from comity.rules.csv_rows import unguarded
from comity.store import export as export_module
from comity.store.export import export, read_export_target
from comity.store.pages import open_sink
from comity.store.reading import find_sources, open_reader
from comity.store.target import read_target
from tests.store.light import compressed, nothing, page
from tests.store.samples import FILES, FOLDER, HOLDER, PLACES, as_kept, json_rows, kept, sql_rows, store_all

LATIN = page(
    4, "<p>café €".encode("cp1252"), encoding="windows-1252", content_type="text/html; charset=iso-8859-1", title="café"
)
MIXED = [
    page(1),
    compressed(page(2)),
    nothing(3),
    page(5, b"\x89PNG\0", encoding=None, content_type="image/png"),
    page(6, b""),
]


def exported(source: Path, target: Path) -> int:
    with open_reader(find_sources(source)) as reader:
        return export(reader, read_export_target(target))


@pytest.mark.parametrize("source", [FOLDER, "pages.duckdb", "pages.jsonl", "pages.csv", "pages.csv.gz"])
@pytest.mark.parametrize("target", PLACES)
def test_every_page_gets_there(tmp_path: Path, source: str, target: str) -> None:
    store_all(tmp_path / "from" / source, MIXED)
    assert exported(tmp_path / "from" / source, tmp_path / "to" / target) == len(MIXED)
    assert kept(tmp_path / "to" / target) == as_kept(MIXED)
    assert not [path for path in (tmp_path / "to").rglob("*") if path.name.startswith(".") or "spool" in path.name]


def test_every_column_gets_there(tmp_path: Path) -> None:
    records = [*MIXED, LATIN, page(7, title="a\0\n", etag='"x"', last_modified="y", redirect_count=3, error="z")]
    store_all(tmp_path / FOLDER, records)
    for target in ("copy", "copy.duckdb"):
        exported(tmp_path / FOLDER, tmp_path / target)
        expected = sql_rows(tmp_path / FOLDER)
        expected[3]["content_type"] = "text/html; charset=utf-8"  # as it is now
        assert sql_rows(tmp_path / target) == expected
    for ending in (".jsonl", ".csv", ".csv.gz"):
        exported(tmp_path / FOLDER, tmp_path / f"copy{ending}")
        exported(tmp_path / f"copy{ending}", tmp_path / f"back{ending.replace('.', '-')}")
        assert sql_rows(tmp_path / f"back{ending.replace('.', '-')}") == sql_rows(tmp_path / "copy"), ending


def test_one_parquet_file_can_be_had(tmp_path: Path) -> None:
    store_all(tmp_path / FOLDER, MIXED)
    assert exported(tmp_path / FOLDER, tmp_path / "all.parquet") == len(MIXED)
    assert (tmp_path / "all.parquet").is_file()
    with open_reader(find_sources(tmp_path / "all.parquet")) as reader:
        assert list(reader.rows("SELECT count(*) FROM pages")) == [(len(MIXED),)]


def test_many_pages_make_several_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_module, "ROWS_PER_PART", 10)
    pages = [page(number) for number in range(25)]
    store_all(tmp_path / FOLDER, pages)
    exported(tmp_path / FOLDER, tmp_path / "copy")
    assert len(list((tmp_path / "copy").glob("part-*"))) == 3
    assert kept(tmp_path / "copy") == as_kept(pages)


@pytest.mark.parametrize("name", [*FILES[:-1], "pages.parquet"])
def test_a_file_that_exists_is_not_written_over(tmp_path: Path, name: str) -> None:
    store_all(tmp_path / FOLDER, [page(1)])
    exported(tmp_path / FOLDER, tmp_path / name)
    before = (tmp_path / name).read_bytes()
    with pytest.raises(BadInput, match="already exists; name a new one"):
        read_export_target(tmp_path / name)
    assert (tmp_path / name).read_bytes() == before


def test_a_folder_with_pages_is_not_added_to(tmp_path: Path) -> None:
    store_all(tmp_path / FOLDER, [page(1)])
    with pytest.raises(BadInput, match="already exists; name a new one"):
        read_export_target(tmp_path / FOLDER)


def test_a_database_takes_only_what_it_lacks(tmp_path: Path) -> None:
    store_all(tmp_path / FOLDER, [page(1), page(2)], "machine:1:1:first")
    target = tmp_path / "pages.duckdb"
    assert exported(tmp_path / FOLDER, target) == 2
    assert exported(tmp_path / FOLDER, target) == 0
    store_all(tmp_path / FOLDER, [page(3), page(1, crawl_time=1_800_000_000.0)], HOLDER)
    assert exported(tmp_path / FOLDER, target) == 2
    assert [row["url"] for row in sql_rows(target)] == [page(number).url for number in (1, 1, 2, 3)]


def test_text_that_was_written_anew_says_so(tmp_path: Path) -> None:
    store_all(tmp_path / FOLDER, [page(1), LATIN])
    exported(tmp_path / FOLDER, tmp_path / "pages.warc")
    with (tmp_path / "pages.warc").open("rb") as file:
        found = {
            record.rec_headers.get_header("WARC-Target-URI"): (
                record.http_headers.get_header("Content-Type"),
                record.content_stream().read(),
            )
            for record in ArchiveIterator(file)
            if record.rec_type == "response"
        }
    assert found[LATIN.url] == ("text/html; charset=utf-8", "<p>café €".encode())
    assert found[page(1).url] == (page(1).content_type, page(1).body)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, "text/plain; charset=utf-8"),
        ("text/html", "text/html; charset=utf-8"),
        ('text/html; Charset="Shift_JIS"; x=y', "text/html; Charset=utf-8; x=y"),
    ],
)
def test_the_charset_is_replaced(tmp_path: Path, before: str | None, after: str) -> None:
    record = PageRecord(*LATIN)._replace(content_type=before)
    store_all(tmp_path / FOLDER, [record])
    exported(tmp_path / FOLDER, tmp_path / "pages.jsonl")
    (row,) = json_rows(tmp_path / "pages.jsonl")
    assert (row["content_type"], row["body"]) == (after, "<p>café €")


def test_what_is_hidden_is_not_exported(tmp_path: Path) -> None:
    store_all(tmp_path / FOLDER, [page(1), page(2)])
    with open_reader(find_sources(tmp_path / FOLDER), lambda url: url == page(1).url) as reader:
        assert export(reader, read_export_target(tmp_path / "x.jsonl")) == 1
    assert kept(tmp_path / "x.jsonl") == as_kept([page(2)])


def test_a_place_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for name in ("a.parquet", "a.jsonl", "a.csv", "a"):
        with pytest.raises(BadInput):
            read_export_target(tmp_path / "file" / name)


@pytest.mark.parametrize("name", [*PLACES, "kept.jsonl.gz/", "kept.warc.gz/", "kept.parquet/", "kept.duckdb/"])
def test_a_name_means_the_same_to_a_crawl_and_to_an_export(tmp_path: Path, name: str) -> None:
    """The same kind of files, with the same endings and the same columns."""
    sink = open_sink(f"{tmp_path}/crawl/{name}", HOLDER)
    sink.keep(sink.append([page(1)]))
    sink.close()
    store_all(tmp_path / FOLDER, [page(1)])
    with open_reader(find_sources(tmp_path / FOLDER)) as reader:
        assert export(reader, read_export_target(f"{tmp_path}/export/{name}")) == 1
    written, copied = (
        sorted(
            "part" + "".join(path.suffixes) if path.name.startswith("part-") else path.name
            for path in (tmp_path / way).rglob("*")
            if path.is_file() and "manifest" not in path.name
        )
        for way in ("crawl", "export")
    )
    assert written == copied
    assert (tmp_path / "crawl" / name).is_dir() == (tmp_path / "export" / name).is_dir()


def test_a_name_that_only_an_export_can_make_is_refused_to_a_crawl(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"name a folder, such as .*one.parquet/$") as refused:
        read_target(f"{tmp_path}/one.parquet")
    assert refused.value.remedy == Remedy(RemedyCode.EXPORT_PAGES, f"{tmp_path}/one.parquet")
    assert read_target(f"{tmp_path}/one.parquet/").is_folder
    assert read_export_target(f"{tmp_path}/one.parquet").is_one_file
    assert not read_export_target(f"{tmp_path}/one.parquet/").is_one_file


TRICKY = ("=1+1", "'=x", "''-", "@import", "-", "\t", "\r\n", "＝x", '"', "'", "a,b\nc", " x ", "NULL", "")


@pytest.mark.parametrize("name", ["all.csv", "all.csv.gz"])
def test_csv_has_every_text_as_it_was(tmp_path: Path, name: str) -> None:
    records = [page(number, title=text, etag=text, error=text or None) for number, text in enumerate(TRICKY)]
    records += [page(100 + number, text.encode(), content_type="text/plain") for number, text in enumerate(TRICKY)]
    store_all(tmp_path / FOLDER, records)
    exported(tmp_path / FOLDER, tmp_path / name)
    exported(tmp_path / name, tmp_path / "back")
    assert sql_rows(tmp_path / "back") == sql_rows(tmp_path / FOLDER)
    content = (tmp_path / name).read_bytes()
    text = (gzip.decompress(content) if name.endswith(".gz") else content).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert [unguarded(row["title"]) for row in rows] == [record.title for record in records]
    assert [unguarded(row["body"]).encode() for row in rows] == [record.body for record in records]
    assert not [row for row in rows if any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row.values())]
