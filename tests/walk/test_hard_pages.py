"""Pages made to hold a crawler up: each is read, or refused with a reason, while other hosts go on being served.

Where only links are wanted, no tree is built of most pages, and none of these is hard; with `--text` one is.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from comity.extract.html import MAX_LINKS, read_html
from comity.extract.html_pool import HtmlPool, TooHard, is_light
from comity.model.page import HtmlPage
from tests.servers.waiting import least_of
from tests.walk.crawling import Place
from tests.walk.site import Answer, Web, page, tree

LINK = "<a href=/found>found</a>"
DELAY_S = 0.05
PAGES = {
    "nested": LINK + "<div>" * 100_000,
    "attributes": LINK + "<p " + " ".join(f"a{number}=1" for number in range(50_000)) + ">",
    "flat": LINK + "<i>x</i>" * 1_200_000,  # nearly ten megabytes
    "entities": LINK + "&amp;" * 200_000,
    "links": "".join(f"<a href=/n/{number}>x</a>" for number in range(30_000)) + LINK,
    "tables": LINK + "<table><tr><td>" * 60_000,
}
# Elements that are opened anew in every paragraph: 60 KB that ask for a tree of millions.
GREEDY = LINK + "<p>" + "".join(f"<b a{number}>" for number in range(700)) + "<p>x" * 13_000


@pytest.mark.parametrize("options", [[], ["--text"]])
def test_hard_pages_are_read_side_by_side(web: Web, place: Place, options: list[str]) -> None:
    hard = {
        name: web.site({"/": Answer(body=body), "/found": page(title="found")}, fallback=page())
        for name, body in PAGES.items()
    }
    other = web.site(tree(40), robots=f"User-agent: *\nCrawl-delay: {DELAY_S}\n")
    told = place.comity_apart("crawl", *(site.url() for site in hard.values()), other.url(), *options, within_s=90)
    assert told.code == 0, told.err
    kept = place.kept()
    for name, site in hard.items():
        assert kept[site.url()]["http_status"] == 200
        if name == "links":
            assert len(site.pages()) == 1000, "what one host gets in one run"
        else:
            assert site.url("/found") in kept, name
    assert sum(url.startswith(other.url()) for url in kept) == 40


def test_a_page_that_asks_for_too_much_is_kept_with_the_reason_why_it_was_not_read(web: Web, place: Place) -> None:
    assert not is_light(GREEDY.encode())
    vast = GREEDY + "<p>x" * 400_000
    hard = web.site({"/": page("/vast"), "/vast": Answer(body=vast)})
    told = place.comity_apart("crawl", hard.url(), "--text", within_s=90)
    assert told.code == 0, told.err
    assert place.kept()[hard.url("/vast")]["http_status"] == 200
    (why,) = place.rows("SELECT content FROM evidence WHERE type = 'unreadable'")
    assert "too_much_memory" in why["content"] or "too_slow" in why["content"]
    assert "could not be read" in place.comity("why", hard.url("/vast")).out.splitlines()[0]


def test_pages_that_were_not_read_in_full_are_warned_of(web: Web, place: Place) -> None:
    """A page with more links than are read would end the run as if nothing were left (§4.8)."""
    many = "".join(f'<a href="/none/{number}">x</a>' for number in range(MAX_LINKS + 1))
    site = web.site({"/": page("/many"), "/many": many})
    warning = place.crawl(site.url(), max_pages=2).warnings[-1]
    assert warning.startswith(f"{site.host}: 1 page was not read in full")
    assert warning.endswith(f"The first is {site.url('/many')}.")


def test_other_hosts_do_not_wait_while_a_hard_page_is_read(web: Web, place: Place) -> None:
    """To read this page takes a second or more of processor time, which nobody but its own host waits for."""

    def late_s() -> float:
        hard = web.site({"/": Answer(body=GREEDY), "/found": page()})
        other = web.site(tree(40), robots=f"User-agent: *\nCrawl-delay: {DELAY_S}\n")
        assert place.comity_apart("crawl", hard.url(), other.url(), "--text", within_s=60).code == 0
        assert sorted(hard.pages()) == ["/", "/found"] or place.rows("SELECT 1 FROM evidence WHERE type = 'unreadable'")
        return sorted(other.gaps()[1:])[-1]

    assert least_of(late_s, enough=0.5) < 0.5


def waits(seconds: float) -> None:
    time.sleep(seconds)


def works(seconds: float) -> None:
    began_s = time.thread_time()
    while time.thread_time() - began_s < seconds:
        pass


@pytest.mark.parametrize(("delayed", "apart"), [(waits, 0), (works, 2)])
def test_a_page_is_hard_by_the_work_it_makes_and_not_by_the_time_it_waits_for_the_processor(
    web: Web, place: Place, monkeypatch: pytest.MonkeyPatch, delayed: Callable[[float], None], apart: int
) -> None:
    def read(body: bytes, **more: Any) -> HtmlPage:
        delayed(0.06)
        return read_html(body, **more)

    def sent_apart(reader: HtmlPool, body: bytes, **more: Any) -> Awaitable[HtmlPage | TooHard]:
        bodies.append(body)
        return read_apart(reader, body, **more)

    bodies: list[bytes] = []
    read_apart = HtmlPool.read
    monkeypatch.setattr("comity.walk.visit.page.scan_html", lambda _body, **_more: None)  # as without a compiler
    monkeypatch.setattr("comity.walk.visit.page.read_html", read)
    monkeypatch.setattr(HtmlPool, "read", sent_apart)
    site = web.site({"/": page("/a"), "/a": page("/b"), "/b": page()})
    assert place.crawl(site.url()).pages == 3
    assert len(bodies) == apart


def test_a_page_whose_reading_fails_ends_no_crawl(web: Web, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_body: bytes, **_more: Any) -> HtmlPage:
        raise ValueError("a fault of ours")

    monkeypatch.setattr("comity.walk.visit.page.read_html", fail)
    site = web.site({"/": page("/a"), "/a": page()})
    assert place.crawl(site.url(), markdown=True).pages == 2
