"""`comity queue …`: the crawl service. Policies make jobs, bots pull the jobs and submit results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from comity.doors.cli.help_text import command, group
from comity.doors.cli.options import JsonOption, StateOption, read_invocation
from comity.doors.cli.queue.rendering import write_exact, write_stats
from comity.model.errors import BadInput

if TYPE_CHECKING:
    from uuid import UUID

app = group(
    """The crawl service: URLs that are crawled again and again by bots.

    A policy is a URL and how often to crawl it. When it is due, it becomes a job. Bots pull jobs over HTTP from
    comity web, crawl the pages and submit results: prices, stock, anything. See docs/bots.md.
    """
)
policies = group("Policies: which URLs are crawled, and how often.")
jobs = group("Jobs: one crawl of a URL each, from pending to done.")
results = group("Results: what bots submitted. They cannot be changed.")
webhooks = group("Webhooks: URLs that Comity calls when a job ends, a price changes or a product is back in stock.")

PolicyOption = Annotated[str | None, typer.Option("--policy", metavar="POLICY", help="Only those of this policy.")]
DomainOption = Annotated[str | None, typer.Option("--domain", metavar="HOST", help="Only this host.")]
SearchOption = Annotated[
    str | None, typer.Option("--search", metavar="TEXT", help="Only those whose URL contains this.")
]
EnabledOption = Annotated[
    bool | None, typer.Option("--enabled/--disabled", help="Only enabled ones, or only disabled ones.")
]


def read_id(text: str, noun: str, listing: str) -> UUID:
    """The id of a job, a result, a webhook …; `listing` is the command that shows such ids."""
    from comity.reports.queue import identity_of

    identity = identity_of(text)
    if identity is None:
        raise BadInput(f"{text[:80]!r} is not the id of a {noun}; `comity queue {listing}` shows ids")
    return identity


def register(root: typer.Typer) -> None:
    """Add the commands of this package."""
    from comity.doors.cli.queue import job_commands, policy_commands, webhook_commands  # noqa: F401

    app.add_typer(policies, name="policies")
    app.add_typer(jobs, name="jobs")
    app.add_typer(results, name="results")
    app.add_typer(webhooks, name="webhooks")
    root.add_typer(app, name="queue", rich_help_panel="Crawl service")


@command(app, "stats", examples=("comity queue stats", "comity queue stats --json"))
def stats(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Show jobs by status and host, what bots do, the age of the oldest waiting job, and the throughput."""
    invocation = read_invocation(context, state, as_json)
    from comity.reports.queue import queue_stats

    with invocation.open_existing() as opened:
        found = queue_stats(opened.database, opened.clock)
    if invocation.as_json:
        from comity.doors.schemas.queue import QueueStatsView

        write_exact(QueueStatsView.model_validate(found))
    else:
        write_stats(found)
