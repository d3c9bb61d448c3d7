"""`comity pages`: SQL over what was crawled, bodies by URL, and other kinds of files."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from comity.store.pages import open_sink
from tests.doors.command_line import PATIENCE_S, CommandLine
from tests.doors.test_terminals import ANY_CODE, at_terminal
from tests.store.light import nothing, page
from tests.store.samples import as_kept, kept, store_all

PAGES = Path("comity-data/pages")
PICTURE = page(3, b"\x89PNG\0\xff", encoding=None, content_type="image/png")
WILD = page(4, b"one\x1b[31m two\r\nthree", title="a \x1b]0;title\x07 with <b>tags</b> [red]and brackets[/]")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z")
COUNT = "SELECT http_status, count(*) AS pages FROM pages GROUP BY 1 ORDER BY 1"


@pytest.fixture
def crawled(comity: CommandLine) -> CommandLine:
    """The command beside some pages."""
    store_all(comity.folder / PAGES, [page(1), nothing(2), PICTURE, WILD])
    return comity


def test_a_query_is_answered_by_a_table(crawled: CommandLine) -> None:
    lines = crawled.done("pages", "query", COUNT).lines
    assert [line.split() for line in lines if "─" not in line] == [["http_status", "pages"], ["200", "3"], ["404", "1"]]


def test_a_query_is_answered_in_other_forms(crawled: CommandLine) -> None:
    assert crawled.done("pages", "query", COUNT, "--into-format", "csv").lines == [
        "http_status,pages",
        "200,3",
        "404,1",
    ]
    rows = [{"http_status": 200, "pages": 3}, {"http_status": 404, "pages": 1}]
    assert crawled.done("pages", "query", COUNT, "--into-format", "json").document == rows
    assert crawled.json("pages", "query", COUNT) == {"rows": rows, "in_segments": 0, "parts_left_out": 0}


def test_times_end_in_z_whatever_the_form(crawled: CommandLine) -> None:
    ask = ("pages", "query", "SELECT url, crawl_time FROM pages ORDER BY url")
    rows = crawled.json(*ask)["rows"]
    assert all(TIME.fullmatch(row["crawl_time"]) for row in rows)
    assert crawled.done(*ask, "--into-format", "json").document == rows
    assert [json.loads(line) for line in crawled.done(*ask, "--into-format", "jsonl").lines] == rows
    assert all(TIME.search(line) for line in crawled.done(*ask, "--into-format", "csv").lines[1:])
    crawled.done("pages", "export", "all.jsonl")
    lines = (crawled.folder / "all.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["crawl_time"] for line in lines) == sorted(row["crawl_time"] for row in rows)
    assert all(TIME.fullmatch(row["crawl_time"]) for row in crawled.json("pages", "list"))
    assert TIME.fullmatch(crawled.json("pages", "body", page(1).url)["crawl_time"])


def test_parquet_goes_to_a_file(crawled: CommandLine) -> None:
    with (crawled.folder / "answer.parquet").open("wb") as file:
        done = crawled.finished("pages", "query", "FROM pages", "--into-format", "parquet", stdout=file)
    assert (done.code, done.err) == (0, "")
    again = crawled.done("pages", "query", COUNT, "--pages", "answer.parquet", "--into-format", "csv")
    assert again.lines[1:] == ["200,3", "404,1"]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("selec 1", 'Parser Error: syntax error at or near "selec"'),
        ("SELECT nope FROM pages", 'Binder Error: Referenced column "nope" not found'),
        ("DROP VIEW pages", "pages are read-only"),
        ("SELECT 1; SELECT 2", "write one SQL statement"),
        ("", "write one SQL statement"),
        ("FROM read_csv('/etc/passwd')", "only the table pages can be read"),
    ],
)
def test_a_bad_query_is_told_in_one_line(crawled: CommandLine, sql: str, reason: str) -> None:
    answer = crawled("pages", "query", sql)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"comity: {reason}")
    assert answer.err.count("\n") == 1
    answer = crawled("pages", "query", sql, "--json")
    assert json.loads(answer.err)["error"] == "bad_input"


def test_a_process_that_fails_says_nothing_else(crawled: CommandLine) -> None:
    answer = crawled.finished("pages", "query", "selec 1")
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)


def test_an_unknown_form_is_refused(crawled: CommandLine) -> None:
    answer = crawled("pages", "query", COUNT, "--into-format", "xml")
    assert answer.code == 2
    assert "--into-format" in answer.err


def test_a_table_is_bounded(crawled: CommandLine) -> None:
    answer = crawled("pages", "query", "SELECT range, repeat('x', 5000) FROM range(1500)")
    assert (answer.code, len(answer.lines)) == (0, 1002)
    assert max(map(len, answer.lines)) < 250
    assert answer.err == "Only the first 1,000 rows are shown; --into-format csv prints all.\n"
    assert len(crawled.done("pages", "query", "FROM range(1500)", "--into-format", "csv").lines) == 1501


@pytest.mark.parametrize("command", [("query", COUNT), ("body", "https://example.com/"), ("export", "x.jsonl")])
def test_where_there_are_no_pages_this_is_said(comity: CommandLine, command: tuple[str, ...]) -> None:
    answer = comity("pages", *command)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "comity: no pages can be read at comity-data/pages yet\n"
    assert list(comity.folder.iterdir()) == []


def test_a_list_without_pages_says_how_to_get_some(comity: CommandLine) -> None:
    assert "Crawl some: comity crawl URL" in comity.done("pages", "list").out
    assert comity.json("pages", "list") == []
    assert list(comity.folder.iterdir()) == []


def test_the_newest_pages_come_first(crawled: CommandLine) -> None:
    lines = crawled.done("pages", "list", "--limit", "3").lines
    assert [line.split()[0] for line in lines[2:]] == [page(number).url for number in (4, 3, 2)]
    assert "http_404" in lines[4]
    rows = crawled.json("pages", "list")
    assert [row["url"] for row in rows] == [page(number).url for number in (4, 3, 2, 1)]
    assert rows[3]["crawl_time"] == "2023-11-14T22:13:20.001Z"


def test_what_a_page_says_does_nothing_to_the_terminal(crawled: CommandLine) -> None:
    for command in (("list",), ("query", "SELECT title, body FROM pages")):
        out = crawled.done("pages", *command).out
        assert "\x1b" not in out
        assert "<b>tags</b> [red]and brackets[/]" in out


@pytest.mark.parametrize("limit", ["0", "-1", "1000001"])
def test_a_limit_has_bounds(crawled: CommandLine, limit: str) -> None:
    answer = crawled("pages", "list", "--limit", limit)
    assert (answer.code, answer.out) == (2, "")


def test_pages_that_cannot_be_read_yet_are_counted(crawled: CommandLine) -> None:
    store = open_sink(crawled.folder / PAGES, "machine:7:7:x")
    store.append([page(8), page(9)])
    for command in (("list",), ("query", COUNT), ("export", "x.jsonl")):
        answer = crawled("pages", *command)
        assert answer.code == 0
        assert answer.err == "2 pages of running or interrupted crawls cannot be read yet.\n"
    assert crawled.json("pages", "query", COUNT)["in_segments"] == 2
    store.close()


@pytest.mark.parametrize("options", [(), ("--raw",)])
def test_a_body_goes_to_a_pipe_as_it_is(crawled: CommandLine, options: tuple[str, ...]) -> None:
    for record in (page(1), PICTURE, WILD):
        with crawled.started("pages", "body", record.url, *options) as process:
            assert process.communicate(timeout=PATIENCE_S) == (record.body, b"")
        assert process.returncode == 0


def test_a_body_in_json_is_text_or_base64(crawled: CommandLine) -> None:
    assert crawled.json("pages", "body", page(1).url)["body"] == (page(1).body or b"").decode()
    picture = crawled.json("pages", "body", PICTURE.url)
    assert (picture["body"], picture["body_bytes"]) == (None, "iVBORwD/")


def test_the_newest_body_counts_however_the_url_is_spelled(crawled: CommandLine) -> None:
    newer = page(1, b"newer", crawl_time=1_800_000_000.0)
    moved = page(5, b"moved", final_url="https://example.com/new")
    store_all(crawled.folder / PAGES, [newer, moved, nothing(1, crawl_time=1_900_000_000.0)], "machine:9:9:x")
    for url in (page(1).url, "HTTPS://EXAMPLE.com:443/p/1#top"):
        assert crawled.json("pages", "body", url)["body"] == "newer"
    assert crawled.json("pages", "body", "https://example.com/new")["body"] == "moved"


def test_a_page_without_a_body_says_why(crawled: CommandLine) -> None:
    answer = crawled("pages", "body", page(2).url)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == f"comity: {page(2).url} was visited, but no body was stored: http_404\n"
    answer = crawled("pages", "body", "https://example.com/never")
    assert answer.err == "comity: https://example.com/never is not among the stored pages\n"


def test_what_is_taken_down_is_not_shown(crawled: CommandLine) -> None:
    crawled.done("takedown", "add", "https://example.com/p/1")
    assert [row["url"] for row in crawled.json("pages", "list")] == [page(number).url for number in (4, 3, 2)]
    assert crawled("pages", "body", page(1).url).code == 1
    assert crawled.json("pages", "query", "SELECT count(*) AS n FROM pages")["rows"] == [{"n": 3}]
    crawled.done("pages", "export", "x.jsonl")
    assert page(1).url not in (crawled.folder / "x.jsonl").read_text()
    crawled.done("takedown", "add", "example.com")
    assert crawled.json("pages", "list") == []
    assert "may be shown" in crawled.done("pages", "list").out


@pytest.mark.parametrize("target", ["copy", "x.duckdb", "x.jsonl", "x.jsonl.gz", "x.warc", "x.warc.gz"])
def test_pages_are_exported(crawled: CommandLine, target: str) -> None:
    assert crawled.done("pages", "export", target).out == f"4 pages written to {target}.\n"
    assert kept(crawled.folder / target) == as_kept([page(1), nothing(2), PICTURE, WILD])
    if target != "x.duckdb":
        answer = crawled("pages", "export", target)
        assert (answer.code, answer.err) == (2, f"comity: {target} already exists; name a new one\n")


def test_an_export_is_told_in_json(crawled: CommandLine) -> None:
    expected = {"pages": 4, "target": "x.duckdb", "in_segments": 0}
    assert crawled.json("pages", "export", "x.duckdb") == expected
    assert crawled.json("pages", "export", "x.duckdb") == expected | {"pages": 0}


def test_an_export_to_nowhere_is_refused(crawled: CommandLine) -> None:
    answer = crawled("pages", "export", "x.tsv")
    assert (answer.code, answer.out) == (2, "")
    assert ".jsonl.gz" in answer.err


def test_pages_may_be_elsewhere(crawled: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    crawled.done("pages", "export", "x.jsonl")
    assert len(crawled.json("pages", "list", "--pages", "x.jsonl")) == 4
    monkeypatch.setenv("COMITY_PAGES", "x.jsonl")
    assert len(crawled.json("pages", "list")) == 4
    answer = crawled("pages", "list", "--pages", "x.warc.gz")
    assert (answer.code, "cannot be queried" in answer.err) == (2, True)


@pytest.mark.parametrize("command", [("list",), ("body", page(1).url)])
def test_reading_makes_no_state(crawled: CommandLine, command: tuple[str, ...]) -> None:
    crawled.done("pages", *command)
    assert sorted(path.name for path in (crawled.folder / "comity-data").iterdir()) == ["pages"]


def test_at_a_terminal_a_body_is_made_harmless(crawled: CommandLine) -> None:
    code, shown = at_terminal(crawled, "pages", "body", WILD.url)
    assert (code, ANY_CODE.findall(shown)) == (0, [])
    assert shown.splitlines() == ["one\\x1b[31m two", "three"]
    code, shown = at_terminal(crawled, "pages", "body", WILD.url, "--raw")
    assert (code, ANY_CODE.findall(shown)) == (0, ["\x1b[31m"])


def test_octets_do_not_go_to_a_terminal_by_themselves(crawled: CommandLine) -> None:
    code, shown = at_terminal(crawled, "pages", "body", PICTURE.url)
    assert code == 2
    assert shown == f"comity: {PICTURE.url} is not text (image/png, 6 bytes); --raw prints the bytes\n"
    code, shown = at_terminal(crawled, "pages", "query", COUNT, "--into-format", "parquet")
    assert (code, "Parquet cannot be printed on a terminal" in shown) == (2, True)


@pytest.mark.roomy
def test_a_long_query_is_interrupted_at_once(crawled: CommandLine) -> None:
    endless = "SELECT count(*) FROM range(10000000000) WHERE md5(range::VARCHAR) = 'x'"
    with crawled.started("pages", "query", endless) as process:
        try:
            _wait_until_it_works(process.pid)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (130, b"", b"comity: interrupted\n")


def _wait_until_it_works(process: int) -> None:
    """Until it has burnt more time than it takes to begin: then only the query can be under way."""
    ends_at = time.monotonic() + PATIENCE_S
    while _seconds_burnt(process) < 1:
        assert time.monotonic() < ends_at
        time.sleep(0.05)


def _seconds_burnt(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("name", ["pages", "pages.duckdb"])
def test_damaged_pages_are_named(comity: CommandLine, name: str) -> None:
    place = comity.folder / name
    store_all(place, [page(number, os.urandom(5000)) for number in range(1, 30)])
    (file,) = [place] if place.is_file() else place.glob("part-*.parquet")
    size = file.stat().st_size
    with file.open("r+b") as damaged:
        for where in range(16_384, size - 16, 4096):  # the head and the end look whole
            damaged.seek(where)
            damaged.write(os.urandom(64))
    for command in (["list"], ["query", "SELECT sum(length(body)) FROM pages"], ["export", "out.jsonl"], ["verify"]):
        answer = comity("pages", *command, "--pages", str(place))
        if answer.code == 0:
            continue  # it did not look there
        assert answer.code == 1, (command, answer.err)
        if command == ["verify"] and not answer.err:
            assert "part-" in answer.out  # the parts that are damaged, or not in the file any more
        else:
            assert str(place) in answer.err
