"""What a frontier asks of a Redis server, and how it shares one with others."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import redis
from redis.crc import key_slot
from sqlalchemy import func, select

from comity.database.connection import Database
from comity.database.tables import frontier_journal
from comity.frontier.redis.layout import LAYOUT
from comity.frontier.redis.link import RedisLink, RedisTerms
from comity.frontier.redis.store import RedisFrontier
from comity.frontier.store import FrontierUnavailable, FrontierUnfit
from comity.model.errors import BadInput
from tests.database.states import MovedClock
from tests.frontier.rooms import Room, entry, key_of
from tests.frontier.test_redis_crashes import story
from tests.frontier.valkeys import ChosenValkey, frontier_at, until, whole
from tests.servers.postgres import PostgresDatabases
from tests.servers.waiting import wait_until

REPOSITORY = Path(__file__).resolve().parents[2]


def test_all_keys_of_a_host_lie_in_one_slot_of_a_cluster(embedded_database: Database) -> None:
    with ChosenValkey("--cluster-enabled", "yes", tcp=True) as server:
        with server.client() as client:
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            until(lambda: b"cluster_state:ok" in client.execute_command("CLUSTER", "INFO"))
        # A server in cluster mode refuses a script that reaches over the slot of its key.
        store = frontier_at(server, embedded_database)
        room = Room(embedded_database, store)
        story(room)
        hosts = [room.new_host(f"h{number}.example") for number in range(20)]
        for host in hosts:
            room.add(*(entry(str(number)) for number in range(200)), host=host)
        with server.client() as client:
            names = [name for name in client.scan_iter(count=1000) if b"{" in name]
        assert len(names) > 100
        for host in hosts:
            slots = {key_slot(name) for name in names if host.hex.encode() in name}
            assert slots == {key_slot(host.hex.encode())}
        assert len({key_slot(name) for name in names}) > 10
        store.close()


@pytest.mark.parametrize("room", ["redis"], indirect=True)
def test_scripts_are_loaded_again_when_the_server_forgot_them(room: Room, redis_url: str) -> None:
    room.add(*map(entry, "abc"))
    with redis.Redis.from_url(redis_url) as client:
        client.script_flush()
        assert room.settle(links=[entry("d")], done=[key_of("a")]) == 1
        client.script_flush()
        assert room.paths() == ["b", "c", "d"]


def test_a_server_that_keeps_no_log_is_refused_unless_that_was_agreed_on(embedded_database: Database) -> None:
    with ChosenValkey(durable=False) as server:
        store = frontier_at(server, embedded_database)
        room = Room(embedded_database, store)
        with pytest.raises(FrontierUnavailable, match="appendonly"):
            room.add(entry("a"))
        store.close()
        store = frontier_at(server, embedded_database, is_durable=False)
        with store.change() as change:
            assert change.add(room.host, None, [entry("a")]) == 1
        store.close()


def test_a_server_that_evicts_is_refused(embedded_database: Database) -> None:
    with ChosenValkey("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru") as server:
        store = frontier_at(server, embedded_database)
        with pytest.raises(FrontierUnavailable, match="noeviction"):
            store.prepare_hosts([])
        store.close()


def test_a_server_that_is_full_takes_no_part_of_a_batch(embedded_database: Database) -> None:
    with ChosenValkey() as server:
        store = frontier_at(server, embedded_database)
        room = Room(embedded_database, store)
        room.add(*(entry(str(number)) for number in range(100)))
        before = whole(store, room.host)
        with server.client() as client:
            client.config_set("maxmemory", "1mb")
            room.settle(links=[entry("new", 0, 9)], done=[key_of("3")])  # committed, and waits
            with pytest.raises(FrontierUnavailable, match="maxmemory"):
                room.paths()
            assert client.hget(f"{LAYOUT}:{{{room.host.hex}}}", "applied") == b"1"
            client.config_set("maxmemory", "0")
        after = whole(store, room.host)
        assert after["states"] == {0: 100, 1: 1}
        assert [each.url for each in after["look"]][:1] == ["https://a.example/new"]
        assert after["look"][1:] == [each for each in before["look"] if each.key != key_of("3")]
        store.close()


def test_a_server_that_is_not_there_is_named_without_its_password(embedded_database: Database) -> None:
    store = frontier_at(Absent(), embedded_database)  # type: ignore[arg-type]
    with pytest.raises(FrontierUnavailable) as caught:
        store.prepare_hosts([])
    assert "127.0.0.1:1/0" in str(caught.value)
    assert "secret" not in str(caught.value)
    store.close()


class Absent:
    def url(self) -> str:
        return "redis://user:secret@127.0.0.1:1/0"


@pytest.mark.parametrize("url", ["", "http://127.0.0.1/", "redis//x"])
def test_what_is_no_redis_url_is_refused(url: str) -> None:
    with pytest.raises(BadInput):
        RedisLink(url, RedisTerms())


def test_a_server_that_waiting_does_not_mend_is_told_in_one_line(embedded_database: Database) -> None:
    """A database that it has not, a user who may not or is not known, and a door that is no Redis at all."""
    with ChosenValkey(tcp=True) as server, socket.create_server(("127.0.0.1", 0)) as other:
        with server.client() as client:
            client.execute_command("ACL", "SETUSER", "reader", "on", ">word", "~*", "+@read", "+info")
        room = Room(embedded_database, frontier_at(server, embedded_database))
        room.add(entry("a"))
        room.store.close()
        host, address = room.host, server.url().removeprefix("redis://").removesuffix("/0")
        port = other.getsockname()[1]

        def greet() -> None:
            with suppress(OSError):
                while True:
                    with other.accept()[0] as connection:
                        connection.sendall(b"SSH-2.0-OpenSSH_9.9\r\n")
                        connection.recv(4096)

        Thread(target=greet, daemon=True).start()
        for url, said in (
            (f"redis://{address}/99", "DB index is out of range"),
            (f"redis://reader:word@{address}/0", "no permissions"),
            (f"redis://reader:another-word@{address}/0", "invalid username-password pair"),
            (f"redis://127.0.0.1:{port}/0", "SSH-2.0"),
        ):
            store = RedisFrontier(embedded_database, url, MovedClock())
            with pytest.raises(FrontierUnfit, match=said) as caught:
                store.queued_of([host])
            assert "word" not in str(caught.value).replace("username-password", "")
            store.close()
        with server.client() as client:
            client.config_set("requirepass", "word")
        store = RedisFrontier(embedded_database, f"redis://{address}/0", MovedClock())
        with pytest.raises(FrontierUnfit, match="Authentication required"):
            store.queued_of([host])
        store.close()


def test_a_server_that_still_reads_its_log_is_waited_for(embedded_database: Database) -> None:
    """Meanwhile it says that it keeps none: that must not be believed."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    with server.accept()[0] as connection:
                        while content := connection.recv(65_536):
                            for asked in content.split(b"*")[1:]:
                                said = b"loading:1\r\naof_enabled:0\r\n"
                                is_greeting = b"SETINFO" in asked
                                connection.sendall(b"+OK\r\n" if is_greeting else b"$%d\r\n%s\r\n" % (len(said), said))

        Thread(target=answer, daemon=True).start()
        store = RedisFrontier(embedded_database, f"redis://127.0.0.1:{server.getsockname()[1]}/0", MovedClock())
        with pytest.raises(FrontierUnavailable, match="still loading") as caught:
            store.prepare_hosts([])
        assert not isinstance(caught.value, FrontierUnfit)
        store.close()


def test_neither_a_replica_nor_a_part_of_a_cluster_will_do(embedded_database: Database) -> None:
    with ChosenValkey("--cluster-enabled", "yes", tcp=True) as server, ChosenValkey(tcp=True) as primary:
        (host, port) = server.url().removeprefix("redis://").removesuffix("/0").split(":")
        with ChosenValkey("--cluster-enabled", "yes", tcp=True) as second, server.client() as client:
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 8191)
            with second.client() as other:
                other.execute_command("CLUSTER", "ADDSLOTSRANGE", 8192, 16383)
                other.execute_command("CLUSTER", "MEET", host, port)
            until(lambda: b"cluster_size:2" in client.execute_command("CLUSTER", "INFO"))
            refused(server, embedded_database, "part of a cluster")
        with primary.client() as client:
            client.execute_command("REPLICAOF", host, port)
        refused(primary, embedded_database, "is a replica")


def refused(server: ChosenValkey, database: Database, said: str) -> None:
    store = frontier_at(server, database)
    with pytest.raises(FrontierUnfit, match=said):
        store.prepare_hosts([])
    store.close()


def test_a_silent_server_is_not_waited_for_without_end(embedded_database: Database) -> None:
    with ChosenValkey(tcp=True) as server:
        store = frontier_at(server, embedded_database, timeout_s=2.0)
        room = Room(embedded_database, store)
        room.add(entry("a"))
        (pid,) = server.pids()
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(FrontierUnavailable):
                room.paths()
        finally:
            os.kill(pid, signal.SIGCONT)

        def is_back() -> bool:
            try:
                return room.paths() == ["a"]
            except FrontierUnavailable:  # at once: a silent server is asked only now and then
                return False

        wait_until(is_back, 60, "it comes back")
        store.close()


def test_a_million_urls_would_take_less_than_200_megabytes(embedded_database: Database) -> None:
    urls = 50_000
    with ChosenValkey(durable=False) as server:
        store = frontier_at(server, embedded_database, is_durable=False)
        room = Room(embedded_database, store)
        with server.client() as client:
            before = client.info("memory")["used_memory"]
            for first in range(0, urls, 5000):
                room.add(*(entry(f"articles/2026/{first + each:07}/a-title-of-some-length") for each in range(5000)))
            queued = (client.info("memory")["used_memory"] - before) / urls
            keys = store.keys(room.host, urls)
            for first in range(0, urls, 5000):
                room.settle(done=keys[first : first + 5000])
            done = (client.info("memory")["used_memory"] - before) / urls
            biggest = max(client.hlen(name) for name in client.scan_iter(match="*:e:*", count=1000))
        assert queued < 200, f"{queued:.0f} content a queued URL"
        assert done < 110, f"{done:.0f} content a URL that is done"
        assert biggest < 256, "no bucket grows out of its compact form"
        store.close()


def test_processes_settle_their_hosts_side_by_side(
    shared_database: Database, migrated_postgresql: Database, postgres_server: PostgresDatabases
) -> None:
    where = migrated_postgresql.engine.url.render_as_string(hide_password=False)
    turns = 30
    with ChosenValkey() as server:
        store = frontier_at(server, shared_database)
        room = Room(shared_database, store)
        own = [[str(room.new_host(f"{name}{each}.example")) for each in range(3)] for name in "xy"]
        # One host is in both hands, as when an operator adds seeds to a host that is being crawled.
        workers = [
            process(where, server.url(), name, turns, *hosts, str(room.host))
            for name, hosts in zip("xy", own, strict=True)
        ]
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        told = [worker.communicate("go\n", timeout=60) for worker in workers]
        assert [worker.returncode for worker in workers] == [0, 0], told
        found = [json.loads(out) for out, _ in told]
        for name, hosts in zip("xy", own, strict=True):
            for host in hosts:
                states = store.states(type(room.host)(host))
                assert sum(states.values()) == turns * 11, name
        assert sum(store.states(room.host).values()) == turns * 21
        assert sum(found) >= 2 * 3 * turns * 11 + turns * 21
        store.recover()
        for _ in range(100):
            if not store.tidy():
                break
        with shared_database.read() as connection:
            assert connection.execute(select(func.count()).select_from(frontier_journal)).scalar_one() == 0
        store.close()


def process(*arguments: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.frontier.settling", json.dumps(arguments)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
