"""Pages per second and CPU per page: our fetcher beside bare pycurl, aiohttp and httpx.

    python bench/fetch.py [--repeats 5] [--pages 8000] [--concurrency 64] [--clients comity,bare-pycurl]

An origin on core 0 answers from memory with gzip pages of 15–60 KB; each client runs in a process of its own on
core 1 and inflates every body. Rounds are interleaved, so that a noisy minute touches all alike. CPU is counted
from the first answer on: imports and connecting are not part of it. "bare-pycurl" is a loop around CurlMulti that
does nothing but fetch and inflate; "pycurl-heads" reads the head, the address and the times as well, which is the
same work as ours but for guard, limits and asyncio; "pycurl-asyncio" is that on pycurl's own asyncio driver.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import select
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, ClassVar

PAGES = 200
CAP_BYTES = 10_000_000
IDENTITY = "bench/1.0 (+https://example.org/bot)"


# -- origin ------------------------------------------------------------------------------------------------------


def build_pages() -> list[bytes]:
    """Pages with links and text whose words are as unevenly frequent as in real language."""
    chance = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 11))) for _ in range(3000)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    answers = []
    for number in range(PAGES):
        size = 15_000 + number * 45_000 // (PAGES - 1)
        parts = [f"<!doctype html><html><head><title>Page {number}</title></head><body><ul>"]
        parts += [
            f'<li class="nav-item"><a href="/p/{chance.randrange(PAGES)}">{" ".join(chance.choices(words, k=3))}</a>'
            for _ in range(50)
        ]
        length = sum(map(len, parts))
        while length < size:
            parts.append(f'<p class="text">{" ".join(chance.choices(words, weights, k=60))}</p>\n')
            length += len(parts[-1])
        coder = zlib.compressobj(6, zlib.DEFLATED, 31)
        body = coder.compress("".join(parts).encode()) + coder.flush()
        head = (
            "HTTP/1.1 200 OK\r\nServer: origin\r\nDate: Mon, 15 Jan 2024 10:00:00 GMT\r\n"
            "Content-Type: text/html; charset=utf-8\r\nLast-Modified: Mon, 15 Jan 2024 10:00:00 GMT\r\n"
            f'ETag: "{number:08x}"\r\nVary: Accept-Encoding\r\nContent-Encoding: gzip\r\n'
            f"Connection: keep-alive\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        answers.append(head.encode() + body)
    return answers


class Origin(asyncio.Protocol):
    """Answers whatever asks for /p/NUMBER; one read is taken for one request."""

    answers: ClassVar[list[bytes]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        number = int(data[7 : data.find(b" ", 7)])
        self.transport.write(self.answers[number % PAGES])  # type: ignore[attr-defined]


def run_origin() -> None:
    import uvloop

    Origin.answers = build_pages()

    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(Origin, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    uvloop.run(serve())


# -- clients -----------------------------------------------------------------------------------------------------


class Meter:
    """CPU and wall time from the first `start` on."""

    def start(self) -> None:
        self.wall, self.cpu = time.perf_counter(), self._cpu()

    def stop(self, pages: int, body_bytes: int) -> dict[str, float]:
        wall, cpu = time.perf_counter() - self.wall, self._cpu() - self.cpu
        return {"pages_s": pages / wall, "cpu_us": cpu / pages * 1e6, "body": body_bytes / pages}

    @staticmethod
    def _cpu() -> float:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return used.ru_utime + used.ru_stime


def addresses(port: int, pages: int) -> Iterator[str]:
    return (f"http://127.0.0.1:{port}/p/{number % PAGES}" for number in range(pages))


async def drive(fetch: Callable[[str], Awaitable[int]], port: int, pages: int, concurrency: int) -> dict[str, float]:
    """Warm up every connection, then fetch with a fixed number of tasks."""
    body_bytes = 0

    async def worker(urls: Iterator[str]) -> None:
        nonlocal body_bytes
        for url in urls:
            size = await fetch(url)
            body_bytes += size

    warm = addresses(port, concurrency * 2)
    await asyncio.gather(*(worker(warm) for _ in range(concurrency)))
    body_bytes = 0
    urls = addresses(port, pages)
    meter = Meter()
    meter.start()
    await asyncio.gather(*(worker(urls) for _ in range(concurrency)))
    return meter.stop(pages, body_bytes)


async def comity(port: int, pages: int, concurrency: int) -> dict[str, float]:
    from comity.fetch.fetcher import CurlFetcher
    from comity.fetch.settings import FetchSettings
    from comity.model.fetch import ContentTypeRules, FetchRequest, Response

    settings = FetchSettings(
        IDENTITY,
        contact="bench@example.org",
        max_concurrency=concurrency,
        max_connections_per_host=concurrency,
        allowed_networks=("127.0.0.1/32",),
    )
    wanted = ContentTypeRules(accept=("text/html", "application/xhtml+xml"))
    async with CurlFetcher(settings, time.time) as fetcher:

        async def fetch(url: str) -> int:
            answer = await fetcher.get(FetchRequest(url, content_types=wanted))
            assert isinstance(answer, Response), answer
            return len(answer.body)

        return await drive(fetch, port, pages, concurrency)


async def aiohttp_client(port: int, pages: int, concurrency: int) -> dict[str, float]:
    import aiohttp

    headers = {"User-Agent": IDENTITY, "Accept-Encoding": "gzip"}
    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def fetch(url: str) -> int:
            async with session.get(url, allow_redirects=False) as answer:
                return len(await answer.read())

        return await drive(fetch, port, pages, concurrency)


async def httpx_client(port: int, pages: int, concurrency: int) -> dict[str, float]:
    import httpx

    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    async with httpx.AsyncClient(headers={"User-Agent": IDENTITY}, limits=limits, trust_env=False) as client:

        async def fetch(url: str) -> int:
            return len((await client.get(url)).content)

        return await drive(fetch, port, pages, concurrency)


def new_handle(*, heads: bool) -> Any:
    """An easy handle that collects what comes without code of ours."""
    import pycurl

    easy = pycurl.Curl()
    easy.chunks, easy.lines = [], []
    easy.setopt(pycurl.WRITEFUNCTION, easy.chunks.append)
    easy.setopt(pycurl.HTTPHEADER, ["Accept-Encoding: gzip", f"User-Agent: {IDENTITY}"])
    if heads:
        easy.setopt(pycurl.HEADERFUNCTION, easy.lines.append)
    return easy


def take_page(easy: Any, *, heads: bool) -> int:
    """Inflate the body with isal; with `heads`, also read the head, the peer and the times, as a crawler must."""
    import pycurl
    from isal import isal_zlib

    wire = b"".join(easy.chunks)
    easy.chunks.clear()
    if heads:
        fields = {}
        for line in easy.lines[1:-1]:
            name, _, value = line.decode("latin-1").partition(":")
            fields[name.lower()] = value.strip()
        easy.lines.clear()
        assert fields["content-type"].startswith("text/html")
        assert easy.getinfo(pycurl.RESPONSE_CODE) == 200
        easy.page = (
            fields,
            easy.getinfo(pycurl.PRIMARY_IP),
            easy.getinfo(pycurl.INFO_HTTP_VERSION),
            easy.getinfo(pycurl.STARTTRANSFER_TIME),
            easy.getinfo(pycurl.TOTAL_TIME),
        )
    return len(isal_zlib.decompressobj(31).decompress(wire, CAP_BYTES))


def bare_pycurl(port: int, pages: int, concurrency: int, *, heads: bool = False) -> dict[str, float]:
    """CurlMulti in a loop of its own: the least that can be done in Python."""
    import pycurl

    multi = pycurl.CurlMulti()
    handles = [new_handle(heads=heads) for _ in range(concurrency)]

    def fetch_all(count: int) -> int:
        body_bytes = done = 0
        urls = addresses(port, count)
        for easy, url in zip(handles, urls, strict=False):
            easy.setopt(pycurl.URL, url)
            multi.add_handle(easy)
        while done < count:
            multi.perform()
            left = 1
            while left:
                left, succeeded, failed = multi.info_read()
                assert not failed, failed
                for easy in succeeded:
                    multi.remove_handle(easy)
                    body_bytes += take_page(easy, heads=heads)
                    done += 1
                    url = next(urls, "")
                    if url:
                        easy.setopt(pycurl.URL, url)
                        multi.add_handle(easy)
            if done < count:
                multi.select(1.0)
        return body_bytes

    fetch_all(concurrency * 2)
    meter = Meter()
    meter.start()
    return meter.stop(pages, fetch_all(pages))


async def pycurl_asyncio(port: int, pages: int, concurrency: int) -> dict[str, float]:
    """pycurl's own asyncio driver, heads and all."""
    import pycurl

    free = [new_handle(heads=True) for _ in range(concurrency)]
    async with pycurl.AsyncCurlMulti() as multi:

        async def fetch(url: str) -> int:
            easy = free.pop()
            easy.setopt(pycurl.URL, url)
            await multi.perform(easy)
            size = take_page(easy, heads=True)
            free.append(easy)
            return size

        return await drive(fetch, port, pages, concurrency)


def on_uvloop(client: Callable[[int, int, int], Awaitable[dict[str, float]]]) -> Callable[..., dict[str, float]]:
    def run(*arguments: int) -> dict[str, float]:
        import uvloop

        return uvloop.run(client(*arguments))  # type: ignore[arg-type]

    return run


# name → (how to run it, share of the pages: slow clients need fewer for a steady figure)
CLIENTS: dict[str, tuple[Callable[..., dict[str, float]], float]] = {
    "bare-pycurl": (bare_pycurl, 1.0),
    "pycurl-heads": (lambda *arguments: bare_pycurl(*arguments, heads=True), 1.0),
    "pycurl-asyncio": (on_uvloop(pycurl_asyncio), 1.0),
    "comity": (on_uvloop(comity), 1.0),
    "comity-stdloop": (lambda *arguments: asyncio.run(comity(*arguments)), 1.0),
    "aiohttp-uvloop": (on_uvloop(aiohttp_client), 0.25),
    "httpx": (on_uvloop(httpx_client), 0.15),
}


# -- the comparison ----------------------------------------------------------------------------------------------


def pinned(core: int) -> Callable[[], None]:
    cores = sorted(os.sched_getaffinity(0))
    chosen = cores[core % len(cores)]
    return lambda: os.sched_setaffinity(0, {chosen})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--pages", type=int, default=8000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--clients", default=",".join(CLIENTS))
    parser.add_argument("--role", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role == "origin":
        run_origin()
    elif options.role:
        print(json.dumps(CLIENTS[options.role][0](options.port, options.pages, options.concurrency)))
    else:
        compare(options)


def compare(options: argparse.Namespace) -> None:
    origin = subprocess.Popen(
        [sys.executable, __file__, "--role", "origin"], stdout=subprocess.PIPE, text=True, preexec_fn=pinned(0)
    )
    names = options.clients.split(",")
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    try:
        assert origin.stdout is not None
        assert select.select([origin.stdout], [], [], 30)[0], "the origin did not start"
        port = int(origin.stdout.readline())
        for _ in range(options.repeats):
            for name in names:
                figures[name].append(measure(name, port, options))
    finally:
        origin.kill()
        origin.wait()
    report(figures)


def measure(name: str, port: int, options: argparse.Namespace) -> dict[str, float]:
    pages = int(options.pages * CLIENTS[name][1])
    arguments = ["--role", name, "--port", str(port), "--pages", str(pages), "--concurrency", str(options.concurrency)]
    finished = subprocess.run(
        [sys.executable, __file__, *arguments], check=True, capture_output=True, text=True, preexec_fn=pinned(1)
    )
    return json.loads(finished.stdout)


def report(figures: dict[str, list[dict[str, float]]]) -> None:
    """Best and median of each client; then its CPU against the two plain loops, best to best and median to median."""
    costs = {name: [run["cpu_us"] for run in runs] for name, runs in figures.items()}
    bases = [name for name in ("bare-pycurl", "pycurl-heads") if name in costs]
    titles = ["pages/s best", "median", "CPU µs best", "median", *(f"/ {name}" for name in bases)]
    print(f"{'client':<16}" + "".join(f"{title:>16}" for title in titles))
    for name, runs in figures.items():
        speeds = [run["pages_s"] for run in runs]
        best, median = min(costs[name]), statistics.median(costs[name])
        ratios = "".join(
            f"{best / min(costs[base]):>9.2f}{median / statistics.median(costs[base]):>7.2f}" for base in bases
        )
        print(f"{name:<16}{max(speeds):>16,.0f}{statistics.median(speeds):>16,.0f}{best:>16.1f}{median:>16.1f}{ratios}")


if __name__ == "__main__":
    main()
