"""The peer of bench/crawl: Scrapy as a careful user would tune it, run by the interpreter of its own environment.

    python bench/_scrapy_spider.py SEEDS FOLDER [JOBDIR]

It obeys robots.txt, keeps every page's URL, status and body, and checks duplicates before the queue. Whatever such a
crawl does not need is off: cookies, retries, statistics, the middlewares for logins, proxies, refreshes and referrers.
"""

import sys
from pathlib import Path
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from w3lib.url import safe_url_string


class SiteSpider(scrapy.Spider):
    """Follows links on the hosts of its seeds."""

    name = "site"

    def __init__(self, seeds: str, out: str, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.seeds = Path(seeds).read_text().split()
        self.hosts = {urlsplit(seed).netloc for seed in self.seeds}
        self.seen: set[str] = set(self.seeds)  # URLs as they are sent, and as pages write them
        self.out = Path(out).open("ab")  # noqa: SIM115  # open for as long as the spider lives

    async def start(self):
        """Ask for the seeds."""
        for seed in self.seeds:
            yield scrapy.Request(seed, dont_filter=True)

    def parse(self, response):
        """Keep the page, and ask for what it links to."""
        self.out.write(response.url.encode() + b" %d %d\n" % (response.status, len(response.body)) + response.body)
        for href in response.xpath("//a[not(contains(@rel, 'nofollow'))]/@href").getall():
            url = response.urljoin(href).partition("#")[0]
            if url in self.seen:
                continue
            self.seen.add(url)
            sent = safe_url_string(url)
            if sent != url:
                if sent in self.seen:
                    continue
                self.seen.add(sent)
            if urlsplit(sent).netloc in self.hosts:
                yield scrapy.Request(sent, dont_filter=True)


DOWNLOADER = "scrapy.downloadermiddlewares"
SPIDER = "scrapy.spidermiddlewares"
SETTINGS = {
    "ROBOTSTXT_OBEY": True,
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "CONCURRENT_ITEMS": 2,
    "DOWNLOAD_DELAY": 0,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "ERROR",
    "REACTOR_THREADPOOL_MAXSIZE": 4,
    "DOWNLOADER_STATS": False,
    "DOWNLOADER_MIDDLEWARES": {
        f"{DOWNLOADER}.offsite.OffsiteMiddleware": None,
        f"{DOWNLOADER}.httpauth.HttpAuthMiddleware": None,
        f"{DOWNLOADER}.downloadtimeout.DownloadTimeoutMiddleware": None,
        f"{DOWNLOADER}.redirect.MetaRefreshMiddleware": None,
        f"{DOWNLOADER}.httpproxy.HttpProxyMiddleware": None,
        f"{DOWNLOADER}.stats.DownloaderStats": None,
    },
    "SPIDER_MIDDLEWARES": {
        f"{SPIDER}.referer.RefererMiddleware": None,
        f"{SPIDER}.urllength.UrlLengthMiddleware": None,
        f"{SPIDER}.depth.DepthMiddleware": None,
    },
    "EXTENSIONS": {
        "scrapy.extensions.corestats.CoreStats": None,
        "scrapy.extensions.logstats.LogStats": None,
        "scrapy.extensions.memusage.MemoryUsage": None,
    },
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "USER_AGENT": "bench/1.0",
}


if __name__ == "__main__":
    seeds, folder, *jobdir = sys.argv[1:]
    process = CrawlerProcess({**SETTINGS, **({"JOBDIR": jobdir[0]} if jobdir else {})})
    process.crawl(SiteSpider, seeds=seeds, out=f"{folder}/pages.bin")
    process.start()
