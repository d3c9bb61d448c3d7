"""A process that settles hosts of a shared frontier, for tests of several at once."""

from __future__ import annotations

import json
import sys
from uuid import UUID

from comity.clock import SystemClock
from comity.database.connection import open_database
from comity.frontier.redis.link import RedisTerms
from comity.frontier.redis.store import RedisFrontier
from comity.frontier.store import HostSettlement
from tests.frontier.rooms import NOW, entry


def main() -> None:
    where, url, name, turns, *hosts = json.loads(sys.argv[1])
    database = open_database(where)
    store = RedisFrontier(database, url, SystemClock(), RedisTerms())
    host_ids = [UUID(host) for host in hosts]
    store.prepare_hosts(host_ids)
    print("ready", flush=True)
    sys.stdin.readline()
    found = 0
    for turn in range(turns):
        links = {
            host: [entry(f"shared/{turn}"), *(entry(f"{name}/{turn}/{each}") for each in range(10))]
            for host in host_ids
        }
        with store.change(links) as change:
            for host in host_ids:
                ready = store.peek(host, 5, NOW)
                mine = [each.key for each in ready if f"/{name}/" in each.url]
                found += change.settle(host, None, HostSettlement(links[host], done=mine))
    store.close()
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
