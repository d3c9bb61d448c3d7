"""One Chromium and one console with demonstration data for each test process; a test that writes has its own."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.console.looks import open_page
from tests.console.seeding import seed
from tests.doors.web.served import Served, served
from tests.servers.chromium import installed

OpenPage = Callable[..., Page]
LOOPS: list[asyncio.AbstractEventLoop] = []
expect.set_options(timeout=60_000)  # the machine may be busy; what is there is found at once


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--in-process-gpu"]
        # Every page is a new one: to optimize its scripts takes longer than to run them as they are.
        flags.append("--js-flags=--no-opt --no-maglev")
        launched = playwright.chromium.launch(executable_path=installed(), args=flags)
        LOOPS.append(asyncio.get_running_loop())
        asyncio._set_running_loop(None)
        yield launched
        asyncio._set_running_loop(LOOPS.pop())
        launched.close()


@pytest.fixture(autouse=True)
def _in_the_loop_of_playwright(request: pytest.FixtureRequest) -> Iterator[None]:
    """Playwright's loop counts as running as long as the browser does, which no other test of this process may see."""
    if "browser" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("browser")
    asyncio._set_running_loop(LOOPS[-1])
    yield
    asyncio._set_running_loop(None)


def folders(folder: Path) -> dict[str, str]:
    """Settings that keep pages and audits in a folder of the test."""
    return {"pages": str(folder / "pages"), "audits": str(folder / "audits")}


@pytest.fixture(scope="session")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A console with demonstration data, for tests that only read."""
    folder = tmp_path_factory.mktemp("console")
    path = folder / "comity.sqlite"
    with served(f"sqlite:///{path}", env="dev", **folders(folder)) as running:
        seed(running.state)
        yield running


@pytest.fixture
def own_console(migrated_sqlite_file: Path, tmp_path: Path) -> Iterator[Served]:
    """An empty console, for a test that writes."""
    path = tmp_path / "comity.sqlite"
    shutil.copy(migrated_sqlite_file, path)
    with served(f"sqlite:///{path}", env="dev", **folders(tmp_path)) as running:
        yield running


@pytest.fixture
def visit(browser: Browser, console: Served) -> Iterator[OpenPage]:
    """Open a path of the console: `visit("/sources", dark=True)`. Every page is closed with the test.

    Options: `dark`, `phone`, `scripts=False`, `of` (another console).
    """
    with ExitStack() as opened:

        def act(path: str = "/", *, of: Served | None = None, **look: bool) -> Page:
            return opened.enter_context(open_page(browser, (of or console).url, path, **look))

        yield act
