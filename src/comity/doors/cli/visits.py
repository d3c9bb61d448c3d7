"""`comity crawl -v`: a line for each URL that was visited, once what came of it is committed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from comity.doors.cli.crawl_shown import bytes_shown
from comity.doors.cli.output import visible

if TYPE_CHECKING:
    from comity.model.outcome import Outcome


def lines_of(outcomes: Iterable[Outcome]) -> list[str]:
    """A line for each visit: status, size, time and URL, or what went wrong. What was only put off is no visit."""
    return [line for outcome in outcomes if (line := _line(outcome)) is not None]


def write_visits(lines: Sequence[str]) -> None:
    """Write lines on stderr, beside the progress: stdout is for the summary."""
    if lines:
        print("\n".join(lines), file=sys.stderr, flush=True)


def _line(outcome: Outcome) -> str | None:
    from comity.model.outcome import Failed, Postponed, Refused, Rejected

    url = visible(outcome.entry.url)
    if isinstance(outcome, Postponed):
        return None
    if isinstance(outcome, Refused):
        return _columns("-", "-", "-", url, f"{outcome.code}: {visible(outcome.reason)}")
    if isinstance(outcome, Failed | Rejected):
        status = "-" if outcome.status is None else str(outcome.status)
        problem = f"{outcome.code}: {visible(outcome.reason)}"
        return _columns(status, bytes_shown(outcome.wire_bytes), _ms(outcome.elapsed_s), url, problem)
    answer = outcome.answer
    led_to = f"led to {visible(answer.final_url)}" if answer.redirect_count else ""
    return _columns(str(answer.status), bytes_shown(answer.wire_bytes), _ms(answer.elapsed_s), url, led_to)


def _columns(status: str, size: str, took: str, url: str, rest: str) -> str:
    return f"{status:>3} {size:>9} {took:>9}  {url}" + (f"  {rest}" if rest else "")


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"
