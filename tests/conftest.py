"""The servers and databases that any test may ask for, and the lane in which each test runs.

Servers start when first used and end with the session. A test that kills or restarts its server makes a
`PostgresServer` or `ValkeyServer` of its own: these are shared.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import hypothesis
import pytest
import redis

from tests import forked
from tests.database.compiled import share_compiled_statements
from tests.database.states import (  # noqa: F401  # fixtures are found by name
    database,
    embedded_database,
    migrated_postgres_url,
    migrated_postgresql,
    migrated_sqlite_file,
    migrated_template,
    shared_database,
    state,
)
from tests.servers.postgres import PostgresDatabases, postgres_for_tests, shared_by_servers
from tests.servers.process import ServerUnavailable
from tests.servers.valkey import valkey_for_tests
from tests.sizes import LONG
from tests.walk.forking import ForkServer

# Whoever runs tests in the background of a shell lets them ignore Ctrl-C, which some of them type.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Whoever runs tests side by side tells them a size of terminal that none of theirs has.
for name in ("LINES", "COLUMNS"):
    os.environ.pop(name, None)

share_compiled_statements()

# COMITY_TEST_LONG=1 runs every size and every example in full, with other examples each time. A short run has the same
# examples every time: what it says depends on the code alone. Neither limits how long an example takes to make.
SLOW_IS_FINE = [hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile(
    "short", deadline=None, max_examples=30, derandomize=True, suppress_health_check=SLOW_IS_FINE
)
hypothesis.settings.register_profile("long", deadline=None, max_examples=1000, suppress_health_check=SLOW_IS_FINE)
hypothesis.settings.load_profile("long" if LONG else "short")

# Tests that measure gaps, stalls and pauses, or keep every core busy: what else runs on the machine would show in them.
ALONE = (
    "tests/walk/test_hard_pages.py",
    "tests/walk/test_suspended.py",
    "tests/machines/test_killed_in_turn.py",
    "tests/machines/test_many_workers.py",
    "tests/extract/test_html_pool.py",
)
# Tests that start processes and mostly wait for them: a full machine would show in them, one neighbour does not.
ROOMY = (
    "tests/doors/test_why.py",
    "tests/queue/test_many_bots.py",
    "tests/walk/test_endings.py",
    "tests/walk/test_hostile_crawl.py",
    "tests/walk/test_hung_stores.py",
    "tests/walk/test_killed.py",
    "tests/walk/test_lost_leases.py",
    "tests/walk/test_manners.py",
    "tests/walk/test_many_hands.py",
    "tests/walk/test_many_hosts.py",
    "tests/walk/test_processes.py",
    "tests/walk/test_redis_crawl.py",
    "tests/walk/test_signals.py",
    "tests/walk/test_sources_due.py",
    "tests/walk/test_two_crawls.py",
    "tests/walk/test_watched_work.py",
    "tests/walk/test_whole_site.py",
    "tests/walk/test_worker.py",
    "tests/machines/test_cut_off.py",
    "tests/machines/test_cut_off_mid_transaction.py",
)


LANES = {"alone": ALONE, "roomy": ROOMY}
SHARED_FORKS: list[ForkServer] = []
"""The server that all processes of a run side by side use, if there is one: it imports everything once."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Run the tests of one lane: the Makefile runs several lanes at once."""
    parser.addoption("--lane", choices=[*LANES, "crowd"], help="only tests marked so; crowd: those with neither mark")
    parser.addoption("--processes", type=int, default=1, help="run in so many processes, forked after the collection")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a list that names a file under a name it no longer has: its tests would lose their lane."""
    for path in (*ALONE, *ROOMY):
        if not (config.rootpath / path).is_file():
            raise pytest.UsageError(f"tests/conftest.py names {path}, which does not exist")
    gc.disable()  # while tests are collected: what is made now stays
    if not hasattr(config, "workerinput"):  # of a run side by side, the process that starts the others
        shared = ExitStack()
        shared.enter_context(shared_by_servers())
        config.add_cleanup(shared.close)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import modules without any test of the lane that was asked for."""
    lane = config.getoption("--lane")
    if lane is None or collection_path.suffix != ".py":
        return None
    path = collection_path.relative_to(config.rootpath).as_posix()
    if lane == "crowd":
        return True if path in (*ALONE, *ROOMY) else None
    is_marked = path in LANES[lane] or f"@pytest.mark.{lane}" in collection_path.read_text(encoding="utf-8")
    return None if is_marked else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of each lane, and leave only those of the lane that was asked for."""
    for item in items:
        path = item.path.relative_to(config.rootpath).as_posix()
        for lane, paths in LANES.items():
            if path in paths:
                item.add_marker(lane)
    if (wanted := config.getoption("--lane")) is None:
        return
    others = [item for item in items if wanted != _lane_of(item)]
    items[:] = [item for item in items if wanted == _lane_of(item)]
    config.hook.pytest_deselected(items=others)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in several processes, if that was asked for."""
    option = session.config.option
    is_whole = option.processes == 1 or option.collectonly or option.usepdb or getattr(option, "numprocesses", None)
    if is_whole or session.testsfailed:
        return None
    if option.lane is not None:  # every lane has tests that need it; a few chosen tests may not
        SHARED_FORKS.append(ForkServer())
    try:
        # Tests outside the crowd take seconds each: shared out one by one, the processes end at the same time.
        forked.run(session, option.processes, forked.MOST_AT_ONCE if option.lane == "crowd" else 1)
    finally:
        for server in SHARED_FORKS:
            server.close()
    return True


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the names of tests that fail, where the Makefile wants them: it repeats them when the others are done."""
    _note_failure(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """The same for modules that cannot be imported."""
    _note_failure(report)


def _note_failure(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.failed and (notes := os.environ.get("COMITY_TEST_FAILURES")) and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(notes).open("a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\n")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let the collector of garbage pass by thousands of tests and modules, each time that it looks for some.

    It looks as rarely as in a command of the product, which sets this for the whole process.
    """
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)
    gc.enable()
    atexit.register(gc.unfreeze)


@pytest.fixture(scope="session", autouse=True)
def _folders_of_a_forked_process(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Remove the temporary folders of a process that pytest itself did not start, and so does not clean up after."""
    yield
    if pytestconfig.getoption("--processes") > 1:
        shutil.rmtree(tmp_path_factory.getbasetemp(), ignore_errors=True)


def _lane_of(item: pytest.Item) -> str:
    return next((lane for lane in LANES if item.get_closest_marker(lane) is not None), "crowd")


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


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """Processes that are `comity`; the server starts with the first of them, or is shared by the processes of a run."""
    if SHARED_FORKS:
        yield SHARED_FORKS[0]
        return
    server = ForkServer()
    yield server
    server.close()


@pytest.fixture
def forked_children(fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Child processes of crawls that run in the process of the test are forked, too."""
    monkeypatch.setattr(sys, "executable", fork_server.interpreter())


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
