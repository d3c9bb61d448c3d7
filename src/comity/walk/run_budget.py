"""What a run has spent, and whether one more page may begin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf

from comity.model.budget import HOST_PAGES, Budget, BudgetReason, BudgetWarning, Exhausted, Spent
from comity.rules.budget import check, reached, warn_from
from comity.walk.leased_host import LeasedHost


class RunBudget:
    """The budgets of one run and of each of its hosts; a page counts from the moment at which it is begun.

    Far from every limit that is a few comparisons. `shared` asks for a page of a run that several processes share:
    then nobody here counts the pages of the whole run, or warns of their end.
    """

    def __init__(
        self,
        budget: Budget,
        clock: Callable[[], float],
        warnings: list[str],
        *,
        bounds_hosts: bool = True,
        host_pages: int = HOST_PAGES,
        shared: Callable[[], bool] | None = None,
    ) -> None:
        self._whole = budget
        self._shared = shared
        # Whoever shares the pages of the run counts them, too.
        self._budget = replace(budget, pages_per_run=0) if shared is not None else budget
        self._clock = clock
        self._warnings = warnings
        self._bounds_hosts = bounds_hosts
        self._host_pages = host_pages  # of hosts for which the table says what it says of all
        self._started_at = clock()
        self._warned: frozenset[BudgetReason] = frozenset()
        self.pages = 0  # begun
        self._set_marks()

    def begin_page(self, host: LeasedHost) -> Exhausted | None:
        """Count one more page of a host, unless a budget is spent: then that is told, and nothing is counted."""
        limit = self._limit_of(host)
        if (
            self.pages >= self._pages_mark
            or (limit and 5 * host.tally.begun >= 4 * limit)
            or host.tally.begun >= self._host_pages_mark
            or (self._time_mark is not None and self._clock() >= self._time_mark)
        ):
            spent = self._look_closely(host)
            if spent is not None:
                return spent
        if self._shared is not None and not self._shared():
            return reached(BudgetReason.PAGE_LIMIT, self._whole.pages_per_run)
        self.pages += 1
        return None

    def time_is_up(self) -> Exhausted | None:
        """Whether the time of the run is over, also while nothing begins."""
        verdict = check(Budget(minutes_per_run=self._budget.minutes_per_run), self._spent(0), self._clock())
        return verdict if isinstance(verdict, Exhausted) else None

    def _look_closely(self, host: LeasedHost) -> Exhausted | None:
        verdict = check(self._of(host), self._spent(host.tally.begun), self._clock())
        if isinstance(verdict, Exhausted):
            return verdict
        if isinstance(verdict, BudgetWarning):
            self._warn(host, verdict)
        return None

    def _spent(self, host_pages: int) -> Spent:
        return Spent(self._started_at, self.pages, host_pages, self._warned)

    def _of(self, host: LeasedHost) -> Budget:
        limit = self._limit_of(host)
        if not limit or 0 < self._budget.pages_per_host <= limit:
            return self._budget
        return replace(self._budget, pages_per_host=limit)

    def _limit_of(self, host: LeasedHost) -> int | None:
        limit = host.lease.max_pages_per_run if self._bounds_hosts else None
        return self._host_pages if limit == HOST_PAGES else limit

    def _set_marks(self) -> None:
        """From where on each limit needs a closer look: near it, or at it once its warning is given."""
        budget, warned = self._budget, self._warned

        def mark(reason: BudgetReason, limit: float) -> float:
            return limit if reason in warned else warn_from(limit)

        self._pages_mark = mark(BudgetReason.PAGE_LIMIT, budget.pages_per_run)
        self._host_pages_mark = warn_from(budget.pages_per_host)
        minutes = mark(BudgetReason.TIME_LIMIT, budget.minutes_per_run)
        self._time_mark = self._started_at + 60.0 * minutes if minutes < inf else None

    def _warn(self, host: LeasedHost, warning: BudgetWarning) -> None:
        """Say once that a limit is near: of the run, or of each host."""
        if warning.reason is not BudgetReason.HOST_PAGE_LIMIT:
            self._warned |= {warning.reason}
            self._set_marks()
            self._warnings.append(warning.sentence)
        elif not host.is_warned:
            host.is_warned = True
            self._warnings.append(f"{host.name}: {warning.sentence}")
