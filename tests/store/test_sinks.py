"""Every kind of store, from the first page to what other programs read of it."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from comity.model.expression import VARCHAR, ExtractedValues, StoredColumn
from comity.store import pages as pages_module
from comity.store.formats.columns import NAMES
from comity.store.pages import PageStore, PartPace, open_sink
from comity.store.target import COLUMNS_NOTE
from tests.store.light import compressed, nothing, page
from tests.store.samples import FILES, FOLDER, HOLDER, PLACES, as_kept, json_rows, kept, left_over, sql_rows, store_all

SURROGATE = "\ud800"
HOSTILE = {
    "a binary body": page(1, b"\x89PNG\x00\xff\xfe\r\n\r\nWARC/1.1\r\n", encoding=None, content_type="image/png"),
    "an empty body": page(1, b""),
    "a body of NULs": page(1, b"\0" * 1000, encoding=None, content_type=None),
    "half a surrogate": page(1, title=f"a{SURROGATE}b", error=f"x{SURROGATE}", etag=f'"{SURROGATE}"'),
    "NUL in fields": page(1, title="a\0b", etag='"\0"', content_type="text/html\0"),
    "line breaks in fields": page(1, title="a\r\nb\n\nc\u2028d", etag='"\r\n\r\n"', last_modified="x\r\nSet-Cookie: y"),
    "quotes in fields": page(1, title="""'"\\`;--""", error="'); DROP TABLE pages; --"),
    "a title of many scripts": page(1, title="日本語 עברית 👩‍👩‍👧 ﷽"),
    "everything missing": nothing(1, final_url=None, content_type=None, etag=None, http_status=None),
    "a body that only claims to be UTF-8": page(1, b"caf\xe9 \xff\xfe", content_type="text/html; charset=utf-8"),
    "a compressed body": compressed(page(1)),
    "a compressed empty body": compressed(page(1, b"")),
    "a time to the microsecond": page(1, crawl_time=1_700_000_000.123456),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_kept_can_be_read_by_others(tmp_path: Path, place: str) -> None:
    pages = [page(number) for number in range(250)] + [nothing(900), compressed(page(901))]
    store_all(tmp_path / place, pages)
    assert kept(tmp_path / place) == as_kept(pages)
    assert left_over(tmp_path / place) == []


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", HOSTILE)
def test_no_page_is_too_strange_to_keep(tmp_path: Path, place: str, name: str) -> None:
    strange = HOSTILE[name]
    store_all(tmp_path / place, [page(0), strange, page(2)])
    found = kept(tmp_path / place)
    assert [url for url, _body in found] == [f"https://example.com/p/{number}" for number in range(3)]
    if "only claims" in name and ".warc" not in place:
        assert found[1][1] == "caf\ufffd \ufffd\ufffd".encode()
    else:
        assert found[1][1] == strange.body


@pytest.mark.parametrize("place", [FOLDER, "pages.duckdb", "pages.jsonl", "pages.jsonl.gz"])
@pytest.mark.parametrize("name", HOSTILE)
def test_every_column_comes_back_as_it_went_in(tmp_path: Path, place: str, name: str) -> None:
    record = HOSTILE[name]
    store_all(tmp_path / place, [record])
    (row,) = json_rows(tmp_path / place) if "jsonl" in place else sql_rows(tmp_path / place)
    assert tuple(row) == NAMES
    for column in set(NAMES) - {"body", "body_bytes", "crawl_time", "run_id"}:
        value = getattr(record, column)
        assert row[column] == (value.replace(SURROGATE, "\ufffd") if isinstance(value, str) else value)
    assert row["run_id"] == str(record.run_id)
    micros = round(record.crawl_time * 1e6)
    assert row["crawl_time"] in (micros, f"2023-11-14T22:13:20.{micros % 1_000_000:06d}Z")


@pytest.mark.parametrize("place", PLACES)
def test_a_body_of_ten_megabytes_is_kept_whole(tmp_path: Path, place: str) -> None:
    large = [
        page(1, b"0123456789" * 1_000_000),
        page(2),
        page(3, bytes(range(256)) * 40_000, content_type="x/y", encoding=None),
    ]
    store_all(tmp_path / place, large)
    assert kept(tmp_path / place) == as_kept(large)


@pytest.mark.parametrize("place", PLACES)
def test_pages_whose_visits_were_not_committed_never_appear(tmp_path: Path, place: str) -> None:
    store = open_sink(tmp_path / place, HOLDER)
    places = store.append([page(number) for number in range(10)])
    store.keep(places[::2])
    store.keep(store.append([page(10)]))
    store.close()
    assert kept(tmp_path / place) == as_kept(page(number) for number in (0, 2, 4, 6, 8, 10))
    assert left_over(tmp_path / place) == []


@pytest.mark.parametrize("place", PLACES)
def test_a_store_that_is_given_nothing_leaves_nothing(tmp_path: Path, place: str) -> None:
    store = open_sink(tmp_path / place, HOLDER)
    assert store.append([]) == []
    store.keep([])
    store.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", PLACES)
def test_a_batch_of_which_nothing_was_committed_leaves_no_part(tmp_path: Path, place: str) -> None:
    store = open_sink(tmp_path / place, HOLDER)
    store.append([page(1)])
    store.keep([])
    store.close()
    assert left_over(tmp_path / place) == []
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


@pytest.mark.parametrize("place", PLACES)
def test_a_second_run_adds_to_what_the_first_one_kept(tmp_path: Path, place: str) -> None:
    store_all(tmp_path / place, [page(1)], "machine:1:1:aaaa")
    store_all(tmp_path / place, [page(2), nothing(3)], "machine:2:2:bbbb")
    assert kept(tmp_path / place) == as_kept([page(1), page(2), nothing(3)])


@pytest.mark.parametrize("place", PLACES)
def test_many_parts_come_to_the_same_pages(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_module, "ROWS_PER_PART", 30)
    pages = [page(number) for number in range(200)]
    store = open_sink(tmp_path / place, HOLDER)
    for start in range(0, 200, 20):
        store.keep(store.append(pages[start : start + 20]))
    store.close()
    assert kept(tmp_path / place) == as_kept(pages)
    assert left_over(tmp_path / place) == []


def test_parts_can_be_read_while_the_crawl_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_module, "ROWS_PER_PART", 10)
    store = open_sink(tmp_path / FOLDER, HOLDER)
    for number in range(11):
        store.keep(store.append([page(number)]))
    store.keep(store.append([page(11)]))  # waits for the part before it
    assert len(kept(tmp_path / FOLDER)) == 10
    store.close()
    assert len(kept(tmp_path / FOLDER)) == 12


def test_a_slow_crawl_does_not_keep_its_readers_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_module, "SECONDS_PER_PART", 0.0)
    store = open_sink(tmp_path / FOLDER, HOLDER)
    for number in range(3):
        store.keep(store.append([page(number)]))
    store.close()
    assert len(list((tmp_path / FOLDER).glob("part-*"))) == 3


@pytest.mark.parametrize("place", FILES)
def test_what_was_in_a_file_before_stays_in_it(tmp_path: Path, place: str) -> None:
    store_all(tmp_path / "elsewhere" / place, [page(1)])
    (tmp_path / "elsewhere" / place).rename(tmp_path / place)
    store_all(tmp_path / place, [page(2)])
    assert kept(tmp_path / place) == as_kept([page(1), page(2)])


def test_a_last_line_without_its_end_is_ended_first(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text('{"url": "mine", "body": null, "body_bytes": null}')
    store_all(path, [page(1)])
    assert [row["url"] for row in json_rows(path)] == ["mine", page(1).url]


def test_a_store_may_be_given_a_plain_folder(tmp_path: Path) -> None:
    store = PageStore(tmp_path / FOLDER, HOLDER)
    store.keep(store.append([page(1)]))
    store.close()
    assert kept(tmp_path / FOLDER) == as_kept([page(1)])


def test_only_archives_ask_for_headers() -> None:
    assert [open_sink(place, HOLDER).wants_headers for place in PLACES] == [
        False, False, False, False, False, True, True, False
    ]  # fmt: skip


@pytest.mark.parametrize("place", [FOLDER, "pages.jsonl.gz", "pages.warc.gz"])
def test_the_same_pages_make_the_same_file(tmp_path: Path, place: str) -> None:
    pages = [page(number) for number in range(50)]
    made = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        store_all(folder / place, pages)
        made.append([path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()])
    assert len(made[0]) == 2  # pages, and what is noted about them
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("pace", "rows", "body_bytes", "age_s", "is_full"),
    [
        (PartPace(), 19_999, 0, 0.0, False),
        (PartPace(), 20_000, 0, 0.0, True),
        (PartPace(), 1, 0, 300.0, True),
        (PartPace(), 0, 0, 300.0, False),
        (PartPace(most_bytes=10), 1, 10, 0.0, True),
        (PartPace(least_rows=100, least_age_s=0.5), 100, 0, 0.4, False),
        (PartPace(least_rows=100, least_age_s=0.5), 99, 0, 9.0, False),
        (PartPace(least_rows=100, least_age_s=0.5), 100, 0, 0.5, True),
    ],
)
def test_when_a_part_ends(pace: PartPace, rows: int, body_bytes: int, age_s: float, is_full: bool) -> None:
    assert pace.is_full(rows, body_bytes, age_s) is is_full


def test_row_groups_are_as_small_as_a_reader_wants_them(tmp_path: Path) -> None:
    store = open_sink(tmp_path / "pages", HOLDER)
    store.pace(PartPace(most_group_bytes=1000))
    store.keep(store.append([page(number, b"x" * 300) for number in range(10)]))
    store.close()
    (part,) = (tmp_path / "pages").glob("*.parquet")
    about = pq.ParquetFile(part).metadata
    assert [about.row_group(index).num_rows for index in range(about.num_row_groups)] == [3, 3, 3, 1]


def test_a_csv_file_that_is_moved_away_meanwhile_is_begun_again_with_the_same_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, columns = tmp_path / "pages.csv", (StoredColumn("price", VARCHAR),)
    pages = [page(number)._replace(columns=ExtractedValues(columns, [f"€ {number}"])) for number in range(3)]
    synced: set[int] = set()
    sync = os.fsync
    monkeypatch.setattr("os.fsync", lambda descriptor: (synced.add(os.fstat(descriptor).st_ino), sync(descriptor)))
    store_all(where, pages[:1])
    store = open_sink(where, HOLDER)
    for one in pages[1:]:
        store.keep(store.append([one]))  # waits until the one before is written
    (note,) = tmp_path.rglob(COLUMNS_NOTE)
    assert note.stat().st_ino in synced, "a power cut must not leave it empty"
    where.rename(tmp_path / "old.csv")
    store.close()
    with where.open(newline="", encoding="utf-8") as file:
        rows = [(row["url"], row["price"], row["extracted"]) for row in csv.DictReader(file, strict=True)]
    assert rows == [(pages[1].url, "€ 1", ""), (pages[2].url, "€ 2", "")]
