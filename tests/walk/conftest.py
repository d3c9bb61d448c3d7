"""A web, a place to crawl into, and processes to do it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from comity.database.connection import Database
from tests.servers.valkey import ValkeyServer
from tests.walk.crawling import Place
from tests.walk.forking import ForkServer
from tests.walk.site import Web
from tests.walk.sourcing import Office, office


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


@pytest.fixture
def place(tmp_path: Path, migrated_sqlite_file: Path, request: pytest.FixtureRequest) -> Place:
    """A folder with an empty state, which takes longer to make; the fork server is only started by who needs it."""
    server: Callable[[], ForkServer] = partial(request.getfixturevalue, "fork_server")
    found = Place(tmp_path, server)
    shutil.copy(migrated_sqlite_file, found.state)
    return found


@pytest.fixture
def without_state(place: Place) -> None:
    """There is no state yet: for a test of what makes one, or must not."""
    place.state.unlink()


@pytest.fixture(scope="session")
def running_valkey() -> Iterator[ValkeyServer]:
    """A Valkey that keeps its log, as a frontier asks of one."""
    with ValkeyServer(durable=True, tcp=True) as server:
        yield server


@pytest.fixture
def valkey(running_valkey: ValkeyServer) -> Iterator[ValkeyServer]:
    """The same for a test that may kill it; the next finds it running, and empty."""
    yield running_valkey
    empty(running_valkey)


def empty(valkey: ValkeyServer) -> None:
    """Kill the server and start it again without anything that it had."""
    valkey.kill()
    shutil.rmtree(valkey.folder / "appendonlydir", ignore_errors=True)
    valkey.start()


@pytest.fixture
def shared(place: Place, migrated_postgres_url: str, valkey: ValkeyServer) -> Place:
    """A place whose state is on two servers."""
    place.env |= {"COMITY_DATABASE_URL": migrated_postgres_url, "COMITY_REDIS_URL": valkey.url()}
    return place


@pytest.fixture(params=["sqlite", "postgresql"])
def sources_url(request: pytest.FixtureRequest) -> str:
    """An empty state on each of the two kinds of databases: the test runs twice."""
    if request.param == "sqlite":
        url: str = request.getfixturevalue("sqlite_url")
        return url
    database: Database = request.getfixturevalue("shared_database")
    return database.engine.url.render_as_string(hide_password=False)


@pytest.fixture
def bureau(sources_url: str) -> Iterator[Office]:
    """Whoever runs sources, on each of the two databases."""
    with office(sources_url) as opened:
        yield opened


@pytest.fixture
def embedded_bureau(sqlite_url: str) -> Iterator[Office]:
    """The same on a file alone, where the database makes no difference."""
    with office(sqlite_url) as opened:
        yield opened
