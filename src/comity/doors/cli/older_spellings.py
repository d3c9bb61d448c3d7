"""The spellings that older scripts use; each is the very same command under another name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import typer

from comity.doors.cli import domains
from comity.doors.cli.teaching import command

_SPELLINGS: Final[tuple[tuple[str, str, str, Callable[..., None]], ...]] = (
    ("domain-status", "domain-status --status blocked", "domains list", domains.list_domains),
    ("domain-info", "domain-info example.com", "domains info", domains.show_domain),
    ("domain-reset", 'domain-reset example.com --reason "manual review"', "domains reset", domains.reset_domain),
    ("top-domains", "top-domains --limit 5", "domains top", domains.top_domains),
)


def register(root: typer.Typer) -> None:
    """Put the commands of this file on the command line."""
    for old, example, new, function in _SPELLINGS:
        short_help = f"The same as `comity {new}`."
        command(root, old, examples=(f"comity {example}",), panel="Older spellings", short_help=short_help)(function)
