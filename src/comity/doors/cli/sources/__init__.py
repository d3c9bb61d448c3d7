"""`comity sources …`: careers pages that are read again and again for job postings."""

from __future__ import annotations

import typer

from comity.doors.cli.help_text import group

app = group(
    """Careers pages that are read on a schedule for job postings: pages, feeds and APIs.

    Each posting is stored once, updated when a page changes it, and closed when no page lists it any more.
    """
)


def register(root: typer.Typer) -> None:
    """Add the commands of this package."""
    from comity.doors.cli.sources import (
        manage,  # noqa: F401  # each adds its commands to `app`
        run,  # noqa: F401  # each adds its commands to `app`
    )

    root.add_typer(app, name="sources", rich_help_panel="Sources")
