"""`comity domains …` and `comity recalculate-priorities`: what is known of hosts, and what may be done to them.

Older scripts use other names for some of these commands; each is the same command.
"""

from __future__ import annotations

import typer

from comity.doors.cli.help_text import command, group

app = group("List hosts, show what is known about them, and reset them.")


def register(root: typer.Typer) -> None:
    """Add the commands of this package."""
    from comity.doors.cli.domains import commands

    root.add_typer(app, name="domains", rich_help_panel="Hosts")

    examples = ("comity recalculate-priorities",)
    command(root, "recalculate-priorities", examples=examples, panel="Hosts")(commands.recalculate_priorities)
    for old, example, new, function in (
        ("domain-status", "domain-status --status blocked", "domains list", commands.list_domains),
        ("domain-info", "domain-info example.com", "domains info", commands.show_domain),
        ("domain-reset", 'domain-reset example.com --reason "manual review"', "domains reset", commands.reset_domain),
        ("top-domains", "top-domains --limit 5", "domains top", commands.top_domains),
    ):
        short_help = f"The same as `comity {new}`."
        command(root, old, examples=(f"comity {example}",), panel="Older names", short_help=short_help)(function)
