"""`comity crawl --processes` as a person meets it, and the small parts it is made of."""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from comity.doors.cli.crawl.progress import ProgressLine
from comity.run.crawl.child import FinishedHosts, PageBudget, return_page, take_page
from comity.walk.crawl.progress import Progress
from tests.doors.command_line import CommandLine
from tests.doors.test_terminals import ANY_CODE, at_terminal
from tests.walk.crawling import LOOPBACK, Place
from tests.walk.site import Web, tree


@pytest.mark.usefixtures("without_state")
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("0", "--processes must be between 1 and 64, not 0"),
        ("-2", "--processes must be between 1 and 64, not -2"),
        ("1000", "--processes must be between 1 and 64, not 1000"),
        ("many", "--processes: must be a whole number"),
    ],
)
def test_a_number_of_processes_that_cannot_be_is_refused(place: Place, value: str, words: str) -> None:
    told = place.comity("crawl", "https://example.org/", "--processes", value)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(f"comity: {words}")
    assert not place.state.exists()


def test_a_state_in_memory_cannot_be_shared(place: Place) -> None:
    told = place.comity("crawl", "https://example.org/", "--processes", 2, "--state", ":memory:")
    assert told.code == 2
    assert "a state in memory cannot be shared" in told.err


def test_the_end_is_told_to_people_as_one(web: Web, place: Place) -> None:
    sites = [web.site(tree(5)) for _ in range(3)]
    told = place.comity("crawl", *(site.url() for site in sites), "--processes", 2)
    assert told.code == 0
    assert told.err == ""
    assert told.out.startswith("This run: 15 pages in ")
    assert told.out.count("Ended: nothing left to visit.") == 1
    lines = {line.split()[0]: line.split()[1:] for line in told.out.splitlines() if line.startswith("127.")}
    assert lines == {site.host: ["exhausted", "5", "5", "0"] for site in sites}


def test_more_processes_than_hosts_or_requests_are_of_no_use(web: Web, place: Place) -> None:
    site, other = web.site(tree(4)), web.site(tree(4))
    assert place.comity("crawl", site.url(), "--processes", 8).code == 0
    assert place.comity("crawl", other.url(), site.url(), "--processes", 8, "--concurrency", 1).code == 0
    holders = {row["holder"].split(":")[1] for row in place.rows("SELECT holder FROM crawl_runs")}
    parts = [path.name.split("-")[-4] for path in place.pages.glob("part-*.parquet")]
    assert {*parts} == holders == {str(os.getpid())}, "nobody else was needed"


def test_secrets_do_not_stand_on_the_command_line(web: Web, place: Place) -> None:
    """What the processes are given comes to them by a pipe; everybody may read how a process was started."""
    seen: list[bytes] = []

    def look(_asked: object) -> str:
        # Of this process alone: tests beside this one have such children, too.
        for task in Path("/proc/self/task").iterdir():
            for number in (task / "children").read_text().split():
                with suppress(OSError):
                    seen.append(Path(f"/proc/{number}/cmdline").read_bytes())
        return "<title>seen</title>"

    sites = [web.site({"/": look}) for _ in range(2)]
    place.env["COMITY_PROXY_PASSWORD"] = "a secret of ours"
    assert place.comity("crawl", *(site.url() for site in sites), "--processes", 2).code == 0
    parts = {line.rstrip(b"\0").split(b"\0", 1)[1] for line in seen if b"comity.run.child_process" in line}
    assert parts == {b"-P\0-m\0comity.run.child_process"}


def test_at_a_terminal_one_bar_shows_all_processes(web: Web, comity: CommandLine) -> None:
    sites = [web.site(tree(12), robots="User-agent: *\nCrawl-delay: 0.15\n") for _ in range(4)]
    seeds = [site.url() for site in sites]
    options = ["--processes", "2", "--allow-network", LOOPBACK, "--max-pages", "40", "--no-sitemaps"]
    code, text = at_terminal(comity, "crawl", *seeds, *options, columns=160)
    assert code == 0
    plain = ANY_CODE.sub("", text).replace("\N{NO-BREAK SPACE}", " ")
    shown = re.findall(
        r"([\d,]+) pages · [\d.]+/s \(mean [\d.]+\) · hosts (\d+) active, (\d+) waiting, \d+ blocked", plain
    )
    assert [int(pages) for pages, _active, _waiting in shown] == sorted(int(pages) for pages, *_ in shown)
    assert max(int(active) + int(waiting) for _pages, active, waiting in shown) == 4
    assert re.search(r"limit in \d+ pages", plain)
    assert "40 pages in " in plain
    assert "Ended: the limit of 40 pages per run was reached" in plain


def test_the_line_says_how_fast_how_much_and_how_long() -> None:
    now = 1000.0
    progress = Progress(now)
    line = ProgressLine(progress, lambda: now, max_pages=500, max_minutes=10)
    for _ in range(60):
        now += 1.0
        progress.pages += 4
    progress.begun, progress.queued, progress.errors, progress.bytes_received = 245, 1234, 1, 3_400_000
    progress.hosts_active, progress.hosts_waiting, progress.hosts_blocked = 12, 9, 1
    line.sentence()
    for _ in range(20):
        now += 1.0
        progress.pages += 10
        said = line.sentence()
    assert said == (
        "440 pages · 10.0/s (mean 5.5) · hosts 2 active, 9 waiting, 1 blocked · 1,234 queued · 1 error · 3.4 MB · "
        "about 9 s to go · limit in 60 pages, 9 min"
    )


def test_a_line_without_budgets_speaks_of_none() -> None:
    line = ProgressLine(Progress(5.0), lambda: 5.0, max_pages=0, max_minutes=0)
    assert line.sentence() == (
        "0 pages · 0.0/s (mean 0.0) · hosts 0 active, 0 waiting, 0 blocked · 0 queued · 0 errors · 0 B"
    )


def test_the_last_seconds_are_counted_down() -> None:
    now = 0.0
    line = ProgressLine(Progress(0.0), lambda: now, max_pages=0, max_minutes=1)
    now = 45.0
    assert line.sentence().endswith(" · limit in 15 s")
    now = 99.0
    assert line.sentence().endswith(" · limit in 0 s")


@pytest.mark.parametrize("limit", [1, 7, 200_000])
def test_as_many_pages_begin_as_there_are_whoever_asks(limit: int) -> None:
    """More than a pipe holds are put in as others are taken out."""
    pages = PageBudget(limit)
    taken: Counter[int] = Counter()

    def take(number: int) -> None:
        while not pages.is_empty:
            taken[number] += take_page(pages.descriptor)

    threads = [threading.Thread(target=take, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        pages.fill()
        threads[0].join(0.001)
    assert taken.total() == limit
    assert not take_page(pages.descriptor)
    pages.close()


def test_a_page_that_did_not_come_is_put_back() -> None:
    pages = PageBudget(2)
    assert [take_page(pages.descriptor) for _ in range(3)] == [True, True, False]
    assert pages.is_empty
    return_page(pages.end)
    assert not pages.is_empty
    assert take_page(pages.descriptor)
    pages.add(1)
    assert [take_page(pages.descriptor) for _ in range(2)] == [True, False]
    pages.close()


def test_what_is_put_back_has_room_however_many_pages_are_left() -> None:
    pages = PageBudget(500_000)
    for _ in range(1000):
        return_page(pages.end)
        pages.fill()
    count = 0
    while not pages.is_empty:
        count += take_page(pages.descriptor)
        pages.fill()
    assert count == 501_000
    pages.close()


def test_a_host_that_one_process_left_is_known_to_all_at_once() -> None:
    ours = FinishedHosts()
    first, second = FinishedHosts(ours.descriptor, number=1), FinishedHosts(ours.descriptor, number=2)
    assert second.all() == set()
    first.add("a.example")
    second.add("b.example")
    assert first.all() == second.all() == ours.all() == {"a.example", "b.example"}
    assert (ours.by(1), ours.by(2)) == (["a.example"], ["b.example"])
    ours.remove("a.example")
    assert first.all() == second.all() == {"b.example"}
    many = {f"h{number}.example" for number in range(10_000)}
    for host in many:
        second.add(host)
    assert first.all() == many | {"b.example"}
    ours.close()
