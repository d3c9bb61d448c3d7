"""Whether a run may fetch one more page: takes a budget, what is spent and the time; returns a verdict."""

from __future__ import annotations

from math import inf
from typing import Final

from comity.model.run import Budget, BudgetReason, BudgetWarning, Exhausted, Spent, WithinBudget
from comity.model.wording import counted

WARN_AT: Final = 0.8
VISITS_PER_PAGE: Final = 10  # visits that a limit on pages allows for each of them
LEAST_VISITS: Final = 100
WITHIN: Final = WithinBudget()
_UNWARNED: Final = frozenset({BudgetReason.VISIT_LIMIT, BudgetReason.HOST_VISIT_LIMIT})


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
