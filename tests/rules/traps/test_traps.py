"""Endless sites come to an end, with every real page found; large honest ones lose nothing."""

from __future__ import annotations

import shutil
import sysconfig
import time
import tracemalloc
from datetime import date

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from comity.model.traps import TrapCode, TrapRefusal, TrapTerms
from comity.rules.traps import watch as trap_watch
from comity.rules.traps.watch import TrapWatch
from tests.rules.traps.trap_sites import ENDLESS, HONEST, TODAY, Site, _Counted, prose, same_page_counter, token, walk
from tests.sizes import sized


def watch(**terms: int) -> TrapWatch:
    return TrapWatch(TrapTerms(**terms), today=TODAY)


def code(refusal: TrapRefusal | None) -> TrapCode | None:
    return refusal.code if refusal is not None else None


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_site_loses_nothing(name: str) -> None:
    site = HONEST[name]()
    result = walk(site, most=3 * len(site.real) + 20_000)
    assert not result.lost(site)
    assert not site.real & result.refused_links
    assert not result.was_stopped


@pytest.mark.parametrize("with_recheck", [True, False], ids=["judged twice", "judged once"])
@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_site_comes_to_an_end_with_every_real_page_found(name: str, with_recheck: bool) -> None:
    """Judging links only when they are found lets those through that were queued before the trap was known."""
    make, bound = ENDLESS[name]
    site = make()
    result = walk(site, most=bound if with_recheck else bound + 2000, with_recheck=with_recheck)
    assert not result.was_stopped
    assert not result.lost(site)
    assert sum(result.refused.values()) > 0


def test_without_a_watch_these_sites_do_not_end() -> None:
    """The bounds above mean something: with every bound taken away the same crawl is stopped from outside."""
    patient = TrapTerms(
        longest_target=10**6, most_segments=60, most_repeating_folders=10**9, years_ahead=5000, most_variants=10**9,
        most_facets=10**9, same_in_a_row=10**9, most_parameters=10**6, remembered=64,
    )  # fmt: skip
    for name in (
        "a calendar in queries",
        "a counter that shows its number",
        "sessions in paths",
        "a shop with filters",
    ):
        make, bound = ENDLESS[name]
        assert walk(make(), most=bound, terms=patient).was_stopped, name


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("/", None),
        ("/a/b/a/b/c/", None),
        ("/a/a/a/b/", None),
        ("/1/1/1/1/1/x", None),
        ("/0/0/0/0/", None),
        ("/2019/03/14/title", None),
        ("/wiki/A_(b)/c", None),
        ("/" + "x" * 1900, None),
        ("/" + "x" * 2001, TrapCode.URL_TOO_LONG),
        ("/" + "/".join(f"folder{at}" for at in range(25)) + "/x", None),
        ("/" + "/".join(f"folder{at}" for at in range(26)) + "/x", TrapCode.PATH_TOO_DEEP),
        ("/" + "a/" * 950, TrapCode.PATH_TOO_DEEP),
        ("/news/old/news/old/news/old/", TrapCode.REPEATED_SEGMENTS),
        ("/x/news/old/news/old/news/old/y/z", TrapCode.REPEATED_SEGMENTS),
        ("/img/img/img/img/x.png", TrapCode.REPEATED_SEGMENTS),
        ("/one/b/one/c/one/d/one/e/one/f", TrapCode.REPEATED_SEGMENTS),
        ("/events/2027-05-01", None),
        ("/events/2040-05-01", TrapCode.FAR_DATE),
        ("/events/2040-05/list", TrapCode.FAR_DATE),
        ("/cal?date=2040-05-01", TrapCode.FAR_DATE),
        ("/cal?month=204005", TrapCode.FAR_DATE),
        ("/cal?day=20400501", TrapCode.FAR_DATE),
        ("/cal?year=2040", TrapCode.FAR_DATE),
        ("/cal?year=2028&month=1", None),
        ("/item?id=20400501", None),
        ("/item?id=2040", None),
        ("/calendar/2040/05/", None),  # a number, until the shape has shown itself to be a calendar
        ("/vision/2050/", None),
        ("/find?q=a&q=b&q=c", None),
        ("/find?tag=a&tag=a&tag=a", TrapCode.REPEATED_PARAMETERS),
        ("/find?" + "&".join(f"p{at}={at}" for at in range(41)), TrapCode.REPEATED_PARAMETERS),
        ("/go?to=%2Fa%3Fb", None),
        ("/go?to=%252Fa", None),
        ("/go?to=%25252Fa", TrapCode.NESTED_ESCAPES),
    ],
)
def test_a_link_by_itself(target: str, reason: TrapCode | None) -> None:
    assert code(watch().judge(target, 5)) == reason


def test_a_refusal_says_why_and_how_often() -> None:
    judge = watch().judge
    judge("/img/img/img/img/x.png", 3)
    refusal = judge("/img/img/img/img/y.png", 3)
    assert refusal is not None
    assert refusal.reason == "/img/ repeats 4 times in a row"
    assert refusal.pattern == "/img/img/img/img/"
    assert refusal.number == 2


def test_a_calendar_is_followed_two_years_ahead_and_any_time_back() -> None:
    judge = watch().judge
    months = [f"/calendar/{year}/{month:02d}/" for year in range(2026, 2035) for month in range(1, 13)]
    followed = [month for month in months if judge(month, 3) is None]
    assert followed == [month for month in months if int(month[10:14]) <= 2028]
    assert judge("/calendar/1850/05/", 3) is None
    assert code(judge("/calendar/2100/05/", 3)) == TrapCode.FAR_DATE


def test_numbers_that_look_like_years_are_numbers_where_others_are_not_years() -> None:
    judge = watch().judge
    for number in (2020, 2021, 2022, 14_500):
        assert judge(f"/thread/{number}/2", 3) is None
    assert judge("/thread/2100/2", 3) is None


def test_the_same_parameters_in_another_order_are_followed_once() -> None:
    judge = watch().judge
    assert judge("/a?x=1&y=2", 3) is None
    assert code(judge("/a?y=2&x=1", 3)) == TrapCode.PERMUTED_QUERY
    assert judge("/a?x=1&y=2", 3) is None, "judged again, it is itself"
    assert judge("/b?y=2&x=1", 3) is None


def test_the_same_folders_are_followed_in_two_orders() -> None:
    judge = watch().judge
    verdicts = [code(judge(f"/wear/{order}/", 3)) for order in ("a1/b1/c1", "b1/a1/c1", "c1/b1/a1", "a1/c1/b1")]
    assert verdicts == [None, None, TrapCode.PERMUTED_SEGMENTS, TrapCode.PERMUTED_SEGMENTS]
    assert judge("/wear/b1/a1/c1/x", 3) is None


def test_variants_are_bounded_while_they_lead_to_nothing_new() -> None:
    dull, useful = watch(most_variants=10), watch(most_variants=10)
    for watched in (dull, useful):
        for number in range(200):
            assert watched.judge(f"/list/{number}", 3) is None
    followed = 0
    for number in range(200):
        followed += dull.judge(f"/list/{number}?sort=price", 3) is None
    assert 10 <= followed < 20
    for number in range(200):
        target = f"/list/{number}?sort=price"
        assert useful.judge(target, 3) is None, "each one led to a product that nobody had seen"
        assert useful.fetched(target, target).judge(f"/product/{number}", 4) is None


def test_what_has_no_plain_form_is_no_variant() -> None:
    judge = watch(most_variants=10).judge
    assert all(judge(f"/thread?id={number}&sort=asc", 3) is None for number in range(2000))


def test_links_of_the_start_page_get_the_benefit_of_the_doubt() -> None:
    watched = watch(same_in_a_row=5)
    for number in range(60):
        watched.judge(f"/x/{number}", 2)
        watched.fetched(f"/x/{number}", "the same")
    assert code(watched.judge("/x/1001", 2)) == TrapCode.SAME_CONTENT
    assert watched.judge("/x/1002", 1) is None
    assert watched.recheck("/x/1003", 1) is None


def test_a_page_that_is_asked_for_again_is_no_copy_of_itself() -> None:
    watched = watch(same_in_a_row=5)
    for _ in range(50):
        watched.fetched("/news/", "unchanged")
    assert watched.judge("/news/", 3) is None
    assert watched.recheck("/news/", 3) is None


def test_a_closed_pattern_opens_again_when_something_new_is_found() -> None:
    watched = watch(same_in_a_row=10)
    for number in range(12):
        watched.fetched(f"/x/{number}", "the same")
    verdicts = [watched.judge(f"/x/{number}", 3) for number in range(100, 200)]
    let_through = [at for at, verdict in enumerate(verdicts) if verdict is None]
    assert let_through == [7, 15, 31, 63], "ever more rarely"
    assert watched.recheck("/x/107", 3) is None, "what was let through to look may look"
    watched.fetched("/x/107", "something else")
    assert all(watched.judge(f"/x/{number}", 3) is None for number in range(300, 350))


def test_a_pattern_that_proved_useful_gets_more_patience() -> None:
    watched = watch(same_in_a_row=10)
    for number in range(400):
        watched.fetched(f"/x/{number}", number)
    for number in range(400, 500):
        watched.fetched(f"/x/{number}", "the same")
    assert watched.judge("/x/501", 3) is None
    for number in range(500, 520):
        watched.fetched(f"/x/{number}", "the same")
    assert code(watched.judge("/x/521", 3)) == TrapCode.SAME_CONTENT


def test_missing_pages_close_a_pattern_four_times_as_slowly() -> None:
    watched = watch(same_in_a_row=10)
    for number in range(39):
        watched.missed(f"/x/{number}")
    assert watched.judge("/x/100", 3) is None
    watched.missed("/x/39")
    assert code(watched.judge("/x/101", 3)) == TrapCode.SAME_CONTENT


def test_a_bound_for_every_pattern_can_be_set() -> None:
    judge = watch(most_per_pattern=50).judge
    verdicts = [code(judge(f"/x/{number}", 3)) for number in range(100)]
    assert verdicts == [None] * 50 + [TrapCode.PATTERN_FULL] * 50


def test_what_an_earlier_watch_has_seen_can_be_recalled() -> None:
    """The site is the same counter; a second watch that begins with what the first saw follows next to nothing."""
    first = watch()
    result = walk(same_page_counter(), most=1000, watch=first)
    second = watch()
    second.recall((target, "Nothing here" if "/next/" in target else target) for target in result.fetched)
    followed = sum(second.judge(f"/next/{number}", 3) is None for number in range(100_000, 101_000))
    assert followed < 10


def test_today_is_an_argument() -> None:
    for year in (2000, 2040):
        judge = TrapWatch(today=date(year, 1, 1)).judge
        assert judge(f"/events/{year + 1}-06-01", 3) is None
        assert code(judge(f"/events/{year + 3}-06-01", 3)) == TrapCode.FAR_DATE


@pytest.mark.parametrize("change", [{"most_segments": 0}, {"most_segments": 61}, {"remembered": 1}])
def test_terms_that_cannot_hold_are_refused(change: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be"):
        TrapTerms(**change)


def hostile_target(number: int) -> str:
    """Everything new in every link: folders, names, parameters, values, digests."""
    mark = token(number)
    return (
        f"/{mark[:3]}-{number}/{mark[3:9]}/{number}/{mark}/x{number}?{mark[:5]}={mark}&{mark[5:9]}={number}&c={number}"
    )


def test_memory_is_bounded_whatever_a_host_invents() -> None:
    # What is remembered limits memory: a quarter of it is reached with a quarter of the links.
    remembered, first, last = sized((2048, 4_000, 5_000), (8192, 24_000, 36_000))
    watched = watch(remembered=remembered)
    tracemalloc.start()
    peaks = []
    for number in range(last):
        target = hostile_target(number)
        if watched.judge(target, 3) is None and number % 2:
            watched.fetched(target, number, b"page %d" % number)
        if number in (first, last - 1):
            peaks.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert peaks[-1] < sized(10_000_000, 20_000_000)
    assert peaks[-1] < 1.1 * peaks[0], "it does not grow any more"


HOSTILE = [
    "/" + "a/" * 990,
    "/" + "1" * 1900,
    "/" + "/" * 1900,
    "/" + "0a" * 900 + "/",
    "/?" + "&" * 1900,
    "/?" + "a=1&" * 400,
    "/" + "ab/cd/" * 9 + "?" + "x" * 1800,
    "/x" * 59 + "/",
    "/" + "a-1." * 480,
]


@pytest.mark.parametrize("target", HOSTILE)
def test_a_hostile_link_is_judged_in_bounded_time(target: str) -> None:
    """The bound is many times what is measured."""
    watched = TrapWatch(TrapTerms(most_segments=60), today=TODAY)
    started = time.thread_time()
    for _ in range(10):
        watched.judge(target, 3)
        watched.fetched(target, target, b"0" * 300_000)
    assert time.thread_time() - started < 2.0


@given(st.lists(st.tuples(st.text(max_size=40), st.booleans()), max_size=12))
def test_any_text_is_judged_and_every_refusal_says_why(targets: list[tuple[str, bool]]) -> None:
    watched = watch(same_in_a_row=1, most_variants=1, counter_from=1)
    for text, is_fetched in targets:
        target = "/" + text
        page = watched.fetched(target, text[:3], text.encode("utf-8", "replace")) if is_fetched else None
        watched.missed(target + "x")
        for refusal in (page.judge(target, 2) if page else watched.judge(target, 2), watched.recheck(target, 2)):
            assert refusal is None or (refusal.reason and refusal.number > 0)
    assert sum(watched.refusals.values()) <= 2 * len(targets)


def test_pages_under_marks_that_change_are_found_once_each() -> None:
    """A hundred pages under ever new marks in their path: each is fetched under some mark before the pattern closes."""
    counted = _Counted()

    def answer(target: str) -> tuple[str, list[str]]:
        name, mark = target.rpartition("/")[2], counted.next()
        return f"{prose(name)} {mark}", [f"/{mark}/page-{at}" for at in range(100)]

    site = Site(answer, {f"page-{at}" for at in range(100)}, named=lambda target: target.rpartition("/")[2])
    result = walk(site, most=1000)
    assert not result.lost(site)
    assert not result.was_stopped


def test_pages_are_blurred_in_c_where_there_is_a_compiler() -> None:
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    assert trap_watch._blurred_in_c is not None or shutil.which(compiler) is None


_WORDS = st.sampled_from([b"a" * 15, b"a" * 16, b"Z" * 17, b"x9" * 8, b"0", b"42", b" ", b"-", b"\xc3\xa9", b"<b>"])


@settings(max_examples=sized(200, 20_000))
@given(st.lists(_WORDS, max_size=12).map(b"".join) | st.binary(max_size=80))
@example(b"")
def test_a_page_is_blurred_in_c_as_in_python(page: bytes) -> None:
    in_c = trap_watch._blurred_in_c or trap_watch._blurred
    assert in_c(page) == trap_watch._blurred(page)
