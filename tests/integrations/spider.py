"""A spider that asks a Comity server for grants; run as a process of its own.

    python spider.py FOLDER SETTINGS URL…|@FILE

It writes a line for each answer and each dropped request to FOLDER/answers, and its statistics to FOLDER/stats.json.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess


class Spider(scrapy.Spider):
    name = "test"
    folder: Path
    urls: list[str]

    async def start(self) -> Any:
        for url in self.urls:
            yield scrapy.Request(url, errback=self.on_error, meta={"handle_httpstatus_all": True})

    def parse(self, response: Any) -> None:
        self.note(f"{response.status} {response.url}")

    def on_error(self, failure: Any) -> None:
        self.note(f"dropped {failure.value}")

    def note(self, line: str) -> None:
        with (self.folder / "answers").open("a") as out:
            out.write(line + "\n")

    def closed(self, reason: str) -> None:
        stats = {name: value for name, value in self.crawler.stats.get_stats().items() if isinstance(value, int)}
        elapsed = datetime.now(UTC) - self.crawler.stats.get_value("start_time")
        stats["elapsed_ms"] = round(elapsed.total_seconds() * 1000)
        (self.folder / "stats.json").write_text(json.dumps({**stats, "reason": reason}))


if __name__ == "__main__":
    Spider.folder, Spider.urls = Path(sys.argv[1]), sys.argv[3:]
    if Spider.urls[0].startswith("@"):
        Spider.urls = Path(Spider.urls[0][1:]).read_text().split()
    settings = {
        "DOWNLOADER_MIDDLEWARES": {"comity.integrations.scrapy.ComityMiddleware": 950},
        "LOG_LEVEL": "WARNING",
        "RETRY_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "CONCURRENT_REQUESTS": 64,
        **json.loads(sys.argv[2]),
    }
    process = CrawlerProcess(settings)
    process.crawl(Spider)
    process.start()
