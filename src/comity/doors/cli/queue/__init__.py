"""`comity queue …`: the crawl service. Policies make jobs, bots pull the jobs and submit results."""

from __future__ import annotations

import typer

from comity.doors.cli.help_text import group

app = group(
    """The crawl service: URLs that are crawled again and again by bots.

    A policy names a URL and how often to crawl it. When it is due, it becomes a job. Bots pull jobs over HTTP from
    comity web, crawl the pages and submit results: prices, stock, anything. See docs/bots.md.
    """
)
policies = group("Policies: which URLs are crawled, and how often.")
jobs = group("Jobs: one crawl of a URL each, from pending to done.")
results = group("Results: what bots submitted. They cannot be changed.")
webhooks = group(
    "Webhooks: URLs of yours that are called when a job ends, a price changes or a product is back in stock."
)


def register(root: typer.Typer) -> None:
    """Add the commands of this package."""
    from comity.doors.cli.queue import (  # noqa: F401
        job_commands,
        policy_commands,
        result_commands,
        stats,
        webhook_commands,
    )

    app.add_typer(policies, name="policies")
    app.add_typer(jobs, name="jobs")
    app.add_typer(results, name="results")
    app.add_typer(webhooks, name="webhooks")
    root.add_typer(app, name="queue", rich_help_panel="Crawl service")
