"""`comity crawl`: crawl whole sites."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.doors.cli.crawl.options import (
    AcceptOption,
    AllowNetworkOption,
    ConcurrencyOption,
    ConnectTimeoutOption,
    DelayOption,
    ExtractOption,
    FirstByteTimeoutOption,
    FollowCanonicalOption,
    FollowLinksOption,
    ImagesOption,
    IntoOption,
    MaxDepthOption,
    MaxImageBytesOption,
    MaxPagesOption,
    MaxRetryBackoffOption,
    PerHostOption,
    ProcessesOption,
    RefreshOption,
    RejectOption,
    RespectNofollowOption,
    RetriesOption,
    SitemapsOption,
    TimeoutOption,
    UpdateStaleOption,
    option,
)
from comity.doors.cli.crawl.rendering import summary_document, write_idle, write_summary, write_visits
from comity.doors.cli.help_text import command
from comity.doors.cli.options import (
    Invocation,
    JsonOption,
    StateOption,
    check_number,
    read_invocation,
    warn_missing_contact,
)
from comity.doors.cli.output import note, write_json
from comity.model.errors import BadInput
from comity.run.signals import INTERRUPTED

if TYPE_CHECKING:
    from comity.model.host import Seed
    from comity.run.crawl.view import CrawlObserver
    from comity.settings import Settings

_MOST_PROCESSES = 64
_EXAMPLES = (
    "comity crawl https://example.com/",
    "comity crawl example.com example.org --max-pages 500 --delay 2",
    "comity crawl --seeds hosts.txt --max-minutes 30 --processes 4",
    "comity crawl example.com --refresh",
    "comity crawl example.com --extract 'price DECIMAL FROM css \".price::text\"'",
)


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    command(root, "crawl", examples=_EXAMPLES, panel="Crawl")(crawl)


def crawl(
    context: typer.Context,
    urls: Annotated[list[str] | None, typer.Argument(metavar="URL|HOST", help="Where to start.")] = None,
    seeds: Annotated[Path | None, option("--seeds", "FILE", "More seeds, one per line; - reads stdin.")] = None,
    into: IntoOption = None,
    max_pages: MaxPagesOption = None,
    max_depth: MaxDepthOption = None,
    max_minutes: Annotated[float | None, option("--max-minutes", "N", "Stop after N minutes; 0: no limit.")] = None,
    delay: DelayOption = None,
    concurrency: ConcurrencyOption = None,
    per_host: PerHostOption = None,
    processes: ProcessesOption = None,
    follow_links: FollowLinksOption = None,
    respect_nofollow: RespectNofollowOption = None,
    sitemaps: SitemapsOption = None,
    follow_canonical: FollowCanonicalOption = None,
    refresh: RefreshOption = False,
    update_stale: UpdateStaleOption = False,
    extract: ExtractOption = None,
    images: ImagesOption = None,
    max_image_bytes: MaxImageBytesOption = None,
    timeout: TimeoutOption = None,
    connect_timeout: ConnectTimeoutOption = None,
    first_byte_timeout: FirstByteTimeoutOption = None,
    retries: RetriesOption = None,
    max_retry_backoff: MaxRetryBackoffOption = None,
    accept: AcceptOption = None,
    reject: RejectOption = None,
    user_agent: Annotated[str | None, option("--user-agent", "UA", "The User-Agent header to send.")] = None,
    allow_network: AllowNetworkOption = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print a line for each URL: status, size and time, or the error.")
    ] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Crawl whole sites politely, and store every page.

    robots.txt is obeyed, each host has its own rate, and every decision can be explained afterwards (comity why URL).
    The crawl can be stopped at any time: the same command continues exactly where it stopped.
    """
    invocation = read_invocation(
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
        extract=_columns(extract),
        images=images,
        max_image_bytes=max_image_bytes,
        fetch_timeout_s=timeout,
        connect_timeout_s=connect_timeout,
        first_byte_timeout_s=first_byte_timeout,
        retries=retries,
        max_retry_backoff_seconds=max_retry_backoff,
        user_agent=user_agent,
        **_listed(accept_types=accept, reject_types=reject, allow_networks=allow_network),
    )
    _begin(invocation, urls or [], seeds, max_pages, refresh=refresh or update_stale, verbose=verbose)


def _listed(**options: list[str] | None) -> dict[str, Any]:
    """Options that may be repeated, as settings; None for one that is not there."""
    return {name: tuple(values) if values else None for name, values in options.items()}


def _columns(extract: list[str] | None) -> str | None:
    if not extract:
        return None
    from comity.run.crawl.columns import read_columns

    return read_columns(extract, "--extract")


def _begin(
    invocation: Invocation, urls: list[str], seeds: Path | None, max_pages: int | None, *, refresh: bool, verbose: bool
) -> None:
    """Read the seeds, apply the page limit, and crawl."""
    read = _read_seeds(urls, seeds, invocation)
    if not read:
        raise BadInput("nothing to crawl: give a URL such as https://example.com/, or --seeds FILE")
    from comity.run.crawl.sites import with_page_limit
    from comity.store.target import read_target

    read_target(invocation.settings.pages)  # an impossible target is refused before anything is created
    settings = with_page_limit(invocation.settings, max_pages, {seed.host.authority for seed in read})
    warn_missing_contact(settings)
    invocation = Invocation(settings, invocation.as_json)
    run_crawl(invocation, read, settings.processes, refresh=refresh, verbose=verbose)


def _checked(processes: int | None) -> int | None:
    if processes is not None:
        check_number("--processes", processes, 1, _MOST_PROCESSES)
    return processes


def _read_seeds(urls: list[str], file: Path | None, invocation: Invocation) -> list[Seed]:
    """Read every seed; `BadInput` for the first that cannot be used. Nothing is opened yet."""
    from comity.rules.seed_list import BadLine, read_seed, read_seed_lines

    read = [read_seed(text, collapse=invocation.collapse) for text in urls]
    if file is None:
        return read
    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        lines = content.decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {file}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}") from None
    for item in read_seed_lines(lines, collapse=invocation.collapse):
        if isinstance(item, BadLine):
            raise BadInput(f"{file}, line {item.number}: {item.reason}")
        read.append(item)
    return read


def run_crawl(
    invocation: Invocation, seeds: list[Seed], processes: int = 1, *, refresh: bool = False, verbose: bool = False
) -> None:
    """Crawl, print the summary, and exit with the code that it deserves."""
    from comity.run.crawl.sites import crawl_sites

    if processes > 1 and ":memory:" in invocation.settings.where:
        raise BadInput("--processes needs a state that processes can share; a state in memory cannot be shared")
    with invocation.open_or_make(connections=2) as opened:
        settings = opened.settings
        view = _view(quiet=invocation.as_json, verbose=verbose)
        summary, sites = crawl_sites(opened, seeds, view, processes=processes, refresh=refresh)
    if invocation.as_json:
        document = {"summary": summary_document(summary), "idle": summary.idle, "taken_down": sites.taken_down}
        write_json({**document, **_places(settings)})
    else:
        write_summary(summary, _places(settings))
        write_idle(summary.idle)
    if summary.status == "stopped":
        raise typer.Exit(INTERRUPTED)
    if summary.status == "failed" or summary.brought_nothing:
        raise typer.Exit(1)


def _view(*, quiet: bool, verbose: bool) -> CrawlObserver:
    """What is printed on stderr while the crawl runs."""
    from functools import partial

    from comity.doors.cli.crawl.progress import show_progress
    from comity.run.crawl.view import CrawlObserver, show_no_progress

    return CrawlObserver(
        watch=show_no_progress if quiet else partial(show_progress, has_bar=not verbose),
        on_visits=write_visits if verbose else None,
        on_warning=(lambda _sentence: None) if quiet else note,
        on_stop=partial(note, "comity: finishing the requests in flight (press Ctrl-C again to exit at once)"),
        on_exit=partial(note, "comity: exiting at once; the same command continues from here"),
    )


def _places(settings: Settings) -> dict[str, Any]:
    from comity.store.target import read_target

    state = settings.where if "://" not in settings.where else "the shared database"
    return {"state": state, "pages": settings.pages, "pages_are_parts": read_target(settings.pages).is_folder}
