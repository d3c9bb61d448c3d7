"""The way to a Meilisearch: JSON over HTTP. Every request, answer and wait for a task is bounded."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Mapping
from threading import Event
from typing import Any, Final
from urllib.parse import urlsplit

from comity.model.errors import BadInput, SearchRefused, SearchUnavailable

_TIMEOUT_S: Final = 10.0
_MOST_OCTETS: Final = 32_000_000
_TASK_S: Final = 60.0
_FIRST_PAUSE_S: Final = 0.01
_LONGEST_PAUSE_S: Final = 0.5
_DENIED: Final = (401, 403)
_LONGEST_MESSAGE: Final = 300


class MeiliLink:
    """One Meilisearch, asked anew for every request: no connection is left behind in any thread."""

    def __init__(self, url: str, key: str | None = None, *, timeout_s: float = _TIMEOUT_S, task_s: float = _TASK_S):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username is not None:
            raise BadInput("COMITY_MEILI_URL: an address such as http://localhost:7700")
        self.shown = f"{parts.scheme}://{parts.netloc}"
        self._is_secure = parts.scheme == "https"
        try:
            self._host, self._port = parts.hostname, parts.port
        except ValueError:
            raise BadInput("COMITY_MEILI_URL: the port is no number") from None
        self._base = parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._timeout_s = timeout_s
        self._task_s = task_s

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send a request; gives the JSON of its answer, or says in words why there is none."""
        status, octets = self._send(method, path, body)
        try:
            answer = json.loads(octets) if octets else {}
        except ValueError:
            raise SearchUnavailable(f"Meilisearch at {self.shown} answered {status} without JSON") from None
        if status < 300 and isinstance(answer, dict):
            return answer
        said = answer if isinstance(answer, Mapping) else {}
        code, message = str(said.get("code", "")), str(said.get("message", "no reason"))[:_LONGEST_MESSAGE]
        if status in _DENIED:
            raise SearchUnavailable(f"Meilisearch at {self.shown} refuses the key (COMITY_MEILI_KEY): {message}")
        if 400 <= status < 500 and status not in (408, 429):
            raise SearchRefused(f"Meilisearch answered {status} {code}: {message}")
        raise SearchUnavailable(f"Meilisearch at {self.shown} answered {status}: {message}")

    def settle(self, task: Mapping[str, Any], *, forgive: tuple[str, ...] = ()) -> None:
        """Wait until a task is done: Meilisearch takes changes first and makes them later."""
        number = task.get("taskUid")
        if not isinstance(number, int):
            raise SearchUnavailable(f"Meilisearch at {self.shown} gave no task to wait for")
        until, pause_s = time.monotonic() + self._task_s, _FIRST_PAUSE_S
        while time.monotonic() < until:
            found = self.ask("GET", f"/tasks/{number}")
            status = found.get("status")
            if status == "succeeded":
                return
            if status in ("failed", "canceled"):
                error = found.get("error") or {}
                if error.get("code") in forgive:
                    return
                raise SearchRefused(f"Meilisearch: {str(error.get('message', status))[:_LONGEST_MESSAGE]}")
            Event().wait(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)
        raise SearchUnavailable(f"Meilisearch at {self.shown} is still busy after {self._task_s:g} seconds")

    def _send(self, method: str, path: str, body: Any) -> tuple[int, bytes]:
        sent = None if body is None else json.dumps(body).encode()
        connection = self._connection()
        try:
            connection.request(method, self._base + path, sent, self._headers)
            answer = connection.getresponse()
            octets = answer.read(_MOST_OCTETS + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise SearchUnavailable(f"Meilisearch at {self.shown} cannot be reached: {reason}") from None
        finally:
            connection.close()
        if len(octets) > _MOST_OCTETS:
            raise SearchUnavailable(f"Meilisearch at {self.shown} answered with more than {_MOST_OCTETS:,} octets")
        return answer.status, octets

    def _connection(self) -> http.client.HTTPConnection:
        if self._is_secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout_s, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)
