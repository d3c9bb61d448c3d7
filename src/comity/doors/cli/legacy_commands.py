"""The names that older scripts use; each is the same command under another name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import typer

from comity.doors.cli.domains import commands
from comity.doors.cli.help_text import command

_COMMANDS: Final[tuple[tuple[str, str, str, Callable[..., None]], ...]] = (
    ("domain-status", "domain-status --status blocked", "domains list", commands.list_domains),
    ("domain-info", "domain-info example.com", "domains info", commands.show_domain),
    ("domain-reset", 'domain-reset example.com --reason "manual review"', "domains reset", commands.reset_domain),
    ("top-domains", "top-domains --limit 5", "domains top", commands.top_domains),
)


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    for old, example, new, function in _COMMANDS:
        short_help = f"The same as `comity {new}`."
        command(root, old, examples=(f"comity {example}",), panel="Older names", short_help=short_help)(function)
