"""A listing that is another text at every look, though its jobs are the same: nothing is new, changed or closed."""

from __future__ import annotations

import pytest

from tests.walk.site import Answer, Web
from tests.walk.sourcing import Office, jobs, listing

JOBS = (("Water Officer", "Nairobi, Kenya"), ("Nurse", "Juba, South Sudan"), ("Driver", "Goma, DRC"))


def cards(*, link: str = "/jobs/{slug}", mark: str = "", said: str = "") -> str:
    """A list of jobs as a content management system prints it."""
    items = "".join(
        f'<li class="job"><a href="{link.format(slug=title.lower().replace(" ", "-"), number=4000 + number)}">{title}'
        f'{mark}</a> <span class="location">{place}</span> <span>{said}</span></li>'
        for number, (title, place) in enumerate(JOBS)
    )
    return f"<html lang=en><head><title>Careers</title></head><body><h1>Current vacancies</h1><ul>{items}</ul></body>"


@pytest.mark.parametrize(
    "looks",
    [
        [cards(said="Posted 3 days ago"), cards(said="Posted 4 days ago"), cards(said="Posted 30+ days ago")],
        [cards(said="12 days left"), cards(said="11 days left")],
        [cards(said="7 views"), cards(said="4,012 views")],
        [cards(mark=" <span class=badge>New!</span>"), cards()],
        [cards(link="/jobs/{slug}?ref=home"), cards(link="/jobs/{slug}?ref=footer"), cards()],
        [cards(link="/jobs/{number}?source=home&amp;utm_medium=a"), cards(link="/jobs/{number}?ref=feed")],
    ],
)
def test_a_listing_that_only_reads_otherwise_is_unchanged(web: Web, embedded_bureau: Office, looks: list[str]) -> None:
    site = web.site({"/careers": looks[0]})
    source = embedded_bureau.add(site.url("/careers"))
    assert embedded_bureau.run(source).counts.inserted == 3
    for look in looks[1:]:
        site.routes["/careers"] = look
        counts = embedded_bureau.run(source).counts
        assert (counts.inserted, counts.updated, counts.skipped, counts.closed) == (0, 0, 3, 0)


def test_a_posting_on_two_pages_stays_while_an_unchanged_page_lists_it(web: Web, bureau: Office) -> None:
    """The first page features what the second lists; the second answers 304 when the first features another."""
    some = jobs(6)
    second = Answer(body=listing([some[0], *some[3:]]), etag='"two"')
    site = web.site({"/careers": listing(some[:3], following="/careers?page=2"), "/careers?page=2": second})
    source = bureau.add(site.url("/careers"))
    assert bureau.run(source).counts.inserted == 6
    site.routes["/careers"] = listing(some[1:3], following="/careers?page=2")
    report = bureau.run(source)
    assert (report.counts.found, report.counts.closed) == (6, 0)
    assert bureau.titles(is_open=False) == []
    assert bureau.run(source).counts.closed == 0
