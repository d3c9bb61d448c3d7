"""Seeds by hand and by the file: all of them, or a line that says which one is wrong."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.doors.command_line import STATE, CommandLine


def test_hosts_and_urls_are_added_and_counted(comity: CommandLine) -> None:
    report = comity.json(
        "seeds", "add", "example.com", "https://www.Example.com/news", "other.example", "--source", "me"
    )
    assert report == {"seeds_read": 3, "hosts_given": 2, "hosts_new": 2, "urls_queued": 1, "taken_down": []}
    assert sorted(comity.rows("SELECT domain, status, source, is_seeded FROM domains")) == [
        ("example.com", "pending", "me", 1),
        ("other.example", "pending", "me", 1),
    ]
    assert comity.rows("SELECT url, state FROM domain_frontier") == [("https://www.example.com/news", 0)]
    again = comity.done("seeds", "add", "example.com", "new.example").out
    assert again.startswith("1 new host, 1 already known.")


def test_the_state_may_be_named_on_both_sides_and_in_the_environment(
    comity: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    comity.done("seeds", "add", "a.example", "--state", "one.db")
    comity.done("--state", "two.db", "seeds", "add", "b.example")
    comity.done("--state", "no.db", "seeds", "add", "c.example", "--state", f"sqlite:///{comity.folder}/three.db")
    monkeypatch.setenv("COMITY_STATE", "four.db")
    comity.done("seeds", "add", "d.example")
    monkeypatch.setenv("COMITY_DATABASE_URL", "sqlite:///five.db")
    comity.done("seeds", "add", "e.example")
    names = ("one", "two", "three", "four", "five")
    found = [comity.json("domains", "list", "--state", f"{name}.db") for name in names]
    assert [[line["domain"] for line in lines] for lines in found] == [[f"{letter}.example"] for letter in "abcde"]
    assert sorted(path.name for path in comity.folder.glob("*.db")) == sorted(f"{name}.db" for name in names)


def test_what_is_taken_down_is_left_out_and_named(comity: CommandLine) -> None:
    comity.done("takedown", "add", "gone.example")
    answer = comity("seeds", "add", "gone.example", "https://sub.gone.example/x", "here.example")
    assert answer.code == 0
    assert answer.out.startswith("1 new host.")
    assert answer.err == "Skipped because of a takedown: gone.example, sub.gone.example.\n"
    assert comity.json("seeds", "add", "gone.example")["taken_down"] == ["gone.example"]


def test_a_list_may_hold_hosts_urls_ranks_comments_and_blanks(comity: CommandLine) -> None:
    lines = [
        "\ufeff# my hosts",
        "",
        "a.example\r",
        "  b.example  ",
        "3,c.example",
        "https://d.example/start",
        "4,a.example",
    ]
    Path("tranco_20260205.csv").write_text("\n".join(lines))
    report = comity.json("seeds", "load", "tranco_20260205.csv")
    assert report == {
        "seeds_read": 5,
        "hosts_given": 4,
        "hosts_new": 4,
        "urls_queued": 1,
        "taken_down": [],
        "lines_skipped": 0,
        "skipped": [],
    }
    assert sorted(comity.rows("SELECT domain, seed_rank, source FROM domains")) == [
        ("a.example", 4, "tranco_20260205"),
        ("b.example", None, "tranco_20260205"),
        ("c.example", 3, "tranco_20260205"),
        ("d.example", None, "tranco_20260205"),
    ]


def test_a_list_comes_through_a_pipe(comity: CommandLine) -> None:
    answer = comity.finished("seeds", "load", "-", "--source", "pipe", given=b"a.example\nb.example")
    assert (answer.code, answer.err) == (0, "")
    assert sorted(comity.rows("SELECT domain, source FROM domains")) == [("a.example", "pipe"), ("b.example", "pipe")]


def thousand_lines_with_a_bad_one() -> str:
    return "".join("not a host\n" if number == 501 else f"h{number}.example\n" for number in range(1, 1001))


def test_one_bad_line_of_a_thousand_is_named_and_nothing_is_written(comity: CommandLine) -> None:
    Path("seeds.txt").write_text(thousand_lines_with_a_bad_one())
    answer = comity("seeds", "load", "seeds.txt")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "comity: seeds.txt, line 501: 'not a host': contains a space or an invisible character\n"
    assert [path.name for path in comity.folder.iterdir()] == ["seeds.txt"]
    comity.done("seeds", "add", "known.example")
    before = comity.rows("SELECT * FROM domains")
    assert comity("seeds", "load", "seeds.txt").code == 2
    assert comity.rows("SELECT * FROM domains") == before


def test_bad_lines_are_passed_over_if_that_is_wanted_and_told(comity: CommandLine) -> None:
    Path("seeds.txt").write_text(thousand_lines_with_a_bad_one() + "http://\n")
    answer = comity("seeds", "load", "seeds.txt", "--skip-bad")
    assert answer.code == 0
    assert answer.out.startswith("999 new hosts.")
    assert answer.err.splitlines()[:2] == [
        "2 lines could not be used:",
        "  line 501: 'not a host': contains a space or an invisible character",
    ]
    report = comity.json("seeds", "load", "seeds.txt", "--skip-bad")
    assert (report["seeds_read"], report["hosts_new"], report["lines_skipped"]) == (999, 0, 2)
    assert [line["line"] for line in report["skipped"]] == [501, 1001]


def test_a_list_longer_than_a_batch_is_stored_once_and_whole(comity: CommandLine) -> None:
    lines = [f"{rank},h{rank % 15_000}.example" for rank in range(22_000, 0, -1)]
    Path("long.csv").write_text("\n".join(lines))
    report = comity.json("seeds", "load", "long.csv")
    assert (report["seeds_read"], report["hosts_new"]) == (22_000, 15_000)
    assert comity.rows("SELECT count(*), count(DISTINCT domain) FROM domains") == [(15_000, 15_000)]


def binary(path: Path) -> None:
    path.write_bytes(gzip.compress(b"a.example\n" * 100))


def wide_characters(path: Path) -> None:
    path.write_text("a.example\nb.example\n", encoding="utf-16")


def endless_line(path: Path) -> None:
    path.write_text("a" * 200_000)


def nothing_in_it(path: Path) -> None:
    path.write_text("# only a comment\n\n")


def another_encoding(path: Path) -> None:
    path.write_bytes("a.example\nb\xfccher.example\n".encode("latin-1"))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Path.mkdir, "Is a directory"),
        (Path.exists, "No such file or directory"),
        (binary, "line 1: not a text file"),
        (wide_characters, "line 1: not a text file"),
        (endless_line, "line 1: longer than 65536 bytes"),
        (nothing_in_it, "contains no seed"),
        (another_encoding, "line 2: "),
        (lambda path: path.symlink_to(path), "Too many levels of symbolic links"),
    ],
)
def test_a_file_that_is_no_list_is_refused_in_one_line(
    comity: CommandLine, make: Callable[[Path], object], said: str
) -> None:
    path = Path("seeds.txt")
    make(path)
    for options in ([], ["--json"]):
        answer = comity("seeds", "load", "seeds.txt", *options)
        assert (answer.code, answer.out) == (2, "")
        assert said in answer.err
        assert answer.err.count("\n") == 1
    assert not STATE.parent.exists()


def test_a_device_without_end_is_refused_and_does_not_fill_the_memory(comity: CommandLine) -> None:
    answer = comity("seeds", "load", "/dev/zero", "--skip-bad")
    assert answer.code == 2
    assert "not a text file" in answer.err


def test_an_empty_pipe_and_no_stdin_at_all_are_refused(comity: CommandLine) -> None:
    assert "contains no seed" in comity.finished("seeds", "load", "-", given=b"").err
    closed = comity.finished("seeds", "load", "-", stdin=None, preexec_fn=lambda: os.close(0))
    assert (closed.code, closed.err.count("\n")) == (2, 1)
    assert not STATE.parent.exists()
