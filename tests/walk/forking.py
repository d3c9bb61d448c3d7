"""Processes that run `comity` without paying for its imports each time: a server that has them forks one for each.

Run as a program (`python -m tests.walk.forking`) it reads one JSON document a line on stdin (argv, env, cwd, out, err;
with `module`, the process runs that module's `main` instead of a command), answers with the new process's number, and
later with its exit code. `ForkServer` is the other end of that.
The processes are real: they have their own interpreter, files and signals, and die by `kill -9` like any other.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from tests.walk.site import come_before_others

SAY_IMPORTS = "COMITY_TEST_SAY_IMPORTS"  # with this in its environment, a command writes to stderr what it imported
_ROOMS = ("doors.cli", "run", "upkeep", "operate", "walk", "frontier", "fetch", "extract.jobs", "store", "reports")
# What the product imports only where it is needed.
_LATE_IMPORTS = ("alembic.command", "certifi", "psycopg", "redis", "sqlalchemy.dialects.postgresql")
_LATE_IMPORTS += ("structlog", "uvloop")


def children_of(pid: int) -> list[int]:
    """The processes that this one started and that were not waited for."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(number) for number in text.split()]


class Apart:
    """One command in a process of its own."""

    def __init__(self, server: ForkServer, pid: int, out: Path, err: Path) -> None:
        self._server = server
        self.pid = pid
        self._out = out
        self._err = err

    @property
    def out(self) -> str:
        return self._out.read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        return self._err.read_text(encoding="utf-8")

    def poll(self) -> int | None:
        """The exit code, or the negative of the signal; None while it runs."""
        return self._server.codes.get(self.pid)

    def wait(self, within_s: float) -> int:
        return self._server.wait(self.pid, within_s)

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> int:
        """End it the hard way, if it still runs, and wait until it is gone."""
        if self.poll() is None:
            self.send(signal.SIGKILL)
        return self.wait(60)


class ForkServer:
    """Starts commands; everything it started is gone when it is closed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.walk.forking"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        self.codes: dict[int, int] = {}
        self._pids: list[int] = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def start(
        self,
        argv: list[str],
        env: dict[str, str],
        folder: Path,
        largest_file: int | None = None,
        module: str | None = None,
    ) -> Apart:
        """Run `comity` with these arguments; with `largest_file`, on a disk that takes no file larger than that.

        With `module`, run that module's `main` with these arguments instead.
        """
        number = time.monotonic_ns()
        out, err = folder / f".out-{number}", folder / f".err-{number}"
        asked = {"argv": argv, "env": env, "cwd": str(folder), "out": str(out), "err": str(err), "limit": largest_file}
        asked["module"] = module
        assert self._process.stdin is not None
        with self._changed:
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            assert self._changed.wait_for(lambda: self._pids, 30), "the fork server does not answer"
            return Apart(self, self._pids.pop(), out, err)

    def wait(self, pid: int, within_s: float) -> int:
        with self._changed:
            if not self._changed.wait_for(lambda: pid in self.codes, within_s):
                raise TimeoutError(f"process {pid} still runs after {within_s:g} s")
            return self.codes[pid]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._reader.join(10)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            with self._changed:
                if "started" in told:
                    self._pids.append(told["started"])
                else:
                    self.codes[told["ended"]] = told["code"]
                self._changed.notify_all()


def _serve() -> None:
    """Fork for every line on stdin; tell of every child that ends; end with stdin, and take all children along."""
    _import_what_commands_need()
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    living: set[int] = set()
    rest, is_open = b"", True
    while is_open or living:
        ready, _, _ = select.select([woken, *([0] if is_open else [])], [], [], 5)
        if woken in ready:
            os.read(woken, 4096)
            _tell_who_ended(living)
        if 0 in ready:
            piece = os.read(0, 65_536)
            if not piece:
                is_open = False
                for pid in living:
                    os.kill(pid, signal.SIGKILL)
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                pid = os.fork()
                if pid == 0:
                    _become(json.loads(line))
                living.add(pid)
                _tell({"started": pid})


def _tell_who_ended(living: set[int]) -> None:
    for pid in list(living):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            living.discard(pid)
            _tell({"ended": pid, "code": os.waitstatus_to_exitcode(status)})


def _tell(document: dict[str, Any]) -> None:
    os.write(1, (json.dumps(document) + "\n").encode())


def _become(asked: dict[str, Any]) -> None:
    """What the child does: be `comity`, and nothing else."""
    come_before_others(0)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    for number, name in enumerate((os.devnull, asked["out"], asked["err"])):
        file = os.open(name, os.O_RDWR | os.O_CREAT, 0o644)
        os.dup2(file, number)
        os.close(file)
    if asked["limit"] is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["limit"], asked["limit"]))
    from comity.doors.cli.main import run

    known = set(sys.modules)
    code = 1
    try:
        if asked["module"] is not None:
            sys.argv = [asked["module"], *asked["argv"]]
            import_module(asked["module"]).main()
            code = 0
        else:
            code = run(asked["argv"])
        if SAY_IMPORTS in asked["env"]:
            print(*sorted(sys.modules.keys() - known), sep="\n", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _import_what_commands_need() -> None:
    """Import what a command would import; each costs a second of processor time where it does so itself."""
    for room in _ROOMS:
        package = import_module(f"comity.{room}")
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    for name in _LATE_IMPORTS:
        import_module(name)


if __name__ == "__main__":
    _serve()
