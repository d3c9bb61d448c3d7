"""`comity work` as processes of their own, on this machine or on others, and the state that they leave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from tests.servers.postgres import conninfo
from tests.walk.forking import Forked, ForkServer

COMITY = Path(sys.executable).with_name("comity")
ENDS_WITHIN_S = 60.0


def run(words: Sequence[str], environment: Mapping[str, str], folder: Path, forks: ForkServer) -> None:
    """Run one command of Comity to its end."""
    process = forks.start(list(words), {**os.environ, **environment}, folder)
    assert process.wait(300) == 0, process.err


class Worker:
    """One `comity work`, forked or started by a command; what it says is kept in a file."""

    def __init__(
        self,
        name: str,
        folder: Path,
        environment: Mapping[str, str],
        options: Sequence[str] = (),
        command: Sequence[str] = (),
        forks: ForkServer | None = None,
    ) -> None:
        self.log = folder / f"{name}.log"
        words = ["work", "--into", str(folder / "pages"), *options]
        environment = {**os.environ, **environment}
        self.process: subprocess.Popen[bytes] | Forked
        with self.log.open("ab") as log:
            if forks is not None:
                asked = {"argv": words, "env": environment, "cwd": str(folder)}
                self.process = forks.popen(asked, stdout=log, stderr=subprocess.STDOUT)
            else:
                self.process = subprocess.Popen(
                    [*command, str(COMITY), *words],
                    env=environment,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(60)

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self.process.kill()
        self.process.wait(60)

    def drain(self) -> int:
        """Ask it to finish what is under way; gives how it ended."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(ENDS_WITHIN_S)

    def said(self) -> str:
        """Everything it said."""
        return self.log.read_text(errors="replace")


class State:
    """The shared state, read with plain SQL."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(conninfo(url), autocommit=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """What a query gives."""
        return self._connection.execute(statement).fetchall()  # type: ignore[arg-type]

    def one(self, statement: str) -> Any:
        """The only value of a query's only row."""
        return self.rows(statement)[0][0]

    def pages_done(self) -> int:
        """Pages that are settled."""
        return int(self.one("SELECT count(*) FROM fetches WHERE outcome = 'fetched'"))

    def holders(self) -> dict[str, str]:
        """Who holds which host."""
        return dict(self.rows("SELECT domain, claimed_by FROM domains WHERE claimed_by IS NOT NULL"))

    def check(self, urls: set[str]) -> None:
        """Every page settled exactly once, every counter equal to its rows, every lease given back."""
        found = [row[0] for row in self.rows("SELECT page_url FROM fetches WHERE outcome = 'fetched'")]
        assert len(found) == len(set(found)), "a page was settled twice"
        assert set(found) == urls
        wrong = self.rows(
            "SELECT domain, pages_crawled, counted FROM domains JOIN (SELECT domain AS name, count(*) AS counted "
            "FROM fetches WHERE outcome = 'fetched' GROUP BY domain) AS found ON found.name = domains.domain "
            "WHERE pages_crawled <> counted"
        )
        assert wrong == []
        assert self.holders() == {}
        assert self.rows("SELECT DISTINCT status FROM domains WHERE is_seeded") == [("exhausted",)]
