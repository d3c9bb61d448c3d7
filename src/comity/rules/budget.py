"""What a run may still do: whether it may fetch one more page, and how long it will take."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf
from typing import Final, NamedTuple

from comity.model.run import Budget, BudgetReason, BudgetWarning, Exhausted, HostLoad, Spent, WithinBudget
from comity.model.wording import counted

WARN_AT: Final = 0.8
VISITS_PER_PAGE: Final = 10  # visits that a limit on pages allows for each of them
LEAST_VISITS: Final = 100
WITHIN: Final = WithinBudget()
_UNWARNED: Final = frozenset({BudgetReason.VISIT_LIMIT, BudgetReason.HOST_VISIT_LIMIT})
_STEADY: Final = 0.2  # if a new estimate differs less than this from the one on the screen, the figure only counts down
_FOLLOWS: Final = 0.25  # the share of a larger difference that each new estimate corrects
_LEAST_RATE: Final = 0.001  # pages a second; below this the rate is meaningless
_SHORT_S: Final = 3.0  # smaller differences never cause a jump


def check(budget: Budget, spent: Spent, now: float) -> WithinBudget | BudgetWarning | Exhausted:
    """Decide on the next page: limits of the whole run before those of the host, ends before warnings."""
    # A clock that went back does not change what is spent.
    minutes = max(0.0, now - spent.started_at) / 60.0
    near: BudgetWarning | None = None
    for reason, used, limit in (
        (BudgetReason.PAGE_LIMIT, spent.pages, budget.pages_per_run),
        (BudgetReason.VISIT_LIMIT, spent.visits, most_visits(budget.pages_per_run)),
        (BudgetReason.TIME_LIMIT, minutes, budget.minutes_per_run),
        (BudgetReason.HOST_PAGE_LIMIT, spent.host_pages, budget.pages_per_host),
        (BudgetReason.HOST_VISIT_LIMIT, spent.host_visits, most_visits(budget.pages_per_host)),
    ):
        if used < warn_from(limit):
            continue
        if used >= limit:
            return limit_reached(reason, limit)
        if near is None and reason not in spent.warned and reason not in _UNWARNED:
            near = limit_warning(reason, used, limit)
    return near or WITHIN


def most_visits(pages: int) -> int:
    """How many visits a limit on pages allows, so that a crawl of dead links ends. 0 means no limit."""
    return max(LEAST_VISITS, VISITS_PER_PAGE * pages) if pages > 0 else 0


def warn_from(limit: float) -> float:
    """From which use of a limit a warning is due; below it there is nothing to decide. 0 means no limit."""
    return WARN_AT * limit if limit > 0 else inf


def limit_reached(reason: BudgetReason, limit: float) -> Exhausted:
    """The verdict when a limit is reached."""
    return Exhausted(reason, f"Stopped: the limit of {_limit_text(reason, limit)} was reached.")


def limit_warning(reason: BudgetReason, used: float, limit: float) -> BudgetWarning:
    """The warning before a limit is reached."""
    return BudgetWarning(reason, f"{int(100 * used / limit)} % of the limit of {_limit_text(reason, limit)} is used.")


def _limit_text(reason: BudgetReason, limit: float) -> str:
    match reason:
        case BudgetReason.TIME_LIMIT:
            return f"{limit:g} {'minute' if limit == 1 else 'minutes'} per run"
        case BudgetReason.HOST_PAGE_LIMIT:
            return f"{counted(int(limit), 'page')} per host"
        case BudgetReason.HOST_VISIT_LIMIT:
            return f"{counted(int(limit), 'visit')} per host"
        case BudgetReason.VISIT_LIMIT:
            return f"{counted(int(limit), 'visit')} per run"
        case _:
            return f"{counted(int(limit), 'page')} per run"


class TimeLeft(NamedTuple):
    """Seconds to the end, and whether they are only a lower bound."""

    seconds: float
    is_at_least: bool


class BudgetLeft(NamedTuple):
    """What is left of the budgets; infinite where there is none."""

    pages: float = inf
    seconds: float = inf


_NO_BUDGET: Final = BudgetLeft()


def seconds_for(load: HostLoad) -> float:
    """How long one host needs for what is queued, if nothing new is found."""
    if load.queued <= 0:
        return 0.0
    interval_s = max(load.delay_s, (load.latency_s or 0.0) / max(load.at_once, 1), 0.0)
    return max(load.blocked_s, 0.0) + load.queued * interval_s


def time_left(
    loads: Sequence[HostLoad],
    queued: int,
    rate: float,
    *,
    grows: bool = False,
    budget: BudgetLeft = _NO_BUDGET,
) -> TimeLeft | None:
    """The time left; None while nothing can be said: URLs are queued, but there is neither a delay nor a rate.

    `queued` counts all hosts, also those that are not open; `rate` is in pages a second; `grows` says that pages still
    bring new URLs.

    A host that takes one request at a time needs its delay for every URL, or its response time if that is longer; a
    host that asked us to wait needs that wait first. The slowest host gives a lower bound. If the machine or the
    network is the bottleneck instead, the number of queued URLs divided by the present rate is longer, and counts. A
    budget may end the crawl earlier.

    While pages still bring new URLs, or hosts are not open yet, the figure is a lower bound: "at least".
    """
    loads = _with_the_rest(loads, queued)
    slowest = max(map(seconds_for, loads), default=0.0)
    rate = rate if rate >= _LEAST_RATE else 0.0
    total = max(queued, 0) / rate if rate else 0.0
    if queued > 0 and not slowest and not total:
        return None
    seconds = max(slowest, total)
    ends_at = max(0.0, budget.seconds)
    if budget.pages < inf:
        pages = max(budget.pages, 0.0)
        per_page = seconds / queued if queued > 0 else 0.0
        pace = 1 / rate if rate else per_page
        ends_at = min(ends_at, pages * pace) if pages < queued or grows else ends_at
    if ends_at <= seconds:
        return TimeLeft(ends_at, False)
    return TimeLeft(seconds, grows)


def steadied(shown_s: float | None, elapsed_s: float, estimate_s: float) -> float:
    """The seconds to show, so that the figure does not jump: it counts down, and follows a new estimate in steps."""
    estimate_s = max(0.0, estimate_s)
    if shown_s is None or estimate_s == 0.0:
        return estimate_s
    expected = max(0.0, shown_s - max(0.0, elapsed_s))
    difference = estimate_s - expected
    if abs(difference) <= max(_SHORT_S, _STEADY * expected):
        return expected if expected > 0.0 else estimate_s
    return expected + difference * _FOLLOWS


def rendered(left: TimeLeft) -> str:
    """`at least 2 min`, `about 40 s`; coarse, because it is an estimate."""
    words = "at least" if left.is_at_least else "about"
    return f"{words} {render_seconds(left.seconds)}"


def render_seconds(seconds: float) -> str:
    """`8 s`, `45 s`, `3 min`, `2 h 10 min`, `5 days`."""
    if seconds < 10:
        return f"{ceil(max(seconds, 0.0))} s"
    if seconds < 90:
        return f"{ceil(seconds / 5) * 5} s"
    minutes = ceil(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(ceil(minutes / 10) * 10, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{ceil(hours / 24):,} days"


def _with_the_rest(loads: Sequence[HostLoad], queued: int) -> Sequence[HostLoad]:
    """Divide queued URLs that are not loaded yet among the hosts that have more."""
    rest = queued - sum(max(load.queued, 0) for load in loads)
    more = [load for load in loads if load.has_more]
    if rest <= 0 or not more:
        return loads
    share = ceil(rest / len(more))
    return [load._replace(queued=max(load.queued, 0) + share) if load.has_more else load for load in loads]
