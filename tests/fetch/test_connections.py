"""Connections are kept, counted, forgotten and never asked twice; handles are bounded and come back."""

from __future__ import annotations

import asyncio
import gc
import os
import time
import warnings
from contextlib import closing, suppress

import pytest

from comity.fetch.dialler import Ends
from comity.fetch.fetcher import CurlFetcher
from comity.model.fetch import FailureKind, FetchLimits, FetchRequest, Response
from tests.fetch.conftest import MakeFetcher
from tests.fetch.test_get import answered, failed
from tests.hostile.bodies import PLAIN
from tests.hostile.web import Exchange, HostileWeb


async def test_one_connection_serves_request_after_request(fetcher: CurlFetcher, web: HostileWeb) -> None:
    for _ in range(10):
        assert answered(await fetcher.get(FetchRequest(web.url("/encoded/gzip")))).status == 200
    assert {arrival.connection for arrival in web.log.arrivals} == {web.log.arrivals[0].connection}
    assert fetcher.open_connections == 1


async def test_a_connection_is_kept_while_another_host_is_served(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    fetcher = make_fetcher(resolve=web.resolve("a.test", "b.test"))
    for host in ("a.test", "b.test", "a.test", "b.test"):
        assert answered(await fetcher.get(FetchRequest(web.url("/ok", host=host)))).status == 200
    for host in ("a.test", "b.test"):
        assert len({arrival.connection for arrival in web.log.of(host)}) == 1
    assert fetcher.open_connections == 2


async def test_a_forgotten_host_is_dialled_anew_and_others_are_not(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    fetcher = make_fetcher(resolve=web.resolve("www.a.test", "b.test"))
    for host in ("www.a.test", "b.test"):
        await fetcher.get(FetchRequest(web.url("/ok", host=host)))
    assert fetcher.forget_host(f"a.test:{web.port}") == 1
    assert fetcher.forget_host(f"a.test:{web.port}") == 0
    assert fetcher.forget_host("never.test") == 0
    for host in ("www.a.test", "b.test"):
        assert answered(await fetcher.get(FetchRequest(web.url("/ok", host=host)))).body == PLAIN
    assert len({arrival.connection for arrival in web.log.of("www.a.test")}) == 2
    assert len({arrival.connection for arrival in web.log.of("b.test")}) == 1


async def test_a_connection_in_use_is_not_forgotten(fetcher: CurlFetcher, web: HostileWeb) -> None:
    task = asyncio.create_task(fetcher.get(FetchRequest(web.url("/slow-first-byte?ms=200"))))
    await until(lambda: bool(web.log.arrivals))
    assert fetcher.forget_host(web.authority) == 0
    assert answered(await task).body == b"late"


async def test_a_request_is_never_sent_twice(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    """libcurl would quietly ask again when a kept connection dies under a request; the gate must know."""
    fetcher = make_fetcher(max_concurrency=1)
    assert answered(await fetcher.get(FetchRequest(web.url("/close/second")))).body == b"first"
    failure = failed(await fetcher.get(FetchRequest(web.url("/close/second"))))
    assert failure.kind is FailureKind.RESET
    assert failure.kind.is_network
    assert len(web.log.arrivals) == 2
    assert answered(await fetcher.get(FetchRequest(web.url("/close/second")))).body == b"first"


async def test_a_connection_that_the_server_closed_meanwhile_is_not_used(fetcher: CurlFetcher, web: HostileWeb) -> None:
    sockets = []

    async def answer_then_close(exchange: Exchange) -> None:
        sockets.append(exchange.writer.get_extra_info("socket"))
        exchange.keep_alive = False
        await exchange.answer(b"goodbye")

    web.add("/last", answer_then_close)
    for _ in range(3):
        assert answered(await fetcher.get(FetchRequest(web.url("/last")))).body == b"goodbye"
        await until(lambda: sockets[-1].fileno() == -1)
        await asyncio.sleep(0.05)  # the loop hears of the end
    assert web.log.connections == 3
    assert fetcher.open_connections <= 1


async def test_the_pool_is_bounded_and_the_waiting_get_their_turn(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    fetcher = make_fetcher(max_concurrency=3, max_connections=3, max_connections_per_host=10)
    at_once: list[int] = [0]

    async def count(exchange: Exchange) -> None:
        at_once.append(at_once[-1] + 1)
        await asyncio.sleep(0.02)
        at_once.append(at_once[-1] - 1)
        await exchange.answer(b"counted")

    web.add("/count", count)
    results = await asyncio.gather(*(fetcher.get(FetchRequest(web.url("/count"))) for _ in range(20)))
    assert [answered(result).body for result in results] == [b"counted"] * 20
    assert max(at_once) == 3
    assert web.log.connections == 3


async def test_no_more_connections_to_a_host_than_allowed(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    fetcher = make_fetcher(max_concurrency=8, max_connections_per_host=2)
    results = await asyncio.gather(*(fetcher.get(FetchRequest(web.url("/slow-first-byte?ms=30"))) for _ in range(8)))
    assert all(isinstance(result, Response) for result in results)
    assert web.log.connections == 2


async def test_a_cancelled_request_ends_at_once_and_leaves_no_trace(fetcher: CurlFetcher, web: HostileWeb) -> None:
    for path in ("/hang", "/stalled-body", "/slow-body"):
        web.log.clear()
        task = asyncio.create_task(fetcher.get(FetchRequest(web.url(path))))
        await until(lambda: bool(web.log.arrivals))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert fetcher.in_flight == 0
    assert fetcher.open_connections == 0
    assert answered(await fetcher.get(FetchRequest(web.url("/ok")))).body == PLAIN


async def test_a_timeout_around_a_request_works_like_anywhere(fetcher: CurlFetcher, web: HostileWeb) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await fetcher.get(FetchRequest(web.url("/hang")))
    assert fetcher.in_flight == 0


async def test_those_who_wait_for_a_handle_may_be_cancelled_too(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    fetcher = make_fetcher(max_concurrency=1)
    first = asyncio.create_task(fetcher.get(FetchRequest(web.url("/slow-first-byte?ms=100"))))
    waiting = [asyncio.create_task(fetcher.get(FetchRequest(web.url("/ok")))) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    waiting[1].cancel()
    assert answered(await first).body == b"late"
    assert answered(await asyncio.wait_for(waiting[2], 60)).body == PLAIN
    assert [task.cancelled() for task in waiting] == [True, True, False]


async def test_the_one_whose_turn_it_was_passes_it_on_when_cancelled(
    make_fetcher: MakeFetcher, web: HostileWeb
) -> None:
    fetcher = make_fetcher(max_concurrency=1)

    async def hold_then_cancel_the_next() -> None:
        await fetcher.get(FetchRequest(web.url("/ok")))
        waiting[0].cancel()  # it has been woken, but has not run yet

    holder = asyncio.create_task(hold_then_cancel_the_next())
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(fetcher.get(FetchRequest(web.url("/ok")))) for _ in range(2)]
    await holder
    assert answered(await asyncio.wait_for(waiting[1], 60)).body == PLAIN
    assert waiting[0].cancelled()


async def test_closing_ends_everything_as_cancelled_and_may_be_repeated(
    make_fetcher: MakeFetcher, web: HostileWeb
) -> None:
    fetcher = make_fetcher(max_concurrency=2)
    tasks = [asyncio.create_task(fetcher.get(FetchRequest(web.url("/hang")))) for _ in range(4)]
    await until(lambda: len(web.log.arrivals) == 2)
    fetcher.close()
    fetcher.close()
    results = await asyncio.wait_for(asyncio.gather(*tasks), 60)
    assert [failed(result).kind for result in results] == [FailureKind.CANCELLED] * 4
    assert not FailureKind.CANCELLED.is_network
    assert not FailureKind.CANCELLED.is_refusal
    late = failed(await fetcher.get(FetchRequest(web.url("/ok"))))
    assert late.kind is FailureKind.CANCELLED
    assert fetcher.forget_host(web.authority) == 0
    assert fetcher.open_connections == 0


async def test_a_fetcher_that_was_never_used_closes_too(make_fetcher: MakeFetcher) -> None:
    fetcher = make_fetcher()
    assert (fetcher.in_flight, fetcher.open_connections, fetcher.forget_host("a.test")) == (0, 0, 0)
    fetcher.close()


async def test_nothing_is_left_open_or_unclosed(web: HostileWeb, make_fetcher: MakeFetcher) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            fetcher = make_fetcher()
            paths = ["/ok", "/reset/body", "/endless", "/header-flood", "/length/long"] * 4
            await asyncio.gather(*(fetcher.get(FetchRequest(web.url(path))) for path in paths))
            fetcher.close()
        del fetcher
        gc.collect()
    await until(lambda: len(os.listdir("/proc/self/fd")) <= before + 2)


def test_a_fetcher_lives_on_one_loop(web: HostileWeb) -> None:
    from comity.fetch.settings import FetchSettings

    fetcher = CurlFetcher(FetchSettings("test/1.0", allowed_networks=("127.0.0.1",)), time.time)

    async def use() -> None:
        answered(await fetcher.get(FetchRequest(web.url("/ok"))))

    asyncio.run(use())
    with pytest.raises(RuntimeError, match="one event loop"):
        asyncio.run(use())
    fetcher.close()


async def test_dead_hosts_end_as_connect_failures(make_fetcher: MakeFetcher) -> None:
    fetcher = make_fetcher(resolve={"dead.test": "127.0.0.1"})
    failure = failed(await fetcher.get(FetchRequest("http://dead.test:9/", limits=FetchLimits())))
    assert failure.kind is FailureKind.ADDRESS_REFUSED  # the discard port is not for HTTP
    failure = failed(await fetcher.get(FetchRequest("http://dead.test:4/")))
    assert failure.kind is FailureKind.CONNECT_FAILURE
    assert failure.kind.is_network


async def test_a_name_that_does_not_resolve_is_a_dns_failure(fetcher: CurlFetcher) -> None:
    failure = failed(await fetcher.get(FetchRequest("http://no-such-host.invalid/")))
    assert failure.kind is FailureKind.DNS_FAILURE
    assert failure.kind.is_network


async def test_a_silent_port_is_a_connect_timeout(make_fetcher: MakeFetcher) -> None:
    """A listener whose queue is full answers no handshake."""
    import socket

    fetcher = make_fetcher()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        stuffing = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(address)
            stuffing.append(filler)
        limits = FetchLimits(connect_timeout_s=0.3)
        failure = failed(await fetcher.get(FetchRequest(f"http://127.0.0.1:{address[1]}/", limits=limits)))
        for filler in stuffing:
            filler.close()
    assert failure.kind is FailureKind.CONNECT_TIMEOUT
    assert 0.3 <= failure.elapsed_s < 30


async def until(met: object, seconds: float = 60.0) -> None:
    assert callable(met)
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.005)


async def test_a_connection_is_known_by_both_ends_not_by_its_local_port(make_fetcher: MakeFetcher) -> None:
    """The kernel gives one local port to connections to different addresses: with thousands of hosts it often does."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionResetError), closing(writer):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    accepted: list[asyncio.StreamWriter] = []
    servers = [await asyncio.start_server(answer, f"127.0.0.{n}", 0) for n in (71, 72)]
    ports = [server.sockets[0].getsockname()[1] for server in servers]
    urls = [f"http://127.0.0.{n}:{port}/" for n, port in zip((71, 72), ports, strict=True)]
    fetcher = make_fetcher(allowed_networks=("127.0.0.0/8",))
    for url in urls:
        assert answered(await fetcher.get(FetchRequest(url))).body == b"ok"
    gone, kept = (writer.get_extra_info("peername")[1] for writer in accepted)
    assert fetcher.forget_host(f"127.0.0.71:{ports[0]}") == 1
    connections = fetcher._connections
    assert [ends.local_port for ends in connections.dead] == [gone]
    connections.dead[Ends("127.0.0.71", ports[0], kept)] = None  # as if both had the port of the second
    assert answered(await fetcher.get(FetchRequest(urls[1]))).body == b"ok"
    assert len(accepted) == 2, "the second connection was kept"
    assert answered(await fetcher.get(FetchRequest(urls[0]))).body == b"ok"
    assert len(accepted) == 3
    fetcher.close()
    for server in servers:
        server.close()
    for writer in accepted:
        writer.close()
        with suppress(ConnectionResetError):
            await writer.wait_closed()


async def test_forgetting_a_host_looks_at_its_own_connections_only(make_fetcher: MakeFetcher, web: HostileWeb) -> None:
    names = [f"h{number}.test" for number in range(5)]
    fetcher = make_fetcher(resolve=web.resolve(*names))
    for name in names:
        assert answered(await fetcher.get(FetchRequest(web.url("/ok", host=name)))).status == 200
    looked: list[int] = []
    connections = fetcher._connections
    assert connections.shut(f"h3.test:{web.port}", lambda descriptor: bool(looked.append(descriptor)) or True) == 1
    assert len(looked) == 1
    assert fetcher.open_connections == 4
