"""The budget of a run: quick where nothing is near, and never another verdict than the rules' own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from comity.model.budget import Budget, BudgetReason, BudgetWarning, Exhausted, Spent
from comity.rules.budget import check, first_warned_page
from comity.walk.run_budget import RunBudget


@dataclass(slots=True)
class Lease:
    max_pages_per_run: int | None


@dataclass(slots=True)
class Tally:
    begun: int = 0


@dataclass(slots=True)
class Host:
    """As much of a host as a budget looks at."""

    lease: Any
    name: str = "a.example"
    tally: Tally = field(default_factory=Tally)
    is_warned: bool = False


@dataclass(slots=True)
class Slow:
    """What a run's budget does, said as plainly as possible: every page asks the rules."""

    budget: Budget
    spent: Spent
    warnings: list[str] = field(default_factory=list)

    def begin_page(self, host: Host, now: float) -> Exhausted | None:
        limit, budget = host.lease.max_pages_per_run, self.budget
        if limit and not 0 < budget.pages_per_host <= limit:
            budget = replace(budget, pages_per_host=limit)
        verdict = check(budget, replace(self.spent, host_pages=host.tally.begun), now)
        if isinstance(verdict, Exhausted):
            return verdict
        if isinstance(verdict, BudgetWarning):
            if verdict.reason is not BudgetReason.HOST_PAGE_LIMIT:
                self.spent = replace(self.spent, warned=self.spent.warned | {verdict.reason})
                self.warnings.append(verdict.sentence)
            elif not host.is_warned:
                host.is_warned = True
                self.warnings.append(f"{host.name}: {verdict.sentence}")
        self.spent = replace(self.spent, pages=self.spent.pages + 1)
        return None


limits = st.integers(0, 30)


@given(
    st.builds(Budget, limits, limits, st.sampled_from([0.0, 0.5, 1.0])),
    st.lists(st.none() | limits, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=60),
)
def test_the_quick_way_and_the_plain_way_agree(
    budget: Budget, host_limits: list[int | None], steps: list[tuple[int, int]]
) -> None:
    now = 1000.0
    quick_warnings: list[str] = []
    quick = RunBudget(budget, lambda: now, quick_warnings)
    slow = Slow(budget, Spent(now))
    here, there = ([Host(Lease(limit)) for limit in host_limits] for _ in range(2))
    for number, seconds in steps:
        now += seconds
        host, twin = here[number % len(here)], there[number % len(there)]
        verdict = quick.begin_page(host)  # type: ignore[arg-type]
        assert verdict == slow.begin_page(twin, now)
        if verdict is None:
            host.tally.begun += 1
            twin.tally.begun += 1
        assert quick.pages == slow.spent.pages
        assert quick_warnings == slow.warnings


@given(st.integers(0, 5000))
def test_the_warning_of_a_limit_on_pages_comes_when_the_rules_say_so(limit: int) -> None:
    verdicts = (check(Budget(pages_per_run=limit), Spent(0.0, pages), 0.0) for pages in range(limit))
    first = next((pages for pages, verdict in enumerate(verdicts) if isinstance(verdict, BudgetWarning)), None)
    assert first_warned_page(limit) == first


def test_the_pages_of_a_shared_run_are_asked_for_and_not_counted_here() -> None:
    left = [True] * 12 + [False] * 9
    warnings: list[str] = []
    budget = RunBudget(Budget(pages_per_run=5), lambda: 0.0, warnings, shared=lambda: left.pop(0))
    host: Any = Host(Lease(None))
    assert [budget.begin_page(host) for _ in range(12)] == [None] * 12
    assert warnings == [], "whoever shares the pages warns of their end"
    assert budget.begin_page(host) == Exhausted(
        BudgetReason.PAGE_LIMIT, "Stopped: the limit of 5 pages per run was reached."
    )
    assert budget.pages == 12


def test_a_host_whose_own_limit_is_reached_takes_no_page_of_a_shared_run() -> None:
    asked: list[bool] = []
    budget = RunBudget(Budget(pages_per_run=50), lambda: 0.0, [], shared=lambda: not asked.append(True))
    host: Any = Host(Lease(3))
    for _ in range(3):
        assert budget.begin_page(host) is None
        host.tally.begun += 1
    spent = budget.begin_page(host)
    assert spent is not None
    assert spent.reason is BudgetReason.HOST_PAGE_LIMIT
    assert len(asked) == 3
