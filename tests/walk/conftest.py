"""A web, a place to crawl into, and processes to do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.walk.crawling import Place
from tests.walk.forking import ForkServer
from tests.walk.site import Web


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """Processes that are `comity`; the server starts with the first of them."""
    server = ForkServer()
    yield server
    server.close()


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    """An empty folder; the fork server is only started by who needs it."""
    server: Callable[[], ForkServer] = partial(request.getfixturevalue, "fork_server")
    return Place(tmp_path, server)
