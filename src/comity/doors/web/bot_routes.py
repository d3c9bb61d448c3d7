"""What the routes of outside clients share: paths with and without a slash, their errors, and their metrics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from fastapi import Response

from comity.doors.web.audiences import Router
from comity.doors.web.errors import bot_error_responses
from comity.doors.web.services import WebServices
from comity.model.queue import BotError, BotRefused
from comity.telemetry.metrics import QUEUE_ERRORS, QUEUE_SECONDS

_ERRORS: Final = (400, 401, 403, 413, 415, 429, 500, 503)
Act = TypeVar("Act", bound=Callable[..., Awaitable[Response]])


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
