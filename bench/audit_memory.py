"""How much memory does an audit of many pages take beyond its crawl? 10,000 pages with 100 links each.

The pages are made as they are asked for. Measured is the resident memory of the process that audits: its peak during
the crawl, while the audit's own tables are written, while the site is judged, and while the report and the tables for
users are written. The aim is 30 MB over the crawl, and a report of less than 10 MB. `--again FOLDER` measures a stored
audit in a new process: all but the crawl.

    make bench ONLY=audit_memory ARGS="--pages 10000"
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import comity.run.audit.audit as audits
from comity.assemble import open_state
from comity.model.audit import AuditReport
from comity.reports.audit.build import report_of
from comity.reports.audit.html import write_html
from comity.reports.audit.stored_audits import StoredAudit, read_info, read_runs
from comity.run.audit.tables import write_tables
from comity.settings import read_settings

LINKS = 100
WORDS = " ".join(f"word{number}" for number in range(150))


def page_of(number: int, pages: int) -> bytes:
    """A page of about 10 KB whose links reach every other page within a few steps."""
    links = "".join(
        f"<li><a href=/p{(number * 7 + step * 131) % pages}>page {step} of {number}</a></li>" for step in range(LINKS)
    )
    head = f"<title>Page {number}</title><meta name=description content='About {number}'>"
    main = f"<h1>Page {number}</h1><p>{number} {WORDS}</p>"
    return (
        f"<!doctype html><html lang=en><head>{head}</head>"
        f"<body><nav><ul>{links}</ul></nav><main>{main}</main></body></html>"
    ).encode()


def serve(pages: int, port: Any) -> None:
    """A site on loopback, in a process of its own."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                number = path.removeprefix("/p")
                is_page = path == "/" or (number.isdecimal() and int(number) < pages)
                body = page_of(int(number) if number.isdecimal() else 0, pages) if is_page else b"not here"
                status = b"200 OK" if is_page else b"404 Not Found"
                writer.write(
                    b"HTTP/1.1 %b\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b"
                    % (status, len(body), body)
                )
                await writer.drain()

    async def main() -> None:
        server = await asyncio.start_server(converse, "127.0.0.1", 0)
        port.value = server.sockets[0].getsockname()[1]
        await server.serve_forever()

    asyncio.run(main())


def resident_mb(name: str = "VmHWM") -> float:
    """The memory of this process: VmRSS for now, VmHWM for its peak."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    return 0.0


def peak_of(work: Callable[[], Any]) -> tuple[float, float]:
    """The peak of memory while something is done, and how long it took."""
    Path("/proc/self/clear_refs").write_text("5")  # begins a new peak
    began = time.perf_counter()
    work()
    return resident_mb(), time.perf_counter() - began


def measure(pages: int, port: int, folder: Path) -> dict[str, Any]:
    """Audit the site, and report the audit."""
    settings = read_settings(
        state=str(folder / "state.db"), audits=str(folder / "audits"), allow_networks=("127.0.0.0/8",), delay_s=0.0,
        per_host=8, max_pages=0, max_minutes=0.0, sitemaps=False, avoid_traps=False, database_url="",
    )  # fmt: skip
    found: dict[str, Any] = {"pages": pages}
    gather = audits.gather

    def watched(*arguments: Any) -> None:
        found["crawl_peak_mb"] = resident_mb()
        found["gather_peak_mb"], found["gather_s"] = peak_of(lambda: gather(*arguments))

    audits.gather = watched  # type: ignore[assignment]
    run = audits.AuditRun(audits.plan_audit(settings, f"http://127.0.0.1:{port}/"))
    began = time.perf_counter()
    run.start()
    run.wait(3600)
    stored = run.close()
    found["whole_s"] = time.perf_counter() - began
    return found | report(stored, folder)


def measure_again(folder: Path) -> dict[str, Any]:
    """Gather and report a stored audit in this process, which crawled nothing."""
    (audit,) = (folder / "audits").iterdir()
    runs = read_runs(audit)
    assert runs is not None
    found: dict[str, Any] = {"crawl_peak_mb": resident_mb()}
    with open_state(read_settings(state=str(folder / "state.db"), database_url="")) as state:
        site = read_info(audit).site
        found["gather_peak_mb"], found["gather_s"] = peak_of(
            lambda: audits.gather(state.database, runs, audit, partial(audits.read_stored, audit), site)
        )
    return found | report(StoredAudit(audit), folder)


def report(stored: StoredAudit, folder: Path) -> dict[str, Any]:
    """Judge a stored audit and write what users may want of it."""
    made: list[AuditReport] = []
    found: dict[str, Any] = {"visited": stored.info.pages}
    found["report_peak_mb"], found["report_s"] = peak_of(lambda: made.append(report_of(stored)))
    page, tables = folder / "audit.html", folder / "tables"
    found["html_peak_mb"], found["html_s"] = peak_of(lambda: write_html(made[0], page))
    found["tables_peak_mb"], found["tables_s"] = peak_of(lambda: write_tables(stored, made[0].findings, tables))
    found["links"] = made[0].totals["links"]
    found["html_mb"] = page.stat().st_size / 1e6
    found["stored_mb"] = sum(file.stat().st_size for file in (stored.folder / "tables").rglob("*")) / 1e6
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--keep", type=Path, help="a folder for the state and the audit")
    parser.add_argument("--again", type=Path, help="a folder that --keep made")
    wanted = parser.parse_args()
    if wanted.again is not None:
        show(measure_again(wanted.again))
        return
    port = multiprocessing.Value("i", 0)
    server = multiprocessing.Process(target=serve, args=(wanted.pages, port), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.01)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(wanted.pages, port.value, wanted.keep or Path(folder))
    server.terminate()
    show(found)


def show(found: dict[str, Any]) -> None:
    """Print and store what was measured; `over_mb` is what the audit took beyond its crawl."""
    peaks = [value for name, value in found.items() if name.endswith("_peak_mb") and name != "crawl_peak_mb"]
    found["over_mb"] = max(peaks) - found["crawl_peak_mb"]
    for name, value in found.items():
        print(f"{name:16} {value:10,.1f}" if isinstance(value, float) else f"{name:16} {value:10,}")
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "audit_memory.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
