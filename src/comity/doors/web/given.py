"""What is given to the routes: bodies and parameters, checked as far as their shape goes; the rooms check the rest."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeVar
from uuid import UUID

from fastapi import Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

SourceTypeName = Literal["html", "rss", "api"]
StatusName = Literal["active", "paused", "blocked", "deleted"]
ScheduleChoice = Literal["s0", "adaptive"]
Body = TypeVar("Body", bound=BaseModel)


def _without_nul(text: str) -> str:
    """PostgreSQL's text cannot hold it, and nobody means it."""
    if "\0" in text:
        raise ValueError("contains a NUL character")
    return text


def _on_one_line(text: str) -> str:
    """What is stored and shown again holds nothing that cannot be seen."""
    if not text.isprintable():
        raise ValueError("contains a line break or an invisible character")
    return text


def _whole(number: Any) -> Any:
    """JSON knows one kind of number: 3.0 is a whole one, true is none."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


_WINDOW: Final = r"^\s*([0-9]{2}:[0-9]{2} ?- ?[0-9]{2}:[0-9]{2}\s*)?$"  # as far as a pattern tells; empty takes it away

Text = Annotated[str, AfterValidator(_without_nul)]
Line = Annotated[str, AfterValidator(_on_one_line)]
Whole = Annotated[int, BeforeValidator(_whole)]
Country = Annotated[str, Field(pattern="^[A-Za-z]{2}$", max_length=2)]
Address = Annotated[Text, Field(pattern="^[Hh][Tt][Tt][Pp][Ss]?://", max_length=2000)]
SourceId = Annotated[UUID, Path(description="A source's id.", examples=["0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f"])]
HostName = Annotated[
    str,
    Path(
        description="A host as in `domains`: example.org, or example.org:8080.",
        max_length=300,
        examples=["example.org"],
    ),
]
Limit = Annotated[int, Query(description="How many at most.", ge=1, le=200)]
Offset = Annotated[int, Query(description="How many to leave out first.", ge=0, le=1_000_000)]


PageUrl = Annotated[Address, Query(description="The page in question.", examples=["https://example.org/private/page"])]


def _as_changes(schema: dict[str, Any]) -> None:
    """Say that something must be named, and that what is not named has no default but its present value."""
    schema["minProperties"] = 1
    for each in schema["properties"].values():
        each.pop("default", None)


class Given(BaseModel):
    """A body: nothing in it is guessed, and nothing is passed over."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class RunGiven(Given):
    """Which source to run."""

    source_id: Annotated[UUID, Field(strict=False, examples=["0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f"])]


class SourceColumns(Given):
    """What can be said of a source beside its address."""

    org_name: Annotated[Text, Field(max_length=300)] | None = Field(None, examples=["Example Aid"])
    source_type: SourceTypeName | None = Field(None, description="What the address answers with; html by default.")
    org_type: Annotated[Text, Field(max_length=40)] | None = Field(
        None, description="un, ingo, ngo, academic or another; it sets the base frequency.", examples=["ngo"]
    )
    parser_hint: Annotated[Text, Field(max_length=20_000)] | None = Field(
        None, description="How to read the page, as JSON, where that cannot be told."
    )
    crawl_frequency_days: Annotated[Whole, Field(ge=1, le=365)] | None = Field(None, examples=[3])
    time_window: Annotated[Text, Field(max_length=32, pattern=_WINDOW)] | None = Field(
        None, description="The hours in which to read it, by the organisation's clock.", examples=["22:00-05:00"]
    )
    country: Country | None = Field(None, examples=["KE"])
    time_zone: Annotated[Text, Field(max_length=64)] | None = Field(None, examples=["Africa/Nairobi"])
    schedule: ScheduleChoice | None = Field(None, description="s0 by default.")
    importance: Annotated[float, Field(ge=0, le=1000)] | None = Field(None, examples=[1.0])


class SourceGiven(SourceColumns):
    """A new source; it is due at once, unless it is to be approved first."""

    careers_url: Address = Field(examples=["https://example.org/careers"])
    approved: bool = Field(True, description="false: paused until somebody approves it.")

    def columns(self) -> dict[str, Any]:
        """What was given beside the address."""
        return self.model_dump(exclude={"careers_url", "approved"}, exclude_none=True)


class SourceChanges(SourceColumns):
    """What to change of a source; null takes a value away."""

    model_config = ConfigDict(json_schema_extra=_as_changes)

    # These it cannot be without.
    careers_url: Address = Field("", examples=["https://example.org/jobs"])
    source_type: SourceTypeName = "html"
    schedule: ScheduleChoice = "s0"
    importance: Annotated[float, Field(ge=0, le=1000)] = 1.0

    @model_validator(mode="after")
    def _has_any(self) -> SourceChanges:
        """An empty change is a slip."""
        return _with_any(self)


class TryGiven(Given):
    """Other settings to read a source with, this once."""

    source_type: SourceTypeName | None = None
    parser_hint: Annotated[Text, Field(max_length=20_000)] | None = None
    country: Country | None = Field(None, examples=["KE"])


class PolicyGiven(Given):
    """Limits of a host; those that are not named keep their value."""

    model_config = ConfigDict(json_schema_extra=_as_changes)

    max_concurrency: Whole = Field(
        1, ge=1, le=1000, description="Requests at once, for crawls, sources, audits and queries."
    )
    min_request_interval_ms: Whole = Field(
        3000,
        ge=0,
        le=604_800_000,
        description="Milliseconds between requests, for crawls, sources, audits and queries.",
    )
    max_pages: Whole = Field(
        10,
        ge=0,
        le=1_000_000_000,
        description="Pages a run, for source runs. A whole-site run has max_pages_per_run of the host.",
    )
    max_kb_per_page: Whole = Field(
        1024,
        ge=1,
        le=1_000_000,
        description="Kilobytes a page, for source runs; once it is set, for crawls, audits and queries too.",
    )
    allow_js: bool = Field(False, description="Whether scripts of pages may be run; none are run yet.")

    @model_validator(mode="after")
    def _has_any(self) -> PolicyGiven:
        """An empty change is a slip."""
        return _with_any(self)


class SeedsGiven(Given):
    """Hosts, or URLs to begin with: all of them are added, or none if one cannot be used."""

    seeds: Annotated[list[Annotated[Line, Field(min_length=1, max_length=2000)]], Field(min_length=1, max_length=1000)]
    source: Annotated[Line, Field(max_length=100)] | None = Field(
        None, description="Where they come from; kept with each new host.", examples=["friends"]
    )

    model_config = ConfigDict(json_schema_extra={"examples": [{"seeds": ["example.org", "https://example.net/news"]}]})


class TakedownsGiven(Given):
    """Hosts (with their sub-domains) or URLs (with everything below) that are to be left alone: all, or none."""

    entries: Annotated[list[Annotated[Line, Field(min_length=1, max_length=2000)]], Field(min_length=1, max_length=100)]
    reason: Annotated[Line, Field(max_length=1000)] | None = Field(
        None, description="Why; kept with each entry.", examples=["asked by the owner"]
    )

    model_config = ConfigDict(json_schema_extra={"examples": [{"entries": ["example.org/private"]}]})


class LoginGiven(Given):
    """The admin's password."""

    password: str = Field(min_length=1, max_length=1024, json_schema_extra={"format": "password"})


def _with_any(body: Body) -> Body:
    if not body.model_fields_set:
        raise ValueError("nothing to change: name at least one field")
    return body
