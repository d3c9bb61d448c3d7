"""What a store does when the disk, the file or the database does not play along: it says so, and loses nothing."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from errno import EEXIST
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pytest

from comity.model.errors import BadInput, ComityError
from comity.model.page import PageRecord
from comity.store import pages as pages_module
from comity.store.pages import PageStore, open_sink
from comity.store.parts import duckdb_table, joining, part
from comity.store.reading import find_sources, open_reader
from comity.store.segment import SegmentWriter
from tests.store.light import compressed, page
from tests.store.samples import FILES, FOLDER, HOLDER, PLACES, as_kept, kept, left_over, recovered, store_all
from tests.store.test_crashes import PATIENCE_S, die, start

SMALL_DISK_BYTES = 1024 * 1024


def no_space(*_arguments: Any, **_more: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def broken(*_arguments: Any, **_more: Any) -> Any:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


@dataclass
class Disk:
    """A folder that is soon full, and a way to make room."""

    folder: Path
    make_room: Callable[[], object]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Disk]:
    """A tiny disk of its own where we may make one, else writes that are counted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES}", "tmpfs", str(folder)]
    if os.geteuid() == 0 and subprocess.run(mount, capture_output=True, check=False).returncode == 0:
        yield Disk(folder, lambda: subprocess.run(["mount", "-o", "remount,size=64m", str(folder)], check=True))
        subprocess.run(["umount", str(folder)], check=True)
        return
    really_write, room = os.write, SMALL_DISK_BYTES

    def write(descriptor: int, content: Any) -> int:
        nonlocal room
        count: int = really_write(descriptor, content[:room]) if room > 0 else no_space()
        room -= count
        return count

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", write)
        patch.setattr(os, "writev", lambda descriptor, pieces: write(descriptor, b"".join(pieces)))
        yield Disk(folder, patch.undo)


@pytest.mark.parametrize("name", PLACES)
def test_a_full_disk_ends_the_run_and_loses_no_committed_page(small_disk: Disk, name: str) -> None:
    place = small_disk.folder / name
    store = open_sink(place, HOLDER)
    committed: list[PageRecord] = []
    with pytest.raises(OSError, match="No space left"):
        _store_until_it_is_full(store, committed)
    assert committed
    with suppress(OSError):  # there may or may not be room for a part
        store.close()
    small_disk.make_room()
    recovered(place, [record.url for record in committed])
    assert kept(place) == as_kept(committed)
    assert left_over(place) == []


def _store_until_it_is_full(store: PageStore, committed: list[PageRecord]) -> None:
    for begin in range(0, 10_000, 50):
        numbers = range(begin, begin + 50)
        batch = [page(number, os.urandom(500), encoding=None, content_type="x/y") for number in numbers]
        places = store.append(batch)
        committed += batch
        store.keep(places)


def test_half_a_batch_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_sink(tmp_path / FOLDER, HOLDER)
    store.keep(store.append([page(1)]))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", no_space)
        with pytest.raises(OSError, match="No space left"):
            store.append([page(2)])
    store.keep(store.append([page(3)]))
    store.close()
    assert kept(tmp_path / FOLDER) == as_kept([page(1), page(3)])


def test_a_segment_that_cannot_be_mended_takes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_sink(tmp_path / FOLDER, HOLDER)
    store.keep(store.append([page(1)]))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", no_space)
        patch.setattr(os, "ftruncate", no_space)
        with pytest.raises(OSError, match="No space left"):
            store.append([page(2)])
    with pytest.raises(OSError, match="partial record"):
        store.append([page(3)])
    store.close()
    assert kept(tmp_path / FOLDER) == as_kept([page(1)])


@pytest.mark.parametrize("name", PLACES)
def test_a_part_that_could_not_be_written_is_never_finished_without_its_pages(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / name
    store = open_sink(place, HOLDER)
    store.keep(store.append([compressed(page(1))]))
    with monkeypatch.context() as patch:
        patch.setattr(part.PartWriter, "add", broken)
        store.keep(store.append([compressed(page(2))]))
        with pytest.raises(OSError, match="Input/output error"):
            store.keep(store.append([compressed(page(3))]))  # hears of it
    for _again in range(2):
        with pytest.raises(OSError, match="Input/output error"):
            store.append([compressed(page(4))])
    with pytest.raises(OSError, match="Input/output error"):
        store.close()
    assert not any(path.name.startswith(("part-", ".part-")) for path in tmp_path.rglob("*"))
    assert recovered(place, [page(number).url for number in (1, 2, 3)]) == 3
    assert kept(place) == as_kept(page(number) for number in (1, 2, 3))
    assert left_over(place) == []


@pytest.mark.parametrize("name", PLACES)
def test_a_part_that_had_no_room_is_left_and_the_pages_after_it_go_on(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every page is in its segment before it counts: a part can wait until there is room."""
    place = tmp_path / name
    store = open_sink(place, HOLDER)
    store.keep(store.append([compressed(page(1))]))
    with monkeypatch.context() as patch:
        patch.setattr(part.PartWriter, "add", no_space)
        for number in (2, 3):
            store.keep(store.append([compressed(page(number))]))
        store.keep(store.append([compressed(page(4))]))  # where the next part begins, and has no room either
    for number in (5, 6):
        store.keep(store.append([compressed(page(number))]))
    with pytest.raises(OSError, match="No space left") as caught:
        store.close()
    assert str(tmp_path) in str(caught.value)
    every = range(1, 7)
    recovered(place, [page(number).url for number in every])
    assert kept(place) == as_kept(page(number) for number in every)
    assert left_over(place) == []


@pytest.mark.parametrize("name", PLACES)
def test_a_part_that_could_not_be_finished_is_made_by_the_next_run(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages_module, "ROWS_PER_PART", 1)
    place = tmp_path / name
    store = open_sink(place, HOLDER)
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", no_space)
        store.keep(store.append([page(1)]))
        with pytest.raises(OSError, match="No space left"):
            store.close()
    assert recovered(place, [page(1).url]) == 1
    assert kept(place) == as_kept([page(1)])
    assert left_over(place) == []


def test_a_segment_that_could_not_be_begun_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_sink(tmp_path / FOLDER, HOLDER)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        with pytest.raises(OSError, match="No space left"):
            store.append([page(1)])
    store.keep(store.append([page(2)]))
    store.close()
    assert kept(tmp_path / FOLDER) == as_kept([page(2)])


@pytest.mark.parametrize("name", FILES[:-1])
def test_a_file_that_cannot_grow_stays_as_it_was(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / name
    store_all(place, [page(1)], "machine:1:1:first")
    before = place.read_bytes()

    def half(source: BinaryIO, file: BinaryIO, _length: int) -> None:
        file.write(source.read(20))
        file.flush()
        no_space()

    with monkeypatch.context() as patch:
        patch.setattr(joining, "copyfileobj", half)
        with pytest.raises(OSError, match="No space left"):
            store_all(place, [page(2)])
    assert place.read_bytes() == before
    assert recovered(place, []) == 0  # it is a part already, and only has to be joined
    assert kept(place) == as_kept([page(1), page(2)])
    assert left_over(place) == []


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("was_committed", [True, False])
def test_where_nobody_knows_whether_a_visit_was_committed_the_database_is_asked(
    tmp_path: Path, name: str, was_committed: bool
) -> None:
    place = tmp_path / name
    store = open_sink(place, HOLDER)
    store.keep(store.append([page(1)]))
    store.append([page(2)])  # then the connection broke in the middle of the commit
    store.close()
    urls = [page(1).url, *([page(2).url] if was_committed else [])]
    assert recovered(place, urls) == len(urls)
    assert [url for url, _body in kept(place)] == urls
    assert left_over(place) == []


def test_a_batch_that_is_tried_again_after_a_doubt_is_kept_once(tmp_path: Path) -> None:
    place = tmp_path / FOLDER
    store = open_sink(place, HOLDER)
    store.append([page(1)])
    store.keep(store.append([page(1)]))
    store.close()
    assert recovered(place, [page(1).url]) == 1
    assert kept(place) == as_kept([page(1)])


def test_a_database_that_another_process_has_is_loaded_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "pages.duckdb"
    monkeypatch.setattr(pages_module, "WAIT_AT_THE_END_S", 0.3)
    monkeypatch.setattr("comity.store.pages._WAIT_S", 0.3)
    store_all(place, [page(1)], "machine:1:1:first")
    with start(place, module="tests.store.holding") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        store = store_all(place, [page(2)])
        assert store.parts_waiting == 1
        assert recovered(place, []) == 0  # a crawl can begin nevertheless
        store_all(place, [page(3)], "machine:3:3:third")
        with pytest.raises(ComityError, match="being written by another process"), _quick_reader(place, monkeypatch):
            pass
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
    with open_reader(find_sources(place)) as reader:  # also before they are loaded
        assert sorted(reader.rows("SELECT url FROM pages")) == [(page(number).url,) for number in (1, 2, 3)]
    recovered(place, [])
    assert kept(place) == as_kept(page(number) for number in (1, 2, 3))
    assert left_over(place) == []


def test_a_half_made_database_of_a_process_that_died_does_no_harm(tmp_path: Path) -> None:
    """Containers use the same process ids again."""
    place = tmp_path / "pages.duckdb"
    overflow = tmp_path / "pages.duckdb.overflow"
    overflow.mkdir()
    (overflow / f"new-{os.getpid()}.duckdb").write_bytes(_damaged_database(tmp_path))
    store_all(place, [page(1)])
    assert kept(place) == as_kept([page(1)])
    assert left_over(place) == []


def test_a_damaged_database_is_one_sentence(tmp_path: Path) -> None:
    place = tmp_path / "pages.duckdb"
    place.write_bytes(_damaged_database(tmp_path))
    with pytest.raises(BadInput, match=r"pages\.duckdb: .*[Cc]orrupt"), duckdb_table.open_to_write(place, 0.0):
        pass


def _damaged_database(folder: Path) -> bytes:
    """A DuckDB file whose first blocks were written, and the others not yet."""
    sound = folder / "sound.duckdb"
    duckdb.connect(str(sound)).close()
    content = sound.read_bytes()
    sound.unlink()
    return content[:4096] + bytes(len(content) - 4096)


def _quick_reader(place: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("comity.store.reading.WAIT_S", 0.1)
    return open_reader(find_sources(place))


def test_a_table_of_somebody_else_is_found_out_before_the_crawl(tmp_path: Path) -> None:
    place = tmp_path / "pages.duckdb"
    with duckdb.connect(str(place)) as connection:
        connection.execute("CREATE TABLE pages (number INTEGER)")
    with pytest.raises(BadInput, match="its table pages has no column url"):
        recovered(place, [])


def test_a_database_with_other_tables_and_columns_of_its_own_takes_pages(tmp_path: Path) -> None:
    place = tmp_path / "pages.duckdb"
    store_all(place, [page(1)], "machine:1:1:first")
    with duckdb.connect(str(place)) as connection:
        connection.execute("ALTER TABLE pages ADD COLUMN remark VARCHAR DEFAULT 'mine'")
        connection.execute("CREATE TABLE others (number INTEGER)")
    recovered(place, [])
    store_all(place, [page(2)])
    assert kept(place) == as_kept([page(1), page(2)])


def test_what_somebody_wrote_to_the_file_after_a_crash_is_not_cut(tmp_path: Path) -> None:
    place = tmp_path / "store" / "pages.jsonl"
    place.parent.mkdir()
    committed = die(place, "while a part is copied")
    line = b'{"url": "mine", "body": null, "body_bytes": null}\n'
    place.unlink()
    place.write_bytes(line)
    recovered(place, committed)
    assert place.read_bytes().startswith(line)
    assert [url for url, _body in kept(place)] == sorted([*committed, "mine"])


@pytest.mark.parametrize("name", PLACES)
def test_two_processes_write_to_one_place(tmp_path: Path, name: str) -> None:
    place = tmp_path / "store" / name
    place.parent.mkdir()
    working = [start(place, tmp_path / who, 300, who, module="tests.store.working") for who in ("first", "second")]
    for process in working:
        _out, problems = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, problems
    recovered(place, [])  # a DuckDB that the other one had at the end may be left with a part to load
    urls = [line for who in ("first", "second") for line in (tmp_path / who).read_text().splitlines()]
    assert len(urls) == 600
    assert [url for url, _body in kept(place)] == sorted(urls)
    assert left_over(place) == []


def test_pages_too_large_for_a_database_table_wait_and_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "pages.duckdb"
    large = [page(number, bytes([65 + number]) * 5_000_000) for number in range(20)]
    with monkeypatch.context() as patch:
        patch.setattr(duckdb_table, "MEMORY_STEPS", ("20MB", "30MB"))
        assert store_all(place, large).parts_waiting == 1
    with open_reader(find_sources(place)) as reader:
        assert list(reader.rows("SELECT count(*), sum(length(body)) FROM pages")) == [(20, 100_000_000)]
    recovered(place, [])
    assert kept(place) == as_kept(large)
    assert left_over(place) == []


def test_a_folder_that_another_process_removes_meanwhile_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Path.mkdir` finds the folder, looks whether it is one, and by then it is gone."""
    mkdir, calls = Path.mkdir, []

    def mkdir_late(self: Path, *arguments: Any, **options: Any) -> None:
        calls.append(self)
        if len(calls) == 1:
            raise FileExistsError(EEXIST, "File exists", str(self))
        mkdir(self, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", mkdir_late)
    path = tmp_path / "pages" / "segment.open"
    SegmentWriter(path).forget()
    assert path.is_file()
    with pytest.raises(FileExistsError):
        SegmentWriter(path)
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        SegmentWriter(tmp_path / "file" / "segment.open")
