"""Jobs and results as values, and how they become JSON. No I/O: the two clients share this.

The times of a job refer to the server's clock. A bot's clock may differ, so windows are computed from the answer
itself: the server stamped it after the request was sent and before the answer came.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

QUARANTINE: Final = "quarantine"


@dataclass(frozen=True, slots=True)
class HttpExchange:
    """When a request was sent and its answer came, on the local monotonic clock."""

    sent_at: float
    answered_at: float


@dataclass(slots=True)
class Job:
    """A job that the bot holds. Start the request to its URL within the window, once."""

    job_id: str
    url: str
    domain: str
    priority: int
    retry_count: int
    max_retries: int
    timeout_s: float
    locked_until: datetime
    not_before: datetime
    start_by: datetime
    delay_s: float
    crawl_config: dict[str, Any] | None
    opens_at: float
    """When the window opens, on the local monotonic clock; never earlier than the server means."""
    closes_at: float
    """When it closes; never later than the server means."""
    stamp: tuple[float, float] = field(repr=False, default=(0.0, 0.0))
    started_at: float | None = None
    """When the request started, on the server's clock, in UNIX seconds; `mark_started` sets it."""
    is_lost: bool = False
    """Whether the server said that the lock is gone."""

    def mark_started(self, now: float) -> None:
        """Note that the request to the site starts now (on the local monotonic clock)."""
        server_s, local = self.stamp
        self.started_at = round(server_s + (now - local), 3)


@dataclass(frozen=True, slots=True)
class Pulled:
    """The answer to a pull."""

    jobs: tuple[Job, ...]
    skipped: int
    skipped_by_reason: dict[str, int]
    retry_after_s: float | None
    limited_by: str | None = None
    """Why the bot gets no jobs, however many wait: `max_jobs_in_hand`, `max_jobs_per_minute` or `quarantine`."""

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to do for this bot. A limit that it has reached passes; a quarantine lasts."""
        return not (self.jobs or self.skipped) and self.limited_by in (None, QUARANTINE)


@dataclass(frozen=True, slots=True)
class Result:
    """What a bot found on a page. Prices are exact: a `Decimal`, an integer, or a string of digits."""

    price: Decimal | int | str | None = None
    currency: str | None = None
    title: str | None = None
    in_stock: bool | None = None
    parsed_data: Mapping[str, Any] | None = None
    raw_html: str | None = None
    http_status: int | None = None

    def document(self) -> dict[str, Any]:
        """The result as JSON takes it, without what is not known."""
        if isinstance(self.price, float):
            raise TypeError("a price must not be a float, which cannot represent most prices; use Decimal or a string")
        return _known(
            success=True,
            price=None if self.price is None else str(self.price),
            currency=self.currency,
            title=self.title,
            in_stock=self.in_stock,
            parsed_data=None if self.parsed_data is None else dict(self.parsed_data),
            raw_html=self.raw_html,
            http_status=self.http_status,
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no result. A site's 429 or 503, with Retry-After in seconds, blocks the host for every client."""

    error_msg: str
    http_status: int | None = None
    retry_after_s: float | None = None

    def document(self) -> dict[str, Any]:
        """The failure as JSON takes it."""
        return _known(
            success=False,
            error_msg=self.error_msg[:4000] or "no reason",
            http_status=self.http_status,
            retry_after=self.retry_after_s,
        )


@dataclass(frozen=True, slots=True)
class Submitted:
    """The answer to a submit: the job's status now, and everything else that the server said."""

    status: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Locks that were extended, by job, and jobs that the bot no longer holds."""

    kept: dict[str, datetime]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Released:
    """Jobs that were returned, and jobs that the bot did not hold."""

    released: tuple[str, ...]
    lost: tuple[str, ...]


def ids_of(jobs: Iterable[Job | str]) -> list[str]:
    """The ids of jobs."""
    return [job if isinstance(job, str) else job.job_id for job in jobs]


def submit_body(bot_id: str, job: Job | str, outcome: Result | Failure) -> dict[str, Any]:
    """The body of a submit."""
    body = {"bot_id": bot_id, "job_id": job if isinstance(job, str) else job.job_id, **outcome.document()}
    if isinstance(job, Job) and job.started_at is not None:
        body["started_at"] = job.started_at
    return body


def pulled_from(data: Mapping[str, Any], exchange: HttpExchange) -> Pulled:
    """Read the answer to a pull."""
    server_s = datetime.fromisoformat(data["server_time"]).timestamp()
    jobs = tuple(_job(each, server_s, exchange) for each in data["jobs"])
    return Pulled(
        jobs,
        int(data["skipped"]),
        dict(data.get("skipped_by_reason") or {}),
        data.get("retry_after_seconds"),
        data.get("limited_by"),
    )


def _job(data: Mapping[str, Any], server_s: float, exchange: HttpExchange) -> Job:
    not_before, start_by = datetime.fromisoformat(data["not_before"]), datetime.fromisoformat(data["start_by"])
    return Job(
        job_id=data["job_id"],
        url=data["url"],
        domain=data["domain"],
        priority=data["priority"],
        retry_count=data["retry_count"],
        max_retries=data["max_retries"],
        timeout_s=float(data["timeout_seconds"]),
        locked_until=datetime.fromisoformat(data["locked_until"]),
        not_before=not_before,
        start_by=start_by,
        delay_s=float(data["delay_seconds"]),
        crawl_config=data.get("crawl_config"),
        opens_at=exchange.answered_at + (not_before.timestamp() - server_s),
        closes_at=exchange.sent_at + (start_by.timestamp() - server_s) - 0.001,  # times are cut to the millisecond
        stamp=(server_s, (exchange.sent_at + exchange.answered_at) / 2),
    )


def heartbeat_from(data: Mapping[str, Any]) -> Heartbeat:
    """Read the answer to a heartbeat."""
    return Heartbeat(
        {each["job_id"]: datetime.fromisoformat(each["locked_until"]) for each in data["kept"]}, tuple(data["lost"])
    )


def released_from(data: Mapping[str, Any]) -> Released:
    """Read the answer to a release."""
    return Released(tuple(data["released"]), tuple(data["lost"]))


def encoded(body: Mapping[str, Any]) -> bytes:
    """A body as JSON; decimals in it become strings."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=_other).encode("utf-8", "replace")


def _other(value: Any) -> str:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not JSON")


def _known(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
