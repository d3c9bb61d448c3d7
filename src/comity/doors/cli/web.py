"""`comity web`: the API over HTTP, with the scheduler of sources; and the hashes that its login is configured with."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.doors.cli.crawl.options import AllowNetworkOption
from comity.doors.cli.help_text import PlainHelpGroup, command, reflow, render_examples
from comity.doors.cli.options import JsonOption, StateOption, check_number, read_invocation
from comity.doors.cli.output import Cell, note, write_json, write_line
from comity.model.errors import BadInput

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.doors.cli.options import Invocation
    from comity.settings import Settings

_ABOUT = """Serve the API over HTTP: hosts, seeds, takedowns, sources, runs, robots, policies,
why and evidence; jobs for bots, and grants for other crawlers. Run sources, and make jobs, as they become due.

Without a login only this machine can use the admin API; COMITY_ADMIN_PASSWORD_HASH and COMITY_ADMIN_TOKEN_HASH
configure a login. Bots and crawlers need keys (comity bots add), except on this machine in development. SIGTERM or
Ctrl-C stops the server: runs in progress get 30 seconds to finish, and are due again if they do not. With --json, each
run is one line.
"""
app = typer.Typer(
    cls=PlainHelpGroup,
    invoke_without_command=True,
    help=reflow(_ABOUT),
    epilog=render_examples(
        (
            "comity web",
            "comity web --host 0.0.0.0 --port 8080 \\",
            "    --state postgresql://comity@db.example/comity",
            "comity web --no-scheduler",
        )
    ),
)


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    root.add_typer(app, name="web", rich_help_panel="Sources")


@app.callback()
def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", help="The port; 0 uses any free port.")] = 8000,
    no_scheduler: Annotated[
        bool, typer.Option("--no-scheduler", help="Do not run due sources, and make no jobs from due policies.")
    ] = False,
    allow_network: AllowNetworkOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the API over HTTP."""
    if context.invoked_subcommand is not None:
        return
    check_number("--port", port, 0, 65_535)
    networks = tuple(allow_network) if allow_network else None
    invocation = read_invocation(context, state, as_json, allow_networks=networks)
    if ":memory:" in invocation.settings.where:
        raise BadInput("a server needs a state that its threads can share; a state in memory cannot be shared")
    code = _serve(invocation, host, port, schedules=not (no_scheduler or invocation.settings.disable_scheduler))
    if code:
        raise typer.Exit(code)


@command(app, "hash-password", examples=("comity web hash-password",))
def hash_password(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Read a password from the terminal or a pipe, and print the value for COMITY_ADMIN_PASSWORD_HASH."""
    from comity.doors.cli.users import read_password
    from comity.operate.console import hash_password as make_hash

    given = {"admin_password_hash": make_hash(read_password())}
    if read_invocation(context, state, as_json).as_json:
        write_json(given)
    else:
        print(given["admin_password_hash"])


@command(app, "new-token", examples=("comity web new-token --json",))
def make_token(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Create a token for a program, and print it with the value for COMITY_ADMIN_TOKEN_HASH.

    The token is printed only once; only its hash is configured.
    """
    from comity.doors.web.logins import new_token

    token, token_hash = new_token()
    if read_invocation(context, state, as_json).as_json:
        write_json({"token": token, "admin_token_hash": token_hash})
        return
    write_line(Cell("token  ", "dim"), token)
    write_line(Cell("hash   ", "dim"), token_hash)


def _serve(invocation: Invocation, host: str, port: int, *, schedules: bool) -> int:
    from comity.doors.cli.sources.rendering import result_writer
    from comity.doors.web.server import DATABASE_CONNECTIONS, build_server, listen
    from comity.run.logs import log_for, wait_logger
    from comity.run.runtime import event_loop_runner, spare_what_is_loaded
    from comity.run.signals import INTERRUPTED, stop_on_signals

    codes: list[int] = []
    log = log_for(invocation.settings, as_json=invocation.as_json)
    on_result = result_writer(log, as_json=invocation.as_json)

    async def serve_until_stopped(opened: State, socket: Any) -> None:
        server = build_server(opened, host, schedules=schedules, on_result=on_result, on_wait=wait_logger(log))

        def on_signal(number: int) -> None:
            codes.append(INTERRUPTED if number == signal.SIGINT else 0)
            server.stop()

        stop_on_signals(on_signal)
        spare_what_is_loaded()
        await server.serve(sockets=[socket])
        if not codes and not server.started:
            codes.append(1)

    with listen(host, port) as socket, invocation.open_or_make(connections=DATABASE_CONNECTIONS) as opened:
        _introduce(invocation, host, socket.getsockname()[1], opened, schedules=schedules)
        with event_loop_runner() as runner:
            runner.run(serve_until_stopped(opened, socket))
    return codes[0] if codes else 0


def _introduce(invocation: Invocation, host: str, port: int, state: State, *, schedules: bool) -> None:
    name = f"[{host}]" if ":" in host else host
    note(f"listening on http://{name}:{port}; sources are run {'when due' if schedules else 'on request only'}")
    note_missing_login(invocation.settings, host, state)


def note_missing_login(settings: Settings, host: str, state: State) -> None:
    """Say who can use the console if no login is configured."""
    from comity.doors.web.application import access_settings
    from comity.doors.web.server import is_dev
    from comity.operate.console import has_users

    terms = access_settings(settings, is_dev=is_dev(settings, host))
    if not terms.has_login and not has_users(state.database):
        note(
            "no login is configured: only this machine can use the console and the admin API"
            if terms.is_dev
            else "no login is configured: the console and the admin API are closed; see comity users add"
        )
