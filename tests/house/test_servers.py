"""The servers that the tests rely on are real, keep their promises after a crash, and leave nothing behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from tests.servers import postgres, valkey
from tests.servers.postgres import PostgresDatabases, PostgresServer, conninfo, postgres_for_tests
from tests.servers.process import ServerUnavailable
from tests.servers.valkey import ValkeyServer, valkey_for_tests
from tests.servers.waiting import wait_until
from tests.servers.watchdog import is_gone

REPOSITORY = Path(__file__).resolve().parents[2]
START_BOTH_AND_WAIT = """
import json, sys
from tests.servers.postgres import PostgresServer
from tests.servers.valkey import ValkeyServer
servers = [PostgresServer(fsync=False), ValkeyServer()]
for server in servers:
    server.start()
pids = [pid for server in servers for pid in server.pids()]
print(json.dumps({"pids": pids, "folders": [str(server.folder) for server in servers]}), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


def test_postgresql_answers_sql(postgres_url: str) -> None:
    with psycopg.connect(conninfo(postgres_url)) as connection:
        row = connection.execute("SELECT 1 + 1, current_setting('server_encoding'), current_database()").fetchone()
    assert row is not None
    assert row[:2] == (2, "UTF8")
    assert postgres_url.split("?")[0].endswith(f"/{row[2]}")


def test_every_database_is_fresh_and_dropping_one_does_not_wait_for_its_users(
    postgres_server: PostgresDatabases,
) -> None:
    first, second = postgres_server.create_database(), postgres_server.create_database()
    with psycopg.connect(conninfo(first), autocommit=True) as connection:
        connection.execute("CREATE TABLE pages (url text)")
        postgres_server.drop_database(first)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with psycopg.connect(conninfo(second)) as connection:
        assert connection.execute("SELECT to_regclass('pages')").fetchone() == (None,)
    postgres_server.drop_database(second)


def test_a_database_can_be_copied_from_a_prepared_one(postgres_server: PostgresDatabases) -> None:
    prepared = postgres_server.create_database()
    with psycopg.connect(conninfo(prepared), autocommit=True) as connection:
        connection.execute("CREATE TABLE pages AS SELECT 7 AS number")
        name = connection.info.dbname
    copy = postgres_server.create_database(template=name)
    with psycopg.connect(conninfo(copy)) as connection:
        assert connection.execute("SELECT number FROM pages").fetchone() == (7,)
    for url in (copy, prepared):
        postgres_server.drop_database(url)


def test_only_databases_of_the_tests_can_be_dropped(postgres_server: PostgresDatabases) -> None:
    with pytest.raises(ValueError, match="postgres"):
        postgres_server.drop_database(postgres_server.url())


def test_what_postgresql_committed_outlives_kill_9(own_postgres: PostgresServer) -> None:
    url = own_postgres.create_database()
    with psycopg.connect(conninfo(url)) as connection:
        connection.execute("CREATE TABLE pages (url text)")
        connection.execute("INSERT INTO pages VALUES ('kept')")
        connection.commit()
        connection.execute("INSERT INTO pages VALUES ('never committed')")
        pids = own_postgres.pids()
        own_postgres.kill()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    assert len(pids) > 1
    assert all(map(is_gone, pids))
    own_postgres.start()
    with psycopg.connect(conninfo(url)) as connection:
        assert connection.execute("SELECT url FROM pages").fetchall() == [("kept",)]


def test_postgresql_takes_settings_and_syncs_by_default(own_postgres: PostgresServer) -> None:
    def setting(server: PostgresServer, name: str) -> object:
        with server.connect() as connection:
            return connection.execute("SELECT current_setting(%s)", [name]).fetchone()

    assert setting(own_postgres, "fsync") == ("on",)
    assert setting(own_postgres, "synchronous_commit") == ("on",)
    assert setting(own_postgres, "max_connections") == ("100",)
    assert setting(own_postgres, "listen_addresses") == ("",)
    with PostgresServer(fsync=False, settings={"synchronous_commit": "off", "max_connections": "10"}) as server:
        assert setting(server, "fsync") == ("off",)
        assert setting(server, "synchronous_commit") == ("off",)
        assert setting(server, "max_connections") == ("10",)


def test_a_stopped_postgresql_leaves_no_process_and_no_folder() -> None:
    server = PostgresServer(fsync=False)
    server.start()
    pids = server.pids()
    server.restart()
    pids += server.pids()
    server.close()
    assert all(map(is_gone, pids))
    assert not server.folder.exists()


@pytest.mark.parametrize("tcp", [False, True], ids=["unix socket", "loopback port"])
def test_what_valkey_acknowledged_outlives_kill_9(tcp: bool) -> None:
    with ValkeyServer(tcp=tcp) as server:
        url = server.url()
        with redis.Redis.from_url(url) as client:
            for number in range(100):
                client.zadd("frontier", {f"url {number}": number})
        pids = server.pids()
        server.kill()
        assert all(map(is_gone, pids))
        server.start()
        assert server.url() == url
        with redis.Redis.from_url(url) as client:
            assert client.zcard("frontier") == 100
            assert client.config_get("appendfsync") == {"appendfsync": "always"}


def test_a_stopped_valkey_leaves_no_process_and_no_folder() -> None:
    server = ValkeyServer()
    server.start()
    pids = server.pids()
    server.restart()
    pids += server.pids()
    server.close()
    assert all(map(is_gone, pids))
    assert not server.folder.exists()


def test_a_test_gets_an_empty_valkey_first(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("left", "over")


def test_a_test_gets_an_empty_valkey_again(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("left", "over")


def test_both_databases_are_offered(database_url: str, request: pytest.FixtureRequest) -> None:
    kind = request.node.callspec.params["database_url"]
    assert database_url.split(":")[0] == {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}[kind]


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda by: by.name)
def test_no_server_outlives_the_process_that_started_it(by: signal.Signals) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", START_BOTH_AND_WAIT],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with starter:
        assert starter.stdout is not None
        started = json.loads(starter.stdout.readline())
        starter.send_signal(by)
        assert starter.wait(60) != 0
    assert len(started["pids"]) > 2
    wait_until(lambda: all(map(is_gone, started["pids"])), 60, "the servers end")
    wait_until(lambda: not any(Path(folder).exists() for folder in started["folders"]), 60, "their folders go")


def test_a_server_that_cannot_be_had_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "candidates", lambda: iter(()))
    monkeypatch.setattr(valkey, "candidates", lambda: iter(()))
    with pytest.raises(ServerUnavailable, match=r"make test.*COMITY_TEST_DATABASE_URL"):
        PostgresServer()
    with pytest.raises(ServerUnavailable, match=r"make test.*COMITY_TEST_REDIS_URL"):
        ValkeyServer()


def test_a_server_that_does_not_start_shows_its_log() -> None:
    with pytest.raises(ServerUnavailable, match="no_such_setting"), PostgresServer(settings={"no_such_setting": "1"}):
        pass


def test_a_named_postgresql_is_used_instead(own_postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMITY_TEST_DATABASE_URL", conninfo(own_postgres.url()))
    with postgres_for_tests() as databases:
        assert not isinstance(databases, PostgresServer)
        assert databases.url("x") == own_postgres.url("x")
        url = databases.create_database()
        with psycopg.connect(conninfo(url)) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        databases.drop_database(url)


def test_a_named_valkey_is_used_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    with ValkeyServer(durable=False, tcp=True) as server:
        monkeypatch.setenv("COMITY_TEST_REDIS_URL", server.url(3))
        with valkey_for_tests() as url:
            assert url == server.url(3)


def test_a_named_server_that_does_not_answer_is_an_error_and_not_a_skip(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COMITY_TEST_DATABASE_URL", f"postgresql://nobody@/none?host={tmp_path}")
    monkeypatch.setenv("COMITY_TEST_REDIS_URL", f"unix://{tmp_path}/none.sock")
    with pytest.raises(ServerUnavailable, match="COMITY_TEST_DATABASE_URL"), postgres_for_tests():
        pass
    with pytest.raises(ServerUnavailable, match="COMITY_TEST_REDIS_URL"), valkey_for_tests():
        pass


def test_a_wait_is_bounded_and_says_for_what() -> None:
    before = time.monotonic()
    with pytest.raises(TimeoutError, match="the moon falls"):
        wait_until(lambda: False, 0.05, "the moon falls")
    assert 0.05 <= time.monotonic() - before < 60
