"""What the routes of outside clients share: paths with and without a slash, bodies, errors and metrics.

A body is JSON text; a checked value leaves, or `BotRefused` with the field that is wrong. Prices are read from their
digits, never through a float. A field that is not known is ignored, so that a bot of a newer version works with an
older server; one whose name is nearly that of a known field is a typing error, and is refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Final, TypeVar, cast
from uuid import UUID

from fastapi import Request, Response
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.json_schema import WithJsonSchema
from pydantic_core import PydanticCustomError

from comity.doors.schemas.base import ExactFloat, read_exact
from comity.doors.web.audiences import Router
from comity.doors.web.errors import bot_error_responses, invalid_request
from comity.doors.web.services import WebServices
from comity.model.bot import BOT_ID_PATTERN
from comity.model.queue import LARGEST_PULL, LONGEST_ERROR, BotError, BotRefused, Submission
from comity.rules.queue.product import LONGEST_TITLE, PRICE_DIGITS, PRICE_SCALE
from comity.rules.queue.submission import MOST_DEPTH, document_problem
from comity.rules.suggestions import nearest
from comity.telemetry.meter import Meter
from comity.telemetry.metrics import QUEUE_ERRORS, QUEUE_SECONDS

_ERRORS: Final = (400, 401, 403, 413, 415, 429, 500, 503)
Act = TypeVar("Act", bound=Callable[..., Awaitable[Response]])
MOST_IDS: Final = 1000
MOST_PARSED_BYTES: Final = 262_144
_LONGEST_RETRY_AFTER_S: Final = 30 * 86_400.0
_SHORTEST_TYPO: Final = 4
_EXAMPLE_ID: Final = "0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f"


def declare(router: Router, path: str, answer: Any, *errors: int, body: dict[str, Any]) -> Callable[[Act], Act]:
    """Add a route, with and without the slash at its end."""

    def add(act: Act) -> Act:
        options: dict[str, Any] = {
            "methods": ["POST"],
            "response_model": answer,
            "responses": bot_error_responses(*_ERRORS, *errors),
            "openapi_extra": body,
        }
        name = act.__name__
        router.add_api_route(f"{path}/", act, operation_id=name, **options)
        router.add_api_route(path, act, operation_id=f"{name}_without_slash", include_in_schema=False, **options)
        return act

    return add


@contextmanager
def counting(services: WebServices) -> Iterator[None]:
    """Measure the time of a request, and count it if it is refused."""
    started_at = services.state.clock.seconds()
    try:
        yield
    except BotRefused as error:
        services.meter.add(QUEUE_ERRORS, 1, str(error.code))
        raise
    except Exception:
        services.meter.add(QUEUE_ERRORS, 1, str(BotError.INTERNAL_ERROR))
        raise
    finally:
        services.meter.observe(QUEUE_SECONDS, (max(0.0, services.state.clock.seconds() - started_at),))


def _price(value: Any) -> Any:
    """A decimal from the digits of a JSON number or string."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a number, or a string of digits such as 99.99")
    digits = value.digits if isinstance(value, ExactFloat) else str(value).strip()
    if len(digits) > 100:
        raise ValueError("has too many digits")
    try:
        price = Decimal(digits)
    except InvalidOperation:
        raise ValueError("must be a number, or a string of digits such as 99.99") from None
    if not price.is_finite() or price < 0:
        raise ValueError("must be a number that is not negative")
    if price.adjusted() >= PRICE_DIGITS:
        raise ValueError(f"must be less than 1 with {PRICE_DIGITS} zeros")
    shortest = price.normalize()
    if shortest.as_tuple().exponent < -PRICE_SCALE:  # type: ignore[operator]  # it is finite
        raise ValueError(f"must have at most {PRICE_SCALE} decimal places")
    # 1e2 and 1.00000 become what the column can hold.
    scale = -min(0, max(int(price.as_tuple().exponent), -PRICE_SCALE))
    return price.quantize(Decimal(1).scaleb(-scale))


@lru_cache(maxsize=1)
def _currencies() -> frozenset[str]:
    import pycountry

    return frozenset(currency.alpha_3 for currency in pycountry.currencies)


def _currency(code: str) -> str:
    found = code.strip().upper()
    if found not in _currencies():
        raise ValueError("must be a currency code of ISO 4217, such as USD")
    return found


def plain_text(value: str) -> str:
    """Text that both databases can store."""
    if "\0" in value:
        raise ValueError("must not contain a NUL character")
    return value.encode("utf-8", "replace").decode()


def _shortened(longest: int) -> Callable[[str], str]:
    """Text that is cut off where the column ends: a long title must not cost a bot its result."""
    return lambda value: plain_text(value)[:longest]


def _within_month(seconds: float) -> float:
    return min(seconds, _LONGEST_RETRY_AFTER_S)


def _whole(number: Any) -> Any:
    """JSON has one kind of number: 3.0 is an integer."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _object(value: dict[str, Any]) -> dict[str, Any]:
    problem = document_problem(value, MOST_PARSED_BYTES)
    if problem is not None:
        raise ValueError(problem)
    return value


def read_time(value: Any) -> Any:
    """ISO 8601 with a zone, or UNIX seconds."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a time such as 2025-01-07T07:20:00Z, or UNIX seconds")
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value)
            return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            raise ValueError("must be a time such as 2025-01-07T07:20:00Z, or UNIX seconds") from None
    if not 0 <= value <= 1e11:
        raise ValueError("must be a time such as 2025-01-07T07:20:00Z, or UNIX seconds")
    return float(value)


BotId = Annotated[str, Field(pattern=BOT_ID_PATTERN, description="The bot's own id.", examples=["shop-bot-1"])]
JobId = Annotated[UUID, Field(strict=False, examples=[_EXAMPLE_ID])]
JobIds = Annotated[
    list[JobId],
    Field(min_length=1, max_length=MOST_IDS, description="The ids of the jobs; for one job, `job_id` works too."),
]
Whole = Annotated[int, BeforeValidator(_whole)]
_PRICE_SCHEMA: Final = {
    "anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}, {"type": "null"}],
    "description": "An exact decimal, as a number or a string of digits, with at most 4 decimal places.",
    "examples": [99.99],
}
TIME_SCHEMA: Final = {
    "anyOf": [{"type": "string", "format": "date-time"}, {"type": "number", "minimum": 0}, {"type": "null"}],
    "description": "When the request to the site started: ISO 8601, or UNIX seconds.",
    "examples": ["2025-01-07T07:12:03.250Z"],
}


def _wrong(field: str, problem: str) -> PydanticCustomError:
    """What is wrong with one field, found where the whole body is looked at."""
    return PydanticCustomError("field", "{problem}", {"field": field, "problem": problem})


class LenientBody(BaseModel):
    """A body of an outside client: types are not coerced; fields that are not known are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)

    has_prices: ClassVar[bool] = False

    @model_validator(mode="before")
    @classmethod
    def _refuse_typing_errors(cls, values: Any) -> Any:
        known = _fields_of(cls)
        if not isinstance(values, Mapping) or values.keys() <= known:
            return values
        for name in (name for name in values if name not in known):
            meant = nearest(name, list(cls.model_fields)) if len(name) >= _SHORTEST_TYPO else None
            if meant is not None and meant not in values:
                raise _wrong(name[:40], f"is not a known field; did you mean {meant}?")
        return values


class BotBody(LenientBody):
    """A body of a bot."""

    bot_id: BotId


@lru_cache(maxsize=64)
def _fields_of(model: type[BaseModel]) -> frozenset[str]:
    """Once for a kind: a request for grants has hundreds of parts that are checked."""
    return frozenset(model.model_fields)


class PullRequest(BotBody):
    """A request for jobs."""

    max_jobs: Whole = Field(10, ge=1, le=LARGEST_PULL, description="The most jobs to hand out.")
    domain: Annotated[str, Field(max_length=300), AfterValidator(plain_text)] | None = Field(
        None,
        description="Only jobs of this host or registrable domain; without a port, on any port.",
        examples=["example.com"],
    )


class SubmitRequest(BotBody):
    """The result of a job, or why there is none."""

    has_prices: ClassVar[bool] = True

    job_id: JobId
    success: bool
    price: Annotated[Decimal | None, BeforeValidator(_price), WithJsonSchema(_PRICE_SCHEMA)] = None
    currency: Annotated[str, Field(max_length=10), AfterValidator(_currency)] | None = Field(
        None, description="A code of ISO 4217.", examples=["USD"]
    )
    title: Annotated[str, AfterValidator(_shortened(LONGEST_TITLE))] | None = Field(
        None, description=f"The name of the product; cut off after {LONGEST_TITLE} characters."
    )
    in_stock: bool | None = None
    parsed_data: Annotated[dict[str, Any], AfterValidator(_object)] | None = Field(
        None,
        description=f"Anything else, as one JSON object of at most {MOST_PARSED_BYTES // 1024} KiB and "
        f"{MOST_DEPTH} levels.",
    )
    raw_html: str | None = Field(None, description="The page, up to COMITY_MAX_RAW_HTML_BYTES (5 MB).")
    error_msg: Annotated[str, AfterValidator(_shortened(LONGEST_ERROR))] | None = Field(
        None, description=f"Why the job failed; cut off after {LONGEST_ERROR:,} characters."
    )
    http_status: Annotated[Whole, Field(ge=100, le=599)] | None = Field(
        None, description="The site's status. 429 and 503 block the host for every client.", examples=[200]
    )
    retry_after: Annotated[float, Field(ge=0, strict=False), AfterValidator(_within_month)] | None = Field(
        None, description="Seconds that the site asked to wait; more than 30 days count as 30.", examples=[120]
    )
    started_at: Annotated[float | None, BeforeValidator(read_time), WithJsonSchema(TIME_SCHEMA)] = None

    @model_validator(mode="after")
    def _is_whole(self) -> SubmitRequest:
        if self.success and self.error_msg:
            raise _wrong("error_msg", "is for failures: send success=false with it")
        if not self.success and not self.error_msg:
            raise _wrong("error_msg", "is required for a failure")
        return self

    def submission(self, most_html_bytes: int) -> Submission:
        """The value for the rooms below; `BotRefused` if the page is too large."""
        html = None if self.raw_html is None else self.raw_html.encode("utf-8", "replace")
        if html is not None and len(html) > most_html_bytes:
            message = f"raw_html has {len(html):,} bytes, but at most {most_html_bytes:,} are accepted"
            raise BotRefused(BotError.VALIDATION_ERROR, message, {"raw_html": f"larger than {most_html_bytes:,} bytes"})
        return Submission(
            bot_id=self.bot_id,
            job_id=self.job_id,
            success=self.success,
            price=self.price,
            currency=self.currency,
            title=self.title,
            in_stock=self.in_stock,
            parsed_data=self.parsed_data,
            raw_html=None if html is None else html.decode(),
            error_msg=self.error_msg,
            http_status=self.http_status,
            retry_after_s=self.retry_after,
            started_at=self.started_at,
        )


class JobsBody(BotBody):
    """A body that names jobs; `job_id` names one, as in a submit."""

    job_ids: JobIds

    @model_validator(mode="before")
    @classmethod
    def _accept_one(cls, values: Any) -> Any:
        if isinstance(values, Mapping) and "job_id" in values and "job_ids" not in values:
            rest = {name: value for name, value in values.items() if name != "job_id"}
            return {**rest, "job_ids": [values["job_id"]]}
        return values


class HeartbeatRequest(JobsBody):
    """Jobs whose locks a bot wants to keep."""


class ReleaseRequest(JobsBody):
    """Jobs that a bot gives back."""

    reason: Annotated[str, AfterValidator(_shortened(LONGEST_ERROR))] | None = Field(
        None, description="The reason; stored in the history of the job.", examples=["shutting down"]
    )


Body = TypeVar("Body", bound=LenientBody)


def body_of(kind: type[Body]) -> Callable[[Request], Coroutine[Any, Any, Body]]:
    """Read and check the body of a request; refusals are counted."""

    async def read(request: Request) -> Body:
        try:
            return _checked(kind, await request.body())
        except BotRefused as error:
            cast(Meter, request.app.state.services.meter).add(QUEUE_ERRORS, 1, str(error.code))
            raise

    return read


def _checked(kind: type[Body], text: bytes) -> Body:
    try:
        values = read_exact(text, keeps_digits=kind.has_prices)
    except ValueError:
        message = "the body is not valid JSON"
        raise BotRefused(BotError.VALIDATION_ERROR, message, {"body": "not valid JSON"}) from None
    if not isinstance(values, dict):
        raise BotRefused(BotError.VALIDATION_ERROR, "the body must be a JSON object", {"body": "not an object"})
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise refused(error) from None


def refused(error: ValidationError) -> BotRefused:
    """What pydantic found wrong, in the words of the bot API."""
    errors = error.errors(include_url=False, include_input=False)
    details = {
        each.where or str(wrong.get("ctx", {}).get("field", "body")): each.message
        for wrong, each in zip(errors, invalid_request(errors).details or (), strict=False)  # the first few
    }
    first = next(iter(details.items()), ("body", "is not valid"))
    return BotRefused(BotError.VALIDATION_ERROR, f"{first[0]}: {first[1]}", details)


def _written_out(schema: Any, named: Mapping[str, Any]) -> Any:
    """A schema without references to others: those are not among the components of the API's description."""
    if isinstance(schema, list):
        return [_written_out(each, named) for each in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if name in named:
        return _written_out(named[name], named)
    return {key: _written_out(each, named) for key, each in schema.items()}


def body_schema(kind: type[LenientBody], example: Mapping[str, Any]) -> dict[str, Any]:
    """The request body of an operation, for OpenAPI; schemas within it are written out where they are used."""
    schema = kind.model_json_schema()
    schema = _written_out(schema, schema.pop("$defs", {}))
    return {
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema, "example": dict(example)}},
        }
    }
