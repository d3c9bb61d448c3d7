"""Request schemas: bodies and query parameters. They check the form of a request; the rooms below check its meaning.

One path serves a page or JSON (RFC 9110 §12.5.1): a browser gets a page, a program gets JSON. A program that accepts
anything, or sends no Accept header, gets JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, TypeVar
from uuid import UUID

from fastapi import Path, Query, Request
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from comity.doors.web.audiences import DeclaredRoute
from comity.doors.web.errors import ApiError, ErrorDetail

SourceTypeName = Literal["html", "rss", "api"]
StatusName = Literal["active", "paused", "blocked", "deleted"]
ScheduleChoice = Literal["s0", "adaptive"]
Body = TypeVar("Body", bound=BaseModel)
VARY: Final = "Accept, HX-Request"  # the headers of a request by which one path serves a page or JSON
FORM: Final = "application/x-www-form-urlencoded"
_MOST_RANGES: Final = 50  # of an Accept header that are read


async def refuse_unknown_parameters(request: Request) -> None:
    """Refuse query parameters that the route does not have: a misspelled filter must not list everything."""
    if request.scope["state"].get("wants_page") and _is_page(request.scope["route"]):
        return  # a page ignores what it does not know, and says so: links in other people's notes must not break
    sent = Counter(name for name, _ in request.query_params.multi_items())
    if not sent:
        return
    known = {each.alias: each.field_info for each in _query_parameters(request.scope["route"].dependant)}
    for name, times in sent.items():
        if name not in known:
            raise _bad_parameter(name, "unknown query parameter")
        if times > 1 and "list[" not in str(known[name].annotation):
            raise _bad_parameter(name, "this query parameter must not be repeated")


def _is_page(route: object) -> bool:
    return isinstance(route, DeclaredRoute) and route.rules.serves_pages


def _query_parameters(dependant: Any) -> Iterator[Any]:
    """The query parameters of a route, with those that its dependencies declare."""
    yield from dependant.query_params
    for each in dependant.dependencies:
        yield from _query_parameters(each)


def _bad_parameter(name: str, message: str) -> ApiError:
    detail = ErrorDetail(where=f"query.{name[:80]}", message=message)
    return ApiError(422, "bad_input", f"invalid request: {detail.where}: {message}", details=[detail])


def _without_nul(text: str) -> str:
    """PostgreSQL cannot store NUL in text."""
    if "\0" in text:
        raise ValueError("must not contain a NUL character")
    return text


def _on_one_line(text: str) -> str:
    """For text that is stored and displayed again."""
    if not text.isprintable():
        raise ValueError("must not contain line breaks or invisible characters")
    return text


def _whole(number: Any) -> Any:
    """JSON has one kind of number: 3.0 is an integer."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


_WINDOW: Final = r"^\s*([0-9]{2}:[0-9]{2} ?- ?[0-9]{2}:[0-9]{2}\s*)?$"  # an empty text removes the window

Text = Annotated[str, AfterValidator(_without_nul)]
Line = Annotated[str, AfterValidator(_on_one_line)]
UrlPatternText = Annotated[str, AfterValidator(_on_one_line), Field(max_length=10_000)]
Whole = Annotated[int, BeforeValidator(_whole)]
Country = Annotated[str, Field(pattern="^[A-Za-z]{2}$", max_length=2)]
Address = Annotated[Text, Field(pattern="^[Hh][Tt][Tt][Pp][Ss]?://", max_length=2000)]
SourceId = Annotated[UUID, Path(description="The id of a source.", examples=["0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f"])]
HostName = Annotated[
    str,
    Path(
        description="A host name, with its port unless it is the default: example.org or example.org:8080.",
        max_length=300,
        examples=["example.org"],
    ),
]
Limit = Annotated[int, Query(description="The maximum number of items to return.", ge=1, le=200)]
Offset = Annotated[int, Query(description="The number of items to skip.", ge=0, le=1_000_000)]
After = Annotated[
    str | None, Query(description="The `next` of the previous page; omit it for the first page.", max_length=3000)
]
PageUrl = Annotated[Address, Query(description="The URL of the page.", examples=["https://example.org/private/page"])]


def _as_changes(schema: dict[str, Any]) -> None:
    """Document that at least one field is required, and that missing fields keep their value."""
    schema["minProperties"] = 1
    for each in schema["properties"].values():
        each.pop("default", None)


class RequestBody(BaseModel):
    """A body: types are not coerced, and unknown fields are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class RunRequest(RequestBody):
    """The source to run."""

    source_id: Annotated[UUID, Field(strict=False, examples=["0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f"])]


class SourceFields(RequestBody):
    """The fields of a source, except its address."""

    org_name: Annotated[Text, Field(max_length=300)] | None = Field(None, examples=["Example Aid"])
    source_type: SourceTypeName | None = Field(None, description="The format of the page; html by default.")
    org_type: Annotated[Text, Field(max_length=40)] | None = Field(
        None, description="un, ingo, ngo, academic or another; it sets the default frequency.", examples=["ngo"]
    )
    parser_hint: Annotated[Text, Field(max_length=20_000)] | None = Field(
        None, description="How to extract postings, as JSON, if that cannot be detected."
    )
    crawl_frequency_days: Annotated[Whole, Field(ge=1, le=365)] | None = Field(None, examples=[3])
    time_window: Annotated[Text, Field(max_length=32, pattern=_WINDOW)] | None = Field(
        None, description="The hours in which to run, in the time zone of the organisation.", examples=["22:00-05:00"]
    )
    country: Country | None = Field(None, examples=["KE"])
    time_zone: Annotated[Text, Field(max_length=64)] | None = Field(None, examples=["Africa/Nairobi"])
    schedule: ScheduleChoice | None = Field(None, description="s0 by default.")
    importance: Annotated[float, Field(ge=0, le=1000)] | None = Field(None, examples=[1.0])


class SourceRequest(SourceFields):
    """A new source. It is due at once, unless it needs approval."""

    careers_url: Address = Field(examples=["https://example.org/careers"])
    approved: bool = Field(True, description="false: the source is paused until it is approved.")

    def columns(self) -> dict[str, Any]:
        """The fields that were sent, except the address."""
        return self.model_dump(exclude={"careers_url", "approved"}, exclude_none=True)


class SourceChanges(SourceFields):
    """Changes of a source. null removes a value."""

    model_config = ConfigDict(json_schema_extra=_as_changes)

    # A source always has these, so null is not allowed.
    careers_url: Address = Field("", examples=["https://example.org/jobs"])
    source_type: SourceTypeName = "html"
    schedule: ScheduleChoice = "s0"
    importance: Annotated[float, Field(ge=0, le=1000)] = 1.0

    @model_validator(mode="after")
    def _has_any(self) -> SourceChanges:
        return _with_any(self)


class SimulationRequest(RequestBody):
    """Settings to try instead of those of the source."""

    source_type: SourceTypeName | None = None
    parser_hint: Annotated[Text, Field(max_length=20_000)] | None = None
    country: Country | None = Field(None, examples=["KE"])


class HintRequest(RequestBody):
    """A parser hint to check."""

    parser_hint: Annotated[Text, Field(max_length=20_000)] = Field(examples=["greenhouse"])


class SourceActions(RequestBody):
    """An action on several sources."""

    action: Literal["run", "pause", "resume", "approve", "delete"]
    ids: Annotated[
        list[Annotated[UUID, Field(strict=False)]],
        Field(min_length=1, max_length=200, examples=[["0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f"]]),
    ]


_Patterns = Annotated[list[UrlPatternText], Field(max_length=1000)]


class CrawlRequest(RequestBody):
    """A crawl to start. What is not sent is as the server is configured; `comity crawl --help` explains each option."""

    seeds: Annotated[
        list[Annotated[Line, Field(min_length=1, max_length=2000)]],
        Field(min_length=1, max_length=1000, examples=[["https://example.org/"]]),
    ]
    max_pages: Annotated[Whole, Field(ge=0, le=1_000_000_000)] | None = Field(None, description="0: no limit.")
    max_minutes: Annotated[float, Field(ge=0, le=1_000_000)] | None = Field(None, description="0: no limit.")
    max_depth: Annotated[Whole, Field(ge=0, le=1_000_000)] | None = None
    delay_s: Annotated[float, Field(ge=0, le=86_400)] | None = Field(None, description="Seconds between requests.")
    per_host: Annotated[Whole, Field(ge=1, le=64)] | None = Field(None, description="Requests to one host at once.")
    processes: Annotated[Whole, Field(ge=1, le=8)] | None = None
    follow_links: bool | None = None
    sitemaps: bool | None = None
    subdomains: bool | None = None
    include: _Patterns | None = None
    exclude: _Patterns | None = None
    update_stale: bool | None = None
    text: bool | None = None
    markdown: bool | None = None
    images: bool | None = None
    keep_links: bool | None = None
    keep_headers: bool | None = None
    under: bool = Field(False, description="Stay below the paths of the seeds.")
    refresh: bool = Field(False, description="Visit finished hosts again now, and store the pages that changed.")

    def choices(self) -> dict[str, Any]:
        """The settings that were sent."""
        return self.model_dump(exclude={"seeds", "under", "refresh"}, exclude_none=True)


class ResumeRequest(RequestBody):
    """How to continue a run."""

    refresh: bool = Field(False, description="Visit finished hosts again now, and store the pages that changed.")


class PolicyChanges(RequestBody):
    """Limits of a host. Limits that are not sent keep their value."""

    model_config = ConfigDict(json_schema_extra=_as_changes)

    max_concurrency: Whole = Field(
        1, ge=1, le=1000, description="Concurrent requests; applies to crawls, sources, audits and queries."
    )
    min_request_interval_ms: Whole = Field(
        3000,
        ge=0,
        le=604_800_000,
        description="Milliseconds between requests; applies to crawls, sources, audits and queries.",
    )
    max_pages: Whole = Field(
        10,
        ge=0,
        le=1_000_000_000,
        description="Pages per source run. Whole-site runs use max_pages_per_run of the host.",
    )
    max_kb_per_page: Whole = Field(
        1024,
        ge=1,
        le=1_000_000,
        description="Kilobytes per page of a source run; once set, also of crawls, audits and queries.",
    )
    allow_js: bool = Field(False, description="Whether to run the scripts of pages. Scripts are not run yet.")
    include: list[UrlPatternText] = Field(
        [], max_length=1000, description="Patterns of URLs to crawl; an empty list means all."
    )
    exclude: list[UrlPatternText] = Field(
        [], max_length=1000, description="Patterns of URLs to leave out; an empty list means none."
    )

    @model_validator(mode="after")
    def _has_any(self) -> PolicyChanges:
        return _with_any(self)


class ResetRequest(RequestBody):
    """Why a host is reset."""

    reason: Annotated[Line, Field(max_length=300)] | None = Field(
        None, description="Stored with the host.", examples=["the owner fixed robots.txt"]
    )


class CooldownRequest(RequestBody):
    """For how long a host is left alone."""

    hours: Annotated[float, Field(gt=0, le=87_600)] = Field(description="Hours from now.", examples=[24])
    reason: Annotated[Line, Field(max_length=300)] | None = Field(
        None, description="Stored with the host.", examples=["their team asked for a quiet week"]
    )


class AuditRequest(RequestBody):
    """A site to audit."""

    site: Annotated[Line, Field(min_length=1, max_length=2000)] = Field(
        description="The start page of the site, or its host.", examples=["example.org"]
    )
    max_pages: Annotated[Whole, Field(ge=1, le=100_000)] = Field(200, description="Stop after this many pages.")
    max_minutes: Annotated[float, Field(gt=0, le=1440)] = Field(60.0, description="Stop after this many minutes.")


class SeedsRequest(RequestBody):
    """Hosts or URLs to crawl. If one of them is invalid, none is added."""

    seeds: Annotated[list[Annotated[Line, Field(min_length=1, max_length=2000)]], Field(min_length=1, max_length=1000)]
    source: Annotated[Line, Field(max_length=100)] | None = Field(
        None, description="Where the seeds come from; stored with each new host.", examples=["friends"]
    )

    model_config = ConfigDict(json_schema_extra={"examples": [{"seeds": ["example.org", "https://example.net/news"]}]})


class TakedownsRequest(RequestBody):
    """Hosts (with their subdomains) or URLs (with everything below them) to take down. All are added, or none."""

    entries: Annotated[list[Annotated[Line, Field(min_length=1, max_length=2000)]], Field(min_length=1, max_length=100)]
    reason: Annotated[Line, Field(max_length=1000)] | None = Field(
        None, description="The reason; stored with each entry.", examples=["requested by the owner"]
    )

    model_config = ConfigDict(json_schema_extra={"examples": [{"entries": ["example.org/private"]}]})


class LoginRequest(RequestBody):
    """The name and the password of a user; the name is admin by default, whose password may be a setting."""

    user: Line = Field("admin", min_length=1, max_length=64)
    password: str = Field(min_length=1, max_length=1024, json_schema_extra={"format": "password"})


def _with_any(body: Body) -> Body:
    if not body.model_fields_set:
        raise ValueError("send at least one field to change")
    return body


def wants_page(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a request wants a page; the names of the headers are in lower case."""
    if headers.get("hx-request") == "true":
        return True
    if method in ("GET", "HEAD"):
        return prefers_html(headers.get("accept", ""))
    return method == "POST" and headers.get("content-type", "").partition(";")[0].strip().lower() == FORM


def prefers_html(accept: str) -> bool:
    """Whether an Accept header prefers HTML to JSON. A draw is decided by the more specific range; then JSON wins."""
    html, json = _quality(accept, "text", "html"), _quality(accept, "application", "json")
    return html > json and html[0] > 0


def _quality(accept: str, kind: str, subtype: str) -> tuple[float, int]:
    """How much a media type is wanted, and how specific the range is that says so."""
    best = (0.0, 0)
    specificity_of = {f"{kind}/{subtype}": 3, f"{kind}/*": 2, "*/*": 1}
    for each in accept.lower().split(",")[:_MOST_RANGES]:
        media_range, *parameters = (part.strip() for part in each.split(";"))
        specificity = specificity_of.get(media_range, 0)
        if specificity > best[1]:
            best = (_weight(parameters), specificity)
    return best


def _weight(parameters: list[str]) -> float:
    for each in parameters:
        name, _, value = each.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0
