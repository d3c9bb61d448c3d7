"""Jobs for tests of the crawl service over HTTP: policies, hosts whose robots.txt is known, and bots with keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
from sqlalchemy import text

from comity.assemble import State
from comity.database import robots as robots_table
from comity.upkeep.sweep_queue import make_due_jobs
from tests.doors.web.served import WITH_TOKEN, Served


def know_robots(state: State, host: str) -> None:
    """Have the cache say that a host has no robots.txt."""
    now = state.clock.now()
    values = {
        "origin": f"https://{host}", "host": host, "http_status": 404, "version": None, "access": "allow_all",
        "fetched_at": now, "expires_at": now + timedelta(hours=12),
    }  # fmt: skip
    with state.database.write() as connection:
        robots_table.put(connection, values)


def execute(state: State, statement: str, **values: Any) -> None:
    with state.database.write() as connection:
        connection.execute(text(statement), values)


@dataclass(slots=True)
class Queue:
    """A server with jobs, its operator and one bot."""

    served: Served
    admin: httpx.Client
    bot: httpx.Client
    bot_id: str

    @property
    def state(self) -> State:
        return self.served.state

    def policy(self, url: str, **columns: Any) -> str:
        answer = self.admin.post("/admin/crawl_policies", json={"url": url, **columns})
        assert answer.status_code == 201, answer.text
        found: str = answer.json()["id"]
        return found

    def jobs(self, count: int = 1, **columns: Any) -> None:
        """Jobs on a host each, ready to be pulled."""
        for number in range(count):
            know_robots(self.state, f"shop{number}.example")
            self.policy(f"https://shop{number}.example/p", **columns)
        make_due_jobs(self.state.database, self.state.clock)

    def pull(self, most: int = 10, **body: Any) -> dict[str, Any]:
        answer = self.bot.post("/api/crawl/pull/", json={"bot_id": self.bot_id, "max_jobs": most, **body})
        assert answer.status_code == 200, answer.text
        assert answer.json()["success"] is True
        found: dict[str, Any] = answer.json()["data"]
        return found

    def pulled(self, count: int = 1, **columns: Any) -> list[dict[str, Any]]:
        self.jobs(count, **columns)
        found: list[dict[str, Any]] = self.pull(count)["jobs"]
        assert len(found) == count
        return found

    def submit(self, job_id: str, success: bool = True, **body: Any) -> httpx.Response:
        document = {"bot_id": self.bot_id, "job_id": job_id, "success": success, **body}
        return self.bot.post("/api/crawl/submit/", json=document)

    def refusal(self, answer: httpx.Response) -> tuple[int, str]:
        body = answer.json()
        assert set(body) == {"success", "error", "message", "details"}, body
        assert body["success"] is False
        assert isinstance(body["details"], dict)
        return answer.status_code, body["error"]

    def let_lock_run_out(self, job_id: str) -> None:
        """Move the lock of a job into the past."""
        past = self.state.clock.now() - timedelta(seconds=905)
        moved = "locked_at = :locked_at, lock_ends_at = :ends_at, lock_ttl_seconds = 600"
        sqlite = not self.state.database.is_shared
        times = (past, past + timedelta(seconds=600))
        shown = [each.replace(tzinfo=None).isoformat(" ", "microseconds") if sqlite else each for each in times]
        key = job_id.replace("-", "") if sqlite else job_id
        execute(
            self.state, f"UPDATE crawl_jobs SET {moved} WHERE id = :id", locked_at=shown[0], ends_at=shown[1], id=key
        )


@contextmanager
def queue_on(running: Served, bots: Sequence[str] = ("shop-1",)) -> Iterator[Queue]:
    """The crawl service on a server with a login."""
    with running.client(headers=WITH_TOKEN) as admin:
        keys = [admin.post("/admin/bots", json={"bot_id": bot}).json()["key"] for bot in bots]
        with running.client(headers={"X-API-Key": keys[0]}) as bot:
            yield Queue(running, admin, bot, bots[0])
