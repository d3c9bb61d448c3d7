"""`comity why` and `comity robots`: explain decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.doors.cli.crawl.options import AllowNetworkOption
from comity.doors.cli.help_text import command
from comity.doors.cli.options import Invocation, JsonOption, StateOption, read_invocation, warn_missing_contact
from comity.doors.cli.output import Cell, line_width, render_time, write_json, write_line
from comity.model.errors import BadInput
from comity.run.remedies import in_words

if TYPE_CHECKING:
    from comity.rules.canonical import WebAddress
    from comity.walk.robots.record import RobotsInForce

_PANEL = "Explain"
_STEP_AT = 20  # the column in which a step of the chain begins
_NARROW = 50  # in a narrower window, a step begins below its time
_LONGEST_LIST = 20


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    command(root, "why", panel=_PANEL, examples=("comity why https://example.com/private/",))(why)
    command(
        root,
        "robots",
        panel=_PANEL,
        examples=("comity robots example.com", "comity robots https://example.com/search?q=x --agent OtherBot"),
    )(robots)


def why(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="The page to explain.")],
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain why a URL was or was not fetched.

    The first line gives the latest decision. Below it are the steps from discovery to now, and at the end what would
    change the decision. No request is made: the current rules are applied to what the state remembers.
    """
    invocation = read_invocation(context, state, as_json)
    address = _address(url, invocation)
    if invocation.as_json:
        from comity.doors.schemas.decisions import why_view

        with invocation.open_existing() as opened:
            write_json(why_view(opened, address).document())
        return
    with invocation.open_existing() as opened:
        explanation = opened.why(address)
    for line in _folded(in_words(explanation.decision), 0):
        write_line(Cell(line, "bold"))
    for line in _folded(explanation.url, 2):
        write_line(Cell(f"  {line}", "dim"))
    if explanation.chain:
        write_line("")
    is_narrow = (line_width() or _NARROW) < _NARROW
    for step in explanation.chain:
        when = render_time(step.at, absent="now")
        if is_narrow:
            write_line(Cell(f"  {when}", "dim"))
        for number, line in enumerate(_folded(step.sentence, 4 if is_narrow else _STEP_AT)):
            at = "    " if is_narrow else f"  {when if number == 0 else '':<18}"
            write_line(Cell(at, "dim"), line)
    write_line("")
    for line in _folded(f"What would change it: {in_words(explanation.remedy)}", 0):
        write_line(line)


def _folded(text: str, indent: int) -> list[str]:
    """A text in lines that fit the window; one line if stdout is a pipe."""
    width = line_width()
    if width is None:
        return [text]
    import textwrap

    return textwrap.wrap(text, max(20, width - indent), break_on_hyphens=False) or [""]


def robots(
    context: typer.Context,
    target: Annotated[str, typer.Argument(metavar="HOST|URL", help="A host or a URL.")],
    agent: Annotated[str | None, typer.Option("--agent", metavar="A", help="Check for another crawler.")] = None,
    allow_network: AllowNetworkOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the robots.txt of a host, and what it means for one page.

    A fresh copy is read from the cache; otherwise the file is requested from the host once, under its lease.
    """
    invocation = read_invocation(
        context, state, as_json, allow_networks=tuple(allow_network) if allow_network else None
    )
    address = _address(target, invocation)
    if agent is not None and not agent.strip():
        raise BadInput("--agent is empty")
    warn_missing_contact(invocation.settings)
    import asyncio  # slow to import, and --help does not need it

    with invocation.open_or_make() as opened:
        found = asyncio.run(_read(opened, address))
        who = agent or opened.settings.identity
    from comity.doors.schemas.decisions import robots_verdict_view

    about = robots_verdict_view(found, address, who).document()
    if invocation.as_json:
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
    is_read = about["http_status"] is not None or about["version"] is None
    if is_read and about["read"] != verdict["reason"]:
        write_line(Cell(f"  {about['read']}", "dim"))


async def _read(opened: Any, address: WebAddress) -> RobotsInForce:
    async with opened.fetcher() as fetcher:
        found: RobotsInForce = await opened.read_robots(fetcher, address)
        return found


def _address(text: str, invocation: Invocation) -> WebAddress:
    from comity.rules.canonical import web_address

    return web_address(text, collapse=invocation.collapse)
