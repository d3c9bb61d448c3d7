"""Many processes write to one folder, are killed, and are recovered, while others read: no page twice, none lost."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from comity.fetch.inflate import inflate_coded
from comity.leases.holder import new_holder
from comity.store import pages, segment
from comity.store.pages import open_sink, recover
from comity.store.parts import joining
from comity.store.parts.inventory import Condition, take_inventory, target_of
from comity.store.reading import find_sources, open_reader
from comity.store.target import Format, Target
from tests.servers.waiting import wait_until
from tests.store.light import page
from tests.store.samples import FOLDER, as_kept, kept, left_over, recovered
from tests.store.test_crashes import PATIENCE_S, die, start

WRITERS = ("first", "second", "third", "fourth")
TALLIES = "SELECT count(*), count(DISTINCT url) FROM pages"


@contextmanager
def writers(place: Path, notes: Path, names: tuple[str, ...]) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that write to a place until they are killed, each past its first page."""
    started = [start(place, notes / name, 999_999, name, module="tests.store.working") for name in names]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate(timeout=PATIENCE_S)


def committed(notes: Path, names: tuple[str, ...] = WRITERS) -> list[str]:
    return [url for name in names for url in (notes / name).read_text().split("\n")[:-1]]


@pytest.mark.parametrize("name", [FOLDER, "pages.warc.gz"])
def test_killed_writers_leave_every_committed_page_once_and_noted(tmp_path: Path, name: str) -> None:
    place = tmp_path / "store" / name
    place.mkdir(parents=True)
    with writers(place, tmp_path, WRITERS) as processes:
        for process in processes:
            time.sleep(0.12)  # the instants themselves
            process.kill()
    urls = committed(tmp_path)
    recovered(place, urls)
    found = take_inventory(target_of(place), thorough=True)
    assert {part.condition for part in found.parts} == {Condition.WHOLE}
    assert len({part.note.writer for part in found.parts if part.note}) == len(WRITERS)
    assert sum(part.note.rows for part in found.parts if part.note) == len(urls)
    if name == FOLDER:
        rows = {path.name: pq.read_metadata(path).num_rows for path in found.readable}
        assert rows == {part.name: part.note.rows for part in found.parts if part.note}
        assert [url for url, _body in kept(place)] == sorted(urls)
    else:
        assert sorted(url for path in found.readable for url, _body in kept(path)) == sorted(urls)
    assert left_over(place) == []


@pytest.mark.parametrize("name", [FOLDER, "pages.jsonl"])
def test_readers_see_each_page_once_while_others_write_and_die(tmp_path: Path, name: str) -> None:
    place = tmp_path / "store" / name
    place.parent.mkdir()
    seen = 0
    with writers(place, tmp_path, WRITERS) as processes:
        wait_until(lambda: not find_sources(place).is_empty, PATIENCE_S, "a first part")
        for process in (None, *processes):
            if process is not None:
                process.kill()
            sources = find_sources(place)
            assert sources.left_out == ()
            with open_reader(sources) as reader:
                rows, distinct = next(reader.rows(TALLIES))
            assert rows == distinct
            assert rows >= seen
            seen = rows
    urls = committed(tmp_path)
    recovered(place, urls)
    with open_reader(find_sources(place)) as reader:
        assert next(reader.rows(TALLIES)) == (len(urls), len(urls))


def test_a_living_writer_is_never_recovered(tmp_path: Path) -> None:
    place = tmp_path / FOLDER
    with writers(place, tmp_path, ("first", "second")) as processes:
        for _again in range(5):
            before = len(list(place.glob("part-*")))
            recovered(place, lambda _record: True)  # everybody is said to be dead, and is not
            wait_until(lambda before=before: len(list(place.glob("part-*"))) > before, PATIENCE_S, "a part")
        assert all(process.poll() is None for process in processes)
    urls = committed(tmp_path, ("first", "second"))
    recovered(place, urls)
    assert [url for url, _body in kept(place)] == sorted(urls)


def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_arguments: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(segment.fcntl, "flock", no_locks)


def everybody_may_live(place: Path) -> int:
    return recover(place, lambda _holder: False, lambda batch: [True] * len(batch), inflate_coded)


def test_without_locks_a_silent_writer_shows_that_it_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_locks(monkeypatch)
    monkeypatch.setattr(pages, "TOUCH_EVERY_S", 0.02)
    place = tmp_path / FOLDER
    store = open_sink(place, "machine:1:1:slow")
    store.keep(store.append([page(1)]))
    (open_segment,) = place.glob("segment-*")
    os.utime(open_segment, (1, 1))
    wait_until(lambda: open_segment.stat().st_mtime > 1, PATIENCE_S, "a sign of life")
    assert everybody_may_live(place) == 0
    store.keep(store.append([page(2)]))
    store.close()
    assert kept(place) == as_kept([page(1), page(2)])


def test_a_writer_that_slept_too_long_goes_on_in_another_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_locks(monkeypatch)
    place = tmp_path / FOLDER
    store = open_sink(place, "machine:1:1:asleep")
    store.keep(store.append([page(1)]))
    (open_segment,) = place.glob("segment-*")
    os.utime(open_segment, (1, 1))
    assert everybody_may_live(place) == 1
    store.keep(store.append([page(2)]))
    store.close()
    assert kept(place) == as_kept([page(1), page(2)])
    found = take_inventory(target_of(place), thorough=True)
    assert [part.condition for part in found.parts] == [Condition.WHOLE] * 2
    assert left_over(place) == []


def test_a_writer_whose_part_somebody_else_made_leaves_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    place = tmp_path / FOLDER
    store = open_sink(place, "machine:1:1:asleep")
    store.keep(store.append([page(1)]))
    (open_segment,) = place.glob("segment-*")
    os.utime(open_segment, (1, 1))
    assert everybody_may_live(place) == 1
    before = {path: path.read_bytes() for path in place.glob("[!.]*")}
    store.close()
    assert {path: path.read_bytes() for path in place.iterdir()} == before


def test_pages_that_somebody_deleted_under_a_crawl_are_told(tmp_path: Path) -> None:
    store = open_sink(tmp_path / FOLDER, "machine:1:1:x")
    store.keep(store.append([page(1)]))
    (open_segment,) = (tmp_path / FOLDER).glob("segment-*")
    open_segment.unlink()
    with pytest.raises(OSError, match="was deleted while pages were written"):
        store.append([page(2)])
    store.close()
    assert kept(tmp_path / FOLDER) == as_kept([page(1)])


def test_what_was_begun_long_ago_is_swept_and_what_is_under_way_is_not(tmp_path: Path) -> None:
    place = tmp_path / FOLDER
    place.mkdir()
    for name in (".part-a-000001.parquet.0011.tmp", ".manifest-a-000001.parquet.json.12.tmp", ".part-b.parquet.1.tmp"):
        (place / name).touch()
        if "-b" not in name:
            os.utime(place / name, (1, 1))
    recovered(place, [])
    assert [path.name for path in place.iterdir()] == [".part-b.parquet.1.tmp"]


def test_a_part_that_grows_slowly_is_not_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_locks(monkeypatch)
    place = tmp_path / FOLDER
    store = open_sink(place, "machine:1:1:slow")
    store.keep(store.append([page(1)]))
    wait_until(lambda: bool(list(place.glob(".part-*"))), PATIENCE_S, "a part that is begun")
    for begun in place.glob(".part-*"):
        os.utime(begun, (1, 1))
    assert everybody_may_live(place) == 0
    store.keep(store.append([page(2)]))
    store.close()
    assert kept(place) == as_kept([page(1), page(2)])


def test_parts_of_many_writers_have_names_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "ROWS_PER_PART", 1)
    stores = [open_sink(tmp_path / FOLDER, new_holder()) for _ in range(20)]
    for number, store in enumerate(stores):
        store.keep(store.append([page(number)]))
        store.keep(store.append([page(100 + number)]))
    for store in stores:
        store.close()
    assert len(list((tmp_path / FOLDER).glob("part-*"))) == 40
    assert len(kept(tmp_path / FOLDER)) == 40


def test_readers_do_not_keep_each_other_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "pages.jsonl"
    monkeypatch.setattr(pages, "join_parts", lambda _target, _wait_s: 1)
    store = open_sink(place, "machine:1:1:x")
    store.keep(store.append([page(1)]))
    store.close()
    with open_reader(find_sources(place)) as one, open_reader(find_sources(place)) as other:
        assert next(one.rows(TALLIES)) == next(other.rows(TALLIES)) == (1, 1)
        assert joining.join_parts(Target(place, Format.JSONL), 0.0) == 1  # whoever comes to join leaves it for later
    assert joining.join_parts(Target(place, Format.JSONL), 0.0) == 0
    assert kept(place) == as_kept([page(1)])


def test_half_a_part_that_a_dead_process_appended_is_not_seen_twice(tmp_path: Path) -> None:
    place = tmp_path / "store" / "pages.jsonl"
    place.parent.mkdir()
    urls = die(place, "while a part is copied")
    with open_reader(find_sources(place)) as reader:
        rows, distinct = next(reader.rows(TALLIES))
    finished = Target(place, Format.JSONL).parts()  # the second perhaps, while the first was being joined
    assert len(finished) in {1, 2}
    assert rows == distinct == 10 * len(finished)
    recovered(place, urls)
    assert [url for url, _body in kept(place)] == sorted(urls)


def test_a_part_whose_segment_begins_while_parts_are_listed_is_not_joined_before_its_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Target(tmp_path / "pages.jsonl", Format.JSONL)
    target.spool.mkdir()
    listed = Target.segments

    def segments_then_another_begins(target: Target) -> list[Path]:
        found = listed(target)
        (target.spool / "segment-a-000001.open").touch()
        (target.spool / "part-a-000001.jsonl").touch()
        return found

    monkeypatch.setattr(Target, "segments", segments_then_another_begins)
    assert target.parts() == []
    assert target.parts() == []
