"""`comity crawl …` and `comity demo`: crawling whole sites."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.doors.cli.crawl.options import (
    ConnectTimeoutOption,
    FirstByteTimeoutOption,
    ImagesOption,
    MaxImageBytesOption,
    MaxRetryBackoffOption,
    RefreshOption,
    RetriesOption,
    TimeoutOption,
    UpdateStaleOption,
)
from comity.doors.cli.crawl.rendering import summary_document, write_idle, write_summary
from comity.doors.cli.exit_codes import INTERRUPTED
from comity.doors.cli.help_text import command
from comity.doors.cli.options import (
    Invocation,
    JsonOption,
    StateOption,
    check_number,
    read_invocation,
    warn_missing_contact,
)
from comity.doors.cli.output import note, write_as_is, write_json, write_line
from comity.model.errors import BadInput

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.model.host import Seed
    from comity.settings import Settings
    from comity.walk.progress import RunSummary

_PANEL = "Crawl"
_MOST_PROCESSES = 64
_EXAMPLES = (
    "comity crawl https://example.com/",
    "comity crawl example.com example.org --max-pages 500 --delay 2",
    "comity crawl --seeds hosts.txt --max-minutes 30 --processes 4",
    "comity crawl example.com --refresh",
)


def _option(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text)


_Into = Annotated[
    str | None,
    _option(
        "--into",
        "TARGET",
        "A folder (Parquet parts), or a .duckdb, .jsonl[.gz] or .warc[.gz] file, as in pages export.",
    ),
]
_MaxDepth = Annotated[int | None, _option("--max-depth", "N", "Follow links N steps from a seed. Default 50.")]
_FollowLinks = Annotated[
    bool | None, typer.Option("--follow-links/--no-follow-links", help="Follow links on pages. Default yes.")
]
_RespectNofollow = Annotated[
    bool | None,
    typer.Option("--respect-nofollow/--no-respect-nofollow", help="Leave rel=nofollow links alone. Default yes."),
]
_FollowCanonical = Annotated[
    bool | None,
    typer.Option(
        "--follow-canonical/--no-follow-canonical", help="Visit what a page calls its own address. Default yes."
    ),
]
_Sitemaps = Annotated[bool | None, typer.Option("--sitemaps/--no-sitemaps", help="Read sitemaps. Default yes.")]
_MaxPages = Annotated[
    int | None, _option("--max-pages", "N", "Stop after N fetched pages; 0: no limit. Default 1,000 of each host.")
]
_Delay = Annotated[
    float | None, _option("--delay", "SECONDS", "Between requests to a host; it may ask for more. Default 1.")
]
_Accept = Annotated[
    list[str] | None, _option("--accept", "TYPE", "Take this media type: text/html, text/*. Again for more.")
]
_Reject = Annotated[
    list[str] | None, _option("--reject", "TYPE", "Leave this media type, also where one above has it.")
]
_AllowNetwork = Annotated[
    list[str] | None, _option("--allow-network", "CIDR", "A private network that may be asked: 127.0.0.0/8.")
]
_Processes = Annotated[
    int | None, _option("--processes", "N", "Processes that share the hosts; one per core is best. Default 1.")
]


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    command(root, "crawl", examples=_EXAMPLES, panel=_PANEL)(crawl)
    command(root, "demo", panel=_PANEL)(demo)


def crawl(
    context: typer.Context,
    urls: Annotated[list[str] | None, typer.Argument(metavar="URL|HOST", help="Where to begin.")] = None,
    seeds: Annotated[Path | None, _option("--seeds", "FILE", "More seeds, one a line; - is stdin.")] = None,
    into: _Into = None,
    max_pages: _MaxPages = None,
    max_depth: _MaxDepth = None,
    max_minutes: Annotated[float | None, _option("--max-minutes", "N", "Stop after N minutes; 0: no limit.")] = None,
    delay: _Delay = None,
    concurrency: Annotated[int | None, _option("--concurrency", "N", "Requests under way at once. Default 16.")] = None,
    per_host: Annotated[int | None, _option("--per-host", "N", "Requests to one host at once. Default 1.")] = None,
    processes: _Processes = None,
    follow_links: _FollowLinks = None,
    respect_nofollow: _RespectNofollow = None,
    sitemaps: _Sitemaps = None,
    follow_canonical: _FollowCanonical = None,
    refresh: RefreshOption = False,
    update_stale: UpdateStaleOption = False,
    images: ImagesOption = None,
    max_image_bytes: MaxImageBytesOption = None,
    timeout: TimeoutOption = None,
    connect_timeout: ConnectTimeoutOption = None,
    first_byte_timeout: FirstByteTimeoutOption = None,
    retries: RetriesOption = None,
    max_retry_backoff: MaxRetryBackoffOption = None,
    accept: _Accept = None,
    reject: _Reject = None,
    user_agent: Annotated[str | None, _option("--user-agent", "UA", "Who we say we are.")] = None,
    allow_network: _AllowNetwork = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print a line for each URL: status, size, time, or what went wrong.")
    ] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Crawl whole sites, politely, and keep every page.

    robots.txt is obeyed, each host has its own pace, and every decision can be explained afterwards
    (comity why URL). The crawl can be stopped at any moment: the same command goes on exactly where it was.
    """
    door = read_invocation(
        context,
        state,
        as_json,
        pages=into,
        max_pages=max_pages,
        max_depth=max_depth,
        max_minutes=max_minutes,
        delay_s=delay,
        concurrency=concurrency,
        per_host=per_host,
        processes=_checked(processes),
        follow_links=follow_links,
        respect_nofollow=respect_nofollow,
        sitemaps=sitemaps,
        follow_canonical=follow_canonical,
        update_stale=update_stale or None,
        images=images,
        max_image_bytes=max_image_bytes,
        fetch_timeout_s=timeout,
        connect_timeout_s=connect_timeout,
        first_byte_timeout_s=first_byte_timeout,
        retries=retries,
        max_retry_backoff_seconds=max_retry_backoff,
        accept_types=tuple(accept) if accept else None,
        reject_types=tuple(reject) if reject else None,
        user_agent=user_agent,
        allow_networks=tuple(allow_network) if allow_network else None,
    )
    _begin(door, urls or [], seeds, max_pages, refresh=refresh or update_stale, verbose=verbose)


def _begin(
    door: Invocation, urls: list[str], seeds: Path | None, max_pages: int | None, *, refresh: bool, verbose: bool
) -> None:
    """Read the seeds, settle what the page limit counts, and crawl."""
    read = _read_seeds(urls, seeds, door)
    if not read:
        raise BadInput("nothing to crawl: give a URL such as https://example.com/, or --seeds FILE")
    from comity.run.crawl.sites import with_page_limit
    from comity.store.target import read_target

    read_target(door.settings.pages)  # a target that cannot be is refused before anything is made
    settings = with_page_limit(door.settings, max_pages, {seed.host.authority for seed in read})
    warn_missing_contact(settings)
    chosen_door = Invocation(settings, door.as_json)
    _crawl(chosen_door, read, settings.processes, refresh=refresh, verbose=verbose)


def _checked(processes: int | None) -> int | None:
    if processes is not None:
        check_number("--processes", processes, 1, _MOST_PROCESSES)
    return processes


def demo(context: typer.Context, as_json: JsonOption = False) -> None:
    """Crawl three small sites that live on this machine only, to see what a crawl looks like."""
    from comity.doors.demo_web import demo_web
    from comity.rules.seed_list import read_seed

    folder = Path("comity-data/demo")
    shutil.rmtree(folder, ignore_errors=True)
    door = read_invocation(
        context,
        str(folder / "state.db"),
        as_json,
        pages=str(folder / "pages"),
        delay_s=0.1,
        allow_networks=("127.0.0.0/8",),
    )
    with demo_web() as sites:
        if not door.as_json:
            write_line("Three small sites are up on this machine; crawling them, a tenth of a second between requests.")
        _crawl(door, [read_seed(site.url) for site in sites])
    if not door.as_json:
        write_line("")
        write_line("Look around:")
        program = os.path.relpath(sys.argv[0]) if os.sep in sys.argv[0] else "comity"
        for command in ("domains list", "verify-politeness", f"why {sites[1].url}private/diary"):
            write_as_is(f"  {program} --state {folder}/state.db {command}")


def _read_seeds(urls: list[str], file: Path | None, door: Invocation) -> list[Seed]:
    """Every seed, or the first reason why one cannot be used; nothing is opened before."""
    from comity.rules.seed_list import BadLine, read_seed, read_seed_lines

    read = [read_seed(text, collapse=door.collapse) for text in urls]
    if file is None:
        return read
    try:
        octets = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        lines = octets.decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {file}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}") from None
    for item in read_seed_lines(lines, collapse=door.collapse):
        if isinstance(item, BadLine):
            raise BadInput(f"{file}, line {item.number}: {item.reason}")
        read.append(item)
    return read


def _crawl(
    door: Invocation, seeds: list[Seed], processes: int = 1, *, refresh: bool = False, verbose: bool = False
) -> None:
    from comity.doors.cli.crawl.progress import reopen_closed
    from comity.operate.refresh import ask_refresh
    from comity.operate.seeds import add_seeds
    from comity.upkeep.end_cooldowns import end_cooldowns, lift_refusals
    from comity.upkeep.go_deeper import go_deeper
    from comity.upkeep.rescore import rescore_run

    if processes > 1 and ":memory:" in door.settings.where:
        raise BadInput("--processes needs a state that processes can share; one in memory is not")
    with door.open_or_make(connections=2) as opened:
        settings = opened.settings
        report = add_seeds(
            opened.database,
            opened.clock,
            seeds,
            source="cli",
            weights=settings.weights,
            frontier=opened.frontier,
        )
        if report.taken_down and not door.as_json:
            note(f"Left out, since they are taken down: {', '.join(report.taken_down)}.")
        end_cooldowns(opened.database, opened.clock, refresh=settings.enable_refresh_mode)
        hosts = {seed.host.authority for seed in seeds} - set(report.taken_down)
        lift_refusals(opened.database, settings.allow_networks, hosts)
        go_deeper(opened.database, opened.clock, opened.frontier, settings.max_depth, hosts)
        if refresh:
            ask_refresh(opened.database, opened.clock, hosts)
        reopen_closed(opened, hosts)
        summary = _run(opened, hosts, processes, quiet=door.as_json, verbose=verbose)
        rescore_run(opened.database, opened.clock, summary.run_id, settings.weights)
    if door.as_json:
        document = {"summary": summary_document(summary), "idle": summary.idle, "taken_down": report.taken_down}
        write_json({**document, **_places(settings)})
    else:
        write_summary(summary, _places(settings))
        write_idle(summary.idle)
    if summary.status == "stopped":
        raise typer.Exit(INTERRUPTED)
    if summary.status == "failed" or summary.brought_nothing:
        raise typer.Exit(1)


def _run(state: State, hosts: set[str], processes: int, *, quiet: bool, verbose: bool) -> RunSummary:
    """Crawl here, or in as many processes as can be of use."""
    from comity.doors.cli.crawl.progress import run_crawl

    processes = min(processes, len(hosts), state.settings.concurrency)
    if processes <= 1:
        return run_crawl(state, hosts, quiet=quiet, verbose=verbose)
    from comity.run.crawl.supervisor import run_processes

    return run_processes(state, hosts, processes, quiet=quiet, verbose=verbose)


def _places(settings: Settings) -> dict[str, Any]:
    from comity.store.target import read_target

    state = settings.where if "://" not in settings.where else "the shared database"
    return {"state": state, "pages": settings.pages, "pages_are_parts": read_target(settings.pages).is_folder}
