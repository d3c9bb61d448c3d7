"""Every way to answer badly ends in its own kind of failure, within its limits, and never in a short body."""

from __future__ import annotations

import asyncio

import pytest

from comity.fetch.fetcher import CurlFetcher
from comity.fetch.inflate import inflate_coded
from comity.model.fetch import FailureKind, FetchFailure, FetchLimits, FetchRequest, Response
from tests.fetch.conftest import MakeFetcher
from tests.fetch.test_get import answered, failed
from tests.hostile.bodies import CODERS, PLAIN, deflate, rows
from tests.hostile.web import HostileWeb

K = FailureKind
# One limit is short and the others are long: on a busy machine, too, it is the short one that is met.
LONG_S = 60.0
SHORT = {
    K.FIRST_BYTE_TIMEOUT: (0.4, FetchLimits(first_byte_timeout_s=0.4, idle_timeout_s=LONG_S, total_timeout_s=LONG_S)),
    K.IDLE_TIMEOUT: (0.3, FetchLimits(first_byte_timeout_s=LONG_S, idle_timeout_s=0.3, total_timeout_s=LONG_S)),
    K.TOTAL_TIMEOUT: (0.6, FetchLimits(first_byte_timeout_s=LONG_S, idle_timeout_s=LONG_S, total_timeout_s=0.6)),
}
PATIENT = FetchLimits()

TOO_SLOW = [
    ("/hang", K.FIRST_BYTE_TIMEOUT),
    ("/trickle-headers", K.FIRST_BYTE_TIMEOUT),
    ("/slow-first-byte?ms=5000", K.FIRST_BYTE_TIMEOUT),
    ("/stalled-body", K.IDLE_TIMEOUT),
    ("/stalled-body?silent", K.IDLE_TIMEOUT),
    ("/slow-body?ms=20", K.TOTAL_TIMEOUT),
]
BROKEN = [
    # size
    ("/endless", K.TOO_LARGE),
    ("/endless?chunked", K.TOO_LARGE),
    ("/size?bytes=10000001", K.TOO_LARGE),
    ("/length/huge", K.TOO_LARGE),
    ("/length/overflow", K.TOO_LARGE),
    ("/robots/endless", K.TOO_LARGE),
    # heads
    ("/endless-headers", K.HEADER_FLOOD),
    ("/header-flood?count=1000", K.HEADER_FLOOD),
    ("/long-header?bytes=70000", K.HEADER_FLOOD),
    ("/long-header?bytes=400000", K.HEADER_FLOOD),
    ("/interim/5000", K.HEADER_FLOOD),
    ("/chunks/trailer-flood", K.HEADER_FLOOD),
    ("/head/huge", K.HEADER_FLOOD),
    ("/head/http09", K.PROTOCOL_ERROR),
    ("/head/garbage", K.PROTOCOL_ERROR),
    ("/head/negative", K.PROTOCOL_ERROR),
    ("/head/zero", K.PROTOCOL_ERROR),
    ("/head/icy", K.PROTOCOL_ERROR),
    ("/head/nul", K.PROTOCOL_ERROR),
    ("/head/no-colon", K.PROTOCOL_ERROR),
    ("/head/empty", K.PROTOCOL_ERROR),
    ("/upgrade", K.PROTOCOL_ERROR),
    ("/garbage", K.PROTOCOL_ERROR),
    # framing
    ("/length/long", K.RESET),
    ("/length/negative", K.PROTOCOL_ERROR),
    ("/length/garbage", K.PROTOCOL_ERROR),
    ("/length/duplicate", K.PROTOCOL_ERROR),
    ("/length/duplicate-list", K.PROTOCOL_ERROR),
    ("/length/hex", K.PROTOCOL_ERROR),
    ("/length/plus", K.PROTOCOL_ERROR),
    ("/chunks/broken", K.PROTOCOL_ERROR),
    ("/chunks/negative", K.PROTOCOL_ERROR),
    ("/chunks/enormous", K.PROTOCOL_ERROR),
    ("/chunks/no-crlf", K.PROTOCOL_ERROR),
    ("/chunks/unfinished", K.RESET),
    ("/chunks/no-end", K.RESET),
    ("/reset/before", K.RESET),
    ("/reset/head", K.RESET),
    ("/reset/body", K.RESET),
    ("/close/before", K.RESET),
    # codings
    ("/encoding/lie?claim=gzip", K.BAD_ENCODING),
    ("/encoding/lie?claim=deflate", K.BAD_ENCODING),
    ("/encoding/lie?claim=br", K.BAD_ENCODING),
    ("/encoding/lie?claim=zstd", K.BAD_ENCODING),
    ("/encoding/lie?claim=rot13", K.BAD_ENCODING),
    ("/encoding/lie?claim=gzip,%20rot13", K.BAD_ENCODING),
    ("/encoded/gzip,gzip,gzip", K.BAD_ENCODING),
    ("/encoded/gzip?cut=4", K.BAD_ENCODING),
    ("/encoded/deflate?cut=4", K.BAD_ENCODING),
    ("/encoded/raw-deflate?cut=4", K.BAD_ENCODING),
    ("/encoded/br?cut=4", K.BAD_ENCODING),
    ("/encoded/zstd?cut=4", K.BAD_ENCODING),
    ("/encoded/gzip,br?cut=4", K.BAD_ENCODING),
    ("/large/gzip?rows=200000&cut=9", K.BAD_ENCODING),
    ("/large/br?rows=200000&cut=9", K.BAD_ENCODING),
    ("/large/zstd?rows=200000&cut=9", K.BAD_ENCODING),
    ("/encoding/members?count=1500", K.BAD_ENCODING),
    ("/bomb/zstd-window", K.BAD_ENCODING),
]


@pytest.mark.parametrize(("path", "kind"), TOO_SLOW, ids=[path for path, _ in TOO_SLOW])
async def test_a_slow_answer_ends_in_its_kind_and_in_time(
    fetcher: CurlFetcher, web: HostileWeb, path: str, kind: FailureKind
) -> None:
    short_s, limits = SHORT[kind]
    failure = failed(await fetcher.get(FetchRequest(web.url(path), limits=limits)))
    assert failure.kind is kind, failure
    assert failure.kind.is_network
    assert short_s <= failure.elapsed_s < LONG_S / 2, "neither early nor late"
    assert fetcher.in_flight == 0
    assert answered(await fetcher.get(FetchRequest(web.url("/ok")))).body == PLAIN


@pytest.mark.parametrize(("path", "kind"), BROKEN, ids=[path for path, _ in BROKEN])
async def test_a_broken_answer_ends_in_its_kind(
    fetcher: CurlFetcher, web: HostileWeb, path: str, kind: FailureKind
) -> None:
    failure = failed(await fetcher.get(FetchRequest(web.url(path), limits=PATIENT)))
    assert failure.kind is kind, failure
    assert failure.detail
    assert fetcher.in_flight == 0
    # The fetcher and the server are none the worse for it.
    assert answered(await fetcher.get(FetchRequest(web.url("/ok")))).body == PLAIN


ANSWERS = [
    ("/chunks/good", b"hello world"),
    ("/chunks/extensions", b"hello"),
    ("/chunks/trailers", b"hello"),
    ("/chunks/and-length", b"hello world"),
    ("/length/short", b"0123456789"),
    ("/length/duplicate-same", b"0123456789"),
    ("/interim/3", b"hello"),
    ("/interim/2?status=100%20Continue", b"hello"),
    ("/interim/1?status=102%20Processing", b"hello"),
    ("/head/http10", b"until the end"),
    ("/head/no-reason", b"hello"),
    ("/head/colon", b"hello"),
    ("/head/long", b"hello"),
    ("/head/folded", b"hello"),
    ("/head/first-folded", b"hello"),
    ("/head/line-feeds", b"hello"),
    ("/head/latin", b"hello"),
    ("/head/no-name", b"hello"),
    ("/header-flood?count=150", b"hello"),
    ("/binary", bytes(range(256)) * 64),
    ("/encoding/members?count=3", b"member " * 3),
    ("/encoding/members?count=2&junk=xyz", b"member " * 2),
    ("/slow-body?ms=1&count=50", b"x" * 50),
]


@pytest.mark.parametrize(("path", "body"), ANSWERS, ids=[path for path, _ in ANSWERS])
async def test_an_odd_but_sound_answer_is_read(fetcher: CurlFetcher, web: HostileWeb, path: str, body: bytes) -> None:
    response = answered(await fetcher.get(FetchRequest(web.url(path))))
    assert (response.status, response.body, response.truncated) == (200, body, False)


async def test_fields_are_those_of_the_answer_alone(fetcher: CurlFetcher, web: HostileWeb) -> None:
    interim = answered(await fetcher.get(FetchRequest(web.url("/interim/3"))))
    assert interim.content_type == "text/html"
    assert (interim.headers.get("x-real"), interim.headers.get("link")) == ("yes", None)
    trailed = answered(await fetcher.get(FetchRequest(web.url("/chunks/trailers"))))
    assert trailed.content_type == "text/html"
    assert "x-trailer" not in trailed.headers


async def test_odd_fields_are_read(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    folded = answered(await make_fetcher().get(FetchRequest(web.url("/head/folded"))))
    assert (folded.headers.get("x-folded"), folded.headers.get("x-after")) == ("one two three", "yes")
    latin = answered(await make_fetcher().get(FetchRequest(web.url("/head/latin"))))
    assert latin.headers.get("x-latin") == "café"
    colon = answered(await make_fetcher().get(FetchRequest(web.url("/head/colon"))))
    assert [name for name, _ in colon.headers] == ["content-length"]
    feeds = answered(await make_fetcher().get(FetchRequest(web.url("/head/line-feeds"))))
    assert feeds.content_type == "text/html"


@pytest.mark.parametrize("coding", [name for name in CODERS if name != "identity"])
async def test_every_coding_is_undone_small_and_large(fetcher: CurlFetcher, web: HostileWeb, coding: str) -> None:
    small = answered(await fetcher.get(FetchRequest(web.url(f"/encoded/{coding}"))))
    assert small.body == PLAIN
    assert small.wire_bytes < len(PLAIN)
    large = answered(await fetcher.get(FetchRequest(web.url(f"/large/{coding}?rows=200000"))))
    assert large.wire_bytes > 262_144, "too small to be streamed"
    assert large.body == rows(200_000)


async def test_the_coded_bytes_are_handed_on_where_they_were_held_anyway(fetcher: CurlFetcher, web: HostileWeb) -> None:
    small = answered(await fetcher.get(FetchRequest(web.url("/encoded/gzip"))))
    assert small.coded_body == deflate(PLAIN)
    assert inflate_coded(small.coded_body, small.content_encoding) == small.body
    for path in ("/ok", "/large/gzip?rows=200000"):
        assert answered(await fetcher.get(FetchRequest(web.url(path)))).coded_body is None


@pytest.mark.parametrize("codings", ["gzip,gzip", "gzip,br", "br,gzip", "zstd,deflate", "br,zstd", "identity,gzip"])
async def test_two_codings_are_undone_in_reverse(fetcher: CurlFetcher, web: HostileWeb, codings: str) -> None:
    response = answered(await fetcher.get(FetchRequest(web.url(f"/encoded/{codings}"))))
    assert response.body == PLAIN
    assert response.content_encoding == ", ".join(name for name in codings.split(",") if name != "identity")


async def test_codings_may_come_in_fields_of_their_own(fetcher: CurlFetcher, web: HostileWeb) -> None:
    fields = (("Content-Encoding", "gzip"), ("Content-Encoding", "X-GZIP"))
    web.page("/two-fields", deflate(deflate(b"twice")), "200 OK", *fields)
    assert answered(await fetcher.get(FetchRequest(web.url("/two-fields")))).body == b"twice"


async def test_an_empty_body_may_claim_any_coding(fetcher: CurlFetcher, web: HostileWeb) -> None:
    web.page("/empty", b"", "200 OK", ("Content-Encoding", "gzip"))
    assert answered(await fetcher.get(FetchRequest(web.url("/empty")))).body == b""


@pytest.mark.parametrize("status", ["204", "304"])
async def test_a_body_where_none_belongs_is_not_the_next_answer(
    make_fetcher: MakeFetcher, web: HostileWeb, status: str
) -> None:
    fetcher = make_fetcher(max_concurrency=1)
    response = answered(await fetcher.get(FetchRequest(web.url(f"/no-body/{status}"))))
    assert (response.status, response.body) == (int(status), b"")
    await asyncio.sleep(0.05)  # the forged answer arrives
    assert answered(await fetcher.get(FetchRequest(web.url("/ok")))).body == PLAIN


async def test_what_follows_an_answer_is_not_the_next_one(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    fetcher = make_fetcher(max_concurrency=1)
    assert answered(await fetcher.get(FetchRequest(web.url("/length/short")))).body == b"0123456789"
    assert answered(await fetcher.get(FetchRequest(web.url("/ok")))).body == PLAIN


@pytest.mark.parametrize("path", ["/endless/503", "/endless/404?chunked", "/endless/302"])
async def test_outside_2xx_the_status_outlives_a_body_too_large(
    fetcher: CurlFetcher, web: HostileWeb, path: str
) -> None:
    response = answered(await fetcher.get(FetchRequest(web.url(path))))
    assert response.status in (302, 404, 503)
    assert response.truncated
    assert 0 < len(response.body) <= 262_144
    assert response.wire_bytes < 1_000_000


@pytest.mark.parametrize("claim", ["gzip", "rot13", "gzip, gzip, gzip"])
async def test_outside_2xx_the_status_outlives_a_bad_coding(fetcher: CurlFetcher, web: HostileWeb, claim: str) -> None:
    web.page("/busy", PLAIN, "429 Too Many Requests", ("Content-Encoding", claim), ("Retry-After", "7"))
    response = answered(await fetcher.get(FetchRequest(web.url("/busy"))))
    assert (response.status, response.headers.get("retry-after")) == (429, "7")
    assert (response.body, response.truncated, response.coded_body) == (b"", True, None)


@pytest.mark.parametrize("coding", ["identity", "gzip", "br", "zstd", "deflate"])
@pytest.mark.parametrize("spare", [-1, 0, 1])
async def test_the_cap_is_exact_after_decompression(
    fetcher: CurlFetcher, web: HostileWeb, coding: str, spare: int
) -> None:
    limits = FetchLimits(max_body_bytes=len(PLAIN) + spare)
    result = await fetcher.get(FetchRequest(web.url(f"/encoded/{coding}"), limits=limits))
    if spare < 0:
        assert failed(result).kind is K.TOO_LARGE
    else:
        assert answered(result).body == PLAIN


@pytest.mark.parametrize("coding", ["identity", "gzip", "br", "zstd", "deflate"])
@pytest.mark.parametrize("most", [1, 100, len(PLAIN) - 1])
async def test_a_request_may_keep_the_beginning_of_a_body_that_is_too_large(
    fetcher: CurlFetcher, web: HostileWeb, coding: str, most: int
) -> None:
    limits = FetchLimits(max_body_bytes=most)
    request = FetchRequest(web.url(f"/encoded/{coding}"), limits=limits, keeps_beginning=True)
    response = answered(await fetcher.get(request))
    assert (response.status, response.truncated, response.coded_body) == (200, True, None)
    # Where the coded body alone is too large, it ends in the middle, and so does what it stands for.
    assert PLAIN.startswith(response.body)
    assert len(response.body) == most or len(response.body) < most < response.wire_bytes


@pytest.mark.parametrize("path", ["/endless", "/endless?chunked", "/length/huge", "/size?bytes=10000001"])
async def test_the_beginning_is_as_long_as_allowed(fetcher: CurlFetcher, web: HostileWeb, path: str) -> None:
    limits = FetchLimits(max_body_bytes=600_000, idle_timeout_s=1)
    result = await fetcher.get(FetchRequest(web.url(path), limits=limits, keeps_beginning=True))
    if path == "/length/huge":  # it never sends what it announces
        assert failed(result).kind is not K.TOO_LARGE
        return
    response = answered(result)
    assert (response.status, response.truncated, len(response.body)) == (200, True, 600_000)


async def test_a_bomb_has_a_beginning(fetcher: CurlFetcher, web: HostileWeb) -> None:
    request = FetchRequest(web.url("/bomb/gzip"), limits=FetchLimits(max_body_bytes=600_000), keeps_beginning=True)
    response = answered(await fetcher.get(request))
    assert (response.truncated, len(response.body)) == (True, 600_000)


async def test_the_cap_on_the_wire_is_separate(fetcher: CurlFetcher, web: HostileWeb) -> None:
    result = await fetcher.get(FetchRequest(web.url("/endless"), limits=FetchLimits(max_wire_bytes=100_000)))
    failure = failed(result)
    assert failure.kind is K.TOO_LARGE
    assert failure.wire_bytes < 300_000


async def test_many_bad_answers_at_once_do_not_touch_each_other(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    fetcher = make_fetcher(max_concurrency=32, max_connections_per_host=64)
    chosen = [case for case in BROKEN if "large" not in case[0]]
    requests = [fetcher.get(FetchRequest(web.url(path), limits=PATIENT)) for path, _ in chosen]
    good = [fetcher.get(FetchRequest(web.url("/encoded/gzip"))) for _ in range(20)]
    results: list[Response | FetchFailure] = await asyncio.gather(*requests, *good)
    for (path, kind), result in zip(chosen, results, strict=False):
        # On a kept connection an unannounced end may hit the next request instead: that is a reset, too.
        assert failed(result).kind in (kind, K.RESET), path
    assert all(isinstance(result, FetchFailure | Response) for result in results)
    assert sum(isinstance(result, Response) and result.body == PLAIN for result in results) >= 10
