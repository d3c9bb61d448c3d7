"""Processes that run `comity` without paying for its imports each time: a server that has them forks one for each.

Run as a program (`python -m tests.walk.forking SOCKET`) it listens on a unix socket. A connection is one process: it
brings one JSON document in a line (argv, env, cwd …) and the three standard streams; it gets the number of the new
process and, later, its exit code. Who hangs up before that ends the process.
`ForkServer` is the other end of that; `launcher.py` is a program that stands in for `comity` on a PATH, and for the
interpreter in which a command starts its child processes.
The processes are real: they have their own interpreter, files and signals, and die by `kill -9` like any other.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import TracebackType
from typing import IO, Any, Self

from tests.servers.waiting import wait_until
from tests.walk.site import come_before_others

SAY_IMPORTS = "COMITY_TEST_SAY_IMPORTS"  # with this in its environment, a command writes to stderr what it imported
INTERPRETED = "COMITY_TEST_INTERPRETED"  # with this, its child processes are started as users have them, not forked
SOCKET_VARIABLE = "COMITY_TEST_FORKS"
REPOSITORY = Path(__file__).resolve().parents[2]
_ROOMS = ("doors.cli", "run", "upkeep", "operate", "walk", "frontier", "fetch", "extract.jobs", "store", "reports")
# What the product imports only where it is needed.
_LATE_IMPORTS = ("alembic.command", "certifi", "psycopg", "redis", "sqlalchemy.dialects.postgresql")
_LATE_IMPORTS += ("structlog", "uvloop", "comity.doors.python", "typer.rich_utils")
_STARTS_WITHIN_S = 180.0
LAUNCHER = Path(__file__).with_name("launcher.py")
STAND_IN = "python-forked"
_FILES_MOST = 64


def children_of(pid: int) -> list[int]:
    """The processes that this one started and that were not waited for: where one is forked for it, that one."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    found = []
    for number in map(int, text.split()):
        with suppress(FileNotFoundError, ProcessLookupError):
            name = Path(f"/proc/{number}/comm").read_text(encoding="utf-8").strip()
            if name != STAND_IN:  # it has not asked for its process yet
                found.append(int(name.removeprefix("for ")) if name.startswith("for ") else number)
    return found


class Forked:
    """One process, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, connection: socket.socket, pid: int, pipes: Sequence[IO[Any] | None] = (None, None, None)):
        self._connection = connection
        self._changed = threading.Lock()
        self.pid = pid
        self.returncode: int | None = None
        self.stdin, self.stdout, self.stderr = pipes

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()
        if error is not None:
            self.kill()
        self.wait(_STARTS_WITHIN_S)

    def poll(self) -> int | None:
        """The exit code, or the negative of the signal; None while it runs."""
        return self._look(0.0)

    def wait(self, timeout: float) -> int:
        code = self._look(timeout)
        if code is None:
            raise TimeoutError(f"process {self.pid} still runs after {timeout:g} s")
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, given: bytes | None = None, timeout: float = 60.0) -> tuple[bytes, bytes]:
        """Give it something to read, and read what it writes to its end."""
        read: dict[int, bytes] = {}

        def drain(number: int, pipe: IO[bytes]) -> None:
            with pipe:
                read[number] = pipe.read()

        pipes = {number: pipe for number, pipe in enumerate((self.stdout, self.stderr)) if pipe is not None}
        threads = [threading.Thread(target=drain, args=each, daemon=True) for each in pipes.items()]
        for thread in threads:
            thread.start()
        if self.stdin is not None:
            with suppress(BrokenPipeError):  # it does not read all
                self.stdin.write(given or b"")
                self.stdin.close()
        self.wait(timeout)
        for thread in threads:
            thread.join(timeout)
        return read.get(0, b""), read.get(1, b"")

    def _look(self, within_s: float) -> int | None:
        with self._changed:
            if self.returncode is None and select.select([self._connection], [], [], within_s)[0]:
                line = _line_from(self._connection)
                self.returncode = json.loads(line)["code"] if line else -signal.SIGKILL
                self._connection.close()
            return self.returncode


class Apart:
    """One command in a process of its own, which writes into files."""

    def __init__(self, process: Forked, out: Path, err: Path) -> None:
        self._process = process
        self.pid = process.pid
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
        return self._process.poll()

    def wait(self, within_s: float) -> int:
        return self._process.wait(within_s)

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> int:
        """End it the hard way, if it still runs, and wait until it is gone."""
        self._process.kill()
        return self.wait(60)


class ForkServer:
    """Starts commands; everything it started is gone when it is closed.

    Processes that are forked after it was made may use it, too; only the one that made it closes it.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="comity-forks-")
        self.path = Path(self._folder.name) / "socket"
        self.programs = Path(self._folder.name) / "bin"
        self.programs.mkdir()
        text = f"#!{sys.executable} -IS\n{LAUNCHER.read_text()}"
        interpreter = text.replace('SERVER = ""', f"SERVER = {str(self.path)!r}")
        for name, program in (("comity", text), (STAND_IN, interpreter)):
            (self.programs / name).write_text(program)
            (self.programs / name).chmod(0o755)
        command = [sys.executable, "-m", "tests.walk.forking", str(self.path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=REPOSITORY)
        self._owner = os.getpid()

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
        asked = {"argv": argv, "env": env, "cwd": str(folder), "limit": largest_file, "module": module}
        with open(os.devnull, "rb") as nothing, out.open("wb") as to_out, err.open("wb") as to_err:
            process = self.fork(asked, [nothing.fileno(), to_out.fileno(), to_err.fileno()])
        return Apart(process, out, err)

    def popen(
        self,
        asked: dict[str, Any],
        stdin: int | IO[Any] | None = subprocess.DEVNULL,
        stdout: int | IO[Any] | None = subprocess.PIPE,
        stderr: int | IO[Any] | None = subprocess.PIPE,
    ) -> Forked:
        """Fork with streams as `subprocess.Popen` takes them."""
        theirs: list[int] = []
        pipes: list[IO[Any] | None] = []
        for number, stream in enumerate((stdin, stdout, stderr)):
            ours = None
            if stream == subprocess.PIPE:
                ends = os.pipe()
                ours = os.fdopen(ends[1], "wb") if number == 0 else os.fdopen(ends[0], "rb")
                theirs.append(ends[0] if number == 0 else ends[1])
            elif stream == subprocess.DEVNULL:
                theirs.append(os.open(os.devnull, os.O_RDWR))
            elif stream == subprocess.STDOUT:
                theirs.append(os.dup(theirs[1]))
            else:
                assert stream is not None
                theirs.append(os.dup(stream if isinstance(stream, int) else stream.fileno()))
            pipes.append(ours)
        try:
            return self.fork(asked, theirs, pipes)
        finally:
            for each in theirs:
                os.close(each)

    def fork(self, asked: dict[str, Any], streams: list[int], pipes: Sequence[IO[Any] | None] = (None,) * 3) -> Forked:
        """Start a process with these three streams."""
        self._wait_until_it_serves()
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(_STARTS_WITHIN_S)
        connection.connect(str(self.path))
        message = (json.dumps(asked) + "\n").encode()
        sent = socket.send_fds(connection, [message], streams)
        connection.sendall(message[sent:])
        return Forked(connection, json.loads(_line_from(connection))["started"], pipes)

    def interpreter(self) -> str:
        """What starts a child process of Comity by a fork, and everything else as an interpreter does."""
        self._wait_until_it_serves()
        return str(self.programs / STAND_IN)

    def on_the_path(self, environment: dict[str, str]) -> dict[str, str]:
        """An environment in which `comity` is forked here."""
        self._wait_until_it_serves()
        path = f"{self.programs}:{environment.get('PATH', os.defpath)}"
        return environment | {SOCKET_VARIABLE: str(self.path), "PATH": path}

    def _wait_until_it_serves(self) -> None:
        def has_ended() -> bool:
            return os.getpid() == self._owner and self._process.poll() is not None  # no other process may ask that

        if not self.path.exists():
            wait_until(lambda: self.path.exists() or has_ended(), _STARTS_WITHIN_S, "the fork server")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._folder.cleanup()


def _line_from(connection: socket.socket) -> bytes:
    """One line, which is all that comes at a time."""
    line = b""
    while not line.endswith(b"\n") and (piece := connection.recv(1)):
        line += piece
    return line


class _Server:
    """Forks for every connection; tells it when its process ends; ends with its input, and takes all along."""

    def __init__(self, path: str) -> None:
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(f"{path}.new")
        self.listening.listen(64)
        self.interpreter = str(Path(path).with_name("bin") / STAND_IN)
        os.rename(f"{path}.new", path)
        self.woken, wake = os.pipe()
        os.set_blocking(self.woken, False)
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.living: dict[int, socket.socket] = {}

    def serve(self) -> None:
        is_open = True
        while is_open or self.living:
            waits = [self.woken, *([self.listening, 0] if is_open else []), *self.living.values()]
            ready = select.select(waits, [], [], 5)[0]
            if self.woken in ready:
                os.read(self.woken, 4096)
                self._tell_who_ended()
            for pid, connection in self.living.items():
                if connection in ready and _has_hung_up(connection):
                    os.kill(pid, signal.SIGKILL)  # it is waited for, as all are
            if self.listening in ready:
                self._fork(self.listening.accept()[0])
            if is_open and 0 in ready and not os.read(0, 1):
                is_open = False
                for pid in self.living:
                    os.kill(pid, signal.SIGKILL)

    def _fork(self, connection: socket.socket) -> None:
        line, streams, _, _ = socket.recv_fds(connection, 65_536, _FILES_MOST)
        while line and not line.endswith(b"\n"):
            line += connection.recv(65_536)
        asked = json.loads(line) if line else {}
        if not asked or len(streams) != 3 + len(asked.get("descriptors", ())):
            connection.close()
            return
        pid = os.fork()
        if pid == 0:
            if INTERPRETED not in asked["env"]:
                sys.executable = self.interpreter
            _become(asked, streams)
        for stream in streams:
            os.close(stream)
        self.living[pid] = connection
        _tell(connection, {"started": pid})

    def _tell_who_ended(self) -> None:
        for pid, connection in list(self.living.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self.living[pid]
                _tell(connection, {"code": os.waitstatus_to_exitcode(status)})
                connection.close()


def _has_hung_up(connection: socket.socket) -> bool:
    try:
        return not connection.recv(1, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def _tell(connection: socket.socket, document: dict[str, Any]) -> None:
    with suppress(ConnectionError):  # nobody wants to know any more
        connection.sendall((json.dumps(document) + "\n").encode())


def _become(asked: dict[str, Any], streams: list[int]) -> None:
    """What the child does: be `comity`, and nothing else."""
    code = 1
    try:
        come_before_others(0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        if asked.get("is_terminal") or asked.get("has_session"):
            os.setsid()
        _take_files(streams, [0, 1, 2, *asked.get("descriptors", ())])
        if asked.get("is_terminal"):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # then Ctrl-C in it is a signal to the command
        _open_streams_anew()
        if asked.get("limit") is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (asked["limit"], asked["limit"]))
        code = _run(asked)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or 120  # as an interpreter does
        os._exit(code)


def _take_files(files: list[int], numbers: list[int]) -> None:
    """Give open files their numbers, and close all others."""
    aside = [fcntl.fcntl(file, fcntl.F_DUPFD, 256) for file in files]
    os.closerange(3, 256)
    for file, number in zip(aside, numbers, strict=True):
        os.dup2(file, number)
        os.close(file)


def _open_streams_anew() -> None:
    """Streams as an interpreter makes them when it starts: by what they are, and by the environment."""
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    is_unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = open(  # noqa: SIM115  # it stays open as long as the process
            number,
            "r" if number == 0 else "w",
            encoding=encoding or "utf-8",
            errors=errors or ("backslashreplace" if number == 2 else "strict"),
            newline=None if number == 0 else "\n",
            closefd=False,
        )
        if number:
            stream.reconfigure(
                line_buffering=number == 2 or os.isatty(number),
                write_through=is_unbuffered,
            )
        setattr(sys, name, stream)


def _run(asked: dict[str, Any]) -> int:
    from comity.doors.cli.main import run

    known = set(sys.modules)
    code = 0
    if asked.get("module") is not None:
        sys.argv = [asked["module"], *asked["argv"]]
        code = import_module(asked["module"]).main() or 0
    elif asked.get("script") is not None:
        warnings.simplefilter("error")
        sys.argv = ["-c"]
        exec(compile(asked["script"], "<string>", "exec"), {"__name__": "__main__"})
    else:
        code = run(asked["argv"])
    if SAY_IMPORTS in asked["env"]:
        print("imported:", *sorted(sys.modules.keys() - known), sep="\n", file=sys.stderr)
    return code


def _import_what_commands_need() -> None:
    """Import what a command would import; each costs a second of processor time where it does so itself."""
    for room in _ROOMS:
        package = import_module(f"comity.{room}")
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    for name in _LATE_IMPORTS:
        import_module(name)


if __name__ == "__main__":
    _import_what_commands_need()
    gc.collect()
    gc.freeze()  # a child that collects garbage leaves the pages that it shares with its server as they are
    _Server(sys.argv[1]).serve()
    gc.unfreeze()
