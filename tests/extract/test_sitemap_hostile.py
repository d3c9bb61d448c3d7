"""Sitemaps made to break a reader: each is read up to a bound, in bounded time, memory and steps."""

from __future__ import annotations

import gzip
import time
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from comity.extract.sitemap.read import iter_entries
from comity.model.sitemap import SitemapChunk, SitemapKind, SitemapLimits, SitemapProblem
from tests.extract.whole_sitemaps import read_sitemap
from tests.sizes import sized

MEGABYTE = 1_000_000
MANY = sized(MEGABYTE, 4 * MEGABYTE)  # work that grows with the square of either takes hours
ENTRY = b"<url><loc>https://example.com/a</loc></url>"
LAUGHS = b"".join(b'<!ENTITY l%d "%s">' % (at, b"&l%d;" % (at - 1) * 10 if at else b"ha") for at in range(10))


def read(body: bytes) -> SitemapChunk:
    return read_sitemap(body)


def test_entities_are_never_expanded() -> None:
    body = b"<!DOCTYPE urlset [" + LAUGHS + b"]><urlset><url><loc>https://example.com/&l9;</loc></url></urlset>"
    assert [entry.loc for entry in read(body).entries] == ["https://example.com/&l9;"]


def test_entries_inside_an_entity_are_not_read() -> None:
    inside = b'<!ENTITY more "<url><loc>https://example.com/no</loc></url>">'
    body = b"<!DOCTYPE urlset [" + inside + b"]><urlset>&more;" + ENTRY + b"</urlset>"
    assert [entry.loc for entry in read(body).entries] == ["https://example.com/a"]


def test_external_entities_and_inclusions_ask_for_nothing() -> None:
    body = (
        b'<!DOCTYPE urlset [<!ENTITY file SYSTEM "file:///etc/passwd">'
        b'<!ENTITY % net SYSTEM "http://127.0.0.1:9/x"> %net;]>'
        b'<urlset xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="file:///etc/passwd"/>'
        b"<url><loc>https://example.com/&file;</loc></url></urlset>"
    )
    assert [entry.loc for entry in read(body).entries] == ["https://example.com/&file;"]


def big(piece: bytes) -> bytes:
    return b"<urlset>" + ENTRY + piece * (MANY // len(piece))


HOSTILE = {
    "open angles": big(b"<"),
    "open comments": big(b"<!--"),
    "open CDATA": big(b"<![CDATA["),
    "open instructions": big(b"<?"),
    "open declarations": big(b"<!x"),
    "open declarations of every name": b"<urlset>" + ENTRY + b"".join(b"<!%06x" % at for at in range(MANY // 10)),
    "open subsets": big(b"<!x["),
    "brackets after a subset": b"<urlset>" + ENTRY + b"<!x[" + b"]  " * (MANY // 4),
    "unfinished tags": big(b"<url "),
    "one long name": b"<urlset>" + ENTRY + b"<" + b"a" * MANY,
    "one tag with many quotes": b"<urlset>" + ENTRY + b"<a " + b"\"'" * (MANY // 2),
    "one tag with many attributes": b"<urlset>" + ENTRY + b"<url " + b"a='b' " * (MANY // 8) + b">",
    "entries that are never closed": b"<urlset>" + ENTRY + b"<url>" * (MANY // 8),
    "empty entries": big(b"<url><loc></loc></url>"),
    "addresses full of stray angles": big(b"<url><loc>" + b"<<<<<<<<" * 8 + b"<loc>x</loc>"),
    "one address full of stray angles": b"<urlset>" + ENTRY + b"<url><loc>" + b"<" * MANY,
    "one address of ampersands": b"<urlset>" + ENTRY + b"<url><loc>" + b"&" * MANY + b"</loc>",
    "one address of almost references": b"<urlset>" + ENTRY + b"<url><loc>" + b"&#1234567" * (MANY // 5) + b"</loc>",
    "one address of tiny CDATA": b"<urlset>" + ENTRY + b"<url><loc>" + b"<![CDATA[]]>" * (MANY // 13),
    "nested foreign elements": b"<urlset>" + ENTRY + b"<url>" + b"<x><y>" * (MANY // 8),
    "blanks": big(b" "),
    "blanks between entries": b"<urlset>" + ENTRY + (b" " * 100_000 + b"<!-- -->") * (MANY // 50_000),
    "long dates": b"<urlset>" + ENTRY + b"<url><lastmod>" + b"2" * MANY + b"</lastmod></url>",
    "zeros": b"<urlset>" + ENTRY + b"\0" * MANY,
    "a long preamble of comments": b"<!-- -->" * (MANY // 13) + b"<urlset>" + ENTRY,
    "a long preamble of blanks": b" " * MANY + b"<urlset>" + ENTRY,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_sitemap_is_read_in_bounded_time_and_small_steps(name: str) -> None:
    """The bounds are many times what is measured; work that grows with the square of the size misses them by far."""
    entries, longest, started = [], 0.0, time.process_time()
    before = time.thread_time()
    for chunk in iter_entries(HOSTILE[name], content_type=None):
        longest = max(longest, time.thread_time() - before)
        entries += chunk.entries
        before = time.thread_time()
    assert [entry.loc for entry in entries if "<" not in entry.loc] == ["https://example.com/a"]
    assert time.process_time() - started < sized(5.0, 20.0)
    assert longest < 1.0


def test_lines_without_end_are_read_in_bounded_time_and_small_steps() -> None:
    first = b"https://example.com/a\n"
    for rest in (b"\n" * MANY, b"x" * MANY, b"x\r" * MANY, b" " * MANY):
        before, longest = time.thread_time(), 0.0
        found = []
        for chunk in iter_entries(first + rest, content_type="text/plain"):
            longest = max(longest, time.thread_time() - before)
            found += chunk.entries
            before = time.thread_time()
        assert [entry.loc for entry in found] == ["https://example.com/a"]
        assert longest < 1.0


def test_a_bomb_takes_no_more_memory_than_its_bound_allows() -> None:
    bomb = gzip.compress(b"<urlset>" + ENTRY + b" " * sized(60, 300) * MEGABYTE)
    tracemalloc.start()
    sitemap = read_sitemap(bomb, limits=SitemapLimits(most_bytes=5 * MEGABYTE))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(sitemap.entries) == 1
    assert sitemap.problems == {SitemapProblem.BODY_BYTES, SitemapProblem.TRUNCATED}
    assert peak < 25 * MEGABYTE


def test_a_file_of_many_empty_members_is_given_up() -> None:
    sitemap = read(gzip.compress(b"") * 100_000 + gzip.compress(b"<urlset>" + ENTRY + b"</urlset>"))
    assert (sitemap.kind, sitemap.problems) == (SitemapKind.NOT_A_SITEMAP, {SitemapProblem.BAD_GZIP})


def test_fifty_thousand_entries_take_well_under_a_second() -> None:
    entry = (
        "  <url>\n    <loc>https://www.example.com/products/shoes/item-{0}.html</loc>\n"
        "    <lastmod>2024-03-{1:02d}T12:{2:02d}:15+00:00</lastmod>\n"
        "    <changefreq>weekly</changefreq>\n    <priority>0.8</priority>\n  </url>\n"
    )
    body = ("<urlset>" + "".join(entry.format(at, at % 28 + 1, at % 60) for at in range(50_000)) + "</urlset>").encode()
    assert len(body) > 8 * MEGABYTE
    started = time.thread_time()
    sitemap = read(body)
    assert time.thread_time() - started < 2.0, "about 0.2 s of processor time were measured"
    assert (len(sitemap.entries), sitemap.problems) == (50_000, frozenset())


PIECES = (
    b"<urlset>|</urlset>|<url>|</url>|<loc>|</loc>|<lastmod>|</lastmod>|2024-01-01|https://example.com/a|<|>|&|&amp;|'|\""
    b"|<!--|-->|<![CDATA[|]]>|<?xml version='1.0'?>|<!DOCTYPE x [|]>|<sitemap>|</sitemap>|<sitemapindex>|<rss>|<item>"
    b"|<link>|</link>|<feed>|<entry>|<link href='x'/>|<x:loc>|</x:loc>|\0|\xff|\xfe\xff|\xef\xbb\xbf|\n|<a/>|<b>|</b>"
).split(b"|")
markup = st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)


@given(markup | st.binary(max_size=200))
@example(b"<urlset><url><loc>x<![CDATA[y")
@example(b"<url><loc><!--")
@example(b"\x1f\x8b")
@example(b"\x1f\x8b\x08\0\0\0\0\0\0\0")
def test_any_octets_are_read_and_every_address_stands_in_them(body: bytes) -> None:
    sitemap = read(body)
    whole = [entry for chunk in iter_entries(body, content_type=None, chunk_entries=1) for entry in chunk.entries]
    assert whole == list(sitemap.entries)
    for entry in (*sitemap.entries, *sitemap.nested):
        assert entry.loc
        assert entry.loc == entry.loc.strip()
