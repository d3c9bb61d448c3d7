"""The hostile web and fetchers that may talk to it; every fetcher a test makes is closed after it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from comity.fetch.fetcher import CurlFetcher
from comity.fetch.settings import FetchSettings
from tests.hostile.web import CERTIFICATES, HostileWeb

LOOPBACK = ("127.0.0.1/32", "::1/128")
MakeFetcher = Callable[..., CurlFetcher]


@pytest.fixture(scope="session")
def shared_web() -> Iterator[HostileWeb]:
    with HostileWeb() as web:
        yield web


@pytest.fixture
def web(shared_web: HostileWeb) -> HostileWeb:
    """The hostile web, with an empty log."""
    shared_web.log.clear()
    return shared_web


@pytest.fixture(scope="session")
def secure_web() -> Iterator[HostileWeb]:
    with HostileWeb(certificate="good") as web:
        yield web


@pytest.fixture
async def make_fetcher() -> AsyncIterator[MakeFetcher]:
    """Makes fetchers that may dial loopback and know the test authority, unless told otherwise."""
    made: list[CurlFetcher] = []

    def make(**changes: Any) -> CurlFetcher:
        settings = {
            "user_agent": "test/1.0 (+https://example.org/bot)",
            "allowed_networks": LOOPBACK,
            "ca_file": str(CERTIFICATES / "ca.pem"),
            "timer_tick_s": 0.02,
        }
        fetcher = CurlFetcher(FetchSettings(**(settings | changes)), time.time)
        made.append(fetcher)
        return fetcher

    yield make
    for fetcher in made:
        fetcher.close()


@pytest.fixture
def fetcher(make_fetcher: MakeFetcher) -> CurlFetcher:
    """A fetcher with the test defaults."""
    return make_fetcher()
