"""The sites of `origin.py` as a test sees them: started on some machine, and asked afterwards what they saw."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

PORT = 8080
LOG_IS_EXACT_TO_S = 0.005  # the time between a sender's decision and its sending
REPOSITORY = Path(__file__).resolve().parents[2]


class Sites:
    """Many sites in a process of its own; `command` brings it to the machine where it runs."""

    def __init__(
        self, folder: Path, addresses: Sequence[str], pages: int, port: int = 0, command: Sequence[str] = ()
    ) -> None:
        self.addresses = list(addresses)
        self.pages = pages
        self.port = port
        self.log_file = folder / "sites.log"
        module = "tests.machines.origin"
        self._process = subprocess.Popen(
            [*command, sys.executable, "-m", module, str(self.log_file), str(port), str(pages), *addresses],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.kill()
            raise RuntimeError("the sites did not start")
        self.port = int(line)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(60)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()

    @property
    def seeds(self) -> list[str]:
        """The start page of every site."""
        return [f"http://{address}:{self.port}/" for address in self.addresses]

    @property
    def urls(self) -> set[str]:
        """Every page of every site."""
        paths = ["/", *(f"/p{number}" for number in range(1, self.pages))]
        return {f"http://{address}:{self.port}{path}" for address in self.addresses for path in paths}

    def end(self) -> Seen:
        """Stop serving; gives what was seen."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        lines = [json.loads(line) for line in self.log_file.read_text().splitlines()]
        return Seen([(str(site), str(path), float(at)) for site, path, at in lines], self.port)


class Seen:
    """What the sites were asked."""

    def __init__(self, log: list[tuple[str, str, float]], port: int) -> None:
        self.log = log
        pages = ((site, path) for site, path, _at in log if path != "/robots.txt")
        self.times_asked = Counter(f"http://{site}:{port}{path}" for site, path in pages)

    @property
    def repeated(self) -> int:
        """Requests for pages that had been asked for before."""
        return sum(count - 1 for count in self.times_asked.values())

    def gaps_under(self, delay_s: float) -> list[tuple[str, float]]:
        """Where two requests came to a site closer together than the delay allows."""
        times: dict[str, list[float]] = {}
        for site, _path, at in self.log:
            times.setdefault(site, []).append(at)
        least_s = delay_s - LOG_IS_EXACT_TO_S
        return [
            (site, later - earlier)
            for site, each in times.items()
            for earlier, later in pairwise(sorted(each))
            if later - earlier < least_s
        ]
