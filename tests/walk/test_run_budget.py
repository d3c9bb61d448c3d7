"""The budget of a run: quick where nothing is near, never another verdict than the rules' own, and never overrun."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from comity.model.run import Budget, BudgetReason, BudgetWarning, Exhausted, Spent
from comity.rules.budget import WARN_AT, check
from comity.walk.crawl.budget import RunBudget, SharedPages
from comity.walk.session.leased_host import Tally


@dataclass(slots=True)
class Lease:
    max_pages_per_run: int | None


@dataclass(slots=True, eq=False)
class Host:
    """As much of a host as a budget looks at."""

    lease: Any
    name: str = "a.example"
    tally: Tally = field(default_factory=Tally)
    is_warned: bool = False
    has_page: bool = False
    pages_under_way: int = 0


@dataclass(slots=True)
class Slow:
    """What a run's budget does, said as plainly as possible: every page asks the rules."""

    budget: Budget
    spent: Spent
    warnings: list[str] = field(default_factory=list)

    def is_spent(self, host: Host, now: float) -> Exhausted | None:
        limit, budget, tally = host.lease.max_pages_per_run, self.budget, host.tally
        if limit and not 0 < budget.pages_per_host <= limit:
            budget = replace(budget, pages_per_host=limit)
        spent = replace(self.spent, host_pages=tally.pages_in_run, host_visits=tally.begun)
        verdict = check(budget, spent, now)
        if isinstance(verdict, Exhausted):
            return verdict
        if isinstance(verdict, BudgetWarning):
            if not verdict.reason.is_of_host:
                self.spent = replace(self.spent, warned=self.spent.warned | {verdict.reason})
                self.warnings.append(verdict.sentence)
            elif not host.is_warned:
                host.is_warned = True
                self.warnings.append(f"{host.name}: {verdict.sentence}")
        return None


limits = st.integers(0, 30)


def visit(budget: RunBudget, host: Any, *, came: bool) -> None:
    assert budget.take(host)
    budget.begun(host)
    host.tally.pages += came
    budget.ended(host, came=came)


@given(
    st.builds(Budget, limits, limits, st.sampled_from([0.0, 0.5, 1.0])),
    st.lists(st.none() | limits, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.booleans()), max_size=150),
)
def test_the_quick_way_and_the_plain_way_agree(
    budget: Budget, host_limits: list[int | None], steps: list[tuple[int, int, bool]]
) -> None:
    now = 1000.0
    quick_warnings: list[str] = []
    quick = RunBudget(budget, lambda: now, quick_warnings)
    slow = Slow(budget, Spent(now))
    here, there = ([Host(Lease(limit)) for limit in host_limits] for _ in range(2))
    for number, seconds, came in steps:
        now += seconds
        host, twin = here[number % len(here)], there[number % len(there)]
        verdict = quick.spent(host)  # type: ignore[arg-type]
        assert verdict == slow.is_spent(twin, now)
        if verdict is None:
            visit(quick, host, came=came)
            twin.tally.begun += 1
            twin.tally.pages += came
            slow.spent = replace(slow.spent, pages=slow.spent.pages + came, visits=slow.spent.visits + 1)
        assert quick_warnings == slow.warnings


@given(st.integers(1, 12), st.integers(1, 6), st.data())
def test_pages_under_way_never_overrun_a_limit_and_failures_give_theirs_back(
    limit: int, at_once: int, data: st.DataObject
) -> None:
    budget = RunBudget(Budget(pages_per_run=limit), lambda: 0.0, [])
    hosts: list[Any] = [Host(Lease(None)) for _ in range(at_once)]
    under_way: list[Any] = []
    for _ in range(80):
        host = data.draw(st.sampled_from(hosts))
        if budget.spent(host) is not None:
            break
        if budget.take(host):
            budget.begun(host)
            under_way.append(host)
        else:
            assert under_way or any(each.has_page for each in hosts), "a host that waits, waits for a page under way"
        assert budget.pages + len(under_way) <= limit
        if under_way and data.draw(st.booleans()):
            came = data.draw(st.booleans())
            ended = under_way.pop()
            ended.tally.pages += came
            budget.ended(ended, came=came)
    assert budget.pages <= limit


@given(st.integers(0, 5000))
def test_the_warning_of_a_limit_on_pages_comes_when_the_rules_say_so(limit: int) -> None:
    verdicts = (check(Budget(pages_per_run=limit), Spent(0.0, pages), 0.0) for pages in range(limit))
    first = next((pages for pages, verdict in enumerate(verdicts) if isinstance(verdict, BudgetWarning)), None)
    due = ceil(WARN_AT * limit)
    assert first == (due if 0 < due < limit else None)


def test_the_pages_of_a_shared_run_are_taken_and_put_back() -> None:
    left = [1]
    warnings: list[str] = []

    def take() -> bool:
        return bool(left and left.pop())

    budget = RunBudget(Budget(pages_per_run=5), lambda: 0.0, warnings, shared=SharedPages(take, lambda: left.append(1)))
    host, other = (Host(Lease(None)) for _ in range(2))
    visit(budget, host, came=False)
    assert left == [1], "no page came of it"
    assert budget.take(host)  # type: ignore[arg-type]
    assert not budget.take(other)  # type: ignore[arg-type]
    budget.release(host)  # type: ignore[arg-type]
    visit(budget, other, came=True)
    assert (left, budget.pages, budget.held) == ([], 1, 0)
    budget.lost(1)
    assert (left, budget.pages) == ([1], 0), "a page that could not be kept is asked for again"
    assert warnings == [], "the process that began the run warns of the end of its pages"


def test_a_host_whose_own_limit_is_reached_takes_no_page_of_a_shared_run() -> None:
    asked: list[bool] = []
    shared = SharedPages(lambda: not asked.append(True), lambda: None)
    budget = RunBudget(Budget(pages_per_run=50), lambda: 0.0, [], shared=shared)
    host: Any = Host(Lease(3))
    for _ in range(3):
        assert budget.spent(host) is None
        visit(budget, host, came=True)
    spent = budget.spent(host)
    assert spent is not None
    assert spent.reason is BudgetReason.HOST_PAGE_LIMIT
    assert not budget.take(host)
    assert len(asked) == 3
