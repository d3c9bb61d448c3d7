"""`comity audit SITE`, and `comity audit list`, `report` and `compare` for audits that are stored.

A group of commands that is a command itself: `comity audit example.com` audits, unless the first word names one of the
commands of the group.
"""

from __future__ import annotations

from typing import Any, Final

import typer
from typer.core import TyperCommand

from comity.doors.cli.crawl.options import CRAWL
from comity.doors.cli.help_text import PlainHelpGroup, reflow, render_examples
from comity.doors.cli.options import takes

# Some releases of typer bundle their own click, so the class is taken from typer itself.
_COMMAND: Final[Any] = TyperCommand.__mro__[1]
_CHOSEN: Final = "comity.audit.command"
_EXAMPLES: Final = (
    "comity audit https://example.com/ --report audit.html",
    "comity audit example.com --max-pages 1000 --tables audit-tables",
    "comity audit example.com --fail-on error --json > audit.json",
    "comity audit list",
    "comity audit compare BEFORE AFTER --fail-on warning",
)


class AuditGroup(PlainHelpGroup):
    """Runs the command that the first word names; if it names none, audits the site that it is."""

    allow_interspersed_args = True
    allow_extra_args = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line, as a group or as a command."""
        if args and args[0] in self.commands:
            ctx.meta[_CHOSEN] = (args[0], args[1:])
            return []
        rest: list[str] = _COMMAND.parse_args(self, ctx, args)
        return rest

    def invoke(self, ctx: Any) -> Any:
        """Run what was chosen."""
        chosen = ctx.meta.pop(_CHOSEN, None)
        if chosen is None:
            return ctx.invoke(self.callback, **ctx.params)
        name, args = chosen
        command = self.commands[name]
        # Its parent is that of the group: usage would name the group's own argument otherwise.
        with command.make_context(f"{ctx.info_name} {name}", list(args), parent=ctx.parent) as inner:
            return command.invoke(inner)


app = typer.Typer()


def register(root: typer.Typer) -> None:
    """Add the commands of this package."""
    from comity.doors.cli.audit import stored_commands
    from comity.doors.cli.audit.command import audit

    stored_commands.register(app)
    app.callback(
        cls=AuditGroup,
        no_args_is_help=True,
        invoke_without_command=True,
        subcommand_metavar="",
        help=reflow(audit.__doc__ or ""),
        epilog=render_examples(_EXAMPLES),
    )(takes(requests=CRAWL)(audit))
    root.add_typer(app, name="audit", rich_help_panel="Crawl")
