"""What the client raises.

BotClientError
├── BotApiError         the server refused a request; `code` is one of docs/bots.md
└── ServerUnavailable   the server did not answer, after all retries
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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
