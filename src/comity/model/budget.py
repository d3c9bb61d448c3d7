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
    TIME_LIMIT = "time_limit"
    HOST_PAGE_LIMIT = "host_page_limit"


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend at most."""

    pages_per_run: int = 0
    pages_per_host: int = 0
    minutes_per_run: float = 0.0


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has spent: pages begun, also those still under way, so that no limit is overrun."""

    started_at: float
    pages: int = 0
    host_pages: int = 0  # on the host that is asked about
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
    """End cleanly and keep the reason."""

    reason: BudgetReason
    sentence: str
