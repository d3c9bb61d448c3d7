"""The nouns of the console: users with their roles, logins, and the record of what was done."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from comity.model.dataclass import dataclass

ADMIN_NAME: Final = "admin"
"""The user whose password is a setting; always an operator."""


class Role(StrEnum):
    """What a user of the console may do."""

    VIEWER = "viewer"
    """Sees everything; may change nothing, and may not cause a request to a host."""
    OPERATOR = "operator"
    """May do everything."""


@dataclass(frozen=True, slots=True)
class ConsoleUser:
    """A user of the console."""

    name: str
    role: Role
    created_at: datetime
    last_login_at: datetime | None


@dataclass(frozen=True, slots=True)
class ConsoleSession:
    """One login of a user in one browser."""

    user: str
    role: Role
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Activity:
    """One request that changed something, or tried to."""

    user: str | None
    """None: no login is configured, and the request came from this machine."""
    role: Role | None
    """None: the request came before the login."""
    by_token: bool
    address: str
    action: str
    """The operation, such as `pause_source`, or the method and path of a form."""
    path: str
    subject: str
    """What it was about, from the body: an address, a name, the number of ids; never a secret."""
    status: int
    """The HTTP status of the response; 0 if the client left before it was sent."""


@dataclass(frozen=True, slots=True)
class RecordedActivity(Activity):
    """A record as it is stored."""

    number: int
    at: datetime
