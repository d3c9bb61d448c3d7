"""Parameters that change on every link are folded, and real ones never are."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.traps import TrapCode, TrapTerms
from comity.rules.traps.volatile_parameters import VolatileParameters, read_parameters
from comity.rules.traps.watch import TrapWatch
from tests.rules.traps.trap_sites import TODAY, walk
from tests.rules.traps.volatile_sites import HONEST_LOOKALIKES, PAGES, VOLATILE, Fresh, marked


@pytest.mark.parametrize("name", VOLATILE)
def test_a_site_whose_links_change_each_time_is_its_pages_and_a_few_more(name: str) -> None:
    make, most = VOLATILE[name]
    site = make()
    result = walk(site, most=1000)
    assert not result.lost(site)
    assert len(result.fetched) <= most, f"{len(result.fetched)} fetches of {len(site.real)} pages"


@pytest.mark.parametrize("name", HONEST_LOOKALIKES)
def test_an_honest_site_that_looks_like_it_stays_whole(name: str) -> None:
    site = HONEST_LOOKALIKES[name]()
    watch = TrapWatch(TrapTerms(), today=TODAY)
    result = walk(site, most=5000, watch=watch)
    assert not result.lost(site)
    assert result.refused[TrapCode.VOLATILE_PARAMETER] == 0
    assert watch.folded == ()


def test_a_copy_is_refused_with_the_parameter_and_the_page_in_its_reason() -> None:
    site = marked(lambda fresh: f"sid={fresh.digits()}")
    watch = TrapWatch(TrapTerms(), today=TODAY)
    walk(site, most=100, watch=watch)
    assert watch.folded == ("sid",)
    refusal = watch.judge("/p3?sid=991", 2)
    assert refusal is not None
    assert refusal.code is TrapCode.VOLATILE_PARAMETER
    assert refusal.reason == (
        "sid= changes on every link and the page stays the same; /p3 was visited with another value"
    )
    assert watch.judge("/new?sid=992", 2) is None, "a page that was not met before is visited"
    assert watch.judge("/new?sid=993", 2) is not None, "once"
    assert watch.recheck("/new?sid=992", 2) is None, "under the address that was chosen"
    assert watch.judge("/p3?id=4", 2) is None


def test_a_later_run_knows_the_pages_of_the_one_before() -> None:
    """What earlier visits looked like is not kept, so the parameter is noticed anew; pages already visited count."""
    site = marked(lambda fresh: f"sid={fresh.digits()}")
    first = walk(site, most=100)
    watch = TrapWatch(TrapTerms(), today=TODAY)
    watch.recall((target, hash(site.named(target))) for target in first.fetched)
    site.start = "/?sid=1"
    again = walk(site, most=100, watch=watch)
    assert len(again.fetched) <= PAGES + 20


def test_memory_and_time_stay_bounded_on_any_number_of_names() -> None:
    watch = VolatileParameters(1024)
    fresh, body = Fresh(), b"<p>the same</p>" * 1000
    started = time.process_time()
    for number in range(2000):
        target = "/?" + "&".join(f"{fresh.hexadecimal()}={number}" for _ in range(8))
        watch.note_link([(fresh.hexadecimal(), str(number))])
        watch.fetched(target, body, [target] * 500)
    assert time.process_time() - started < 10.0
    assert len(watch._suspects) <= 64
    assert watch.folded == ()


@given(st.text("/?;&=abc%1.", max_size=60))
def test_any_address_can_be_taken_apart(text: str) -> None:
    read = read_parameters("/" + text)
    if read is None:
        assert "?" not in text or not urlsplit("http://h/" + text).query
    else:
        assert read.base(()) == read.base(("no such name",))
