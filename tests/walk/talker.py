"""One of several processes that talk to one host at once: takes the host's lease, lets eight tasks each make a request
through `walk.request.Requests`, gives the lease back with what the gate remembers, and again.

    python -m tests.walk.talker DATABASE_URL HOST URL

It goes on until SIGTERM.
"""

from __future__ import annotations

import asyncio
import random
import signal
import sys

from comity.clock import SystemClock
from comity.database.connection import Database, open_database
from comity.fetch.fetcher import CurlFetcher
from comity.fetch.settings import FetchSettings
from comity.leases.leases import Leases, LeaseTerms
from comity.model.errors import LeaseLost
from comity.model.fetch import FetchRequest
from comity.model.gate import DOOR_PROFILES, Door
from comity.model.ledger import Purpose
from comity.walk.request import Exchange, Requests
from comity.walk.session.held_hosts import Capacity
from comity.walk.session.leased_host import LeasedHost
from tests.walk.site import come_before_others

TASKS = 8
DELAY_S = 0.5  # as robots.txt of the host would ask for
LEASE_S = 4.0


async def talk(database: Database, host_name: str, url: str) -> int:
    """Come and go until SIGTERM; gives how many requests were made."""
    clock = SystemClock()
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    leases = Leases(database, clock, LeaseTerms(lease_s=LEASE_S, renew_every_s=1.0))
    made = 0
    settings = FetchSettings("talker/1.0", allowed_networks=("127.0.0.0/8",), max_concurrency=TASKS)
    async with CurlFetcher(settings, clock.seconds) as fetcher:
        requests = Requests(fetcher, Capacity(TASKS), clock.seconds)
        while not stopped.is_set():
            leases.release_dead()
            for lease in leases.take([host_name]):
                host = LeasedHost(lease, DOOR_PROFILES[Door.SQL], None, clock=clock.seconds, chance=random.random)
                host.use_crawl_delay(DELAY_S)
                made += await _use(host, leases, requests, url)
            await asyncio.sleep(0.02 * random.random())
    return made


async def _use(host: LeasedHost, leases: Leases, requests: Requests, url: str) -> int:
    """Eight tasks at once, of which some get their turn before the lease is given back."""
    stays_s = random.uniform(0.3, 1.6)

    async def ask(number: int) -> int:
        asked = await requests.ask(host, FetchRequest(f"{url}?{number}"), Purpose.PAGE)
        return isinstance(asked, Exchange)

    tasks = [asyncio.create_task(ask(number)) for number in range(TASKS)]
    await asyncio.sleep(stays_s)
    host.gate.close()
    made = sum(await asyncio.gather(*tasks))
    try:
        leases.release(host.lease, memory=host.gate.memory())
    except LeaseLost:
        print("lost", flush=True)
    return made


def main() -> None:
    come_before_others(0)
    url_of_database, host, url = sys.argv[1:]
    database = open_database(url_of_database)
    print("ready", flush=True)
    made = asyncio.run(talk(database, host, url))
    database.close()
    print(f"made {made}", flush=True)


if __name__ == "__main__":
    main()
