"""Crawls for tests: by the command line, here or in a process apart, or by `State.crawl`; and what they leave."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from comity.assemble import State, open_state
from comity.doors.cli.main import run as run_command
from comity.operate.seeds import add_seeds
from comity.rules.seed_list import read_seed
from comity.run.remedies import CRAWL_ADVICE
from comity.settings import Settings, read_settings
from comity.walk.crawl.crawl import Crawl
from comity.walk.crawl.progress import RunSummary
from comity.walk.crawl.terms import CrawlHooks
from tests.walk.forking import Apart, ForkServer

LOOPBACK = "127.0.0.0/8"
QUEUED, DONE, DROPPED, TOO_DEEP = 0, 1, 2, 3
# For an answer that does not come: no limit of a request ends it before the test does.
LONG_REQUESTS = {"COMITY_FETCH_TIMEOUT": "600", "COMITY_FIRST_BYTE_TIMEOUT": "600"}
_OURS = ("COMITY_", "ENABLE_", "MAX_", "AIDJOBS_", "USER_AGENT")


@dataclass(frozen=True, slots=True)
class Told:
    """What one command said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(slots=True)
class Place:
    """A folder with a state and pages in it, and the crawls on them."""

    folder: Path
    server: Callable[[], ForkServer] | None = None
    env: dict[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.folder / "state.db"

    @property
    def pages(self) -> Path:
        return self.folder / "pages"

    def environment(self) -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        ours = {"COMITY_STATE": str(self.state), "COMITY_PAGES": str(self.pages), "COMITY_ALLOW_NETWORKS": LOOPBACK}
        # The sites here have no sitemaps; tests of those turn it on.
        ours["COMITY_CONTACT"] = "crawler@example.org"
        return clean | ours | {"COMITY_DELAY": "0", "COMITY_SITEMAPS": "false", "PYTHONUNBUFFERED": "1"} | self.env

    def comity(self, *arguments: object) -> Told:
        """Run a command in this process, to its end."""
        out, err = io.StringIO(), io.StringIO()
        before = dict(os.environ)
        os.environ.clear()
        os.environ.update(self.environment())
        try:
            with redirect_stdout(out), redirect_stderr(err):
                code = run_command(list(map(str, arguments)))
        finally:
            os.environ.clear()
            os.environ.update(before)
        return Told(code, out.getvalue(), err.getvalue())

    def comity_apart(self, *arguments: object, within_s: float = 60.0, largest_file: int | None = None) -> Told:
        """Run a command in a process of its own, to its end."""
        with self.begun(*arguments, largest_file=largest_file) as process:
            code = process.wait(within_s)
            return Told(code, process.out, process.err)

    @contextmanager
    def begun(self, *arguments: object, largest_file: int | None = None) -> Iterator[Apart]:
        """Start a command in a process of its own; it is killed if it still runs at the end of the block."""
        assert self.server is not None, "this place has no processes"
        process = self.server().start(list(map(str, arguments)), self.environment(), self.folder, largest_file)
        try:
            yield process
        finally:
            process.kill()

    def settings(self, **changes: Any) -> Settings:
        given = {
            "state": str(self.state),
            "database_url": "",
            "pages": str(self.pages),
            "delay_s": 0.0,
            "sitemaps": False,
            "allow_networks": (LOOPBACK,),
        }
        return read_settings(**(given | changes))

    @contextmanager
    def opened(self, **changes: Any) -> Iterator[State]:
        with open_state(self.settings(**changes)) as state:
            yield state

    def crawl(
        self,
        *seeds: str,
        meanwhile: Callable[[Crawl, State], Any] | None = None,
        within_s: float = 120.0,
        **changes: Any,
    ) -> RunSummary:
        """Crawl by `State.crawl` in this process; `meanwhile` may return a coroutine that runs beside it."""
        with self.opened(**changes) as state:
            read = [read_seed(text, collapse=state.settings.collapse_subdomains) for text in seeds]
            add_seeds(state.database, state.clock, read, source="test", frontier=state.frontier)
            hosts = {seed.host.authority for seed in read}
            return asyncio.run(asyncio.wait_for(run_crawl(state, hosts, meanwhile), within_s))

    def rows(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Ask the embedded state itself."""
        with sqlite3.connect(self.state, timeout=30) as connection:
            connection.row_factory = sqlite3.Row
            found = [dict(row) for row in connection.execute(statement, values)]
        connection.close()
        return found

    def execute(self, statement: str, *values: Any) -> int:
        """Change the embedded state behind everybody's back."""
        with sqlite3.connect(self.state, timeout=30) as connection:
            changed = connection.execute(statement, values).rowcount
        connection.close()
        return changed

    def host(self, name: str) -> dict[str, Any]:
        (row,) = self.rows("SELECT * FROM domains WHERE domain = ?", name)
        return row

    def frontier(self, name: str) -> dict[str, int]:
        """Each URL of a host with its state."""
        found = self.rows(
            "SELECT url, state FROM domain_frontier JOIN domains ON domains.id = domain_id WHERE domain = ?", name
        )
        return {row["url"]: row["state"] for row in found}

    def fetches(self, name: str) -> list[dict[str, Any]]:
        return self.rows("SELECT * FROM fetches WHERE domain = ? ORDER BY crawled_at, id", name)

    def evidence(self, url: str) -> list[dict[str, Any]]:
        found = self.rows("SELECT * FROM evidence WHERE url = ? ORDER BY id", url)
        return [row | {name: json.loads(row[name]) for name in ("content", "metadata")} for row in found]

    def run_row(self, run_id: str) -> dict[str, Any]:
        (row,) = self.rows("SELECT * FROM crawl_runs WHERE id = ?", run_id.replace("-", ""))
        return row

    def parts(self) -> list[dict[str, Any]]:
        """Every page of every part."""
        return [row for path in sorted(self.pages.glob("part-*.parquet")) for row in pq.read_table(path).to_pylist()]

    def kept(self) -> dict[str, dict[str, Any]]:
        """Every page by its URL; a URL that was kept twice is an error."""
        rows = self.parts()
        found = {row["url"]: row for row in rows}
        assert len(found) == len(rows), "a page was kept twice"
        return found


async def run_crawl(
    state: State, hosts: set[str] | None, meanwhile: Callable[[Crawl, State], Any] | None = None
) -> RunSummary:
    """Run one crawl of some hosts, with something else beside it."""
    async with state.fetcher() as fetcher:
        crawl = state.crawl(fetcher, hosts, CrawlHooks(advice=CRAWL_ADVICE))
        beside = meanwhile(crawl, state) if meanwhile is not None else None
        task = asyncio.ensure_future(beside) if asyncio.iscoroutine(beside) else None
        try:
            return await crawl.run()
        finally:
            if task is not None:
                await task


def line_of(summary: RunSummary, host: str) -> Any:
    """How one host was left."""
    (line,) = [line for line in summary.hosts if line.host == host]
    return line


async def until(condition: Callable[[], bool], within_s: float = 60.0) -> None:
    """Wait beside a crawl, without holding it up."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110  # what is waited for happens in another thread
            await asyncio.sleep(0.01)
