"""`comity work` as a command: what it refuses, and what it says when there is nothing to do."""

from __future__ import annotations

import inspect
import json
from typing import Annotated, Any

import pytest
import typer

from comity.doors.cli.options import takes
from tests.doors.command_line import CommandLine
from tests.walk.crawling import Place
from tests.walk.site import Web, page


@pytest.mark.parametrize(
    "words",
    [
        ("--processes", "0"),
        ("--processes", "65"),
        ("--hosts", "0"),
        ("--concurrency", "0"),
        ("--delay", "-1"),
        ("--max-minutes", "-1"),
        ("--state", ":memory:"),
        ("--into", "pages.exe"),
        ("--metrics", "nowhere"),
        ("--metrics", "127.0.0.1:70000"),
        ("https://example.com/",),
        ("--exclude", "docs/a"),
        ("--extract", "price FROM"),
        ("--header", "X-Token: 1"),
        ("--cookie", "a=b"),
        ("--auth", "bearer env:HOME"),
        ("--auth", "example.com: bearer env:NOT_SET_ANYWHERE"),
        ("--login", "nowhere.toml"),
        ("--subdomains",),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_made(comity: CommandLine, words: tuple[str, ...]) -> None:
    answer = comity("work", "--idle-exit", *words)
    assert (answer.code, answer.out) == (2, "")
    assert len(answer.err.splitlines()) == 1
    assert list(comity.folder.iterdir()) == []


def test_an_empty_table_is_no_failure_and_no_run(with_state: CommandLine) -> None:
    answer = with_state("work", "--idle-exit", "--json")
    assert (answer.code, answer.out, answer.err) == (0, "", "")


def test_a_state_that_cannot_be_opened_at_the_start_is_told_at_once(comity: CommandLine) -> None:
    answer = comity("work", "--json", "--state", "postgresql://somebody:secret@127.0.0.1:1/none")
    assert (answer.code, answer.out) == (1, "")
    told = json.loads(answer.err)
    assert told["error"] == "state_unavailable"
    assert "secret" not in answer.err


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_log_of_json_lines_ends_with_one(comity: CommandLine, processes: str) -> None:
    answer = comity("work", "--processes", processes, "--state", "postgresql://somebody:secret@127.0.0.1:1/none")
    last = json.loads(answer.err.splitlines()[-1])
    assert (answer.code, last["event"], last["level"]) == (1, "worker_failed", "error")
    assert last["error"] == "state_unavailable"
    assert "secret" not in answer.err


def test_a_worker_takes_the_options_of_a_crawl(web: Web, place: Place) -> None:
    """Patterns, columns, text and headers: each has its effect, in the worker and in its child process."""
    site = web.site(
        {"/": page("/a", "/private/b"), "/a": "<title>A</title><main><p>One sentence, and one more.</p></main>"}
    )
    place.env["SITE_TOKEN"] = "t0ken"
    assert place.comity("seeds", "add", site.url()).code == 0
    target = place.folder / "found.jsonl"
    words = ("--exclude", "/private/", "--text", "--extract", "css 'title::text' AS heading", "--into", target)
    words = (*words, "--header", f"{site.url('')}: X-Token: env:SITE_TOKEN")
    assert place.comity("work", "--idle-exit", *words).code == 0
    assert site.pages() == ["/", "/a"]
    assert {seen.headers.get("x-token") for seen in site.log} == {"t0ken"}
    found = {each["url"]: each for each in map(json.loads, target.read_text().splitlines())}
    assert found[site.url("/a")]["heading"] == "A"
    assert "One sentence" in found[site.url("/a")]["text"]


def test_options_that_need_seeds_are_explained(comity: CommandLine) -> None:
    answer = comity("work", "--header", "X-Token: 1")
    assert answer.err.startswith("comity: --header: a worker has no seeds, so this must name its host"), answer.err
    answer = comity("work", "--subdomains")
    assert answer.err.startswith("comity: --subdomains: a worker has no seeds"), answer.err


def test_a_group_of_options_is_one_argument_of_a_command() -> None:
    got: dict[str, Any] = {}
    colours = {
        "red": Annotated[str | None, typer.Option("--red")],
        "is_dark": Annotated[bool, typer.Option("--dark")],
    }

    @takes(colours=colours)
    def paint(wall: str, colours: Any = None, coats: int = 1) -> None:
        got.update(wall=wall, colours=colours, coats=coats)

    parameters = inspect.signature(paint).parameters
    assert list(parameters) == ["wall", "red", "is_dark", "coats"]
    assert (parameters["red"].default, parameters["is_dark"].default) == (None, False)
    paint(wall="north", red="light", is_dark=False, coats=2)
    assert got == {"wall": "north", "colours": {"red": "light", "is_dark": False}, "coats": 2}
