"""Budgets: how much a run may spend, what it has spent, and what a check answers. 0 means no limit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

HOST_PAGES: Final = 1000
"""What `domains.max_pages_per_run` says of a host for which nobody said anything else."""


class BudgetReason(StrEnum):
    """Which limit ended, or is about to end, a run or one host's part of it."""

    PAGE_LIMIT = "page_limit"
    VISIT_LIMIT = "visit_limit"
    TIME_LIMIT = "time_limit"
    HOST_PAGE_LIMIT = "host_page_limit"
    HOST_VISIT_LIMIT = "host_visit_limit"

    @property
    def is_of_host(self) -> bool:
        """Whether it ends one host's part of a run, and not the run."""
        return self in (BudgetReason.HOST_PAGE_LIMIT, BudgetReason.HOST_VISIT_LIMIT)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend at most. A page counts when it came; visits that brought none have a bound of their own."""

    pages_per_run: int = 0
    pages_per_host: int = 0
    minutes_per_run: float = 0.0


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has spent: pages that came, and visits that were begun, whatever came of them."""

    started_at: float
    pages: int = 0
    host_pages: int = 0  # on the host that is asked about
    visits: int = 0
    host_visits: int = 0
    warned: frozenset[BudgetReason] = frozenset()


@dataclass(frozen=True, slots=True)
class WithinBudget:
    """Go on."""


@dataclass(frozen=True, slots=True)
class BudgetWarning:
    """Go on, but a limit is near; add `reason` to what was warned of, and it is not said again."""

    reason: BudgetReason
    sentence: str


@dataclass(frozen=True, slots=True)
class Exhausted:
    """End cleanly and keep the reason; `detail` is the sentence without "Stopped:"."""

    reason: BudgetReason
    sentence: str

    @property
    def detail(self) -> str:
        """What was reached, in words that fit after "Ended:"."""
        return self.sentence.removeprefix("Stopped: ").removesuffix(".")
