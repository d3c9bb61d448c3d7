"""What is noted of each part is true, is there whenever the part is finished, and tells what is wrong with a folder."""

from __future__ import annotations

import json
import os
import shutil
from errno import EOPNOTSUPP
from pathlib import Path
from threading import Thread

import duckdb
import pytest

from comity.model.errors import BadInput, ComityError
from comity.store import pages
from comity.store.formats.csv_pages import head_of
from comity.store.pages import open_sink
from comity.store.parts import manifest, part
from comity.store.parts.inventory import Condition, Inventory, PartFound, take_inventory, target_of
from comity.store.parts.manifest import joined_path, note_path, read_joined, read_note, size_and_digest
from comity.store.reading import find_sources, open_reader
from tests.store.light import RUN, compressed, nothing, page
from tests.store.samples import FILES, FOLDER, HOLDER, PLACES, as_kept, kept, recovered, store_all

FOLDERS = (FOLDER, "pages.warc.gz/", "pages.warc/", "pages.jsonl/", "pages.jsonl.gz/", "pages.csv/", "pages.csv.gz/")
WHOLE = Condition.WHOLE


def inventory(place: Path | str, *, thorough: bool = True) -> Inventory:
    return take_inventory(target_of(place), thorough=thorough)


def conditions(place: Path | str, *, thorough: bool = True) -> list[Condition]:
    return [part.condition for part in inventory(place, thorough=thorough).parts]


def one(place: Path | str) -> PartFound:
    (found,) = inventory(place).parts
    return found


def no_space(*_arguments: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("name", [*FOLDERS, *FILES])
def test_a_finished_part_is_noted(tmp_path: Path, name: str) -> None:
    place = f"{tmp_path}/{name}"
    store = open_sink(place, HOLDER)
    store.keep(store.append([page(2), nothing(1), compressed(page(3))]))
    store.close()
    found = inventory(place)
    assert (found.in_segments, found.foreign, found.unnoted_bytes) == (0, (), 0)
    part = one(place)
    note = part.note
    assert part.condition is WHOLE
    assert note is not None
    assert (note.rows, note.run_ids, note.writer) == (3, (str(RUN),), HOLDER.replace(":", "-"))
    assert note.first_crawl_time == "2023-11-14T22:13:20.001000Z"
    assert note.last_crawl_time == "2023-11-14T22:13:20.003000Z"
    if name in FOLDERS:
        path = Path(place) / part.name
        assert (note.size, note.digest) == size_and_digest(path)
        assert sorted(each.name for each in Path(place).iterdir()) == [note_path(path).name, path.name]


def test_notes_are_json_that_anybody_reads(tmp_path: Path) -> None:
    store_all(tmp_path / FOLDER, [page(1), page(2)])
    with duckdb.connect() as connection:
        told = connection.execute(f"SELECT part, rows, size FROM '{tmp_path}/pages/manifest-*.json'").fetchall()
    (part,) = (tmp_path / FOLDER).glob("part-*")
    assert told == [(part.name, 2, part.stat().st_size)]
    assert json.loads(note_path(part).read_bytes())["digest"] == f"xxh3-128:{size_and_digest(part)[1]}"


@pytest.mark.parametrize("name", FOLDERS[1:])
def test_a_folder_may_hold_other_kinds_of_parts(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "ROWS_PER_PART", 2)
    records = [page(number) for number in range(5)]
    for writer in ("machine:1:1:first", "machine:2:2:second"):
        store = open_sink(f"{tmp_path}/{name}", writer)
        for record in records:
            store.keep(store.append([record]))
        store.close()
    folder = tmp_path / name
    found = [pair for part in sorted(folder.glob("part-*")) for pair in kept(part)]
    assert sorted(found) == sorted(as_kept(records) * 2)
    assert conditions(folder) == [WHOLE] * 6
    assert recovered(folder, [record.url for record in records]) == 0
    if "warc" not in name:
        with open_reader(find_sources(folder)) as reader:
            assert next(reader.rows("SELECT count(*) FROM pages")) == (10,)
    else:
        with pytest.raises(BadInput, match="cannot be queried"):
            find_sources(folder)


def test_an_archive_in_a_folder_is_called_by_its_own_name(tmp_path: Path) -> None:
    store = open_sink(f"{tmp_path}/pages.warc/", "m:1:1:x")
    store.keep(store.append([page(1)]))
    store.close()
    assert b"WARC-Filename: part-m-1-1-x-000001.warc\r\n" in next(tmp_path.glob("pages.warc/part-*")).read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_the_parts_of_a_file_are_noted_one_after_the_other(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "ROWS_PER_PART", 10)
    for first in (0, 100):
        store_all(tmp_path / name, [page(number) for number in range(first, first + 25)], f"machine:1:1:{first}")
    notes = read_joined(tmp_path / name)
    assert sum(note.rows for note in notes.values()) == 50
    assert set(conditions(tmp_path / name)) == {WHOLE}
    if name != "pages.duckdb":
        head = len(head_of(inventory(tmp_path / name).target.format)) if "csv" in name else 0
        assert head + sum(note.size for note in notes.values()) == (tmp_path / name).stat().st_size
        assert inventory(tmp_path / name).unnoted_bytes == 0
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-1])
        assert conditions(tmp_path / name).count(Condition.DAMAGED) == 1
    (tmp_path / name).unlink()
    assert set(conditions(tmp_path / name)) == {Condition.MISSING}


@pytest.mark.parametrize("name", FILES[:-1])
def test_bytes_that_changed_in_a_file_are_found(tmp_path: Path, name: str) -> None:
    store_all(tmp_path / name, [page(number) for number in range(9)])
    content = bytearray((tmp_path / name).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / name).write_bytes(content)
    assert conditions(tmp_path / name, thorough=False) == [WHOLE]
    assert one(tmp_path / name).reason == "its digest does not match the manifest"


def test_what_somebody_else_wrote_to_a_file_is_counted(tmp_path: Path) -> None:
    place = tmp_path / "pages.jsonl"
    place.write_text('{"url": "https://example.com/mine"}\n')
    store_all(place, [page(1)])
    assert inventory(place).unnoted_bytes == 36
    assert conditions(place) == [WHOLE]


def test_a_database_that_lost_a_part_is_told(tmp_path: Path) -> None:
    place = tmp_path / "pages.duckdb"
    store_all(place, [page(1)])
    with duckdb.connect(str(place)) as connection:
        connection.execute("DELETE FROM comity.parts")
    assert conditions(place) == [Condition.MISSING]


def test_half_a_line_of_notes_is_none_and_the_next_begins_anew(tmp_path: Path) -> None:
    place = tmp_path / "pages.jsonl"
    store_all(place, [page(1)], "machine:1:1:first")
    whole = joined_path(place).read_bytes()
    joined_path(place).write_bytes(whole + whole[:50])
    store_all(place, [page(2)], "machine:1:1:second")
    assert [note.rows for note in read_joined(place).values()] == [1, 1]
    assert conditions(place) == [WHOLE, WHOLE]


def by_hand(**fields: object) -> bytes:
    """A note that somebody wrote."""
    return json.dumps({"part": "part-x", "rows": 1, "size": 1, "digest": "xxh3-128:00"} | fields).encode()


@pytest.mark.parametrize(
    "rubbish",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"part": 1}',
        b'{"digest": "md5:1"}',
        b"[" * 60_000,
        by_hand(rows=-1),
        by_hand(size=10**4000),
        by_hand(at=-1),
        by_hand(last_crawl_time=[1]),
        by_hand(first_crawl_time=7),
        by_hand(run_ids=[{}]),
        by_hand(writer={}),
    ],
)
def test_a_note_that_cannot_be_understood_is_none(tmp_path: Path, rubbish: bytes) -> None:
    store_all(tmp_path / FOLDER, [page(1)])
    (part,) = (tmp_path / FOLDER).glob("part-*")
    note_path(part).write_bytes(rubbish)
    assert read_note(part) is None
    assert conditions(tmp_path / FOLDER) == [Condition.UNLISTED]
    assert len(find_sources(tmp_path / FOLDER).parquet) == 1


@pytest.fixture
def spoilt(tmp_path: Path) -> Path:
    """A folder in which much has gone wrong; its five sound pages are those of `first` and `old`."""
    place = tmp_path / FOLDER
    for number, name in enumerate(("cut", "first", "flipped", "gone", "old")):
        store_all(place, [page(number * 10 + each) for each in range(3 if name == "first" else 2)], f"m:1:1:{name}")
    part = {name: place / f"part-m-1-1-{name}-000001.parquet" for name in ("cut", "first", "flipped", "gone", "old")}
    os.truncate(part["cut"], part["cut"].stat().st_size - 7)
    content = bytearray(part["flipped"].read_bytes())
    content[40] ^= 0xFF
    part["flipped"].write_bytes(content)
    part["gone"].unlink()
    note_path(part["old"]).unlink()
    shutil.copy(part["first"], place / "part-first (copy).parquet")
    (place / "part-empty.parquet").touch()
    (place / "part-text.parquet").write_text("nothing of the kind")
    (place / "holiday.jpg").touch()
    shutil.copy(part["first"], place / "other.parquet")
    return place


def test_whatever_is_wrong_with_a_folder_is_told(spoilt: Path) -> None:
    found = {part.name: (part.condition.value, part.reason) for part in inventory(spoilt).parts}
    noted = read_note(spoilt / "part-m-1-1-cut-000001.parquet")
    assert noted is not None
    assert found == {
        "part-m-1-1-cut-000001.parquet": ("damaged", f"{noted.size - 7:,} bytes instead of {noted.size:,}"),
        "part-m-1-1-first-000001.parquet": ("whole", ""),
        "part-m-1-1-flipped-000001.parquet": ("damaged", "its digest does not match the manifest"),
        "part-m-1-1-gone-000001.parquet": ("missing", "it is in the manifest, but missing"),
        "part-m-1-1-old-000001.parquet": ("unlisted", ""),
        "part-first (copy).parquet": ("copy", "the same as part-m-1-1-first-000001.parquet"),
        "part-empty.parquet": ("damaged", "it is not a whole .parquet file"),
        "part-text.parquet": ("damaged", "it is not a whole .parquet file"),
    }
    assert inventory(spoilt).foreign == ("holiday.jpg", "other.parquet")


def test_what_is_sound_can_be_read_whatever_else_is_there(spoilt: Path) -> None:
    (spoilt / "part-m-1-1-flipped-000001.parquet").unlink()  # only a thorough look finds that it is damaged
    sources = find_sources(spoilt)
    with open_reader(sources) as reader:
        found = [url for (url,) in reader.rows("SELECT url FROM pages ORDER BY url")]
    assert found == [page(number).url for number in (10, 11, 12, 40, 41)]
    assert len(sources.left_out) == 5


def test_where_every_part_is_damaged_this_is_told(tmp_path: Path) -> None:
    store_all(tmp_path / FOLDER, [page(1)])
    (part,) = (tmp_path / FOLDER).glob("part-*")
    os.truncate(part, 5)
    with pytest.raises(ComityError, match="1 part is damaged or gone"), open_reader(find_sources(tmp_path / FOLDER)):
        pass


@pytest.mark.parametrize("name", [FOLDER, "pages.jsonl"])
def test_a_note_that_could_not_be_written_is_made_up_for(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_sink(tmp_path / name, HOLDER)
    store.keep(store.append([page(1), page(2)]))
    with monkeypatch.context() as patch:
        patch.setattr(manifest, "write_note", no_space)
        with pytest.raises(OSError, match="No space left"):
            store.close()
    if name == FOLDER:
        assert conditions(tmp_path / name) == [Condition.FINISHING]
        assert inventory(tmp_path / name).in_segments == 0  # they can be read already
    assert recovered(tmp_path / name, [page(1).url, page(2).url]) == 0
    found = one(tmp_path / name)
    assert found.note is not None
    assert (found.condition, found.note.rows) == (WHOLE, 2)


def test_a_part_is_never_written_over(tmp_path: Path) -> None:
    store_all(tmp_path / FOLDER, [page(1)], "m:1:1:x")
    before = {path: path.read_bytes() for path in (tmp_path / FOLDER).iterdir()}
    store_all(tmp_path / FOLDER, [page(2)], "m:1:1:x")  # the same name once more, which no two writers have
    assert {path: path.read_bytes() for path in before} == before
    assert len(kept(tmp_path / FOLDER)) == 2


def no_links(*_arguments: object) -> None:
    raise OSError(EOPNOTSUPP, "Operation not supported")


def test_without_links_the_first_of_two_writers_keeps_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, one, two = tmp_path / "part-1", tmp_path / "one.tmp", tmp_path / "two.tmp"
    one.write_text("one")
    two.write_text("two")
    is_two_ours: list[bool] = []
    other = Thread(target=lambda: is_two_ours.append(part.put_once(two, path)))
    really_rename = Path.rename

    def rename(source: Path, target: Path) -> Path:
        if source == one:  # the other process comes at this moment
            other.start()
            other.join(0.3)
        return really_rename(source, target)

    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(Path, "rename", rename)
    assert part.put_once(one, path)
    other.join(30)
    assert is_two_ours == [False]
    assert path.read_text() == "one"
    assert os.listdir(tmp_path) == ["part-1"]


def test_without_links_a_claim_of_a_dead_process_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, new = tmp_path / "part-1", tmp_path / "new.tmp"
    new.write_text("new")
    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(part, "CLAIM_S", 0.1)
    part.claim_path(path).touch()
    assert part.put_once(new, path)
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["part-1"]


def test_without_links_a_name_that_others_keep_claiming_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, new = tmp_path / "part-1", tmp_path / "new.tmp"
    new.write_text("new")
    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(part, "CLAIM_S", 0.1)
    really_unlink = Path.unlink

    def claim_again(removed: Path, **more: bool) -> None:
        really_unlink(removed, **more)
        removed.touch()

    part.claim_path(path).touch()
    monkeypatch.setattr(Path, "unlink", claim_again)
    with pytest.raises(TimeoutError, match="claimed by other processes"):
        part.put_once(new, path)
    assert new.read_text() == "new"  # nothing is lost
    assert not path.exists()


@pytest.mark.parametrize("name", PLACES)
def test_a_file_system_without_links_will_do(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", no_links)
    store_all(tmp_path / name, [page(1)])
    assert conditions(tmp_path / name) == [WHOLE]


def test_a_link_whose_answer_was_lost_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really_link = os.link

    def linked_twice(source: Path, target: Path) -> None:
        really_link(source, target)
        really_link(source, target)

    monkeypatch.setattr(part.os, "link", linked_twice)
    store_all(tmp_path / FOLDER, [page(1)])
    assert conditions(tmp_path / FOLDER) == [WHOLE]


@pytest.mark.parametrize("name", ["x.tsv", "one.parquet"])
def test_where_no_parts_can_be_this_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(BadInput, match="parts are in a folder"):
        target_of(tmp_path / name)
