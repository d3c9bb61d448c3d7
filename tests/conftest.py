"""The servers and databases that any test may ask for. They start when first used and end with the session.

A test that kills or restarts its server makes a `PostgresServer` or `ValkeyServer` of its own: these are shared.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from tests.servers.postgres import PostgresDatabases, postgres_for_tests
from tests.servers.process import ServerUnavailable
from tests.servers.valkey import valkey_for_tests

# Whoever runs tests in the background of a shell lets them ignore Ctrl-C, which some of them type.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Whoever runs tests side by side tells them a size of terminal that none of theirs has.
for name in ("LINES", "COLUMNS"):
    os.environ.pop(name, None)

# Tests that measure gaps, stalls and pauses, or keep every core busy: what else runs on the machine would show in them.
ALONE = (
    "tests/walk/test_hard_pages.py",
    "tests/walk/test_hostile_crawl.py",
    "tests/walk/test_manners.py",
    "tests/walk/test_many_hands.py",
    "tests/walk/test_sources_due.py",
    "tests/walk/test_suspended.py",
    "tests/machines/test_killed_in_turn.py",
    "tests/machines/test_many_workers.py",
    "tests/extract/test_apart.py",
)
# Tests that start processes and mostly wait for them: a full machine would show in them, one neighbour does not.
ROOMY = (
    "tests/doors/test_why.py",
    "tests/walk/test_endings.py",
    "tests/walk/test_hung_stores.py",
    "tests/walk/test_killed.py",
    "tests/walk/test_lost_leases.py",
    "tests/walk/test_many_hosts.py",
    "tests/walk/test_processes.py",
    "tests/walk/test_redis_crawl.py",
    "tests/walk/test_signals.py",
    "tests/walk/test_two_crawls.py",
    "tests/walk/test_watched_work.py",
    "tests/walk/test_whole_site.py",
    "tests/walk/test_worker.py",
    "tests/machines/test_cut_off.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that are to run alone, or with room around them."""
    for item in items:
        path = item.path.relative_to(config.rootpath).as_posix()
        if path in ALONE:
            item.add_marker("alone")
        elif path in ROOMY:
            item.add_marker("roomy")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresDatabases]:
    """A PostgreSQL that runs; COMITY_TEST_DATABASE_URL names another than our own."""
    with ExitStack() as stack:
        try:
            databases = stack.enter_context(postgres_for_tests())
        except ServerUnavailable as error:
            pytest.fail(str(error), pytrace=False)
        yield databases


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[str]:
    """The URL of a Valkey that runs; COMITY_TEST_REDIS_URL names another than our own."""
    with ExitStack() as stack:
        try:
            url = stack.enter_context(valkey_for_tests())
        except ServerUnavailable as error:
            pytest.fail(str(error), pytrace=False)
        yield url


@pytest.fixture
def postgres_url(postgres_server: PostgresDatabases) -> Iterator[str]:
    """A fresh PostgreSQL database of this test's own."""
    url = postgres_server.create_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A SQLite database of this test's own, in a file."""
    return f"sqlite:///{tmp_path / 'comity.sqlite'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A fresh database on each of the two kinds: the test runs twice."""
    name = "sqlite_url" if request.param == "sqlite" else "postgres_url"
    url: str = request.getfixturevalue(name)
    return url


@pytest.fixture
def redis_url(valkey_server: str) -> str:
    """An empty Valkey database."""
    with redis.Redis.from_url(valkey_server) as client:
        client.flushdb()
    return valkey_server
