"""The mixed trial: a Scrapy spider, Comity's own worker and bots on the same hosts, over a kill -9 of the server.

All of them are real processes or real HTTP clients on one state. What counts is the sites' own logs: no two requests
of anyone are closer than the delay, and everything gets done.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import func, insert, select, update

from comity.database.connection import open_database
from comity.database.queue import reservations
from comity.database.queue.tables import crawl_jobs
from comity.database.schema import upgrade
from comity.database.tables import domains
from comity.reports.politeness import verify_politeness
from comity.rules.canonical import canonical_host
from tests.servers.ports import free_port
from tests.walk.site import Site, Web, page

SPIDER = Path(__file__).with_name("spider.py")
ROBOTS = "User-agent: *\nDisallow: /private\n"
LOCK_TTL_S = 20


@dataclass(slots=True)
class Trial:
    """How large a trial is."""

    folder: Path
    database_url: str
    sites: int = 20
    bots: int = 10
    pages: int = 5
    """Of each site, for each of the three."""
    delay_s: float = 1.0
    within_s: float = 600.0
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("COMITY_")}
        return kept | {
            "COMITY_DATABASE_URL": self.database_url,
            "COMITY_ENV": "dev",
            "COMITY_ALLOW_NETWORKS": "127.0.0.0/8",
            "COMITY_DELAY": str(self.delay_s),
            "COMITY_QUEUE_DELAY": str(self.delay_s),
            "COMITY_GRANT_TTL": "10",
            "COMITY_SITEMAPS": "false",
        }

    def start(self, name: str, *command: str) -> subprocess.Popen[str]:
        with (self.folder / f"{name}.log").open("a") as log:
            process = subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, cwd=self.folder, text=True
            )
        self.processes.append(process)
        return process


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the trial showed."""

    requests: int
    smallest_gap_s: float
    missing: list[str]
    jobs_open: int
    violations: list[str]
    seconds: float


def run(trial: Trial) -> Outcome:
    """Run a trial to its end."""
    began_at = time.monotonic()
    with Web() as web:
        routes = {"/": page(*(f"/w/{number}" for number in range(trial.pages)))}
        routes |= {f"/{kind}/{number}": page() for kind in "wsj" for number in range(trial.pages)}
        sites = [web.site(routes, robots=ROBOTS) for _ in range(trial.sites)]
        _prepare(trial, sites)
        stopping = threading.Event()
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        bots = [threading.Thread(target=_bot, args=(f"bot-{number}", url, stopping)) for number in range(trial.bots)]
        try:
            server = serve(trial, port)
            comity = str(Path(sys.executable).with_name("comity"))
            trial.start("worker", comity, "work", "--into", str(trial.folder / "pages"))
            spider_urls = [site.url(f"/s/{number}") for site in sites for number in range(trial.pages)]
            settings = {"COMITY_URL": url, "CONCURRENT_REQUESTS": 4 * trial.sites}
            (trial.folder / "spider").mkdir()
            spider = trial.start(
                "spider", sys.executable, str(SPIDER), str(trial.folder / "spider"), json.dumps(settings), *spider_urls
            )
            for bot in bots:
                bot.start()
            wanted = trial.sites * (3 * trial.pages + 1)
            _until(lambda: _done(sites) > wanted // 3, trial)
            server.send_signal(signal.SIGKILL)
            server.wait()
            server = serve(trial, port)
            _until(lambda: not _missing(sites) and not _jobs_open(trial) and spider.poll() is not None, trial)
        finally:
            stopping.set()
            for bot in bots:
                if bot.is_alive():
                    bot.join(60)
            for process in trial.processes:
                if process.poll() is None:
                    process.terminate()
            for process in trial.processes:
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    process.kill()
        gaps = [gap for site in sites for gap in site.gaps()]
        requests = sum(len(site.paths) for site in sites)
        missing = _missing(sites)
    database = open_database(trial.database_url)
    found = [f"{audit.host}: {each.sentence}" for audit in verify_politeness(database) for each in audit.violations]
    database.close()
    return Outcome(requests, min(gaps), missing, _jobs_open(trial), found, time.monotonic() - began_at)


def _prepare(trial: Trial, sites: list[Site]) -> None:
    database = open_database(trial.database_url)
    upgrade(database)
    with database.write() as connection:
        ids = reservations.add_hosts(connection, [canonical_host(site.host) for site in sites])
        for site in sites:
            for number in range(trial.pages):
                values = {"domain_id": ids[site.host], "url": site.url(f"/j/{number}"), "lock_ttl_seconds": LOCK_TTL_S}
                connection.execute(insert(crawl_jobs).values(**values, max_retries=50))
        connection.execute(update(domains).values(queue_ready_at=func.current_timestamp()))
    database.close()
    comity = str(Path(sys.executable).with_name("comity"))
    subprocess.run(
        [comity, "seeds", "add", *(site.url() for site in sites)],
        env=trial.environment,
        check=True,
        capture_output=True,
    )


def serve(trial: Trial, port: int) -> subprocess.Popen[str]:
    """Start the server, and wait until it answers."""
    process = trial.start("server", str(Path(sys.executable).with_name("comity")), "web", "--port", str(port))

    def answers() -> bool:
        assert process.poll() is None, (trial.folder / "server.log").read_text()[-2000:]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=30):
                return True
        except OSError:
            return False

    _until(answers, trial)
    return process


def _bot(bot_id: str, server: str, stopping: threading.Event) -> None:
    """A bot that obeys: it starts each request inside its window, and gives jobs back whose window it missed."""
    while not stopping.is_set():
        pulled = _post(f"{server}/api/crawl/pull/", {"bot_id": bot_id, "max_jobs": 3}) or {}
        jobs = sorted(pulled.get("jobs", []), key=lambda job: str(job["not_before"]))
        if not jobs:
            stopping.wait(min(float(pulled.get("retry_after_seconds") or 0.5), 2.0))
        for job in jobs:
            stopping.wait(max(0.0, _seconds(job["not_before"]) - time.time()))
            if stopping.is_set() or time.time() > _seconds(job["start_by"]) - 0.2:
                _post(f"{server}/api/crawl/release/", {"bot_id": bot_id, "job_ids": [job["job_id"]]})
                continue
            body: dict[str, Any] = {"bot_id": bot_id, "job_id": job["job_id"]}
            try:
                with urllib.request.urlopen(job["url"], timeout=30) as answer:
                    body |= {"success": True, "title": "page", "http_status": answer.status}
            except OSError as error:
                body |= {"success": False, "error_msg": str(error) or "it failed"}
            # When the answer was there, the site had looked at its clock.
            body["started_at"] = time.time()
            for _ in range(60):
                if _post(f"{server}/api/crawl/submit/", body) is not None:
                    break
                time.sleep(0.5)


def _post(url: str, body: dict[str, Any]) -> dict[str, Any] | None:
    """The data of an answer, empty for a refusal; None if there is none."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            data: dict[str, Any] = json.load(answer)["data"]
            return data
    except urllib.error.HTTPError as error:
        return {} if error.code < 500 else None
    except OSError:
        return None


def _missing(sites: list[Site]) -> list[str]:
    return [site.url(path) for site in sites for path in site.routes if path not in site.paths]


def _done(sites: list[Site]) -> int:
    return sum(len(site.paths) for site in sites)


def _jobs_open(trial: Trial) -> int:
    database = open_database(trial.database_url)
    try:
        with database.read() as connection:
            wanted = select(func.count()).select_from(crawl_jobs).where(crawl_jobs.c.status != "done")
            return int(connection.execute(wanted).scalar_one())
    finally:
        database.close()


def _until(holds: Any, trial: Trial) -> None:
    ends_at = time.monotonic() + trial.within_s
    while not holds():
        assert time.monotonic() < ends_at, "it took too long"
        time.sleep(0.2)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
