"""`comity domains …` and `comity recalculate-priorities`: what is known of hosts, and what may be done to them."""

from __future__ import annotations

import typer

from comity.doors.cli.help_text import command, group

app = group("List hosts, show what is known about them, and reset them.")


def register(root: typer.Typer) -> None:
    """Add the commands of this package."""
    from comity.doors.cli.domains import commands

    root.add_typer(app, name="domains", rich_help_panel="Hosts")
    from comity.doors.cli.domains import backfill  # noqa: F401  # adds its command to `app`, after the others

    examples = ("comity recalculate-priorities",)
    command(root, "recalculate-priorities", examples=examples, panel="Hosts")(commands.recalculate_priorities)
