"""The protocol between a command and its child processes: the only way to hand work to another process.

The parent starts `python -m comity.run.child_process` and writes JSON lines to its stdin: first the task, with every
setting and a job, then orders. The child answers with JSON lines on stdout. No secret appears on a command line, and
the child reads no setting from its environment. The end of stdin means that the parent is gone: the child then stops.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import sys
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from comity.run.remedies import CommandFailure, describe_failure
from comity.run.runtime import event_loop_runner, tune_memory

if TYPE_CHECKING:
    from comity.settings import Settings

_COMMAND: Final = ("-P", "-m", "comity.run.child_process")
_MOST_MESSAGE_BYTES: Final = 1 << 26
_MOST_TASK_BYTES: Final = 1 << 28
_STDERR_BYTES_KEPT: Final = 2000


def packed_settings(settings: Settings) -> dict[str, Any]:
    """Every setting, for `read_settings` in the child."""
    return settings.model_dump(mode="json")


def without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child: without the variables that the packed settings replace."""
    from comity.run.settings_in_force import setting_variables

    variables = setting_variables()
    return {name: value for name, value in environment.items() if name.upper() not in variables}


class ChildProcess:
    """A child as its parent sees it. Messages go to `on_message`; a failure is kept in `failure`."""

    def __init__(self, number: int, on_message: Callable[[dict[str, Any]], None]) -> None:
        self.number = number
        self.failure: CommandFailure | None = None
        self._on_message = on_message
        self._process: asyncio.subprocess.Process
        self._stderr = b""

    async def start(
        self,
        task: str,
        settings: Settings,
        job: dict[str, Any],
        *,
        descriptors: Collection[int] = (),
        captures_stderr: bool = False,
    ) -> None:
        """Start the process in its own session: the terminal's Ctrl-C is for the parent alone.

        `descriptors` are open files that the job refers to.
        """
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *_COMMAND,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe if captures_stderr else None,
            env=without_settings(os.environ),
            pass_fds=tuple(descriptors),
            start_new_session=True,
            limit=_MOST_MESSAGE_BYTES,
        )
        self.send({"task": task, "settings": packed_settings(settings), "job": job})

    def send(self, order: dict[str, Any]) -> None:
        """Send an order; a process that is gone ignores it."""
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            with suppress(OSError):
                self._process.stdin.write((json.dumps(order) + "\n").encode())

    async def wait(self) -> int:
        """Handle its messages until it ends; returns the exit code, or the negative of the signal that killed it."""
        assert self._process.stdout is not None
        errors = asyncio.create_task(self._read_stderr())
        while line := await self._process.stdout.readline():
            if not line.endswith(b"\n"):  # it was killed while it wrote
                break
            message = json.loads(line)
            if "failed" in message:
                self.failure = CommandFailure(**message["failed"])
            else:
                self._on_message(message)
        await errors
        code = await self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        return code

    def kill(self) -> None:
        """Kill the process."""
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGKILL)

    def is_gone(self) -> bool:
        """Whether it has ended; for a parent that is about to exit and no longer runs an event loop."""
        try:
            return os.waitpid(self._process.pid, os.WNOHANG) != (0, 0)
        except ChildProcessError:
            return True

    def describe_exit(self, code: int) -> str:
        """How it ended, for people: `was killed by SIGKILL`, `ended with code 1 (…)`."""
        if code < 0:
            with suppress(ValueError):
                return f"was killed by {signal.Signals(-code).name}"
            return f"was killed by signal {-code}"
        last = self._stderr.decode(errors="replace").strip().splitlines()
        return f"ended with code {code}" + (f" ({last[-1][:200]})" if last else "")

    async def _read_stderr(self) -> None:
        if self._process.stderr is not None:
            while piece := await self._process.stderr.read(4096):
                self._stderr = (self._stderr + piece)[-_STDERR_BYTES_KEPT:]


class ParentChannel:
    """The parent as a child sees it."""

    def __init__(self) -> None:
        self._reader = asyncio.StreamReader(_MOST_TASK_BYTES)
        self._descriptor = os.dup(1)
        os.dup2(2, 1)  # what a library prints must not mix with the messages

    async def connect(self) -> None:
        """Start to read orders."""
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._reader), sys.stdin)

    async def orders(self) -> AsyncIterator[dict[str, Any]]:
        """The orders, in turn, until the parent is gone."""
        while line := await self._reader.readline():
            yield json.loads(line)

    def send(self, **message: Any) -> None:
        """Send a message that must arrive; without a parent it is dropped."""
        rest = (json.dumps(message) + "\n").encode()
        with suppress(BrokenPipeError):
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    def offer(self, **message: Any) -> None:
        """Send a message that the next one replaces, unless the parent is behind."""
        if select.select([], [self._descriptor], [], 0)[1]:
            self.send(**message)


def main() -> int:
    """Do the task that the parent sends; returns the exit code."""
    tune_memory()
    with event_loop_runner() as runner:
        return runner.run(_run_task())


async def _run_task() -> int:
    from comity.settings import read_settings  # slow to import: after `tune_memory`

    parent = ParentChannel()
    await parent.connect()
    orders = parent.orders()
    async for task in orders:
        try:
            settings = read_settings(**task["settings"])
            if task["task"] == "crawl":
                from comity.run.crawl.child import crawl_part

                await crawl_part(settings, task["job"], orders, parent)
            else:
                from comity.run.work.worker import work_part

                await work_part(settings, task["job"], orders, parent)
        except Exception as error:
            failure = describe_failure(error)
            parent.send(failed=asdict(failure))
            return failure.exit_code
        break
    return 0


if __name__ == "__main__":
    sys.exit(main())
