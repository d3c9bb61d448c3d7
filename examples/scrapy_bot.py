"""A Scrapy spider that takes its URLs from the crawl service, and submits what it finds.

    pip install comity scrapy
    COMITY_URL=https://comity.example BOT_ID=scrapy-1 BOT_KEY=cmty_… scrapy runspider scrapy_bot.py

Scrapy is not a dependency of Comity. The spider starts each request inside its window, keeps the locks of slow pages,
and gives back what it has not finished when it is closed. Scrapy's own delays, retries, redirects and robots.txt are
off: the server decides when a host is asked, has read its robots.txt, and makes a new job of a retry. To be polite with
URLs of your own instead, use the middleware for grants.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from typing import Any

import scrapy
from scrapy import signals
from scrapy.exceptions import DontCloseSpider

from comity.bot import AsyncBotClient, Failure, Job, Result

IN_HAND = 20
BEAT_S = 60.0
IDLE_S = 5.0


class JobSpider(scrapy.Spider):
    """Crawls what the service hands out, until it is closed; `-a until_empty=1` closes it when nothing is left."""

    name = "comity-jobs"
    custom_settings = {  # noqa: RUF012  # Scrapy's own form
        "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
        "ROBOTSTXT_OBEY": False,
        "RETRY_ENABLED": False,
        "REDIRECT_ENABLED": False,
        "DOWNLOAD_DELAY": 0,
        "USER_AGENT": os.environ.get("BOT_USER_AGENT", "scrapy-bot/1.0 (+https://shop.example/bot)"),
    }
    until_empty: Any = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.client = AsyncBotClient(os.environ["COMITY_URL"], os.environ["BOT_ID"], os.environ.get("BOT_KEY"))
        self.held: dict[str, Job] = {}
        self.duties: list[asyncio.Future[None]] = []
        self.is_over = False

    @classmethod
    def from_crawler(cls, crawler: Any, *arguments: Any, **options: Any) -> JobSpider:
        """Listen to the engine."""
        spider: JobSpider = super().from_crawler(crawler, *arguments, **options)
        crawler.signals.connect(spider.stay_open, signal=signals.spider_idle)
        crawler.signals.connect(spider.give_back, signal=signals.spider_closed)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        """Start the two duties beside the crawl; requests come from them."""
        self.duties = [asyncio.ensure_future(duty) for duty in (self.pull_on(), self.keep_locks())]
        for nothing in ():
            yield nothing

    def stay_open(self) -> None:
        """An idle spider waits for jobs."""
        if not self.is_over:
            raise DontCloseSpider

    async def pull_on(self) -> None:
        """Pull while there is room; each job waits for its own window."""
        while True:
            pulled = await self.client.pull(IN_HAND - len(self.held)) if len(self.held) < IN_HAND else None
            for job in pulled.jobs if pulled else ():
                self.held[job.job_id] = job
                self.duties.append(asyncio.ensure_future(self.ask_on_time(job)))
            self.duties = [duty for duty in self.duties if not duty.done()]
            if pulled and not pulled.jobs and not self.held and not sum(pulled.skipped_by_reason.values()):
                self.is_over = bool(self.until_empty)
            wait_s = pulled.retry_after_s if pulled else 0.2
            await asyncio.sleep(0.05 if pulled and pulled.jobs else min(IDLE_S, wait_s or IDLE_S))

    async def ask_on_time(self, job: Job) -> None:
        """Hand the request of a job to the engine when its window opens; give the job back if that was missed."""
        await asyncio.sleep(max(0.0, job.opens_at - time.monotonic()))
        if (now := time.monotonic()) > job.closes_at:
            self.held.pop(job.job_id, None)
            await self.client.release([job.job_id], "the window to start was missed")
            return
        job.mark_started(now)
        meta = {"job": job, "handle_httpstatus_all": True}
        request = scrapy.Request(job.url, self.parse, errback=self.failed, dont_filter=True, meta=meta)
        self.crawler.engine.crawl(request)

    async def parse(self, response: Any) -> None:
        """Submit what a page says."""
        outcome: Result | Failure
        if response.status != 200:
            wait = response.headers.get("Retry-After", b"").decode()
            outcome = Failure(f"HTTP {response.status}", response.status, float(wait) if wait.isdigit() else None)
        else:
            outcome = Result(
                title=response.css("title::text").get(),
                price=response.css("[itemprop=price]::attr(content)").get(),
                currency=response.css("[itemprop=priceCurrency]::attr(content)").get(),
                raw_html=response.text,
                http_status=response.status,
            )
        await self.finish(response.meta["job"], outcome)

    async def failed(self, failure: Any) -> None:
        """Submit that a request failed."""
        await self.finish(failure.request.meta["job"], Failure(repr(failure.value)))

    async def finish(self, job: Job, outcome: Result | Failure) -> None:
        """Submit, and forget the job."""
        await self.client.submit(job, outcome)
        self.held.pop(job.job_id, None)

    async def keep_locks(self) -> None:
        """Prolong the locks in hand."""
        while True:
            await asyncio.sleep(BEAT_S)
            if self.held:
                await self.client.heartbeat(list(self.held))

    async def give_back(self) -> None:
        """Release every job in hand."""
        for duty in self.duties:
            duty.cancel()
        if self.held:
            await self.client.release(list(self.held), "the spider was closed")
        self.client.close()
