"""What a page costs as the state grows: queued URLs and known hosts, in a file and in PostgreSQL.

    python bench/growth.py [--urls 10000,1000000,10000000] [--hosts 1000,100000,1000000] [--stores embedded,shared]
                           [--pages 2000] [--repeats 3] [--small] [--write]

Queued URLs: 50 hosts share the queue, and `comity crawl` continues them. Hosts: all have a URL in the queue, and
`comity work` takes the best of them. Each run is ended after `--pages` pages, and starts from the same state. Prints
the time of a page (between the first and the last of them), its CPU (from the first request on), time and CPU from the
start of the command to its first request, and the peak memory. On a busy machine only the CPU says something. It
decides whether anything that is done for a page, or at the start, looks at the whole state. `--small` takes about a
minute; `--write` puts the plot and a table into docs/sizing.md, with what earlier runs found for other sizes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from _crawlers import MemoryWatch, refuse_if_busy  # noqa: E402
from _site import host_address, pinned  # noqa: E402
from hosts import cpu_of  # noqa: E402
from sqlalchemy import Table, insert  # noqa: E402
from sqlalchemy.engine import make_url  # noqa: E402

from comity.database.bulk import Encoding, insert_rows  # noqa: E402
from comity.database.connection import open_database  # noqa: E402
from comity.database.schema import upgrade  # noqa: E402
from comity.database.tables import domain_frontier, domains  # noqa: E402
from comity.rules.canonical import url_key  # noqa: E402
from tests.servers.postgres import PostgresServer  # noqa: E402

PORT = 18280
ANSWERING = 250  # hosts that the origin serves; they are the best in the table of hosts
SHARING = 50  # hosts that share the queue where its length is measured
BATCH = 10_000
RUN_S_MOST = 300.0
IMAGE = HERE.parent / "docs" / "images" / "growth.svg"
PAGE = HERE.parent / "docs" / "sizing.md"
MARKS = ("<!-- bench/growth.py writes below this line -->", "<!-- bench/growth.py writes above this line -->")
RESULTS = HERE / "results" / "growth.json"
COMITY = Path(sys.executable).parent / "comity"
LIMITS = ("--delay", "0", "--per-host", "16", "--concurrency", "64", "--allow-network", "127.0.0.0/8")


@dataclass(frozen=True)
class Figures:
    """The medians of one size."""

    store: str  # embedded or shared
    grown: str  # URLs or hosts
    size: int
    page_us: float
    cpu_us: float
    first_request_s: float
    first_cpu_s: float  # of the command, until then
    memory_mb: float


def host_name(number: int) -> str:
    """A host of its own for each number; only the first ones answer."""
    if number < ANSWERING:
        return f"{host_address(number)}:{PORT}"
    return f"127.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255}:{PORT}"


def fill(url: str | Path, hosts: int, urls: int) -> None:
    """Make a state: one URL for each host that does not answer, and the rest of the queue for those that do.

    Its indexes are made last, and nothing is synced or checked meanwhile: the set-up is not what is measured.
    """
    database = open_database(url)
    upgrade(database)
    answering = min(ANSWERING, hosts)
    each = max((urls - (hosts - answering)) // answering, 1)
    with database.engine.connect() as connection:
        unchecked = "SET session_replication_role = replica" if database.is_shared else "PRAGMA foreign_keys=OFF"
        connection.exec_driver_sql("COMMIT")  # SQLite changes these outside of transactions only
        connection.exec_driver_sql(unchecked)
        if not database.is_shared:
            connection.exec_driver_sql("PRAGMA synchronous=OFF")
        connection.exec_driver_sql("BEGIN")
        for index in domain_frontier.indexes:
            index.drop(connection)
        encoding, queue = Encoding(connection), []
        columns = ("domain_id", "url", "url_key", "depth")
        for first in range(0, hosts, BATCH):
            batch = []
            for number in range(first, min(first + BATCH, hosts)):
                count = each if number < answering else 1
                # Higher is better; those that answer come first.
                row = {"id": uuid4(), "domain": host_name(number), "priority_score": 2_000_000 - number}
                batch.append({**row, "parent_domain": row["domain"], "frontier_size": count, "pages_discovered": count})
            connection.execute(insert(domains), batch)
            for row in batch:
                host_id, start = encoding.uuid(row["id"]), f"http://{row['domain']}/p/"
                for page in range(row["frontier_size"]):
                    address = f"{start}{page}"
                    queue.append((host_id, address, url_key(address), 1))
                    if len(queue) == BATCH:
                        copy_rows(connection, domain_frontier, columns, queue)
                        queue.clear()
        copy_rows(connection, domain_frontier, columns, queue)
        for index in domain_frontier.indexes:
            index.create(connection)
        connection.exec_driver_sql("COMMIT")
        if not database.is_shared:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    if database.is_shared:  # as a server does by itself, sooner or later
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE domains, domain_frontier")
    database.close()


def copy_rows(connection: Any, table: Table, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """Insert rows of encoded values, by COPY on PostgreSQL."""
    if connection.dialect.name != "postgresql":
        insert_rows(connection, table, columns, rows)
        return
    with connection.connection.cursor().copy(f"COPY {table.name} ({', '.join(columns)}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


class Answering(asyncio.Protocol):
    """Any page of any host, made when it is asked for; counts, and says when the first and the last one were."""

    pages: ClassVar[int] = 0
    wanted: ClassVar[int] = 0
    first_at: ClassVar[float] = 0.0
    first_page_at: ClassVar[float] = 0.0
    text: ClassVar[str] = "What a page costs must not depend on the state. " * 60

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport
        self.rest = b""

    def data_received(self, data: bytes) -> None:
        *heads, self.rest = (self.rest + data).split(b"\r\n\r\n")
        for head in heads:
            self.transport.write(self.answer(head.split(b" ", 2)[1].decode()))

    @staticmethod
    def answer(path: str) -> bytes:
        """The response, and for the last page that is wanted a line on stdout."""
        now = time.monotonic()
        if not Answering.first_at:
            Answering.first_at = now
            print("first", flush=True)
        body = b"User-agent: *\nAllow: /\n"
        if path.startswith("/p/"):
            Answering.first_page_at = Answering.first_page_at or now
            Answering.pages += 1
            if Answering.pages == Answering.wanted:
                print(json.dumps([Answering.first_at, Answering.first_page_at, now]), flush=True)
            number = int(path[3:])
            links = "".join(f'<p>{Answering.text[:200]}<a href="/p/{number + n}">{n}</a>' for n in range(1, 21))
            body = f"<!doctype html><title>{path}</title><p>{Answering.text}{links}".encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body


async def serve(wanted: int) -> None:
    """Answer on the addresses of the hosts that answer."""
    Answering.wanted = wanted
    loop = asyncio.get_running_loop()
    for number in range(ANSWERING):
        await loop.create_server(Answering, host_address(number), PORT, backlog=1024)
    print("ready", flush=True)
    await asyncio.Event().wait()


@contextmanager
def origin(wanted: int) -> Iterator[Any]:
    """The origin in a process of its own."""
    command = [sys.executable, __file__, "--serve", str(wanted)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=pinned(0))
    try:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            raise SystemExit(f"The origin did not start; is port {PORT} in use?")
        yield process.stdout
    finally:
        process.kill()
        process.wait(10)


def run(grown: str, environment: dict[str, str], folder: Path, pages: int) -> tuple[float, ...]:
    """One crawl: µs and CPU µs a page, seconds and CPU seconds to the first request, MB."""
    seeds = folder / "seeds.txt"
    seeds.write_text("".join(f"http://{host_name(number)}/p/0\n" for number in range(SHARING)))
    chosen = ["crawl", "--seeds", str(seeds), "--max-pages", "0"] if grown == "URLs" else ["work", "--hosts", "50"]
    command = [str(COMITY), *chosen, "--into", str(folder / "pages"), *LIMITS, "--json"]
    said = folder / "said.txt"
    with origin(pages) as served, said.open("w") as output:
        began = time.monotonic()
        crawl = subprocess.Popen(command, stdout=output, stderr=output, env=environment, preexec_fn=pinned(1))
        watch = MemoryWatch(crawl.pid)
        watch.start()
        os.set_blocking(served.fileno(), False)
        line, first_cpu_s = "", 0.0
        while not line and crawl.poll() is None and time.monotonic() < began + RUN_S_MOST:
            line = served.readline()
            if line.strip() == "first":
                line, first_cpu_s = "", cpu_of(crawl.pid)
            time.sleep(0.02)
        if crawl.poll() is not None or not line:
            crawl.kill()
            crawl.wait(10)
            raise SystemExit(f"The crawl ended before {pages} pages: {said.read_text()[-800:]}")
        crawl.send_signal(signal.SIGTERM)
        _pid, _status, used = os.wait4(crawl.pid, 0)
        crawl.returncode = 0
        watch.stopped.set()
        watch.join()
    first_at, first_page_at, last_at = json.loads(line)
    cpu_s = used.ru_utime + used.ru_stime
    page_us, cpu_us = (last_at - first_page_at) / pages * 1e6, (cpu_s - first_cpu_s) / pages * 1e6
    return page_us, cpu_us, first_at - began, first_cpu_s, watch.peak_kb / 1024


def measure(store: str, grown: str, size: int, pages: int, repeats: int) -> Figures:
    """Fill a state once, and crawl copies of it."""
    hosts, urls = (SHARING, size) if grown == "URLs" else (size, size + pages * 2)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["COMITY_LOG_FORMAT"] = "json"
    runs = []
    with ExitStack() as stack:
        text = stack.enter_context(tempfile.TemporaryDirectory(prefix="comity-bench-"))
        copied = copies(store, Path(text), stack, hosts, urls)
        for turn in range(repeats):
            folder = Path(text) / str(turn)
            folder.mkdir()
            key, where = copied(turn)
            os.sync()  # so that no run pays for the copy
            runs.append(run(grown, {**environment, key: where}, folder, pages))
    return Figures(store, grown, size, *(statistics.median(column) for column in zip(*runs, strict=True)))


def copies(store: str, folder: Path, stack: ExitStack, hosts: int, urls: int) -> Callable[[int], tuple[str, str]]:
    """Fill a state; what is returned makes a copy for a turn, and gives the setting that names it."""
    if store == "embedded":
        fill(folder / "filled.db", hosts, urls)

        def copy_file(turn: int) -> tuple[str, str]:
            shutil.copyfile(folder / "filled.db", folder / f"{turn}.db")
            return "COMITY_STATE", str(folder / f"{turn}.db")

        return copy_file
    server = stack.enter_context(PostgresServer(settings={"shared_buffers": "256MB"}))
    filled = server.create_database()
    fill(filled, hosts, urls)

    def copy_database(_turn: int) -> tuple[str, str]:
        return "COMITY_DATABASE_URL", server.create_database(template=make_url(filled).database or "")

    return copy_database


COLOURS = {"embedded": "#1f6f8b", "shared": "#cc6f00"}


def draw(figures: list[Figures]) -> str:
    """Four charts: CPU of a page and memory, by queued URLs and by hosts."""
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="640" viewBox="0 0 900 640" role="img" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#1d2530">',
        "<title>CPU of a page, and memory, as the state grows</title>",
        '<rect width="900" height="640" fill="#fff"/>',
    ]
    for column, grown in enumerate(("URLs", "hosts")):
        chosen = [each for each in figures if each.grown == grown]
        parts += _chart(
            60 + 430 * column, 60, f"CPU µs a page, by {grown} in the state", [(f, f.cpu_us) for f in chosen]
        )
        parts += _chart(60 + 430 * column, 360, f"peak MB, by {grown} in the state", [(f, f.memory_mb) for f in chosen])
    for place, (store, colour) in enumerate(COLOURS.items()):
        parts.append(f'<text x="{60 + 110 * place}" y="26" fill="{colour}" font-weight="600">{store}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _chart(left: int, top: int, title: str, points: list[tuple[Figures, float]]) -> list[str]:
    """One chart: a place for each size, and an axis of values that starts at 0."""
    width, height = 340, 200
    parts = [
        f'<text x="{left}" y="{top - 10}" font-weight="600">{title}</text>',
        f'<path d="M{left} {top}v{height}h{width}" fill="none" stroke="#8a94a0"/>',
    ]
    if not points:
        return parts
    sizes = sorted({each.size for each, _value in points})
    most = max(value for _each, value in points) * 1.2 or 1.0
    step = width / max(len(sizes), 1)

    def across(size: int) -> float:
        return left + step * (sizes.index(size) + 0.5)

    parts += [
        f'<text x="{across(size):.0f}" y="{top + height + 18}" text-anchor="middle">{size:,}</text>' for size in sizes
    ]
    for store, colour in COLOURS.items():
        line = [
            (across(each.size), top + height * (1 - value / most), value)
            for each, value in points
            if each.store == store
        ]
        if line:
            path = " ".join(f"{x:.0f},{y:.0f}" for x, y, _value in line)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for x, y, value in line:
            parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3.5" fill="{colour}"/>')
            # Above the line for one store and below it for the other, which may lie close to it.
            label = y - 8 if store == "embedded" else y + 18
            parts.append(f'<text x="{x:.0f}" y="{label:.0f}" text-anchor="middle" fill="{colour}">{value:,.0f}</text>')
    return parts


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--urls", default="10000,1000000,10000000")
    options.add_argument("--hosts", default="1000,100000,1000000")
    options.add_argument("--stores", default="embedded,shared")
    options.add_argument("--pages", type=int, default=2000)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument(
        "--small", action="store_true", help="10,000 and 100,000 URLs, 1,000 and 10,000 hosts, one run"
    )
    options.add_argument("--write", action="store_true", help="write plot and table into docs/sizing.md")
    chosen = options.parse_args()
    if chosen.write:
        refuse_if_busy()
    if chosen.small:
        chosen.urls, chosen.hosts, chosen.pages, chosen.repeats = "10000,100000", "1000,10000", 500, 1
    sizes = [("URLs", int(size)) for size in filter(None, chosen.urls.split(","))]
    sizes += [("hosts", int(size)) for size in filter(None, chosen.hosts.split(","))]
    figures: list[Figures] = []
    print(f"{'store':<10}{'grown':<7}{'size':>12}{'µs a page':>11}{'CPU µs':>9}{'first s':>9}{'CPU s':>7}{'MB':>7}")
    for store in chosen.stores.split(","):
        for grown, size in sizes:
            each = measure(store, grown, size, chosen.pages, chosen.repeats)
            figures.append(each)
            start = f"{each.first_request_s:>9.2f}{each.first_cpu_s:>7.2f}"
            row = f"{each.page_us:>11.0f}{each.cpu_us:>9.0f}{start}{each.memory_mb:>7.0f}"
            print(f"{store:<10}{grown:<7}{size:>12,}{row}", flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps([asdict(each) for each in merged(figures)], indent=1))
    if chosen.write:
        write(merged(figures))


def merged(figures: list[Figures]) -> list[Figures]:
    """These figures, and those of earlier runs for other sizes and stores."""
    found = {}
    if RESULTS.exists():
        found = {(each["store"], each["grown"], each["size"]): each for each in json.loads(RESULTS.read_text())}
    found |= {(each.store, each.grown, each.size): asdict(each) for each in figures}
    return [Figures(**found[key]) for key in sorted(found)]


def write(figures: list[Figures]) -> None:
    """Put the plot and the table into docs/sizing.md."""
    IMAGE.write_text(draw(figures))
    lines = [
        "| state | grown | size | µs a page | CPU µs a page | first request, s | CPU s until then | peak MB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {each.store} | {each.grown} | {each.size:,} | {each.page_us:,.0f} | {each.cpu_us:,.0f} | "
        f"{each.first_request_s:.1f} | {each.first_cpu_s or '–':.4} | {each.memory_mb:.0f} |"
        for each in sorted(figures, key=lambda each: (each.store, each.grown != "URLs", each.size))
    ]
    before, _, rest = PAGE.read_text().partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    PAGE.write_text(f"{before}{MARKS[0]}\n" + "\n".join(lines) + f"\n{MARKS[1]}{after}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        import uvloop

        uvloop.run(serve(int(sys.argv[2])))
    else:
        main()
