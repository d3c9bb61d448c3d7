"""The command line as a whole: `comity`, or `python -m comity`.

Every command is in a module or package, whose `register` adds it. A module is imported when one of its commands is
needed: a crawl does not wait for the others.
"""

from __future__ import annotations

import sys
from collections.abc import MutableMapping, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from comity import __version__
from comity.doors.cli.exit_codes import RootGroup, asks_for_json, exit_code_of
from comity.doors.cli.help_text import reflow, render_examples
from comity.doors.cli.options import GlobalOptions, JsonOption, StateOption
from comity.doors.cli.output import use_plain_fallbacks
from comity.run.runtime import tune_memory
from comity.run.signals import cancel_exit

# Every command with its module, in the order of --help. A new command is added here.
COMMANDS: Final = {
    "serve": "serve",
    "crawl": "crawl.command",
    "demo": "crawl.command",
    "work": "work",
    "audit": "audit.commands",
    "sql": "sql",
    "status": "status",
    "pages": "pages",
    "why": "explain",
    "robots": "explain",
    "verify-politeness": "verify_politeness",
    "enqueue": "seeds",
    "seeds": "seeds",
    "domains": "domains.commands",
    "recalculate-priorities": "domains.commands",
    "policy": "policy",
    "takedown": "takedown",
    "sources": "sources",
    "search": "search",
    "web": "web",
    "users": "users",
    "queue": "queue",
    "bots": "bots",
    "db": "db",
    "simulate": "simulate.command",
    "domain-status": "domains.commands",
    "domain-info": "domains.commands",
    "domain-reset": "domains.commands",
    "top-domains": "domains.commands",
}
ORDER: Final = tuple(COMMANDS)
_FIRST_STEPS: Final = (
    "comity serve",
    "comity demo",
    "comity crawl https://example.com/",
    "comity domains list",
    "comity why https://example.com/private/",
)
_MARKUP: Final = "rich"
_EXIT_CODES: Final = "Exit codes: 0 success; 1 failed; 2 wrong input, and nothing was written; 130 interrupted."


class _Root(RootGroup):
    """All commands, in the order of `ORDER`; each module is imported when one of its commands is needed."""

    @property
    def commands(self) -> MutableMapping[str, Any]:
        """Every command: help lists them, and a misspelled name is compared with them."""
        for name in ORDER:
            self.get_command(None, name)
        return self._read

    @commands.setter
    def commands(self, read: MutableMapping[str, Any]) -> None:
        self._read = read

    def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002  # typer's signature
        """The names of the commands."""
        return list(ORDER)

    def get_command(self, ctx: object, cmd_name: str) -> Any:  # noqa: ARG002
        """One command by its name; None if there is no such command."""
        if cmd_name not in self._read and cmd_name in COMMANDS:
            part = typer.Typer(rich_markup_mode=_MARKUP)
            import_module(f"comity.doors.cli.{COMMANDS[cmd_name]}").register(part)
            self._read.update(typer.main.get_group(part).commands)
        return self._read.get(cmd_name)


app = typer.Typer(
    cls=_Root,
    no_args_is_help=True,
    rich_markup_mode=_MARKUP,
    help=reflow(
        """Comity is a polite crawler that remembers its state.

        It visits each host only as often as the host accepts, and continues where it stopped. Seeds list the hosts to
        visit. The state stores everything known about them, in one file or in a PostgreSQL database that many
        machines share.
        """
    ),
    epilog=f"{render_examples(_FIRST_STEPS, 'First steps')}\n\n[dim]{_EXIT_CODES}[/]",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"comity {__version__}")
        raise typer.Exit


@app.callback()
def _options_in_front(
    context: typer.Context,
    state: StateOption = None,
    as_json: JsonOption = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    context.obj = GlobalOptions(state, as_json)


@cache
def _command() -> Any:
    """The application; where several commands run in one process, what was read of it is kept."""
    return typer.main.get_command(app)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. An error is one line on stderr."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:  # the process is ours
        tune_memory()
    use_plain_fallbacks()
    try:
        result = _command().main(given, prog_name="comity", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        return exit_code_of(error, as_json=asks_for_json(given))
    finally:
        cancel_exit()
    return result if isinstance(result, int) else 0
