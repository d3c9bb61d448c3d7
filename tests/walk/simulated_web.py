"""Fetchers without a network: a web in memory, and one whose pages take several requests, as a browser's do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from comity.assemble import State
from comity.model.fetch import Ask, FailureKind, FetchFailure, FetchRequest, Headers, NotAllowed, OnSent, Response
from comity.operate.seeds import add_seeds
from comity.rules.canonical import web_address
from comity.rules.seed_list import read_seed
from comity.walk.crawl.crawl import Crawl
from comity.walk.crawl.progress import RunSummary


class SimulatedWeb:
    """Answers from a table of URLs; other paths of its hosts are missing, other hosts have no address."""

    def __init__(self, pages: Mapping[str, str | Response], clock: Callable[[], float]) -> None:
        self.pages = dict(pages)
        self.clock = clock
        self.requests: list[FetchRequest] = []
        self.forgotten: list[str] = []
        self.most_at_once = 0
        self._hosts = {web_address(url).host for url in pages}
        self._under_way = 0

    async def get(self, request: FetchRequest, on_sent: OnSent | None = None) -> Response | FetchFailure:
        self.requests.append(request)
        self._under_way += 1
        self.most_at_once = max(self.most_at_once, self._under_way)
        started_at = self.clock()
        if on_sent is not None:
            on_sent()
        await asyncio.sleep(0)
        self._under_way -= 1
        if web_address(request.url).host not in self._hosts:
            return FetchFailure(request.url, FailureKind.DNS_FAILURE, "no such host", started_at, 0.0)
        found = self.pages.get(request.url)
        if isinstance(found, Response):
            return found._replace(started_at=started_at)
        return answer(request.url, found, 200 if found is not None else 404)._replace(started_at=started_at)

    async def get_page(self, request: FetchRequest, ask: Ask) -> Response | FetchFailure | NotAllowed:
        return await ask(request, self.get)

    def poll(self) -> None:
        pass

    def forget_host(self, host: str) -> int:
        self.forgotten.append(host)
        return 0

    def close(self) -> None:
        pass

    def urls(self) -> list[str]:
        return [request.url for request in self.requests]


class AssemblingWeb(SimulatedWeb):
    """A page is there once its parts are: they are fetched one after the other, and shown in it."""

    def __init__(
        self, pages: Mapping[str, str | Response], clock: Callable[[], float], parts: Mapping[str, tuple[str, ...]]
    ) -> None:
        super().__init__(pages, clock)
        self.parts = parts
        self.refused: list[tuple[str, str]] = []

    async def get_page(self, request: FetchRequest, ask: Ask) -> Response | FetchFailure | NotAllowed:
        response = await ask(request, self.get)
        if not isinstance(response, Response) or response.status != 200:
            return response
        body = response.body
        for url in self.parts.get(request.url, ()):
            part = await ask(FetchRequest(url), self.get)
            if isinstance(part, NotAllowed):
                self.refused.append((url, part.code))
            elif isinstance(part, Response):
                body += b"<p>" + part.body + b"</p>"
        return response._replace(body=body)


def answer(url: str, body: str | None, status: int = 200, **headers: str) -> Response:
    data = (body or "").encode()
    kind = "text/plain" if url.endswith((".txt", ".js")) else "text/html"
    fields = Headers({"content-type": kind, **headers}.items())
    return Response(url, status, fields, data, "2", "192.0.2.1", 0.0, 0.0, 0.001, 0.002, len(data))


def crawl_of(state: State, fetcher: SimulatedWeb, *seeds: str) -> Crawl:
    read = [read_seed(text) for text in seeds]
    add_seeds(state.database, state.clock, read, source="test", frontier=state.frontier)
    return state.crawl(fetcher, {seed.host.authority for seed in read})


def crawled(state: State, fetcher: SimulatedWeb, *seeds: str) -> RunSummary:
    """Crawl a simulated web."""

    async def run() -> RunSummary:
        return await asyncio.wait_for(crawl_of(state, fetcher, *seeds).run(), 60.0)

    return asyncio.run(run())
