"""What a run has spent, and whether one more page may begin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from comity.model.budget import HOST_PAGES, Budget, BudgetReason, BudgetWarning, Exhausted, Spent
from comity.model.outcome import Fetched, NotModified, Outcome
from comity.rules.budget import check, most_visits, warn_from
from comity.walk.session.leased_host import LeasedHost

# The budgets of a run as its hosts meet them: asked before a page begins, told what came of it.


class Spending:
    """Hosts for which no page is left just now wait here until one that is under way comes, or does not."""

    def __init__(
        self,
        budget: RunBudget,
        ready: Callable[[LeasedHost], None],
        on_spent: Callable[[LeasedHost | None, Exhausted], None],
    ) -> None:
        self._budget = budget
        self._ready = ready
        self._on_spent = on_spent
        self._waiting: set[LeasedHost] = set()

    @property
    def visits(self) -> int:
        """Visits of pages that were begun."""
        return self._budget.visits

    @property
    def held(self) -> int:
        """Pages that are under way, or about to begin."""
        return self._budget.held

    def is_spent(self, host: LeasedHost) -> bool:
        """Whether a budget ends the host's part of the run, or the run."""
        spent = self._budget.spent(host)
        if spent is not None:
            self.end(host, spent)
        return spent is not None

    def look_at_time(self) -> None:
        """End the run when its time is up, also while all hosts wait and none would ask."""
        spent = self._budget.time_is_up()
        if spent is not None:
            self.end(None, spent)

    def end(self, host: LeasedHost | None, spent: Exhausted) -> None:
        """A budget is spent, of a host or of the run."""
        self._budget.unwarn(spent, host)
        self._on_spent(host, spent)

    def may_begin(self, host: LeasedHost) -> bool:
        """Take one more page; where those under way may be the last, the host waits for them."""
        if self._budget.take(host):
            return True
        self._waiting.add(host)
        return False

    def begun(self, host: LeasedHost) -> None:
        """A visit of a page begins."""
        self._budget.begun(host)

    def ended(self, host: LeasedHost, outcome: Outcome | None) -> None:
        """A visit of a page ended, or was cut off: what counts is what came."""
        self._budget.ended(host, came=isinstance(outcome, Fetched | NotModified))
        self.wake()

    def lost(self, pages: int) -> None:
        """Pages that came could not be kept."""
        self._budget.lost(pages)
        self.wake()

    def leave(self, host: LeasedHost) -> None:
        """A host is left: a page that was taken for it may be another's."""
        self._waiting.discard(host)
        if host.has_page:
            self._budget.give_back(host)
            self.wake()

    def wake(self) -> None:
        """Have the hosts that wait look again."""
        if self._waiting:
            waiting, self._waiting = self._waiting, set()
            for host in waiting:
                self._ready(host)


_WARNINGS_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class SharedPages:
    """The pages of a run that several processes share; each takes one before it begins a page."""

    take: Callable[[], bool]
    """Take one; False if there is none just now."""
    put_back: Callable[[], None]
    """Give one back: no page came of it."""


class RunBudget:
    """The budgets of one run and of each of its hosts. A page counts when it came.

    Pages that are under way are held back from the limit, so that it is never overrun: `take` one before a visit,
    and say with `ended` what came of it. Visits have a bound of their own (`most_visits`). Far from every limit all
    of this is a few comparisons.
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
    ) -> None:
        self._shared = shared
        # The process that began a shared run counts its pages and visits.
        self._budget = replace(budget, pages_per_run=0) if shared is not None else budget
        self._clock = clock
        self._warnings = warnings
        self._bounds_hosts = bounds_hosts
        self._host_pages = host_pages  # of hosts whose row says what it says by default
        self._started_at = clock()
        self._warned: frozenset[BudgetReason] = frozenset()
        self._said: dict[tuple[BudgetReason, str], str] = {}  # warnings, by reason and host
        self.pages = 0  # that came
        self.held = 0  # pages that were taken: under way, or about to begin
        self.visits = 0  # that were begun
        self._set_marks()

    def spent(self, host: LeasedHost) -> Exhausted | None:
        """Whether a budget is spent, before anything else is asked for a page of this host."""
        limit = self._limit_of(host)
        tally = host.tally
        if (
            self.pages >= self._pages_mark
            or (limit and (5 * tally.pages_in_run >= 4 * limit or 5 * tally.begun >= 4 * most_visits(limit)))
            or tally.pages_in_run >= self._host_pages_mark
            or self.visits >= self._visits_mark
            or (self._time_mark is not None and self._clock() >= self._time_mark)
        ):
            return self._look_closely(host)
        return None

    def take(self, host: LeasedHost) -> bool:
        """Take one page for a host, unless those that are under way may be the last; it keeps one not yet used."""
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
        """A visit begins with the page that was taken."""
        host.has_page = False
        host.pages_under_way += 1
        host.tally.begun += 1
        self.visits += 1

    def ended(self, host: LeasedHost, *, came: bool) -> None:
        """A visit ended; the host's own count of pages is kept where the outcome is noted."""
        host.pages_under_way -= 1
        self.held -= 1
        if came:
            self.pages += 1
        elif self._shared is not None:
            self._shared.put_back()

    def lost(self, pages: int) -> None:
        """Pages that came could not be kept, because their host's lease was lost: they are asked for again."""
        self.pages -= pages
        if self._shared is not None:
            for _ in range(pages):
                self._shared.put_back()

    def give_back(self, host: LeasedHost) -> None:
        """A host is left; a page that was taken for it may be another's."""
        if host.has_page:
            host.has_page = False
            self.held -= 1
            if self._shared is not None:
                self._shared.put_back()

    def time_is_up(self) -> Exhausted | None:
        """Whether the time of the run is over, also while nothing begins."""
        verdict = check(Budget(minutes_per_run=self._budget.minutes_per_run), Spent(self._started_at), self._clock())
        return verdict if isinstance(verdict, Exhausted) else None

    def unwarn(self, spent: Exhausted, host: LeasedHost | None) -> None:
        """A limit is reached: that it was near need not be said any more."""
        of_host = host.name if host is not None and spent.reason.is_of_host else ""
        said = self._said.pop((spent.reason, of_host), None)
        if said is not None and said in self._warnings:
            self._warnings.remove(said)

    def _look_closely(self, host: LeasedHost) -> Exhausted | None:
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
        """From where on each limit needs a closer look: near it, or at it once its warning is given."""
        budget, warned = self._budget, self._warned

        def mark(reason: BudgetReason, limit: float) -> float:
            return limit if reason in warned else warn_from(limit)

        self._pages_mark = mark(BudgetReason.PAGE_LIMIT, budget.pages_per_run)
        self._visits_mark = most_visits(budget.pages_per_run) or inf
        self._host_pages_mark = warn_from(budget.pages_per_host)
        minutes = mark(BudgetReason.TIME_LIMIT, budget.minutes_per_run)
        self._time_mark = self._started_at + 60.0 * minutes if minutes < inf else None

    def _warn(self, host: LeasedHost, warning: BudgetWarning) -> None:
        """Say once that a limit is near: of the run, or of each host."""
        if not warning.reason.is_of_host:
            self._warned |= {warning.reason}
            self._set_marks()
            self._say(warning.reason, "", warning.sentence)
        elif not host.is_warned:
            host.is_warned = True
            self._say(warning.reason, host.name, f"{host.name}: {warning.sentence}")

    def _say(self, reason: BudgetReason, host: str, sentence: str) -> None:
        if len(self._warnings) < _WARNINGS_MOST:
            self._warnings.append(sentence)
            self._said[reason, host] = sentence
