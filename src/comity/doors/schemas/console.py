"""Users, the record of changes, and settings, as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from comity.doors.schemas.base import Instant, Schema
from comity.model.console import Role


class ConsoleUserView(Schema):
    """A user of the console."""

    name: str
    role: Role
    created_at: Instant
    last_login_at: Instant | None


class UserRemoved(Schema):
    """The name of a user who was removed."""

    removed: str


class ActivityView(Schema):
    """One request that changed something, or tried to."""

    number: int
    at: Instant
    user: str | None = Field(description="null: a program with a token, or this machine without a login.")
    role: Role | None = Field(description="null: a login that failed.")
    by_token: bool
    address: str
    action: str = Field(examples=["pause_source"])
    path: str
    subject: str = Field(description="What it was about, from the body of the request; never a secret.")
    status: int = Field(description="The HTTP status of the response; 0 if the client left before it was sent.")


class ActivityList(Schema):
    """Some of the record, newest first."""

    activity: list[ActivityView]
    limit: int
    has_more: bool


class SettingView(Schema):
    """One setting and its value in force."""

    name: str
    group: str
    variable: str
    value: str | None = Field(description="null if it is not set or if it is secret.")
    source: Literal["default", "environment", "option"]
    is_secret: bool
    is_set: bool
    description: str


class SettingList(Schema):
    """Every setting."""

    settings: list[SettingView]


class DemonstrationView(Schema):
    """The demonstration web."""

    is_offered: bool = Field(description="Whether it can be loaded: the state is empty, and this process crawls.")
    is_loading: bool
