"""Whether a reading of a source can be trusted.

Takes a reading and what was known before; returns a verdict: what is stored, whether postings that are no longer listed
are closed, and whether the run counts as a failure. A careers page that suddenly shows a login, a captcha, an error or
nothing at all must not close stored postings:

- a login, a captcha, an error page or an unreadable page: warn; nothing is stored, nothing is closed;
- "no openings", said clearly: believed at the second reading in a row, or at once if no postings were known;
- nothing recognised: with five or more known postings, never believed, because the layout has changed; with fewer,
  believed at the third reading in a row;
- items that are there but cannot be used (an API that renamed its fields): the layout has changed, and nothing is
  closed, however few postings were known and however often this happens;
- a drop to a fifth or less of ten or more postings: what is found is stored, and missing postings are closed at the
  second reading in a row;
- a listing that was not read to its end stores what it found and closes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

from comity.model.host import SCRIPTS_NOT_RUN
from comity.model.job import ListingKind
from comity.model.source import (
    ROBOTS_DISALLOW,
    Obstacle,
    PageRead,
    Reading,
    RunStatus,
    RunVerdict,
    SourceStatus,
    Trouble,
)
from comity.model.wording import counted

MANY: Final = 5
RUNS_TO_CONFIRM_NO_OPENINGS: Final = 2
RUNS_TO_CONFIRM_NOTHING: Final = 3
SHARP_FALL_FROM: Final = 10
SHARP_FALL_TO: Final = 5  # to one fifth
RUNS_TO_CONFIRM_A_FALL: Final = 2
_LONGEST_SAID: Final = 300

_QUARANTINED: Final = {
    ListingKind.LOGIN: "the page requires a login",
    ListingKind.CAPTCHA: "a captcha or another check blocks the page",
    ListingKind.ERROR_PAGE: "the page is an error page",
    ListingKind.UNREADABLE: "the page could not be read",
    ListingKind.LAYOUT_CHANGED: "the layout changed",
}


def judge(reading: Reading, *, last_found: int, empty_reads: int) -> RunVerdict:
    """Judge a reading; `last_found` postings were known, and `empty_reads` readings in a row doubted them."""
    verdict = _judged(reading, last_found, empty_reads)
    if reading.pages and reading.wants_scripts:
        return replace(verdict, message="; ".join(filter(None, (verdict.message, SCRIPTS_NOT_RUN))))
    return verdict


def _judged(reading: Reading, last_found: int, empty_reads: int) -> RunVerdict:
    before = _Before(last_found, empty_reads)
    if not reading.pages:
        return _unread(reading.obstacle, before)
    first, found = reading.pages[0], reading.found
    if first.kind is ListingKind.LAYOUT_CHANGED and not last_found:  # nothing was known that could have changed
        return before.kept(RunStatus.WARN, f"no posting could be read{_said(first.message)}", counts_as_visit=False)
    if first.kind in _QUARANTINED:
        return _quarantine(f"{_QUARANTINED[first.kind]}{_said(first.message)}", before)
    later = next((page for page in reading.pages if page.kind in _QUARANTINED), None)
    if later is not None or reading.obstacle is not None:
        is_after = reading.obstacle is not None and reading.obstacle.trouble is not Trouble.CUT_OFF
        number = later.number if later is not None else len(reading.pages) + is_after
        reason = f"{_QUARANTINED[later.kind]}{_said(later.message)}" if later is not None else ""
        reason = reason or (reading.obstacle.reason if reading.obstacle is not None else "")
        message = f"page {number}: {reason}; nothing is closed"
        return before.kept(RunStatus.WARN, message, stores=found > 0, last_found=max(last_found, found))
    if found == 0:
        # A page that only embeds a board says nothing about jobs; the board does.
        telling = next((page for page in reading.pages if not page.is_elsewhere), first)
        return _empty(telling, before)
    if reading.is_cut:
        limit = f"stopped after {_pages(reading.page_limit)} (max_pages of the host's policy)"
        message = f"{limit}; there are more, so nothing is closed"
        return RunVerdict(RunStatus.OK, message, stores=True, last_found=found)
    return _whole(reading, before)


class _Before(NamedTuple):
    """What was known when the run started."""

    last_found: int
    empty_reads: int

    def kept(self, status: RunStatus, message: str, **changes: Any) -> RunVerdict:
        """A verdict that keeps what was known, except for some changes."""
        known: dict[str, Any] = {"last_found": self.last_found, "empty_reads": self.empty_reads}
        return RunVerdict(status, message, **(known | changes))


def _whole(reading: Reading, before: _Before) -> RunVerdict:
    found, last_found, runs = reading.found, before.last_found, before.empty_reads + 1
    is_sharp_fall = last_found >= SHARP_FALL_FROM and found * SHARP_FALL_TO <= last_found
    if is_sharp_fall and runs < RUNS_TO_CONFIRM_A_FALL:
        message = (
            f"found {counted(found, 'posting')}, but {last_found:,} are open; the missing ones stay open "
            "until a second run confirms it"
        )
        return before.kept(RunStatus.WARN, message, stores=True, empty_reads=runs)
    message = "not modified" if reading.is_unchanged else ""
    return RunVerdict(RunStatus.OK, message, stores=True, closes=True, last_found=found)


def _empty(page: PageRead, before: _Before) -> RunVerdict:
    kind, said = page.kind, page.message
    last_found, runs = before.last_found, before.empty_reads + 1
    if kind is ListingKind.NO_OPENINGS:
        if last_found == 0 or runs >= RUNS_TO_CONFIRM_NO_OPENINGS:
            return RunVerdict(RunStatus.OK, f"no openings{_said(said)}", stores=True, closes=True)
        message = (
            f"the page says that there are no openings; {_postings(last_found)} open until a second run confirms it"
        )
        return before.kept(RunStatus.WARN, message, empty_reads=runs)
    nothing = f"no postings were recognised{_said(said)}"
    if last_found == 0:
        advice = "" if page.is_scripted else "; a parser_hint may help"
        return RunVerdict(RunStatus.WARN, f"{nothing}{advice}", stores=True)
    if last_found >= MANY:
        return _quarantine(nothing, before)
    if runs >= RUNS_TO_CONFIRM_NOTHING:
        return RunVerdict(RunStatus.OK, f"no postings in {counted(runs, 'run')} in a row", stores=True, closes=True)
    message = f"{nothing} in run {runs}; {_postings(last_found)} open until run {RUNS_TO_CONFIRM_NOTHING} confirms it"
    return before.kept(RunStatus.WARN, message, empty_reads=runs)


def _quarantine(reason: str, before: _Before) -> RunVerdict:
    kept = f"; {_postings(before.last_found)} unchanged" if before.last_found else ""
    return before.kept(RunStatus.WARN, f"quarantined: {reason}{kept}", counts_as_visit=False)


def _unread(obstacle: Obstacle | None, before: _Before) -> RunVerdict:
    """No page could be read."""
    if obstacle is None:
        return before.kept(RunStatus.FAIL, "nothing was read", is_failure=True, counts_as_visit=False)
    if obstacle.trouble is Trouble.ROBOTS_DENIED:
        return before.kept(RunStatus.FAIL, ROBOTS_DISALLOW, counts_as_visit=False, becomes=SourceStatus.BLOCKED)
    if obstacle.trouble in (Trouble.TAKEN_DOWN, Trouble.NO_PAGES):
        return before.kept(RunStatus.WARN, f"skipped: {obstacle.reason}", counts_as_visit=False)
    return before.kept(RunStatus.FAIL, obstacle.reason, is_failure=True, counts_as_visit=False)


def _said(message: str) -> str:
    return f" ({message[:_LONGEST_SAID]})" if message else ""


def _postings(number: int) -> str:
    return "1 posting stays" if number == 1 else f"{number} postings stay"


def _pages(number: int) -> str:
    return "1 page" if number == 1 else f"{number} pages"
