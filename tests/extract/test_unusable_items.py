"""Answers and feeds that plainly have items, none of which can be used: never "no openings", and with a remedy."""

from __future__ import annotations

import json
import re

import pytest

from comity.extract.jobs.read import read_listing
from comity.model.job import Listing, ListingKind, SourceType
from comity.model.parser_hint import HintProblem
from comity.rules.parser_hint import parse_hint

URL = "https://example.org/api/jobs"
ORACLE = "https://x.fa.em2.oraclecloud.com/hcmRestApi/resources/latest/recruitingCEJobRequisitions"
HINT = '{"items": "jobs", "title": "title", "url": "url"}'


def read(value: object, *, url: str = URL, hint: str | None = None, content_type: str = "application/json") -> Listing:
    parsed = parse_hint(hint) if hint is not None else None
    assert not isinstance(parsed, HintProblem)
    body = value if isinstance(value, str) else json.dumps(value)
    return read_listing(body.encode(), url=url, content_type=content_type, source_type=SourceType.API, hint=parsed)


def oracle(*jobs: dict[str, object], **more: object) -> dict[str, object]:
    return {"items": [{"requisitionList": list(jobs), **more}]}


NURSE = {"Id": "7", "Title": "Nurse", "PrimaryLocation": "Juba"}
UNUSABLE = {
    "a title that was renamed": ({"jobs": [{"heading": "Water Officer", "url": "/7"}]}, URL, None),
    "a title that is empty": ({"jobs": [{"title": "", "url": "/7"}, {"title": None, "url": "/8"}]}, URL, None),
    "no addresses": ({"jobs": [{"title": "Water Officer", "id": 7, "city": "Juba"}]}, URL, None),
    "addresses that are none": ({"jobs": [{"title": "Water Officer", "url": "mailto:a@example.org"}]}, URL, None),
    "a list alone": ([{"heading": "Water Officer", "place": "Juba"}], URL, None),
    "a list deep inside": ({"data": {"page": {"vacancies": [{"n": "Water Officer", "id": 7}]}}}, URL, None),
    "lists in a list": ({"departments": [{"name": "Health", "jobs": [{"label": 1, "id": 1}]}]}, URL, None),
    "objects by number": ({"jobs": {"7": {"heading": "Nurse", "at": "Juba"}}}, URL, None),
    "words instead of objects": ({"jobs": ["Nurse", "Driver"]}, URL, None),
    "rows instead of objects": ({"jobs": [["Nurse", "/7"], ["Driver", "/8"]]}, URL, None),
    "a count without a list": ({"jobs": [], "total": 25}, URL, None),
    "a count beside": ({"results": [], "meta": {"total_count": 3}}, f"{URL}?page=1", None),
    "Oracle without a site number": (oracle(NURSE), f"{ORACLE}?onlyData=true", None),
    "Oracle without its list": ({"items": [{"TotalJobsCount": 12}]}, f"{ORACLE}?finder=findReqs;siteNumber=CX_1", None),
    "Greenhouse with other keys": (
        {"jobs": [{"id": 1, "job_title": "Nurse", "site": "Juba"}]},
        "https://boards-api.greenhouse.io/v1/boards/x/jobs",
        None,
    ),
    "Ashby without addresses": (
        {"jobs": [{"title": "Nurse", "jobUrl": None, "isListed": True}]},
        "https://api.ashbyhq.com/posting-api/job-board/x",
        None,
    ),
    "a hint whose title is gone": ({"jobs": [{"name": "Nurse", "url": "/7"}]}, URL, HINT),
    "a hint whose address is gone": ({"jobs": [{"title": "Nurse", "link": "/7"}]}, URL, HINT),
    "a hint whose items moved": ({"positions": [{"title": "Nurse", "url": "/7"}]}, URL, HINT),
    "a hint whose items are words": ({"jobs": ["Nurse"]}, URL, HINT),
    "a JSON feed without titles": (
        {"version": "https://jsonfeed.org/version/1", "items": [{"id": "7", "content_text": "x"}]},
        URL,
        None,
    ),
}
EMPTY = {
    "an empty list": ({"jobs": [], "total": 0}, URL, None),
    "nothing at all": ([], URL, None),
    "the page behind the last": ({"jobs": [], "total": 25}, f"{URL}?page=3", None),
    "the offset behind the last": ({"jobs": [], "total": 25}, f"{URL}?offset=25", None),
    "Oracle": (oracle(TotalJobsCount=0), f"{ORACLE}?finder=findReqs;siteNumber=CX_1", None),
    "Ashby with a job that is not for the public": (
        {"jobs": [{"title": "Nurse", "jobUrl": "https://x.example/1", "isListed": False}]},
        "https://api.ashbyhq.com/posting-api/job-board/x",
        None,
    ),
    "a hint": ({"jobs": []}, URL, HINT),
    "a hint and null": ({"jobs": None}, URL, HINT),
    "a hint and an empty object": ({"jobs": {}}, URL, HINT),
}


@pytest.mark.parametrize(("value", "url", "hint"), UNUSABLE.values(), ids=UNUSABLE)
def test_items_that_cannot_be_used_are_a_changed_layout(value: object, url: str, hint: str | None) -> None:
    listing = read(value, url=url, hint=hint)
    assert (listing.kind, listing.jobs) == (ListingKind.LAYOUT_CHANGED, ())
    assert listing.message


@pytest.mark.parametrize(("value", "url", "hint"), EMPTY.values(), ids=EMPTY)
def test_an_answer_without_items_says_that_there_are_no_openings(value: object, url: str, hint: str | None) -> None:
    assert read(value, url=url, hint=hint).kind is ListingKind.NO_OPENINGS


def test_oracle_says_what_its_address_lacks() -> None:
    assert "siteNumber" in read(oracle(NURSE), url=f"{ORACLE}?onlyData=true").message
    assert len(read(oracle(NURSE), url=f"{ORACLE}?finder=findReqs;siteNumber=CX_1").jobs) == 1


@pytest.mark.parametrize(
    ("value", "first"),
    [
        ({"jobs": [{"title": "Nurse", "id": 7}]}, ("Nurse", "https://example.org/jobs/7")),
        ([{"title": "Nurse", "shortcode": "N7"}], ("Nurse", "https://example.org/jobs/N7")),
        ({"data": {"list": [{"heading": "Nurse", "url": "/v/7"}]}}, ("Nurse", "https://example.org/v/7")),
        ({"jobs": {"7": {"heading": "Nurse", "url": "/v/7"}}}, ("Nurse", "https://example.org/v/7")),
        ({"departments": [{"jobs": [{"heading": "Nurse", "code": "N7"}]}]}, ("Nurse", "https://example.org/jobs/N7")),
    ],
)
def test_the_message_holds_a_hint_that_works(value: object, first: tuple[str, str]) -> None:
    message = read(value).message
    found = re.search(r"\{.*\}$", message)
    assert found, message
    [job] = read(value, hint=found[0]).jobs
    assert (job.title, job.apply_url) == first


def test_items_that_are_something_else_are_not_called_a_changed_layout() -> None:
    products = {"products": [{"title": "Seed mix", "url": "/p/1"}, {"title": "Rake", "url": "/p/2"}]}
    listing = read(products)
    assert listing.kind is ListingKind.NOTHING_FOUND
    assert "parser_hint" in listing.message


def test_objects_by_number_are_a_list() -> None:
    jobs = {"jobs": {str(at): {"title": f"Nurse {at}", "url": f"/{at}", "location": "Juba"} for at in (4, 5)}}
    assert [job.title for job in read(jobs).jobs] == ["Nurse 4", "Nurse 5"]


FEEDS = {
    "items without titles": "<rss><channel><item><link>https://x.example/1</link><guid>1</guid></item></channel></rss>",
    "items with empty titles": "<rss><channel><item><title/><link>https://x.example/1</link></item></channel></rss>",
    "items of another name": "<rss><channel><advert><head>Nurse</head><url>/7</url></advert></channel></rss>",
    "jobs with other words": "<jobs><job><headline>Nurse</headline><ref>7</ref></job></jobs>",
    "entries without titles": "<feed><entry><id>urn:x:7</id><link href='/7'/></entry></feed>",
}


@pytest.mark.parametrize("body", FEEDS.values(), ids=FEEDS)
def test_feeds_with_items_that_cannot_be_used_are_a_changed_layout(body: str) -> None:
    assert read(body, content_type="application/xml").kind is ListingKind.LAYOUT_CHANGED


@pytest.mark.parametrize(
    "body",
    [
        "<rss><channel><title>Jobs</title><image><title>x</title><url>/l.png</url></image></channel></rss>",
        "<feed><title>Jobs</title><author><name>HR</name><email>hr@example.org</email></author></feed>",
        "<jobs/>",
        "<source><publisher>x</publisher><publisherurl>https://x.example</publisherurl></source>",
    ],
)
def test_feeds_without_items_say_that_there_are_no_openings(body: str) -> None:
    assert read(body, content_type="application/xml").kind is ListingKind.NO_OPENINGS


def test_where_most_items_cannot_be_used_what_is_missing_is_not_taken_for_gone() -> None:
    items = "".join(f"<item><title>{'Nurse' if at == 1 else ''}</title><link>/{at}</link></item>" for at in range(5))
    listing = read(f"<rss><channel>{items}</channel></rss>", content_type="application/xml")
    assert ([job.title for job in listing.jobs], listing.is_cut) == (["Nurse"], True)
    assert "4 of 5" in listing.message
    values = {"jobs": [{"title": "Nurse", "url": "/1"}, *({"title": "Nurse", "link": "/2"} for _ in range(3))]}
    assert read(values, hint=HINT).is_cut
    some = [{"title": f"Nurse {at}", "url": "/7" if at == 1 else None, "location": "Juba"} for at in range(5)]
    assert (len(read({"jobs": some}).jobs), read({"jobs": some}).is_cut) == (1, True)
    assert not read({"jobs": some[1:3]}).is_cut


def test_pages_with_items_that_cannot_be_used_are_a_changed_layout() -> None:
    def page(body: str, hint: str | None = None) -> ListingKind:
        return read(f"<title>Jobs</title><p>Join us</p>{body}", hint=hint, content_type="text/html").kind

    chosen = '{"item": ".job", "title": "h3"}'
    assert page('<div class="job"><h2>Nurse</h2></div>', chosen) is ListingKind.LAYOUT_CHANGED
    assert page('<div class="role"><h3>Nurse</h3></div>', chosen) is ListingKind.NOTHING_FOUND
    assert page('<div class="job">There are no openings at the moment.</div>', chosen) is ListingKind.NO_OPENINGS
    untitled = '<script type="application/ld+json">{"@type": "JobPosting", "headline": "x"}</script>'
    assert page(untitled) is ListingKind.LAYOUT_CHANGED
