"""Bodies made to break a reader of jobs: whatever they are, one listing leaves, soon, and within its bounds."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench._job_corpus import labelled_pages
from comity.extract.jobs.read import MOST_JOBS, read_listing
from comity.extract.lenient_json import read_lenient
from comity.model.job import Listing, SourceType
from comity.model.parser_hint import HintProblem
from comity.rules.parser_hint import parse_hint
from tests.sizes import sized

PAGES = labelled_pages()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["title", "url", "jobs", "location", "name", "@type", "items", "data", "jobLocation", "address"]
            )
            | st.text(max_size=6),
            inner | st.just("JobPosting"),
            max_size=6,
        )
    ),
    max_leaves=30,
)
PIECES = [
    "<table>",
    "<tr>",
    "<td>",
    "<th>",
    "<li>",
    "<ul>",
    "</ul>",
    "</li>",
    "<a href=/jobs/1>",
    "<a href=#x>",
    "</a>",
    "<h1>",
    "<h3>",
    "Officer",
    "Closing date:",
    " 3 May 2026",
    "<dt>",
    "<dd>",
    "<p>",
    "<br>",
    "Apply",
    "</div>",
    '<div class="job">',
    "Location",
    "<details>",
    "<summary>",
    "<!--",
    "<script>",
    "</script>",
    "\x00",
    "Jobs",
    "<base href=//>",
    '<div itemscope itemtype="http://schema.org/JobPosting">',
    '<b itemprop="title">',
    "<nav>",
    "<main>",
    "<svg>",
]
MARKUP = st.lists(st.sampled_from(PIECES), max_size=60)
SYSTEMS = (
    "https://api.lever.co/v0/postings/x",
    "https://boards-api.greenhouse.io/v1/boards/x/jobs",
    "https://x.example/api/offers",
)


def read(body: bytes, url: str = "https://example.org/jobs", content_type: str | None = None) -> Listing:
    return read_listing(body, url=url, content_type=content_type, source_type=SourceType.HTML)


def item(number: int) -> str:
    fields = "<i>Location: Nairobi</i> <i>Deadline: 1 May 2026</i>"
    return f'<li class="job"><a href="/jobs/{number}">Officer {number}</a> {fields}</li>'


HOSTILE = {
    "more jobs than are read": ("<h1>Jobs</h1><ul>" + "".join(map(item, range(5500))) + "</ul>").encode(),
    "100,000 nested elements": b"<div>" * 100_000 + b"<a href=x>Officer</a>",
    "nested lists": b"".join(b'<li><a href="/jobs/%d">Officer</a>' % at for at in range(5000)),
    "nested tables": b"<table><tr><td>" * 20_000 + b"Position",
    "nested microdata": b'<div itemscope itemtype="http://schema.org/JobPosting"><b itemprop=title>x</b>' * 10_000,
    "a wide table": b"<table>" + (b"<tr>" + b"<td>Officer</td>" * 3000 + b"</tr>") * 20,
    "nothing but colons": b": " * 500_000,
    "almost no openings": b"<p>" + b"no current open " * 100_000,
    "almost deadlines": b"<li><a href=/jobs/1>Officer</a>" + b"deadline until bis 1 " * 50_000,
    "an open string": b'<script type="application/ld+json">{"JobPosting":"' + b'\\"' * 300_000,
    "open comments": b'<script type="application/ld+json">{"JobPosting":' + b"/*" * 300_000,
    "commas": b'<script type="application/ld+json">{"JobPosting":[' + b",   " * 300_000,
    "deep JSON": b"[" * 1_000_000,
    "deep JSON-LD": b'<script type="application/ld+json">{"JobPosting":' + b"[" * 300_000,
    "deep XML": b"<rss>" + b"<item><title>" * 100_000,
    "open tags": b"<rss>" + b"<" * 1_000_000,
    "open quotes": b"<rss><a " + b"\"'" * 500_000,
    "open sections": b"<rss>" + b"<![CDATA[" * 100_000,
    "data without an end": b'<script>window.__INITIAL_STATE__ = {"jobs":[' + b'{"a":"\\"' * 100_000,
    "cards without links": b'<div class="job"><p>x</p></div>' * 15_000,
    "cards in cards": (b'<div class="job">' * 50 + b"<h3>Driver</h3>" + b"</div>" * 50) * 200,
    "clicks": b'<div onclick="' + b"location.href= open(" * 50_000 + b'">Officer</div>',
    "headings without an end": b"<h1>Officer</h1>Deadline: 1 May 2026" + b"<h2>Officer</h2>" * 30_000,
    "roots without an end": (b"<div>" * 20 + b"<a href=/>x</a>" * 5 + b"</div>" * 20) * 800,
    "empty roots": b"<div><a href=/>x</a>" + b"<p></p>" * 80_000 + b"</div>",
    "values without an end": b"<script>" + b"x={name:'" * 100_000 + b"</script>",
    "strings without an end": b"<script>" + b'JSON.parse(\'{"name":' * 50_000 + b"</script>",
    "literals": b"<script>" + b"a={name:1,b:'\\''};" * 50_000 + b"</script>",
    "comments in literals": b"<script>x={name:" + b"/*" * 200_000 + b"</script>",
    "one long word": b"<script>x={" + b"a" * 1_000_000 + b"name:1}</script>",
    "markup in data": b"<script>window.x=["
    + b",".join([b'{"html":"' + b"<li><a>Officer " * 12_000 + b'"}'] * 8)
    + b"]</script>",
    "attributes with data": b"<div data-x='[{\"name\":1},{}]'></div>" * 20_000,
    "bold letters": b"<h1>Jobs</h1><p>" + b"<b>Driver</b> Juba<br>" * 20_000,
    "icons that speak": b"<h1>Jobs</h1><ul>" + b"<li><a href=/jobs/1>Driver</a><i title=Location></i>x</li>" * 5000,
    "a pager without an end": b"".join(b'<a href="?page=%d">%d</a>' % (at, at) for at in range(5000)),
    "a thousand kinds of link": b"".join(
        b'<p class="%s"><a href="/jobs/%d">Officer</a></p>' % (bytes([97 + at % 26, 97 + at // 26 % 26]), at)
        for at in range(1000)
    ),
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_body_is_read_in_bounded_time(body: bytes) -> None:
    before = time.process_time()
    listing = read(body)
    assert time.process_time() - before < 5
    assert len(listing.jobs) <= MOST_JOBS


@settings(max_examples=sized(30, 1000), deadline=None)
@given(
    st.binary(max_size=400),
    st.sampled_from([None, "text/html", "application/json", "text/xml", "text/html; charset=x"]),
)
def test_any_octets_give_a_listing(body: bytes, content_type: str | None) -> None:
    assert isinstance(read(body, content_type=content_type), Listing)


@settings(max_examples=sized(30, 1000), deadline=None)
@given(JSON, st.sampled_from([*SYSTEMS, "https://example.org/x"]))
def test_any_json_gives_a_listing(value: object, url: str) -> None:
    body = json.dumps(value).encode()
    assert isinstance(read(body, url), Listing)
    assert isinstance(read(b'<script type="application/ld+json">' + body + b"</script>", url), Listing)


@settings(max_examples=sized(30, 1000), deadline=None)
@given(MARKUP)
def test_any_markup_gives_a_listing_whose_addresses_are_whole(pieces: list[str]) -> None:
    listing = read("".join(pieces).encode())
    assert all(job.title and job.apply_url.startswith(("http://", "https://")) for job in listing.jobs)


@settings(max_examples=sized(30, 1000), deadline=None)
@given(st.data())
def test_a_damaged_page_gives_a_listing(data: st.DataObject) -> None:
    page = data.draw(st.sampled_from(PAGES))
    body = bytearray(page.body)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(0, len(body) - 1)))
        length = data.draw(st.integers(0, 200))
        body[at : at + length] = data.draw(st.sampled_from([b"", b"<", b'"', b"</div>", b"\xff", b"{", b"<table>"]))
    listing = read_listing(
        bytes(body), url=page.url, content_type=page.content_type, source_type=page.source_type, hint=page.hint
    )
    assert listing.next_url is None or listing.next_url != page.url


@settings(max_examples=sized(30, 1000), deadline=None)
@given(st.text(max_size=60) | JSON.map(json.dumps))
def test_any_text_is_a_hint_or_a_sentence_on_why_not(text: str) -> None:
    hint = parse_hint(text)
    assert not isinstance(hint, HintProblem) or hint.message


@settings(max_examples=sized(30, 1000), deadline=None)
@given(JSON)
def test_what_is_json_is_read_as_such(value: object) -> None:
    text = json.dumps(value)
    assert read_lenient(text) == value or value is None
