"""The four requests of a bot, synchronous, on the standard library. Any number of threads may share a client.

A request that got no answer, or an error of the server, is sent again after a growing pause. That is safe: a submit
that is repeated is answered as before, and jobs of a pull whose answer was lost come back when their locks run out.

BotClientError
├── BotApiError         the server refused a request; `code` is one of docs/bots.md
└── ServerUnavailable   the server did not answer, after all retries

"""

from __future__ import annotations

import json
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final
from urllib.parse import urlsplit

from comity.bot.jobs import (
    Failure,
    Heartbeat,
    HttpExchange,
    Job,
    Pulled,
    Released,
    Result,
    Submitted,
    encoded,
    heartbeat_from,
    ids_of,
    pulled_from,
    released_from,
    submit_body,
)


class BotClientError(Exception):
    """A request to the server failed."""


class BotApiError(BotClientError):
    """The server refused a request. Sending the same again would be refused again."""

    def __init__(self, status: int, code: str, message: str, details: Mapping[str, Any]) -> None:
        super().__init__(f"{code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.details = dict(details)


class ServerUnavailable(BotClientError):
    """The server did not answer, or only with its own errors, after all retries."""


TRIES: Final = 6
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 30.0
_LARGEST_ANSWER: Final = 16_000_000
_KEY_HEADER: Final = "X-API-Key"
_NOT_HELD: Final = frozenset({"job_not_found", "job_not_locked", "job_already_locked", "lock_expired"})


def pause_before(attempt: int, retry_after_s: float | None, chance: float) -> float:
    """Seconds to wait before an attempt, from 1: doubled each time, with a random half, or as the server says."""
    grown: float = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (attempt - 1))
    return max(grown * (0.5 + chance / 2), min(retry_after_s or 0.0, LONGEST_PAUSE_S))


class BotClient:
    """Pull, submit, heartbeat and release, with retries."""

    def __init__(
        self,
        url: str,
        bot_id: str,
        key: str | None = None,
        *,
        timeout_s: float = 30.0,
        tries: int = TRIES,
        wait: Callable[[float], object] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`wait` pauses between attempts; by default it sleeps. `tls` replaces the certificates of the system."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the server's URL must start with http:// or https://, such as https://comity.example")
        self.bot_id = bot_id
        self._host, self._port, self._is_tls = parts.hostname, parts.port, parts.scheme == "https"
        self._prefix = parts.path.rstrip("/")
        self._key = key
        self._timeout_s = timeout_s
        self._tries = max(1, tries)
        self._wait = wait or time.sleep
        self._tls = tls
        self._own = threading.local()
        self._open: set[HTTPConnection] = set()
        self._guard = threading.Lock()

    def pull(self, max_jobs: int = 10, domain: str | None = None) -> Pulled:
        """Take up to so many jobs, of one host if it is named."""
        body: dict[str, Any] = {"bot_id": self.bot_id, "max_jobs": max_jobs}
        if domain is not None:
            body["domain"] = domain
        data, exchange = self._post("/api/crawl/pull/", body)
        return pulled_from(data, exchange)

    def submit(self, job: Job | str, outcome: Result | Failure) -> Submitted:
        """Submit what was found, or why nothing was. Submitting the same again changes nothing."""
        data, _ = self._post("/api/crawl/submit/", submit_body(self.bot_id, job, outcome))
        return Submitted(str(data["status"]), dict(data))

    def heartbeat(self, job_ids: Iterable[Job | str]) -> Heartbeat:
        """Keep the locks of jobs, or of ids, for another TTL."""
        ids = ids_of(job_ids)
        try:
            data, _ = self._post("/api/crawl/heartbeat/", {"bot_id": self.bot_id, "job_ids": ids})
        except BotApiError as error:
            if error.code not in _NOT_HELD:
                raise
            return Heartbeat({}, tuple(ids))
        return heartbeat_from(data)

    def release(self, job_ids: Iterable[Job | str], reason: str | None = None) -> Released:
        """Give jobs, or ids, back; they can be pulled again at once."""
        ids = ids_of(job_ids)
        body: dict[str, Any] = {"bot_id": self.bot_id, "job_ids": ids}
        if reason is not None:
            body["reason"] = reason
        try:
            data, _ = self._post("/api/crawl/release/", body)
        except BotApiError as error:
            if error.code not in _NOT_HELD:
                raise
            return Released((), tuple(ids))
        return released_from(data)

    def close(self) -> None:
        """Close every connection."""
        with self._guard:
            connections, self._open = self._open, set()
        for connection in connections:
            connection.close()

    def __enter__(self) -> BotClient:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _post(self, path: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], HttpExchange]:
        content = encoded(body)
        problem: object = None
        for attempt in range(1, self._tries + 1):
            retry_after_s: float | None = None
            try:
                status, headers, text, exchange = self._send(path, content)
            except (OSError, HTTPException, ssl.SSLError) as error:
                self._drop()
                problem = error
            else:
                document = _document(text)
                if status == 200 and isinstance(document, dict) and document.get("success") is True:
                    return document["data"], exchange
                if status < 500 and status != 429:
                    raise _refusal(status, document)
                problem = f"the server answered {status}"
                retry_after_s = _seconds(headers.get("retry-after"))
            if attempt < self._tries:
                self._wait(pause_before(attempt, retry_after_s, random.random()))  # noqa: S311  # no secret
        raise ServerUnavailable(f"no answer from {self._host} after {self._tries} attempts: {problem}")

    def _send(self, path: str, content: bytes) -> tuple[int, dict[str, str], bytes, HttpExchange]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key is not None:
            headers[_KEY_HEADER] = self._key
        connection = self._connection()
        sent_at = time.monotonic()
        connection.request("POST", self._prefix + path, content, headers)
        response = connection.getresponse()
        text = response.read(_LARGEST_ANSWER)
        if response.will_close or not response.isclosed():
            self._drop()
        found = {name.lower(): value for name, value in response.getheaders()}
        return response.status, found, text, HttpExchange(sent_at, time.monotonic())

    def _connection(self) -> HTTPConnection:
        connection: HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            if self._is_tls:
                tls = self._tls or ssl.create_default_context()
                connection = HTTPSConnection(self._host, self._port, timeout=self._timeout_s, context=tls)
            else:
                connection = HTTPConnection(self._host, self._port, timeout=self._timeout_s)
            self._own.connection = connection
            with self._guard:
                self._open.add(connection)
        return connection

    def _drop(self) -> None:
        connection: HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()
            self._own.connection = None
            with self._guard:
                self._open.discard(connection)


def _document(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _refusal(status: int, document: Any) -> BotApiError:
    if isinstance(document, dict) and isinstance(document.get("error"), str):
        details = document.get("details")
        return BotApiError(
            status, document["error"], str(document.get("message")), details if isinstance(details, dict) else {}
        )
    return BotApiError(status, "unexpected", f"the server answered {status}; does the URL name a Comity server?", {})


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else max(0.0, float(text))
    except ValueError:
        return None
