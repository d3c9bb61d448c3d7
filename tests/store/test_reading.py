"""Asking the pages by SQL: all of them, and nothing else."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path

import duckdb
import pytest

from comity.model.errors import BadInput, ComityError, NotFound
from comity.store import pages as pages_module
from comity.store import reading
from comity.store.pages import open_sink
from comity.store.reading import find_sources, open_reader
from tests.store.light import compressed, nothing, page
from tests.store.samples import FOLDER, HOLDER, store_all

READABLE = (FOLDER, "pages.duckdb", "pages.jsonl", "pages.jsonl.gz")
COUNTED = [("200", "2"), ("404", "1")]
ALL = "SELECT url FROM pages ORDER BY url"


def urls(place: Path) -> list[str]:
    with open_reader(find_sources(place)) as reader:
        return [row[0] for row in reader.rows(ALL)]


@pytest.mark.parametrize("name", READABLE)
def test_pages_are_a_table_wherever_they_are(tmp_path: Path, name: str) -> None:
    picture = page(3, b"\x89PNG\0", encoding=None, content_type="image/png")
    store_all(tmp_path / name, [page(1), nothing(2), picture])
    with open_reader(find_sources(tmp_path / name)) as reader:
        found = list(reader.rows("SELECT url, body, body_bytes, epoch_us(crawl_time), error FROM pages ORDER BY url"))
    assert found == [
        (page(1).url, (page(1).body or b"").decode(), None, 1_700_000_000_001_000, None),
        (page(2).url, None, None, 1_700_000_000_002_000, "http_404"),
        (page(3).url, None, picture.body, 1_700_000_000_003_000, None),
    ]


def test_one_parquet_file_is_enough(tmp_path: Path) -> None:
    store_all(tmp_path / FOLDER, [page(1)])
    (part,) = (tmp_path / FOLDER).glob("*.parquet")
    part.rename(tmp_path / "alone.parquet")
    assert urls(tmp_path / "alone.parquet") == [page(1).url]


@pytest.mark.parametrize("folder", ["a b", "it's", "a[1]*", "日本", "what?"])
@pytest.mark.parametrize("name", READABLE)
def test_a_folder_may_be_called_anything(tmp_path: Path, folder: str, name: str) -> None:
    place = tmp_path / folder / name
    if (folder, name) == ("what?", "pages.duckdb"):  # where DuckDB itself is lost, this is said at once
        with pytest.raises(BadInput, match="question mark"):
            open_sink(place, HOLDER)
        return
    store_all(place, [page(1)])
    assert urls(place) == [page(1).url]


@pytest.mark.parametrize("name", READABLE)
def test_pages_in_finished_parts_are_seen_before_they_are_joined(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_all(tmp_path / name, [page(1)], "machine:1:1:first")
    monkeypatch.setattr(pages_module, "join_parts", lambda _target, _wait_s: 1)
    store_all(tmp_path / name, [page(2)])
    assert urls(tmp_path / name) == [page(1).url, page(2).url]


def test_a_part_that_is_loaded_but_not_yet_taken_away_is_seen_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda path, missing_ok=False: None)
        store_all(tmp_path / "pages.duckdb", [page(1)])
    assert list((tmp_path / "pages.duckdb.spool").glob("part-*"))
    for segment in (tmp_path / "pages.duckdb.spool").glob("segment-*"):
        segment.unlink()
    assert urls(tmp_path / "pages.duckdb") == [page(1).url]


@pytest.mark.parametrize("name", READABLE)
def test_pages_that_cannot_be_read_yet_are_counted(tmp_path: Path, name: str) -> None:
    store_all(tmp_path / name, [page(1)], "machine:1:1:first")
    store = open_sink(tmp_path / name, HOLDER)
    store.keep(store.append([compressed(page(number)) for number in range(7)]))
    sources = find_sources(tmp_path / name)
    assert sources.in_segments == 7
    with open_reader(sources) as reader:
        assert list(reader.rows(ALL)) == [(page(1).url,)]
    store.close()
    assert find_sources(tmp_path / name).in_segments == 0


@pytest.mark.parametrize("name", READABLE)
def test_where_there_are_no_pages_this_is_said(tmp_path: Path, name: str) -> None:
    sources = find_sources(tmp_path / name)
    assert sources.is_empty
    with pytest.raises(NotFound, match=r"no pages can be read at .* yet"), open_reader(sources):
        pass
    assert list(tmp_path.iterdir()) == []


def test_pages_of_which_none_can_be_read_yet_are_counted_too(tmp_path: Path) -> None:
    store = open_sink(tmp_path / FOLDER, HOLDER)
    store.append([page(1), page(2)])
    with pytest.raises(NotFound, match="2 can be read when"), open_reader(find_sources(tmp_path / FOLDER)):
        pass
    store.close()


@pytest.mark.parametrize(("name", "reason"), [("x.warc.gz", "cannot be queried"), ("x.tsv", "read from a folder")])
def test_what_sql_cannot_read_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        find_sources(tmp_path / name)


def test_a_database_without_pages_is_told(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "x.duckdb")) as connection:
        connection.execute("CREATE TABLE other (number INTEGER)")
    with pytest.raises(NotFound, match="has no table pages"), open_reader(find_sources(tmp_path / "x.duckdb")):
        pass


@pytest.mark.parametrize("name", ["x.duckdb", "x.parquet"])
def test_a_file_that_is_broken_is_told_in_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"rubbish " * 100)
    with pytest.raises(ComityError) as caught, open_reader(find_sources(tmp_path / name)) as reader:
        list(reader.rows(ALL))
    assert "\n" not in str(caught.value)


def test_a_line_that_is_being_written_is_not_there_yet(tmp_path: Path) -> None:
    store_all(tmp_path / "pages.jsonl", [page(1), page(2)])
    content = (tmp_path / "pages.jsonl").read_bytes()
    (tmp_path / "pages.jsonl").write_bytes(content[:-50])
    assert urls(tmp_path / "pages.jsonl") == [page(1).url]


@pytest.mark.parametrize("name", READABLE)
def test_what_is_hidden_is_in_no_answer(tmp_path: Path, name: str) -> None:
    moved = page(3, final_url="https://secret.example/")
    store_all(tmp_path / name, [page(1), page(2), moved])
    with open_reader(find_sources(tmp_path / name), lambda url: "/p/2" in url or "secret" in url) as reader:
        assert list(reader.rows(ALL)) == [(page(1).url,)]


@pytest.mark.parametrize(
    "sql",
    [
        "DROP VIEW pages",
        "DELETE FROM pages",
        "CREATE TABLE x (a INTEGER)",
        "COPY pages TO 'out.csv'",
        "COPY (SELECT 1) TO 'out.csv'",
        "ATTACH 'out.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "PRAGMA version",
        "EXPLAIN ANALYZE SELECT 1",
        "SELECT 1; DROP VIEW pages",
        "SELECT 1; SELECT 2",
        "SELECT 1) TO 'out.csv' --",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM read_parquet('https://127.0.0.1:1/x.parquet')",
        "selec 1",
        "SELECT nothing FROM pages",
        "SELECT * FROM nowhere",
        "",
        ";",
        "-- only a remark",
    ],
)
def test_a_query_that_does_more_than_read_pages_is_refused_in_one_line(tmp_path: Path, sql: str) -> None:
    store_all(tmp_path / FOLDER, [page(1)])
    before = sorted(tmp_path.rglob("*"))
    with open_reader(find_sources(tmp_path / FOLDER)) as reader:
        for ask in (reader.ask, lambda text: reader.copy(text, "csv", BytesIO())):
            with pytest.raises(ComityError) as caught:
                ask(sql)
            assert "\n" not in str(caught.value)
        assert list(reader.rows(ALL)) == [(page(1).url,)]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("sql", "names", "rows"),
    [
        (
            "SELECT http_status AS s, count(*) AS n FROM pages GROUP BY 1 ORDER BY 1",
            ["s", "n"],
            [("200", "2"), ("404", "1")],
        ),
        ("FROM pages SELECT url ORDER BY url DESC LIMIT 1;", ["url"], [(page(3).url,)]),
        ("WITH a AS (SELECT 1 AS b) SELECT b, b FROM a -- done", ["b", "b_1"], [("1", "1")]),
        ("SELECT error FROM pages WHERE error IS NULL LIMIT 1", ["error"], [(None,)]),
        ("SELECT max(crawl_time) AS t FROM pages", ["t"], [("2023-11-14 22:13:20.003+00",)]),
        ("SHOW TABLES", ["name"], [("pages",)]),
        ("SELECT url FROM pages WHERE false", ["url"], []),
        ("SELECT column_name FROM (DESCRIBE pages) LIMIT 1", ["column_name"], [("url",)]),
    ],
)
def test_a_query_is_answered(tmp_path: Path, sql: str, names: list[str], rows: list[tuple[str | None, ...]]) -> None:
    store_all(tmp_path / FOLDER, [page(1), nothing(2), page(3)])
    with open_reader(find_sources(tmp_path / FOLDER)) as reader:
        found, answer = reader.ask(sql)
        assert (found, list(answer)) == (names, rows)


def test_answers_are_written_in_other_forms(tmp_path: Path) -> None:
    store_all(tmp_path / FOLDER, [page(1), page(2)])
    answers = {}
    with open_reader(find_sources(tmp_path / FOLDER)) as reader:
        for output in reading.OUTPUTS:
            answers[output] = BytesIO()
            reader.copy("SELECT url, http_status FROM pages ORDER BY url", output, answers[output])
    assert answers["csv"].getvalue().decode() == f"url,http_status\n{page(1).url},200\n{page(2).url},200\n"
    assert json.loads(answers["json"].getvalue())[1] == {"url": page(2).url, "http_status": 200}
    (tmp_path / "answer.parquet").write_bytes(answers["parquet"].getvalue())
    assert urls(tmp_path / "answer.parquet") == [page(1).url, page(2).url]


def test_a_query_that_needs_too_much_memory_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MEMORY_LIMIT", "20MB")
    store_all(tmp_path / FOLDER, [page(1)])
    with open_reader(find_sources(tmp_path / FOLDER)) as reader, pytest.raises(ComityError, match="more than 20MB"):
        reader.ask("SELECT string_agg(repeat('x', 1000), '') FROM range(1000000)")


def test_nothing_is_left_of_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading.tempfile, "tempdir", str(tmp_path))
    store_all(tmp_path / FOLDER, [page(1)])
    with open_reader(find_sources(tmp_path / FOLDER)) as reader:
        reader.copy(ALL, "csv", BytesIO())
    assert [path.name for path in tmp_path.iterdir()] == [FOLDER]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b",
        "SELECT count(*) FROM range(10000000000) WHERE md5(range::VARCHAR) = 'x'",
    ],
)
def test_a_query_can_be_interrupted(tmp_path: Path, sql: str) -> None:
    store_all(tmp_path / FOLDER, [page(1)])
    program = f"""
from pathlib import Path
from comity.store.reading import find_sources, open_reader
try:
    with open_reader(find_sources(Path({str(tmp_path / FOLDER)!r}))) as reader:
        print("begun", flush=True)
        reader.ask({sql!r})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.3)  # the query itself is under way by now; if it is not, the interruption comes before it
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(60) == 0
        finally:
            process.kill()
        assert process.stdout.read() == "interrupted\n"
