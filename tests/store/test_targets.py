"""Where pages may go, told by the name of the place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from comity.model.errors import BadInput
from comity.store.target import Format, Target, read_target
from tests.store.light import page
from tests.store.samples import FILES, PLACES, store_all


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pages", Format.PARQUET),
        ("deep/er/pages", Format.PARQUET),
        ("pages.parquet/", Format.PARQUET),
        ("example.com/", Format.PARQUET),
        (".pages", Format.PARQUET),
        ("pages.duckdb", Format.DUCKDB),
        ("pages.jsonl", Format.JSONL),
        ("PAGES.JSONL", Format.JSONL),
        ("pages.jsonl.gz", Format.JSONL_GZ),
        ("pages.csv", Format.CSV),
        ("pages.csv.gz", Format.CSV_GZ),
        ("pages.warc", Format.WARC),
        ("crawl-2026.05.warc.gz", Format.WARC_GZ),
    ],
)
def test_the_ending_tells_the_kind(tmp_path: Path, name: str, kind: Format) -> None:
    assert read_target(f"{tmp_path}/{name}").format is kind
    assert list(tmp_path.iterdir()) == []  # only looked


def test_a_folder_that_exists_is_a_folder_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "example.com").mkdir()
    (tmp_path / "odd.jsonl").mkdir()
    assert read_target(tmp_path / "example.com").is_folder
    assert read_target(tmp_path / "odd.jsonl").is_folder


def test_a_home_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_target("~/pages.jsonl").path == tmp_path / "pages.jsonl"


@pytest.mark.parametrize(
    "name", ["pages.tsv", "pages.csv.zip", "pages.db", "pages.sqlite", "pages.json", "pages.gz", "pages.zip"]
)
def test_an_ending_that_nobody_knows_is_refused_with_those_that_are(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        BadInput, match=r"pages go into a folder .* \.duckdb, \.jsonl, \.jsonl\.gz, \.csv, \.csv\.gz, \.warc"
    ):
        read_target(tmp_path / name)


@pytest.mark.parametrize("name", PLACES)
def test_a_way_through_a_file_is_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadInput, match=r"is a file, not a folder|Not a directory"):
        read_target(tmp_path / "file" / name)


@pytest.mark.parametrize("name", ["pages", "pages.parquet/"])
def test_a_file_is_no_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / name.rstrip("/")).write_text("x")
    with pytest.raises(BadInput, match="is a file, not a folder"):
        read_target(f"{tmp_path}/{name}")


@pytest.mark.parametrize("name", PLACES)
def test_a_folder_that_takes_no_files_is_refused(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.access  # for root everything may be written
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path and really(path, mode))
    with pytest.raises(BadInput, match="no permission to write in"):
        read_target(tmp_path / "deep" / name)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_kind_is_not_written_to(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("Dear diary, today nothing happened.")
    with pytest.raises(BadInput, match="does not match its extension"):
        read_target(tmp_path / name)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_ours_may_be_there(tmp_path: Path, name: str) -> None:
    store_all(tmp_path / name, [page(1)])
    assert read_target(tmp_path / name).path == tmp_path / name


@pytest.mark.parametrize("place", ["", "pa\0ges"])
def test_a_place_must_have_a_name(place: str) -> None:
    with pytest.raises(BadInput, match="is empty"):
        read_target(place)


@pytest.mark.parametrize("name", PLACES)
def test_the_folder_of_segments_leads_back_to_its_place(tmp_path: Path, name: str) -> None:
    target = read_target(tmp_path / name)
    assert Target.of_spool(target.spool) == target
