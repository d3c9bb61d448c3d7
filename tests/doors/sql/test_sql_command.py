"""`comity sql`: statements as arguments, from a file and by a pipe; what it prints, and how it ends."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest

from comity.doors.cli.sql import _KEYWORDS, _completions, _ShownProgress
from comity.rules.sql.options import OPTIONS
from comity.run.sql.statement import StatementSummary
from comity.walk.crawl.progress import Progress
from tests.doors.command_line import CommandLine
from tests.walk.site import Web, page


def test_statements_and_formats(comity: CommandLine, web: Web) -> None:
    site = web.site({"/a": page()})
    statement = f"CRAWL (SELECT unnest(['{site.url('/a')}', 'not a url'])) INTO pages WITH (default_crawl_delay 0)"
    answer = comity("sql", "shop.duckdb", statement, "--allow-network", "127.0.0.0/8", "--json")
    assert (answer.code, answer.document[0]["pages"], answer.document[0]["not_addresses"]) == (0, 1, 1)
    assert answer.err == "1 value of the query is not a URL: not a url\n"
    odd = "SELECT 'nan'::DOUBLE AS n, '\\x00\\xFF'::BLOB AS b, [1.5::DOUBLE] AS l, 'a,\"b' AS q, NULL AS z"
    assert comity("sql", "shop.duckdb", odd, "--json").document == [
        {"n": None, "b": "00ff", "l": [1.5], "q": 'a,"b', "z": None}
    ]
    answer = comity("sql", "shop.duckdb", "SELECT 'a,\"b' AS q, NULL AS z", "--csv")
    assert list(csv.reader(io.StringIO(answer.out))) == [["q", "z"], ['a,"b', ""]]
    assert comity("sql", "shop.duckdb", "SELEC 1").code == 1
    answer = comity("sql", "shop.duckdb", "CRAWL (SELECT 1) INTO")
    assert (answer.code, "line 1, column 22" in answer.err) == (2, True)


def test_every_statement_of_a_script_prints_its_result(comity: CommandLine) -> None:
    """Also between statements of our own; what has no result, such as SET, prints nothing."""
    script = (
        "CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (7), (8); SELECT x FROM t ORDER BY x; LOAD crawler; "
        "SELECT x FROM t WHERE false; SET crawler_timeout_ms = 2000; SELECT current_setting('crawler_timeout_ms')"
    )
    printed = [line.strip(" ─") for line in comity("sql", "shop.duckdb", script).lines]
    assert list(filter(None, printed)) == [
        "Count",
        "2",
        "x",
        "7",
        "8",
        "x",
        "current_setting('crawler_timeout_ms')",
        "2000",
    ]
    plain = comity("sql", "shop.duckdb", "SELECT 1 AS one; SET threads = 1; SELECT 2 AS two").lines
    assert [line.strip(" ─") for line in plain if line.strip(" ─")] == ["one", "1", "two", "2"]
    assert comity("sql", "shop.duckdb", "SELECT 1 AS one; SELECT 2 AS two", "--json").document == [{"two": 2}]


def test_values_are_printed_as_sql_says_them(comity: CommandLine) -> None:
    values = (
        "true AS b, [DATE '2026-01-02', NULL] AS l, {'x': 1.50::DECIMAL(5,2), 'y': 'it''s'} AS s, '\\x00'::BLOB AS h"
    )
    printed = comity("sql", "shop.duckdb", f"SELECT {values}, NULL AS n").lines[-1].split("  ")
    assert [cell.strip() for cell in printed if cell.strip()] == [
        *("true", "['2026-01-02', NULL]", "{'x': 1.50, 'y': 'it''s'}", "00", "NULL"),
    ]
    written = comity("sql", "shop.duckdb", f"SELECT {values}, NULL AS n", "--csv").out
    assert list(csv.reader(io.StringIO(written)))[1] == [
        *("true", "['2026-01-02', NULL]", "{'x': 1.50, 'y': 'it''s'}", "00", ""),
    ]


def test_a_host_that_is_not_asked_even_for_its_robots_txt_ends_the_statement(comity: CommandLine) -> None:
    """All that such a host has to settle is that request; the statement waited for it forever."""
    statement = "SELECT url FROM sitemap('http://127.0.0.1:22/')"
    answer = comity("sql", "shop.duckdb", statement, "--allow-network", "127.0.0.0/8", "--json")
    assert (answer.code, answer.document) == (0, [])


def test_a_prompt_by_a_pipe(comity: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("script.sql").write_text("CREATE TABLE read (x INTEGER);")
    typed = ".read script.sql\n.tables\n.help\n.nope\nSELECT 40 +\n2 AS answer;\nSELECT 'no semicolon'"
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    answer = comity("sql")
    assert answer.code == 0
    printed = [line.strip() for line in answer.lines]
    assert {"read        0", "42", "no semicolon", "SELECT url, http_status FROM pages;"} <= set(printed)
    assert ".nope is not known" in answer.err


@pytest.mark.parametrize(
    "typed", ["SELEC 1;\nCREATE TABLE t (x INTEGER);", ".read none.sql\nCREATE TABLE t (x INTEGER);"]
)
def test_an_error_in_a_pipe_ends_it(comity: CommandLine, monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert comity("sql", "shop.duckdb").code != 0
    assert comity("sql", "shop.duckdb", "SELECT count(*) AS n FROM duckdb_tables()", "--json").document == [{"n": 0}]


@pytest.mark.parametrize("by_pipe", [False, True])
def test_a_crawl_of_a_private_network_that_was_not_allowed_fails(
    comity: CommandLine, monkeypatch: pytest.MonkeyPatch, by_pipe: bool
) -> None:
    statement = "CRAWL (SELECT 'http://127.0.0.1:8080/x') INTO pages"
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{statement};"))
    answer = comity("sql", "shop.duckdb", *([] if by_pipe else [statement]))
    assert answer.code == 1
    assert "127.0.0.1:8080 was not crawled: address_refused" in answer.err
    assert "--allow-network" in answer.err


def test_the_help_names_one_default_of_the_state(comity: CommandLine) -> None:
    answer = comity("sql", "--help")
    assert "beside FILE" in " ".join(answer.out.replace("│", " ").split())
    assert "COMITY_STATE" not in answer.out


def test_a_file_may_have_commands_of_the_prompt(comity: CommandLine) -> None:
    """Scripts for DuckDB's shell have `.timer on`, for example."""
    Path("script.sql").write_text(
        ".timer on\n-- a comment;\nCREATE TABLE one (x INTEGER);\nSELECT '\n.tables\n' AS said;\n  .tables\n\n"
        "SELECT .5 AS n;\n.quit\nSELECT 'not run';"
    )
    answer = comity("sql", "shop.duckdb", "--read", "script.sql")
    assert answer.code == 0
    assert [line.strip() for line in answer.lines if "──" not in line] == [
        *("said", ".tables"),
        *("table_name  rows", "one         0"),
        *("n", "0.5"),
    ]
    assert ".timer is not known" in answer.err
    Path("script.sql").write_text(".mode markdown\n\nFROM nothing;")
    assert comity("sql", "shop.duckdb", "--read", "script.sql").err.count("line 3 of script.sql") == 1


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("CRA", ["CRAWL (SELECT", "CRAWLING MERGE INTO"]),
        ("crawl_d", ["crawl_delay_ms"]),
        ("stre", ["STREAM (SELECT"]),
        ("", []),
    ],
)
def test_completion_prefers_the_case_that_was_typed(typed: str, found: list[str]) -> None:
    assert _completions(typed, [*_KEYWORDS, *OPTIONS]) == found


def test_an_error_in_a_file_names_its_line(comity: CommandLine) -> None:
    Path("script.sql").write_text(
        "CREATE TABLE one (x INTEGER);\n-- ;\nINSERT INTO one\nVALUES (1);\n\nFROM nothing;\n"
    )
    answer = comity("sql", "shop.duckdb", "--read", "script.sql")
    assert (answer.code, [line.strip(" ─") for line in answer.lines]) == (1, ["Count", "", "1"])  # of the INSERT
    assert "line 6 of script.sql: Catalog Error" in answer.err
    assert "the 2 statements before it ran" in answer.err
    assert comity("sql", "shop.duckdb", "SELECT count(*) AS n FROM one", "--json").document == [{"n": 1}]


def test_an_error_in_a_statement_of_several_lines_names_its_line(comity: CommandLine) -> None:
    assert "line 3: Binder Error" in comity("sql", "shop.duckdb", "SELECT\n 1,\n nope").err
    assert comity("sql", "shop.duckdb", "SELECT nope").err.startswith("comity: Binder Error")


def test_a_file_that_another_process_has_open(comity: CommandLine, tmp_path: Path) -> None:
    opened = f"c = duckdb.connect({str(tmp_path / 'busy.duckdb')!r}); print('open', flush=True)"
    holding = f"import duckdb, sys; {opened}; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        answer = comity("sql", str(tmp_path / "busy.duckdb"), "SELECT 1")
        process.communicate(b"")
    assert answer.code == 1
    assert f"is open in process {process.pid}; close it there" in answer.err


def test_a_wait_for_another_process_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    shown = _ShownProgress()
    for _time in range(3):
        shown.show(Progress(0.0), StatementSummary(waits_for=("a.example", "b.example")))
    assert capsys.readouterr().err == "waiting for another process that is crawling a.example, b.example\n"
    shown.clear()
