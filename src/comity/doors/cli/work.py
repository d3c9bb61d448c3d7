"""`comity work`: crawl what the table of hosts offers, until stopped."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from comity.doors.cli.crawl.options import (
    CARRIED,
    CRAWL,
    SCOPE_OPTIONS,
    SPEED,
    STORED_OPTIONS,
    AllowNetworkOption,
    ConcurrencyOption,
    CrawlOutput,
    DelayOption,
    IntoOption,
    JsonLinesOption,
    LogRequestsOption,
    MaxMinutesOption,
    OnlyStaleOption,
    PerHostOption,
    ProcessesOption,
    RefreshModeOption,
    request_settings,
    scope_settings,
    stored_settings,
)
from comity.doors.cli.exit_codes import report_failure
from comity.doors.cli.help_text import command
from comity.doors.cli.options import (
    Invocation,
    JsonOption,
    StateOption,
    check_number,
    name_options_in_errors,
    option,
    read_invocation,
    takes,
)
from comity.model.errors import BadInput, ComityError

if TYPE_CHECKING:
    from comity.run.remedies import CommandFailure
    from comity.run.work.worker import WorkLimits

_MOST_PROCESSES: Final = 64
_MOST_HOSTS: Final = 100_000
_MOST_MINUTES: Final = 1_000_000_000
_EXAMPLES = (
    "comity work",
    "comity work --processes 4 --hosts 200 --concurrency 64",
    "comity work --metrics 127.0.0.1:9100",
    "comity work --idle-exit --json",
    "comity work --policies",
    "comity work --json-lines >> events.jsonl",
    "comity work --exclude '*.pdf' --text --extract 'jsonld.Product.name'",
)

HostsOption = Annotated[int | None, option("--hosts", "N", "Hosts to crawl at once, in all processes together.", SPEED)]
PoliciesOption = Annotated[
    bool,
    typer.Option(
        "--policies",
        help="Also do jobs of crawl policies: fetch each page and read its price and stock; a page with neither fails.",
    ),
]
PoliciesOnlyOption = Annotated[
    bool, typer.Option("--policies-only", help="Only do jobs of crawl policies; do not crawl.")
]
MetricsOption = Annotated[
    str | None, option("--metrics", "ADDRESS:PORT", "Serve /metrics, /healthz and /readyz at this address.")
]


def register(root: typer.Typer) -> None:
    """Add the command of this file."""
    command(root, "work", examples=_EXAMPLES, panel="Crawl")(
        takes(scope=SCOPE_OPTIONS, stored=STORED_OPTIONS, requests=CRAWL)(work)
    )


def work(
    context: typer.Context,
    processes: ProcessesOption = None,
    hosts: HostsOption = None,
    concurrency: ConcurrencyOption = None,
    delay: DelayOption = None,
    per_host: PerHostOption = None,
    into: IntoOption = None,
    max_minutes: MaxMinutesOption = None,
    refresh: RefreshModeOption = None,
    update_stale: OnlyStaleOption = None,
    scope: Any = None,
    stored: Any = None,
    requests: Any = None,
    allow_network: AllowNetworkOption = None,
    policies: PoliciesOption = False,
    policies_only: PoliciesOnlyOption = False,
    idle_exit: Annotated[bool, typer.Option("--idle-exit", help="Exit when there is nothing to crawl.")] = False,
    metrics: MetricsOption = None,
    json_lines: JsonLinesOption = False,
    log_requests: LogRequestsOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Crawl the hosts of the state, highest priority first, until stopped.

    Any number of workers on any number of machines can share one state; each host is crawled by one of them at a time.
    Add hosts with comity seeds. A worker has no seeds: headers, cookies and credentials must name a host, as
    in 'https://example.com: X-Token: env:TOKEN'. SIGTERM or Ctrl-C finishes the requests in flight and releases
    every host. With --policies it also does the jobs of crawl policies (comity queue policies), as a bot would: it
    reads title, price, currency and stock from each page. A page without price and stock is a failure: for other data,
    use a bot, or name selectors in the policy's crawl_config. With --json, each finished run is one line on stdout.
    Events are logged on stderr: as text on a terminal, as JSON lines elsewhere (or as COMITY_LOG_FORMAT says).
    """
    if processes is not None:
        check_number("--processes", processes, 1, _MOST_PROCESSES)
    if max_minutes is not None and not 0 <= max_minutes <= _MOST_MINUTES:
        raise BadInput(f"--max-minutes must be between 0 and {_MOST_MINUTES:,}, not {max_minutes:g}")
    if hosts is not None:
        check_number("--hosts", hosts, 1, _MOST_HOSTS)
    invocation = read_invocation(
        context,
        state,
        as_json,
        warns=False,  # they are logged
        pages=into,
        delay_s=delay,
        concurrency=concurrency,
        per_host=per_host,
        processes=processes,
        metrics=metrics,
        enable_refresh_mode=refresh,
        update_stale=update_stale,
        **scope_settings(scope),
        **stored_settings(stored),
        **request_settings(requests),
        allow_networks=tuple(allow_network) if allow_network else None,
    )
    invocation = CrawlOutput(0, json_lines, log_requests).applied(invocation)
    _check(invocation)
    from comity.run.work.worker import WorkLimits

    limits = WorkLimits(hosts, max_minutes or 0.0, idle_exit, policies or policies_only, crawls=not policies_only)
    code = _run(invocation, limits, json_lines=json_lines)
    if code:
        raise typer.Exit(code)


def _run(invocation: Invocation, limits: WorkLimits, *, json_lines: bool) -> int:
    """Work until stopped; returns the exit code. An error is reported in the format of the log."""
    from comity.clock import SystemClock
    from comity.doors.cli.crawl.json_events import JsonEvents
    from comity.doors.cli.crawl.progress import show_progress
    from comity.run.crawl.view import show_no_progress
    from comity.run.logs import log_for
    from comity.run.remedies import describe_failure
    from comity.run.work.supervisor import run_workers
    from comity.run.work.worker import WorkObserver
    from comity.telemetry import events

    settings, as_json = invocation.settings, invocation.as_json or json_lines
    events_out = JsonEvents(show_no_progress, SystemClock().now) if json_lines else None
    log = log_for(settings, as_json=as_json)
    logs_failures = log.as_json and not as_json

    def on_failure(failure: CommandFailure) -> None:
        if logs_failures:
            log.emit(events.WORKER_FAILED, failure.message, error=failure.code)
        else:
            report_failure(failure, as_json=as_json)

    view = WorkObserver(
        on_run=events_out.run if events_out is not None else _write_json_line if as_json else None,
        on_visits=events_out.visits if events_out is not None else None,
        on_host=events_out.host if events_out is not None else None,
        on_start=events_out.on_start if events_out is not None else lambda _stop: None,
        on_failure=on_failure,
        watch=show_no_progress if log.as_json else show_progress,
    )
    try:
        code = run_workers(settings, limits, view, as_json=as_json)
    except ComityError as error:
        if not logs_failures:
            raise
        failure = describe_failure(error)
        on_failure(failure)
        return failure.exit_code
    if events_out is not None and events_out.is_closed:
        raise BrokenPipeError
    return code


def _check(invocation: Invocation) -> None:
    """Refuse settings that cannot work, before anything is created."""
    from comity.run.work.worker import check_worker_settings
    from comity.store.target import read_target

    if ":memory:" in invocation.settings.where:
        raise BadInput("a worker needs a state that other processes can open; a state in memory cannot be shared")
    read_target(invocation.settings.pages)
    with name_options_in_errors(invocation.settings.model_dump(include=CARRIED | {"subdomains"})):
        check_worker_settings(invocation.settings)


def _write_json_line(figures: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()
