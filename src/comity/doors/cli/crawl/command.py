"""`comity crawl`: crawl whole sites. `comity demo`: crawl three small sites that this machine serves itself."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.doors.cli.crawl.options import (
    CARRIED,
    CRAWL,
    NO_LINES,
    SCOPE_OPTIONS,
    STORED_OPTIONS,
    AllowNetworkOption,
    ConcurrencyOption,
    CrawlOutput,
    DelayOption,
    IntoOption,
    JsonLinesOption,
    LogRequestsOption,
    MaxMinutesOption,
    MaxPagesOption,
    PerHostOption,
    ProcessesOption,
    RefreshOption,
    UnderOption,
    UpdateStaleOption,
    VerboseOption,
    request_settings,
    scope_settings,
    stored_settings,
)
from comity.doors.cli.crawl.rendering import VisitLines, summary_document, write_idle, write_summary
from comity.doors.cli.help_text import command
from comity.doors.cli.options import (
    Invocation,
    JsonOption,
    StateOption,
    check_number,
    name_options_in_errors,
    open_stdin,
    option,
    read_invocation,
    takes,
    warn_missing_contact,
)
from comity.doors.cli.output import note, write_as_is, write_json, write_line
from comity.model.errors import BadInput
from comity.model.run import EndReason
from comity.run.signals import INTERRUPTED

if TYPE_CHECKING:
    from comity.doors.cli.crawl.json_events import JsonEvents
    from comity.model.host import Seed
    from comity.run.crawl.view import CrawlObserver
    from comity.settings import Settings

_MOST_PROCESSES = 64
_EXAMPLES = (
    "comity crawl https://example.com/",
    "comity crawl example.com example.org --max-pages 500 --delay 2",
    "comity crawl --seeds hosts.txt --max-minutes 30 --processes 4",
    "comity crawl example.com --refresh",
    "comity crawl example.com --markdown --into pages.jsonl",
    "comity crawl example.com --into pages.csv -v",
    "comity crawl example.com --json-lines > events.jsonl",
    "comity crawl https://example.com/docs/ --under --exclude '*.pdf'",
    "comity crawl example.com --extract 'price DECIMAL FROM css \".price::text\"'",
)


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    command(root, "crawl", examples=_EXAMPLES, panel="Crawl")(
        takes(scope=SCOPE_OPTIONS, stored=STORED_OPTIONS, requests=CRAWL)(crawl)
    )
    command(root, "demo", panel="Crawl")(demo)


def crawl(
    context: typer.Context,
    urls: Annotated[list[str] | None, typer.Argument(metavar="URL|HOST", help="Where to start.")] = None,
    seeds: Annotated[Path | None, option("--seeds", "FILE", "More seeds, one per line; - reads stdin.")] = None,
    into: IntoOption = None,
    scope: Any = None,
    under: UnderOption = False,
    max_pages: MaxPagesOption = None,
    max_minutes: MaxMinutesOption = None,
    delay: DelayOption = None,
    concurrency: ConcurrencyOption = None,
    per_host: PerHostOption = None,
    processes: ProcessesOption = None,
    refresh: RefreshOption = False,
    update_stale: UpdateStaleOption = False,
    stored: Any = None,
    requests: Any = None,
    allow_network: AllowNetworkOption = None,
    verbose: VerboseOption = 0,
    json_lines: JsonLinesOption = False,
    log_requests: LogRequestsOption = None,
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
        **scope_settings(scope),
        max_pages=max_pages,
        max_minutes=max_minutes,
        delay_s=delay,
        concurrency=concurrency,
        per_host=per_host,
        processes=_checked(processes),
        update_stale=update_stale or None,
        **stored_settings(stored),
        **request_settings(requests),
        allow_networks=tuple(allow_network) if allow_network else None,
    )
    output = CrawlOutput(verbose, json_lines, log_requests)
    _begin(invocation, urls, seeds, max_pages, refresh or update_stale, output, under)


def _begin(
    invocation: Invocation,
    urls: list[str] | None,
    seeds: Path | None,
    max_pages: int | None,
    refresh: bool,
    output: CrawlOutput,
    under: bool,
) -> None:
    """Read the seeds, apply the page limit, and crawl."""
    invocation = output.applied(invocation)
    read = _read_seeds(urls or [], seeds, invocation)
    if not read:
        raise BadInput("nothing to crawl: give a URL such as https://example.com/, or --seeds FILE")
    from comity.run.crawl.sites import with_page_limit, with_request_options, with_site
    from comity.store.target import read_target

    read_target(invocation.settings.pages)  # an impossible target is refused before anything is created
    settings = with_page_limit(invocation.settings, max_pages, {seed.host.authority for seed in read})
    settings = with_site(settings, read, under=under)
    with name_options_in_errors(settings.model_dump(include=CARRIED)):
        settings = with_request_options(settings, read)
    warn_missing_contact(settings)
    invocation = Invocation(settings, invocation.as_json)
    run_crawl(invocation, read, settings.processes, refresh=refresh, output=output)


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
        content = open_stdin().buffer.read() if str(file) == "-" else file.read_bytes()
        lines = content.decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {file}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}") from None
    for item in read_seed_lines(lines, collapse=invocation.collapse):
        if isinstance(item, BadLine):
            raise BadInput(f"{file}, line {item.number}: {item.reason}")
        read.append(item)
    return read


def run_crawl(
    invocation: Invocation,
    seeds: list[Seed],
    processes: int = 1,
    *,
    refresh: bool = False,
    output: CrawlOutput = NO_LINES,
) -> None:
    """Crawl, print the summary, and exit with the matching code."""
    from comity.run.crawl.sites import crawl_sites

    if processes > 1 and ":memory:" in invocation.settings.where:
        raise BadInput("--processes needs a state that processes can share; a state in memory cannot be shared")
    with invocation.open_or_make(connections=2) as opened:
        settings = opened.settings
        events = _events(opened.clock.now) if output.json_lines else None
        view = _view(quiet=invocation.as_json, verbose=output.verbose, events=events)
        summary, sites = crawl_sites(opened, seeds, view, processes=processes, refresh=refresh)
    document = {"summary": summary_document(summary), "idle": summary.idle, "taken_down": sites.taken_down}
    if events is not None:
        events.summary({**document, **_places(settings)})
        if events.is_closed:
            raise BrokenPipeError
    elif invocation.as_json:
        write_json({**document, **_places(settings)})
    else:
        places = _places(settings)
        write_summary(summary, places)
        write_idle(summary.idle)
        if not summary.pages and summary.code == EndReason.ALREADY_DONE and not Path(places["pages"]).exists():
            write_line(
                f"Nothing was written to {places['pages']}. To write the pages of earlier crawls there, run "
                f"`comity pages export {places['pages']}`."
            )
    if summary.status == "stopped":
        raise typer.Exit(INTERRUPTED)
    if summary.status == "failed" or summary.brought_nothing:
        raise typer.Exit(1)


def _events(clock: Callable[[], datetime]) -> JsonEvents:
    """The stream of events on stdout; a person who watches stderr sees the progress, too."""
    from comity.doors.cli.crawl.json_events import JsonEvents
    from comity.doors.cli.crawl.progress import show_progress
    from comity.run.crawl.view import show_no_progress

    is_watched = sys.stderr is not None and sys.stderr.isatty() and not sys.stdout.isatty()
    return JsonEvents(show_progress if is_watched else show_no_progress, clock)


def _view(*, quiet: bool, verbose: int, events: JsonEvents | None) -> CrawlObserver:
    """What is printed while the crawl runs: lines and progress on stderr, events on stdout."""
    from functools import partial

    from comity.doors.cli.crawl.progress import show_progress
    from comity.run.crawl.view import CrawlObserver, show_no_progress

    on_stop = partial(note, "comity: finishing the requests in flight (press Ctrl-C again to exit at once)")
    on_exit = partial(note, "comity: exiting at once; the same command continues from here")
    if events is not None:
        return CrawlObserver(
            watch=events.watch,
            on_visits=events.visits,
            on_host=events.host,
            on_wait=events.wait if verbose > 1 else None,
            explains_links=verbose > 1,
            shows_hosts=True,
            on_warning=events.warning,
            on_start=events.on_start,
            on_stop=on_stop,
            on_exit=on_exit,
        )
    lines = VisitLines()
    return CrawlObserver(
        watch=show_no_progress if quiet else partial(show_progress, has_bar=not verbose),
        on_visits=lines.visits if verbose else None,
        on_wait=lines.wait if verbose > 1 else None,
        explains_links=verbose > 1,
        shows_hosts=not quiet,
        on_warning=(lambda _sentence: None) if quiet else note,
        on_stop=on_stop,
        on_exit=on_exit,
    )


def _places(settings: Settings) -> dict[str, Any]:
    from comity.store.target import read_target

    state = settings.where if "://" not in settings.where else "the shared database"
    return {"state": state, "pages": settings.pages, "pages_are_parts": read_target(settings.pages).is_folder}


def demo(context: typer.Context, as_json: JsonOption = False) -> None:
    """Crawl three small sites on this machine, to see what a crawl looks like."""
    from comity.rules.seed_list import read_seed
    from comity.run.demo_web import demo_web

    folder = Path("comity-data/demo")
    shutil.rmtree(folder, ignore_errors=True)
    invocation = read_invocation(
        context,
        str(folder / "state.db"),
        as_json,
        pages=str(folder / "pages"),
        delay_s=0.1,
        allow_networks=("127.0.0.0/8",),
    )
    with demo_web() as sites:
        if not invocation.as_json:
            write_line("Crawling three small sites on this machine, 0.1 s between requests or as robots.txt asks.")
        run_crawl(invocation, [read_seed(site.url) for site in sites])
    if not invocation.as_json:
        write_line("")
        write_line("Next, try:")
        program = os.path.relpath(sys.argv[0]) if os.sep in sys.argv[0] else "comity"
        for example in ("domains list", "verify-politeness", f"why {sites[1].url}private/diary"):
            write_as_is(f"  {program} --state {folder}/state.db {example}")
