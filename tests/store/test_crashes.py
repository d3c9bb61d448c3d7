"""Kill −9 at any instant: every committed page is there once, no other is, and recovering again changes nothing."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from xxhash import xxh3_64_intdigest

from comity.fetch.inflate import inflate_coded
from comity.store.pages import open_sink, recover
from comity.store.segment import SegmentWriter, encode, read_records
from tests.servers.forks import FORKS
from tests.store import dying
from tests.store.light import RUN, compressed, nothing, page
from tests.store.samples import FILES, FOLDER, PLACES, as_kept, kept, left_over, recovered, store_all

ROOT = Path(__file__).parents[2]
ANYWHERE = (
    "before the commit",
    "after the commit",
    "in the middle of a segment",
    "while a part is written",
    "before a part is renamed",
    "before the note of a part is renamed",
    "before a segment is removed",
)
APPENDED = (
    "before a part is joined",
    "before anything is copied",
    "while a part is copied",
    "before a joined part is noted",
    "before a part is taken away",
    "before the note is taken away",
    "before a note is taken away",
)
LOADED = (
    "before a part is joined",
    "before a new file has its name",
    "before a joined part is noted",
    "before a part is taken away",
    "before a note is taken away",
)
CASES = [
    *((place, step) for place in PLACES for step in ANYWHERE),
    *((place, step) for place in FILES if place != "pages.duckdb" for step in APPENDED),
    *(("pages.duckdb", step) for step in LOADED),
]
PATIENCE_S = 60


def start(*arguments: object, module: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def die(place: Path, step: str) -> list[str]:
    """Run a process that dies at a step; gives the URLs that it had committed."""
    committed = place.parent.parent / "committed"
    process = FORKS.Process(target=dying.main, args=(str(place), step, committed))
    process.start()
    process.join(PATIENCE_S)
    assert process.exitcode == -signal.SIGKILL
    process.close()
    return committed.read_text().splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for the place alone, so that everything in it is the store's."""
    path = tmp_path / "store"
    path.mkdir()
    return path


@pytest.mark.parametrize(("name", "step"), CASES)
def test_after_a_crash_every_committed_page_is_there_once(folder: Path, name: str, step: str) -> None:
    place = folder / name
    committed = die(place, step)
    recovered(place, committed)
    expected = [compressed(page(number)) for number in range(20) if page(number).url in committed]
    found = kept(place) if expected else []
    assert found == as_kept(expected)
    assert left_over(place) == []
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert recovered(place, committed) == 0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", PLACES)
def test_a_crash_does_not_disturb_what_was_there_or_comes_after(folder: Path, name: str) -> None:
    place = folder / name
    step = "while a part is copied" if name in FILES[:-1] else "before a segment is removed"
    store_all(place, [page(100), nothing(101)], "machine:9:9:first")
    committed = die(place, step)
    store_all(place, [page(200)], "machine:8:8:later")
    recovered(place, committed)
    recent = [compressed(page(number)) for number in range(20) if page(number).url in committed]
    assert kept(place) == as_kept([page(100), nothing(101), page(200), *recent])


@pytest.mark.parametrize("name", [FOLDER, "pages.jsonl", "pages.duckdb"])
@pytest.mark.parametrize("wait_ms", [1, 40, 90, 160])
def test_a_crash_may_come_at_any_instant(folder: Path, name: str, wait_ms: int) -> None:
    place, committed = folder / name, folder.parent / "committed"
    with start(place, committed, 100_000, "crash", module="tests.store.working") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(wait_ms / 1000)  # the instant itself
        process.kill()
        process.communicate(timeout=PATIENCE_S)
    urls = committed.read_text().split("\n")[:-1]
    recovered(place, urls)
    assert [url for url, _body in kept(place)] == sorted(urls)
    assert left_over(place) == []


def test_a_segment_of_a_process_that_lives_is_left_alone(folder: Path) -> None:
    place = folder / FOLDER
    with start(place, folder.parent / "committed", 1, "wait", module="tests.store.working") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        (segment,) = place.glob("segment-*")
        assert recovered(place, lambda _record: True) == 0  # though everybody is said to be dead
        assert segment.exists()
        process.kill()
        process.communicate(timeout=PATIENCE_S)
    assert recovered(place, lambda _record: True) == 1


def test_a_segment_of_another_machine_is_taken_over_once_nobody_touches_it(folder: Path) -> None:
    place = folder / FOLDER
    die(place, "after the commit")
    (segment,) = place.glob("segment-*")

    def everybody_may_live() -> int:
        return recover(place, lambda _holder: False, lambda batch: [True] * len(batch), inflate_coded)

    assert everybody_may_live() == 0
    hour_ago = time.time() - 3700
    os.utime(segment, (hour_ago, hour_ago))
    assert everybody_may_live() == 10
    assert left_over(place) == []


@pytest.mark.parametrize("name", PLACES)
def test_a_segment_of_another_state_is_not_touched(folder: Path, name: str) -> None:
    place = folder / name
    committed = die(place, "after the commit")
    (segment,) = open_sink(place, "nobody").target.segments()
    before = segment.read_bytes()
    assert recovered(place, lambda record: None if record.run_id == RUN else True) == 0
    assert segment.read_bytes() == before
    assert recovered(place, committed) == 10
    assert kept(place) == as_kept(page(number) for number in range(10))


@pytest.mark.parametrize("name", [FOLDER, "pages.jsonl"])
def test_two_processes_that_recover_at_once_save_each_page_once(folder: Path, name: str) -> None:
    place = folder / name
    committed = die(place, "after the commit")
    recovering = [start(place, module="tests.store.recovering") for _ in range(2)]
    saved = []
    for process in recovering:
        out, problems = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, problems
        saved.append(int(out))
    assert sum(saved) == 10
    assert [url for url, _body in kept(place)] == sorted(committed)
    assert left_over(place) == []


def test_a_visit_that_was_appended_twice_is_kept_once(folder: Path) -> None:
    place = folder / FOLDER
    segment = SegmentWriter(place / "segment-machine-1-2-x-000001.open")
    segment.append([page(1), page(2)])
    segment.append([page(1)])
    segment.leave()
    assert recovered(place, lambda _record: True) == 2


def test_a_body_that_cannot_be_decoded_any_more_does_not_stand_in_the_way(folder: Path) -> None:
    place = folder / FOLDER
    segment = SegmentWriter(place / "segment-machine-1-2-x-000001.open")
    segment.append([page(1, coded=b"not gzip", coding="gzip"), page(2)])
    segment.leave()
    assert recovered(place, lambda _record: True) == 2
    assert kept(place) == [(page(1).url, None), (page(2).url, page(2).body)]


def test_records_of_an_older_kind_are_still_read(folder: Path) -> None:
    header, meta, body = encode(page(1))
    assert meta.endswith(b",null,null]")
    older = meta.removesuffix(b",null,null]") + b"]"
    digest = xxh3_64_intdigest(body, seed=xxh3_64_intdigest(older))
    path = folder / "segment-x-000001.open"
    path.write_bytes(struct.pack("<4sIIIQ", header[:4], 1, len(older), len(body), digest) + older + body)
    with path.open("rb") as file:
        assert [each.decoded(lambda content, _coding: content) for each in read_records(file)] == [page(1)]


@pytest.mark.parametrize("damage", [b"", b"\0" * 40, b"CSG1", b"CSG1" + b"\xff" * 20, b"rubbish " * 100])
def test_whatever_follows_the_last_whole_record_is_not_read(folder: Path, damage: bytes) -> None:
    path = folder / "segment-x-000001.open"
    segment = SegmentWriter(path)
    segment.append([page(1), compressed(page(2)), nothing(3)])
    with path.open("ab") as file:
        file.write(damage)
    with path.open("rb") as file:
        assert [each.decoded(inflate_coded).url for each in read_records(file)] == [page(n).url for n in (1, 2, 3)]
    segment.remove()
