"""`comity serve`: the console, the scheduler and a crawl worker in one process."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.doors.cli.crawl.options import AllowNetworkOption
from comity.doors.cli.help_text import command
from comity.doors.cli.options import JsonOption, StateOption, check_number, read_invocation
from comity.doors.cli.output import note
from comity.model.errors import BadInput

if TYPE_CHECKING:
    from socket import socket

    from comity.assemble import State
    from comity.doors.cli.options import Invocation
    from comity.run.serve import ServedWorker

_EXAMPLES = (
    "comity serve",
    "comity serve --port 8080 --no-worker",
    "comity serve --host 0.0.0.0 --state postgresql://comity@db.example/comity",
    "comity serve --no-web",
)


def register(root: typer.Typer) -> None:
    """Add the command of this file."""
    command(root, "serve", examples=_EXAMPLES, panel="Crawl")(serve)


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", help="The port; 0 uses any free port.")] = 8000,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Do not crawl.")] = False,
    no_scheduler: Annotated[
        bool, typer.Option("--no-scheduler", help="Do not run due sources, and make no jobs from due policies.")
    ] = False,
    no_web: Annotated[bool, typer.Option("--no-web", help="Do not serve the console and the API.")] = False,
    policies: Annotated[
        bool, typer.Option("--policies", help="Also do jobs of crawl policies: fetch each page and read its price.")
    ] = False,
    allow_network: AllowNetworkOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start the console for your browser, with the scheduler and a worker in the same process.

    The scheduler runs sources as they become due, and the worker crawls the hosts of the state. Each part can be turned
    off and run separately: comity web, comity sources serve, comity work. Without a login only this machine can use the
    console; comity users adds users.
    SIGTERM or Ctrl-C finishes the requests in flight and releases every host. With --json, each source run is one line.
    """
    check_number("--port", port, 0, 65_535)
    allowed = tuple(allow_network) if allow_network else None
    invocation = read_invocation(context, state, as_json, allow_networks=allowed)
    schedules = not (no_scheduler or invocation.settings.disable_scheduler)
    if no_web and no_worker and not schedules:
        raise BadInput("nothing is left to serve: remove one of --no-web, --no-worker and --no-scheduler")
    if ":memory:" in invocation.settings.where:
        raise BadInput("a server needs a state that its threads can share; a state in memory cannot be shared")
    parts = _Parts(invocation, host, None if no_web else port, schedules, not no_worker, policies)
    code = parts.run()
    if code:
        raise typer.Exit(code)


class _Parts:
    """What runs in this process."""

    def __init__(
        self,
        invocation: Invocation,
        host: str,
        port: int | None,
        schedules: bool,
        crawls: bool,
        does_policies: bool,
    ) -> None:
        from comity.run.logs import log_for

        self._invocation = invocation
        self._host = host
        self._port = port
        self._schedules = schedules
        self._crawls = crawls
        self._does_policies = does_policies
        self._log = log_for(invocation.settings, as_json=invocation.as_json)
        self._codes: list[int] = []

    def run(self) -> int:
        """Serve until a signal comes; returns the exit code."""
        from contextlib import ExitStack

        from comity.doors.web.server import DATABASE_CONNECTIONS, listen
        from comity.run.runtime import event_loop_runner

        worker = self._worker() if self._crawls or self._does_policies else None
        with ExitStack() as stack:
            listening = None if self._port is None else stack.enter_context(listen(self._host, self._port))
            state = stack.enter_context(self._invocation.open_or_make(connections=DATABASE_CONNECTIONS))
            self._introduce(state, listening)
            runner = stack.enter_context(event_loop_runner())
            runner.run(self._serve(state, listening, worker))
        return self._codes[0] if self._codes else 0

    def _worker(self) -> ServedWorker:
        """The worker, checked before anything is created."""
        from comity.doors.web.server import is_dev
        from comity.run.serve import ServedWorker
        from comity.run.work.worker import WorkLimits, check_worker_settings
        from comity.store.target import read_target, try_folder

        settings = self._invocation.settings
        check_worker_settings(settings)
        try_folder(read_target(settings.pages))
        limits = WorkLimits(does_policies=self._does_policies, crawls=self._crawls)
        shows = self._crawls and self._port is not None and is_dev(settings, self._host)
        return ServedWorker(settings, limits, self._log, shows_demonstration=shows and settings.database_url is None)

    async def _serve(self, state: State, listening: socket | None, worker: ServedWorker | None) -> None:
        from comity.run.signals import INTERRUPTED, stop_on_signals

        stopped = asyncio.Event()
        server: Any = None

        def on_signal(number: int) -> None:
            self._codes.append(INTERRUPTED if number == signal.SIGINT else 0)
            stopped.set()
            if server is not None:
                server.stop()
            if worker is not None:
                worker.stop()

        stop_on_signals(on_signal)
        async with AsyncExitStack() as stack:
            if listening is not None:
                server = self._server(state, worker)
            elif self._schedules:
                await self._schedule(stack, state)
            if worker is not None:
                worker.start()
            try:
                if server is not None:
                    await server.serve(sockets=[listening])
                    if not self._codes and not server.started:
                        self._codes.append(1)
                else:
                    await stopped.wait()
            finally:
                if worker is not None:
                    worker.stop()
                    await worker.ended()

    def _server(self, state: State, worker: ServedWorker | None) -> Any:
        from comity.doors.cli.sources.rendering import result_writer
        from comity.doors.web.server import build_server
        from comity.run.logs import wait_logger

        on_result = result_writer(self._log, as_json=self._invocation.as_json)
        on_wait = wait_logger(self._log)
        return build_server(
            state, self._host, schedules=self._schedules, on_result=on_result, on_wait=on_wait, worker=worker
        )

    async def _schedule(self, stack: AsyncExitStack, state: State) -> None:
        """Run the scheduler without the web server."""
        from comity.doors.cli.sources.rendering import result_writer
        from comity.run.logs import wait_logger
        from comity.run.queue import queue_upkeep
        from comity.run.sources import SourceObserver, source_service

        def warn(sentence: str) -> None:
            note(f"comity: {sentence}")

        def on_fault(name: str, error: Exception) -> None:
            note(f"comity: the {name} failed: unexpected {type(error).__name__}: {error}")

        on_result = result_writer(self._log, as_json=self._invocation.as_json)
        observer = SourceObserver(on_result, warn, wait_logger(self._log), is_ended_by_faults=False)
        state.loops.on_fault = on_fault
        await stack.enter_async_context(source_service(state, observer, schedules=True))
        await stack.enter_async_context(queue_upkeep(state, warn, schedules=True))

    def _introduce(self, state: State, listening: socket | None) -> None:
        """Say where the console is, and what runs."""
        parts = [("the crawl worker", self._crawls), ("the scheduler", self._schedules)]
        running = " and ".join(name for name, is_on in parts if is_on) or "neither worker nor scheduler"
        if listening is None:
            note(f"running {running}, without the console")
            return
        from comity.doors.cli.web import note_missing_login

        name = f"[{self._host}]" if ":" in self._host else self._host
        if name in ("0.0.0.0", "[::]"):  # noqa: S104  # where it listens, not where it binds by default
            name = "localhost"
        address = f"http://{name}:{listening.getsockname()[1]}/"
        note(f"The console is at {address} (stop it with Ctrl-C)")
        note(f"running {running}; the state is {state.database.location}")
        note_missing_login(self._invocation.settings, self._host, state)
