"""Is every page of the console quick in a large state? 10,000 sources, 1,000,000 hosts and jobs, 10,000,000 fetches.

    python bench/console.py [--databases sqlite,postgresql] [--keep FOLDER] [--small] [--only PART] [--times 20]
    python bench/console.py --viewers 50

A state is filled by SQL (`_console_state.py`) on SQLite and on a private PostgreSQL; `comity web` serves it in a
process of its own, and each GET route that serves a page is asked as a browser would. The pages' own links to
themselves (sorting, paging) and the options of their filters are followed too: those are the slow ones. Printed for
each: the time to the first byte, median and 95th percentile. Aim: 300 ms at the 95th percentile. If a page is over it,
a query lacks an index or a bound. Filling takes minutes and 12 GB: `--keep FOLDER` leaves the databases there for the
next run. `--viewers 50` asks instead what live viewers cost: `comity serve` crawls a site on the loopback with
and without browsers that follow the dashboard, in turns. Aim: 0.95 of the speed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import re
import resource
import select
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

import psycopg  # noqa: E402
from sqlalchemy import inspect  # noqa: E402
from sqlalchemy.schema import CreateColumn  # noqa: E402

from bench import long_queue  # noqa: E402
from bench._console_state import Filling, Sizes, asked_url, ids, is_filled, unchecked  # noqa: E402
from comity.assemble import State, open_state  # noqa: E402
from comity.database.all_tables import metadata  # noqa: E402
from comity.database.connection import open_database  # noqa: E402
from comity.database.schema import upgrade  # noqa: E402
from comity.settings import read_settings  # noqa: E402
from tests.servers import postgres  # noqa: E402
from tests.servers.process import Identity  # noqa: E402
from tests.servers.waiting import wait_until  # noqa: E402

RESULTS = REPOSITORY / "bench" / "results" / "console.json"
AIM_MS = 300
LEAST_RATIO = 0.95
LONGEST_S = 15  # a page that takes longer is not waited for
MOST_VARIANTS = 25  # of one page: its sort orders, filters and next page
PAGE = {"Accept": "text/html", "Accept-Encoding": "identity"}
DATABASE = "comity"


class KeptPostgres:
    """A PostgreSQL whose data stay in a folder when it is stopped."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._identity = Identity()
        if os.geteuid() == 0:
            other = postgres._somebody_else()
            os.chown(folder, other.pw_uid, other.pw_gid)
            self._identity = Identity(user=other.pw_uid, group=other.pw_gid)
        programs = postgres._find_programs(folder, self._identity)
        if not (folder / "data" / "PG_VERSION").exists():
            how = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"]
            made = [programs / "initdb", "--pgdata", folder / "data", "--username", postgres.SUPERUSER, *how]
            result = self._identity.run(made, folder)
            if result.returncode:
                raise SystemExit(f"initdb failed: {result.stdout}")
        settings = {
            "dynamic_shared_memory_type": "mmap",
            "fsync": "off",
            "listen_addresses": "",
            "max_wal_size": "1GB",
            "shared_buffers": "512MB",
            "timezone": "UTC",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._process = subprocess.Popen(
            list(map(str, [programs / "postgres", "-D", folder / "data", "-k", folder, *options])),
            cwd=folder,
            stdout=(folder / "log").open("ab"),
            stderr=subprocess.STDOUT,
            user=self._identity.user,
            group=self._identity.group,
            extra_groups=None if self._identity.user is None else [],
        )
        wait_until(self._answers, 60, "PostgreSQL answers")

    def url(self) -> str:
        """The database, made if it is missing."""
        with self._connect() as connection:
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone()
            if found is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")
        return f"postgresql+psycopg://{postgres.SUPERUSER}@/{DATABASE}?host={quote(str(self._folder))}"

    def stop(self) -> None:
        """Stop the server; the data stay."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(120)

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(
            host=str(self._folder), user=postgres.SUPERUSER, dbname="postgres", autocommit=True, connect_timeout=5
        )

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise SystemExit(f"PostgreSQL ended: see {self._folder / 'log'}")
        try:
            self._connect().close()
        except psycopg.OperationalError:
            return False
        return True


def prepare(where: str, sizes: Sizes) -> None:
    """Fill a state if it is empty, and index its postings for search."""
    adapt(where)
    with open_state(settings_of(where), connections=4) as state:
        if is_filled(state):
            return
        started = time.perf_counter()
        Filling(state.database, sizes).fill()
        index_postings(state)
        print(f"  filled in {time.perf_counter() - started:.0f} s", flush=True)


def adapt(where: str) -> None:
    """Bring a state that an earlier tree filled to the tables of this one: add tables, columns and indexes."""
    database = open_database(where if "://" in where else f"sqlite:///{where}")
    try:
        with database.read() as connection:
            is_new = not inspect(connection).has_table("alembic_version")
        if is_new:
            upgrade(database)
            return
        with unchecked(database) as connection:
            has_changed = False
            metadata.create_all(connection)
            found = inspect(connection)
            for table in metadata.sorted_tables:
                columns = {column["name"] for column in found.get_columns(table.name)}
                for column in table.columns:
                    if column.name not in columns:
                        text = CreateColumn(column).compile(dialect=connection.dialect)
                        connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {text}")
                        print(f"  added {table.name}.{column.name}", flush=True)
                indexes = indexes_of(connection, table.name)
                declared = {str(index.name): len(index.expressions) for index in table.indexes}
                for name, columns in list(indexes.items()):
                    if declared.get(name) != columns and name not in constraint_names(table):
                        connection.exec_driver_sql(f"DROP INDEX {name}")
                        del indexes[name]
                        has_changed = True
                        print(f"  dropped {name}", flush=True)
                for index in table.indexes:
                    wanted = index._ddl_if is None or index._ddl_if.dialect == connection.dialect.name
                    if wanted and index.name not in indexes:
                        index.create(connection)
                        has_changed = True
                        print(f"  made {index.name}", flush=True)
            if has_changed:
                connection.exec_driver_sql("ANALYZE")
    finally:
        database.close()


def constraint_names(table: Any) -> set[str]:
    """The names of unique constraints, whose indexes the database made."""
    return {str(each.name) for each in table.constraints if each.name}


def indexes_of(connection: Any, table: str) -> dict[str, int]:
    """The indexes of a table, each with the number of its columns."""
    statement = (
        "SELECT c.relname, i.indnatts FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid "
        "JOIN pg_class AS t ON t.oid = i.indrelid WHERE t.relname = %s"
        if connection.dialect.name == "postgresql"
        else "SELECT m.name, (SELECT count(*) FROM pragma_index_info(m.name)) FROM sqlite_master AS m "
        "WHERE m.type = 'index' AND m.sql IS NOT NULL AND m.tbl_name = ?"
    )
    return {row[0]: row[1] for row in connection.exec_driver_sql(statement, (table,))}


def index_postings(state: State) -> None:
    """Have search take the postings, as its own upkeep does."""
    started = time.perf_counter()
    state.outbox_drain().drain()
    print(f"  search index in {time.perf_counter() - started:.0f} s", flush=True)


def settings_of(where: str) -> Any:
    """Settings for a file or a database URL."""
    return read_settings(database_url=where) if "://" in where else read_settings(state=where)


@contextmanager
def served(where: str) -> Iterator[int]:
    """`comity web` in a process of its own; gives its port."""
    comity = Path(sys.executable).parent / "comity"
    command = [comity, "web", "--port", "0", "--no-scheduler", "--state", where]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COMITY_")}
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as folder:
        process = subprocess.Popen(
            list(map(str, command)), cwd=folder, stderr=subprocess.PIPE, text=True, env=environment
        )
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if found := re.search(r"http://[^ ;]+:(\d+)", line):
                    yield int(found[1])
                    break
            else:
                raise SystemExit("the server did not start")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


class Controls(HTMLParser):
    """The links of a page to itself, and the options of its filters."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.options: list[tuple[str, str]] = []
        self._filters = False
        self._select: str | None = None

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        if tag == "form":
            self._filters = (given.get("method") or "get").lower() == "get"
        if tag == "select":
            self._select = given.get("name") if self._filters else None
        if tag == "option" and self._select and given.get("value"):
            self.options.append((self._select, given["value"] or ""))


class Asking:
    """Asks pages over one connection, as a browser that stays on the console does."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST_S)

    def ask(self, path: str) -> tuple[float, int, str, str]:
        """Seconds to the first byte, the status (0: no answer in time), the content type and the text of an answer."""
        started = time.perf_counter()
        try:
            self._connection.request("GET", path, headers=PAGE)
            response = self._connection.getresponse()
            took = time.perf_counter() - started
            body = response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=LONGEST_S)
            return time.perf_counter() - started, 0, "", ""
        return took, response.status, response.getheader("Content-Type") or "", body.decode("utf-8", "replace")


def page_paths(sizes: Sizes) -> list[str]:
    """The paths of every route that serves a page, with the heavy rows as their parameters."""
    from fastapi.routing import iter_route_contexts

    from comity.doors.web.application import ROUTERS

    names = ids()
    found: dict[str, None] = {}
    for router in ROUTERS:
        for context in iter_route_contexts(router.routes):
            rules = getattr(router, "rules", None)
            path = context.path or ""
            if "GET" not in (context.methods or ()) or not getattr(rules, "serves_pages", False):
                continue
            missing = [name for name in re.findall(r"\{(\w+)", path) if name not in names]
            if missing or "/live" in path or "/assets" in path:
                continue
            filled = re.sub(r"\{(\w+)[^}]*\}", lambda match: names[match[1]], path)
            found[filled + ("?url=" + quote(asked_url(sizes)) if filled.endswith("/why") else "")] = None
    return list(found)


def variants(path: str, text: str) -> list[str]:
    """What a page offers of itself: other orders, the next page, each filter."""
    parser = Controls()
    parser.feed(text)
    bare = urlsplit(path).path
    found: dict[str, None] = {}
    for link in parser.links:
        there = urlsplit(urljoin(path, link))
        if there.path == bare and there.query and "format=" not in there.query:
            found[f"{there.path}?{there.query}"] = None
    given = dict(parse_qsl(urlsplit(path).query))
    for name, value in parser.options:
        found[f"{bare}?{urlencode(given | {name: value})}"] = None
    found.pop(path, None)
    return list(found)[:MOST_VARIANTS]


def measure(port: int, paths: list[str], times: int, most_variants: int) -> list[dict[str, Any]]:
    """Ask each page some times, then each of its variants."""
    asking = Asking(port)
    found: list[dict[str, Any]] = []
    for path in paths:
        row, text = measured(asking, path, times)
        found.append(row)
        print(line(row), flush=True)
        if row["type"].startswith("text/html"):
            for variant in variants(path, text)[:most_variants]:
                row, _ = measured(asking, variant, max(5, times // 4))
                found.append(row)
                if row["p95"] > AIM_MS or row["status"] >= 400:
                    print(line(row), flush=True)
    return found


def measured(asking: Asking, path: str, times: int) -> tuple[dict[str, Any], str]:
    """Ask one path some times."""
    took, status, kind, text = asking.ask(path)
    seconds = [took]
    while status and len(seconds) < times and sum(seconds) < LONGEST_S:
        seconds.append(asking.ask(path)[0])
    ordered = sorted(seconds)
    at = {name: round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000, 1) for name, share in _PARTS}
    return {
        "path": path,
        "status": status,
        "type": kind,
        "first": round(took * 1000, 1),
        **at,
        "bytes": len(text),
    }, text


_PARTS = (("p50", 0.5), ("p95", 0.95))


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    is_odd = row["status"] >= 400 or not row["status"]
    mark = f"  {row['status'] or 'NO ANSWER'}" if is_odd else "  OVER" if row["p95"] > AIM_MS else ""
    return f"{row['p50']:9.1f} {row['p95']:9.1f} {row['bytes'] / 1024:8.0f} KB  {row['path']}{mark}"


class Viewers:
    """Browsers that follow the live regions of the dashboard and the queue, and read what they are sent."""

    def __init__(self, port: int, count: int) -> None:
        path = "/admin/live?view=dashboard&view=queue"
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n\r\n"
        self._sockets = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(count)]
        for each in self._sockets:
            each.sendall(head.encode())
            each.setblocking(False)
        self._ends = threading.Event()
        self.received = 0
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        while not self._ends.wait(0.05):
            for each in select.select(self._sockets, [], [], 0)[0] if self._sockets else ():
                self.received += len(each.recv(1 << 16))

    def close(self) -> None:
        """Leave."""
        self._ends.set()
        self._thread.join()
        for each in self._sockets:
            each.close()


def crawl_speed(viewers: int, seconds: float) -> tuple[float, int]:
    """Pages a second that `comity serve` crawls with so many viewers, and the bytes that these were sent."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COMITY_")}
    environment |= {"COMITY_DELAY": "0", "COMITY_PER_HOST": "16", "ENABLE_PER_DOMAIN_BUDGET": "false"}
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as folder:
        state = Path(folder) / "state.db"
        long_queue.fill(state, 200_000)
        comity = Path(sys.executable).parent / "comity"
        command = [comity, "serve", "--port", "0", "--allow-network", "127.0.0.0/8", "--state", state]
        process = subprocess.Popen(
            list(map(str, command)), cwd=folder, stderr=subprocess.PIPE, text=True, env=environment
        )
        try:
            assert process.stderr is not None
            port = next(int(found[1]) for line in process.stderr if (found := re.search(r"http://[^ ;]+:(\d+)", line)))
            threading.Thread(target=process.stderr.read, daemon=True).start()
            looking = Viewers(port, viewers)
            wait_until(lambda: pages_in(state) > 100, 120, "the crawl begins")
            first, started = pages_in(state), time.perf_counter()
            time.sleep(seconds)
            speed = (pages_in(state) - first) / (time.perf_counter() - started)
            looking.close()
            return speed, looking.received
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def pages_in(state: Path) -> int:
    """The pages that a state has settled."""
    with sqlite3.connect(f"file:{state}?mode=ro", uri=True, timeout=30) as connection:
        return int(connection.execute("SELECT coalesce(max(id), 0) FROM fetches").fetchone()[0])


def compare_viewers(count: int, rounds: int = 3, seconds: float = 20.0) -> float:
    """Crawl in turns without and with viewers, and print; gives the ratio of the medians."""
    serving = [sys.executable, str(REPOSITORY / "bench" / "long_queue.py"), "--serve", "1000000", "near"]
    origin = subprocess.Popen(serving, stdout=subprocess.PIPE)
    speeds: dict[int, list[float]] = {0: [], count: []}
    try:
        assert origin.stdout is not None
        origin.stdout.readline()
        for _ in range(rounds):
            for viewers, found in speeds.items():
                speed, received = crawl_speed(viewers, seconds)
                found.append(speed)
                print(f"{viewers:4} viewers: {speed:7.1f} pages/s, {received / 1024:,.0f} KB sent", flush=True)
    finally:
        origin.send_signal(signal.SIGTERM)
        origin.wait(30)
    ratio = statistics.median(speeds[count]) / statistics.median(speeds[0])
    print(f"with {count} viewers: {ratio:.3f} of the speed without (medians of {rounds})")
    return ratio


def chosen_states(folder: Path, kinds: list[str]) -> Iterator[tuple[str, str]]:
    """Each kind of database with its state, stopped after use."""
    for kind in kinds:
        if kind == "sqlite":
            yield kind, str(folder / "state.db")
            continue
        server = KeptPostgres(folder / "postgresql")
        try:
            yield kind, server.url()
        finally:
            server.stop()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--databases", default="sqlite,postgresql")
    options.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="where the databases are, or stay for the next run"
    )
    options.add_argument("--small", action="store_true", help="a hundredth of the rows")
    options.add_argument("--only", default="", help="only pages with this in their path")
    options.add_argument("--times", type=int, default=20)
    options.add_argument("--variants", type=int, default=MOST_VARIANTS, help="orders and filters to try of each page")
    options.add_argument("--fill-only", action="store_true")
    options.add_argument("--viewers", type=int, help="compare a crawl with and without so many live viewers, no more")
    chosen = options.parse_args()
    if chosen.viewers:
        return int(compare_viewers(chosen.viewers) < LEAST_RATIO)
    sizes = Sizes().shrunk(100) if chosen.small else Sizes()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="comity-bench-") as temporary:
        folder: Path = chosen.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        for kind, where in chosen_states(folder, chosen.databases.split(",")):
            print(f"{kind}: {sizes}", flush=True)
            prepare(where, sizes)
            if chosen.fill_only:
                continue
            print("  p50 ms    p95 ms         size  page", flush=True)
            with served(where) as port:
                paths = [path for path in page_paths(sizes) if chosen.only in path]
                found[kind] = measure(port, paths, chosen.times, chosen.variants)
    over = [row["path"] for rows in found.values() for row in rows if row["p95"] > AIM_MS]
    asked = sum(map(len, found.values()))
    print(f"{asked} pages and variants, {len(over)} over {AIM_MS} ms", flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": platform.platform(), "found": found}, indent=2))
    return int(bool(over))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    sys.exit(main())
