"""How many hosts a crawl has open at once, and what it says where the limit of open files allows fewer."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
from uuid import UUID, uuid4

import pytest

from comity.assemble import open_state
from comity.fetch.settings import WANTED_CONNECTIONS, raise_connection_limit
from comity.model.fetch import DEFAULT_LIMITS
from comity.model.gate import DOOR_PROFILES, Door
from comity.model.run import Budget, CrawlScope
from comity.model.sitemap import SitemapBounds
from comity.settings import read_settings
from comity.walk.crawl.host_opening import COUNTED_MOST, HostOpener
from comity.walk.crawl.terms import CrawlTerms


def terms(*, delay_s: float, concurrency: int, connections: int = WANTED_CONNECTIONS) -> CrawlTerms:
    return CrawlTerms(
        profile=replace(DOOR_PROFILES[Door.CRAWL], interval_s=delay_s),
        scope=CrawlScope(),
        limits=DEFAULT_LIMITS,
        budget=Budget(),
        tracking=None,
        traps=None,
        sitemap_bounds=SitemapBounds(),
        agent="test",
        concurrency=concurrency,
        connections=connections,
    )


@pytest.mark.parametrize(
    ("delay_s", "concurrency", "connections", "hosts"),
    [
        (0.0, 64, 8192, 256),  # none waits: these keep all requests busy
        (1.0, 64, 8192, 2048),
        (1.0, 1, 8192, 64),
        (1.0, 1024, 8192, 8192),  # each keeps its connection
        (1.0, 64, 700, 700),  # the limit of open files
        (1.0, 64, 100, 256),  # no fewer than with no delay, connections or not
    ],
)
def test_hosts_that_wait_for_their_delay_leave_room_for_others(
    delay_s: float, concurrency: int, connections: int, hosts: int
) -> None:
    chosen = terms(delay_s=delay_s, concurrency=concurrency, connections=connections)
    assert chosen.most_hosts == hosts
    assert chosen.hosts_at_once(is_named=True, share=None) == hosts
    assert chosen.hosts_at_once(is_named=True, share=7) == 7
    assert chosen.hosts_at_once(is_named=True, share=1_000_000) == hosts


def test_a_worker_leaves_hosts_to_others_unless_an_operator_says_how_many_it_takes() -> None:
    chosen = terms(delay_s=1.0, concurrency=64)
    assert chosen.hosts_at_once(is_named=False, share=None) == 256
    assert chosen.hosts_at_once(is_named=False, share=2000) == 2000


def test_a_limit_of_open_files_that_keeps_hosts_waiting_is_reported() -> None:
    few = terms(delay_s=1.0, concurrency=64, connections=700)
    sentence = few.connection_warning(2000)
    assert sentence is not None
    assert "700 of 2,000 hosts" in sentence
    assert "ulimit -n" in sentence
    assert few.connection_warning(700) is None
    assert terms(delay_s=1.0, concurrency=64).connection_warning(1_000_000) is None
    assert terms(delay_s=0.0, concurrency=64, connections=100).connection_warning(1_000_000) is None


@pytest.fixture
def low_limit() -> Iterator[int]:
    """A soft limit of open files that is under the hard one; it is what it was afterwards."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, hard), hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("low_limit")
def test_the_limit_of_open_files_is_raised_as_far_as_it_may(tmp_path: Path) -> None:
    with open_state(read_settings(state=str(tmp_path / "state.db"))) as state:
        state.fetcher().close()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == (65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536))
    assert raise_connection_limit(1_000_000) == soft - 256
    assert raise_connection_limit(10) == 10


def opener(tmp_path: Path, hosts_at_once: int) -> HostOpener:
    chosen = terms(delay_s=1.0, concurrency=64)
    with open_state(read_settings(state=str(tmp_path / "state.db"))) as state:
        leases = state.leases()
        return HostOpener(state.database, state.frontier, leases, state.clock, uuid4(), chosen, hosts_at_once)


def test_the_more_hosts_are_open_the_less_of_each_is_in_memory(tmp_path: Path) -> None:
    assert [opener(tmp_path, hosts).window for hosts in (1, 400, 2000, 8192)] == [500, 500, 100, 50]


def test_the_queue_of_a_host_is_not_counted_to_its_end_when_it_is_opened(tmp_path: Path) -> None:
    class Reads:
        asked: ClassVar[list[int]] = []

        def queued_up_to(self, _host_id: UUID, most: int) -> int:
            self.asked.append(most)
            return most

    row = SimpleNamespace(frontier_size=200_000, pages_crawled=7)
    reads: Any = Reads()
    assert opener(tmp_path, 50)._known(reads, uuid4(), row, set()) == (None, 200_000)
    assert Reads.asked == [COUNTED_MOST]
