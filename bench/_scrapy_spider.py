"""The peer of bench/crawl: Scrapy as a careful user would tune it, run by the interpreter of its own environment.

    python bench/_scrapy_spider.py SEEDS FOLDER [JOBDIR]

It obeys robots.txt, keeps every page's URL, status and body, checks duplicates before the queue, and drops what a
crawl like this does not need (cookies, retries' logs, telnet, statistics).
"""

import sys
from pathlib import Path
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess


class SiteSpider(scrapy.Spider):
    """Follows links on the hosts of its seeds."""

    name = "site"

    def __init__(self, seeds: str, out: str, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.seeds = Path(seeds).read_text().split()
        self.hosts = {urlsplit(seed).netloc for seed in self.seeds}
        self.seen: set[str] = set(self.seeds)
        self.out = Path(out).open("ab")  # noqa: SIM115  # open for as long as the spider lives

    async def start(self):
        for seed in self.seeds:
            yield scrapy.Request(seed, dont_filter=True)

    def parse(self, response):
        self.out.write(response.url.encode() + b" %d %d\n" % (response.status, len(response.body)) + response.body)
        for href in response.xpath("//a/@href").getall():
            url = response.urljoin(href)
            if url not in self.seen and urlsplit(url).netloc in self.hosts:
                self.seen.add(url)
                yield scrapy.Request(url, dont_filter=True)


if __name__ == "__main__":
    seeds, folder, *jobdir = sys.argv[1:]
    settings = {
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": 64,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "ERROR",
        "REACTOR_THREADPOOL_MAXSIZE": 4,
        "DOWNLOADER_STATS": False,
        "EXTENSIONS": {
            "scrapy.extensions.corestats.CoreStats": None,
            "scrapy.extensions.logstats.LogStats": None,
            "scrapy.extensions.memusage.MemoryUsage": None,
        },
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        "USER_AGENT": "bench/1.0",
    }
    if jobdir:
        settings["JOBDIR"] = jobdir[0]
    process = CrawlerProcess(settings)
    process.crawl(SiteSpider, seeds=seeds, out=f"{folder}/pages.bin")
    process.start()
