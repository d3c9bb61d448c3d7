"""Asks a Comity server for grants and reports requests to it: what the integrations have in common (docs/grants.md).

Times of the server become times of this process's monotonic clock, always to the safe side: a window begins when the
answer has arrived at the latest, and ends as if the server had answered at once. So clocks need not agree.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Condition, Thread
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

MOST_URLS: Final = 100
MOST_REPORTS: Final = 1000
MOST_UNSENT: Final = 100_000
LEAST_WAIT_S: Final = 0.2
MOST_WAIT_S: Final = 5.0
TIMEOUT_S: Final = 30.0
MARGIN_S: Final = 0.2
"""A request that would start so close to the end of its window is not made: it takes a moment to reach the host."""


class ServerSilent(Exception):
    """The Comity server cannot be reached, or cannot answer now; ask again later."""


class NoGrantInTime(Exception):
    """No grant was given in time: the host is in use, blocked, or its robots.txt is being read."""


class ServerRefused(Exception):
    """The Comity server refuses the request: its key, its client id or its body is wrong."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What the server says about one URL; `opens_at` and `closes_at` are of the monotonic clock."""

    url: str
    permission: str
    reason: str | None
    message: str | None
    rule: str | None
    grant_id: str | None
    opens_at: float
    closes_at: float
    retry_after_s: float
    clock_offset_s: float

    @property
    def is_allowed(self) -> bool:
        """Whether the URL may be requested in its window."""
        return self.permission == "allowed"

    @property
    def is_denied(self) -> bool:
        """Whether the URL must not be requested."""
        return self.permission == "denied"

    @property
    def why(self) -> str:
        """Why it is denied, as a sentence for logs."""
        rule = f" ({self.rule})" if self.rule and self.rule not in (self.message or "") else ""
        return f"Comity denies {self.url}: {self.message or self.reason}{rule}"

    def report(self, answered_at: float, status: int | None, latency_s: float | None, retry_after: str | None) -> Any:
        """The report on a request that ended at a time of the monotonic clock; `retry_after` as the header says.

        When the request reached the host is known only roughly: connecting and sending take time, on a busy machine a
        lot. The latest possible time is reported, so that the next request to the host is a whole delay away: that of
        the answer, or the end of the window if that came first.
        """
        return {
            "grant_id": self.grant_id,
            "status": status,
            "latency": latency_s,
            "retry_after": seconds_to_wait(retry_after),
            "started_at": min(answered_at, self.closes_at + MARGIN_S) + self.clock_offset_s,
        }


class GrantClient:
    """One connection to a Comity server; for one thread at a time."""

    def __init__(self, url: str, key: str | None, client_id: str, user_agent: str | None = None) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"COMITY_URL must be the address of a Comity server, such as http://127.0.0.1:8000: {url}")
        self._host, self._port, self._is_secure = parts.hostname, parts.port, parts.scheme == "https"
        self._prefix = parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json"} | ({"X-API-Key": key} if key else {})
        self._client = {"client_id": client_id}
        self._agent = {"user_agent": user_agent} if user_agent else {}
        self._connection: http.client.HTTPConnection | None = None

    def grant(self, urls: Sequence[str], reports: Sequence[Mapping[str, Any]] = ()) -> list[Grant]:
        """Ask for grants, with reports on earlier requests."""
        sent_at = time.monotonic()
        data = self._call("grant", {"urls": list(urls), "reports": list(reports), **self._agent})
        now, server_now = time.monotonic(), _seconds(data["server_time"])
        return [_grant(each, sent_at - server_now, now - server_now) for each in data["grants"]]

    def report(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """Report requests."""
        self._call("report", {"reports": list(reports)})

    def release(self, grant_ids: Iterable[str]) -> None:
        """Give grants back that were not used."""
        self._call("release", {"grant_ids": list(grant_ids)})

    def exchange(self, batch: Batch) -> list[Grant]:
        """Do what a batch says; repeating it is safe."""
        if batch.releases:
            self.release(batch.releases)
        if batch.entries:
            return self.grant([entry.url for entry in batch.entries], batch.reports)
        if batch.reports:
            self.report(batch.reports)
        return []

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _call(self, action: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Make one request; if the server has closed the connection meanwhile, open it again, once."""
        content = json.dumps(self._client | dict(body)).encode()
        for is_again in (False, True):
            is_fresh = self._connection is None
            try:
                status, text = self._send(f"{self._prefix}/api/politeness/{action}/", content)
                break
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if is_fresh or is_again:
                    raise ServerSilent(f"the Comity server does not answer: {error}") from error
        if status == 429 or status >= 500:
            raise ServerSilent(f"the Comity server answers {status}")
        try:
            answer = json.loads(text)
        except ValueError:
            raise ServerRefused(f"this is not a Comity server: it answers {status} without JSON") from None
        if status != 200:
            raise ServerRefused(str(answer.get("message", f"the Comity server answers {status}")))
        data: dict[str, Any] = answer["data"]
        return data

    def _send(self, path: str, content: bytes) -> tuple[int, bytes]:
        if self._connection is None:
            if self._is_secure:
                context = ssl.create_default_context()
                self._connection = http.client.HTTPSConnection(
                    self._host, self._port, timeout=TIMEOUT_S, context=context
                )
            else:
                self._connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
        self._connection.request("POST", path, content, self._headers)
        response = self._connection.getresponse()
        return response.status, response.read()


class Batch(NamedTuple):
    """What one exchange with the server is about."""

    entries: list[_Waiting]
    reports: list[Mapping[str, Any]]
    releases: list[str]


class _Waiting(NamedTuple):
    """A URL that is asked for until a time."""

    host: str
    url: str
    until: float
    future: Future[Grant]


class Grants:
    """Requests grants for any number of threads, tasks or callbacks, and exchanges with the server in one thread.

    Of each host, one URL is asked for at a time, and the next when its grant has ended. URLs of all hosts, reports and
    releases go together. While the server is away nothing is granted; reports are kept, and it is tried again, less and
    less often.
    """

    def __init__(self, client: GrantClient) -> None:
        self._client = client
        self._waiting: OrderedDict[str, deque[_Waiting]] = OrderedDict()  # by host
        self._not_before: dict[str, float] = {}  # hosts to ask for later
        self._in_use: set[str] = set()  # hosts with a grant that has not ended
        self._reports: deque[Mapping[str, Any]] = deque(maxlen=MOST_UNSENT)
        self._releases: deque[str] = deque(maxlen=MOST_UNSENT)
        self._failures = 0
        self.failures = 0
        """How often the server could not be asked."""
        self._is_closing = False
        self._changed = Condition()
        self._thread: Thread | None = None

    def ask(self, url: str, wait_s: float) -> Future[Grant]:
        """Ask for a URL; the future gets a grant or a denial, `NoGrantInTime` after so long, or `ServerRefused`."""
        future: Future[Grant] = Future()
        entry = _Waiting(host_of(url), url, time.monotonic() + wait_s, future)
        with self._changed:
            self._waiting.setdefault(entry.host, deque()).append(entry)
            if self._thread is None:
                self._thread = Thread(target=self._serve, name="comity-grants", daemon=True)
                self._thread.start()
            self._changed.notify()
        return future

    def end(self, grant: Grant, report: Mapping[str, Any] | None) -> None:
        """A grant was used, or without a report was not: the next URL of its host may be asked for."""
        with self._changed:
            if report is not None:
                self._reports.append(report)
            elif grant.grant_id is not None:
                self._releases.append(grant.grant_id)
            self._in_use.discard(host_of(grant.url))
            self._changed.notify()

    def close(self, within_s: float = 10.0) -> None:
        """Send what is to be reported, for so long at most, and end the thread."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(within_s)
        self._client.close()

    def _serve(self) -> None:
        while True:
            with self._changed:
                batch = self._next(time.monotonic())
                if not isinstance(batch, Batch):
                    if self._is_closing:
                        return
                    self._changed.wait(batch)
                    continue
            try:
                grants = self._client.exchange(batch)
            except ServerRefused as error:
                self._refuse(error)
            except Exception:
                with self._changed:
                    if self._is_closing:
                        return
                    self._changed.wait(self._failed(batch))
            else:
                self._answered(batch, grants)

    def _next(self, now: float) -> Batch | float | None:
        """The next exchange, or how long to wait for one; None: until something changes."""
        entries: list[_Waiting] = []
        soonest: float | None = None
        for host in list(self._waiting):
            queue = self._waiting[host]
            for late in [entry for entry in queue if entry.until <= now or entry.future.cancelled()]:
                queue.remove(late)
                _settle(late.future, NoGrantInTime(f"Comity gave no grant for {late.url} in time: its host is busy"))
            if not queue:
                del self._waiting[host]
                continue
            wake_s = min(entry.until for entry in queue) - now
            if host not in self._in_use and len(entries) < MOST_URLS:
                wait_s = self._not_before.get(host, now) - now
                entries += [queue[0]] if wait_s <= 0 else []
                wake_s = min(wake_s, max(wait_s, 0.0))
            soonest = wake_s if soonest is None else min(soonest, wake_s)
        if not entries and not self._reports and not self._releases:
            return soonest
        reports = [self._reports.popleft() for _ in range(min(MOST_REPORTS, len(self._reports)))]
        releases = [self._releases.popleft() for _ in range(min(MOST_REPORTS, len(self._releases)))]
        return Batch(entries, reports, releases)

    def _answered(self, batch: Batch, grants: Sequence[Grant]) -> None:
        with self._changed:
            self._failures, now = 0, time.monotonic()
            settled: list[tuple[_Waiting, Grant]] = []
            for entry, grant in zip(batch.entries, grants, strict=True):
                host = entry.host
                if not grant.is_allowed and not grant.is_denied:
                    self._not_before[host] = now + max(grant.retry_after_s, LEAST_WAIT_S)
                    if host in self._waiting:
                        self._waiting.move_to_end(host)
                    continue
                self._not_before.pop(host, None)
                self._waiting[host].remove(entry)
                if grant.is_allowed:
                    self._in_use.add(host)
                settled.append((entry, grant))
        for entry, grant in settled:
            if not _settle(entry.future, grant) and grant.is_allowed:
                self.end(grant, None)

    def _failed(self, batch: Batch) -> float:
        """Keep what could not be sent; returns how long to wait."""
        self._reports.extendleft(reversed(batch.reports))
        self._releases.extendleft(reversed(batch.releases))
        self._failures += 1
        self.failures += 1
        return min(LEAST_WAIT_S * 2.0 ** min(self._failures, 10), MOST_WAIT_S)

    def _refuse(self, error: ServerRefused) -> None:
        with self._changed:
            futures = [entry.future for queue in self._waiting.values() for entry in queue]
            self._waiting.clear()
            self.failures += 1
        for future in futures:
            _settle(future, error)


def _settle(future: Future[Grant], outcome: Grant | Exception) -> bool:
    """Give a future its outcome; False if no one waits for it any more."""
    if not future.set_running_or_notify_cancel():
        return False
    if isinstance(outcome, Grant):
        future.set_result(outcome)
    else:
        future.set_exception(outcome)
    return True


def host_of(url: str) -> str:
    """The host of a URL: of each, a client makes one request at a time."""
    return urlsplit(url).netloc.rpartition("@")[2].lower().removeprefix("www.")


def seconds_to_wait(retry_after: str | None) -> float | None:
    """What a Retry-After header says, in seconds (RFC 9110 §10.2.3); None if it says nothing usable."""
    text = (retry_after or "").strip()
    if text.isdecimal():
        return min(float(text), 366 * 86_400.0)
    try:
        until = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    until = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
    return min(max(0.0, until.timestamp() - time.time()), 366 * 86_400.0)  # noqa: TID251  # no other clock here


def _grant(each: Mapping[str, Any], least_offset_s: float, most_offset_s: float) -> Grant:
    """`offset`: what is added to the server's time; between the time of asking and that of the answer."""
    opens = _seconds(each["not_before"]) + most_offset_s if each["not_before"] else 0.0
    closes = _seconds(each["start_by"]) + least_offset_s - MARGIN_S if each["start_by"] else 0.0
    return Grant(
        each["url"],
        each["permission"],
        each["reason"],
        each["message"],
        each["rule"],
        each["grant_id"],
        opens,
        closes,
        each["retry_after"] or 0.0,
        -least_offset_s,
    )


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
