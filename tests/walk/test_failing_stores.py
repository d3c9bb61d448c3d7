"""A disk that will not take any more: the run stops and says so, nothing is acknowledged, the next run completes."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from comity.assemble import State
from comity.store.pages import PageStore
from comity.walk.crawl.crawl import Crawl
from tests.servers.waiting import wait_until
from tests.walk.crawling import QUEUED, Place, until
from tests.walk.site import Route, Web, page, tree

LARGEST_FILE = 2_000_000


def heavy(count: int) -> dict[str, Route]:
    """Pages that do not compress."""
    ends = "</body>"
    return {path: str(body).replace(ends, os.urandom(60_000).hex() + ends) for path, body in tree(count).items()}


def test_a_full_disk_stops_the_run_and_the_next_one_completes(web: Web, place: Place) -> None:
    site = web.site(heavy(40))
    told = place.comity_apart("crawl", site.url(), largest_file=LARGEST_FILE)
    assert told.code == 1
    assert told.err.startswith("comity: ")
    assert f"{place.pages}: File too large" in told.err
    assert len(told.err.splitlines()) == 1, told.err
    row = place.host(site.host)
    done = {fetch["page_url"] for fetch in place.fetches(site.host)}
    assert row["pages_crawled"] == len(done) < 40
    assert {url for url, state in place.frontier(site.host).items() if state != QUEUED} == done
    assert row["claimed_by"] is None, "the lease is given back"
    (run,) = place.rows("SELECT * FROM crawl_runs")
    assert run["status"] == "failed"
    assert place.comity_apart("crawl", site.url()).code == 0
    assert set(place.kept()) == {site.url(path) for path in tree(40)}


def test_a_place_that_cannot_be_used_is_told_before_anything_is_asked(web: Web, place: Place) -> None:
    site = web.site(tree(5))
    place.pages.write_text("a file, where the folder should be")
    told = place.comity_apart("crawl", site.url())
    assert told.code == 2
    assert "is a file, not a folder" in told.err
    assert site.log == []
    place.pages.unlink()
    assert place.comity_apart("crawl", site.url()).code == 0
    assert len(place.kept()) == 5


@pytest.mark.parametrize("processes", [1, 2])
def test_a_worker_whose_page_folder_cannot_be_made_says_so_before_anything_is_asked(
    web: Web, place: Place, processes: int
) -> None:
    site = web.site(tree(3))
    place.comity("seeds", "add", site.url())
    place.pages.symlink_to(place.folder / "nowhere" / "pages")  # what is missing can be made, but not under this name
    told = place.comity_apart("work", "--processes", processes, "--idle-exit", "--json")
    assert (told.code, told.out) == (2, "")
    (line,) = told.err.splitlines()
    assert f"cannot create the folder {place.pages}: File exists" in json.loads(line)["message"]
    assert site.log == []
    assert not (place.folder / "nowhere").exists()


def test_a_worker_with_nothing_to_crawl_leaves_no_folder_for_pages(place: Place) -> None:
    place.env["COMITY_PAGES"] = str(place.folder / "some" / "pages")
    assert place.comity("work", "--idle-exit").code == 0
    assert not (place.folder / "some").exists()


def test_worker_processes_that_fail_in_the_same_way_again_and_again_are_not_replaced_without_end(
    web: Web, place: Place
) -> None:
    site = web.site(heavy(40))
    place.comity("seeds", "add", site.url())
    told = place.comity_apart("work", "--processes", 2, "--idle-exit", largest_file=LARGEST_FILE, within_s=120)
    assert told.code == 1
    lines = told.err.splitlines()
    assert 3 <= sum("File too large" in line for line in lines) <= 6, told.err
    assert sum("3 times in a row for the same reason" in line for line in lines) >= 1, told.err


def test_a_store_that_fails_once_in_the_middle(web: Web, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third batch of pages cannot be written."""
    good, calls = PageStore.append, []

    def append(store: PageStore, *arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 3:
            raise OSError(errno.EIO, os.strerror(errno.EIO), "the disk")
        return good(store, *arguments)

    monkeypatch.setattr(PageStore, "append", append)
    sites = [web.site(tree(30), robots="User-agent: *\nCrawl-delay: 0.02\n") for _ in range(2)]
    with pytest.raises(OSError, match="Input/output error"):
        place.crawl(*(site.url() for site in sites))
    for site in sites:
        frontier = place.frontier(site.host)
        done = {url for url, state in frontier.items() if state != QUEUED}
        assert done == {row["page_url"] for row in place.fetches(site.host)}
        assert place.host(site.host)["claimed_by"] is None
    assert [row["status"] for row in place.rows("SELECT status FROM crawl_runs")] == ["failed"]
    monkeypatch.setattr(PageStore, "append", good)
    summary = place.crawl(*(site.url() for site in sites))
    assert summary.status == "finished"
    assert set(place.kept()) == {site.url(path) for site in sites for path in tree(30)}


def test_a_state_whose_disk_is_full_stops_the_run_and_the_next_one_completes(web: Web, place: Place) -> None:
    """The page has room; it is the evidence of what robots.txt forbids on it that outgrows the disk."""
    links = [f"/{number:04d}-{'x' * 1500}" for number in range(600)]
    site = web.site({"/": page(*links)}, fallback=page(), robots="User-agent: *\nDisallow: /0\n")
    told = place.comity_apart("crawl", site.url(), largest_file=LARGEST_FILE)
    assert told.code == 1
    # SQLite reports a file that must not grow as an error of the disk; the message names the state, and is one line.
    assert re.fullmatch(rf"comity: the state at {place.state} cannot be used: .*(disk|full|I/O).*\n", told.err), (
        told.err
    )
    assert place.fetches(site.host) == []
    assert place.comity_apart("crawl", site.url()).code == 0
    assert set(place.kept()) == {site.url()}


def test_what_fails_beside_the_crawl_ends_it_with_its_own_message(web: Web, place: Place) -> None:
    """The state's file is replaced by something else while the crawl runs."""
    site = web.site(tree(200), robots="User-agent: *\nCrawl-delay: 0.02\n")

    async def vandal(_crawl: Crawl, state: State) -> None:
        await until(lambda: len(site.pages()) >= 5)
        with state.database.write() as connection:
            connection.exec_driver_sql("DROP TABLE takedowns")

    with pytest.raises(Exception, match="takedowns") as caught:
        place.crawl(site.url(), meanwhile=vandal, within_s=60)
    assert not isinstance(caught.value, ExceptionGroup)


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[None]:
    """A disk of its own, which only root can make (as in tests/machines)."""
    folder.mkdir()
    size = f"size={kilobytes}k"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "comity-test", str(folder)], check=True, timeout=30)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=30)


@pytest.mark.roomy
def test_a_worker_waits_for_room_and_asks_for_no_page_again(web: Web, place: Place) -> None:
    sites = [web.site(heavy(40)) for _ in range(2)]
    assert place.comity("seeds", "add", *(site.url() for site in sites)).code == 0
    with small_disk(place.pages, 3000), place.begun("work", "--idle-exit", "--delay", 0) as process:
        wait_until(lambda: any(place.folder.glob(".err-*")) and "pages_wait" in process.err, 60, "a full disk")
        assert process.poll() is None
        subprocess.run(["mount", "-o", "remount,size=64m", str(place.pages)], check=True, timeout=30)
        assert process.wait(60) == 0, process.err
        told = [json.loads(line) for line in process.err.splitlines()]
        events = [line["event"] for line in told]
        assert events.index("pages_wait") < events.index("pages_go_on")
        assert next(line for line in told if line["event"] == "pages_wait")["message"].startswith(f"{place.pages}")
        assert set(place.kept()) == {site.url(path) for site in sites for path in tree(40)}
    for site in sites:
        assert sorted(site.pages()) == sorted(tree(40)), "each page once"


@pytest.mark.roomy
def test_a_worker_that_waits_for_room_stops_when_it_is_told_to(web: Web, place: Place) -> None:
    site = web.site(heavy(40))
    assert place.comity("seeds", "add", site.url()).code == 0
    with small_disk(place.pages, 1500):
        with place.begun("work", "--delay", 0) as process:
            wait_until(lambda: any(place.folder.glob(".err-*")) and "pages_wait" in process.err, 60, "a full disk")
            process.send(signal.SIGTERM)
            assert process.wait(60) in (0, 1)
        assert place.host(site.host)["claimed_by"] is None
        subprocess.run(["mount", "-o", "remount,size=64m", str(place.pages)], check=True, timeout=30)
        assert place.comity_apart("crawl", site.url()).code == 0
        assert set(place.kept()) == {site.url(path) for path in tree(40)}
