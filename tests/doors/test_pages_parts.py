"""`comity pages parts` and `comity pages verify`: what is in the files, and whether it still is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from comity.store.pages import open_sink
from tests.doors.command_line import CommandLine
from tests.store.light import nothing, page
from tests.store.samples import store_all

PAGES = Path("comity-data/pages")
COUNT = "SELECT count(*) AS pages FROM pages"


@pytest.fixture
def crawled(comity: CommandLine) -> CommandLine:
    """The command beside the pages of two workers."""
    store_all(comity.folder / PAGES, [page(1), nothing(2)], "alpha:1:1:a")
    store_all(comity.folder / PAGES, [page(number) for number in range(10, 15)], "beta:1:1:b")
    return comity


def part(comity: CommandLine, writer: str) -> Path:
    return comity.folder / PAGES / f"part-{writer}-000001.parquet"


def test_parts_are_listed_the_newest_first(crawled: CommandLine) -> None:
    lines = crawled.done("pages", "parts").lines
    assert lines[2].split()[0:2] == ["part-beta-1-1-b-000001.parquet", "5"]
    assert lines[3].split()[0:2] == ["part-alpha-1-1-a-000001.parquet", "2"]
    assert lines[3].split()[-1] == "whole"
    assert lines[-1].startswith("2 parts of 2 writers: 2 whole. 7 pages in ")
    answer = crawled("pages", "parts", "--limit", "1")
    assert "beta" in answer.out
    assert "alpha" not in answer.out
    assert answer.err == "The newest 1 of 2 parts are shown; use --limit to show more.\n"


def test_parts_are_listed_for_machines(crawled: CommandLine) -> None:
    (crawled.folder / PAGES / "images" / "ab").mkdir(parents=True)  # ours, too
    told = crawled.json("pages", "parts")
    assert (told["is_sound"], told["in_segments"], told["foreign"]) == (True, 0, [])
    assert [(each["writer"], each["rows"], each["found"]) for each in told["parts"]] == [
        ("alpha-1-1-a", 2, "whole"),
        ("beta-1-1-b", 5, "whole"),
    ]


def test_without_parts_this_is_said(comity: CommandLine) -> None:
    assert "No parts at comity-data/pages yet." in comity.done("pages", "parts").out
    assert comity.json("pages", "verify")["parts"] == []
    assert list(comity.folder.iterdir()) == []


def test_sound_parts_are_verified(crawled: CommandLine) -> None:
    assert crawled.done("pages", "verify").lines[0].startswith("2 parts of 2 writers: 2 whole.")


def test_what_is_wrong_is_told_and_the_rest_can_be_asked(crawled: CommandLine) -> None:
    os.truncate(part(crawled, "alpha-1-1-a"), 100)
    (crawled.folder / PAGES / "notes.txt").touch()
    answer = crawled("pages", "verify")
    assert answer.code == 1
    assert answer.lines[0].startswith("damaged  part-alpha-1-1-a-000001.parquet: 100 bytes instead of ")
    assert answer.err == "1 file not written by a crawl, and ignored: notes.txt\n"
    answer = crawled("pages", "query", COUNT, "--into-format", "csv")
    assert (answer.code, answer.lines) == (0, ["pages", "5"])
    assert answer.err == "1 part damaged or missing, and skipped; see comity pages verify.\n"
    assert crawled.json("pages", "query", COUNT)["parts_left_out"] == 1


def test_only_a_thorough_look_finds_octets_that_changed(crawled: CommandLine) -> None:
    path = part(crawled, "beta-1-1-b")
    octets = bytearray(path.read_bytes())
    octets[50] ^= 1
    path.write_bytes(octets)
    assert crawled("pages", "verify", "--quick").code == 0
    answer = crawled("pages", "verify")
    assert (answer.code, "its digest does not match the manifest" in answer.out) == (1, True)


def test_a_part_that_is_gone_is_missed(crawled: CommandLine) -> None:
    part(crawled, "alpha-1-1-a").unlink()
    answer = crawled("pages", "verify", "--json")
    assert answer.code == 1
    assert [each["found"] for each in answer.document["parts"]] == ["missing", "whole"]
    assert answer.document["is_sound"] is False


def test_archives_are_verified_too(comity: CommandLine) -> None:
    for place in ("archive.warc.gz", "many.warc.gz/"):
        store = open_sink(f"{comity.folder}/{place}", "alpha:1:1:a")
        store.keep(store.append([page(1), page(2)]))
        store.close()
        assert "1 whole. 2 pages in" in comity.done("pages", "verify", "--pages", place).out


def test_pages_that_are_in_no_part_yet_are_counted(crawled: CommandLine) -> None:
    store = open_sink(crawled.folder / PAGES, "gamma:7:7:x")
    store.append([page(8), page(9)])
    answer = crawled("pages", "verify")
    assert (answer.code, answer.err) == (0, "2 pages of running or interrupted crawls are not in a part yet.\n")
    store.close()


def test_a_place_without_parts_is_refused(comity: CommandLine) -> None:
    (comity.folder / "one.parquet").touch()
    answer = comity("pages", "verify", "--pages", "one.parquet")
    assert (answer.code, answer.err) == (2, "comity: one.parquet is one file; parts are in a folder\n")
