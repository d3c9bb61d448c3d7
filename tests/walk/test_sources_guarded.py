"""What a careers page may show one day without costing a single stored posting."""

from __future__ import annotations

import json
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


ITEM = "<item><title>{0}</title><link>/jobs/{0}</link></item>"
CHANGED = {
    "an interface that renamed its title": (
        json.dumps({"jobs": [{"title": f"Nurse {at}", "url": f"/jobs/{at}", "location": "Juba"} for at in range(3)]}),
        json.dumps({"jobs": [{"heading": f"Nurse {at}", "url": f"/jobs/{at}", "location": "Juba"} for at in range(3)]}),
    ),
    "an interface that lost its addresses": (
        json.dumps({"jobs": [{"title": f"Nurse {at}", "url": f"/jobs/{at}", "location": "Juba"} for at in range(3)]}),
        json.dumps({"jobs": [{"title": f"Nurse {at}", "id": at, "location": "Juba"} for at in range(3)]}),
    ),
    "a feed that renamed its title": (
        f"<rss><channel>{''.join(map(ITEM.format, ('Nurse', 'Driver', 'Cook')))}</channel></rss>",
        f"<rss><channel>{''.join(map(ITEM.format, ('Nurse', 'Driver', 'Cook')))}</channel></rss>".replace("title", "t"),
    ),
}


@pytest.mark.parametrize(("before", "after"), CHANGED.values(), ids=CHANGED)
def test_items_that_cannot_be_used_close_nothing_at_any_look(web: Web, bureau: Office, before: str, after: str) -> None:
    kind = "application/json" if before.startswith("{") else "application/rss+xml"
    site = web.site({"/jobs": Answer(body=before, type=kind)})
    source = bureau.add(site.url("/jobs"), source_type="api")
    assert bureau.run(source).counts.inserted == 3
    site.routes["/jobs"] = Answer(body=after, type=kind)
    for _ in range(4):
        report = bureau.run(source)
        assert (report.status, report.counts.closed) == (RunStatus.WARN, 0)
        assert report.message.startswith("quarantined: the layout changed (")
        assert report.message.endswith("; 3 postings stay unchanged")
    assert len(bureau.titles()) == 3
    site.routes["/jobs"] = Answer(body=before, type=kind)
    assert bureau.run(source).counts.skipped == 3


def test_an_interface_without_addresses_is_read_with_the_hint_that_its_first_run_suggests(
    web: Web, embedded_bureau: Office
) -> None:
    items = [{"title": f"Nurse {at}", "id": at, "location": "Juba"} for at in range(3)]
    site = web.site({"/api": Answer(body=json.dumps({"data": {"jobs": items}}), type="application/json")})
    source = embedded_bureau.add(site.url("/api"), source_type="api")
    message = embedded_bureau.run(source).message
    assert message.startswith("no posting could be read (3 items without an address; ")
    hint = message[message.index("{") : message.rindex("}") + 1]
    embedded_bureau.execute("UPDATE sources SET parser_hint = :hint", hint=hint)
    assert embedded_bureau.run(source).counts.inserted == 3


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
    assert (str(report.status), report.message) == ("warn", "page 1: the feed is truncated; nothing is closed")
    assert report.counts.closed == 0
    assert bureau.run(source).counts.closed == 0
    assert site.of("/feed")[-1].headers.get("if-none-match") is None
    site.routes["/feed"] = replace(whole, etag='"three"')
    assert bureau.run(source).counts.skipped == 6
    assert bureau.titles(is_open=False) == []
