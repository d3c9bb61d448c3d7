"""What tests of the Python API share: a place without anything that could steer it, and what a crawl leaves there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import comity
from tests.walk.crawling import LOOPBACK, Place
from tests.walk.site import Site

SWIFT: dict[str, Any] = {"delay": 0, "sitemaps": False, "allow_networks": [LOOPBACK]}


def crawl(place: Place, *sites: Site, **options: Any) -> comity.CrawlRun:
    """A crawl of loopback sites into a place, as quick as it can be."""
    given = SWIFT | {"state": place.state, "into": place.pages} | options
    return comity.crawl(*(site.url() for site in sites), **given)


def slowly(pause_s: float) -> str:
    """A robots.txt that asks for a pause between requests."""
    return f"User-agent: *\nCrawl-delay: {pause_s}\n"


def assert_given_back(place: Place) -> None:
    """No lease is held, and no run is under way."""
    assert {row["claimed_by"] for row in place.rows("SELECT claimed_by FROM domains")} == {None}
    assert place.rows("SELECT * FROM crawl_runs WHERE status = 'running'") == []


@contextmanager
def no_thread_stays() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before, "a thread stays behind"
