"""How a front door follows a crawl that runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from comity.model.outcome import Failed, Postponed, Refused, Rejected

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.model.outcome import Outcome
    from comity.walk.crawl.progress import Progress


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit of one URL, once its outcome is committed. Values are None where no answer came."""

    url: str
    status: int | None = None
    wire_bytes: int | None = None
    elapsed_s: float | None = None
    problem: str | None = None
    redirected_to: str | None = None


@asynccontextmanager
async def show_no_progress(_progress: Progress, _state: State) -> AsyncIterator[None]:
    """Show no progress."""
    yield


@dataclass(frozen=True, slots=True)
class CrawlObserver:
    """What a front door wants to know of a crawl while it runs."""

    watch: Callable[[Progress, State], AbstractAsyncContextManager[None]] = show_no_progress
    """A context in which the progress is shown."""
    on_visits: Callable[[Sequence[Visit]], None] | None = None
    """Called with visits, a batch at a time; None if they are not wanted."""
    on_warning: Callable[[str], None] = lambda _sentence: None
    on_stop: Callable[[], None] = lambda: None
    """Called when the first signal stops the crawl."""
    on_exit: Callable[[], None] = lambda: None
    """Called when the second signal ends the process at once."""


def visits_of(outcomes: Iterable[Outcome]) -> list[Visit]:
    """The visits among outcomes; a URL that was only postponed was not visited."""
    return [_visit(outcome) for outcome in outcomes if not isinstance(outcome, Postponed)]


def _visit(outcome: Outcome) -> Visit:
    assert not isinstance(outcome, Postponed)
    url = outcome.entry.url
    if isinstance(outcome, Refused):
        return Visit(url, problem=f"{outcome.code}: {outcome.reason}")
    if isinstance(outcome, Failed | Rejected):
        problem = f"{outcome.code}: {outcome.reason}"
        return Visit(url, outcome.status, outcome.wire_bytes, outcome.elapsed_s, problem)
    answer = outcome.answer
    redirected_to = answer.final_url if answer.redirect_count else None
    return Visit(url, answer.status, answer.wire_bytes, answer.elapsed_s, redirected_to=redirected_to)
