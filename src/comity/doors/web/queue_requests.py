"""Request schemas of the crawl service for operators: policies, bulk actions and bots."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, model_validator

from comity.doors.web.requests import Line, RequestBody, Text, Whole
from comity.model.bot import BOT_ID_PATTERN, MOST_IN_HAND, MOST_PER_MINUTE, MOST_QUARANTINE_MINUTES
from comity.operate.queue import BOUNDS, LONGEST_URL, MOST_BULK

_HTTP = "^[Hh][Tt][Tt][Pp][Ss]?://"
PageAddress = Annotated[Text, Field(pattern=_HTTP, max_length=LONGEST_URL, examples=["https://example.com/product/1"])]
Ids = Annotated[
    list[Annotated[UUID, Field(strict=False)]],
    Field(min_length=1, max_length=MOST_BULK, examples=[["0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f"]]),
]


def _bounded(name: str, text: str) -> Any:
    least, most = BOUNDS[name]
    return Field(None, ge=least, le=most, description=text)


def _as_changes(schema: dict[str, Any]) -> None:
    """Document that at least one field is required, and that missing fields keep their value."""
    schema["minProperties"] = 1
    for each in schema["properties"].values():
        each.pop("default", None)


class PolicyFields(RequestBody):
    """The settings of a policy."""

    frequency_hours: Whole | None = _bounded("frequency_hours", "Hours between crawls; 24 by default.")
    priority: Whole | None = _bounded("priority", "Jobs with a higher priority are handed out first; 5 by default.")
    max_retries: Whole | None = _bounded("max_retries", "Retries after a failure; 3 by default.")
    retry_backoff_minutes: Whole | None = _bounded(
        "retry_backoff_minutes", "Minutes before the first retry, doubled for each further one; 5 by default."
    )
    timeout_minutes: Whole | None = _bounded("timeout_minutes", "How long a bot may hold a job; 10 by default.")
    schedule: Literal["fixed", "adaptive"] | None = Field(
        None, description="fixed: every frequency_hours; adaptive: by the rate of changes."
    )
    importance: float | None = _bounded("importance", "The weight of its changes in the adaptive schedule.")
    enabled: bool | None = Field(None, description="false: no jobs are made.")
    crawl_config: dict[str, Any] | None = Field(None, description="What bots should know about the page.")


class PolicyRequest(PolicyFields):
    """A new policy."""

    url: PageAddress


class PolicyChangesBody(PolicyFields):
    """Changes of a policy. null removes crawl_config; the others always have a value."""

    model_config = ConfigDict(json_schema_extra=_as_changes)

    url: PageAddress = ""
    # A policy always has these, so null is not allowed.
    frequency_hours: Whole = _bounded("frequency_hours", "Hours between crawls.")
    priority: Whole = _bounded("priority", "Jobs with a higher priority are handed out first.")
    max_retries: Whole = _bounded("max_retries", "Retries after a failure.")
    retry_backoff_minutes: Whole = _bounded("retry_backoff_minutes", "Minutes before the first retry.")
    timeout_minutes: Whole = _bounded("timeout_minutes", "How long a bot may hold a job.")
    schedule: Literal["fixed", "adaptive"] = "fixed"
    importance: float = _bounded("importance", "The weight of its changes in the adaptive schedule.")
    enabled: bool = Field(True, description="false: no jobs are made, and a job that no bot holds is dropped.")

    @model_validator(mode="after")
    def _has_any(self) -> PolicyChangesBody:
        if not self.model_fields_set:
            raise ValueError("send at least one field to change")
        return self


class PoliciesAction(RequestBody):
    """A bulk action on policies."""

    action: Literal["enable", "disable", "run_now", "set_priority", "delete"]
    ids: Ids
    priority: Whole | None = _bounded("priority", "The new priority, for set_priority.")


class JobsAction(RequestBody):
    """A bulk action on jobs."""

    action: Literal["mark_pending", "mark_expired", "reset_lock", "set_priority"]
    ids: Ids
    priority: Whole | None = _bounded("priority", "The new priority, for set_priority.")
    reason: Annotated[Line, Field(max_length=1000)] | None = Field(
        None, description="The reason; stored in the history of each job."
    )


class BotLimits(RequestBody):
    """The limits and the note of a bot."""

    max_jobs_in_hand: Whole | None = Field(
        None, ge=0, le=MOST_IN_HAND, description="The most jobs that it may hold at once; 0 or null: no limit."
    )
    max_jobs_per_minute: Whole | None = Field(
        None, ge=0, le=MOST_PER_MINUTE, description="The most jobs that it may pull per minute; 0 or null: no limit."
    )
    note: Annotated[Line, Field(max_length=1000)] | None = Field(None, description="What it is for, or who runs it.")


class QuarantineRequest(RequestBody):
    """How long a bot is quarantined."""

    minutes: Whole = Field(60, ge=1, le=MOST_QUARANTINE_MINUTES, description="For how many minutes; 60 by default.")


class BotRequest(BotLimits):
    """A new bot."""

    bot_id: Annotated[str, Field(pattern=BOT_ID_PATTERN, examples=["shop-bot-1"])]


class BotChanges(BotLimits):
    """Changes of a bot. null removes a value."""

    model_config = ConfigDict(json_schema_extra=_as_changes)

    @model_validator(mode="after")
    def _has_any(self) -> BotChanges:
        if not self.model_fields_set:
            raise ValueError("send at least one field to change")
        return self
