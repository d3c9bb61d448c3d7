"""One process of a shared crawl as whoever began it sees it: started, spoken to, listened to, and gone."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, Final

from comity.model.errors import ComityError

_COMMAND: Final = ("-P", "-m", "comity.run.crawl.child")
_LONGEST_LINE: Final = 1 << 26
_LAST_WORDS: Final = 2000


class ChildFailed(ComityError):
    """What ended one process of a run, in the words and with the exit code that it would have had alone."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(told["message"])
        self.code = told["error"]  # type: ignore[misc]  # it speaks for another
        self.exit_code = told["exit_code"]  # type: ignore[misc]
        self.details: str = told["details"]


class ChildProcess:
    """A process of the run. `progress` is what it said last, `ended` or `failure` its last word, if it had one."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.progress: dict[str, int] = {}
        self.warnings: list[str] = []
        self.faults: list[dict[str, Any]] = []
        self.ended: tuple[str, str] | None = None
        self.failure: ChildFailed | None = None
        self._process: asyncio.subprocess.Process
        self._last_words = b""

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    async def start(self, job: dict[str, Any], descriptors: Collection[int]) -> None:
        """Begin the process. It is in no terminal's group: Ctrl-C is for us, and what it means we tell each once."""
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *_COMMAND,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            pass_fds=tuple(descriptors),
            start_new_session=True,
            limit=_LONGEST_LINE,
        )
        self.tell(job)

    def tell(self, document: dict[str, Any]) -> None:
        """Say something; whoever is gone does not hear it."""
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            with suppress(OSError):
                self._process.stdin.write((json.dumps(document) + "\n").encode())

    async def listen(self, on_news: Callable[[ChildProcess, dict[str, Any]], None]) -> int:
        """Hear everything that it says; gives its exit code, or the negative of the signal that killed it."""
        assert self._process.stdout is not None
        errors = asyncio.create_task(self._hear_errors())
        while line := await self._process.stdout.readline():
            if line.endswith(b"\n"):  # else it was killed in the midst of it
                on_news(self, json.loads(line))
        await errors
        code = await self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        return code

    def kill(self) -> None:
        """End it the hard way."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def why_it_died(self, code: int) -> str:
        """How a process ended that said nothing, for people."""
        if code < 0:
            with suppress(ValueError):
                return f"was killed by {signal.Signals(-code).name}"
            return f"was killed by signal {-code}"
        last = self._last_words.decode(errors="replace").strip().splitlines()
        return f"ended with code {code}" + (f" ({last[-1][:200]})" if last else "")

    async def _hear_errors(self) -> None:
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(4096):
            self._last_words = (self._last_words + piece)[-_LAST_WORDS:]
