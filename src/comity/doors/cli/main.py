"""The command line as a whole: `comity`, or `python -m comity`.

Every command is in a file of its own or of its group, and puts itself on the command line by `register`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from comity import __version__
from comity.doors.cli import crawl, db, domains, explain, older_spellings, pages, policy, priorities, seeds, takedown
from comity.doors.cli.failures import RootGroup, asks_for_json, exit_code_of
from comity.doors.cli.options import JsonOption, OptionsInFront, StateOption
from comity.doors.cli.output import be_readable_everywhere
from comity.doors.cli.teaching import reflowed, shown_examples

# A new file of commands is added here, and its commands to the order in which --help shows them.
COMMAND_FILES: Final = (crawl, explain, pages, seeds, domains, priorities, policy, takedown, db, older_spellings)
ORDER: Final = (
    *("crawl", "demo"),
    *("pages",),
    *("why", "robots", "verify-politeness"),
    *("seeds", "domains", "recalculate-priorities"),
    *("policy", "takedown"),
    *("db",),
    *("domain-status", "domain-info", "domain-reset", "top-domains"),
)
_FIRST_STEPS: Final = (
    "comity demo",
    "comity crawl https://example.com/",
    "comity domains list",
    "comity why https://example.com/private/",
)
_EXIT_CODES: Final = (
    "Exit codes: 0 done; 1 understood, but not possible; 2 cannot be used, and nothing was written; 130 interrupted."
)


class _Root(RootGroup):
    """All commands, in the order of `ORDER`."""

    def list_commands(self, ctx: object) -> list[str]:
        """The names of the commands."""
        names = super().list_commands(ctx)  # type: ignore[arg-type]
        return sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else -1)


app = typer.Typer(
    cls=_Root,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help=reflowed(
        """Comity is a polite crawler with a memory.

        It asks each host only as often as the host likes to be asked, and carries on where it stopped. Seeds say which
        hosts to crawl; the state remembers all about them, in one file or in a PostgreSQL that many machines share.
        """
    ),
    epilog=f"{shown_examples(_FIRST_STEPS, 'To begin')}\n\n[dim]{_EXIT_CODES}[/]",
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
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    context.obj = OptionsInFront(state, as_json)


for _commands in COMMAND_FILES:
    _commands.register(app)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code; whatever goes wrong is one line on stderr."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    be_readable_everywhere()
    try:
        result = typer.main.get_command(app).main(given, prog_name="comity", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        return exit_code_of(error, as_json=asks_for_json(given))
    return result if isinstance(result, int) else 0
