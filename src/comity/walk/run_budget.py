"""What a run has spent, and whether one more page may begin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from comity.model.budget import Budget, BudgetReason, BudgetWarning, Exhausted, Spent
from comity.rules.budget import check
from comity.walk.leased_host import LeasedHost


class RunBudget:
    """The budgets of one run and of each of its hosts; a page counts from the moment at which it is begun."""

    def __init__(
        self, budget: Budget, clock: Callable[[], float], warnings: list[str], *, bounds_hosts: bool = True
    ) -> None:
        self._budget = budget
        self._clock = clock
        self._warnings = warnings
        self._bounds_hosts = bounds_hosts
        self._spent = Spent(clock())

    def begin_page(self, host: LeasedHost) -> Exhausted | None:
        """Count one more page of a host, unless a budget is spent: then that is told, and nothing is counted."""
        verdict = check(self._of(host), replace(self._spent, host_pages=host.tally.begun), self._clock())
        if isinstance(verdict, Exhausted):
            return verdict
        if isinstance(verdict, BudgetWarning):
            self._warn(host, verdict)
        self._spent = replace(self._spent, pages=self._spent.pages + 1)
        return None

    def receive(self, bytes_received: int) -> None:
        """Note how much has come so far."""
        self._spent = replace(self._spent, bytes_received=bytes_received)

    def time_is_up(self) -> Exhausted | None:
        """Whether the time of the run is over, also while nothing begins."""
        verdict = check(Budget(minutes_per_run=self._budget.minutes_per_run), self._spent, self._clock())
        return verdict if isinstance(verdict, Exhausted) else None

    def _of(self, host: LeasedHost) -> Budget:
        limit = host.lease.max_pages_per_run if self._bounds_hosts else None
        if not limit or 0 < self._budget.pages_per_host <= limit:
            return self._budget
        return replace(self._budget, pages_per_host=limit)

    def _warn(self, host: LeasedHost, warning: BudgetWarning) -> None:
        """Say once that a limit is near: of the run, or of each host."""
        if warning.reason is not BudgetReason.HOST_PAGE_LIMIT:
            self._spent = replace(self._spent, warned=self._spent.warned | {warning.reason})
            self._warnings.append(warning.sentence)
        elif not host.is_warned:
            host.is_warned = True
            self._warnings.append(f"{host.name}: {warning.sentence}")
