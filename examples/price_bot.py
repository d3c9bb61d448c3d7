"""A bot that reads prices with httpx.

    pip install comity httpx
    COMITY_URL=https://comity.example BOT_ID=shop-bot-1 BOT_KEY=cmty_… python price_bot.py

It works until SIGTERM or Ctrl-C; `--once` ends it when a pull finds nothing.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from decimal import Decimal

import httpx

from comity.bot import Bot, Failure, Job, Result

USER_AGENT = os.environ.get("BOT_USER_AGENT", "price-bot/1.0 (+https://shop.example/bot)")
PRICE = re.compile(r'itemprop="price"[^>]*content="([0-9.]+)"')
CURRENCY = re.compile(r'itemprop="priceCurrency"[^>]*content="([A-Z]{3})"')
TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)


def main() -> None:
    """Run the bot."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    bot = Bot(os.environ["COMITY_URL"], os.environ["BOT_ID"], os.environ.get("BOT_KEY"), workers=4)
    # One request per job: redirects go to pages that the server has not given us.
    with httpx.Client(timeout=20, headers={"User-Agent": USER_AGENT}, follow_redirects=False) as http:
        counts = bot.run(lambda job: read(http, job), until_empty="--once" in sys.argv)
    print(counts)


def read(http: httpx.Client, job: Job) -> Result | Failure:
    """Read one page. What this raises is submitted as a failure."""
    answer = http.get(job.url)
    if answer.status_code != 200:
        wait = answer.headers.get("Retry-After", "")
        return Failure(f"HTTP {answer.status_code}", answer.status_code, float(wait) if wait.isdigit() else None)
    price, currency, title = (pattern.search(answer.text) for pattern in (PRICE, CURRENCY, TITLE))
    return Result(
        price=Decimal(price[1]) if price else None,
        currency=currency[1] if currency else None,
        title=title[1].strip() if title else None,
        in_stock="OutOfStock" not in answer.text,
        raw_html=answer.text,
        http_status=answer.status_code,
    )


if __name__ == "__main__":
    main()
