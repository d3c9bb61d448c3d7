"""How a front door follows a crawl that runs: visits, waits and hosts as values, made only if they are wanted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from comity.model.dataclass import dataclass
from comity.model.frontier import UnqueuedCode
from comity.model.gate import DelaySource, WaitReason
from comity.model.outcome import (
    OUTCOME_NAMES,
    Failed,
    Fetched,
    ImageFetched,
    NotModified,
    Outcome,
    Postponed,
    RateLimited,
    Refused,
    Rejected,
)
from comity.rules.canonical import resolve_link

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.model.gate import DelayInForce, Wait
    from comity.walk.crawl.progress import HostSummary, Progress
    from comity.walk.request import OnWait

_IMAGE: Final = "image"
_TOO_DEEP: Final = "too_deep"
_KNOWN: Final = "already_known"
_DELAYS: Final = {DelaySource.ROBOTS: "robots", DelaySource.POLICY: "policy", DelaySource.ADAPTIVE: "adaptive"}
_MOST_WAITS: Final = 10_000  # hosts whose last wait is remembered


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit of one URL, once its outcome is committed. Values are None if there was no answer."""

    url: str
    status: int | None = None
    wire_bytes: int | None = None
    elapsed_s: float | None = None
    problem: str | None = None
    redirected_to: str | None = None
    outcome: str = ""  # as in `fetches`
    host: str = ""
    at: float | None = None
    depth: int = 0
    attempt: int = 1
    content_type: str | None = None
    code: str | None = None  # of an error or a refusal
    reason: str | None = None
    links_found: int | None = None
    links_new: int | None = None
    left_out: Mapping[str, Sequence[Any]] | None = None  # how many links, and the first, by reason

    @property
    def is_page(self) -> bool:
        """Whether a page was received, or has not changed."""
        return self.outcome in ("fetched", "not_modified", _IMAGE)


@dataclass(frozen=True, slots=True)
class HostWait:
    """A request that waits for its host: for how long, and for what."""

    host: str
    seconds: float
    reason: str


@asynccontextmanager
async def show_no_progress(_progress: Progress, _state: State) -> AsyncIterator[None]:
    """Show no progress."""
    yield


@dataclass(frozen=True, slots=True)
class CrawlObserver:
    """What a front door wants to know of a crawl while it runs. What is None is not even collected."""

    watch: Callable[[Progress, State], AbstractAsyncContextManager[None]] = show_no_progress
    """A context in which the progress is shown."""
    on_visits: Callable[[Sequence[Visit]], None] | None = None
    """Called with visits, a batch at a time; None if they are not wanted."""
    on_host: Callable[[HostSummary], None] | None = None
    """Called with how a host ended, once it is released."""
    on_wait: Callable[[HostWait], None] | None = None
    """Called when a request begins to wait for its host."""
    explains_links: bool = False
    """Whether visits say why links of the page were left out."""
    shows_hosts: bool = False
    """Whether the progress is to have the load of each host, also of those in other processes."""
    on_warning: Callable[[str], None] = lambda _sentence: None
    on_start: Callable[[Callable[[], None]], None] = lambda _stop: None
    """Called before the crawl begins, with the function that stops it."""
    on_stop: Callable[[], None] = lambda: None
    """Called when the first signal stops the crawl."""
    on_exit: Callable[[], None] = lambda: None
    """Called when the second signal ends the process at once."""


def visits_of(outcomes: Iterable[Outcome]) -> list[Visit]:
    """The visits among outcomes; a URL that was only postponed was not visited."""
    return [_visit(outcome) for outcome in outcomes if not isinstance(outcome, Postponed)]


def wait_reporter(report: Callable[[HostWait], None]) -> OnWait:
    """What reports each wait once, however often it is asked whether it is over."""
    last: dict[str, tuple[float, WaitReason]] = {}

    def on_wait(host: str, wait: Wait, now: float, delay: DelayInForce) -> None:
        this = (wait.until, wait.reason)
        if last.get(host) == this or wait.until <= now:
            return
        if len(last) >= _MOST_WAITS:
            last.clear()
        last[host] = this
        report(HostWait(host, round(wait.until - now, 3), wait_code(wait.reason, delay.source)))

    return on_wait


def wait_code(reason: WaitReason, source: DelaySource) -> str:
    """What a request waits for: of a delay, what set it; of a block, that the host asked for it."""
    if reason is WaitReason.DELAY:
        return _DELAYS.get(source, "delay")
    return "retry_after" if reason is WaitReason.BLOCK else str(reason)


def _visit(outcome: Outcome) -> Visit:
    assert not isinstance(outcome, Postponed)
    entry, requests = outcome.entry, outcome.trail.requests
    address = None if requests else resolve_link(entry.url, entry.url)
    about: dict[str, Any] = {
        "url": entry.url,
        "outcome": OUTCOME_NAMES.get(type(outcome), _IMAGE),
        "host": requests[0].host if requests else address.host if address is not None else "",
        "depth": entry.depth,
        "attempt": entry.attempts + 1,
    }
    if isinstance(outcome, Refused):
        problem = f"{outcome.code}: {outcome.reason}"
        return Visit(**about, problem=problem, at=outcome.at, code=outcome.code, reason=outcome.reason)
    if isinstance(outcome, Failed | Rejected):
        return Visit(
            **about,
            status=outcome.status,
            wire_bytes=outcome.wire_bytes,
            elapsed_s=outcome.elapsed_s,
            problem=f"{outcome.code}: {outcome.reason}",
            at=outcome.at,
            code=outcome.code,
            reason=outcome.reason,
        )
    answer = outcome.answer
    if not isinstance(outcome, Fetched | NotModified | ImageFetched):
        about |= {"code": f"http_{answer.status}", "reason": f"the server answered {answer.status}"}
        if isinstance(outcome, RateLimited) and outcome.retry_after_s is not None:
            about["problem"] = f"the host asked Comity to wait {outcome.retry_after_s:g} s"
    if isinstance(outcome, Fetched):
        about |= {"links_found": outcome.links_found, "links_new": len(outcome.links), "left_out": _left_out(outcome)}
    return Visit(
        **about,
        status=answer.status,
        wire_bytes=answer.wire_bytes,
        elapsed_s=answer.elapsed_s,
        redirected_to=answer.final_url if answer.redirect_count else None,
        at=answer.at,
        content_type=answer.content_type,
    )


def _left_out(page: Fetched) -> Mapping[str, Sequence[Any]] | None:
    """Why links of a page were left out; those that were met before are the rest."""
    if page.skipped is None:
        return None
    found: dict[str, Sequence[Any]] = {reason: tuple(each) for reason, each in page.skipped.items()}
    if page.too_deep:
        found[_TOO_DEEP] = (len(page.too_deep), page.too_deep[0].url)
    known = page.links_found - len(page.links) - sum(each[0] for each in found.values())
    if known > 0:
        found[_KNOWN] = (known, None)
    return found


LEFT_OUT_CODES: Final = (*map(str, UnqueuedCode), _TOO_DEEP, _KNOWN)
"""Why links are left out; a trap has its kind behind a colon."""
