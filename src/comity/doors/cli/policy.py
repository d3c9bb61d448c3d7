"""`comity policy …`: the limits that an operator sets for one host."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.doors.cli.crawl.options import POLICY, policy_changes
from comity.doors.cli.domains.commands import HostArgument
from comity.doors.cli.domains.rendering import policy_pairs
from comity.doors.cli.help_text import command, group
from comity.doors.cli.options import Invocation, JsonOption, StateOption, name_options_in_errors, read_invocation, takes
from comity.doors.cli.output import Cell, write_json, write_line, write_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from comity.model.host import HostPolicy
    from comity.operate.policy import PolicyValue


app = group("Set limits for one host. A change takes effect with the next request.")


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    root.add_typer(app, name="policy", rich_help_panel="Limits")


@command(app, "show", examples=("comity policy show example.com",))
def show(context: typer.Context, host: HostArgument, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Show the limits of a host."""
    invocation = read_invocation(context, state, as_json)
    name = invocation.host(host)
    from comity.operate.policy import get_policy

    with invocation.open_existing() as opened:
        policy = get_policy(opened.database, name)
    if invocation.as_json:
        write_json(_document(policy, name))
    elif policy is None:
        write_line(Cell(name, "bold"), " has no policy; the general settings apply.")
        write_line(Cell(f"  Set some: comity policy set {name} --min-request-interval-ms 5000", "dim"))
    else:
        _write_policy(policy)


IncludeOption = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="PATTERN", help="Crawl only URLs that match. May be repeated; '' removes all."),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="PATTERN", help="Leave out URLs that match. May be repeated; '' removes all."),
]


@command(
    app,
    "set",
    examples=(
        "comity policy set example.com --min-request-interval-ms 10000",
        "comity policy set example.com --max-pages 50 --max-concurrency 2",
        "comity policy set example.com --exclude /search --exclude '?*sort=*'",
        "comity policy set example.com --header 'X-Token: env:SITE_TOKEN'",
    ),
)
@takes(requests=POLICY)
def change(
    context: typer.Context,
    host: HostArgument,
    max_concurrency: Annotated[
        int | None,
        typer.Option(
            "--max-concurrency", metavar="N", help="Requests at once, for crawls, sources, audits and queries."
        ),
    ] = None,
    min_request_interval_ms: Annotated[
        int | None,
        typer.Option(
            "--min-request-interval-ms",
            metavar="N",
            help="Milliseconds between requests, for crawls, sources, audits and queries.",
        ),
    ] = None,
    max_pages: Annotated[
        int | None,
        typer.Option(
            "--max-pages",
            metavar="N",
            help="Pages per run, for source runs; a crawl of a whole site uses max_pages_per_run of the host.",
        ),
    ] = None,
    max_kb_per_page: Annotated[
        int | None,
        typer.Option(
            "--max-kb-per-page", metavar="N", help="Kilobytes per page, for crawls, sources, audits and queries."
        ),
    ] = None,
    allow_js: Annotated[
        bool | None,
        typer.Option(
            "--allow-js/--no-allow-js", help="Whether scripts of pages may run; scripts are not supported yet."
        ),
    ] = None,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    requests: Any = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set limits of a host; limits that are not named keep their value.

    The first policy of a host starts with 1 request at once and 3000 ms between requests, for crawls, sources, audits
    and queries, and with 10 pages per run and 1024 KB per page, for source runs only. A page size that you set applies
    to crawls, sources, audits and queries.

    Secrets are stored by reference (env:NAME, file:PATH), never in plain text, and are sent only to the host that
    you name: https unless you write http://.
    """
    invocation = read_invocation(context, state, as_json)
    given = {
        "max_concurrency": max_concurrency,
        "min_request_interval_ms": min_request_interval_ms,
        "max_pages": max_pages,
        "max_kb_per_page": max_kb_per_page,
        "allow_js": allow_js,
        "include": include or None,
        "exclude": exclude or None,
    }
    policy = _set(invocation, host, given, policy_changes(requests))
    if invocation.as_json:
        write_json(_document(policy, policy.host))
    else:
        _write_policy(policy)


def _set(
    invocation: Invocation, host: str, given: Mapping[str, PolicyValue | None], carried: dict[str, Any]
) -> HostPolicy:
    """Check limits and what requests carry before anything is created, and store them."""
    from comity.operate.policy import check_limits, set_policy, set_request_options
    from comity.operate.request_options import policy_options

    name = invocation.host(host)
    is_limit = any(value is not None for value in given.values())
    with name_options_in_errors(given):
        limits = check_limits(**given) if is_limit or not carried else {}
    with name_options_in_errors(carried):
        policy_options(host, None, carried)
    with invocation.open_or_make() as opened:
        if limits:
            policy = set_policy(opened.database, opened.clock, name, **limits)
        if carried:
            policy = set_request_options(opened.database, opened.clock, name, host, carried)
    return policy


def _document(policy: HostPolicy | None, host: str) -> dict[str, Any]:
    from comity.doors.schemas.hosts import policy_view

    return policy_view(policy, host).document()


def _write_policy(policy: HostPolicy) -> None:
    write_line(Cell(policy.host, "bold"))
    write_pairs([(name, value) for name, value in policy_pairs(asdict(policy)) if value is not None])
