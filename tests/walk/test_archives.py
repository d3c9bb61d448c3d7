"""A crawl into a WARC file: what the site sent is what other tools read."""

from __future__ import annotations

from io import BytesIO

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.walk.crawling import Place
from tests.walk.site import Answer, Web, page, redirect

HEADERS = {"X-Served-By": "machine 7", "ETag": '"seven"', "Set-Cookie": "a=1"}


@pytest.mark.parametrize("name", ["site.warc", "site.warc.gz"])
def test_headers_status_address_and_body_are_those_of_the_site(web: Web, place: Place, name: str) -> None:
    body = page("/gone", "/moved", title="höher")
    site = web.site(
        {
            "/": Answer(body=body, headers=HEADERS, is_gzipped=True),
            "/moved": redirect("/end"),
            "/end": page(title="end"),
        }
    )
    target = place.folder / name
    assert place.comity("crawl", site.url(), "--into", target).code == 0
    octets = target.read_bytes()
    answers = {}
    for record in ArchiveIterator(BytesIO(octets)):
        if record.rec_type == "response":
            url = record.rec_headers.get_header("WARC-Target-URI")
            answers[url] = (record.http_headers, record.content_stream().read(), record.rec_headers)
    head, content, about = answers[site.url()]
    assert head.get_statuscode() == "200"
    assert {name: head.get_header(name) for name in HEADERS} == HEADERS
    assert content.decode() == body
    assert about.get_header("WARC-IP-Address") == "127.0.0.1"


def test_headers_survive_a_kill(web: Web, place: Place) -> None:
    """What waits on disk for its part has them too."""
    from tests.servers.waiting import wait_until

    routes = {f"/{number}": Answer(body=page(f"/{number + 1}"), headers=HEADERS) for number in range(12)}
    site = web.site(routes | {"/": page("/0")}, robots="User-agent: *\nCrawl-delay: 0.1\n")
    target = place.folder / "site.warc.gz"
    with place.begun("crawl", site.url(), "--into", target) as process:
        wait_until(lambda: len(site.log) > 6, 60, "some pages")
        process.kill()
    assert place.comity_apart("crawl", site.url(), "--into", target).code == 0
    found = {
        record.rec_headers.get_header("WARC-Target-URI"): record.http_headers.get_header("X-Served-By")
        for record in ArchiveIterator(BytesIO(target.read_bytes()))
        if record.rec_type == "response"
    }
    assert {url for url, served_by in found.items() if served_by == "machine 7"} == {site.url(path) for path in routes}
