"""A client for bots: pull jobs from a Comity server, crawl the pages, submit the results.

    from comity.bot import Bot, Job, Result

    def crawl(job: Job) -> Result:
        page = my_http_library.get(job.url)
        return Result(title=..., price="99.99", currency="USD", http_status=page.status)

    Bot("https://comity.example", bot_id="shop-bot-1", key="cmty_…").run(crawl)

`Bot.run` obeys the window of every job, keeps its locks, submits what the function returns, and on SIGTERM finishes
what it started and gives back the rest. `AsyncBot` does the same for `async def`. `BotClient` and `AsyncBotClient` are
the four requests by themselves. The package needs nothing but the standard library.
"""

from comity.bot.async_client import AsyncBot, AsyncBotClient
from comity.bot.client import BotApiError, BotClient, BotClientError, ServerUnavailable
from comity.bot.jobs import Failure, Heartbeat, Job, Pulled, Released, Result, Submitted
from comity.bot.runner import Bot

__all__ = [
    "AsyncBot",
    "AsyncBotClient",
    "Bot",
    "BotApiError",
    "BotClient",
    "BotClientError",
    "Failure",
    "Heartbeat",
    "Job",
    "Pulled",
    "Released",
    "Result",
    "ServerUnavailable",
    "Submitted",
]
