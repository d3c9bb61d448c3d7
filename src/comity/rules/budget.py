"""Whether a run may fetch one more page. A budget, what is spent and the time go in; a verdict comes out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from comity.model.budget import Budget, BudgetReason, BudgetWarning, Exhausted, Spent, WithinBudget

WARN_AT: Final = 0.8
WITHIN: Final = WithinBudget()


def check(budget: Budget, spent: Spent, now: float) -> WithinBudget | BudgetWarning | Exhausted:
    """Decide on the next page: limits of the whole run before those of the host, ends before warnings."""
    near: BudgetWarning | None = None
    for reason, used, limit, limit_text in _limits(budget, spent, now):
        if limit <= 0 or used < WARN_AT * limit:
            continue
        if used >= limit:
            return Exhausted(reason, f"Stopped: the limit of {limit_text} was reached.")
        if near is None and reason not in spent.warned:
            share = int(100 * used / limit)
            near = BudgetWarning(reason, f"{share} % of the limit of {limit_text} is used.")
    return near or WITHIN


def check_page(budget: Budget, page_bytes: int) -> WithinBudget | Exhausted:
    """Whether a body of this size, or this much of one so far, may be kept."""
    if 0 < budget.bytes_per_page < page_bytes:
        sentence = f"Stopped: the limit of {budget.bytes_per_page:,} bytes per page was passed."
        return Exhausted(BudgetReason.PAGE_BYTE_LIMIT, sentence)
    return WITHIN


def _limits(budget: Budget, spent: Spent, now: float) -> Iterator[tuple[BudgetReason, float, float, str]]:
    # A clock that went back takes nothing from what is spent, and gives nothing to it.
    minutes = max(0.0, now - spent.started_at) / 60.0
    yield BudgetReason.PAGE_LIMIT, spent.pages, budget.pages_per_run, f"{budget.pages_per_run:,} pages per run"
    yield BudgetReason.TIME_LIMIT, minutes, budget.minutes_per_run, f"{budget.minutes_per_run:g} minutes per run"
    yield (
        BudgetReason.BYTE_LIMIT,
        spent.bytes_received,
        budget.bytes_per_run,
        f"{budget.bytes_per_run:,} bytes per run",
    )
    yield (
        BudgetReason.HOST_PAGE_LIMIT,
        spent.host_pages,
        budget.pages_per_host,
        f"{budget.pages_per_host:,} pages per host",
    )
