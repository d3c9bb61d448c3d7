"""Whether a reading of a source is believed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.job import JobFound, ListingKind
from comity.model.source import KnownPage, Obstacle, PageRead, Reading, RunStatus, SourceStatus, Trouble
from comity.rules.source_verdict import MANY, RUNS_TO_CONFIRM_NOTHING, judge

KINDS = list(ListingKind)
HARD = [
    *(ListingKind.LOGIN, ListingKind.CAPTCHA, ListingKind.ERROR_PAGE, ListingKind.UNREADABLE),
    ListingKind.LAYOUT_CHANGED,
]


def page(number: int, kind: ListingKind, found: int = 0, **more: Any) -> PageRead:
    jobs = tuple(JobFound(f"job {number}.{each}", f"https://a.example/{number}/{each}") for each in range(found))
    return PageRead(number, f"https://a.example/{number}", f"https://a.example/{number}", 200, kind, jobs, **more)


def reading(*pages: tuple[ListingKind, int], **more: Any) -> Reading:
    return Reading([page(number, kind, found) for number, (kind, found) in enumerate(pages, 1)], **more)


JOBS, NO, NOTHING = ListingKind.JOBS, ListingKind.NO_OPENINGS, ListingKind.NOTHING_FOUND


@pytest.mark.parametrize(
    ("pages", "last_found", "empty_reads", "status", "stores", "closes", "looks_after", "found_after"),
    [
        # What is listed is believed,
        ([(JOBS, 3)], 0, 0, "ok", True, True, 0, 3),
        ([(JOBS, 3)], 9, 0, "ok", True, True, 0, 3),
        ([(JOBS, 40), (JOBS, 2)], 41, 2, "ok", True, True, 0, 42),
        # also where a page of it says nothing.
        ([(JOBS, 40), (NOTHING, 0)], 41, 0, "ok", True, True, 0, 40),
        # A sharp fall is believed at the second look.
        ([(JOBS, 2)], 10, 0, "warn", True, False, 1, 10),
        ([(JOBS, 2)], 10, 1, "ok", True, True, 0, 2),
        ([(JOBS, 3)], 10, 0, "ok", True, True, 0, 3),
        # No openings, said clearly: at the second look, or at once where there were none.
        ([(NO, 0)], 0, 0, "ok", True, True, 0, 0),
        ([(NO, 0)], 1, 0, "warn", False, False, 1, 1),
        ([(NO, 0)], 1, 1, "ok", True, True, 0, 0),
        ([(NO, 0)], 80, 0, "warn", False, False, 1, 80),
        ([(NO, 0)], 80, 1, "ok", True, True, 0, 0),
        # Nothing recognised: never where there were many, at the third look where there were few.
        ([(NOTHING, 0)], 0, 0, "warn", True, False, 0, 0),
        ([(NOTHING, 0)], 4, 0, "warn", False, False, 1, 4),
        ([(NOTHING, 0)], 4, 1, "warn", False, False, 2, 4),
        ([(NOTHING, 0)], 4, 2, "ok", True, True, 0, 0),
        ([(NOTHING, 0)], 5, 0, "warn", False, False, 0, 5),
        ([(NOTHING, 0)], 5, 50, "warn", False, False, 50, 5),
        # A page that is no listing changes nothing, nor what the looks before it said.
        *(([(kind, 0)], 7, 1, "warn", False, False, 1, 7) for kind in HARD),
        *(([(kind, 0)], 0, 0, "warn", False, False, 0, 0) for kind in HARD),
        # After a page of jobs it only keeps the rest open.
        *(([(JOBS, 20), (kind, 0)], 25, 0, "warn", True, False, 0, 25) for kind in HARD),
        *(([(JOBS, 20), (kind, 0)], 3, 0, "warn", True, False, 0, 20) for kind in HARD),
    ],
)
def test_the_table(
    pages: list[tuple[ListingKind, int]],
    last_found: int,
    empty_reads: int,
    status: str,
    stores: bool,
    closes: bool,
    looks_after: int,
    found_after: int,
) -> None:
    verdict = judge(reading(*pages), last_found=last_found, empty_reads=empty_reads)
    assert (str(verdict.status), verdict.stores, verdict.closes) == (status, stores, closes)
    assert (verdict.empty_reads, verdict.last_found) == (looks_after, found_after)
    assert verdict.status is RunStatus.OK or verdict.message


def test_a_listing_that_is_not_read_to_its_end_closes_nothing() -> None:
    cut = judge(reading((JOBS, 30), is_cut=True, page_limit=1), last_found=90, empty_reads=0)
    assert (cut.status, cut.stores, cut.closes) == (RunStatus.OK, True, False)
    assert "1 page " in cut.message
    broken = Obstacle(Trouble.FAILED, "the server answered 500", None, 500)
    half = judge(reading((JOBS, 30), obstacle=broken), last_found=90, empty_reads=0)
    assert (half.status, half.stores, half.closes, half.last_found) == (RunStatus.WARN, True, False, 90)
    assert "page 2: the server answered 500" in half.message


@pytest.mark.parametrize(
    ("trouble", "status", "is_failure", "becomes"),
    [
        (Trouble.ROBOTS_DENIED, "fail", False, SourceStatus.BLOCKED),
        (Trouble.ROBOTS_UNREACHABLE, "fail", True, None),
        (Trouble.TAKEN_DOWN, "warn", False, None),
        (Trouble.NO_PAGES, "warn", False, None),
        (Trouble.ASKED_TO_WAIT, "fail", True, None),
        (Trouble.REFUSED, "fail", True, None),
        (Trouble.FAILED, "fail", True, None),
    ],
)
def test_a_source_that_could_not_be_read(
    trouble: Trouble, status: str, is_failure: bool, becomes: SourceStatus | None
) -> None:
    verdict = judge(Reading(obstacle=Obstacle(trouble, "because")), last_found=12, empty_reads=1)
    assert (str(verdict.status), verdict.is_failure, verdict.becomes) == (status, is_failure, becomes)
    assert (verdict.stores, verdict.closes, verdict.last_found, verdict.empty_reads) == (False, False, 12, 1)
    assert verdict.message == ("robots disallow" if becomes else "skipped: because" if status == "warn" else "because")


def test_a_listing_that_did_not_change_is_believed_as_before() -> None:
    known = KnownPage(1, "https://a.example/1", "https://a.example/1", '"e"', None, None, JOBS, 12)
    same = Reading([page(1, JOBS, unchanged=known)])
    verdict = judge(same, last_found=12, empty_reads=0)
    assert (verdict.status, verdict.message, verdict.closes) == (RunStatus.OK, "not modified", True)


def test_a_board_that_is_embedded_speaks_for_its_page_but_a_second_page_does_not_speak_for_the_first() -> None:
    board = page(2, NO, message="no openings")
    embedded = judge(Reading([page(1, NOTHING, is_elsewhere=True), board]), last_found=12, empty_reads=1)
    assert (embedded.status, embedded.closes) == (RunStatus.OK, True)
    listed = judge(Reading([page(1, NOTHING), board]), last_found=12, empty_reads=1)
    assert (listed.status, listed.closes) == (RunStatus.WARN, False)


@pytest.mark.parametrize("last_found", [1, 4, 5, 80])
@pytest.mark.parametrize("empty_reads", [0, 1, 2, 50])
def test_a_changed_layout_closes_nothing_however_often_it_is_seen(last_found: int, empty_reads: int) -> None:
    seen = Reading([page(1, ListingKind.LAYOUT_CHANGED, message="12 items without a title")])
    verdict = judge(seen, last_found=last_found, empty_reads=empty_reads)
    assert (verdict.status, verdict.stores, verdict.closes) == (RunStatus.WARN, False, False)
    assert verdict.message.startswith("quarantined: the layout changed (12 items without a title); ")
    assert "no openings" not in verdict.message


def test_where_nothing_was_known_the_message_says_what_to_do_rather_than_what_changed() -> None:
    seen = Reading([page(1, ListingKind.LAYOUT_CHANGED, message="12 items without a title; set parser_hint")])
    verdict = judge(seen, last_found=0, empty_reads=0)
    assert verdict.status is RunStatus.WARN
    assert verdict.message == "no posting could be read (12 items without a title; set parser_hint)"


@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 30)), min_size=1, max_size=4),
    st.integers(0, 100),
    st.integers(0, 10),
)
def test_many_postings_are_never_closed_by_a_page_that_shows_none(
    pages: list[tuple[ListingKind, int]], last_found: int, empty_reads: int
) -> None:
    seen = reading(*((kind, found if kind is JOBS else 0) for kind, found in pages))
    verdict = judge(seen, last_found=last_found, empty_reads=empty_reads)
    if verdict.closes:
        assert verdict.stores
        assert verdict.status is RunStatus.OK
        assert all(page.kind not in HARD for page in seen.pages)
        if seen.found == 0 and last_found >= MANY:
            assert pages[0][0] is NO
            assert empty_reads >= 1
        if seen.found == 0 and 0 < last_found < MANY:
            assert empty_reads >= (1 if pages[0][0] is NO else RUNS_TO_CONFIRM_NOTHING - 1)


def test_a_hint_is_advised_only_where_it_could_help() -> None:
    def message(**more: Any) -> str:
        return judge(Reading([page(1, NOTHING, **more)]), last_found=0, empty_reads=0).message

    assert message(message="nothing here") == "no postings were recognised (nothing here); a parser_hint may help"
    assert message(message="whatever it says", is_scripted=True) == "no postings were recognised (whatever it says)"
