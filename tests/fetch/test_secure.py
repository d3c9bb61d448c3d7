"""TLS is always verified; HTTP/2 is spoken where the server does, with the same limits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from comity.fetch.fetcher import CurlFetcher
from comity.model.fetch import FailureKind, FetchLimits, FetchRequest, Response
from tests.fetch.conftest import MakeFetcher
from tests.fetch.test_connections import until
from tests.fetch.test_get import answered, failed
from tests.hostile.bodies import PLAIN
from tests.hostile.http2 import HostileHttp2
from tests.hostile.web import HostileWeb

K = FailureKind


@pytest.fixture(scope="module")
def shared_http2() -> Iterator[HostileHttp2]:
    with HostileHttp2() as server:
        yield server


@pytest.fixture
def http2(shared_http2: HostileHttp2) -> HostileHttp2:
    shared_http2.log.clear()
    shared_http2.connections = 0
    return shared_http2


async def test_a_page_comes_over_tls(fetcher: CurlFetcher, secure_web: HostileWeb) -> None:
    response = answered(await fetcher.get(FetchRequest(secure_web.url("/encoded/gzip"))))
    assert (response.status, response.body, response.http_version) == (200, PLAIN, "1.1")


async def test_an_authority_that_we_do_not_know_is_refused(make_fetcher: MakeFetcher, secure_web: HostileWeb) -> None:
    secure_web.log.clear()
    failure = failed(await make_fetcher(ca_file=None).get(FetchRequest(secure_web.url("/ok"))))
    assert failure.kind is K.CERTIFICATE_REFUSED
    assert failure.kind.is_refusal
    assert secure_web.log.arrivals == []


@pytest.mark.parametrize("certificate", ["expired", "elsewhere"])
async def test_a_certificate_out_of_date_or_of_another_host_is_refused(fetcher: CurlFetcher, certificate: str) -> None:
    with HostileWeb(certificate=certificate) as web:
        failure = failed(await fetcher.get(FetchRequest(web.url("/ok"))))
        assert failure.kind is K.CERTIFICATE_REFUSED
        assert web.log.arrivals == []


async def test_plain_text_where_tls_belongs_is_a_tls_failure(fetcher: CurlFetcher) -> None:
    async def answer_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer_plainly, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    failure = failed(await fetcher.get(FetchRequest(f"https://127.0.0.1:{port}/")))
    server.close()
    assert failure.kind is K.TLS_FAILURE
    assert failure.kind.is_network


async def test_a_handshake_that_never_ends_is_a_connect_timeout(fetcher: CurlFetcher) -> None:
    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    limits = FetchLimits(connect_timeout_s=0.3)
    failure = failed(await fetcher.get(FetchRequest(f"https://127.0.0.1:{port}/", limits=limits)))
    server.close()
    assert failure.kind is K.CONNECT_TIMEOUT
    assert failure.elapsed_s < 30


async def test_connections_and_sessions_are_used_again(fetcher: CurlFetcher, secure_web: HostileWeb) -> None:
    secure_web.log.clear()
    for _ in range(3):
        answered(await fetcher.get(FetchRequest(secure_web.url("/ok"))))
    assert secure_web.log.connections == 1
    assert fetcher.forget_host(secure_web.authority) == 1
    answered(await fetcher.get(FetchRequest(secure_web.url("/ok"))))
    assert secure_web.log.connections == 2
    assert [arrival.resumed for arrival in secure_web.log.arrivals] == [False, False, False, True]


async def test_one_slow_page_does_not_hold_up_another_of_its_host(fetcher: CurlFetcher, secure_web: HostileWeb) -> None:
    slow = asyncio.create_task(fetcher.get(FetchRequest(secure_web.url("/hang"))))
    assert answered(await asyncio.wait_for(fetcher.get(FetchRequest(secure_web.url("/ok"))), 60)).status == 200
    slow.cancel()


@pytest.mark.parametrize("path", ["/reset/body", "/length/long", "/chunks/unfinished", "/close/before"])
async def test_a_body_cut_off_under_tls_is_never_short(
    make_fetcher: MakeFetcher, secure_web: HostileWeb, path: str
) -> None:
    failure = failed(await make_fetcher().get(FetchRequest(secure_web.url(path))))
    assert failure.kind is K.RESET


async def test_http2_is_spoken_and_shared(fetcher: CurlFetcher, http2: HostileHttp2) -> None:
    first = answered(await fetcher.get(FetchRequest(http2.url("/ok"))))
    assert (first.status, first.body, first.http_version) == (200, b"over http/2", "2")
    results = await asyncio.gather(*(fetcher.get(FetchRequest(http2.url("/ok"))) for _ in range(20)))
    assert all(isinstance(result, Response) for result in results)
    assert http2.connections == 1
    assert len({arrival.stream for arrival in http2.log}) == 21


async def test_http2_can_be_switched_off(make_fetcher: MakeFetcher, secure_web: HostileWeb) -> None:
    response = answered(await make_fetcher(http2=False).get(FetchRequest(secure_web.url("/ok"))))
    assert response.http_version == "1.1"


async def test_a_large_body_comes_whole_over_http2(fetcher: CurlFetcher, http2: HostileHttp2) -> None:
    response = answered(await fetcher.get(FetchRequest(http2.url("/big?bytes=3000000"))))
    assert response.body == b"x" * 3_000_000


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        ("/hang", {K.FIRST_BYTE_TIMEOUT}),
        ("/big?bytes=10000001", {K.TOO_LARGE}),
        ("/short", {K.RESET, K.PROTOCOL_ERROR}),
        ("/reset-stream", {K.RESET}),
        ("/refuse", {K.RESET}),
        ("/goaway", {K.RESET, K.PROTOCOL_ERROR}),
        ("/drop", {K.RESET, K.PROTOCOL_ERROR}),
        ("/header-flood", {K.HEADER_FLOOD}),
        ("/continuation", {K.HEADER_FLOOD, K.PROTOCOL_ERROR, K.RESET}),
    ],
)
async def test_a_bad_answer_over_http2_ends_in_its_kind(
    fetcher: CurlFetcher, http2: HostileHttp2, path: str, kinds: set[FailureKind]
) -> None:
    limits = FetchLimits(first_byte_timeout_s=0.5 if path == "/hang" else 10)
    failure = failed(await fetcher.get(FetchRequest(http2.url(path), limits=limits)))
    assert failure.kind in kinds, failure
    await until(lambda: bool(http2.log))  # a server that is slower than the limit reads the request later
    await asyncio.sleep(0.05)
    assert [arrival.path for arrival in http2.log] == [path], "asked more than once"
    # A connection whose state was wrecked may cost the next request; the one after it has a new one.
    again = [await fetcher.get(FetchRequest(http2.url("/ok"))) for _ in range(2)]
    assert answered(again[1]).body == b"over http/2"


async def test_cancelling_one_stream_leaves_the_others(fetcher: CurlFetcher, http2: HostileHttp2) -> None:
    assert answered(await fetcher.get(FetchRequest(http2.url("/ok")))).status == 200
    hanging = asyncio.create_task(fetcher.get(FetchRequest(http2.url("/hang"))))
    assert answered(await fetcher.get(FetchRequest(http2.url("/ok")))).status == 200
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    assert answered(await fetcher.get(FetchRequest(http2.url("/ok")))).status == 200
    assert http2.connections == 1
