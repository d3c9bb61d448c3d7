"""Is every page of the console quick in a large state? 10,000 sources, 1,000,000 hosts and jobs, 10,000,000 fetches.

    python bench/console.py [--databases sqlite,postgresql] [--keep FOLDER] [--small] [--only PART] [--times 20]
    python bench/console.py --first 5 [--databases sqlite,postgresql] [--keep FOLDER] [--only PART]
    python bench/console.py --viewers 50 [--apart] [--rounds 5] [--seconds 6]

A state is filled by SQL (`_console_state.py`) on SQLite and on a private PostgreSQL; `comity web` serves it in a
process of its own, and each GET route is asked: a page as a browser would, the rest as a program would. What a page
offers of itself is asked too: each order, filter and search, later pages, CSV. Those are the slow ones. Printed for
each: the time to the first byte, median and 95th percentile, and the processor time of the server for one request,
which says more on a busy machine (PostgreSQL's own is not in it). Aim: 300 ms at the 95th percentile. If a page is
over it, a query lacks an index or a bound. Filling takes minutes and 12 GB: `--keep FOLDER` leaves the databases there
for the next run. `--first 5` asks instead for some pages as the first of all of a new server, five servers for each.
`--viewers 50` asks instead what live viewers cost a crawl (`_console_viewers.py`). Aim: 0.95 of the
speed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
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

from bench._console_state import Filling, Sizes, asked_url, ids, is_filled, unchecked  # noqa: E402
from bench._console_viewers import compare  # noqa: E402
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
MOST_VARIANTS = 400  # of one page
LATER_PAGES = 4
FIRST_PAGES = ("/admin", "/admin/sources", "/admin/crawl", "/admin/hosts", "/admin/queue", "/admin/postings")
SEARCHED = ("h1.example", "example", "9", "no-such-thing")
PAGE = {"Accept": "text/html", "Accept-Encoding": "identity"}
PROGRAM = {"Accept": "application/json", "Accept-Encoding": "identity"}
DATABASE = "comity"
_SCHEDULED = 2  # the clock of a process by its id, as Linux numbers clocks (CPUCLOCK_SCHED)


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
def served(where: str) -> Iterator[tuple[int, int]]:
    """`comity web` in a process of its own; gives its port and its process."""
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
                    asking = Asking(int(found[1]))  # the address is printed before the application is loaded
                    wait_until(lambda asking=asking: asking.ask("JSON /healthz")[1] == 200, 60, "the server answers")
                    yield int(found[1]), process.pid
                    break
            else:
                raise SystemExit("the server did not start")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


class Controls(HTMLParser):
    """The links of a page to itself, and the fields of its filters."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.options: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.next = ""
        self._filters = False
        self._select: str | None = None

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
            if given.get("rel") == "next":
                self.next = given["href"]
        if tag == "form":
            self._filters = (given.get("method") or "get").lower() == "get" and given.get("class") != "why"
        if tag == "select":
            self._select = given.get("name") if self._filters else None
        if tag == "option" and self._select and given.get("value"):
            self.options.append((self._select, given["value"]))
        is_text = given.get("type", "text") in ("text", "search", "url") and given.get("name")
        if tag == "input" and self._filters and is_text:
            self.texts.append(given["name"])


class Asking:
    """Asks over one connection, as a browser that stays on the console does."""

    def __init__(self, port: int, process: int | None = None) -> None:
        self._port = port
        self._process = process
        self._connection = self._connected()

    def processor_s(self) -> float:
        """The processor time that the server has used, with that of threads that have ended."""
        if self._process is None:
            return 0.0
        return time.clock_gettime(~self._process << 3 | _SCHEDULED)

    def _connected(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=LONGEST_S)

    def ask(self, path: str) -> tuple[float, int, str, str]:
        """Seconds to the first byte, the status (0: no answer in time), the content type and the text of an answer.

        A path that begins with `JSON ` is asked as a program does. Of an export, only the first bytes are read.
        """
        wanted, headers = (path[5:], PROGRAM) if path.startswith("JSON ") else (path, PAGE)
        started = time.perf_counter()
        try:
            self._connection.request("GET", wanted, headers=headers)
            response = self._connection.getresponse()
            body = response.read(1)
            took = time.perf_counter() - started
            if "format=csv" in path or "/export" in path:
                self._connection.close()
                self._connection = self._connected()
            else:
                body += response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = self._connected()
            return time.perf_counter() - started, 0, "", ""
        return took, response.status, response.getheader("Content-Type") or "", body.decode("utf-8", "replace")


def page_paths(sizes: Sizes) -> list[str]:
    """Every GET route: pages as a browser asks for them, the rest of the admin API as a program does."""
    from fastapi.routing import iter_route_contexts

    from comity.doors.web.application import ROUTERS

    names = ids()
    pages: dict[str, None] = {}
    programs: dict[str, None] = {}
    for router in ROUTERS:
        for context in iter_route_contexts(router.routes):
            rules = getattr(router, "rules", None)
            path = context.path or ""
            if "GET" not in (context.methods or ()) or not path.startswith("/admin"):
                continue
            missing = [name for name in re.findall(r"\{(\w+)", path) if name not in names]
            if missing or "/live" in path or "/assets" in path:
                continue
            filled = re.sub(r"\{(\w+)[^}]*\}", lambda match: names[match[1]], path)
            filled += "?url=" + quote(asked_url(sizes)) if filled.endswith("/why") else ""
            if getattr(rules, "serves_pages", False):
                pages[filled] = None
            else:
                programs[f"JSON {filled}"] = None
    return [*pages, *programs]


def variants(asking: Asking, path: str, text: str) -> list[str]:
    """What a page offers of itself: each order, each filter, each of both together, searches, later pages, CSV."""
    parser = Controls()
    parser.feed(text)
    bare = urlsplit(path).path
    given = dict(parse_qsl(urlsplit(path).query))
    own = [urlsplit(urljoin(path, link)) for link in parser.links]
    queries = [dict(parse_qsl(each.query)) for each in own if each.path == bare and each.query]
    sorts = dict.fromkeys(query["sort"].removeprefix("-") for query in queries if "sort" in query)
    orders: list[dict[str, str]] = [{"sort": way + name} for name in sorts for way in ("", "-")]
    filters = [{name: value} for name, value in parser.options if name != "limit"]
    filters += [{name: value} for name in parser.texts for value in SEARCHED]
    found: dict[str, None] = {}
    together = [given, *orders, *filters, *(one | other for one in filters for other in orders), *queries]
    for changes in together:
        found[f"{bare}?{urlencode(given | changes)}"] = None
    if any("format" in query for query in queries):
        for changes in (*orders, *filters):
            found[f"{bare}?{urlencode(given | changes | {'format': 'csv'})}"] = None
    # Later pages of the table, and the last one that can be reached by its own numbers.
    following, link = 0, parser.next
    while link and following < LATER_PAGES:
        there = urlsplit(urljoin(path, link))
        found[f"{there.path}?{there.query}"] = None
        if "offset=" in there.query:
            found[f"{bare}?{urlencode(given | {'offset': '10000'})}"] = None
        later = Controls()
        later.feed(asking.ask(f"{there.path}?{there.query}")[3])
        following, link = following + 1, later.next
    found.pop(path, None)
    found.pop(bare + "?", None)
    return list(found)


def program_variants(asking: Asking, path: str, text: str) -> list[str]:
    """What a list of the API takes: each value that its description names, searches, and later pages."""
    bare = urlsplit(path).path.removeprefix("JSON ")
    given = dict(parse_qsl(urlsplit(path).query))
    found: dict[str, None] = {}
    for parameter in described_parameters(asking).get(bare, []):
        name, schema = parameter["name"], parameter["schema"]
        for value in allowed_values(schema) or (SEARCHED if name in ("q", "search", "contains") else ()):
            found[f"JSON {bare}?{urlencode(given | {name: value})}"] = None
    following = 0
    while following < LATER_PAGES and '"next_cursor":' in text and (after := json.loads(text)["next_cursor"]):
        later = f"JSON {bare}?{urlencode(given | {'cursor': after})}"
        found[later] = None
        text, following = asking.ask(later)[3], following + 1
        if '"error"' in text[:20]:
            break
    return list(found)


def described_parameters(asking: Asking) -> dict[str, list[dict[str, Any]]]:
    """The query parameters of every path of the API that is read, with the heavy rows as its parameters."""
    if not _DESCRIBED:
        document = json.loads(asking.ask("JSON /openapi.json")[3])
        schemas = document["components"]["schemas"]
        for path, operations in document["paths"].items():
            if "get" in operations:
                filled = re.sub(r"\{(\w+)[^}]*\}", lambda match: ids().get(match[1], "x"), path)
                _DESCRIBED[filled] = [
                    each | {"schema": resolved(each["schema"], schemas)}
                    for each in operations["get"].get("parameters", ())
                    if each["in"] == "query"
                ]
    return _DESCRIBED


_DESCRIBED: dict[str, list[dict[str, Any]]] = {}


def resolved(schema: Any, schemas: dict[str, Any]) -> Any:
    """A schema with its references replaced."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            return schemas[schema["$ref"].rpartition("/")[2]]
        return {name: resolved(value, schemas) for name, value in schema.items()}
    return [resolved(each, schemas) for each in schema] if isinstance(schema, list) else schema


def allowed_values(schema: dict[str, Any]) -> list[str]:
    """The values that a schema names."""
    parts = [schema, *schema.get("anyOf", ()), schema.get("items", {})]
    values = [value for part in parts for value in part.get("enum", ())]
    if any(part.get("type") == "boolean" for part in parts):
        values += ["true", "false"]
    return [str(value) for value in values]


def measure(port: int, process: int, paths: list[str], times: int, most_variants: int) -> list[dict[str, Any]]:
    """Ask each page some times, then each of its variants."""
    asking = Asking(port, process)
    found: list[dict[str, Any]] = []
    for path in paths:
        row, text = measured(asking, path, times)
        found.append(row)
        print(line(row), flush=True)
        if row["status"] == 200:
            offered = program_variants if path.startswith("JSON ") else variants
            for variant in offered(asking, path, text)[:most_variants]:
                row, _ = measured(asking, variant, max(3, times // 4))
                found.append(row)
                if row["p95"] > AIM_MS or row["status"] >= 400:
                    print(line(row), flush=True)
    return found


def measure_first(where: str, paths: list[str], starts: int) -> list[dict[str, Any]]:
    """Ask each page once of some servers that have just started: its first request is their first page."""
    found = []
    for path in paths:
        rows = []
        for _ in range(starts):
            with served(where) as (port, process):
                rows.append(measured(Asking(port, process), path, 1)[0])
        ordered = sorted(row["first"] for row in rows)
        spent = statistics.median(row["processor"] for row in rows)
        row = rows[0] | {"p50": statistics.median(ordered), "p95": ordered[-1], "processor": spent}
        found.append(row)
        print(line(row), flush=True)
    return found


def measured(asking: Asking, path: str, times: int) -> tuple[dict[str, Any], str]:
    """Ask one path some times."""
    used = asking.processor_s()
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
        "processor": round(1000 * (asking.processor_s() - used) / len(seconds), 1),
        "bytes": len(text),
    }, text


_PARTS = (("p50", 0.5), ("p95", 0.95))


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    is_odd = row["status"] >= 400 or not row["status"]
    mark = f"  {row['status'] or 'NO ANSWER'}" if is_odd else "  OVER" if row["p95"] > AIM_MS else ""
    times = f"{row['p50']:9.1f} {row['p95']:9.1f} {row['processor']:9.1f}"
    return f"{times} {row['bytes'] / 1024:8.0f} KB  {row['path']}{mark}"


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
    options.add_argument("--first", type=int, metavar="N", help="ask N new servers for one page each, no more")
    options.add_argument("--viewers", type=int, help="compare a crawl with and without so many live viewers, no more")
    options.add_argument("--apart", action="store_true", help="with --viewers: crawl and console in two processes")
    options.add_argument("--rounds", type=int, default=5, help="with --viewers: turns with and without")
    options.add_argument("--seconds", type=float, default=6.0, help="with --viewers: length of a turn")
    chosen = options.parse_args()
    if chosen.viewers:
        ratio = compare(chosen.viewers, chosen.rounds, chosen.seconds, apart=chosen.apart)
        return int(ratio < LEAST_RATIO)
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
            print("  p50 ms    p95 ms processor         size  page", flush=True)
            if chosen.first:
                paths = [path for path in FIRST_PAGES if chosen.only in path]
                found[kind] = measure_first(where, paths, chosen.first)
                continue
            with served(where) as (port, process):
                paths = [path for path in page_paths(sizes) if chosen.only in path]
                found[kind] = measure(port, process, paths, chosen.times, chosen.variants)
    over = [row["path"] for rows in found.values() for row in rows if row["p95"] > AIM_MS]
    asked = sum(map(len, found.values()))
    print(f"{asked} pages and variants, {len(over)} over {AIM_MS} ms", flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": platform.platform(), "found": found}, indent=2))
    return int(bool(over))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers are stopped in order
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    sys.exit(main())
