"""The budgets of a run as its hosts meet them: asked before a page begins, told what came of it."""

from __future__ import annotations

from collections.abc import Callable

from comity.model.outcome import Fetched, NotModified, Outcome
from comity.model.run import Exhausted
from comity.walk.crawl.budget import RunBudget
from comity.walk.session.leased_host import LeasedHost


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
