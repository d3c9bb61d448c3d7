"""`comity why`, `comity robots` and `comity verify-politeness`: every decision, explained and proved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.doors.cli.options import Chosen, JsonOption, StateOption, chosen
from comity.doors.cli.output import Cell, Column, Row, counted, shown_time, write_json, write_line, write_table
from comity.doors.cli.teaching import command
from comity.model.errors import BadInput

if TYPE_CHECKING:
    from comity.rules.canonical import WebAddress
    from comity.walk.robots_in_force import RobotsInForce

_PANEL = "Explain"
_MARKS = {"yes": ("yes", "green"), "no": ("no", "red"), "wait": ("wait", "yellow"), "unknown": ("?", "dim")}
_LONGEST_LIST = 20


def register(root: typer.Typer) -> None:
    """Put the commands of this file on the command line."""
    command(root, "why", panel=_PANEL, examples=("comity why https://example.com/private/",))(why)
    command(
        root,
        "robots",
        panel=_PANEL,
        examples=("comity robots example.com", "comity robots https://example.com/search?q=x --agent OtherBot"),
    )(robots)
    command(root, "verify-politeness", panel=_PANEL, examples=("comity verify-politeness --host example.com",))(
        verify_politeness
    )


def why(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="The page in question.")],
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain every decision about a URL: takedown, robots, policy, cooldown, block, lease, duplicate.

    Nothing is asked of the site; what the state remembers is read, and the same rules are applied to it.
    """
    door = chosen(context, state, as_json)
    address = _address(url, door)
    if door.as_json:
        from comity.doors.shapes.decisions import why_shape

        with door.open_existing() as opened:
            write_json(why_shape(opened, address).document())
        return
    from comity.reports.why import explain

    with door.open_existing() as opened:
        told = explain(opened.database, opened.clock, address, opened.settings.identity, opened.frontier.find)
    write_line(Cell(told.url, "bold"))
    write_line(told.conclusion)
    write_line("")
    rows = [Row([Cell(*_MARKS[finding.verdict]), finding.question, finding.sentence]) for finding in told.findings]
    write_table([Column("MAY"), Column("ASKED"), Column("ANSWER")], rows)
    if told.history:
        write_line("")
        events = [Row([shown_time(event.at), event.what, event.detail or ""]) for event in told.history]
        write_table([Column("WHEN (UTC)"), Column("WHAT"), Column("DETAIL")], events)


def robots(
    context: typer.Context,
    target: Annotated[str, typer.Argument(metavar="HOST|URL", help="A host, or a page of it.")],
    agent: Annotated[str | None, typer.Option("--agent", metavar="A", help="Decide for another crawler.")] = None,
    allow_network: Annotated[
        list[str] | None,
        typer.Option("--allow-network", metavar="CIDR", help="A private network that may be asked: 127.0.0.0/8."),
    ] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what robots.txt of a host says, and what it means for one page.

    The file is read from the cache while it is fresh; otherwise the host is asked for it, once, under its lease.
    """
    door = chosen(context, state, as_json, allow_networks=tuple(allow_network) if allow_network else None)
    address = _address(target, door)
    if agent is not None and not agent.strip():
        raise BadInput("--agent is empty")
    import asyncio  # help does not wait for it

    with door.open_or_make() as opened:
        found = asyncio.run(_read(opened, address))
        who = agent or opened.settings.identity
    from comity.doors.shapes.decisions import robots_verdict_shape

    about = robots_verdict_shape(found, address, who).document()
    if door.as_json:
        write_json(about)
        return
    _write_robots(about)


def _write_robots(about: dict[str, Any]) -> None:
    verdict = about["verdict"]
    mark = Cell("allowed", "green") if verdict["allowed"] else Cell("not allowed", "red")
    write_line(Cell(about["url"], "bold"), " is ", mark, f" for {about['agent']}.")
    write_line(f"  {verdict['reason']}")
    if about["crawl_delay_s"] is not None:
        write_line(f"  Crawl delay: {about['crawl_delay_s']:g} s")
    for title, items in (("Disallow", about["disallow"]), ("Sitemap", about["sitemaps"])):
        for item in items[:_LONGEST_LIST]:
            write_line(Cell(f"  {title}  ", "dim"), item)
        if len(items) > _LONGEST_LIST:
            write_line(Cell(f"  … and {len(items) - _LONGEST_LIST:,} more", "dim"))
    if about["http_status"] is not None or about["version"] is None:
        write_line(Cell(f"  {about['read']}", "dim"))


async def _read(opened: Any, address: WebAddress) -> RobotsInForce:
    async with opened.fetcher() as fetcher:
        found: RobotsInForce = await opened.read_robots(fetcher, address)
        return found


def verify_politeness(
    context: typer.Context,
    host: Annotated[str | None, typer.Option("--host", metavar="HOST", help="Only this host.")] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replay the ledger of every request that was started, and report each that broke a limit.

    Checked are the delay in force, the number at once, blocks that a site asked for, the order of leases,
    and robots.txt. The exit code is 1 if anything was found.
    """
    door = chosen(context, state, as_json)
    name = door.host(host) if host is not None else None
    from comity.reports.politeness import verify_politeness as verify

    with door.open_existing() as opened:
        audits = list(verify(opened.database, name))
    violations = [(audit.host, violation) for audit in audits for violation in audit.violations]
    requests = sum(audit.requests for audit in audits)
    if door.as_json:
        write_json({"requests": requests, "hosts": len(audits), "violations": len(violations), "found": audits})
    elif violations:
        rows = [
            Row([where, str(violation.breach), violation.url], violation.sentence)
            for where, violation in violations[:_LONGEST_LIST]
        ]
        write_table([Column("HOST"), Column("BREACH"), Column("URL")], rows)
        write_line(Cell(f"{counted(len(violations), 'violation')} in {counted(requests, 'request')}.", "red"))
    else:
        write_line(f"{counted(requests, 'request')} to {counted(len(audits), 'host')} checked: no violation.")
    if violations:
        raise typer.Exit(1)


def _address(text: str, door: Chosen) -> WebAddress:
    from comity.rules.canonical import web_address

    return web_address(text, collapse=door.collapse)
