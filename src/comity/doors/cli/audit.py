"""`comity audit`: scan a site with budgets and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from comity.doors.cli.crawl.options import AllowNetworkOption, MaxMinutesOption, MaxPagesOption
from comity.doors.cli.help_text import command
from comity.doors.cli.options import JsonOption, StateOption, read_invocation
from comity.doors.cli.output import note, write_line

if TYPE_CHECKING:
    from comity.run.audit.audit import AuditRun


def register(root: typer.Typer) -> None:
    """Add the command of this file."""
    command(root, "audit", panel="Crawl", examples=("comity audit https://example.com/",))(audit)


def audit(
    context: typer.Context,
    site: Annotated[str, typer.Argument(metavar="SITE", help="The start page of the site, or its host.")],
    max_pages: MaxPagesOption = None,
    max_minutes: MaxMinutesOption = None,
    allow_network: AllowNetworkOption = None,
    robots_unreachable: Annotated[
        str | None,
        typer.Option(
            "--robots-unreachable",
            metavar="disallow|allow",
            help="What to assume while robots.txt cannot be read. Default disallow.",
        ),
    ] = None,
    keep_noindex: Annotated[
        bool | None, typer.Option("--keep-noindex", help="Store the bodies of pages that say noindex.")
    ] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Audit a site: visit its pages within budgets, and keep evidence of every decision.

    The same command continues an audit that was stopped.
    """
    invocation = read_invocation(
        context,
        state,
        as_json,
        max_pages=max_pages,
        max_minutes=max_minutes,
        allow_networks=allow_network or None,
        robots_unreachable=robots_unreachable,
        keep_noindex=keep_noindex,
    )
    from comity.run.audit.audit import AuditRun, plan_audit

    run = AuditRun(plan_audit(invocation.settings, site))
    run.start()
    _wait(run)
    info = run.close().info
    for warning in info.warnings:
        note(warning.sentence)
    write_line(f"Audit {info.audit_id}: {info.pages:,} pages, {info.requests:,} requests. Ended: {info.sentence}")


def _wait(run: AuditRun) -> None:
    """Wait for the end; Ctrl-C stops the audit, and what is in flight is kept."""
    while True:
        try:
            if run.wait(0.2):
                return
        except KeyboardInterrupt:
            run.stop()
