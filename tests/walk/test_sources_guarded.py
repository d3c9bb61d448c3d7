"""What a careers page may show one day without costing a single stored posting."""

from __future__ import annotations

from dataclasses import replace

import pytest

from comity.model.source import RunStatus
from tests.walk.site import Answer, Web
from tests.walk.sourcing import CAPTCHA, ERROR_PAGE, LOGIN, NO_OPENINGS, NOTHING, Office, feed, jobs, listing


@pytest.mark.parametrize(
    ("shown", "word"), [(LOGIN, "login"), (CAPTCHA, "captcha"), (ERROR_PAGE, "error"), (NOTHING, "no postings")]
)
def test_a_page_that_is_no_listing_is_quarantined(web: Web, embedded_bureau: Office, shown: str, word: str) -> None:
    site = web.site({"/careers": Answer(body=listing(jobs(8)), etag='"good"')})
    source = embedded_bureau.add(site.url("/careers"))
    embedded_bureau.run(source)
    site.routes["/careers"] = Answer(body=shown, etag='"bad"')
    for _ in range(2):
        report = embedded_bureau.run(source)
        assert (report.status, report.counts.closed) == (RunStatus.WARN, 0)
        assert report.message.startswith("quarantined: ")
        assert word in report.message
    assert len(embedded_bureau.titles()) == 8
    assert embedded_bureau.outbox() == ["upsert"] * 8
    after = embedded_bureau.again(source)
    assert (after.last_crawl_status, after.consecutive_failures, after.consecutive_nochange) == ("warn", 0, 0)
    # The page was never taken for the listing: it is asked for by what the listing said of itself.
    assert site.of("/careers")[-1].headers.get("if-none-match") == '"good"'
    site.routes["/careers"] = Answer(body=listing(jobs(8)), etag='"good"')
    report = embedded_bureau.run(source)
    assert (report.status, report.message, report.counts.found) == (RunStatus.OK, "not modified", 8)


def test_no_openings_is_believed_at_the_second_look(web: Web, bureau: Office) -> None:
    site = web.site({"/careers": listing(jobs(6))})
    source = bureau.add(site.url("/careers"))
    bureau.run(source)
    site.routes["/careers"] = NO_OPENINGS
    first = bureau.run(source)
    assert (first.status, first.counts.closed, len(bureau.titles())) == (RunStatus.WARN, 0, 6)
    second = bureau.run(source)
    assert (second.status, second.counts.closed, bureau.titles()) == (RunStatus.OK, 6, [])
    assert bureau.outbox()[6:] == ["delete"] * 6
    third = bureau.run(source)
    assert (third.status, third.counts.closed) == (RunStatus.OK, 0)


def test_a_second_page_that_fails_keeps_its_postings_open(web: Web, bureau: Office) -> None:
    some = jobs(6)
    site = web.site({"/careers": listing(some[:3], following="/more"), "/more": listing(some[3:])})
    source = bureau.add(site.url("/careers"))
    bureau.run(source)
    site.routes["/more"] = Answer(404)
    site.routes["/careers"] = listing(some[1:3], following="/more")
    report = bureau.run(source)
    assert (report.status, report.counts.found, report.counts.closed) == (RunStatus.WARN, 2, 0)
    assert "page 2" in report.message
    assert len(bureau.titles()) == 6


def test_a_sharp_fall_is_believed_at_the_second_look(web: Web, bureau: Office) -> None:
    site = web.site({"/careers": Answer(body=listing(jobs(20)), etag='"many"')})
    source = bureau.add(site.url("/careers"))
    bureau.run(source)
    site.routes["/careers"] = Answer(body=listing(jobs(2)), etag='"few"')
    assert (bureau.run(source).status, len(bureau.titles())) == (RunStatus.WARN, 20)
    second = bureau.run(source)  # which is answered with 304
    assert (second.status, second.counts.closed, len(bureau.titles())) == (RunStatus.OK, 18, 2)


def test_a_feed_that_breaks_off_closes_nothing_and_is_read_whole_the_next_time(web: Web, bureau: Office) -> None:
    """As a server leaves it that runs out of memory in the middle, with status 200."""
    site = web.site({})
    whole = feed(jobs(6), site.url("").rstrip("/"))
    assert isinstance(whole.body, str)
    site.routes["/feed"] = replace(whole, etag='"one"')
    source = bureau.add(site.url("/feed"), source_type="rss")
    assert bureau.run(source).counts.inserted == 6
    site.routes["/feed"] = replace(whole, body=whole.body[: len(whole.body) // 2], etag='"two"')
    report = bureau.run(source)
    assert (str(report.status), report.message) == ("warn", "page 1: the feed breaks off; nothing is closed")
    assert report.counts.closed == 0
    assert bureau.run(source).counts.closed == 0
    assert site.of("/feed")[-1].headers.get("if-none-match") is None
    site.routes["/feed"] = replace(whole, etag='"three"')
    assert bureau.run(source).counts.skipped == 6
    assert bureau.titles(is_open=False) == []
