"""Requests to stop a run, made by an operator in another process: a run looks for one every second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from comity.model.errors import StateUnavailable
from comity.reports.runs import is_stop_requested
from comity.walk.crawl.hooks import Duty

if TYPE_CHECKING:
    from uuid import UUID

    from comity.assemble import State

_LOOK_EVERY_S: Final = 1.0


def stop_on_request(state: State, run_id: Callable[[], UUID], stop: Callable[[], None]) -> Duty:
    """What stops a run cleanly once an operator has asked for it."""

    async def look() -> None:
        with suppress(StateUnavailable):  # the run itself reports a state that does not answer
            if await asyncio.to_thread(is_stop_requested, state.database, run_id()):
                stop()

    return Duty(_LOOK_EVERY_S, look)
