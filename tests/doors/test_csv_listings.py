"""`--csv`: the rows of every listing, with the names and values of its JSON."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from comity.doors.schemas.decisions import TakedownView
from comity.doors.schemas.hosts import ListedHost
from comity.doors.schemas.sources import SourceRunView, SourceView
from comity.rules.csv_rows import unguarded
from tests.doors.command_line import Answer, CommandLine

LISTINGS: list[tuple[tuple[str, ...], Any]] = [
    (("domains", "list"), ListedHost),
    (("domains", "top"), ListedHost),
    (("takedown", "list"), TakedownView),
    (("sources", "list"), SourceView),
    (("sources", "logs"), SourceRunView),
]


def rows_of(answer: Answer) -> list[dict[str, str]]:
    assert "\r\n" in answer.out
    return list(csv.DictReader(io.StringIO(answer.out, newline=""), strict=True))


def as_cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.fixture
def filled(with_state: CommandLine) -> CommandLine:
    with_state.add_host(
        "a.example", status="blocked", pages_crawled=2, images_stored=1, image_yield_rate=0.5,
        last_crawled_at="2026-02-05 14:30:00.000000", block_reason='=cmd|"/c calc", she said\nno',
    )  # fmt: skip
    with_state.add_host("b.example", pages_crawled=1, image_yield_rate=0.0)
    with_state.done("takedown", "add", "gone.example", "--reason", "asked, politely")
    with_state.done("sources", "add", "https://a.example/jobs", "--org-name", "Ärzte, e. V.")
    return with_state


@pytest.mark.parametrize(
    ("command", "schema"), LISTINGS, ids=lambda each: " ".join(each) if type(each) is tuple else ""
)
def test_csv_has_the_fields_and_values_of_the_json(filled: CommandLine, command: tuple[str, ...], schema: Any) -> None:
    documents = filled.json(*command)
    documents = documents["sources"] if isinstance(documents, dict) else documents
    answer = filled.done(*command, "--csv")
    assert answer.out.partition("\r\n")[0].split(",") == list(schema.model_fields)
    rows = rows_of(answer)
    assert len(rows) == len(documents)
    for row, document in zip(rows, documents, strict=True):
        for name, value in document.items():
            if not isinstance(value, dict | list):
                assert unguarded(row[name]) == as_cell(value), name


def test_a_reason_that_looks_like_a_formula_is_only_text(filled: CommandLine) -> None:
    row = rows_of(filled.done("domains", "list", "--status", "blocked", "--csv"))[0]
    assert row["block_reason"] == '\'=cmd|"/c calc", she said\nno'


@pytest.mark.parametrize(("command", "_schema"), LISTINGS, ids=lambda each: "")
def test_without_rows_there_is_still_a_head_and_no_sentence(
    comity: CommandLine, command: tuple[str, ...], _schema: Any
) -> None:
    assert comity.done(*command, "--csv").out.count("\r\n") == 1
    assert list(comity.folder.iterdir()) == []


@pytest.mark.parametrize("command", [each for each, _schema in LISTINGS] + [("pages", "list")])
def test_one_command_writes_one_format(with_state: CommandLine, command: tuple[str, ...]) -> None:
    answer = with_state(*command, "--csv", "--json")
    assert answer.code == 2
    assert "--csv and --json cannot be combined" in answer.err


def test_the_bytes_are_utf_8_wherever_they_go(filled: CommandLine) -> None:
    with filled.started(
        "sources", "list", "--csv", environment={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    ) as process:
        out, _err = process.communicate(timeout=60)
    assert "Ärzte, e. V." in out.decode()
