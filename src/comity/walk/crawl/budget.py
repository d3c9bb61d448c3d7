"""What a run has spent, whether another page may begin, and which hosts wait for a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Final

from comity.model.dataclass import dataclass
from comity.model.run import HOST_PAGES, Budget, BudgetReason, BudgetWarning, Exhausted, Spent
from comity.rules.budget import check, most_visits, warn_from
from comity.walk.crawl.events import BudgetSpent, Emit, PagesFreed
from comity.walk.session.leased_host import LeasedHost

_WARNINGS_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class SharedPages:
    """The pages of a run that several processes share; each process takes one before it begins a page."""

    take: Callable[[], bool]
    """Take one; False if there is none just now."""
    put_back: Callable[[], None]
    """Return one: it brought no page."""


class RunBudget:
    """The budgets of one run and of each of its hosts. A page counts when it was fetched.

    Pages in progress are reserved, so that a limit is never exceeded: call `take` before a visit and `ended` after it.
    A host for which no page is left waits until one in progress fails. Visits have a limit of their own
    (`most_visits`). Far from every limit, all of this is a few comparisons.
    """

    def __init__(
        self,
        budget: Budget,
        clock: Callable[[], float],
        warnings: list[str],
        *,
        bounds_hosts: bool = True,
        host_pages: int = HOST_PAGES,
        shared: SharedPages | None = None,
        emit: Emit = lambda _event: None,
    ) -> None:
        self._emit = emit
        self._waiting: set[LeasedHost] = set()
        self._shared = shared
        # The process that started a shared run counts its pages and visits.
        self._budget = replace(budget, pages_per_run=0) if shared is not None else budget
        self._clock = clock
        self._warnings = warnings
        self._bounds_hosts = bounds_hosts
        self._host_pages = host_pages  # of hosts whose row has the default
        self._started_at = clock()
        self._warned: frozenset[BudgetReason] = frozenset()
        self._issued: dict[tuple[BudgetReason, str], str] = {}  # warnings, by reason and host
        self.pages = 0  # that were fetched
        self.held = 0  # pages that are reserved: in progress, or about to begin
        self.visits = 0  # that were begun
        self._set_marks()

    def is_spent(self, host: LeasedHost) -> bool:
        """Whether a budget ends the host's part of the run, or the whole run; then the crawl is notified."""
        spent = self.spent(host)
        if spent is not None:
            self.end(host, spent)
        return spent is not None

    def check_time(self) -> None:
        """End the run when its time is up, even while every host waits."""
        spent = self.time_is_up()
        if spent is not None:
            self.end(None, spent)

    def end(self, host: LeasedHost | None, spent: Exhausted) -> None:
        """A budget is spent, of a host or of the run."""
        self.unwarn(spent, host)
        self._emit(BudgetSpent(host, spent))

    def may_begin(self, host: LeasedHost) -> bool:
        """Reserve a page for a host; if those in progress may be the last, the host waits for them."""
        if self.take(host):
            return True
        self._waiting.add(host)
        return False

    def wake(self) -> None:
        """Let the waiting hosts try again."""
        if self._waiting:
            waiting, self._waiting = self._waiting, set()
            self._emit(PagesFreed(waiting))

    def spent(self, host: LeasedHost) -> Exhausted | None:
        """The budget that is spent, if one is."""
        limit, tally = self._limit_of(host), host.tally
        pages = tally.pages + tally.earlier_pages
        if (
            self.pages >= self._pages_mark
            or (limit and (5 * pages >= 4 * limit or 5 * tally.begun >= 4 * most_visits(limit)))
            or pages >= self._host_pages_mark
            or self.visits >= self._visits_mark
            or (self._time_mark is not None and self._clock() >= self._time_mark)
        ):
            return self._check_closely(host)
        return None

    def take(self, host: LeasedHost) -> bool:
        """Reserve a page for a host, unless those in progress may be the last; an unused one stays reserved."""
        if host.has_page:
            return True
        run_limit, limit = self._budget.pages_per_run, self._limit_of(host)
        if run_limit and self.pages + self.held >= run_limit:
            return False
        if limit and host.tally.pages_in_run + host.pages_under_way >= limit:
            return False
        if self._shared is not None and not self._shared.take():
            return False
        self.held += 1
        host.has_page = True
        return True

    def begun(self, host: LeasedHost) -> None:
        """A visit begins with the page that was reserved."""
        host.has_page = False
        host.pages_under_way += 1
        host.tally.begun += 1
        self.visits += 1

    def ended(self, host: LeasedHost, *, came: bool) -> None:
        """A visit ended, with a page or without; the host's own pages are counted with its outcome."""
        host.pages_under_way -= 1
        self.held -= 1
        if came:
            self.pages += 1
        elif self._shared is not None:
            self._shared.put_back()
        if self._waiting:
            self.wake()

    def lost(self, pages: int) -> None:
        """Pages could not be stored, because their host's lease was lost: they will be fetched again."""
        self.pages -= pages
        if self._shared is not None:
            for _ in range(pages):
                self._shared.put_back()
        self.wake()

    def release(self, host: LeasedHost) -> None:
        """A host is released: the page that was reserved for it is free again."""
        self._waiting.discard(host)
        if host.has_page:
            host.has_page = False
            self.held -= 1
            if self._shared is not None:
                self._shared.put_back()
            self.wake()

    def time_is_up(self) -> Exhausted | None:
        """The time limit, if it is reached."""
        verdict = check(Budget(minutes_per_run=self._budget.minutes_per_run), Spent(self._started_at), self._clock())
        return verdict if isinstance(verdict, Exhausted) else None

    def unwarn(self, spent: Exhausted, host: LeasedHost | None) -> None:
        """A limit is reached: withdraw the warning that it was near."""
        of_host = host.name if host is not None and spent.reason.is_of_host else ""
        warning = self._issued.pop((spent.reason, of_host), None)
        if warning is not None and warning in self._warnings:
            self._warnings.remove(warning)

    def _check_closely(self, host: LeasedHost) -> Exhausted | None:
        tally = host.tally
        spent = Spent(self._started_at, self.pages, tally.pages_in_run, self.visits, tally.begun, self._warned)
        verdict = check(self._of(host), spent, self._clock())
        if isinstance(verdict, Exhausted):
            return verdict
        if isinstance(verdict, BudgetWarning):
            self._warn(host, verdict)
        return None

    def _of(self, host: LeasedHost) -> Budget:
        limit = self._limit_of(host)
        if not limit or 0 < self._budget.pages_per_host <= limit:
            return self._budget
        return replace(self._budget, pages_per_host=limit)

    def _limit_of(self, host: LeasedHost) -> int | None:
        limit = host.lease.max_pages_per_run if self._bounds_hosts else None
        limit = self._host_pages if limit == HOST_PAGES else limit
        own = self._budget.pages_per_host
        return own if own and (not limit or own < limit) else limit

    def _set_marks(self) -> None:
        """Where each limit needs a closer look: near it, or at it once its warning is issued."""
        budget, warned = self._budget, self._warned

        def mark(reason: BudgetReason, limit: float) -> float:
            return limit if reason in warned else warn_from(limit)

        self._pages_mark = mark(BudgetReason.PAGE_LIMIT, budget.pages_per_run)
        self._visits_mark = most_visits(budget.pages_per_run) or inf
        self._host_pages_mark = warn_from(budget.pages_per_host)
        minutes = mark(BudgetReason.TIME_LIMIT, budget.minutes_per_run)
        self._time_mark = self._started_at + 60.0 * minutes if minutes < inf else None

    def _warn(self, host: LeasedHost, warning: BudgetWarning) -> None:
        """Warn once that a limit is near: of the run, or of each host."""
        if not warning.reason.is_of_host:
            self._warned |= {warning.reason}
            self._set_marks()
            self._issue(warning.reason, "", warning.sentence)
        elif not host.is_warned:
            host.is_warned = True
            self._issue(warning.reason, host.name, f"{host.name}: {warning.sentence}")

    def _issue(self, reason: BudgetReason, host: str, sentence: str) -> None:
        if len(self._warnings) < _WARNINGS_MOST:
            self._warnings.append(sentence)
            self._issued[reason, host] = sentence
